"""Pairs of samples of a benchmark and of a training set on one page, both images side by side."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from msgspec.structs import replace

from mmconvert.core.errors import UsageError
from mmconvert.core.record import Record
from mmconvert.curation.fingerprints import list_asked
from mmconvert.curation.overlap import Overlap, OverlapOptions, Pair, find_overlap
from mmconvert.curation.subset import read_rows
from mmconvert.dataset.dataset import Dataset
from mmconvert.storage.atomic import require_apart, require_folder
from mmconvert.viewer.items import Choice, Column, PageImage, PageItem, Shown, Text
from mmconvert.viewer.page import write_page
from mmconvert.viewer.records import find_answer
from mmconvert.viewer.thumbnails import Thumbnails

_HERE = files("mmconvert.viewer")
_SUFFIXES = (".html", ".htm")
_MOST_PAIRS = 500
"""Pairs on a page."""
_MOST_IMAGES = 4
"""Images of a sample that are shown."""
_NO_CONTENT = "only its fingerprint is here"


def check_overlap(
    train: str | Path, benchmarks: Sequence[str | Path], output: str | None, options: OverlapOptions, *, quiet: bool
) -> Overlap:
    """Find the samples of benchmarks that a training set holds; with `html` as a page, too.

    Args:
        train: See `find_overlap`.
        benchmarks: Likewise.
        output: Likewise.
        options: Likewise.
        quiet: No progress on standard error.

    Raises:
        UsageError: As `find_overlap`, or the page cannot stand where it shall.
        Error: As `find_overlap`.
    """
    page = options.html
    if page is None:
        return find_overlap(train, benchmarks, output, options, quiet=quiet)
    require_folder(page)
    require_apart([page], [train, *benchmarks, *options.fingerprints])
    if page.suffix.lower() not in _SUFFIXES:
        # What stands there is replaced, and should be no table.
        raise UsageError(f"{page}: a page is an HTML file. Use the extension: {page.with_suffix(_SUFFIXES[0])}.")

    def show(found: Overlap, opened: Dataset, sources: Mapping[str, Dataset]) -> None:
        write_overlap_page(page, found, opened, sources)

    return find_overlap(train, benchmarks, output, options, quiet=quiet, show=show)


def write_overlap_page(page: Path, found: Overlap, train: Dataset, benchmarks: Mapping[str, Dataset]) -> None:
    """Write the page of what was found; it appears whole or not at all.

    Args:
        page: The HTML file.
        found: What was found.
        train: The training set.
        benchmarks: Those benchmarks whose samples are here.
    """
    shown = _choose(found.pairs)
    samples = sum(one.samples for one in found.benchmarks.values())
    facts = {
        "Training samples": f"{found.train_samples:,}",
        "found in a benchmark": f"{found.train_found:,}",
        "Benchmark samples": f"{samples:,}",
        "found in the training set": f"{sum(one.found for one in found.benchmarks.values()):,}",
    }
    notes = [
        f"{name}: {one.found:,} of {one.samples:,} samples found ({one.image:,} by image, "
        f"{one.near_image:,} by near image, {one.text:,} by text, {one.both:,} by both)."
        for name, one in found.benchmarks.items()
    ]
    if len(shown) < len(found.pairs):
        notes.append(f"{len(shown):,} of {len(found.pairs):,} pairs are shown; --json lists all.")
    write_page(
        page,
        f"Overlap of {found.train}",
        items=_list_items(shown, train, benchmarks),
        columns=[
            *(Column("benchmark"), Column("sample"), Column("training sample"), Column("way")),
            *(Column("distance", kind="number"), Column("question", kind="long")),
        ],
        filters=[Choice("benchmark", "Benchmark"), Choice("way", "Way")],
        facts=facts,
        unit=("pair", "pairs"),
        lead="Samples of benchmarks (left) that the training set holds (right).",
        notes=notes,
        styles=[_HERE / "overlap.css"],
    )


def _choose(pairs: Sequence[Pair]) -> list[Pair]:
    """Take one pair of each sample of a benchmark first, then the others, as many as a page shows."""
    seen: set[tuple[str, int]] = set()
    first: list[Pair] = []
    others: list[Pair] = []
    for pair in pairs:
        key = (pair.benchmark, pair.rows[0])
        (others if key in seen else first).append(pair)
        seen.add(key)
    return [*first, *others][:_MOST_PAIRS]


def _list_items(pairs: Sequence[Pair], train: Dataset, benchmarks: Mapping[str, Dataset]) -> Iterator[PageItem]:
    thumbnails = Thumbnails(2 * len(pairs))
    for start in range(0, len(pairs), 32):
        some = pairs[start : start + 32]
        trained = read_rows(train, {pair.rows[1] for pair in some})
        asked = {
            (name, row): record
            for name, dataset in benchmarks.items()
            for row, record in read_rows(dataset, {pair.rows[0] for pair in some if pair.benchmark == name}).items()
        }
        for number, pair in enumerate(some, start + 1):
            yield _build_item(
                number, pair, asked.get((pair.benchmark, pair.rows[0])), trained[pair.rows[1]], thumbnails
            )


def _build_item(number: int, pair: Pair, asked: Record | None, trained: Record, thumbnails: Thumbnails) -> PageItem:
    left = _show_images(asked, f"{pair.benchmark}: {pair.id}", thumbnails)
    right = _show_images(trained, f"training: {pair.train_id}", thumbnails)
    fields: dict[str, Shown | Sequence[Shown]] = {
        "Benchmark": _describe(asked),
        "Training": _describe(trained),
    }
    return PageItem(
        id=str(number),
        cells={
            "benchmark": pair.benchmark,
            "sample": pair.id,
            "training sample": pair.train_id,
            "way": pair.way,
            "distance": pair.distance,
            "question": None if asked is None else next(iter(list_asked(asked)), None),
        },
        images=[*left, *right],
        fields=fields,
        facts={"benchmark": pair.benchmark, "sample": pair.id, "training sample": pair.train_id, "way": pair.way},
        others=range(len(left) + len(right)),
    )


def _show_images(record: Record | None, name: str, thumbnails: Thumbnails) -> list[PageImage]:
    if record is None:
        return [PageImage(None, "", name, _NO_CONTENT)]
    images = (*record.images, *record.attachments)[:_MOST_IMAGES]
    return [replace(thumbnails.describe_image(image), name=name) for image in images]


def _describe(record: Record | None) -> list[Shown]:
    if record is None:
        return [Text(_NO_CONTENT, tone="warn")]
    texts = [Text(text.strip(), name="question") for text in list_asked(record)]
    texts.append(Text(find_answer(record) or "", name="answer"))
    return [text for text in texts if text.text]
