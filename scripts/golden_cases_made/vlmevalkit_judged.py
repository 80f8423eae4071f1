"""Cases of VLMEvalKit's benchmarks whose rule asks a judge: tables of ours, and what a judge of ours says."""

import json
from pathlib import Path
from random import Random

from vlmevalkit_tables import HOSTILE, ScriptedJudge, evaluate, open_kit, say

SKILLS = ("inductive", "deductive", "numerical", "spatial", "mechanical", "numerical, spatial", "none of them")
UNCLEAR = ("", "b", "A, C", "The answer is B.", "1", "A B", "答案", "??", "[A]")
"""What a judge says instead of letters."""


def make_cases(checkout: Path, shared: Path, seed: int = 20261126) -> dict[str, list[dict]]:
    open_kit(checkout)
    rng = Random(seed)
    makers = (
        (_make_logicvista, 64),
        (_make_simplevqa, 64),
        (_make_charxiv, 64),
        (_make_mmlongbench, 100),
        (_make_dynamath, 160),
    )
    return {"files_vlmevalkit": [make(rng) for make, times in makers for _ in range(times)]}


EMPTY = ("", "None", "nan", "NaN")
"""Responses at which some classes of the framework stop."""


def name_question(number: int) -> str:
    return f"Question {number}?"


def _make_logicvista(rng: Random) -> dict:
    rows, said, replies = [], [], {}
    for number in range(rng.randint(1, 12)):
        answer = ", ".join(rng.sample("ABCDE", rng.choice((1, 1, 1, 2, 3))))
        answer = rng.choice((answer, answer.lower(), answer.replace(", ", ""))) if rng.random() < 0.2 else answer
        rows.append([number, name_question(number), answer, rng.choice(SKILLS)])
        said.append(say(rng, answer, "ABCDE"))
        letters = answer.replace(", ", "").upper()
        last = rng.choice((letters, letters[::-1], rng.choice("ABCDEZ"), "ABCDE", "ÄA", "Ａ"))
        replies[name_question(number)] = [*rng.choices(UNCLEAR, k=rng.choice((0, 0, 1, 4))), last]
    columns = ["index", "question", "answer", "skill"]
    return evaluate("image_vqa", "LogicVista", "LogicVista", columns, rows, said, judge=ScriptedJudge(replies))


WORDS_OF_VERDICTS = ("正确", "错误", "未尝试")
REMARKS = ("**正确**", "**错误**", "部分正确，但是", "correct", "正确。因为")


def _make_simplevqa(rng: Random) -> dict:
    rows, said, replies = [], [], {}
    for number in range(rng.randint(1, 12)):
        answer = rng.choice(("玛丽", "Robinson", "3518.17", "MgCO3", "a kite"))
        rows.append([number, name_question(number), answer])
        said.append(say(rng, f"It is {answer}", ("cat", "12", "不知道")) if number else "no number")
        word = rng.choice(WORDS_OF_VERDICTS if rng.random() < 0.7 else REMARKS)
        long = rng.random() < 0.2
        verdict = {"conclusion": rng.choice((*WORDS_OF_VERDICTS, "**正确**"))} if long else word
        text = json.dumps({rng.choice(("预测答案0", "0", "anything")): verdict}, ensure_ascii=rng.random() < 0.2)
        text = text if long or rng.random() < 0.9 else text[:-1]
        around = rng.choice(("{}", "```json\n{}\n```", " {} ", "```python\n{}```", "{}\n"))
        replies[name_question(number)] = [around.format(text)]
    columns = ["index", "question", "answer"]
    case = evaluate("simplevqa", "SimpleVQA", "SimpleVQA", columns, rows, said, judge=ScriptedJudge(replies))
    if "table" in case["expected"]:  # a line for each number, its name first
        case["expected"]["table"] = [{line["0"]: line["1"] for line in case["expected"]["table"]}]
    return case


def _make_charxiv(rng: Random) -> dict:
    kind, column, most = rng.choice((("descriptive", "qid", 19), ("reasoning", "inst_category", 4)))
    rows, said, replies = [], [], {}
    for number in range(rng.randint(1, 12)):
        question = name_question(number)
        query = f"Grade this. {question} said {{PREDICTION}}" + rng.choice(("", " again {PREDICTION}"))
        rows.append([number, question, "12", rng.randint(1, most), query])
        text = say(rng, "12 or so", ("13 apples", "left"))
        said.append("no words" if text in EMPTY or text.isdecimal() else text)
        found = {"extracted_answer": rng.choice(("12", "left", 12, None)), "score": rng.choice((0, 1, 1, 0.5, 1.0))}
        unclear = rng.choices(("", "score: 1", "{", "```json\n{}\n```"), k=rng.choice((0, 0, 1, 9)))
        replies[question] = [*unclear, rng.choice(("{}", " {}\n")).format(json.dumps(found))]
    if set(said) <= {"1e3", "0"}:  # a column of numbers, at which the framework stops
        said[0] = "no words"
    columns = ["index", "question", "answer", column, "grading_query"]
    name = f"CharXiv_{kind}_val"
    return evaluate("charxiv", "CharXiv", name, columns, rows, said, judge=ScriptedJudge(replies))


ANSWERS = {
    "Int": ("12", "0", "-3", "1000000", "007", "12.0", "x"),
    "Float": ("0.25", "25%", "12.5", "$3.70", "-1.005", "1e-05", "100", "no number"),
    "Str": (
        "a red kite", "Not answerable", "page 12", "https://example.org/a", "main.py", "555-1234", "2021-03-04",
        "2021 03", "me@example.org", "9 a.m.", "12 million", "3 miles", "'quoted'", "kite (red)", "书店", "",
    ),
    "List": (
        "['a red kite', 'two spoons']", "[1, 2]", "['1.5', 2]", "[]", "[x]", '["page 3", "page 1"]', "a red kite",
        "['b', \"a\"]", "Not answerable", "[None, 'a']", "['2021-03', 'b']", "[1] and more",
    ),
}  # fmt: skip
NEAR = {
    "Int": ("12.7", "12", "0.9", "twelve", "1e6", "inf", "1_000_000", "７"),
    "Float": ("0.2524", "25", "25.3%", "0.0025", "12.51", "12.6", "$3.7", "nan", "-1", "1e-5", "0", "1,000"),
    "Str": ("a red bike", "Red Kite", "page 12 ", "Page 13", "fail to answer", "5551234", "12 millions", '"quoted"'),
    "List": ("['two spoons', 'a red kite']", "['a red bike', 'two spoon']", "[2, 1]", "['a', 'b']", "['1.50', '2']"),
}  # fmt: skip
WORDS = ("None", "nan", "", "N/A", "Not answerable", "Fail to answer", "Not answerable ", "[]", "True")
SOURCES = ("Chart", "Table", "Figure", "Pure-text (Plain-text)", "Generalized-text (Layout)")


def _make_mmlongbench(rng: Random) -> dict:
    # Texts at the front, so that no column of answers is one of numbers; one is right, so that there is a report.
    rows = [[0, name_question(0), "a red kite", "Str", "['Chart']", "[3]"]]
    said, replies = ["a red kite"], {name_question(0): ["Extracted answer: a red kite\nAnswer format: String"]}
    for number in range(1, rng.randint(2, 14)):
        form = rng.choice(("Int", "Float", "Str", "List", "None"))
        kind = form if form in ANSWERS else rng.choice(("Str", "List"))
        answer = rng.choice(ANSWERS[kind])
        sources, pages = rng.sample(SOURCES, rng.randint(0, 3)), rng.sample(range(1, 90), rng.choice((0, 1, 1, 2, 3)))
        rows.append([number, name_question(number), answer, form, str(sources), str(pages)])
        said.append(rng.choice((answer, *HOSTILE)))
        text = rng.choice((answer, answer, rng.choice(NEAR[kind]), rng.choice(NEAR[kind]), rng.choice(WORDS)))
        around = rng.choice(
            (
                "Extracted answer: {}\nAnswer format: String",
                "Extracted answer:{}",
                "I say. Extracted answer: {} Answer format: List\nExtracted answer: other",
                "Extracted answer: {} Extracted answer: other",
            )
        )
        replies[name_question(number)] = [around.format(text)]
    columns = ["index", "question", "answer", "answer_format", "evidence_sources", "evidence_pages"]
    judge = ScriptedJudge(replies)
    return evaluate("mmlongbenchdoc", "MMLongBenchDoc", "MMLongBench_DOC", columns, rows, said, judge=judge)


SHORT = {
    "float": ("3", "3.0005", "3.14 cm", "2\u03c0", "\u03c0", "three", "", "nan", "-3", "1e3", "3,5", "\u0663", "(3)"),
    "multiple choice": ("A", "b", "(C)", "A or B", "D. a kite", "F", "", "\u00df", "answer", "E E", "x", "none: C"),
    "text": ("red", "RED KITE", "", "a red kite flies", "12", "kite", "\u4e66", "bright"),
}  # fmt: skip
TRUE = {"float": ("3", "3.001", "-3", "1000", "6.283"), "multiple choice": "ABCDE", "text": ("a red kite", "12", "R")}


def _make_dynamath(rng: Random) -> dict:
    rows, said, replies = [], [], {}
    judged = rng.random() < 0.6
    for _ in range(rng.randint(1, 4)):
        kind = rng.choice(("float", "multiple choice", "text"))
        subject, level = rng.choice(("plane geometry", "algebra", "3D")), rng.choice(("high school", "undergraduate"))
        first = len(rows)
        for variant in range(1, rng.randint(2, 4)):
            number = len(rows)
            answer = rng.choice(TRUE[kind])
            rows.append([number, name_question(number), answer, kind, subject, level, variant, first])
            mark = f"\u2116{number}."
            said.append(_say_short(rng, kind, answer, mark))
            replies[mark] = [rng.choice((answer, *SHORT[kind]))]
    # No column of answers or responses is one of numbers alone.
    number = len(rows)
    rows.append([number, name_question(number), "B", "multiple choice", "algebra", "high school", 1, number])
    said.append("It is B")
    columns = ["index", "question", "answer", "answer_type", "subject", "knowledge_level", "varid", "qid"]
    name = rng.choice(("DynaMath", "DynaMath_noprompt"))
    judge = ScriptedJudge(replies if judged else {})
    return evaluate("dynamath", "Dynamath", name, columns, rows, said, judge=judge)


def _say_short(rng: Random, kind: str, answer: str, mark: str) -> str:
    """Draw a response: an object with a short answer, the answer alone, or another text."""
    if rng.random() < 0.15:
        return rng.choice(HOSTILE)
    short = rng.choice((answer, answer, *rng.choices(SHORT[kind], k=4)))
    shape = rng.choice(("object", "object", "broken", "number", "other", "plain", "marked"))
    if shape == "object":
        text = json.dumps({"solution": f"since {mark}", "short answer": short}, ensure_ascii=rng.random() < 0.3)
        return rng.choice(("{}", "```json\n{}\n```", "I say {}.", "{{{}}}")).format(text)
    if shape == "number" and kind != "text":
        return json.dumps({"short answer": rng.choice((3, 3.0, None, ["A"])), "solution": mark})
    if shape == "other":
        return json.dumps({"answer": short, "solution": mark}, ensure_ascii=False)
    if shape == "broken":
        return f'{{"short answer": "{short}", {mark}'
    return short if shape == "plain" else f"{short} {mark}"
