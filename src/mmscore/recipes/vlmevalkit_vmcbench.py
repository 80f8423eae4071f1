"""VMCBench as VLMEvalKit reports it: a letter or an option's text, else a drawn letter; means by kind of benchmark.

A response from which nothing can be read gets a letter drawn at random. The framework sets no seed, so that its number
changes from run to run; here the seed is 0, and letters are drawn in order of the index.
`accuracy_without_fallback` counts drawn letters as wrong, `fallback_share` says how many there were.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:VMCBenchDataset.evaluate,
vlmeval/dataset/utils/vmcbench.py:get_mc_score, report_vmc_acc, run with `random.seed(0)`. Kept on purpose: numbers of
the table are rounded to two digits of percent. Not kept: the framework stops where one of the benchmarks has no row;
here it is left out, of the means too. A failed inference is no answer here and counts apart.
"""

import math
from collections.abc import Mapping, Sequence
from random import Random

import numpy as np
from msgspec.structs import replace

from mmconvert.core.record import LETTERS
from mmconvert.core.text.options import list_letters
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import MEANS, Item, Metrics, Recipe, Row, has_options
from mmscore.core.table import SCORED, Scored
from mmscore.kits.vlmevalkit.rows import KIT, RESULTS, VERSIONS, offer_for_names, read_answer_cell
from mmscore.parsers.mmmu_choice import draw_choice
from mmscore.parsers.vlmevalkit_vmc_choice import vlmevalkit_vmc_choice

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/vmcbench.py:report_vmc_acc
KINDS = {
    "General": ("SEEDBench", "MMStar", "A-OKVQA", "VizWiz", "MMVet", "VQAv2", "OKVQA"),
    "Reasoning": ("MMMU", "MathVista", "ScienceQA", "RealWorldQA", "GQA", "MathVision"),
    "OCR": ("TextVQA", "OCRVQA"),
    "Doc & Chart": ("AI2D", "ChartQA", "DocVQA", "InfoVQA", "TableVQABench"),
}
SEED, DRAWN = 0, "random fallback"
OPTIONS = 9
"""Options that the framework looks at."""


def _list_options(item: Item) -> dict[str, str]:
    options = zip(LETTERS, item.options[:OPTIONS], strict=False)
    return {letter: text for letter, text in options if text is not None}


def _parse(item: Item, version: str) -> Parsed:
    options = _list_options(item)
    return vlmevalkit_vmc_choice(item.prediction, list(options), options) if "A" in options else UNPARSED


def _score(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    right = float(parsed.value == read_answer_cell(item))
    drawn = float(parsed.value is None and "A" in _list_options(item))
    return {"accuracy": right, "accuracy_without_fallback": right, "fallback_share": drawn}


def _draw_letters(scored: Scored, version: str) -> Scored:
    values, hows, ids = (scored.column(name) for name in ("value", "how", "id"))
    accuracy = scored.scores["accuracy"].copy()
    options, answers, labels = (scored.column(name) for name in ("options", "answer", "label"))
    unread = np.flatnonzero(scored.scores["fallback_share"] == 1.0).tolist()
    rng = Random(SEED)
    for n in sorted(unread, key=lambda n: _order_index(ids[n])):
        values[n], hows[n] = draw_choice(list_letters(options[n][:OPTIONS]), rng), DRAWN
        accuracy[n] = float(values[n] == read_answer_cell(Item(answer=answers[n], label=labels[n])))
    return scored.with_column("value", values).with_column("how", hows).with_scores(accuracy=accuracy)


def _order_index(id: str) -> tuple[int, str]:
    return (int(id), "") if id.isdecimal() else (-1, id)


def _reduce(scored: Scored, version: str) -> Metrics:
    means = MEANS(scored, version)
    return {**means, "fallback_share": replace(means["fallback_share"], higher_is_better=False)}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    scored = scored.with_status(SCORED)
    values = {name: rows.mean("accuracy").value for name, rows in scored.split("category")}
    found = {kind: [values[name] for name in names if name in values] for kind, names in KINDS.items()}
    means = {kind: math.fsum(some) / len(some) for kind, some in found.items() if some}
    shown = {name: values[name] for names in KINDS.values() for name in names if name in values}
    line = {"Overall": scored.mean("accuracy").value, **means, **shown}
    return [{name: float(np.round(value * 100, 2)) for name, value in line.items()}]


RECIPE = Recipe(
    "VMCBench as VLMEvalKit scores it: means by kind of benchmark, seeded random fallback",
    KIT,
    VERSIONS,
    columns=("options", "answer", "label"),
    parse=_parse,
    metrics=_score,
    settle=_draw_letters,
    reduce=_reduce,
    default_for=offer_for_names("VMCBench", frozenset(("VMCBench_DEV", "VMCBench_TEST"))),
    table=_build_table,
    keep=("category", "options", "answer", "label"),
    groups=("category",),
    results=RESULTS,
    has_options=has_options,
)
