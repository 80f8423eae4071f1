"""The statistics of a dataset as tables of texts, alike for a terminal, a page and a notebook."""

from collections.abc import Iterator, Mapping

import msgspec

from mmconvert.curation.stats import DatasetStatistics
from mmconvert.curation.tallies import MOST_KEYS, Spread
from mmconvert.viewer.thumbnails import format_bytes

_MOST_VALUES = 12
"""Values of a column that are shown; the rarest beyond them share a line."""
_QUANTILES = ("min", "p5", "median", "p95", "p99", "max", "mean")
_SPREAD_HEADS = ("", "count", "min", "5 %", "median", "95 %", "99 %", "max", "mean")
_REPEATED = {
    "id": "ids",
    "question": "questions",
    "image": "images, same bytes",
    "sample": "samples, same turns and images",
}


class Bar(msgspec.Struct, frozen=True):
    """A line of a chart."""

    label: str
    count: int


class StatsTable(msgspec.Struct, frozen=True):
    """One part of the statistics.

    Attributes:
        title: What it is about.
        heads: Names of the columns; the first one holds labels, the others numbers. () where bars say it all.
        rows: Cells of each line.
        bars: A chart.
        note: A sentence about it.
    """

    title: str
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    bars: tuple[Bar, ...] = ()
    note: str = ""


def build_stats_tables(found: DatasetStatistics) -> list[StatsTable]:
    """Give the tables in their order; those that would say nothing are left out."""
    return [table for table in _list_tables(found) if table.rows or table.bars or table.note]


def _list_tables(found: DatasetStatistics) -> Iterator[StatsTable]:
    splits = tuple(
        (name, f"{one.samples:,}", f"{one.images:,}", "-" if one.image_bytes is None else format_bytes(one.image_bytes))
        for name, one in found.splits.items()
    )
    yield StatsTable("Splits", ("split", "samples", "images", "bytes of images"), splits)
    yield from _list_image_tables(found)
    spreads = {"turns per sample": found.turns_per_sample}
    spreads |= {f"{name}, characters": spread for name, spread in found.characters.items()}
    yield StatsTable("Turns and texts", _SPREAD_HEADS, _list_spreads(spreads))
    yield StatsTable("Turns per sample", bars=_list_bins(found.turns_per_sample))
    if sample := found.characters.get("sample"):
        yield StatsTable("Characters per sample", bars=_list_bins(sample))
    yield StatsTable("Turns by role", bars=_list_values(found.roles))
    yield from _list_token_tables(found)
    systems = tuple(
        (name, f"{one.letters:,}", f"{one.samples:,}", f"{one.samples_mostly:,}")
        for name, one in found.writing_systems.items()
    )
    yield StatsTable("Writing systems", ("", "letters", "samples with any", "samples mostly"), systems)
    yield from _list_answer_tables(found)
    for name, values in found.values.items():
        yield StatsTable(f"Column {name}", bars=_list_values(values))
    yield from _list_field_tables(found)


def _list_image_tables(found: DatasetStatistics) -> Iterator[StatsTable]:
    if not found.images:
        return
    spreads = {
        "images per sample": found.images_per_sample,
        "width, pixels": found.width,
        "height, pixels": found.height,
        "longer side, pixels": found.longer_side,
        "width / height": found.aspect_ratio,
    }
    urls = found.images_without_bytes
    note = f"{urls:,} images are URLs without bytes; their sizes are not known." if urls else ""
    yield StatsTable("Images", _SPREAD_HEADS, _list_spreads(spreads), note=note)
    yield StatsTable("Images per sample", bars=_list_bins(found.images_per_sample))
    yield StatsTable("Longer side, pixels", bars=_list_bins(found.longer_side))
    yield StatsTable("Aspect ratio, width / height", bars=_list_bins(found.aspect_ratio))
    yield StatsTable("Image formats", bars=_list_values(found.image_formats))


def _list_token_tables(found: DatasetStatistics) -> Iterator[StatsTable]:
    tokens = found.tokens
    if tokens is None:
        return
    spreads = {"sample, tokens": tokens.sample, "its text, tokens": tokens.text, "image, tokens": tokens.image}
    note = f"Under {tokens.processor}."
    if tokens.context is not None:
        share = _format_share(tokens.above_context_share)
        note = f"{note} Longer than {tokens.context:,} tokens: {tokens.above_context:,} samples ({share})."
    yield StatsTable("Tokens", _SPREAD_HEADS, _list_spreads(spreads), note=note)
    yield StatsTable("Tokens per sample", bars=_list_bins(tokens.sample))


def _list_answer_tables(found: DatasetStatistics) -> Iterator[StatsTable]:
    letters = tuple(
        (name, f"{one.count:,}", _format_share(one.share), _format_share(one.even_share))
        for name, one in found.answer_letters.items()
    )
    yield StatsTable(
        "Answers of multiple choice",
        ("letter", "answers", "share", "even share"),
        letters,
        tuple(Bar(name, one.count) for name, one in found.answer_letters.items()),
        "Even share: what each letter would have if every option were right equally often." if letters else "",
    )
    yield StatsTable("Answers of yes or no", bars=_list_values(found.yes_no_answers))


def _list_field_tables(found: DatasetStatistics) -> Iterator[StatsTable]:
    partly = {name: one for name, one in found.fields.items() if one.missing and one.filled}
    rows = tuple((name, f"{one.missing:,}", _format_share(one.missing_share)) for name, one in partly.items())
    empty = [name for name, one in found.fields.items() if not one.filled]
    full = [name for name, one in found.fields.items() if not one.missing]
    said = {"In every sample": full, "In no sample": empty}
    note = " ".join(f"{words}: {', '.join(names)}." for words, names in said.items() if names)
    yield StatsTable("Missing fields", ("field", "samples without", "share"), rows, note=note)
    repeats = tuple(
        (
            _REPEATED[name],
            *(f"{'about ' * one.estimated}{n:,}" for n in (one.distinct, one.repeated, one.in_several_splits)),
        )
        for name, one in found.repeats.items()
        if one.count
    )
    note = ""
    if any(one.estimated for one in found.repeats.values()):
        note = f"Estimated from a sample by hash where there are more than {MOST_KEYS:,}."
    yield StatsTable("Repeated", ("", "different", "repeated", "in several splits"), repeats, note=note)


def _list_spreads(spreads: Mapping[str, Spread]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (name, f"{spread.count:,}", *(_format_number(getattr(spread, quantile)) for quantile in _QUANTILES))
        for name, spread in spreads.items()
        if spread.count
    )


def _list_bins(spread: Spread) -> tuple[Bar, ...]:
    """Give a bar for each bin; none where all values are in one, of which the table says all."""
    if len(spread.bins) < 2:
        return ()
    whole = isinstance(spread.max, int)
    bars = []
    for place, one in enumerate(spread.bins):
        low, high = _format_number(one.low), _format_number(one.high)
        label = low if low == high else f"{low} to {high}" if whole or not place else f"over {low} to {high}"
        bars.append(Bar(label, one.count))
    return tuple(bars)


def _list_values(values: Mapping[str, int]) -> tuple[Bar, ...]:
    listed = [Bar(name or "(none)", count) for name, count in values.items()]
    if len(listed) <= _MOST_VALUES:
        return tuple(listed)
    rest = listed[_MOST_VALUES - 1 :]
    return (*listed[: _MOST_VALUES - 1], Bar(f"{len(rest):,} others", sum(bar.count for bar in rest)))


def _format_number(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,.2f}".rstrip("0").rstrip(".")


def _format_share(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")
