"""Cases of MathVista's own script: files of results whose extractions are choices, letters, numbers and noise."""

import json
import sys
import tempfile
from pathlib import Path
from random import Random
from unittest.mock import patch

from checkout import open_checkout

CHOICES = ("a red kite", "a spoon", "Yes", "No", "12", "3.5 cm", "the horse", "über", "", "A", "(B)", "none of these")
SAID = ("A", "(B)", "(c) the horse", "D.", "b", "a spoon", " Yes ", "spon", "", "12", "nothing like it", "是的", "(Z)")
NUMBERS = ("7", "7.0", " 7", "12.5", "0.25", "1e3", "-3", "7 cm", "", "None", "nan", "inf", "½", "1,000", "2.675")
SKILLS = ("algebraic reasoning", "geometry reasoning", "statistical reasoning")


def make_cases(checkout: Path, shared: Path) -> dict[str, list[dict]]:
    open_checkout(checkout, ["."])
    sys.path.insert(0, str(checkout / "evaluation"))
    import calculate_score

    rng = Random(20261126)
    return {"files_benchmarks": [_make_case(calculate_score, rng) for _ in range(24)]}


def _make_case(script, rng: Random) -> dict:
    results = {str(number): _make_result(number, rng) for number in range(1, rng.randint(4, 24))}
    text = json.dumps(results, ensure_ascii=False, indent=4)
    average = _run(script, text)
    return {
        "rule": "mathvista_file",
        "input": {"files": {"output_model.json": text}, "path": "output_model.json", "args": {}},
        "expected": {"numbers": {"accuracy": average["accuracy"]}, "rows": average["total"]},
    }


def _make_result(number: int, rng: Random) -> dict:
    kind = rng.choice(("text", "text", "integer", "float", "list"))
    choices = rng.sample(CHOICES, rng.randint(2, 5)) if kind == "text" else None
    answers = {
        "integer": ("7", "12", "-3", "1000"),
        "float": ("7.0", "12.5", "0.2", "0.25", "1000.0"),
        "list": ("[1, 2]",),
    }
    extraction = rng.choice((*SAID, *choices)) if choices else rng.choice((*NUMBERS, "[1, 2]"))
    return {
        "question": f"Question {number} of ours?",
        "image": f"images/{number}.jpg",
        "choices": choices,
        "unit": None,
        "precision": rng.choice((1.0, 2.0)) if kind == "float" else None,
        "answer": rng.choice([choice for choice in choices or answers[kind] if choice]),
        "question_type": "multi_choice" if choices else "free_form",
        "answer_type": kind,
        "pid": str(number),
        "metadata": {
            "split": "testmini",
            "language": rng.choice(("english", "chinese")),
            "source": rng.choice(("IconQA", "DVQA")),
            "category": rng.choice(("general-vqa", "math-targeted-vqa")),
            "task": "figure question answering",
            "context": "table",
            "grade": "daily life",
            "skills": rng.sample(SKILLS, rng.randint(1, 2)),
        },
        "query": f"Hint: answer.\nQuestion: Question {number} of ours?",
        "response": f"I would say {extraction}",
        "extraction": extraction,
    }


def _run(script, text: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "output.json").write_text(text, "utf-8")
        names = ["--output_dir", folder, "--output_file", "output.json", "--score_file", "scores.json"]
        argv = patch.object(sys, "argv", ["calculate_score.py", *names])
        # The references stand in the results.
        with argv, patch.object(script, "load_dataset", lambda *names, **more: []):
            script.main()
        return json.loads(Path(folder, "scores.json").read_text())["average"]
