"""Cases of VLMEvalKit's benchmarks of multiple choice that have a report of their own."""

from pathlib import Path
from random import Random

from vlmevalkit_tables import evaluate, open_kit, say

TEXTS = ("a red kite", "two spoons", "12 m", "left of the door", "书", "none of these", "0.5", "the horse")


def make_cases(checkout: Path, shared: Path, seed: int = 20261126) -> dict[str, list[dict]]:
    open_kit(checkout)
    rng = Random(seed)
    makers = ((_make_hrbench, 64), (_make_cvbench, 64), (_make_3dsrbench, 80), (_make_easi, 200))
    return {"files_vlmevalkit": [make(rng) for make, times in makers for _ in range(times)]}


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
    "<answer>", "</answer>", "< answer x>", "</ answer >", "<think>", "</think>", "< think >", "A", "B", "C", "d", "F",
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
