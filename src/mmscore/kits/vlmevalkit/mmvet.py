"""MM-Vet as VLMEvalKit grades and reports it."""

import math
from collections.abc import Iterable, Sequence

import msgspec

from mmconvert.core.errors import Error
from mmscore.kits.vlmevalkit.judge_responses import TRIES

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/mmvet.py:MMVet_acc
CAPABILITIES = ("rec", "ocr", "know", "gen", "spat", "math")
OVERALL = "Overall"


class Grade(msgspec.Struct, frozen=True):
    """What the judge thinks an answer is worth.

    Attributes:
        score: 0-1 as the framework counts it: NaN where the judge said so, 0 where no response is such a number.
        log: The framework's account of the tries.
        given: Whether a response is a number from 0 to 1.
    """

    score: float
    log: str
    given: bool = True


def grade(responses: Sequence[str]) -> Grade | None:
    r"""Read a number from 0 to 1 off the judge's last response, which must hold nothing else.

    Args:
        responses: What the judge has said so far.

    Returns:
        The grade; None where the judge is to be asked.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/mmvet.py:MMVet_auxeval.

    Example:
        >>> grade(["half"])
        >>> grade(["half", " 0.5"])
        Grade(score=0.5, log='Try 0: output is half, failed to parse.\nSucceed', given=True)
    """
    log = ""
    for attempt, response in enumerate(responses):
        try:
            score = float(response)
        except ValueError:
            log += f"Try {attempt}: output is {response}, failed to parse.\n"
            continue
        if score < 0 or score > 1:
            log += f"Try {attempt}: output is {response}, invalid score: {score}.\n"
            continue
        return Grade(score, log + "Succeed", given=not math.isnan(score))
    return Grade(0.0, log + f"All {TRIES} retries failed.\n", given=False) if len(responses) >= TRIES else None


def build_table_row(question: str, reference: str, prediction: str) -> str:
    """Write a row of the table that the judge is to finish; a score follows.

    `<AND>` and `<OR>` between parts of the reference stand free.

    Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/mmvet.py:build_mmvet_gpt4_prompt.

    Example:
        >>> build_table_row("What is it?", "cat<OR>kitten", "a cat")
        'What is it? | cat <OR> kitten | a cat | '
    """
    spaced = reference.replace("<AND>", " <AND> ").replace("<OR>", " <OR> ")
    return f"{question} | {spaced} | {prediction} | "


def build_mmvet_tables(
    rows: Iterable[tuple[str, float]],
) -> tuple[list[dict[str, str | int | float]], list[dict[str, str | int | float]]]:
    """Average scores over capabilities, and over combinations of them.

    A row counts for each capability whose name is part of its category, for the whole, and for its
    category as it stands; a row of a single capability thus counts twice there, as in the framework.

    Args:
        rows: Category (`ocr,spat`) and score 0-1 of each row.

    Returns:
        The six capabilities and the whole; the categories by first appearance, with `_` for the
        comma, and the whole. `tot` counts rows, `acc` is in percent.

    Raises:
        Error: No row needs one of the capabilities.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/mmvet.py:MMVet_acc.

    Example:
        >>> build_mmvet_tables([("rec,ocr,know,gen", 1), ("spat,math", 0.5)])[1]
        ... # doctest: +NORMALIZE_WHITESPACE
        [{'Category': 'rec_ocr_know_gen', 'tot': 1, 'acc': 100.0},
         {'Category': 'spat_math', 'tot': 1, 'acc': 50.0},
         {'Category': 'Overall', 'tot': 2, 'acc': 75.0}]
    """
    scores: dict[str, list[float]] = {name: [] for name in (*CAPABILITIES, OVERALL)}
    combinations: dict[str, None] = {}
    for category, score in rows:
        combination = category.replace(",", "_")
        combinations[combination] = None
        named = [name for name in CAPABILITIES if name in category]
        for name in (*named, OVERALL, combination):
            scores.setdefault(name, []).append(score)
    if missing := [name for name in CAPABILITIES if not scores[name]]:
        raise Error(
            f"category: no row needs {', '.join(missing)}, and the framework's table averages over each. Score more."
        )
    return _build_lines(scores, (*CAPABILITIES, OVERALL)), _build_lines(scores, (*combinations, OVERALL))


def _build_lines(scores: dict[str, list[float]], names: Sequence[str]) -> list[dict[str, str | int | float]]:
    return [
        {"Category": name, "tot": len(scores[name]), "acc": math.fsum(scores[name]) / len(scores[name]) * 100}
        for name in names
    ]
