"""Cases of LLaVA's evaluation scripts: its answers beside a benchmark's key, as the scripts read them."""

import contextlib
import io
import json
import re
import sys
import tempfile
from pathlib import Path
from random import Random
from unittest.mock import patch

from checkout import open_checkout

FORM = "Answer the question using a single word or phrase."
WORDS = ("red", "a dog", "two", "2", "The cat's", "1,000", "yes", "Coca-Cola", "don't know", "5.", "½", "no smoking")
SAID = (*WORDS, "Two", "the dog.", "", "It is red", "RED", "none", "1000", "coca cola")
LETTERS = "ABCDE"


def make_cases(checkout: Path, shared: Path) -> dict[str, list[dict]]:
    open_checkout(checkout, ["llava/eval"], bare=["llava", "llava.eval"])
    rng = Random(20261126)
    scripts = {
        "llava_textvqa": _make_textvqa,
        "llava_gqa": _make_gqa,
        "llava_scienceqa": _make_scienceqa,
        "llava_seed": _make_seed,
    }
    cases = [_describe(rule, *make(checkout, rng)) for rule, make in scripts.items() for _ in range(22)]
    return {"files_benchmarks": cases}


def _describe(rule: str, answers: list[dict], key: object, numbers: dict[str, float], rows: int) -> dict:
    files = {
        "answers.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in answers),
        "key.json": json.dumps(key, ensure_ascii=False),
    }
    given = {"files": files, "path": "answers.jsonl", "args": {"answers": "key.json"}}
    return {"rule": rule, "input": given, "expected": {"numbers": numbers, "rows": rows}}


def _answer(key: object, prompt: str, text: str) -> dict:
    return {
        "question_id": key,
        "prompt": prompt,
        "text": text,
        "answer_id": "x",
        "model_id": "llava",
        "metadata": {},
    }


def _make_textvqa(checkout: Path, rng: Random) -> tuple[list[dict], object, dict[str, float], int]:
    from llava.eval import eval_textvqa

    data, answers = [], []
    for number in range(rng.randint(3, 12)):
        image, question = f"image{number // 2}", f"What does sign {number} of ours say?"
        given = rng.choices(rng.sample(WORDS, 3), k=10)
        data.append(
            {"image_id": image, "question": question, "question_id": 500 + number, "answers": given,
             "question_tokens": question.split(), "set_name": "val"}
        )  # fmt: skip
        token = "\nReference OCR token: SIGN, STOP" if rng.random() < 0.5 else ""
        answers.append(_answer(image, f"{question}{token}\n{FORM}", rng.choice((*SAID, *given))))
    rng.shuffle(answers)
    key = {"dataset_name": "textvqa", "data": data}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "key").write_text(json.dumps(key))
        Path(folder, "answers").write_text("".join(json.dumps(row) + "\n" for row in answers))
        found: list[float] = []
        evaluator = eval_textvqa.TextVQAAccuracyEvaluator
        real = evaluator.eval_pred_list
        with (
            patch.object(evaluator, "eval_pred_list", lambda self, rows: found.append(real(self, rows)) or found[0]),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            eval_textvqa.eval_single(f"{folder}/key", f"{folder}/answers")
    return answers, key, {"accuracy": found[0]}, len(answers)


def _make_gqa(checkout: Path, rng: Random) -> tuple[list[dict], object, dict[str, float], int]:
    key, answers = {}, []
    for number in range(rng.randint(3, 12)):
        answer = rng.choice(("yes", "no", "left", "table", "brown"))
        question = f"Is thing {number} on the left?"
        key[f"2013{number:05}"] = {
            "imageId": f"n{number}", "question": question, "answer": answer, "isBalanced": True, "types": {},
        }  # fmt: skip
        said = rng.choice((answer, answer.title(), f"{answer}.", f"{answer}..", f" {answer}", "It is", ""))
        answers.append(_answer(f"2013{number:05}", f"{question}\n{FORM}", said))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "src").write_text("".join(json.dumps(row) + "\n" for row in answers))
        script = (checkout / "scripts/convert_gqa_for_eval.py").read_text()
        with patch.object(sys, "argv", ["x", "--src", f"{folder}/src", "--dst", f"{folder}/dst"]):
            exec(compile(script, "convert_gqa_for_eval.py", "exec"), {"__name__": "__main__"})
        read = json.loads(Path(folder, "dst").read_text())
    # GQA's own eval.py, which is not in LLaVA's repository, compares answers as they are.
    right = sum(key[row["questionId"]]["answer"] == row["prediction"] for row in read)
    return answers, key, {"accuracy": right / len(read)}, len(answers)


def _make_scienceqa(checkout: Path, rng: Random) -> tuple[list[dict], object, dict[str, float], int]:
    problems, answers = {}, []
    for number in range(rng.randint(4, 12)):
        choices = [f"choice {letter} of {number}" for letter in LETTERS[: rng.randint(2, 5)]]
        image = "image.png" if number == 0 or rng.random() < 0.5 else None
        question = f"Which of these is thing {number}?"
        problems[str(number + 1)] = {
            "question": question, "choices": choices, "answer": rng.randrange(len(choices)), "hint": "", "image": image,
            "subject": "natural science", "split": "test", "lecture": "", "solution": "",
        }  # fmt: skip
        letter = rng.choice(LETTERS)
        said = rng.choice(
            (letter, f"{letter}. it", f"The answer is {letter}.", f"The answer is {letter}. The answer is A.", "?",
             f"{letter}.", f"({letter})", f"so The answer is {letter}!", letter.lower(), "")
        )  # fmt: skip
        prompt = f"{'<image>' if image else ''}\n{question}\n{choices}"
        answers.append(_answer(str(number + 1), prompt, said))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "pid_splits.json").write_text(json.dumps({"test": [*problems]}))
        (place / "problems.json").write_text(json.dumps(problems))
        (place / "answers").write_text("".join(json.dumps(row) + "\n" for row in answers))
        names = {"result-file": "answers", "output-file": "o", "output-result": "r", "base-dir": "."}
        argv = ["x", *(word for name, value in names.items() for word in (f"--{name}", str(place / value)))]
        script = (checkout / "llava/eval/eval_science_qa.py").read_text()
        printed = io.StringIO()
        with patch.object(sys, "argv", argv), contextlib.redirect_stdout(printed):
            exec(compile(script, "eval_science_qa.py", "exec"), {"__name__": "__main__"})
        rows = json.loads((place / "o").read_text())
    counts = {name: [row["is_multimodal"] for row in rows[name]] for name in ("correct", "incorrect")}
    right, all_rows = counts["correct"], counts["correct"] + counts["incorrect"]
    assert re.search(rf"Correct: {len(right)},", printed.getvalue())
    numbers = {"accuracy": len(right) / len(all_rows), "img_accuracy": sum(right) / sum(all_rows)}
    return answers, problems, numbers, len(answers)


def _make_seed(checkout: Path, rng: Random) -> tuple[list[dict], object, dict[str, float], int]:
    types = {"Scene Understanding": 1, "Instance Counting": 5}
    questions, answers = [], []
    for number in range(rng.randint(3, 12)):
        question = f"How many things of kind {number}?"
        choices = {f"choice_{letter}": f"{number} {letter}" for letter in "abcd"}
        about = {"data_id": f"{number}_1", "data_type": "image", "question_type_id": rng.choice([*types.values()])}
        known = {"question": question, "question_id": str(100 + number), "answer": rng.choice("ABCD")}
        questions.append({**known, **choices, **about})
        said = rng.choice(("A", "B", "C", "D", questions[-1]["answer"], "A.", "b", "two", ""))
        # The script breaks off at a type of which no answer is right.
        kinds = [row["question_type_id"] for row in questions]
        said = questions[-1]["answer"] if kinds.count(kinds[-1]) == 1 else said
        answers.append(_answer(100 + number, f"{question}\nA. one\nB. two", said))
    key = {"question_type": types, "questions": questions}
    script = (checkout / "scripts/convert_seed_for_submission.py").read_text()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "key").write_text(json.dumps(key))
        Path(folder, "answers").write_text("".join(json.dumps(row) + "\n" for row in answers))
        names = {"annotation-file": "key", "result-file": "answers", "result-upload-file": "upload"}
        argv = ["x", *(word for name, file in names.items() for word in (f"--{name}", f"{folder}/{file}"))]
        found: dict[str, object] = {"__name__": "__main__"}
        # The script prints a percentage of two digits; the number before it is taken.
        total = "total_correct / total_count"
        script = script.replace(f"total_accuracy = {total} * 100", f"total_accuracy = numbers.append({total}) or 0.0")
        found["numbers"] = numbers = []
        script = script.replace("eval_single(args.result_file, eval_only_type='video')", "")
        with patch.object(sys, "argv", argv), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(script, "convert_seed_for_submission.py", "exec"), found)
    return answers, key, {"accuracy": numbers[0]}, len(answers)
