"""VLMEvalKit's multiple choice, each row by itself: rule-based matching, then a judge if one is given.

Without a judge a response that nothing can be read from is wrong. The table is the framework's `_acc.csv`:
splits, Overall, l2-categories, categories.

Parity: open-compass/VLMEvalKit vlmeval/dataset/image_mcq.py:evaluate_heuristic (with
`exact_matching` where no judge is asked), vlmeval/dataset/utils/multiple_choice.py:mcq_vanilla_eval,
report_acc. Not kept: a failed inference is no answer here and counts apart; the framework scores its
failure text as wrong.
"""

import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from mmscore.core.recipe import MEANS, Facts, Metrics
from mmscore.core.table import CLUSTER, Scored
from mmscore.kits.vlmevalkit.choices import build_accuracy_table, build_choice_recipe, is_circular, is_from_kit
from mmscore.scoring.repeats import QUESTION

OTHER_REPORTS = ("MMT", "MMVP")
"""Benchmarks of these names have a report of their own."""


def _adjust_rows(scored: Scored, version: str) -> Scored:
    """Give rows of one id the hit of the last of them, as the framework's dict by index does."""
    if pc.count_distinct(scored.rows["id"]).as_py() == len(scored):
        return scored
    ids = scored.column("id")
    last = dict(zip(ids, scored.scores["accuracy"], strict=True))
    repeated = scored.with_scores(accuracy=[last[id] for id in ids])
    questions = scored.rows["id"].combine_chunks().dictionary_encode().indices.cast(pa.int64())
    return repeated.with_array(CLUSTER, questions).with_array(QUESTION, questions)


def _reduce(scored: Scored, version: str) -> Metrics:
    """Average the rows; rows of one id are one question."""
    means = MEANS(scored, version)
    if QUESTION not in scored.rows.column_names:
        return means
    questions = pc.count_distinct(scored.rows[QUESTION]).as_py()
    return {name: replace(mean, n=questions) for name, mean in means.items()}


def _default_for(facts: Facts) -> str | None:
    other = any(part in name for name in facts.datasets for part in OTHER_REPORTS)
    if not is_from_kit(facts) or is_circular(facts) or other:
        return None
    return "multiple-choice rows of a VLMEvalKit table"


RECIPE = build_choice_recipe(
    "Multiple choice as VLMEvalKit scores it, row by row (exact matching)",
    _default_for,
    settle=_adjust_rows,
    reduce=_reduce,
    table=lambda scored, version: build_accuracy_table(scored, "accuracy"),
)
