"""When VLMEvalKit takes a judge's response for an answer, and when it asks again.

The functions see the responses so far, and give None where the framework asks again: each try `STEP`
warmer than the last, `TRIES` at most; an option is asked for `OPTION_TRIES` times at the same
temperature. A call that failed has a text in the framework, which reads as no answer.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from mmconvert.core.errors import RowError
from mmscore.core.judge import Case, Judge, Step
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.kits.vlmevalkit.rows import JUDGED_KIT, VERSIONS
from mmscore.parsers.vlmevalkit_option import API_FAILURE, REFUSAL, Version, vlmevalkit_option
from mmscore.parsers.vlmevalkit_yes_no import vlmevalkit_yes_no

OPTION_TRIES = 3
TRIES = 5
STEP = 0.5
GENERATION = MappingProxyType({"temperature": 0, "max_tokens": 1024})
"""Options of the first try. The framework allows fewer tokens for some benchmarks, too few for a judge that thinks."""

DRAWN = "Failed to predict, thus randomly generate one. "


class JudgedOption(msgspec.Struct, frozen=True):
    """The option that an answer names, with a judge's help.

    Attributes:
        parsed: The letter; `UNPARSED` where the framework draws one, from the options and `Z`.
        log: The text that the letter was read from, else the framework's remark that it drew one.
    """

    parsed: Parsed
    log: str


def infer_judged_option(
    prediction: str, options: Mapping[str, str], responses: Sequence[str], version: Version = "v3"
) -> JudgedOption | None:
    """Infer the option that an answer names; the judge is asked only where that fails.

    Args:
        prediction: The model's answer.
        options: Option texts by letter, absent options left out.
        responses: What the judge has said so far.
        version: Dated behaviour of the framework's inference, which reads the judge's responses as well.

    Returns:
        The letter, or `Z` for a refusal, of the model's answer, else of the judge's last response; None
        where the judge is to be asked.

    Raises:
        RowError: No response named an option, and `Z` is one itself, so that the framework has nothing to draw from.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/multiple_choice.py:extract_answer_from_item.

    Example:
        >>> animals = {"A": "cat", "B": "dog"}
        >>> infer_judged_option("the second", animals, [])
        >>> infer_judged_option("the second", animals, ["B"])
        JudgedOption(parsed=Parsed(value='B', how='option letter', span=(0, 1)), log='B')
    """
    said = [prediction, *responses][-1]
    # The framework reads nothing in the text of a failed call, were it an option's text.
    parsed = UNPARSED if responses and API_FAILURE in said else vlmevalkit_option(said, options, version)
    if parsed.value is not None:
        return JudgedOption(parsed, said)
    if len(responses) < OPTION_TRIES:
        return None
    if REFUSAL in options:
        raise RowError("option.letter", "options", f"an option is {REFUSAL}, which means none of them. Rename it.")
    return JudgedOption(UNPARSED, DRAWN)


def read_judged_yes_no(responses: Sequence[str]) -> Parsed | None:
    """Read yes or no off the judge's last response.

    Args:
        responses: What the judge has said so far.

    Returns:
        `Yes` or `No`; `UNPARSED` (the framework's `Unknown`, which is wrong) when no response holds just one
        of the words; None where the judge is to be asked.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/yorn.py:YOrN_auxeval.

    Example:
        >>> read_judged_yes_no(["Unknown"]), read_judged_yes_no(["Unknown", "No."]).value
        (None, 'No')
    """
    parsed = vlmevalkit_yes_no(responses[-1]) if responses else UNPARSED
    return parsed if parsed.value is not None or len(responses) >= TRIES else None


def build_kit_judge(
    summary: str, strategies: Mapping[str, str], step: Callable[[Case, Sequence[str]], Step], **others: Any
) -> Judge:
    """Make a judge of the framework, whose first strategy is `auto`; `others` are further fields of `Judge`."""
    fields = {"parity": JUDGED_KIT, "versions": VERSIONS, "generation": GENERATION, **others}
    return Judge(summary=summary, strategies=strategies, auto=next(iter(strategies)), step=step, **fields)
