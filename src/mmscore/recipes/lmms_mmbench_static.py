"""MMBench as lmms-eval scores it without a judge (`mmbench_en_dev_static`), in percent.

A letter as a token of its own, else the only option text in the response, else the best form of any
letter; a question is right when all its rotations are. Four options are known, and one that is not
there is the text `nan`, which is looked for too.

Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/mmbench/mmbench_evals.py.
"""

from collections.abc import Mapping

import pyarrow as pa

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Recipe, average_scores
from mmscore.core.table import EXCLUDED, Scored
from mmscore.kits.lmms_eval.rows import KIT, VERSIONS, gather_details, offer_for, read_reference, score_first_response
from mmscore.parsers.lmms_choice import lmms_choice
from mmscore.parsers.lmms_mmbench_option import lmms_mmbench_option
from mmscore.scoring.grouping import COLUMNS, score_circular

LETTERS = "ABCD"
ABSENT = "nan"


def _parse(item: Item, version: str) -> Parsed:
    options = dict.fromkeys(LETTERS, ABSENT)
    given = zip(LETTERS, item.options, strict=False)
    parsed = lmms_mmbench_option(item.prediction, options | {x: text for x, text in given if text is not None})
    return parsed if parsed.value is not None else lmms_choice(item.prediction, LETTERS)


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    return {"hit": float(parsed.value == read_reference(item))}


def _adjust_rows(scored: Scored, version: str) -> Scored:
    """Join rotations; a log numbers its rows and keeps MMBench's index beside, and its variants are responses."""
    ids, variants = [], []
    for id, status, variant, extra in zip(*map(scored.column, ("id", "status", "variant", "extra")), strict=True):
        index = gather_details(extra).get("index")
        ids.append(None if status == EXCLUDED else id if index is None else str(index))
        variants.append(None if status == EXCLUDED or index is not None else variant)
    facts = scored.with_column("extra", [None] * len(scored)).with_array("variant", pa.array(variants, pa.int32()))
    return score_circular(facts, "hit", ids)


RECIPE = Recipe(
    summary="MMBench as lmms-eval scores it without a judge",
    parity=KIT,
    versions=VERSIONS,
    columns=("options", "answer", "answers", "label", "extra", "variant"),
    parse=_parse,
    metrics=score_first_response(_score_row),
    settle=_adjust_rows,
    reduce=average_scores("percent", scale=100),
    keep=("extra", *COLUMNS),
    groups=("l2_category", "category"),
    default_for=offer_for("MMBench without a judge", "mmbench_en_dev_static"),
)
