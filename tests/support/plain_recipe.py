"""A recipe of a user's own, small enough to see through: exact equality with the answer."""

from mmconvert.core.errors import RowError
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Recipe


def _parse(item, version):
    if item.prediction == "BAD ROW":
        raise RowError("test.bad", "prediction", "this text is refused.")
    return Parsed(item.prediction.strip(), "whole response", (0, len(item.prediction))) if item.prediction else UNPARSED


def _metrics(item, parsed, version):
    if item.prediction == "LEAVE OUT":
        return {}
    right = float(parsed.value == item.answer)
    return {"accuracy": right, "length": float(len(item.prediction))} if version == "2" else {"accuracy": right}


RECIPE = Recipe(
    summary="Equality",
    parity="own",
    versions={"2": "with lengths", "1": "without"},
    columns=("answer",),
    parse=_parse,
    metrics=_metrics,
    default_for=lambda facts: None,
)
