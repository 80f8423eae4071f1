"""Records of any file on one page: what a model sees of each, and every problem of the rows that are skipped."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.resources import files
from itertools import chain, count, groupby, islice
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from mmconvert.chat.collate import UNENDED
from mmconvert.chat.learnt_text import Loss
from mmconvert.chat.processors import load_processor
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.notebook import show_html
from mmconvert.core.option_fields import copy_options
from mmconvert.core.progress import Advance, Done, show_progress
from mmconvert.core.record import Record
from mmconvert.core.rows import Rejected
from mmconvert.core.run_cache import begin_run
from mmconvert.images.frame_process import MOST_FRAMES
from mmconvert.pipeline.check import find_problems, list_remarks
from mmconvert.pipeline.inputs import Input, plan_inputs
from mmconvert.pipeline.read import UNDRAWN, ImageRoot, ReadOptions, Records
from mmconvert.pipeline.sampling import find_bound
from mmconvert.storage.atomic import require_folder
from mmconvert.storage.source_files import watch_sources
from mmconvert.viewer import learnt
from mmconvert.viewer.items import Choice, Column, PageItem, Shown, Text
from mmconvert.viewer.learnt import LossView
from mmconvert.viewer.page import write_page
from mmconvert.viewer.records import COLUMNS, FILTERS, SKIPPED, build_item
from mmconvert.viewer.statistics import Statistics
from mmconvert.viewer.thumbnails import Thumbnails

_SPLIT, PROBLEM, _CODE = "split", "problem", "problem code"
_HERE = files("mmconvert.viewer")
_SUFFIXES = (".html", ".htm")
_AT_A_TIME = 16
"""Records whose images are made small side by side."""
_LONG = 400
"""Characters of one value of a skipped row that are shown."""
_WHOLE_FILE = "file"
"""Stands for the code of a file that is refused as a whole."""


class PreviewOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a page shows of files: the options of `mmconvert preview` and the keywords of `preview`."""

    rows: Annotated[int, msgspec.Meta(ge=1)] = 200
    """Maximum number of samples to show, from the start of each split or subset."""
    sample: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Show N random rows of all files instead, the same for the same --seed."""
    format: str | None = None
    """Input format. [default: detected]"""
    image_root: tuple[ImageRoot, ...] = ()
    """Directory that relative image paths start from, or its URL (s3://...)."""
    map: tuple[str, ...] = ()
    """Column that holds FIELD, as in convert; repeatable."""
    frames: Annotated[int, msgspec.Meta(ge=1, le=MOST_FRAMES)] | None = None
    """Turn each video into N evenly spaced frames."""
    fps: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Turn each video into frames at 0, 1/N, 2/N, ... seconds."""
    frame_format: Literal["jpeg", "png"] = "jpeg"
    """Image format of video frames."""
    transform: tuple[str, ...] = ()
    """Transform every sample, as in convert."""
    prompt: str | None = None
    """Prompt template of a framework, as in convert."""
    prompt_suffix: str | None = None
    """Text to append to the last user turn."""
    seed: int = 0
    """Random seed of transforms and of --sample."""
    keep_urls: bool = False
    """Show image URLs as text instead of skipping their rows."""
    loss: Loss | None = None
    """Show the tokens of each sample under --processor, those that training learns in colour: every turn of the
    assistant, those behind the last other turn, the last one, or all but images. [default without a word: assistant]"""
    processor: str | None = None
    """Directory or Hub ID of a model whose processor makes the tokens of --loss; the model is not loaded."""

    def reading(self) -> ReadOptions:
        """Say how each file is read."""
        all_of_it = {"decode": True, "every_problem": True, "keep_refused": True}
        return copy_options(
            ReadOptions, self, image_roots=self.image_root, mapping=self.map, transforms=self.transform, **all_of_it
        )


_FIRST = 5
"""Items of a page that a notebook shows."""


@dataclass(slots=True)
class Previewed:
    """What a page shows.

    Attributes:
        rows: Rows of the source that were read, refused ones among them.
        records: Records on the page.
        refused: Refused rows on the page.
        files_refused: Files that a conversion would refuse as a whole; the page names them.
        pictures: Images of the records.
        tokens: Tokens of the samples with --loss.
        learnt: Tokens that training learns among them.
        formats: Formats of the files, each once.
        tasks: Records of each task.
        whole: Every row of every file was read.
        undrawn: Rows that `--sample` left out.
        warnings: Remarks of the readers with their counts.
        output: The page.
        first: The first items of the page, for a notebook; a summary as JSON has none.
    """

    rows: int = 0
    records: int = 0
    refused: int = 0
    files_refused: int = 0
    pictures: int = 0
    tokens: int = field(default=0, repr=False)
    learnt: int = field(default=0, repr=False)
    formats: list[str] = field(default_factory=list)
    tasks: Counter[str] = field(default_factory=Counter)
    whole: bool = True
    undrawn: int = 0
    warnings: list[str] = field(default_factory=list)
    output: str = ""
    first: list[PageItem] = field(default_factory=list, repr=False)

    def _repr_html_(self) -> str | None:
        return show_html(self)

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmconvert preview --json` prints."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "first"}


@watch_sources()
def preview_files(inputs: Sequence[str], output: Path, options: PreviewOptions, *, quiet: bool) -> Previewed:
    """Write the page of files that the user named; it appears whole or not at all.

    Args:
        inputs: Files, folders, names and URLs as the user writes them.
        output: The HTML file that shall appear.
        options: How to read them, and how many rows to show.
        quiet: No progress on standard error.

    Returns:
        What the page shows.

    Raises:
        UsageError: A name is unknown, a path is missing, or the page cannot stand where it shall.
        Error: The only file would be refused as a whole; there is no page.
    """
    require_folder(output)
    if output.suffix.lower() not in _SUFFIXES:
        # What stands there is replaced, and should be no table.
        raise UsageError(f"{output}: a page is an HTML file. Use the extension: {output.with_suffix(_SUFFIXES[0])}.")
    if (options.loss is None) != (options.processor is None):
        raise UsageError(
            "--loss and --processor go together: --loss --processor MODEL shows the tokens that are learnt."
        )
    sources = plan_inputs(inputs, every_set=True)
    begin_run()
    loss = LossView(load_processor(options.processor), options.loss) if options.processor and options.loss else None
    done = Previewed(output=str(output))
    facts: dict[str, str] = {}
    data: dict[str, Any] = {}
    by_split = [Choice(_SPLIT, "Split")] if len({source.split for source in sources}) > 1 else []
    with show_progress("preview", quiet=quiet) as advance:
        write_page(
            output,
            ", ".join(Path(name).name or name for name in inputs),
            items=_with_names(_items(sources, (options.reading(), options.rows, loss), done, (facts, data), advance)),
            unit=("sample", "samples"),
            first=SKIPPED,
            columns=[
                *(*COLUMNS[:2], Column(PROBLEM, kind="long"), *COLUMNS[2:], *[Column(_SPLIT)] * len(by_split)),
                *(learnt.COLUMNS if loss else ()),
                Column(_CODE, kind="hidden"),
            ],
            filters=[*FILTERS, *(learnt.FILTERS if loss else ()), Choice(_CODE, quiet=True), *by_split],
            facts=facts,
            data=data,
            styles=[_HERE / "preview.css"],
            scripts=[_HERE / "preview.js"],
            notes=done.warnings,
        )
    return done


def _items(
    inputs: Sequence[Input],
    options: tuple[ReadOptions, int, LossView | None],
    done: Previewed,
    said: tuple[dict[str, str], dict[str, Any]],
    advance: Advance,
) -> Iterator[tuple[str, PageItem]]:
    """Give the items of all files with their splits; facts and data of them all are complete at the end."""
    how, rows, loss = options
    thumbnails, statistics, skipped = Thumbnails(how.sample or rows), Statistics(), _Skipped()
    shares = _shared_out(inputs, rows, done)
    if how.sample is not None:
        drawn_from = ((source.id_prefix, Records(source, how)) for source in inputs)
        how = replace(how, drawn=find_bound(drawn_from, how.sample, how.seed))
        shares = ((source, None) for source in inputs)
    for source, share in shares:
        try:
            own = (replace(how, first_rows=share), loss)
            for item in _items_of(source, own, thumbnails, done, statistics, skipped):
                if len(done.first) < _FIRST:
                    done.first.append(item)
                yield source.split, item
                advance(Done(done.records + done.refused))
        except UsageError:
            raise
        except Error as error:
            if len(inputs) == 1:
                raise
            done.files_refused += 1
            skipped.add(_WHOLE_FILE, str(error))
            yield source.split, _refused_file(source, error)
    if loss:
        done.tokens, done.learnt = loss.tokens, loss.learnt
        if loss.unended:
            done.warnings.append(f"{loss.unended:,} samples: {UNENDED}")
    said[0].update(_facts(done, loss.loss if loss else None))
    said[1].update(statistics=statistics.to_json(), skipped=skipped.to_json())


class _Skipped:
    """Counts skipped rows by the code of their first problem, with the message of the first of each."""

    def __init__(self) -> None:
        self._rows = Counter[str]()
        self._messages: dict[str, str] = {}

    def add(self, code: str, message: str) -> None:
        self._rows[code] += 1
        self._messages.setdefault(code, message)

    def to_json(self) -> list[dict[str, Any]]:
        return [{"code": code, "rows": n, "message": self._messages[code]} for code, n in self._rows.most_common()]


def _shared_out(inputs: Sequence[Input], rows: int, done: Previewed) -> Iterator[tuple[Input, int | None]]:
    """Give files with the most rows to read of each: as many of every split or subset, its first files first."""
    groups = [list(group) for _, group in groupby(inputs, lambda source: (source.split, source.subset))]
    for number, sources in enumerate(groups):
        end = done.rows + -(-(rows - done.rows) // (len(groups) - number))
        for source in sources:
            if done.rows >= end:
                done.whole = False
                break
            yield source, end - done.rows


def _refused_file(source: Input, error: Error) -> PageItem:
    name, problems = source.path.name, [Text(str(error), tone="bad")]
    cells = {"id": name, PROBLEM: str(error), _SPLIT: source.split, _CODE: _WHOLE_FILE}
    return PageItem(id=name, cells=cells, marks=[SKIPPED], fields={"Problems": problems})


def _items_of(
    source: Input,
    options: tuple[ReadOptions, LossView | None],
    thumbnails: Thumbnails,
    done: Previewed,
    statistics: Statistics,
    skipped: _Skipped,
) -> Iterator[PageItem]:
    how, loss = options
    records = Records(source, how)
    done.formats += [records.format] if records.format not in done.formats else []
    refused: dict[tuple[str, int], list[Rejected]] = {}
    for found, row in _ahead(records, thumbnails, done):
        if isinstance(found, Rejected):
            refused.setdefault((found.where.file, found.where.row), []).append(found)
            continue
        done.records += 1
        done.pictures += len(found.images)
        done.tasks[found.task] += 1
        statistics.add(found)
        item = build_item(found, thumbnails)
        item = loss.describe(item, found) if loss else item
        yield replace(item, cells={**item.cells, "row": row, _SPLIT: source.split})
    for _, problems in sorted(refused.items()):
        done.refused += 1
        skipped.add(problems[0].code, str(problems[0]))
        yield refused_item(problems, source)
    done.undrawn += records.warnings.pop(UNDRAWN, 0)
    done.whole &= records.rows_read != how.first_rows or not _goes_on(records, source)
    done.warnings += list_remarks(records, source)


def _goes_on(records: Records, source: Input) -> bool:
    """Tell whether a file holds more rows than were read."""
    rows = chain.from_iterable(records.plugin.rows(one.path, None) for one in source.list_files())
    try:
        return next(islice(rows, records.rows_read, None), None) is not None
    except Error:
        # What cannot be read stands there all the same.
        return True


def _ahead(records: Records, thumbnails: Thumbnails, done: Previewed) -> Iterator[tuple[Record | Rejected, int]]:
    """Give what is found of a file with its row, some at a time, so that their thumbnails are made side by side."""
    some: list[tuple[Record | Rejected, int]] = []
    failure: Error | None = None
    try:
        for found in find_problems(records):
            some.append((found, records.where.row))
            if len(some) == _AT_A_TIME:
                yield from _prepared(some, thumbnails)
                some = []
    except Error as error:
        failure = error
    yield from _prepared(some, thumbnails)
    done.rows += records.rows_read
    if failure is not None:
        raise failure


def _prepared(some: list[tuple[Record | Rejected, int]], thumbnails: Thumbnails) -> list[tuple[Record | Rejected, int]]:
    thumbnails.prepare(image for found, _ in some if isinstance(found, Record) for image in found.images)
    return some


def refused_item(problems: Sequence[Rejected], source: Input) -> PageItem:
    """Make the item of a skipped row: every problem, and what could be read of it.

    Args:
        problems: All of one row, at least one.
        source: Their file.
    """
    first = problems[0]
    place = f"{first.where.file} row {first.where.row}"
    id = next((problem.id for problem in problems if problem.id), None)
    fields: dict[str, Shown | Sequence[Shown]] = {"Problems": [Text(str(problem), tone="bad") for problem in problems]}
    if first.row is not None:
        given = {name: _short(value) for name, value in first.row.fields.items() if value is not None}
        fields["Row"] = Text(json.dumps(given, ensure_ascii=False, indent=1, default=repr), tone="code")
    name, row = id or place, first.where.row
    cells = {"id": name, PROBLEM: first.message, "subset": source.subset, "row": row}
    cells |= {_SPLIT: source.split, _CODE: first.code}
    facts = {"problem": ", ".join(dict.fromkeys(problem.code for problem in problems)), "source": place}
    return PageItem(id=name, cells=cells, marks=[SKIPPED], fields=fields, facts=facts)


def _short(value: Any) -> Any:
    """Cut the long texts inside a value, so that an image as text does not hide the fields behind it."""
    if isinstance(value, bytes):
        return f"<{len(value):,} bytes>"
    if isinstance(value, str) and len(value) > _LONG:
        return f"{value[:_LONG]}… <{len(value) - _LONG:,} more characters>"
    if isinstance(value, Mapping):
        return {str(name): _short(one) for name, one in value.items()}
    return [_short(one) for one in value] if isinstance(value, list | tuple) else value


def _with_names(items: Iterable[tuple[str, PageItem]]) -> Iterator[PageItem]:
    """Tell items of one id apart: by their split, else by a number."""
    taken: set[str] = set()
    for split, item in items:
        numbered = (f"{item.id} ({n})" for n in count(2))
        id = next(name for name in chain((item.id, f"{split}/{item.id}"), numbered) if name not in taken)
        taken.add(id)
        yield item if id == item.id else replace(item, id=id)


def _facts(done: Previewed, loss: Loss | None) -> dict[str, str]:
    facts = {
        "Rows": f"{done.rows:,}" if done.whole else f"first {done.rows:,}",
        "Drawn from": f"{done.rows + done.undrawn:,} rows" if done.undrawn else None,
        "Samples": f"{done.records:,}" if done.records != done.rows else None,
        "Skipped rows": f"{done.refused:,}",
        "Skipped files": f"{done.files_refused:,}" if done.files_refused else None,
        "Images": f"{done.pictures:,}",
        "Format": ", ".join(done.formats),
        "Tasks": ", ".join(done.tasks),
        "Tokens": f"{done.tokens:,}" if done.tokens else None,
        "Loss": loss,
        "Learnt tokens": f"{done.learnt:,} ({done.learnt / done.tokens:.1%})" if done.tokens else None,
    }
    return {label: value for label, value in facts.items() if value}
