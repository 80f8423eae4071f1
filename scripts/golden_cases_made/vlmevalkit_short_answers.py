"""Cases of VLMEvalKit's benchmarks of short answers and boxes that have a rule of their own."""

from pathlib import Path
from random import Random

from vlmevalkit_tables import evaluate, open_kit, say

NUMBERS = ("three", "Three of them.", "3", "13", "21", "007", "3.0", "3.7", "-3", "twenty one", "0", "zero", "1,000",
           "There are two cats and 4 dogs.", "tens", "TEN", "one-two", "３", "²", "a12b", "12 or 20")  # fmt: skip
BRACES = ("{%s}", "{%s", "%s}", "{a} {%s}", "{%s} {}", "{{%s}}", "{\n%s}", "\\boxed{%s}", "it is { %s }.", "{12%s4}")
WORDS = ("red kite", "Zug nach Ulm", "書店", "São Tomé", "no. 5", "14.30", "İzmir", "ΟΔΟΣ", "A.B.C.", "7")


def make_cases(checkout: Path, shared: Path, seed: int = 20261126) -> dict[str, list[dict]]:
    open_kit(checkout)
    rng = Random(seed)
    makers = (
        (_make_countbench, 64),
        (_make_mtvqa, 64),
        (_make_zerobench, 64),
        (_make_erqa, 64),
        (_make_tallyqa, 64),
        (_make_biased, 64),
    )
    return {"files_vlmevalkit": [make(rng) for make, times in makers for _ in range(times)]}


def _make_countbench(rng: Random) -> dict:
    answers = [str(rng.randint(0, 12)) for _ in range(rng.randint(1, 8))]
    if rng.random() < 0.2:
        answers.append("")
    rows = [[number, f"How many are in image {number}?", answer] for number, answer in enumerate(answers)]
    said = [say(rng, f"There are {answer}." if rng.random() < 0.3 else answer, NUMBERS) for answer in answers]
    return evaluate("image_vqa", "CountBenchQA", "CountBenchQA", ["index", "question", "answer"], rows, said)


def _make_mtvqa(rng: Random) -> dict:
    languages = rng.sample(("AR", "DE", "FR", "IT", "JA", "KO", "RU", "TH", "VI"), rng.randint(1, 4))
    rows, said = [], []
    for number in range(rng.randint(1, 10)):
        answer = rng.choice((*WORDS, "", "None")) if number else rng.choice(WORDS)
        rows.append([number, f"Question {number}?", answer, rng.choice(languages), rng.choice(("test", "TEST"))])
        if number and rng.random() < 0.1:
            rows[-1][3] = "NA"  # which pandas takes for an empty cell
        said.append(say(rng, rng.choice((answer, answer.upper(), f" {answer}. ", f"It says {answer}")), WORDS))
    columns = ["index", "question", "answer", "category", "split"][: rng.choice((4, 5))]
    rows = [row[: len(columns)] for row in rows]
    return evaluate("image_vqa", "MTVQADataset", "MTVQA_TEST", columns, rows, said)


def _make_zerobench(rng: Random) -> dict:
    rows, said = [], []
    for number in range(rng.randint(1, 8)):
        answer = rng.choice((*WORDS, "", " ", str(rng.randint(0, 99)))) if number else rng.choice(WORDS)
        rows.append([number, f"Question {number}?", answer])
        right = rng.choice(BRACES) % rng.choice((answer, answer.upper(), answer.strip()))
        said.append(say(rng, right, [rng.choice(BRACES) % word for word in (*WORDS, "12")]))
    name = rng.choice(("ZEROBench", "ZEROBench_sub"))
    return evaluate("image_vqa", "ZEROBench", name, ["index", "question", "answers"], rows, said)


def _make_erqa(rng: Random) -> dict:
    categories = rng.sample(("Pointing", "Task Reasoning", "Multi-view", "State", "Other", "Überblick"), 3)
    rows, said = [], []
    for number in range(rng.randint(1, 12)):
        answer = rng.choice("ABCD") if not number or rng.random() < 0.9 else rng.choice(("", "nan"))
        rows.append([number, f"Question {number}?", answer, rng.choice(categories)])
        said.append(say(rng, rng.choice((answer, answer.lower(), f" {answer}\n", f"{answer}.")), "ABCD"))
    return evaluate(
        "erqa", "ERQADataset", "ERQA", ["index", "question", "answer", "category"], rows, said, ["Category"]
    )


def _make_tallyqa(rng: Random) -> dict:
    answers = [rng.choice((str(rng.randint(0, 20)), str(rng.randint(0, 15)))) for _ in range(rng.randint(1, 9))]
    if rng.random() < 0.1:
        answers = [f"{answer}.7" for answer in answers]
    if rng.random() < 0.04:
        answers.append(rng.choice(("", "many")))
    rows = [[number, f"How many are in image {number}?", answer] for number, answer in enumerate(answers)]
    said = [say(rng, rng.choice((answer, f"I count {answer}, not 5.")), NUMBERS) for answer in answers]
    return evaluate("image_vqa", "TallyQA", "TallyQA", ["index", "question", "answer"], rows, said)


def _make_biased(rng: Random) -> dict:
    topics = rng.sample(("Animals", "Logos", "Flags", "Chess pieces", "Optical illusion"), rng.randint(1, 4))
    values = ("5", "4", "Yes", "No", "{8}", "12 legs", "3.5", "ÄRA", "５", "²", "four")
    rows, said = [], []
    for number in range(rng.randint(1, 10)):
        truth, belief = rng.sample(values, 2)
        if rng.random() < 0.1:
            belief = rng.choice(("", truth))
        rows.append(
            [number, f"Question {number}?", truth, belief, rng.choice((*topics, "NA")) if number else topics[0]]
        )
        form = rng.choice(("%s", "{%s}", "{{ %s }}", "It is %s.", " %s ", "%s of 2"))
        said.append(say(rng, form % truth, [form % belief, *values]))
    columns = ["index", "question", "ground_truth", "expected_bias", "topic"]
    case = evaluate("image_vqa", "VLMsAreBiased", "vlms_are_biased_main", columns, rows, said)
    # The report has a column for each number of a topic.
    for line in case["expected"].get("table", ()):
        line |= {f"{name} {topic}": value for name in ("acc", "bias") for topic, value in line.pop(name).items()}
    return case
