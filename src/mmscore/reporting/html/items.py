"""The table of the page: its columns and filters, and one item a sample with all that is known of it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from mmconvert.core.record import LETTERS
from mmconvert.viewer.items import (
    Choice,
    Column,
    Filter,
    Mark,
    Message,
    PageImage,
    PageItem,
    Plain,
    Shown,
    Text,
    TextSpan,
    Tone,
)
from mmscore.core.parsed import UNPARSED
from mmscore.core.table import EXCLUDED, FAILED, JUDGE_FAILED, MISSING, REJECTED
from mmscore.reporting.html.details import Details, asked_in, list_parts, references_of
from mmscore.reporting.html.listing import Reading
from mmscore.reporting.html.metric_names import name_metric
from mmscore.reporting.html.verdicts import PARTLY, RIGHT, UNREAD, WRONG

WRONGLY, UNPARSED_MARK, FAILING = ("wrong", "unparsed", "failed")
RECIPES, MODELS, UNSTABLE = ("recipes disagree", "models disagree", "responses differ")
_LACKING = (FAILED, JUDGE_FAILED, MISSING, REJECTED)
TONES: Mapping[str, Tone] = {
    **dict.fromkeys((WRONG, *(status.replace("_", " ") for status in _LACKING)), "bad"),
    **dict.fromkeys((PARTLY, UNREAD, EXCLUDED), "warn"),
    RIGHT: "good",
}
PARSED = "parsed answer"
_MOST_GROUPS = 2
_WHOLE = "stop"
"""Finish reason of a response that came to its end."""
_SEARCHED = 600
"""Characters of one text that a search looks through."""


class Layout(msgspec.Struct, frozen=True):
    """How the results of a page stand side by side.

    Attributes:
        labels: Short name of each result.
        files: Number of the file that each result is of; results of one number are recipes on the same responses.
        recipes: Name and version of each result's recipe.
        models: Who answered, one a file.
        groups: Columns that the metrics are broken down by.
        repeated: Some question has several responses.
    """

    labels: Sequence[str]
    files: Sequence[int]
    recipes: Sequence[str]
    models: Sequence[str]
    groups: Sequence[str] = ()
    repeated: bool = False

    def name(self, what: str, number: int) -> str:
        """Name a column of one result."""
        return what if len(self.labels) == 1 else f"{what}: {self.labels[number]}"

    @property
    def columns(self) -> list[Column]:
        """Give the columns of the table."""
        alone = len(self.labels) == 1
        # The finest breakdowns stand in the table, all of them in its filters.
        coarse = len(self.groups) - _MOST_GROUPS
        groups = [Column(name, kind="hidden" if n < coarse else "text") for n, name in enumerate(self.groups)]
        first = [Column("id"), Column("question", kind="long"), *groups]
        own: list[Column] = []
        kind: Literal["text", "hidden"] = "text" if alone else "hidden"
        for number, label in enumerate(self.labels):
            own += [Column(self.name(PARSED, number), kind=kind), Column(self.name("rule", number), kind=kind)]
            own += [Column(self.name("result", number), "result" if alone else label, tones=TONES)]
        return [*first, Column("reference"), *own, *([Column("score", kind="number")] if alone else [])]

    @property
    def filters(self) -> list[Filter]:
        """Give the filters of the table."""
        marks = [
            Mark(WRONGLY, hint="Score 0, unparsed responses included", tone="bad"),
            Mark(UNPARSED_MARK, hint="No rule of the recipe parsed an answer", tone="warn"),
            Mark(FAILING, hint="No score: inference or judge failed, prediction missing, or row rejected", tone="bad"),
        ]
        if len(set(self.files)) < len(self.files):
            marks.append(Mark(RECIPES, hint="The same response gets another score", tone="warn"))
        if len(set(self.files)) > 1:
            marks.append(Mark(MODELS, hint="Another result under the same recipe", tone="warn"))
        if self.repeated:
            hint = "Several responses to the question that do not all agree"
            marks.append(Mark(UNSTABLE, hint=hint, tone="warn"))
        numbers = range(len(self.labels))
        shown = [Choice(self.name("result", n), "result" if len(numbers) == 1 else self.labels[n]) for n in numbers]
        rules = [Choice(self.name("rule", n), quiet=len(numbers) > 1) for n in numbers]
        quiet = [Choice(name, quiet=True) for name in ("reference", *(self.name(PARSED, n) for n in numbers))]
        return [*marks, *map(Choice, self.groups), *shown, *rules, *quiet]


def item_of(
    id: str,
    layout: Layout,
    readings: Sequence[Reading | None],
    facts: Sequence[Details],
    images: Sequence[PageImage],
    groups: Mapping[str, str | None],
) -> PageItem:
    """Lay out one sample.

    Args:
        id: Its id, unique on the page.
        layout: How results stand side by side.
        readings: What each result made of it.
        facts: What each file says of it; {} where a file does not have it.
        images: Its images in the dataset; () where they are not available.
        groups: Its value in each of the columns of the layout.
    """
    asked = next((one for one in facts if one.get("messages")), next((one for one in facts if one), {}))
    references = references_of(asked)
    right = next((one.reference for one in readings if one is not None and one.reference), " | ".join(references))
    cells: dict[str, Plain] = {"id": id, "question": asked_in(asked), **groups, "reference": right}
    for number, reading in enumerate(readings):
        if reading is not None:
            cells[layout.name(PARSED, number)] = reading.read
            cells[layout.name("rule", number)] = None if reading.status in _LACKING else reading.how
            cells[layout.name("result", number)] = reading.word
            cells["score"] = next(iter(reading.scores.values()), None)
    shown = images_shown(asked)
    # Images that the messages do not show one for one stand below them.
    is_shown = len(images) == shown
    note = "one of those below" if images else "not in the predictions file"
    held = [*images] if is_shown else [PageImage(None, "", note=note)] * shown + [*images]
    return PageItem(
        id=id,
        cells=cells,
        marks=list(_marks(layout, readings)),
        search="\n".join(_searched(id, asked, facts, [*references, *filter(None, groups.values())])),
        messages=_messages(asked),
        images=held,
        others=() if is_shown else range(shown, len(held)),
        fields=dict(_fields(layout, readings, facts, asked, references)),
        facts={name: str(asked[name]) for name in ("task", "sample") if asked.get(name)},
    )


def images_shown(asked: Details) -> int:
    """Count the images that the messages of a sample show."""
    return sum(part["type"] == "image" for part in list_parts(asked))


def _searched(id: str, asked: Details, facts: Sequence[Details], more: Sequence[str]) -> Iterator[str]:
    """Give the texts that a search looks through, each once: a page of many rows is read the faster."""
    yield from (id, *more)
    turns = [part["text"] or "" for turn in asked.get("messages") or () for part in turn["content"]]
    for text in (*(turns or [asked_in(asked)]), *(one.get("prediction") or "" for one in facts)):
        yield text[:_SEARCHED]


def _messages(asked: Details) -> list[Message]:
    messages, at = [], 0
    for turn in asked.get("messages") or ():
        parts: list[Shown | int] = []
        for part in turn["content"]:
            parts.append(at if part["type"] == "image" else part["text"] or "")
            at += part["type"] == "image"
        messages.append(Message(turn["role"], tuple(parts)))
    return messages


def _marks(layout: Layout, readings: Sequence[Reading | None]) -> Iterator[str]:
    there = [(number, reading) for number, reading in enumerate(readings) if reading is not None]
    if any(reading.word in (WRONG, UNREAD) for _, reading in there):
        yield WRONGLY
    if any(reading.how == UNPARSED.how and reading.status not in _LACKING for _, reading in there):
        yield UNPARSED_MARK
    if any(reading.status in _LACKING for _, reading in there):
        yield FAILING
    if _differ(((layout.files[number], next(iter(r.scores.values()), None)) for number, r in there)):
        yield RECIPES
    if len(layout.models) > 1 and _differ((layout.recipes[number], reading.word) for number, reading in there):
        yield MODELS
    if any(reading.unstable for _, reading in there):
        yield UNSTABLE


def _differ(pairs: Iterator[tuple[object, object]]) -> bool:
    """Tell whether some key has several values."""
    known: dict[object, object] = {}
    return any(known.setdefault(key, value) != value for key, value in pairs)


def _fields(
    layout: Layout,
    readings: Sequence[Reading | None],
    facts: Sequence[Details],
    asked: Details,
    references: Sequence[str],
) -> Iterator[tuple[str, Shown | Sequence[Shown]]]:
    if not asked.get("messages") and asked_in(asked):
        yield "Question", asked_in(asked)
    if asked.get("hint") and not asked.get("messages"):
        yield "Hint", asked["hint"]
    right = asked.get("answer") or ""
    listed = [
        (letter, text) for letter, text in zip(LETTERS, asked.get("options") or (), strict=False) if text is not None
    ]
    if listed:
        yield "Options", [Text(text, name=letter, tone="good" if letter in right else "") for letter, text in listed]
    yield "Reference", references
    for file, (model, one) in enumerate(zip(layout.models, facts, strict=True)):
        of = f" of {model}" if len(layout.models) > 1 else ""
        own = [(n, reading) for n, reading in enumerate(readings) if layout.files[n] == file and reading is not None]
        if own:
            yield from _response_fields(of, one, [(layout.recipes[n], reading) for n, reading in own])


def _response_fields(
    of: str, one: Details, own: Sequence[tuple[str, Reading]]
) -> Iterator[tuple[str, Shown | Sequence[Shown]]]:
    if one.get("thinking"):
        yield f"Reasoning{of}, removed from the response", Text(one["thinking"], tone="code")
    if one.get("prediction") is not None:
        yield f"Response{of}", _marked(one["prediction"], own)
    if one.get("prediction_error"):
        yield f"Why there is no response{of}", Text(one["prediction_error"], tone="bad")
    if one.get("option_logprobs"):
        letters = [letter for letter, text in zip(LETTERS, one.get("options") or (), strict=False) if text is not None]
        pairs = zip(letters, one["option_logprobs"], strict=False)
        yield f"Log-probability of each option{of}", [Text(f"{value:.4f}", name=letter) for letter, value in pairs]
    if one.get("finish_reason") not in (None, _WHOLE):
        yield f"Finish reason{of}", Text(one["finish_reason"], tone="warn")
    for recipe, reading in own:
        by = f", {recipe}" if len(own) > 1 else ""
        yield f"Parsed answer{of}{by}", Text(_sentence(reading), tone=TONES.get(reading.word, ""))
        judge = reading.judge or {}
        for vote in judge.get("judge_votes") or ():
            again = f", {vote['repeat'] + 1}" if vote["repeat"] else ""
            yield f"Judge {vote['judge']} ({vote['model']}{again}){of}{by}", vote["reply"] or vote["error"] or ""
        if judge.get("judge_reply") and not judge["judge_votes"]:
            yield f"Judge {judge['judge_model'] or ''}{of}{by}", judge["judge_reply"]


def _marked(response: str, own: Sequence[tuple[str, Reading]]) -> Shown | Sequence[Shown]:
    """Mark what each recipe took; several texts where marks would overlap."""
    marks: dict[tuple[int, int], list[str]] = {}
    for recipe, reading in own:
        if reading.span is not None and reading.span[0] < reading.span[1] <= len(response):
            marks.setdefault(reading.span, []).append(f"{recipe}: {reading.how}")
    if not marks or list(marks) == [(0, len(response))]:
        return response
    spans = [TextSpan(*place, label="; ".join(words)) for place, words in sorted(marks.items())]
    if all(one.end <= other.start for one, other in pairwise(spans)):
        return Text(response, tuple(spans))
    return [Text(response, (span,)) for span in spans]


def _sentence(reading: Reading) -> str:
    if reading.status in _LACKING:
        return f"{reading.word}: {reading.problem}" if reading.problem else reading.word
    scores = ", ".join(f"{name_metric(name)} {value:.4g}" for name, value in reading.scores.items())
    told = f"{reading.how}: {scores or reading.word}"
    return told if reading.value is None else f"{reading.value}\n{told}"
