"""Scores of captions that depend on the whole set: CIDEr weighs words by it, BLEU is of all rows together."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from mmscore.core.estimates import Estimate
from mmscore.core.recipe import Item, Metrics
from mmscore.core.table import SCORED, Scored
from mmscore.metrics.coco_bleu import compute_bleu, count_bleu
from mmscore.metrics.coco_cider import compute_cider
from mmscore.nlp.caption_ngrams import ORDERS, Floats, read_captions

CIDER, ROUGE_L = "cider", "rouge_l"
TEXTS = ("prediction", "answers", "label")
"""Columns with the captions; they are dropped once they are counted."""

COUNTS = "bleu_counts"
"""Column with what BLEU needs of each row."""

Counter = Callable[[Sequence[str], Sequence[Sequence[str]]], Floats]
"""(predictions, their references) -> one line of counts a row."""

NOTHING_ELSE: Mapping[str, Counter] = MappingProxyType({})


def add_counts(
    scored: Scored, references_of: Callable[[Item], Sequence[str]], also: Mapping[str, Counter] = NOTHING_ELSE
) -> Scored:
    """Count n-grams over the scored rows.

    Args:
        scored: All rows, with `TEXTS`.
        references_of: Item with `answers` and `label` -> its references, at least one; asked for
            scored rows only.
        also: Column -> what else to count.

    Returns:
        The rows with the score `CIDER`, the column `COUNTS` and those of `also`, without `TEXTS`.

    Raises:
        Error: No reference has a word.
    """
    numbers = [number for number, status in enumerate(scored.column("status")) if status == SCORED]
    texts, answers, labels = map(scored.column, TEXTS)
    references = [references_of(Item(answers=answers[number] or (), label=labels[number])) for number in numbers]
    predictions = [texts[number] for number in numbers]
    captions = read_captions(predictions, references)
    cider = np.full(len(scored), np.nan)
    cider[numbers] = compute_cider(captions)
    counted = {COUNTS: count_bleu(captions), **{name: count(predictions, references) for name, count in also.items()}}
    slim = Scored(scored.rows.drop_columns(list(TEXTS)), scored.scores)
    for name, lines in counted.items():
        # Lay lines of counts out as a column, zeros for the rows that are not counted.
        counts = np.zeros((len(scored), lines.shape[1]))
        counts[numbers] = lines
        slim = slim.with_array(name, pa.FixedSizeListArray.from_arrays(pa.array(counts.ravel()), counts.shape[1]))
    return slim.with_scores(**{CIDER: cider})


def read_counts(scored: Scored, column: str) -> Floats | None:
    """Give the lines of a column of counts; None where there is none."""
    array = scored.rows[column].combine_chunks()
    if not pa.types.is_fixed_size_list(array.type):
        return None
    lines: Floats = array.flatten().to_numpy().reshape(len(scored), -1)
    return lines


def compute_caption_metrics(scored: Scored, scale: float, unit: str) -> Metrics:
    """Give BLEU-1 to 4, ROUGE-L and CIDEr of any settled rows.

    Args:
        scored: Rows with `COUNTS`, `ROUGE_L` and `CIDER`; the rarity of words stays that of the whole set.
        scale: What one is worth.
        unit: Unit of BLEU and ROUGE-L; CIDEr may exceed one and is in points.

    Returns:
        Estimates by name, in this order; BLEU has no error in closed form.
    """
    counts = scored.rows[COUNTS].combine_chunks().flatten().to_numpy().reshape(len(scored), -1)
    bleu = {
        f"bleu_{order}": Estimate(value * scale, len(scored), unit=unit)
        for order, value in zip(ORDERS, compute_bleu(counts), strict=True)
    }
    rouge, cider = scored.mean(ROUGE_L), scored.mean(CIDER)
    return {**bleu, ROUGE_L: rouge.scale(scale, unit), CIDER: cider.scale(scale, "points")}
