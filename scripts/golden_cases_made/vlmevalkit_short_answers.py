"""Cases of VLMEvalKit's benchmarks of short answers and boxes that have a rule of their own."""

from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from vlmevalkit_tables import evaluate, open_kit, say

TYPES = ("Factoid", "Multi Choice", "Conversational", "Fact Checking", "Hypothetical")
ANSWERS = (
    "12", "12.5%", "0", "2015", "true", "a", "Unanswerable", "New York", "[Ulm, Bonn]", "['Ulm', 'New York']",
    "[2014, 7]", "4 million", "[3.5%, 12%]", "-7", "1,200", "inf", "nan", "[]", "[a 'b', c]", "it's", "[it's, 4]",
    "(1, 2)", "Köln.", "[['a', 1], 2]", "[New York, 'Rio']", "1e3",
)  # fmt: skip
BOX_FORMS = (
    "[%s, %s, %s, %s]", "[%s %s %s %s]", "(%s,%s),(%s,%s)", "<box>%s %s %s %s</box>", "{\"bbox_2d\": [%s, %s, %s, %s]}",
    "box 1: [%s,%s, %s , %s ].", "[%s, %s, %s, %s, 5]", "x=%s y=%s w=%s h=%s", "[[%s, %s], [%s, %s]]",
    "[ %s, %s;%s, %s]",
)  # fmt: skip
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
        (_make_chartqapro, 96),
        (_make_refcoco, 96),
        (_make_screenspot, 72),
        (_make_screenspot_pro, 72),
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


def _make_chartqapro(rng: Random) -> dict:
    rows, said = [], []
    for number in range(rng.randint(1, 8)):
        kind = rng.choice(TYPES)
        turns = rng.randint(2, 3) if kind == "Conversational" else 1
        answers = [rng.choice(ANSWERS) for _ in range(turns)]
        years = [rng.choice(("NO", "YES", "no", "Yes")) for _ in range(rng.choice((turns, 1, 2)))]
        questions = [f"Question {number}.{turn}?" for turn in range(turns)]
        rows.append([number, repr(questions), repr(answers), kind, repr(years), "Some words." if number % 2 else ""])
        said.append(say(rng, _restate(rng, answers[-1]), ANSWERS))
    if rng.random() < 0.05:
        rows[0][rng.choice((2, 4))] = rng.choice(("[5]", "word", "['a'", "[]"))
    columns = ["index", "question", "answer", "question_type", "year", "paragraph"]
    name = rng.choice(("ChartQAPro", "ChartQAPro_CoT", "ChartQAPro_PoT"))
    return evaluate("chartqapro", "ChartQAPro", name, columns, rows, said, labels=["0"])


def _restate(rng: Random, answer: str) -> str:
    """Word an answer as a model might: as it is, quoted, nearly right, or with more or fewer elements."""
    inner = answer.strip("[]")
    wordings = (
        answer, answer, f"{answer}.", answer.lower(), answer.upper(), f"['{inner}']", f"[{inner}]", inner + "\n",
        inner[1:], repr(inner.split(", ")), repr([*inner.split(", "), "x"]), inner.replace("2", "2.1"),
        inner.replace("12", "13"),
        f" {inner} ", inner + "%", "[" + "9" * 40 + "]", "['a' 'b']", '["\\d", true]', "[1, (2, 3)]", "[None, True]",
    )  # fmt: skip
    return rng.choice(wordings)


def _make_refcoco(rng: Random) -> dict:
    fractions, named = rng.random() < 0.4, rng.choice(("split", "category", "dataset"))
    splits = rng.sample(
        ("RefCOCO val", "RefCOCO test A", "RefCOCO+ testB", "RefCOCOg_val", "RefCOCOg test", "Ours hard one", "Ours"), 3
    )
    rows, said = [], []
    for number in range(rng.randint(1, 10)):
        width, height = rng.choice((640, 333, 1200, "")), rng.choice((480, 500, 0))
        x1, y1 = rng.randint(0, 150), rng.randint(0, 200)
        box = [x1, y1, x1 + rng.choice((2, 40, 100)), y1 + rng.choice((2, 30, 120))]
        size = (width or 1, height or 1)
        answer = [round(v / size[n % 2], 4) for n, v in enumerate(box)] if fractions and all((width, height)) else box
        split = rng.choice(splits)
        if named != "category":
            split = split.replace(" ", "_")
        rows.append([number, f"thing {number}", repr(answer), width, height, split, "x"])
        said.append(say(rng, rng.choice(BOX_FORMS) % tuple(_move(rng, box, size)), BOX_NOISE))
    if named == "dataset":
        rows = [[*row[:5], row[6]] for row in rows]
    columns = ["index", "question", "answer", "width", "height", *([] if named == "dataset" else [named]), "image"]
    return evaluate("refcoco", "RefCOCODataset", "RefCOCO", columns, rows, said, ["Split"], prepare=_load_refcoco)


BOX_NOISE = ("[1, 2, 3]", "[1e999, 0, 5, 5]", "[-5 -5 9999 9999]", "[.5 .5 1. 1.5]", "1 2 3 4 5",
             "[9, 9, 1, 1]", "[0.1, 0.1, 1.5, 1.5]", "[１, ２, ３０, ４０]", "[1,2,3,4] or [5,6,7,8]",
             "[0, 0, 1000, 1000]")  # fmt: skip


def _move(rng: Random, box: list[int], size: tuple[int, int]) -> list[float]:
    """Give a box near another one, in a unit that a model may use, its corners in any order."""
    moved = list(box)
    if rng.random() < 0.5:
        corner = rng.randrange(4)
        twice = box[corner] - box[corner - 2] if corner > 1 else 0  # an overlap of one half
        moved[corner] += rng.choice((-30, -5, 1, 20, twice))
    if rng.random() < 0.1:
        moved = moved[2:] + moved[:2]
    unit = rng.choice((None, 1, 1000))
    return moved if unit is None else [round(value / size[n % 2] * unit, 3) for n, value in enumerate(moved)]


def _load_refcoco(benchmark: Any) -> None:
    benchmark.data = benchmark.load_data("RefCOCO")
    benchmark._ensure_metadata_ready = lambda: None


CLICKS = (
    "pyautogui.click(x=%s, y=%s)", "x=%s, y=%s", "click(x=%s,y=%s)", "x=%s., y=%s and x=0, y=0", "(%s, %s)",
    "x=1.2.3, y=%s%s", "x=-%s, y=%s", "{\"x\": %s, \"y\": %s}", "X=%s, y=%s", "x=., y=%s x=%s",
)  # fmt: skip
CLICK_FORMS = (*CLICKS[:1] * 12, *CLICKS)


def _make_screenspot(rng: Random) -> dict:
    part, version = rng.choice(("Mobile", "Desktop", "Web")), rng.choice(("", "v2_"))
    categories = rng.sample(("ios", "android", "web", "windows"), rng.randint(1, 3))
    rows, said, sizes = [], [], []
    for number in range(rng.randint(1, 10)):
        size = (rng.randint(20, 200), rng.randint(20, 120))
        x, y = rng.randint(0, size[0] - 12), rng.randint(0, size[1] - 12)
        box = [x, y, rng.randint(1, 12), rng.randint(1, 12)]
        edges = (x, y, x + box[2] - 1, y + box[3] - 1)
        if rng.random() < 0.1:
            box[0] = -1
        sizes.append(size)
        kind = rng.choice(("text", "icon"))
        rows.append([number, f"thing {number}", f"{number}.png", repr(box), kind, "shop", rng.choice(categories)])
        said.append(_click(rng, edges, size, (None, 1)))
    columns = ["index", "question", "image_path", "bbox", "data_type", "data_source", "category"]
    if rng.random() < 0.3:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    if rng.random() < 0.05:
        rows[0][3] = "[5, 5, 500, 5]"
    name = f"ScreenSpot_{version}{part}"
    return evaluate("GUI.screenspot", "ScreenSpot", name, columns, rows, said, sizes=sizes)


def _make_screenspot_pro(rng: Random) -> dict:
    names = ("OSWorld_G", *(f"ScreenSpot_Pro_{part}" for part in ("Development", "CAD", "Office", "OS")))
    name = rng.choices(names, (4, 1, 1, 1, 1))[0]
    rows, said, sizes = [], [], []
    for number in range(rng.randint(1, 10)):
        size = (rng.randint(20, 200), rng.randint(20, 120))
        x, y = rng.randint(0, size[0] - 12), rng.randint(0, size[1] - 12)
        edges = (x, y, x + rng.randint(1, 12), y + rng.randint(1, 12))
        box = (x, y, edges[2] - x, edges[3] - y) if name == "OSWorld_G" else edges
        written = repr(list(box)) if rng.random() < 0.8 else repr([number + 0.5 if number else 0 for number in box])
        sizes.append(size)
        kind, group = rng.choice(("text", "icon", "icon")), rng.choice(("Dev", "CAD", "Office"))
        rows.append([number, f"thing {number}", f"a/{number}.png", written, kind, "app", group])
        said.append(_click(rng, edges, size, (1000,) * 9 + (1,) if name == "OSWorld_G" else (None, 1)))
    if rng.random() < 0.05:
        rows[0][3] = "[5, 5, 500, 5]"
    columns = ["index", "question", "image_path", "bbox", "ui_type", "application", "category"]
    module = "osworld_g" if name == "OSWorld_G" else "screenspot_pro"
    kit = "OSWorld_G" if name == "OSWorld_G" else "ScreenSpot_Pro"
    return evaluate(f"GUI.{module}", kit, name, columns, rows, said, sizes=sizes, prepare=_set_click_reader)


def _set_click_reader(benchmark: Any) -> None:
    benchmark.parse_response_func = import_module(type(benchmark).__module__).parse_bbox_aguvis


def _click(rng: Random, edges: tuple[int, ...], size: tuple[int, int], units: tuple[int | None, ...]) -> str:
    """Word a click into a box, at its edge, or beside it; units are the range of coordinates, None for pixels."""
    unit = rng.choice(units)
    point = []
    for low, high in (edges[::2], edges[1::2]):
        point.append(rng.choice((low, high, (low + high) / 2, (low + high) / 2, high + 1, low - 0.5)))
    if unit is not None:
        point = [round(value / length * unit, 4) for value, length in zip(point, size, strict=True)]
    return say(rng, rng.choice(CLICK_FORMS) % tuple(point), [CLICKS[0] % (1, 1), CLICKS[0] % (0.5, 30)])
