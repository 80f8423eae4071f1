"""A record as an item of a page: the turns as a model sees them, and everything that stands beside them."""

import json
from collections.abc import Sequence

from mmconvert.core.record import LETTERS, Image, Preference, Record
from mmconvert.core.text.placeholders import PLACEHOLDER
from mmconvert.viewer.items import (
    Choice,
    Column,
    Filter,
    Mark,
    Message,
    PageImage,
    PageItem,
    Shown,
    Text,
    TextSpan,
    Tone,
)
from mmconvert.viewer.thumbnails import Thumbnails

SKIPPED = "skipped"

COLUMNS = (
    *(Column("id"), Column("question", kind="long"), Column("answer"), Column("task"), Column("category")),
    *(Column("subset"), Column("images", kind="number"), Column("row", kind="number")),
)

FILTERS: tuple[Filter, ...] = (
    Choice("task", "Task"),
    Choice("category", "Category"),
    Choice("subset", "Subset"),
    Mark(SKIPPED, "skipped", "Rows that a conversion skips", "bad"),
    Mark("several images"),
    Mark("no image"),
    Mark("no answer", "no answer", "Samples without a reference", "warn"),
    Mark("pair", "preference pairs", "Samples with a chosen and a rejected response"),
)


def list_images(record: Record, thumbnails: Thumbnails) -> list[PageImage]:
    """Give the images of a record: those of its prompt in reading order, then those that it does not show."""
    shown = [thumbnails.describe_image(image, image.slot) for image in record.images]
    return shown + [thumbnails.describe_image(image) for image in record.attachments]


def list_messages(record: Record) -> list[Message]:
    """Give the turns of a record, a pair's too, each image part as the number of its image in `list_images`."""
    numbers = iter(range(len(record.images)))
    pair = record.preference
    sides = [("", record.messages)]
    if pair is not None:
        sides += [(" (chosen)", pair.chosen), (" (rejected)", pair.rejected)]
    return [
        Message(turn.role + side, tuple(part.text if part.type == "text" else next(numbers) for part in turn.content))
        for side, turns in sides
        for turn in turns
    ]


def link_images(text: str, images: Sequence[Image], name: str = "", tone: Tone = "") -> Shown:
    """Match the placeholders of a text to images.

    Args:
        text: A text with `<image k>`.
        images: The record's images; a placeholder stands for the first with its number as slot.
        name: What goes before the text.
        tone: How it stands.
    """
    numbers = {image.slot: number for number, image in reversed(list(enumerate(images)))}
    found = [(match, numbers.get(int(match[1]))) for match in PLACEHOLDER.finditer(text)]
    spans = tuple(TextSpan(m.start(), m.end(), "no image of the prompt" if n is None else "", n) for m, n in found)
    return Text(text, spans, name, tone) if spans or name or tone else text


def list_options(record: Record) -> list[Shown]:
    """Give the options that have a text, the right ones in their tone."""
    return [
        link_images(text, record.images, letter, "good" if letter in (record.answer or "") else "")
        for letter, text in zip(LETTERS, record.options, strict=False)
        if text is not None
    ]


def list_fields(record: Record) -> dict[str, Shown | Sequence[Shown]]:
    """Give what stands beside the turns: question, hint, options, answer, references, prediction, extra."""
    texts = {"Question": record.question, "Hint": record.hint, "Instruction": record.instruction}
    given, images = {name: text for name, text in texts.items() if text}, record.images
    fields: dict[str, Shown | Sequence[Shown]] = {name: link_images(text, images) for name, text in given.items()}
    if record.options:
        fields["Options"] = list_options(record)
    if _has_open_question(record):
        fields["Answer"] = record.answer if record.answer is not None else []
    if record.answers and list(record.answers) != [record.answer]:
        fields["References"] = list(record.answers)
    if record.preference is not None:
        fields |= _list_scores(record.preference)
    if record.prediction is not None:
        fields["Prediction"] = record.prediction
    if record.extra:
        fields["Extra"] = Text(json.dumps(record.extra, ensure_ascii=False, indent=1), tone="code")
    return fields


def _list_scores(pair: Preference) -> dict[str, Shown | Sequence[Shown]]:
    """Give what is known of a pair beside its turns."""
    scores = {"Margin": pair.margin, "Score of chosen": pair.score_chosen, "Score of rejected": pair.score_rejected}
    fields: dict[str, Shown | Sequence[Shown]] = {}
    fields |= {name: f"{score:g}" for name, score in scores.items() if score is not None}
    if pair.rejected_images:
        fields["Images of rejected"] = ", ".join(f"attachment {place + 1}" for place in pair.rejected_images)
    return fields


def _has_open_question(record: Record) -> bool:
    """Tell whether the turns leave something to answer; those of training data end with the assistant."""
    return record.preference is None and (not record.messages or record.messages[-1].role != "assistant")


def list_facts(record: Record) -> dict[str, str]:
    """Give the short facts of a record that has them: dataset, subset, split, categories, source."""
    facts = {
        "dataset": record.dataset,
        "subset": record.subset,
        "split": record.split,
        "task": record.task,
        "category": record.category,
        "l2_category": record.l2_category,
        "sample": record.sample if record.sample != record.id else None,
        "group": record.group,
        "variant": record.variant,
        "round": record.round,
        "source": f"{record.source.file} row {record.source.row} ({record.source.format})",
    }
    return {label: str(value) for label, value in facts.items() if value is not None}


def find_turn(record: Record, role: str) -> str | None:
    """Give the text of the first turn of a role, None where there is none: a conversation has no question field."""
    turn = next((turn for turn in record.messages if turn.role == role), None)
    text = "" if turn is None else "".join(part.text for part in turn.content if part.type == "text").strip()
    return text or None


def find_answer(record: Record) -> str | None:
    """Give the reference of a record, else what the assistant says first, or what was chosen."""
    if record.answer is not None:
        return record.answer
    if record.answers:
        return record.answers[0]
    if record.preference is not None:
        return "".join(part.text for turn in record.preference.chosen for part in turn.content if part.type == "text")
    return find_turn(record, "assistant")


def build_item(record: Record, thumbnails: Thumbnails) -> PageItem:
    """Make the item of a record."""
    images = list_images(record, thumbnails)
    marks = {
        "several images": len(record.images) > 1,
        "no image": not record.images,
        "pair": record.preference is not None,
        "no answer": _has_open_question(record) and record.answer is None and not record.answers,
    }
    return PageItem(
        id=record.id,
        cells={
            "id": record.id,
            "question": record.question or find_turn(record, "user"),
            "answer": find_answer(record),
            "task": record.task,
            "category": record.category,
            "subset": record.subset,
            "images": len(record.images),
        },
        marks=[name for name, holds in marks.items() if holds],
        messages=list_messages(record),
        images=images,
        fields=list_fields(record),
        facts=list_facts(record),
        others=range(len(record.images), len(images)),
    )
