"""TopViewRS as VLMEvalKit reports it: multiple choice, and how many words the chosen option shares with the right one.

`partial_match` is the number of shared words over that of the longer option, in small letters. What was chosen is read
in another way for it: the text in the first brackets, else the last word of the response, dots and blanks at its end
left out. That is a letter, or the name of another column of the row, whose words count then.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py:TopViewRS.evaluate (with `exact_matching`),
vlmeval/dataset/utils/multiple_choice.py:report_topviewrs_acc. Kept on purpose: a chosen letter that stands elsewhere in
the response, as in `A. left`, matches no word. Not kept: an option that is the number 0 is one; a failed inference is
no answer here and counts apart.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from mmconvert.core.record import LETTERS
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item, Row
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.choices import build_accuracy_table, build_choice_recipe, parse, score_choice
from mmscore.kits.vlmevalkit.rows import EMPTY, offer_for_names, read_answer_cell, read_other_cells

UNREAD = "Failed in Prefetch, no GPT-based answer matching under `exact_matching` policy."
"""What the framework notes of a response that no letter was read from."""


def _score(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    accuracy = score_choice(item, parsed, version)
    log = f"Match Log: {UNREAD if parsed.value is None else item.prediction}. "
    chosen = _read_cell(item, _find_chosen(log), log)
    return {**accuracy, "partial_match": _compare_words(chosen, _read_cell(item, read_answer_cell(item), log))}


def _find_chosen(log: str) -> str:
    if "[" in log and "]" in log:
        return log[log.index("[") + 1 : log.index("]")]
    return log.rstrip(". ").split()[-1]


def _read_cell(item: Item, name: str, log: str) -> str:
    """Give a cell of the row by the name of its column, "" where there is no such column, `nan` for an empty option."""
    if len(name) == 1 and name in LETTERS:
        options = dict(zip(LETTERS, item.options, strict=False))
        return options.get(name) or EMPTY
    cells = {"question": item.question, "category": item.category, "l2-category": item.l2_category, "split": item.split}
    cells |= {"prediction": item.prediction, "log": log, **dict.fromkeys(("answer", "GT"), read_answer_cell(item))}
    return (cells[name] or EMPTY) if name in cells else read_other_cells(item).get(name, "")


def _compare_words(chosen: str, right: str) -> float:
    words, wanted = ({*text.lower().split()} for text in (chosen, right))
    return len(words & wanted) / max(len(words), len(wanted)) if words and wanted else 0.0


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    tables = (build_accuracy_table(scored, name) for name in ("accuracy", "partial_match"))
    return [
        {**line, **{f"{name}_PM": value for name, value in partial.items() if name != "split"}}
        for line, partial in zip(*tables, strict=True)
    ]


RECIPE = replace(
    build_choice_recipe(
        "TopViewRS as VLMEvalKit scores it: multiple choice, and shared words of options (exact matching)",
        offer_for_names("TopViewRS", frozenset(("TopViewRS",))),
        parse=parse,
        metrics=_score,
        columnar=None,
        table=_build_table,
        optional=("question", "category", "l2_category", "split", "extra"),
    ),
    judges=(),
)
