"""Choose how options are marked, (A), (a) or (1), and word the question so: ReForm-Eval's option_mark."""

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import UsageError, suggest_spelling
from mmconvert.core.record import OPTION_MARK, Record
from mmconvert.kits.reform_eval.conversation_text import ALPHABETS
from mmconvert.kits.reform_eval.restate import restate_question
from mmconvert.plugins.transform import Setting, Transform

RANDOM = "random"


def option_mark(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Mark the options of a record.

    Args:
        record: The record; one without options stays as it is.
        parameters: `mark`: upper, lower, number, or random for one of these.
        setting: Seed of the draw, which depends on the record's id besides.

    Yields:
        The record with the name of its marks in `extra.option_mark`, for the prompt `reform_eval`.

    Raises:
        RowError: There are more options than marks, or there is no question to word.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 utils/data_utils.py:question_with_options, drawn from a seed.
    """
    if record.options:
        mark = draw_label_style(parameters["mark"], setting.random(record.id))
        record = restate_question(replace(record, extra={**record.extra, OPTION_MARK: mark}))
    yield record


def draw_label_style(mark: str, rng: Random) -> str:
    """Give the name of the marks.

    Example:
        >>> draw_label_style("number", Random(0)), draw_label_style("random", Random(0))
        ('number', 'upper')
    """
    return rng.choice([*ALPHABETS]) if mark == RANDOM else mark


def _check(parameters: Mapping[str, Any]) -> None:
    known = [*ALPHABETS, RANDOM]
    if parameters["mark"] not in known:
        hint = suggest_spelling(parameters["mark"], known)
        raise UsageError(f"option_mark: no mark is called {parameters['mark']!r}.{hint} Known: {', '.join(known)}.")


TRANSFORM = Transform(
    summary="Mark options as (A), (a) or (1) (ReForm-Eval's option_mark)",
    apply=option_mark,
    parameters={"mark": "upper"},
    check=_check,
)
