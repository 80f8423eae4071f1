"""What VLMEvalKit's spatial benchmarks share: a letter that the response and the answer cell are read for alike."""

from collections.abc import Mapping

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item
from mmscore.kits.vlmevalkit.rows import read_answer_cell
from mmscore.parsers.vlmevalkit_spatial_choice import vlmevalkit_spatial_choice


def parse_choice(item: Item, version: str) -> Parsed:
    """Read the letter of a response."""
    return vlmevalkit_spatial_choice(item.prediction)


def score_choice(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    """Give a row its `accuracy`: 1.0 where the answer cell reads as the response does, also where neither does.

    Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/spatial_bench/cal_scores.py:compute_mcq_score.
    """
    return {"accuracy": float(parsed.value == vlmevalkit_spatial_choice(read_answer_cell(item)).value)}
