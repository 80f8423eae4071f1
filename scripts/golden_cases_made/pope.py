"""Cases of POPE's own script: a file of answers beside the file of questions, as the script reads them."""

import contextlib
import io
import json
import tempfile
from pathlib import Path
from random import Random

SAID = (
    "Yes", "No", "yes", "no", "Yes, there is.", "No. There is one, though.", "There is not.", "NO", "", "None", "Sure.",
    "I see, no, it is a chair", "It is there. No doubt", "No,", "nothing", "Not at all", "\nno", "是的", "cannot say",
)  # fmt: skip
THINGS = ("chair", "kite", "spoon", "horse", "clock")
NUMBERS = {
    "Accuracy": "accuracy",
    "Precision": "precision",
    "Recall": "recall",
    "F1 score": "f1",
    "Yes ratio": "yes_ratio",
}


def make_cases(checkout: Path, shared: Path) -> dict[str, list[dict]]:
    script, rng = (checkout / "evaluate.py").read_text("utf-8"), Random(20261125)
    return {"files_benchmarks": [_make_case(script, rng) for _ in range(14)]}


def _make_case(script: str, rng: Random) -> dict:
    answers, questions = "", ""
    count = rng.randint(6, 20)
    for number in range(count):
        text, label = f"Is there a {rng.choice(THINGS)} in the image?", rng.choice(("yes", "no"))
        said = ("No" if label == "no" else "Yes") if number < 4 or rng.random() < 0.4 else rng.choice(SAID)
        # The script divides by the numbers of yes, so that there is one of each in every case.
        label = ("yes", "no")[number] if number < 2 else label
        said = ("Yes", "No")[number] if number < 2 else said
        image = f"COCO_{number // 3:012}.jpg"
        questions += json.dumps({"question_id": number + 1, "image": image, "text": text, "label": label}) + "\n"
        answers += json.dumps({"question": text, "answer": said}, ensure_ascii=False) + "\n"
    files = {"model_coco_pope_popular.json": answers, "coco_pope_popular.json": questions}
    return {
        "rule": "pope_file",
        "input": {
            "files": files,
            "path": "model_coco_pope_popular.json",
            "convert": {"key": "coco_pope_popular.json"},
            "args": {"answers": "key"},
        },
        "expected": {"numbers": _run(script, answers, questions), "rows": count},
    }


def _run(script: str, answers: str, questions: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("answers", answers), ("questions", questions)):
            Path(folder, name).write_text(text, "utf-8")
            # Its user writes the two paths into the script.
        script = script.replace("ans_file = ''", f"ans_file = {folder + '/answers'!r}")
        script = script.replace("label_file = ''", f"label_file = {folder + '/questions'!r}")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(script, "evaluate.py", "exec"), {"__name__": "__main__"})
    found = dict(line.split(": ") for line in printed.getvalue().splitlines() if ": " in line)
    return {NUMBERS[name]: float(value) for name, value in found.items()}
