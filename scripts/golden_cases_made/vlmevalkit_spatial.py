"""Cases of VLMEvalKit's benchmarks about space that have a rule of their own: letters, numbers, lists and boxes."""

from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from vlmevalkit_choice_reports import TEXTS, UNREAD, say_in_form, say_spatial
from vlmevalkit_tables import evaluate, evaluate_until_scored, open_kit, say

SITE = (
    "counting & existence", "object localization & positioning", "3d information understanding",
    "spatial relationship reasoning", "movement prediction & navigation", "Counting & Existence", "other", None,
)  # fmt: skip
OPTION_LISTS = (
    "['a', 'b']", '["a", "b", "c"]', "['one']", "[]", "('a', 'b')", "a, b", '["left", null]', "[1, 2, 3, 4, 5]", "",
    "3",     "['a', 'b', 'c', 'd', 'e', 'f']", "['x' 'y', 'z']", "{'a': 1}", "[['a', 'b'], ['c']]",
)  # fmt: skip
STARE = (
    "2d_trans", "2d_trans_vsim", "3d_trans", "3d_trans_vsim", "temporal", "perspective", "folding_nets",
    "folding_nets_vsim", "tangram_puzzle", "tangram_puzzle_vsim", " 2D_Trans ", "Tangram_Puzzle", "elsewhere",
)  # fmt: skip
YES_NO_QUESTIONS = (
    "Can it fold? A. yes B. no", "A: No\nB: Yes", "(A) yes (B) no", "Is it so?", "A）yes B）no", "A. y\u200bes B.no",
    "A yes A no B yes", "Cyes dNO A. yes B. no",
)  # fmt: skip
NUMBER_FORMS = (
    "{}", "{} m", "<answer>{}</answer>", "<answer>{} m</answer> or 3", "< answer x>\n {}< / answer>", "[{}, 2]", "[{}]",
    "['{} m', 7]", "<think>3</think>{}", "<think>2</think>", "I think 2, no, {}.", "about {}-3", "[]", "[x]",
    "[[{}, 1]]", "twenty-one", "Three of four", "none", "sIx", "{}e1", "1,{}", "+{}", "-{}",
    "<answer><answer>{}</answer>", "{}%",
    "<answer>{} < 5</answer>", "<answer>no 2</answer> {}", "<think>{}", "(1, {}) [2]", " [{}] ", "{} [2]", "[4], [{}]",
    "1e999", "{}.", ".5", "zeroone", "\u200b{}\u200b5", "<answer>{}", "[True, {}]", "[None]", "[{'a': 4}, 2]", "[-{}]",
)  # fmt: skip
LISTED = ("['{}']", '["{}"]', "['{}', 'B']", "'{}'", "['{}','{}']", "('{}', 'C')", "{'{}', 'B'}", "[ '{}' ]", "[]")


def make_cases(checkout: Path, shared: Path, seed: int = 20261127) -> dict[str, list[dict]]:
    open_kit(checkout)
    rng = Random(seed)
    return {"files_vlmevalkit": [make(rng) for make, times in MAKERS for _ in range(times)]}


def _make_sitebench(rng: Random) -> dict:
    rows, said = [], []
    column = rng.choice(("options", "candidates", None))
    for number in range(rng.randint(1, 12)):
        answer = rng.choice("ABCD") if rng.random() < 0.95 else rng.choice(("(B)", "left", None))
        options = rng.choice(OPTION_LISTS) if rng.random() < 0.5 else "['a', 'b', 'c', 'd']"
        rows.append([number, f"Question {number}?", answer, rng.choice(SITE), *([options] if column else [])])
        said.append(say_spatial(rng, answer or "A"))
    columns = ["index", "question", "answer", "category", *([column] if column else [])]
    return evaluate("sitebench", "SiteBenchImage", "SiteBenchImage", columns, rows, said, unread=UNREAD)


def _make_starebench(rng: Random) -> dict:
    rows, said = [], []
    column = rng.choice(("category", "category_agg", None))
    for number in range(rng.randint(1, 24)):
        answer = rng.choice("ABAB") if rng.random() < 0.9 else rng.choice(("C", "b", "(A)", None))
        question = rng.choice(YES_NO_QUESTIONS[:3]) if rng.random() < 0.7 else rng.choice(YES_NO_QUESTIONS)
        rows.append([number, question, answer, rng.choice(STARE), *([rng.choice(STARE)] if column else [])])
        said.append(rng.choice("AB") if rng.random() < 0.5 else say_spatial(rng, answer or "A"))
    columns = ["index", "question", "answer", "category", column][: 5 if column else 4]
    if column == "category":
        columns[3] = "kind"
    name = rng.choice(("StareBench", "StareBench_CoT"))
    return evaluate("starebench", "StareBench", name, columns, rows, said, unread=UNREAD)


def _make_spbench(rng: Random) -> dict:
    lettered = ("object_rel_direction", "object_rel_distance")
    numbered = ("object_counting", "object_abs_distance", "object_size_estimation")
    kinds = rng.sample((*lettered, *numbered), rng.randint(1, 5))
    rows, said = [], []
    for number in range(rng.randint(1, 12)):
        kind = rng.choice(kinds)
        answer = rng.choice("ABCD") if kind in lettered else rng.choice(("4", "2.5", "0", "170", "0.35", "1e2", "-1"))
        if rng.random() < 0.05:
            answer = rng.choice(("", "many", " 3 ", "nan"))
        rows.append([number, f"Question {number}?", answer, kind])
        said.append(say_spatial(rng, answer or "A") if kind in lettered else _say_number(rng, answer))
    if rng.random() < 0.03:
        rows[0][3] = "route_planning"
    # No column of answers or responses is one of numbers alone.
    rows.append([len(rows), "Which?", "A", lettered[0]])
    said.append("It is A")
    name = rng.choice(("SPBench-MV", "SPBench-MV_CoT", "SPBench-SI", "SPBench-SI_CoT"))
    columns = ["index", "question", "answer", "question_type"]
    return evaluate("spbench", "SPBench", name, columns, rows, said, unread=UNREAD)


def _say_number(rng: Random, answer: str) -> str:
    near = answer
    if answer.replace(".", "").isdecimal():
        near = rng.choice((answer, f"{float(answer) * rng.choice((0.5, 0.7, 0.95, 1.05, 1.2, 1.5)):g}"))
    return say(rng, rng.choice(NUMBER_FORMS).replace("{}", near), [near, "no number", f"{near} metres"])


PLACES = ("left of the door", "left", "the door", "top left", "Top Right", "bottom right corner", "nan", "right right")
TOPVIEW_FORMS = (
    "{}", "{}.", "({})", "[{}]", "[{}] since left", "The answer is {}. ", "answer", "question", "category", "] {} [",
    "I see the prediction", "log", "{}. left", "It is {} . .", "the answer is {}, see GT", "[]", "hint", "l2-category",
    "[left]", "A or [{}]", "no way to tell, split",
)  # fmt: skip


def _make_topviewrs(rng: Random) -> dict:
    rows, said = [], []
    leveled, split = rng.random() < 0.4, rng.random() < 0.3
    for number in range(rng.randint(1, 12)):
        options, answer = rng.sample(PLACES, 4), rng.choice("ABCD")
        if rng.random() < 0.1:
            options[3] = None
        category = rng.choice(("Top-View Recognition", "left", "Static Spatial Reasoning"))
        row = [number, f"Left or right {number}?", *options, answer, category, "the left hint"]
        rows.append([*row, *(["all"] if leveled else []), *([rng.choice(("easy", "hard"))] if split else [])])
        said.append(say_in_form(rng, TOPVIEW_FORMS, answer, "ABCD"))
    extra = [*(["l2-category"] if leveled else []), *(["split"] if split else [])]
    columns = ["index", "question", *"ABCD", "answer", "category", "hint", *extra]
    return evaluate("image_mcq", "TopViewRS", "TopViewRS", columns, rows, said)


def _make_a4bench(rng: Random) -> dict:
    def draw() -> dict:
        rows, said = [], []
        for number in range(rng.randint(1, 8)):
            letters = rng.sample("ABCDE", rng.choice((1, 1, 2, 3)))
            rows.append([number, f"Question {number}?", *rng.sample(TEXTS, 5), str(letters)])
            others = [form.replace("{}", rng.choice("ABCDE")) for form in LISTED]
            plain = str(rng.sample(letters, len(letters)))
            said.append(rng.choice((plain, plain, rng.choice(others))))
            if rng.random() < 0.01:
                said[-1] = say(rng, plain, others)
        case = evaluate("image_mcq", "AffordanceDataset", "A4Bench", columns, rows, said)
        if "table" in case["expected"]:  # a line a row, which the framework averages in a file
            hits = [line["match"] for line in case["expected"]["table"]]
            case["expected"] = {"table": [{"Accuracy": fmean(hits)}]}
        return case

    columns = ["index", "question", *"ABCDE", "answer"]
    return evaluate_until_scored(draw)


def _make_tdbench(rng: Random) -> dict:
    rows, said = [], []
    for number in range(rng.randint(1, 12)):
        options, answer = rng.sample(TEXTS, 4), rng.choice("ABCD")
        rows.append([number, f"Question {number}?", *options, answer, rng.choice(("counting", "presence", "存在"))])
        said.append(say(rng, answer, "ABCD"))
    columns = ["index", "question", *"ABCD", "answer", "category"]
    name = rng.choice(("tdbench_cs_zoom", "tdbench_cs_depth", "tdbench_cs_height", "tdbench_cs_integrity"))
    return evaluate("image_mcq", "TDBench", name, columns, rows, said)


BOX_FORMS = (
    "[%s, %s, %s, %s]", "[%s,%s,%s,%s]", "%s, %s, %s, %s.", "(%s\n,%s, %s, %s)", "[%s, %s, %s, %s], [0, 0, 1, 1]",
    "[%s,  %s, %s, %s]", "box: %s,%s, %s ,%s", "[%s, %s, %s, %s, 0.5]", "1%s, %s, %s, %s", "[%s; %s; %s; %s]",
    "x,,,, %s %s %s %s", "[-%s, %s, %s, %s]", "%s, %s, %s, %s, .1, .2, .3, .4",
)  # fmt: skip


class _Unjudged:
    """Evaluates as the framework does where no judge is named: by its own measure."""

    replies: Any = None

    def score(self, benchmark: Any, file: str) -> Any:
        return benchmark.evaluate(file)


def _make_tdbench_grounding(rng: Random) -> dict:
    rows, said = [], []
    for number in range(rng.randint(1, 10)):
        left, top = rng.randint(0, 50) / 100, rng.randint(0, 50) / 100
        box = [left, top, round(left + rng.randint(1, 50) / 100, 2), round(top + rng.randint(1, 50) / 100, 2)]
        rows.append([number, f"thing {number}", str(box) if rng.random() < 0.95 else rng.choice(("", "[1, 2]"))])
        moved = [round(value + rng.choice((0, 0, 0, 0.1, -0.2, 0.25)), 3) for value in box]
        written = [rng.choice((str(v), f"{v:.2f}", str(v).removeprefix("0"), f"{v:.0f}")) for v in moved]
        others = ["0,0,1,1", "[10, 20, 30, 40]", "[0.1, 0.2, 0.3]", ",,,", "[.5, .5, .6, .6]", "0.,0.,1.,1."]
        said.append(say(rng, rng.choice(BOX_FORMS[:2] * 3 + BOX_FORMS) % tuple(written), others))
    name = f"tdbench_grounding_rot{rng.choice((0, 90, 180, 270))}"
    columns = ["index", "question", "answer"]
    return evaluate("image_vqa", "TDBenchGrounding", name, columns, rows, said, judge=_Unjudged())


MAKERS = (
    (_make_sitebench, 80),
    (_make_starebench, 80),
    (_make_spbench, 96),
    (_make_topviewrs, 80),
    (_make_a4bench, 64),
    (_make_tdbench, 24),
    (_make_tdbench_grounding, 80),
)
"""What makes a case of a recipe, and how many; new ones go to the end, so that the cases before them stay."""
