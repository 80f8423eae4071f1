"""MMMU as lmms-eval scores it, but for its random letters; open questions are never right.

The framework draws a letter for a choice that it cannot read; the draw depends on all that ran before.
`accuracy_without_fallback` counts such choices as wrong, `accuracy_expected` gives them the chance of
the draw, `fallback_share` says how many there are. Where a logged row holds several responses, one right
response is enough, as in the framework; the row counts once.

Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/mmmu/utils.py. Kept on purpose: what is read
from an open answer is taken apart into characters before it is compared, so that only an empty
reference is met (EvolvingLMMs-Lab/lmms-eval#1436, fixed later).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from mmconvert.core.record import LETTERS
from mmconvert.core.text.options import list_letters
from mmconvert.kits.mmmu.subjects import parse_subject
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Recipe, Row
from mmscore.core.table import EXCLUDED, SCORED, Scored
from mmscore.kits.lmms_eval.rows import KIT, VERSIONS, gather_details, is_repeat, offer_for, read_reference
from mmscore.kits.mmmu.fallback import average_undrawn_scores, score_without_draw
from mmscore.metrics.mmmu_accuracy import AccuracyShare, build_breakdown
from mmscore.metrics.mmmu_open_match import mmmu_open_match
from mmscore.parsers.lmms_mmmu_choice import lmms_mmmu_choice
from mmscore.parsers.mmmu_open import mmmu_open

DIGITS = 5
WRITTEN, EXPECTED, DRAWN = "accuracy_without_fallback", "accuracy_expected", "fallback_share"


def _parse(item: Item, version: str) -> Parsed:
    if item.options:
        texts = {letter: text for letter, text in zip(LETTERS, item.options, strict=False) if text is not None}
        return lmms_mmmu_choice(item.prediction, list(texts), texts)
    return Parsed(str(mmmu_open(item.prediction)[0]), "key phrases")


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    gold = read_reference(item)
    if item.options:
        return score_without_draw(parsed.value, gold, list_letters(item.options))
    right = float(mmmu_open_match(gold, list(parsed.value or "")))
    return {WRITTEN: right, EXPECTED: right, DRAWN: 0.0}


def _adjust_rows(scored: Scored, version: str) -> Scored:
    """Name the subject: as the log has it, else from the id, else the category."""
    columns = (scored.column(name) for name in ("extra", "id", "category"))
    subjects = [
        gather_details(extra).get("subdomain") or parse_subject(id or "") or category
        for extra, id, category in zip(*columns, strict=True)
    ]
    together = _score_any_right(scored)
    return together.with_column("extra", [None] * len(scored)).with_column("subject", subjects)


def _score_any_right(scored: Scored) -> Scored:
    """Score the responses of a logged row together, on the first: one right response is enough."""
    columns = zip(*map(scored.column, ("sample", "variant", "extra")), strict=True)
    repeated = {sample for sample, variant, extra in columns if is_repeat(variant, extra)}
    members: dict[str, list[int]] = {}
    statuses = scored.column("status")
    for number, (sample, status) in enumerate(zip(scored.column("sample"), statuses, strict=True)):
        if sample in repeated and status == SCORED:
            members.setdefault(sample, []).append(number)
    scores = {name: values.copy() for name, values in scored.scores.items()}
    for first, *later in members.values():
        right, expected, drawn = (scores[name] for name in (WRITTEN, EXPECTED, DRAWN))
        every = [first, *later]
        drawn[first] = float(not right[every].any() and drawn[every].any())
        right[first], expected[first] = right[every].max(), 1 - (1 - expected[every]).prod()
        for number in later:
            statuses[number] = EXCLUDED
            for values in scores.values():
                values[number] = np.nan
    return scored.with_column("status", statuses).with_scores(**scores) if members else scored


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    means = {subject: part.mean(WRITTEN) for subject, part in scored.split("subject")}
    shares = build_breakdown({subject: AccuracyShare(mean.value, mean.n) for subject, mean in means.items()})
    return [{"name": name, "num": share.count, "acc": round(share.accuracy, DIGITS)} for name, share in shares.items()]


RECIPE = Recipe(
    summary="MMMU as lmms-eval scores it, unread choices not drawn",
    parity=KIT,
    versions=VERSIONS,
    columns=("options", "answer", "answers", "label"),
    parse=_parse,
    metrics=_score_row,
    settle=_adjust_rows,
    reduce=average_undrawn_scores,
    table=_build_table,
    keep=("extra", "category", "subject", "sample", "variant"),
    groups=("subject",),
    default_for=offer_for("MMMU", "mmmu_val", "mmmu_val_pass64", "mmmu_val_qwen", "mmmu_a"),
)
