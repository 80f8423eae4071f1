"""Cases of VLMEvalKit's yes/no benchmarks, of MMVP, of MMT-Bench and of LLaVA-Bench.

Tables go the framework's way: a table of questions, a workbook of predictions, `evaluate` without a judge.
"""

import os
import sys
import tempfile
from pathlib import Path
from random import Random

import openpyxl  # noqa: F401 - before a package that it would use is stood in for
import pandas as pd
from checkout import open_checkout

SAID = (
    "Yes", "No", "yes.", "no", "Yes, it is.", "No, it is not.", "NO!", "YES", "", "None", "nan", "Unclear.", "是", "否",
    "Yes and no.", "I would say yes\nbut no", "**No**", "Nothing there", "n.o.", "not yes", "(yes)", "It does.", " no ",
)  # fmt: skip
CHOSEN = (
    "A",
    "B",
    "B.",
    "(A)",
    "The answer is B",
    "答案是A",
    "",
    "A or B",
    "Option A",
    "b",
    "None",
    "It is B. Yes",
    "C",
)
MME = (
    "OCR", "artwork", "celebrity", "color", "count", "existence", "landmark", "position", "posters", "scene",
    "code_reasoning", "commonsense_reasoning", "numerical_calculation", "text_translation",
)  # fmt: skip
AMBER = (
    "discriminative-attribute-state", "discriminative-attribute-number", "discriminative-attribute-action",
    "discriminative-hallucination", "discriminative-relation", "relation",
)  # fmt: skip


DATA = "LMUData"  # as the framework spells its variable


def make_cases(checkout: Path, shared: Path) -> dict[str, list[dict]]:
    os.environ[DATA] = tempfile.mkdtemp()
    open_checkout(checkout, ["vlmeval"], bare=["vlmeval", "vlmeval.dataset"])
    import vlmeval.smp

    # The module of LLaVA-Bench looks for its logger in a package that is not there.
    sys.modules["vlmeval.dataset.smp"] = vlmeval.smp
    sys.modules["vlmeval.dataset.smp.log"] = sys.modules["vlmeval.smp.log"]
    rng = Random(20261125)
    makers = {"MME": (_ask_mme, 14), "POPE": (_ask_pope, 12), "HallusionBench": (_ask_hallusion, 12)}
    makers |= {"AMBER": (_ask_amber, 16), "VSR-zeroshot": (_ask_vsr, 20)}
    yes_no = [_evaluate_yes_no(name, *ask(rng)) for name, (ask, times) in makers.items() for _ in range(times)]
    choices = [_evaluate_choices("MMVP", *_ask_mmvp(rng)) for _ in range(18)]
    choices += [_evaluate_choices("MMT-Bench_VAL", *_ask_mmt(rng, checkout)) for _ in range(16)]
    return {
        "vlmeval_yorn": yes_no,
        "vlmeval_mcq_eval": choices,
        "vlmeval_llavabench": [_rate(rng) for _ in range(24)] + [_parse(text) for text in REVIEWS],
    }


def _say(rng: Random) -> str:
    return rng.choice(SAID[:8]) if rng.random() < 0.6 else rng.choice(SAID)


def _answer(rng: Random) -> str:
    return rng.choice(("Yes", "No"))


def _ask_mme(rng):
    rows = [
        (category, f"{category}/{image}.png", answer)
        for category in MME
        for image in range(rng.randint(1, 3))
        for answer in rng.sample(("Yes", "No"), 2)
    ]
    table = [[n, *row[:2], f"Is it so, {n}?", row[2], _say(rng)] for n, row in enumerate(rows)]
    return ["index", "category", "image_path", "question", "answer", "prediction"], table


def _ask_pope(rng):
    kinds = ("random", "popular", "adversarial", "random,popular", "random,popular,adversarial")
    table = [[n, rng.choice(kinds), f"Is thing {n} there?", _answer(rng), _say(rng)] for n in range(rng.randint(4, 24))]
    return ["index", "category", "question", "answer", "prediction"], table


def _ask_hallusion(rng):
    table = []
    for _ in range(rng.randint(2, 5)):
        category, second = rng.choice((("VD", "illusion"), ("VD", "figure"), ("VS", "chart"), ("VS", "map")))
        part = len(table)
        for figure in range(rng.randint(1, 3)):
            for question in range(rng.randint(1, 3)):
                index = f"{category}_{second}_{part}_0_{figure}_{question}"
                table.append([index, category, second, f"Does {index} hold?", _answer(rng), _say(rng)])
    return ["index", "category", "l2-category", "question", "answer", "prediction"], table


def _ask_amber(rng):
    table = [
        [n, rng.choice(AMBER), f"AMBER_{rng.randint(1, 5)}.jpg", f"Is part {n} right?", _answer(rng).lower(), _say(rng)]
        for n in range(rng.randint(3, 20))
    ]
    return ["index", "category", "image_path", "question", "answer", "prediction"], table


def _ask_vsr(rng):
    table = [[n, f"Is the cup left of thing {n}?", _answer(rng), _say(rng)] for n in range(rng.randint(2, 20))]
    return ["index", "question", "answer", "prediction"], table


def _evaluate_yes_no(dataset: str, columns: list[str], rows: list[list]) -> dict:
    from vlmeval.dataset.image_yorn import ImageYORNDataset
    from vlmeval.smp import dump, load

    # Only the name matters: questions are not read again.
    benchmark = object.__new__(ImageYORNDataset)
    benchmark.dataset_name = dataset
    case = {
        "rule": f"{dataset.partition('-')[0]}_table",
        "input": {"dataset": dataset, "columns": columns, "rows": rows},
    }
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/model_{dataset}.xlsx"
        dump(pd.DataFrame(rows, columns=columns), file)
        try:
            score = benchmark.evaluate(file, model="exact_matching")
        except (KeyError, IndexError, ValueError) as error:
            return {**case, "expected": {"error": type(error).__name__}}
        match = load(f"{folder}/model_{dataset}_auxmatch.xlsx")
    lines = score.to_dict("records")
    if "split" in score:  # the framework walks a set
        lines.sort(key=lambda line: (line["split"] != "Overall", line["split"]))
    expected = {"score": lines, "extracted": list(match["extracted"]), "hit": match["score"].tolist()}
    return {**case, "expected": expected}


def _ask_mmvp(rng):
    rows = []
    for pair in range(rng.randint(1, 5)):
        first, second = rng.sample(("open", "closed", "left", "right", "两个", "3 m"), 2)
        for half in range(2):
            rows.append(
                [2 * pair + half + 1, f"Which is pair {pair}?", first, second, rng.choice("AB"), f"/i/{pair}.jpg"]
            )
    return ["index", "question", "A", "B", "answer", "image_path"], rows, [_choose(rng) for _ in rows]


def _ask_mmt(rng, checkout):
    from vlmeval.dataset.utils.multiple_choice import MMT_abbrs

    seconds = list(MMT_abbrs)
    if rng.random() < 0.15:
        del seconds[rng.randrange(len(seconds))]
    rows = [[f"{second}_{task}", second, rng.choice("ABCD")] for second in seconds for task in range(rng.randint(1, 2))]
    options = ["cup", "lamp", "书", "12 m"]
    table = [
        [n + 1, f"Which, {n}?", *rng.sample(options, 4), answer, category, second, f"/i/{n}.jpg"]
        for n, (category, second, answer) in enumerate(rows)
    ]
    columns = ["index", "question", *"ABCD", "answer", "category", "l2-category", "image_path"]
    return columns, table, [_choose(rng) for _ in table]


def _choose(rng: Random) -> str:
    return rng.choice("AB") if rng.random() < 0.6 else rng.choice(CHOSEN)


def _evaluate_choices(dataset: str, columns: list[str], rows: list[list], predictions: list[str]) -> dict:
    from vlmeval.dataset.image_mcq import ImageMCQDataset
    from vlmeval.smp import dump, load

    table = Path(os.environ[DATA]) / f"{dataset}.tsv"
    pd.DataFrame(rows, columns=columns).to_csv(table, sep="\t", index=False)
    benchmark_class = type("Local", (ImageMCQDataset,), {"load_data": lambda self, name: load(str(table))})
    given = {"cls": "ImageMCQDataset", "dataset": dataset, "columns": columns, "rows": rows}
    given |= {"predictions": predictions, "dropped_rows": []}
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/model_{dataset}.xlsx"
        frame = load(str(table))
        frame["prediction"] = predictions
        dump(frame, file)
        try:
            score = benchmark_class(dataset).evaluate(file, model="exact_matching")
        except (KeyError, IndexError, ValueError) as error:
            return {"rule": "mcq_table", "input": given, "expected": {"error": type(error).__name__}}
        result = load(f"{folder}/model_{dataset}_exact_matching_result.xlsx")
    lines = sorted(score.to_dict("records"), key=lambda line: str(line.get("split", "")))
    hits = {str(index): int(hit) for index, hit in zip(result["index"], result["hit"], strict=True)}
    return {"rule": "mcq_table", "input": given, "expected": {"acc": _plain(lines), "hit": hits}}


def _plain(lines: list[dict]) -> list[dict]:
    return [{key: float(v) if hasattr(v, "dtype") else v for key, v in line.items()} for line in lines]


REVIEWS = (
    "8 6\nThe first is better.",
    "7.5,9",
    "10 1",
    "9, 8",
    "8  7",
    "Scores: 8 7",
    "8",
    "eight 7",
    "",
    "3 4 5",
    "1 10\n",
)
CATEGORIES = ("conv", "detail", "complex")


def _rate(rng: Random) -> dict:
    """Take the framework's reading of a judge's replies, and its means over them."""
    from vlmeval.dataset.utils.llavabench import LLaVABench_score, parse_score

    separators = (" ", ",")
    rows = [
        {
            "category": rng.choice(CATEGORIES),
            "review": f"{rng.randint(2, 20) / 2}{rng.choice(separators)}{rng.randint(2, 20) / 2}\nBecause of case {n}.",
        }
        for n in range(rng.randint(1, 12))
    ]
    pairs = [parse_score(row["review"]) for row in rows]
    frame = pd.DataFrame({"category": [row["category"] for row in rows]})
    frame["gpt4_score"], frame["score"] = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    table = _plain(LLaVABench_score(frame).round(1).to_dict("records"))
    # The framework walks a set of categories.
    table.sort(key=lambda line: (line["split"] != "overall", line["split"]))
    return {"rule": "llavabench_table", "input": rows, "expected": {"scores": pairs, "table": table}}


def _parse(review: str) -> dict:
    from vlmeval.dataset.utils.llavabench import parse_score

    return {"rule": "llavabench_parse", "input": {"review": review}, "expected": parse_score(review)}
