"""Cases of VLMEvalKit's benchmarks of multiple choice that have a report of their own."""

from pathlib import Path
from random import Random

from vlmevalkit_tables import evaluate, open_kit, say

TEXTS = ("a red kite", "two spoons", "12 m", "left of the door", "书", "none of these", "0.5", "the horse")


def make_cases(checkout: Path, shared: Path, seed: int = 20261126) -> dict[str, list[dict]]:
    open_kit(checkout)
    rng = Random(seed)
    makers = ((_make_hrbench, 64), (_make_cvbench, 64))
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
