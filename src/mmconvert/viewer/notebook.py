"""Records, datasets and preview pages in a notebook: small tables with thumbnails; all texts are escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

from mmconvert.core.errors import Error
from mmconvert.core.record import Image, Record, Turn, encode_json
from mmconvert.dataset.dataset import Dataset
from mmconvert.viewer.items import PageImage
from mmconvert.viewer.preview import PROBLEM, Previewed
from mmconvert.viewer.thumbnails import Thumbnails

_ROWS = 5
_LENGTH = 300
"""Letters of a text that are shown."""
_HEIGHT = 120
"""Most pixels of a thumbnail's height on the page."""
_ROOM = 1 << 20
"""Characters of all thumbnails of one value."""
_CELLS = ("question", "answer", "task")
"""Columns of a page that a notebook shows."""
_FIELDS = (
    *("id", "sample", "group", "variant", "round", "dataset", "subset", "task", "question", "hint", "instruction"),
    *("options", "answer", "answers", "category", "l2_category", "split", "prediction", "extra"),
)


def format_record(record: Record) -> str:
    """Lay a record out as a table of its columns, empty ones left out, images as thumbnails."""
    lines = [("images", _draw(record.images, Thumbnails(len(record.images), _ROOM)))] if record.images else []
    values = ((name, getattr(record, name)) for name in _FIELDS)
    lines += [(name, _shorten(value)) for name, value in values if value not in (None, (), {}, "")]
    turns = {"messages": record.messages}
    if record.preference is not None:
        turns |= {"chosen": record.preference.chosen, "rejected": record.preference.rejected}
    lines += [(f"{name} · {turn.role}", _format_turn(turn)) for name, said in turns.items() for turn in said]
    return _build_table((), [(f"<b>{escape(name)}</b>", text) for name, text in lines])


def format_dataset(dataset: Dataset) -> str:
    """Show a dataset's splits, and its first records with thumbnails."""
    splits = ", ".join(f"{escape(name)}: {rows:,}" for name, rows in dataset.splits.items())
    heading = f"<p><b>{escape(str(dataset.path))}</b><br>{dataset.num_rows:,} rows ({splits})</p>"
    try:
        records = [*islice(dataset.records(), _ROWS)]
    except Error as error:
        return f"{heading}<p>{escape(str(error))}</p>"
    thumbnails = Thumbnails(sum(len(record.images) for record in records), _ROOM)
    rows = [
        (_shorten(r.id), _draw(r.images, thumbnails), *map(_shorten, (r.question, r.answer, r.prediction)))
        for r in records
    ]
    return heading + _build_table(("id", "images", "question", "answer", "prediction"), rows)


def format_preview(preview: Previewed) -> str:
    """Say what a page shows, show its first items with thumbnails, and link it."""
    place = escape(preview.output, quote=True)
    counts = f"{preview.records:,} records, {preview.pictures:,} images, {preview.refused:,} skipped rows"
    tasks = ", ".join(f"{task}: {number:,}" for task, number in preview.tasks.items())
    lines = [f'<a href="{place}" target="_blank">{place}</a>', counts]
    lines += [escape(f"read as {', '.join(preview.formats)} ({tasks})")] if preview.formats else []
    lines += [f"{preview.files_refused:,} files cannot be converted"] if preview.files_refused else []
    lines += [f"warning: {_shorten(warning)}" for warning in preview.warnings]
    room = _ROOM
    names = (*_CELLS, *([PROBLEM] if any(item.cells.get(PROBLEM) for item in preview.first) else []))
    rows = []
    for item in preview.first:
        shown = [image for image in item.images if (room := room - len(image.src or "")) >= 0]
        rows.append((_shorten(item.id), _place(shown), *(_shorten(item.cells.get(name)) for name in names)))
    table = _build_table(("id", "images", *names), rows) if rows else ""
    return f"<p>{'<br>'.join(lines)}</p>{table}"


def _format_turn(turn: Turn) -> str:
    return _shorten("".join("[image] " if part.type == "image" else part.text for part in turn.content))


def _draw(images: Sequence[Image], thumbnails: Thumbnails) -> str:
    return _place(thumbnails.describe_image(image, image.slot) for image in images)


def _place(images: Iterable[PageImage]) -> str:
    return " ".join(
        f'<img src="{image.src}" title="{escape(image.facts, quote=True)}" style="max-height:{_HEIGHT}px">'
        if image.src
        else escape(f"{image.facts} {image.note or ''}".strip())
        for image in images
    )


def _shorten(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else encode_json(value)
    return escape(text if len(text) <= _LENGTH else f"{text[:_LENGTH]} ...").replace("\n", "<br>")


def _build_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = f"<tr>{''.join(f'<th>{name}</th>' for name in heads)}</tr>" if heads else ""
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table class="mmconvert">{head}{body}</table>'
