"""Rows of a VLMEvalKit table that hold a whole dialog: lists of questions and answers, `<ImageHere>` for pictures.

Source: open-compass/VLMEvalKit@e8e78f0 vlmeval/dataset/image_mt.py.
"""

import json
from collections.abc import Iterator
from dataclasses import replace

from mmconvert.core.errors import RowError, got, in_field
from mmconvert.core.record import Image, Part, Record, Turn, canonical_json
from mmconvert.core.text.literals import looks_like_list, parse_list

MARKER = "<ImageHere>"


def rounds(record: Record, pictured: bool = True) -> Iterator[Record]:
    """Give the rounds of a dialog, each with what was said before; a record that is no dialog stays one.

    A dialog is a list of texts as question, without options, that has as many answers as questions or
    names a picture by `<ImageHere>`. Pictures are shown in their order over all rounds, those of a dialog
    without markers at its beginning. What the assistant said before is the reference, empty where there
    is none.

    Args:
        record: As `lmu_table.record` gives it; a prediction is a list with one reply for each round.
        pictured: The table holds pictures; else markers stay in the text.

    Yields:
        Records `<id>#0`, `<id>#1`, ...; `group` is the dialog's id, `round` counts from 0, `question` names
        pictures by `<image k>`, and the last round has the pictures that none shows as attachments.

    Raises:
        RowError: `dialog.answers`, `dialog.replies`: they do not go with the questions;
            `placeholder.no_image`.
    """
    questions = _questions(record)
    if not questions:
        yield record
        return
    answers, replies = _dialog_answers(record, len(questions)), _dialog_replies(record, len(questions))
    pictures = sorted((*record.images, *record.attachments), key=lambda image: image.slot)
    marked = any(MARKER in question for question in questions)
    turns: list[Turn] = []
    shown = 0
    for number, question in enumerate(questions):
        if pictured:
            turn, count = _dialog_turn(question, len(pictures) if not marked and number == 0 else 0)
        else:
            turn, count = Turn("user", (Part("text", question),)), 0
        shown += count
        if shown > len(pictures):
            raise RowError(
                "placeholder.no_image", "question", f"{MARKER} stands there more than {len(pictures)} times."
            )
        turns.append(turn)
        named = iter(pictures[shown - question.count(MARKER) : shown] if pictured else ())
        name = f"{record.id}#{number}"
        answer = answers[number] if answers else None
        yield replace(
            record,
            id=name,
            sample=name,
            group=record.id,
            round=number,
            messages=tuple(turns),
            task="chat",
            images=tuple(pictures[:shown]),
            attachments=tuple(pictures[shown:]) if number == len(questions) - 1 else (),
            question="".join(_named(question, named)),
            answer=answer,
            answers=() if answer is None else (answer,),
            label=None if answer is None else canonical_json(answer),
            prediction=replies[number] if replies else None,
        )
        turns.append(Turn("assistant", (Part("text", answer or ""),)))


def _named(question: str, pictures: Iterator[Image]) -> Iterator[str]:
    """Name the pictures that a question shows by their slots; markers without one stay."""
    first, *rest = question.split(MARKER)
    yield first
    for text in rest:
        picture = next(pictures, None)
        yield f"{MARKER if picture is None else f'<image {picture.slot}>'}{text}"


def _questions(record: Record) -> list[str]:
    """Read the questions of a dialog; [] for a record that is none."""
    text = record.question
    if text is None or record.options or not looks_like_list(text):
        return []
    try:
        items = parse_list(text)
    except RowError:
        return []
    if not items or not all(isinstance(item, str) for item in items):
        return []
    label = None if record.label is None else json.loads(record.label)
    listed = len(record.answers) == len(items) and isinstance(label, str) and looks_like_list(label)
    return items if listed or any(MARKER in item for item in items) else []


def _dialog_answers(record: Record, count: int) -> tuple[str, ...]:
    if record.label is None:
        return ()
    if len(record.answers) != count:
        raise RowError(
            "dialog.answers", "answer", f"there are {count} questions and {len(record.answers)} answers. Give as many."
        )
    if any(MARKER in answer for answer in record.answers):
        raise RowError("dialog.answers", "answer", f"an answer cannot show a picture {got(record.label)}.")
    return record.answers


def _dialog_replies(record: Record, count: int) -> tuple[str, ...]:
    if record.prediction is None:
        return ()
    with in_field("prediction"):
        replies = parse_list(record.prediction)
    if len(replies) != count or not all(isinstance(reply, str) for reply in replies):
        raise RowError("dialog.replies", "prediction", f"expected {count} replies {got(record.prediction)}.")
    return tuple(replies)


def _dialog_turn(question: str, before: int) -> tuple[Turn, int]:
    """Word a user turn with some pictures before it; give how many pictures it shows."""
    first, *rest = question.split(MARKER)
    parts = [Part("image")] * before
    if first or not rest:
        parts.append(Part("text", first))
    for text in rest:
        parts += [Part("image"), Part("text", text)] if text else [Part("image")]
    return Turn("user", tuple(parts)), before + len(rest)
