"""Conversations of texts, the first one perhaps with an image in front of it, as most rows of training files are.

They go from JSON to Arrow columns in blocks, without a record each. What they give is what their records give.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pyarrow as pa

from mmconvert.core.arrow import build_column, build_lists
from mmconvert.core.record import (
    NUMBER_DIGITS,
    SCHEMA,
    Image,
    Part,
    Record,
    Source,
    Turn,
    build_image_infos,
    build_images,
    encode_json,
    to_arrow,
)
from mmconvert.core.rows import Where

if TYPE_CHECKING:
    from mmconvert.core.conditions import Condition


class PlainTurn(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A message of OpenAI's kind that is one text."""

    role: Literal["system", "user", "assistant"]
    content: str


class PlainLine(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A line of JSON Lines: messages, and the id and the answer if there is one."""

    messages: list[PlainTurn]
    id: str | msgspec.UnsetType = msgspec.UNSET
    answer: str | msgspec.UnsetType = msgspec.UNSET


class PlainImageLine(PlainLine, frozen=True, gc=False):
    """A conversation whose first message shows an image in front of its text, which may be empty."""

    image: str = ""


class PlainSource(msgspec.Struct, frozen=True):
    """What all conversations of a file have in common.

    Attributes:
        format: As in `Record`, like `file`, `dataset`, `subset` and `task`.
        id_prefix: What stands before the number of a row that has no id.
        training: Rows are numbered all the same, and the source's id is `sample`: training files repeat ids.
    """

    format: str
    file: str
    dataset: str | None = None
    subset: str | None = None
    task: str | None = None
    id_prefix: str = ""
    training: bool = False

    @property
    def is_storable(self) -> bool:
        """Whether Arrow takes these texts; names of files and words of a command may hold half a character."""
        texts = (self.format, self.file, self.dataset, self.subset, self.task, self.id_prefix)
        try:
            "".join(filter(None, texts)).encode()
        except UnicodeEncodeError:
            return False
        return True


class PlainChat(msgspec.Struct, frozen=True, gc=False):
    """A conversation.

    Attributes:
        id: Its id, without blanks around it, or the number of its row.
        sample: Its sample: the id that the source has, or the number.
        numbered: Its id is the number of its row.
        turns: Its messages, at least one.
        images: The image in front of the first message; () where it has none.
        question: Text of the last message of the user, None where there is none.
        answer: The answer, None where there is none.
        label: The answer as JSON.
        row: Number of its row in the file, from 0.
        source: What it shares with the others of the file.
        weight: What `mmconvert.core.record.estimate_weight` gives for its record.
        memory: What `mmconvert.core.record.estimate_memory` gives for its record.
    """

    id: str
    sample: str
    numbered: bool
    turns: Sequence[PlainTurn]
    images: Sequence[Image]
    question: str | None
    answer: str | None
    label: str | None
    row: int
    source: PlainSource
    weight: int
    memory: int

    @property
    def task(self) -> str:
        """What is asked for: `chat` where the assistant has the last word, in training data any; else `vqa`."""
        if self.source.task:
            return self.source.task
        if self.turns[-1].role == "assistant":
            return "chat"
        return "chat" if self.source.training and any(turn.role == "assistant" for turn in self.turns) else "vqa"

    def to_record(self) -> Record:
        """Give the record."""
        return Record(
            id=self.id,
            sample=self.sample,
            messages=tuple(Turn(turn.role, parts) for turn, parts in zip(self.turns, self._list_parts(), strict=True)),
            task=self.task,
            source=Source(self.source.format, self.source.file, self.row, self.numbered),
            images=tuple(self.images),
            question=self.question,
            answer=self.answer,
            answers=() if self.answer is None else (self.answer,),
            label=self.label,
            dataset=self.source.dataset,
            subset=self.source.subset,
        )

    def _list_parts(self) -> list[tuple[Part, ...]]:
        parts: list[tuple[Part, ...]] = [(Part("text", turn.content),) for turn in self.turns]
        if self.images:
            parts[0] = (Part("image"), *parts[0]) if self.turns[0].content else (Part("image"),)
        return parts


class PlainBlock(msgspec.Struct, frozen=True):
    """Rows behind each other in a file, all of them plain conversations, or those of them that are wanted.

    Attributes:
        where: Place of the first row.
        chats: The conversations.
        locate: Place of the first row, and the number of rows in front of another -> place of that; None where each
            stands on a line of its own.
    """

    where: Where
    chats: Sequence[PlainChat]
    locate: Callable[[Where, int], Where] | None = None

    def find_place(self, number: int) -> Where:
        """Give the place of a conversation of the block, counted from 0; its byte may be that of the first row."""
        passed = self.chats[number].row - self.where.row
        if self.locate is not None:
            return self.locate(self.where, passed)
        line = None if self.where.line is None else self.where.line + passed
        return Where(self.where.file, self.where.row + passed, line, self.where.offset)

    def select(self, condition: "Condition") -> "PlainBlock":
        """Give the block without the conversations that do not match a condition."""
        mask = condition.mask(_build_columns(self.chats, sorted(condition.columns)))
        return PlainBlock(self.where, [chat for chat, kept in zip(self.chats, mask, strict=True) if kept], self.locate)


def build_chats(
    lines: Sequence[PlainLine],
    first_row: int,
    source: PlainSource,
    load: Callable[[str], Image | None] = lambda image: None,
) -> list[PlainChat]:
    """Build the conversations of lines.

    Args:
        lines: Lines behind each other.
        first_row: Number of the first row.
        source: What they share.
        load: Gives an image; None ends the conversations in front of the line that shows it.
    """
    chats: list[PlainChat] = []
    shared = len(source.dataset or "") + len(source.subset or "")
    for row, line in enumerate(lines, first_row):
        images: tuple[Image, ...] = ()
        if type(line) is PlainImageLine:
            image = load(line.image)
            if image is None:
                break
            images = (image,)
        turns, own, numbered = line.messages, line.id, False
        if own is msgspec.UNSET or source.training:
            numbered, key = True, f"{source.id_prefix}{row:0{NUMBER_DIGITS}d}"
            sample = key if own is msgspec.UNSET else own
        else:
            key = sample = own
        asked = question = answer = label = None
        weight = 0
        for turn in turns:
            weight += len(turn.content)
            if turn.role == "user":
                asked = turn
        if asked is not None:
            question = asked.content
        if images:
            weight += len(images[0].bytes or b"")
            if asked is turns[0]:
                question = f"<image 1>{question}"
        memory = weight + shared
        if question is not None:
            memory += len(question)
        if line.answer is not msgspec.UNSET:
            answer, label = line.answer, encode_json(line.answer)
            memory += 2 * len(answer) + len(label)
        chats.append(
            PlainChat(key, sample, numbered, turns, images, question, answer, label, row, source, weight, memory)
        )
    return chats


def build_batch(rows: Sequence[Record | PlainChat]) -> pa.RecordBatch:
    """Turn records and plain conversations into one batch, as `mmconvert.core.record.to_arrow` does with records."""
    chats = [row for row in rows if type(row) is PlainChat]
    if len(chats) == len(rows):
        return _build_chat_batch(chats)
    return to_arrow([row.to_record() if type(row) is PlainChat else row for row in rows])  # type: ignore[misc]


def _build_turns(chats: Sequence[PlainChat]) -> pa.Array:
    rows = [chat.turns for chat in chats]
    turns = list(chain.from_iterable(rows))
    kinds, texts, parts = _flatten_parts(chats, turns)
    kind = SCHEMA.field("messages").type.value_type
    part = kind.field("content").type.value_type
    columns = [build_column(kinds, pa.string()), build_column(texts, pa.string())]
    contents = build_lists(parts, pa.StructArray.from_arrays(columns, fields=list(part)))
    columns = [build_column([turn.role for turn in turns], pa.string()), contents]
    return build_lists(rows, pa.StructArray.from_arrays(columns, fields=list(kind)))


def _flatten_parts(
    chats: Sequence[PlainChat], turns: Sequence[PlainTurn]
) -> tuple[list[str], list[str], list[Sequence[str]]]:
    """List type and text of each part of the turns, and the types of each turn's parts."""
    if not any(chat.images for chat in chats):
        return ["text"] * len(turns), [turn.content for turn in turns], [_TEXT] * len(turns)
    kinds: list[str] = []
    texts: list[str] = []
    parts: list[Sequence[str]] = []
    for chat in chats:
        shown = bool(chat.images)
        for turn in chat.turns:
            held: Sequence[str] = _TEXT
            if shown:
                held, shown = _SHOWN if turn.content else _IMAGE, False
                texts.append("")
            if held is not _IMAGE:
                texts.append(turn.content)
            kinds += held
            parts.append(held)
    return kinds, texts, parts


_TEXT, _IMAGE, _SHOWN = ("text",), ("image",), ("image", "text")


def _build_sources(chats: Sequence[PlainChat]) -> pa.Array:
    kind = SCHEMA.field("source").type
    values: dict[str, Sequence[Any]] = {
        "format": [chat.source.format for chat in chats],
        "file": [chat.source.file for chat in chats],
        "row": [chat.row for chat in chats],
        "numbered": [chat.numbered for chat in chats],
    }
    columns = [build_column(values[field.name], field.type) for field in kind]
    return pa.StructArray.from_arrays(columns, fields=list(kind))


_COLUMNS: dict[str, Callable[[Sequence[PlainChat]], Sequence[Any]]] = {
    "id": lambda chats: [chat.id for chat in chats],
    "sample": lambda chats: [chat.sample for chat in chats],
    "dataset": lambda chats: [chat.source.dataset for chat in chats],
    "subset": lambda chats: [chat.source.subset for chat in chats],
    "task": lambda chats: [chat.task for chat in chats],
    "question": lambda chats: [chat.question for chat in chats],
    "answer": lambda chats: [chat.answer for chat in chats],
    "answers": lambda chats: [() if chat.answer is None else (chat.answer,) for chat in chats],
    "label": lambda chats: [chat.label for chat in chats],
    "options": lambda chats: [()] * len(chats),
    "extra": lambda chats: ["{}"] * len(chats),
}
"""Columns that are not null, but for the nested ones."""

_NESTED: dict[str, Callable[[Sequence[PlainChat]], pa.Array]] = {
    "messages": _build_turns,
    "source": _build_sources,
    "images": lambda chats: build_images([chat.images for chat in chats]),
    "image_info": lambda chats: build_image_infos([chat.images for chat in chats]),
}


@lru_cache(maxsize=2)
def _build_empty_batch(count: int) -> pa.RecordBatch:
    """Build the columns of what no conversation has: attachments, a preference, nulls."""
    return to_arrow([Record("", "", (), "", Source("", "", 0))] * count)


def _build_chat_batch(chats: Sequence[PlainChat]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(_build_columns(chats, SCHEMA.names).columns, schema=SCHEMA)


def _build_columns(chats: Sequence[PlainChat], names: Sequence[str]) -> pa.RecordBatch:
    """Build some of the columns of `SCHEMA`; the id where none is named, so that rows can be counted."""
    names = names or ["id"]
    arrays = [
        _NESTED[name](chats)
        if name in _NESTED
        else build_column(_COLUMNS[name](chats), SCHEMA.field(name).type)
        if name in _COLUMNS
        else _build_empty_batch(len(chats)).column(name)
        for name in names
    ]
    return pa.RecordBatch.from_arrays(arrays, names=names)
