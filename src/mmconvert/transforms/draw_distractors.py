"""Turn an open question into multiple choice with options drawn from a list: TDIUC and MSCOCO-OC in ReForm-Eval."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, UsageError, show, suggest_spelling
from mmconvert.core.record import LETTERS, Record, encode_json
from mmconvert.core.run_cache import cache_for_run
from mmconvert.core.text.options import build_plain_prompt
from mmconvert.core.text.turns import append_suffix
from mmconvert.images.canvas import require_user_turn
from mmconvert.plugins.transform import Setting, Transform
from mmconvert.storage.source_files import read_source

YES_NO = ("yes", "no")
"""Source: FudanDISC/ReForm-Eval@df1cfa7 build/TDIUC/tdiuc_dataset.py:make_choices."""

COLUMN = "choice"


def draw_distractors(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Give an open question options: its answer and others, drawn from a list without repeats.

    A question whose answer is yes or no has these two.

    Args:
        record: A question with an answer and no options; the first reference counts.
        parameters: `choices`, a file, or a folder with one file for each value of the field `by`; `count`;
            `shuffle`, False puts the answer last (yes/no: in this order).
        setting: Seed of the draw, which depends on the record's id besides, so that copies draw again.

    Yields:
        The question with options, as multiple choice; `label` is the index of the answer. The options end the
        last user turn, unless a prompt words it again.

    Raises:
        RowError: There is no user turn, no answer, no list for the question or too short a one; or there are
            options already.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 build/TDIUC/tdiuc_dataset.py and build/MSCOCO/object_counting_dataset.py,
        which draw without a seed.
    """
    require_user_turn(record)
    if record.options:
        raise RowError("options.present", "options", "the question has options already. Leave the row out.")
    answer = record.answers[0] if record.answers else record.answer
    if answer is None:
        raise RowError("answer.missing", "answer", "without an answer there is nothing to set others beside.")
    chance = setting.random(record.id)
    if answer in YES_NO:
        options = list(YES_NO)
    else:
        others = [choice for choice in _list_choices(record, parameters) if choice != answer]
        if len(others) < parameters["count"]:
            counts = f"the list holds {len(others)} others, {parameters['count']} are to be drawn"
            raise RowError("options.count", "", f"{counts}. Draw fewer: count=N.")
        options = [*chance.sample(others, parameters["count"]), answer]
    if parameters["shuffle"]:
        chance.shuffle(options)
    index = options.index(answer)
    yield replace(
        append_suffix(record, build_plain_prompt("", None, options)),
        task="multiple_choice",
        options=tuple(options),
        answer=LETTERS[index],
        answers=(LETTERS[index],),
        label=encode_json(index),
    )


def _list_choices(record: Record, parameters: Mapping[str, Any]) -> tuple[str, ...]:
    path = Path(parameters["choices"])
    if path.is_file():
        return read_choices(path)
    lists, by = _list_files(path), parameters["by"]
    kind = record.extra.get(by, record.category)
    if not isinstance(kind, str) or kind not in lists:
        hint = suggest_spelling(kind, lists) if isinstance(kind, str) else ""
        message = f"no list of choices is called so {show(kind)}.{hint} Name the field: by=NAME."
        raise RowError("choices.missing", by, message)
    return read_choices(lists[kind])


@cache_for_run
def _list_files(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(folder.glob("*.json"))}


@cache_for_run
def read_choices(path: Path) -> tuple[str, ...]:
    """Read a list of answers.

    Args:
        path: JSON: a list of texts and numbers, a list of `{"choice": ...}`, `{"choice": [...]}`, or JSON Lines.

    Returns:
        The answers as texts, repeats left out, in the file's order.

    Raises:
        Error: The file holds no such list.
    """
    try:
        text = read_source(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"{path}: cannot be read as text: {error}.") from None
    value = _parse_list(text, path)
    if isinstance(value, dict):
        value = value.get(COLUMN)
    items = [item.get(COLUMN) if isinstance(item, dict) else item for item in value] if isinstance(value, list) else []
    wrong = [item for item in items if isinstance(item, bool) or not isinstance(item, str | int | float)]
    if not items or wrong:
        raise Error(f"{path}: expected a list of answers, texts or numbers {show(wrong[0] if wrong else value)}.")
    return tuple(dict.fromkeys(str(item) for item in items))


def _parse_list(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except ValueError as whole:
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise Error(f"{path}: is neither JSON nor JSON Lines: {whole}.") from None


def _check(parameters: Mapping[str, Any]) -> None:
    if not 1 <= parameters["count"] < len(LETTERS):
        raise UsageError(f"draw_distractors: count must be 1 to {len(LETTERS) - 1} {show(parameters['count'])}.")
    path = Path(parameters["choices"])
    if not path.is_file() and not _list_files(path):
        raise UsageError(f"{path}: no such file, and no folder with .json files. Name the list: choices=FILE.")
    try:
        for file in [path] if path.is_file() else _list_files(path).values():
            read_choices(file)
    except Error as error:
        raise UsageError(str(error)) from None


TRANSFORM = Transform(
    summary="Give open questions options drawn from a list (TDIUC and MSCOCO-OC in ReForm-Eval)",
    apply=draw_distractors,
    parameters={"choices": str, "count": 3, "by": "question_type", "shuffle": True},
    check=_check,
)
