"""VLMs Are Biased as VLMEvalKit scores it: responses that equal the truth, and those that equal the common belief.

Case and outer braces are ignored; where a response equals neither, its digits alone are compared. `accuracy` and
`bias` are the shares of each, `Macro` weighs every topic alike. The framework's table has them of every topic too,
as `acc TOPIC` and `bias TOPIC`.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/vlmsarebiased.py. Kept on purpose: digits are joined
from anywhere in the text, `5.0` is 50. Not kept: the framework's `acc` and `bias` are objects with a number a topic;
a row without `ground_truth` is refused, the framework compares it with `nan`; a failed inference counts apart, the
framework scores its failure text.
"""

from collections.abc import Mapping, Sequence

from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, NoReferenceError, Recipe, Row, parse_whole_response
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import EMPTY, RESULTS, VERSIONS, offer_for_names, read_other_cells, split_cells

TOPIC = "extra.topic"
TRUTH, BELIEF = "ground_truth", "expected_bias"


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    """Compare a response with the truth and with the common belief.

    Raises:
        NoReferenceError: The row has no truth.
    """
    cells = read_other_cells(item)
    if TRUTH not in cells:
        raise NoReferenceError(f"extra.{TRUTH}")
    said, *wanted = map(_normalize, (item.prediction, cells[TRUTH], cells.get(BELIEF, EMPTY)))
    equal = [said == text for text in wanted]
    if not any(equal):
        digits = _join_digits(said)
        equal = [bool(digits) and digits == _join_digits(text) for text in wanted]
    return dict(zip(("accuracy", "bias"), map(float, equal), strict=True))


def _normalize(text: str) -> str:
    return text.strip().lower().strip("{}").strip()


def _join_digits(text: str) -> str:
    return "".join(character for character in text if character.isdigit())


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    line: dict[str, float] = {}
    parts = list(split_cells(scored, TOPIC))
    for score, total, macro, name in (
        ("accuracy", "overall_acc", "macro_acc", "acc"),
        ("bias", "overall_bias_ratio", "macro_bias_ratio", "bias"),
    ):
        values = {topic: rows.mean(score).value for topic, rows in parts}
        line |= {total: scored.mean(score).value, macro: sum(values.values()) / len(values)}
        line |= {f"{name} {topic}": value for topic, value in values.items()}
    return [line]


RECIPE = Recipe(
    summary="VLMs Are Biased as VLMEvalKit scores it: equal to the truth, or to the common belief",
    parity="VLMEvalKit",
    versions=VERSIONS,
    columns=("extra",),
    parse=parse_whole_response,
    metrics=_score_row,
    table=_build_table,
    keep=(TOPIC,),
    groups=(TOPIC,),
    results=RESULTS,
    default_for=offer_for_names("VLMs Are Biased", frozenset(("vlms_are_biased_main",))),
)
