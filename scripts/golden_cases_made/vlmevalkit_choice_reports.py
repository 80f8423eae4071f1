"""Cases of VLMEvalKit's benchmarks of multiple choice that have a report of their own."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from vlmevalkit_tables import evaluate, evaluate_until_scored, flatten, open_kit, say

TEXTS = ("a red kite", "two spoons", "12 m", "left of the door", "书", "none of these", "0.5", "the horse")


def make_cases(checkout: Path, shared: Path, seed: int = 20261126) -> dict[str, list[dict]]:
    open_kit(checkout)
    rng = Random(seed)
    return {"files_vlmevalkit": [make(rng) for make, times in MAKERS for _ in range(times)]}


def _make_hrbench(rng: Random) -> dict:
    categories = rng.sample(("single", "cross", "fine detail"), rng.randint(1, 3))
    rows, said = [], []
    for question in range(rng.randint(1, 6)):
        category = rng.choice(categories)
        for cycle in range(rng.choice((1, 2, 4))):
            options, answer = rng.sample(TEXTS, 4), rng.choice("ABCD")
            rows.append([len(rows), f"Question {question}?", *options, answer, category, str(cycle)])
            said.append(say(rng, answer, "ABCD"))
    columns = ["index", "question", *"ABCD", "answer", "category", "cycle_category"]
    name = rng.choice(("HRBench4K", "HRBench8K"))
    return evaluate("image_mcq", "HRBenchDataset", name, columns, rows, said, labels=["cycle"])


def _make_cvbench(rng: Random) -> dict:
    flat = rng.random() < 0.6
    sources, kinds = ("ADE20K", "COCO"), ("Count", "Relation") if flat else ("Depth", "Distance")
    rows, said = [], []
    for number in range(rng.randint(1, 12)):
        options, answer = rng.sample(TEXTS, 4), rng.choice("ABCD")
        split = "2D" if flat else rng.choice(("3D", "3D", "2D"))
        source = rng.choice(sources[: rng.randint(1, 2)])
        rows.append([number, f"Question {number}?", *options, answer, rng.choice(kinds), split, source])
        said.append(say(rng, answer, "ABCD"))
    columns = ["index", "question", *"ABCD", "answer", "category", "split", "source"]
    return evaluate("image_mcq", "CVBench", f"CV-Bench-{'2D' if flat else '3D'}", columns, rows, said)


def _make_3dsrbench(rng: Random) -> dict:
    leveled, split = rng.random() < 0.3, rng.random() < 0.2
    right = rng.choice((0.5, 0.9, 1.0))
    rows, said = [], []
    for question in range(rng.randint(1, 5)):
        name = f"Q{rng.randint(100, 999)}X{question:03}"
        kinds = ["", "-1", "-flip", "-flip-1"] if rng.random() < 0.7 else rng.choice(([""], ["", "-flip"], ["", "-1"]))
        kinds = ["", *rng.sample(kinds, len(kinds) - 1)] if rng.random() < 0.03 else kinds
        category = rng.choice(("height", "location", "orientation", "multi_object"))
        for kind in dict.fromkeys(kinds):
            options, answer = rng.sample(TEXTS, rng.choice((2, 4))), rng.choice("AB")
            options += [None] * (4 - len(options))
            row = [len(rows), name + kind, f"Question {question}?", *options, answer, category]
            rows.append([*row, *(["all"] if leveled else []), *([rng.choice(("val", "test"))] if split else [])])
            said.append(answer if rng.random() < right else say(rng, answer, "ABCD"))
    rng.shuffle(rows)
    extra = [*(["l2-category"] if leveled else []), *(["split"] if split else [])]
    columns = ["index", "qid", "question", *"ABCD", "answer", "category", *extra]
    said = [said[row[0]] for row in rows]
    return evaluate("image_mcq", "_3DSRBench", "3DSRBench", columns, rows, said)


SPATIAL_PARTS = (
    "<answer>", "</answer>", "< answer x>", "</ answer >", "<think>", "</think>", "< think >", "A", "B", "C", "d",
    "F",
    "G", "J", " ", " ", "\n", "\n\n", "(", ")", "[", "]", "**", "_", "（", "）", "【", ".", ":", "：", "-", "、",
    "option ", "选项 ", "\nOption A:", "\nOption C: x\n", "答案", "最终答案", "final answer", "the answer is",
    "answer", "correct answer",
    "结论", "所以", "我选择", "选", "a word", "apple", "Cat", "\u200b", "y" * 50, "left of " * 110, "!", "}", "=",
    "ı", "是",
)  # fmt: skip
"""Parts of responses to the spatial benchmarks; each is looked for, or looks like what is looked for."""

SPATIAL = (
    ("mmsibench", "MMSIBench", ("MMSIBench_wo_circular",), {"category": ("Pos-Cam-Cam", "MSR", "Attr-Meas", "Other")}),
    (
        "mindcubebench",
        "MindCubeBench",
        ("MindCubeBench_raw_qa", "MindCubeBench_tiny_raw_qa"),
        {"category": ("rotation", "around", "tilted", None)},
    ),
    ("viewspatialbench", "ViewSpatialBench", ("ViewSpatialBench",), {"question_type": ("Camera", "Person", "12")}),
    ("embspatialbench", "EmbSpatialBench", ("EmbSpatialBench",), {"data_source": ("mp3d", "scannet", "home")}),
    ("eriq", "ERIQBench", ("ERIQ",), {"task_type": ("QA_TASK_PROGRESS", "QA_TASK_GROUNDING", "QA_X")}),
    (
        "omnispatialbench",
        "OmniSpatialBench",
        ("OmniSpatialBench", "OmniSpatialBench_manual_cot"),
        {"task_type": ("Complex_Logic", "Dynamic_Reasoning"), "sub_task_type": ("Manipulation", "Localization")},
    ),
    (
        "spatial_dise",
        "SpatialDISE",
        ("Spatial-DISE", "Spatial-DISE_VAL_SEPARATE"),
        {
            "category": ("3D Rotation", "Fold and Punch", "4D"),
            "difficulty": ("easy", "hard", "none", None),
            "dise_category": ("Intrinsic-Static", "Extrinsic-Dynamic"),
        },
    ),
    (
        "spatialvizbench",
        "SpatialVizBench",
        ("SpatialVizBench", "SpatialVizBench_CoT"),
        {"category": ("MentalFolding", "VisualPenetration", "Sleep"), "task": ("CubeCounting", "ArrowMoving", "Nap")},
    ),
)


def _make_easi(rng: Random) -> dict:
    module, name, datasets, groups = rng.choice(SPATIAL)
    rows, said = [], []
    for number in range(rng.randint(1, 10)):
        answer = rng.choice("ABCDABCDABCDABCDG") if rng.random() < 0.95 else rng.choice(("(B)", "c", "left", "3", None))
        rows.append([number, f"Question {number}?", answer, *(rng.choice(values) for values in groups.values())])
        said.append(say_spatial(rng, answer or "A"))
    columns = ["index", "question", "answer", *groups]
    return evaluate(module, name, rng.choice(datasets), columns, rows, said, unread=UNREAD)


UNREAD = ("tabulated_keys", "tabulated_results")


def say_spatial(rng: Random, answer: str) -> str:
    """Draw a response to a spatial benchmark: a plain one, or parts in any order."""
    if rng.random() < 0.3:
        return say(rng, answer, "ABCD")
    if rng.random() < 0.4:
        around = rng.choice(("<answer>{}</answer>", "<think>A, B, C?</think> {}", "So the answer is ({}).", "**{}**"))
        return around.format(rng.choice((answer, rng.choice("ABCDEF"))))
    return "".join(rng.choice(SPATIAL_PARTS) for _ in range(rng.choice((3, 8, 20))))


# The first capital.

CAPITAL_FORMS = (
    "{}", "({})", "{}.", "The best answer is {}.", "The correct answer is {}", "the answer is {}",
    "<answer>{}</answer>",
    "<answer>\n {}. x</answer> no", "The answer is", "The answer", "Best option: {}", "<answer>nothing</answer>",
    "</answer> {} <answer>", "<answer>{}", "it is the one to the left of the small door with a bell", "Best answer:",
    "Answer: {}", "(", ")", "({}", "Both {} and A", "I see it", "<answer></answer>",
    "The best answer is {} The answer",
    "最佳答案为：{}", "one two three four five six seven eight nine ten eleven {}", " ",
)  # fmt: skip


def say_in_form(rng: Random, forms: tuple[str, ...], answer: str, letters: str) -> str:
    """Draw a response: a form with the right letter, another or a small one; or a hostile response."""
    if rng.random() < 0.2:
        return say(rng, answer, letters)
    letter = rng.choice((answer, answer, rng.choice(letters)))
    letter = letter.lower() if rng.random() < 0.15 else letter
    return rng.choice(forms).replace("{}", letter)


def _make_mme_realworld(rng: Random) -> dict:
    def draw() -> dict:
        rows, said = [], []
        for number in range(rng.randint(1, 14)):
            options, answer = rng.sample(TEXTS, 5), rng.choice("ABCDE")
            place = f"{rng.choice(('Reasoning', 'Perception'))}/{rng.choice(subtasks)}{rng.choice(('', '/more'))}"
            detail = rng.choice(("Intention", "count/Attribute", "vehicle attribute", "object count", "count/x"))
            rows.append([number, f"Question {number}?", "\n".join(options), *options, answer, place, detail])
            said.append(say_in_form(rng, CAPITAL_FORMS, answer, "ABCDE"))
        columns = ["index", "question", "multi-choice options", *"ABCDE", "answer", "category", "l2-category"]
        name = rng.choice(("MME-RealWorld", "MME-RealWorld-CN", "MME-RealWorld-Lite"))
        case = evaluate("image_mcq", "MMERealWorld", name, columns, rows, said)
        return flatten(case, ("task", "subtask", "category"), "accuracy")

    kinds = ("Monitoring", "Autonomous_Driving", "OCR with Complex Context", "Diagram and Table", "Remote Sensing")
    subtasks = rng.sample(kinds, rng.randint(1, 5))
    return evaluate_until_scored(draw)


BOX_FORMS = (
    r"\boxed{{}}", r"Answer: \boxed{{}}", r"\boxed{\text{{}}}", r"\boxed{$\mathbf{{}}$}",
    r"\boxed{{}} then \boxed{B}",
    r"\boxed{ {} }", r"\boxed{A or {}}", r"\boxed{$LETTER} answer: {}", r"\boxed{\boxed{{}}}", r"\boxed{{} ",
    r"\boxed{}",
    "It is {}.", "It is ({}).", "{}\nsince", "({})\nsince", "({}) {}\nsince", "{}<|endoftext|>", "{}", "Answer: {}",
    "The final answer is: {}. Yes", "the answer is option {}", "the correct answer is: option {}",
    "the answer is {}\nok",
    "answer: the answer is: {}", "the answer should be {}", "Answer: A. No, the answer is {}.", r"\}{}\boxed{{}\}",
    "x }",
    r"\boxed{{}.}", r"\boxed{{}) x}", "The answer is **{}**", r"a } \boxed{{}} } }",
)  # fmt: skip


def _make_visulogic(rng: Random) -> dict:
    kinds = ("Quantitative", "Spatial", "Positional", "Attribute", "Stylistic")
    categories = [f"{kind} Reasoning" for kind in kinds] + ["Other"]

    def draw() -> dict:
        rows, said = [], []
        for number in range(rng.randint(6, 20)):
            answer = rng.choice("ABCD")
            category = categories[number] if number < 6 else rng.choice([*categories, "Unknown", None])
            rows.append([number, f"Question {number}?", answer, category])
            said.append(say_in_form(rng, BOX_FORMS, answer, "ABCD"))
        columns = ["index", "question", "answer", "category"]
        return evaluate("image_mcq", "VisuLogic", "VisuLogic", columns, rows, said)

    return evaluate_until_scored(draw)


VMC_NAMES = (
    "SEEDBench", "MMStar", "A-OKVQA", "VizWiz", "MMVet", "VQAv2", "OKVQA", "MMMU", "MathVista", "ScienceQA",
    "RealWorldQA", "GQA", "MathVision", "TextVQA", "OCRVQA", "AI2D", "ChartQA", "DocVQA", "InfoVQA", "TableVQABench",
)  # fmt: skip
VMC_FORMS = (
    "{}", "({})", "{}.", "{}. it is", "The answer is {}. ", "'{}'", "It is A or {} I think", "{}: the kite", "**{}**",
    "({}) or (A)", "A. or {}. or so", "(B) but {}. wins", "I think that it shows a red kite, not the horse at all",
    "It must be the thing that is left of the door", "no idea", "{}!?", "{}\n", "Option {} , surely",
    "Red Kite it is for me now",
)  # fmt: skip


def _make_vmcbench(rng: Random) -> dict:
    def draw() -> dict:
        rows, said = [], []
        for number in range(rng.randint(20, 40)):
            options, answer = rng.sample(TEXTS, 4), rng.choice("ABCD")
            options[3] = options[3] if rng.random() < 0.8 else None
            options[0] = options[0] if rng.random() < 0.95 else None
            category = VMC_NAMES[number] if number < 20 else rng.choice([*VMC_NAMES, "Elsewhere"])
            rows.append([number * 3, f"Question {number}?", *options, answer, category])
            said.append(say_in_form(rng, VMC_FORMS, answer, "ABCD"))
        paired = list(zip(rows, said, strict=True))
        rng.shuffle(paired)
        rows, said = ([one[place] for one in paired] for place in (0, 1))
        columns = ["index", "question", *"ABCD", "answer", "category"]
        name = rng.choice(("VMCBench_DEV", "VMCBench_TEST"))
        # The framework draws letters from the generator that all share, and gives it no seed.
        random.seed(0)
        return evaluate("image_mcq", "VMCBenchDataset", name, columns, rows, said)

    return evaluate_until_scored(draw)


def _make_treebench(rng: Random) -> dict:
    subtasks = {
        "Perception": ("Attributes", "Material", "Physical State", "Object Retrieval", "OCR"),
        "Reasoning": ("Perspective Transform", "Ordering", "Contact and Occlusion", "Comparison"),
    }

    def draw_box(loose: bool) -> list[int]:
        left, top = rng.randint(0, 50), rng.randint(0, 50)
        box = [left, top, left + rng.randint(0 if loose else 1, 50), top + rng.randint(0 if loose else 1, 50)]
        return rng.sample(box, 4) if loose and rng.random() < 0.1 else box

    def draw_boxes(targets: list[list[int]]) -> str:
        drawn = [*targets, *(draw_box(True) for _ in range(rng.randint(0, 2)))]
        shown = [str(box).replace(" ", "") for box in rng.sample(drawn, rng.randint(0, len(drawn)))]
        shown += rng.sample(["[1, 2, 3, 4]", "[5,6,7]", "none", " [3,4,60,70] ", "[1.5,2,3,4]"], rng.randint(0, 1))
        return " and ".join(f"<box>{one}</box>" for one in shown)

    def draw() -> dict:
        rows, said = [], []
        for number in range(rng.randint(1, 8)):
            task = rng.choice(("Perception", "Reasoning"))
            targets, answer = [draw_box(False) for _ in range(rng.choice((0, 1, 1, 2, 3)))], rng.choice("ABCDE")
            options, category = rng.sample(TEXTS, 5), f"{task}/{rng.choice(subtasks[task])}"
            rows.append([number, f"Question {number}?", *options, answer, category, str(targets)])
            said.append(
                rng.choice(("<think>{}</think> ", "{} ", "<think>{}", "</think> {} <box>", "</box><think></think>{}"))
                .replace("{}", draw_boxes(targets))
                + say_in_form(rng, CAPITAL_FORMS, answer, "ABCDE")
            )  # fmt: skip
        columns = ["index", "question", *"ABCDE", "answer", "category", "target_instances"]
        case = evaluate("image_mcq", "TreeBench", "TreeBench", columns, rows, said)
        return flatten(case, ("task", "subtask"), "value")

    return evaluate_until_scored(draw)


BLIND = {
    "Subway Connections": ("0", "1", "3"), "Nested Squares": ("2", "4"), "Line Plot Intersections": ("0", "2"),
    "Touching Circles": ("Yes", "No"), "Counting Grid - Word Grids": ("3,4", "5, 6", "3"),
    "Counting Grid - Blank Grids": ("4,4", "3,x"), "Olympic Counting - Pentagons": ("5", "6"),
    "Olympic Counting - Circles": ("7", "5"), "Circled Letter": ("k", "o"), "Something New": ("1",),
}  # fmt: skip
BLIND_FORMS = (
    "{@}", "The answer is {@}.", "It is @", "@", "{ @ }", "{{@}}", "{}", "{\n@} {@}", "first {1} then {@}", "} {@}",
    "rows={#} columns={%}", "Rows: {#}, Columns: {%}", "row {#} and column {%}", "(#, %)", "(#,%) or (1,2)", "(# %)",
    "columns {%} rows {#}", "rows {x} {#} columns {%}", "Row and column: {#} {%}", "rows={#} and (#, %)", "Rows {12}",
    "yes", "NO", "grow {#} tall columns {%}", "I see none", "rows {#} columns {%", "rows {} columns {} ({#}, {%})",
)  # fmt: skip


def _make_vlmblind(rng: Random) -> dict:
    def draw() -> dict:
        rows, said = [], []
        for number in range(rng.randint(2, 16)):
            task = "Touching Circles" if number == 0 else rng.choice(list(BLIND))
            answer = rng.choice(BLIND[task])
            rows.append([number, f"Question {number}?", answer, task])
            first, last = [*(part.strip() for part in answer.split(",")), "4"][:2]
            form = rng.choice(BLIND_FORMS).replace("@", answer if rng.random() < 0.7 else "1")
            said.append(say(rng, form.replace("#", first).replace("%", last), [answer, "yes it is"]))
        columns = ["index", "question", "answers", "task"]
        return evaluate("image_mcq", "VLMBlind", "VLMBlind", columns, rows, said)

    return evaluate_until_scored(draw)


NATURAL_FORMS = (
    "{}", "{}.", "I say {}", "not {} but @", "@, no {}", "{} or @", "yesterday", "Nothing", "a", "b)", "A b", "YES",
    "nO",
    "It cannot be told", "maybe_{}", "{}{}", "{}-@", "<answer>{}</answer>",
)  # fmt: skip


def _make_naturalbench(rng: Random) -> dict:
    groups, rows, said = rng.randint(1, 5), [], []
    for number in range(groups * 4):
        kind, words = rng.choice((("yes_no", ("Yes", "No")), ("multiple_choice", ("A", "B"))))
        right, wrong = words if number % 4 in (0, 3) else words[::-1]
        rows.append([number, f"Question {number}?", right, kind])
        right, wrong = rng.choice(((right, wrong), (right, wrong), (right, wrong), (wrong, right)))
        form = rng.choice(NATURAL_FORMS) if rng.random() < 0.3 else "{}"
        said.append(say(rng, form.replace("{}", right).replace("@", wrong), words))
    columns = ["index", "question", "answer", "type"]
    with of_size(groups * 4):
        return evaluate("image_mcq", "NaturalBenchDataset", "NaturalBenchDataset", columns, rows, said)


@contextmanager
def of_size(rows: int) -> Iterator[None]:
    """Let the framework's NaturalBench take a table of so many rows; it wants those of the benchmark."""
    from vlmeval.dataset.image_mcq import NaturalBenchDataset

    code = NaturalBenchDataset.evaluate.__code__
    constants = tuple(rows if constant == 1900 * 4 else constant for constant in code.co_consts)
    NaturalBenchDataset.evaluate.__code__ = code.replace(co_consts=constants)
    yield
    NaturalBenchDataset.evaluate.__code__ = code


def _make_crpe(rng: Random) -> dict:
    rows, said = [], []
    for group in range(rng.randint(1, 8)):
        category = rng.choice(("exist", "subject", "predicate", "object"))
        right = rng.random() < 0.6
        for turn in range(4):
            text, letter = rng.choice(TEXTS), rng.choice("ABCD")
            answer = rng.choice((f"{letter}", f"{letter}. {text}", f"{letter}.  {text}", f"({letter}) {text}", text))
            answer = "A" if answer in ("12 m", "0.5") else answer
            kind = category if rng.random() < 0.9 else rng.choice(("exist", "subject"))
            rows.append([group * 4 + turn, f"Question {group}?", answer, kind])
            forms = (answer, answer, f"It is {text}", f"it is {text.upper()}!", answer[0])
            said.append(rng.choice(forms) if right else say(rng, rng.choice(forms), "ABCD"))
    columns = ["index", "question", "answer", "category"]
    return evaluate("image_vqa", "CRPE", rng.choice(("CRPE_EXIST", "CRPE_RELATION")), columns, rows, said)


COT_FORMS = (
    "Answer: {}", "I think.\nAnswer: ${}", "It is A.\nSo:\n  Answer: ({})", "Answer: B\nNo.\nAnswer: {}", "Answer:",
    "Answer: {} or B", "Answer: {} {} {}", "**Answer: {}**", "Answer: The second", "answer: {}",
    "Answer:{}.\nOf course",
    "Answer: a red kite", "The answer is {}", "Answer: $LETTER\nAnswer: {}", "Answer: none of these", "{}",
    "Answer: 12 m",
    "Answer: it is {}, I am sure, since the picture shows it", "Answer: NA", "Answer:NA", "Answer: Z",
)  # fmt: skip


def _make_mmmu_pro_cot(rng: Random) -> dict:
    pictured = rng.random() < 0.5
    leveled = rng.random() < 0.5

    def draw() -> dict:
        rows, said = [], []
        for number in range(rng.randint(1, 10)):
            options, answer = [*rng.sample(TEXTS, 8), "more"], rng.choice("ABCDEFGH")
            filled = rng.choice((4, 9))
            options = options[:filled] + [None] * (9 - filled)
            if rng.random() < 0.05:
                options, answer = [None] * 9, "3 apples"
            category = rng.choice(("Art", "Music", "Physics"))
            rows.append([number, f"Question {number}?", *options, answer, category, *(["all"] if leveled else [])])
            said.append(say_in_form(rng, COT_FORMS, answer if len(answer) == 1 else "A", "ABCDEFGH"))
        columns = ["index", "question", *"ABCDEFGHI", "answer", "category", *(["split"] if leveled else [])]
        name = "MMMU_Pro_V_COT" if pictured else "MMMU_Pro_10c_COT"
        return evaluate("image_mcq", "MMMUProDataset", name, columns, rows, said)

    return evaluate_until_scored(draw)


WE_FORMS = (
    "Answer: {}", "<Answer>: {}.", "Answer: <{}>", "So, Answer: A. No. Answer:{}", "{}", "{}. since",
    "The Answer is {}",
    "Answer: ({})", "answer {}", "Answers: {}", "Answer\n\n{}: a kite", "<<{}>>", "Answer: ", "It is {}", "Both",
    "Answer: {} .",
    "Give me C", "::{}",
)  # fmt: skip
CONCEPTS = (
    "Area of Circles", "Area of Squares", "Rotation", "Translation", "Parallel", "Observing Objects",
    "Left-Right Position",
    "Understanding Sectors", "Something else",
)  # fmt: skip


def _make_wemath(rng: Random) -> dict:
    right = rng.choice((0.4, 0.7, 0.9))

    def draw() -> dict:
        rows, said = [], []
        kinds = [2, 3, *(rng.choice((2, 3)) for _ in range(rng.randint(0, 8)))]
        for problem, steps in enumerate(kinds):
            keys = [f"{steps}steps_{step}" for step in [*range(1, steps + 1), "multi"]]
            if rng.random() < 0.1:
                keys.remove(rng.choice(keys))
            for key in keys:
                options, answer, concept = rng.sample(TEXTS, 4), rng.choice("ABCD"), rng.choice(CONCEPTS)
                rows.append([len(rows), f"Question {problem}?", *options, answer, key, problem * 7, concept])
                plain = rng.choice((f"Answer: {answer}", answer))
                said.append(plain if rng.random() < right else say_in_form(rng, WE_FORMS, answer, "ABCD"))
        columns = ["index", "question", *"ABCD", "answer", "key", "ID", "knowledge concept"]
        name = rng.choice(("WeMath", "WeMath_COT"))
        return evaluate("image_mcq", "WeMath", name, columns, rows, said, unread=["Model"])

    return evaluate_until_scored(draw)


MAKERS = (
    (_make_hrbench, 64),
    (_make_cvbench, 64),
    (_make_3dsrbench, 80),
    (_make_easi, 200),
    (_make_mme_realworld, 80),
    (_make_visulogic, 64),
    (_make_vmcbench, 64),
    (_make_treebench, 64),
    (_make_vlmblind, 80),
    (_make_naturalbench, 64),
    (_make_crpe, 64),
    (_make_mmmu_pro_cot, 80),
    (_make_wemath, 64),
)
"""What makes a case of a recipe, and how many; new ones go to the end, so that the cases before them stay."""
