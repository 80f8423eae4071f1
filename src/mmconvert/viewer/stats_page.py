"""The statistics of a dataset as one self-contained page, and in a notebook: tables, and bars drawn as SVG."""

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from mmconvert._version import __version__
from mmconvert.core.errors import UsageError
from mmconvert.core.text.printable import escape_control
from mmconvert.curation.stats import DatasetStatistics
from mmconvert.storage.atomic import open_published_file, require_folder
from mmconvert.storage.source_files import require_unchanged
from mmconvert.viewer.stats_tables import Bar, StatsTable, build_stats_tables
from mmconvert.viewer.thumbnails import format_bytes

_HERE = files("mmconvert.viewer")
_SUFFIXES = (".html", ".htm")
_WIDTH, _LINE, _BAR = 460, 22, 14
"""Pixels of a chart's width, of the height of a line, and of the bar in it."""
_LABEL, _COUNT = 165, 75
"""Pixels beside the bars for labels and counts."""
_LETTERS = 20
"""Letters of a label that have room; the whole label is its title."""


def require_page(path: Path) -> None:
    """Refuse a place that a page cannot be written to, before anything is counted.

    Raises:
        UsageError: Its folder does not exist, or its name is not that of an HTML file.
    """
    require_folder(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"{path}: a page is an HTML file. Use the extension: {path.with_suffix(_SUFFIXES[0])}.")


def write_stats_page(found: DatasetStatistics, path: Path) -> None:
    """Write the page atomically; it runs no script and asks for nothing.

    Args:
        found: The statistics.
        path: The file; one that stands there is replaced.

    Raises:
        UsageError: See `require_page`.
        Error: The disk has no room.
    """
    require_page(path)
    size = "" if found.image_bytes is None else f" ({format_bytes(found.image_bytes)})"
    page = Template((_HERE / "stats.html").read_text("utf-8")).substitute(
        title=_escape(Path(found.dataset).name or found.dataset),
        lead=_escape(f"{found.samples:,} samples, {found.images:,} images{size}"),
        styles="\n".join((_HERE / name).read_text("utf-8") for name in ("viewer.css", "stats.css")),
        sections="\n".join(_format_table(table) for table in build_stats_tables(found)),
        version=__version__,
    )
    with open_published_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
        require_unchanged()


def format_stats(found: DatasetStatistics) -> str:
    """Give the statistics as HTML for a notebook."""
    heading = f"<p><b>{_escape(found.dataset)}</b><br>{found.samples:,} samples, {found.images:,} images</p>"
    return heading + "".join(_format_table(table) for table in build_stats_tables(found))


def _format_table(table: StatsTable) -> str:
    cells = [f"<tr>{''.join(f'<th>{_escape(head)}</th>' for head in table.heads)}</tr>"] if table.rows else []
    cells += [_format_row(row, table.heads) for row in table.rows]
    grid = f'<div class="wide"><table>{"".join(cells)}</table></div>' if cells else ""
    note = f"<p>{_escape(table.note)}</p>" if table.note else ""
    kind = " wide" if len(table.heads) > 5 else ""
    return f'<section class="stats{kind}"><h2>{_escape(table.title)}</h2>{grid}{_draw_bars(table.bars)}{note}</section>'


def _format_row(cells: Sequence[str], heads: Sequence[str]) -> str:
    # On a narrow screen the head stands before each number.
    named = (f'<td data-head="{_escape(head)}">{_escape(cell)}</td>' for cell, head in zip(cells, heads, strict=True))
    return f"<tr>{''.join(named)}</tr>"


def _draw_bars(bars: Sequence[Bar]) -> str:
    """Draw a bar a line, as long as its count; labels on the left, counts behind."""
    if not bars:
        return ""
    most, room = max(bar.count for bar in bars) or 1, _WIDTH - _LABEL - _COUNT
    lines = []
    for place, bar in enumerate(bars):
        top, length = place * _LINE, max(1.0, room * bar.count / most) if bar.count else 0.0
        middle = top + _LINE / 2
        label = bar.label if len(bar.label) <= _LETTERS else f"{bar.label[: _LETTERS - 1]}\N{HORIZONTAL ELLIPSIS}"
        lines.append(
            f"<g><title>{_escape(bar.label)}: {bar.count:,}</title>"
            f'<text x="{_LABEL - 8}" y="{middle}" text-anchor="end" dominant-baseline="central">{_escape(label)}</text>'
            f'<rect x="{_LABEL}" y="{top + (_LINE - _BAR) / 2}" width="{length:.1f}" height="{_BAR}" rx="2"/>'
            f'<text x="{_LABEL + length + 6:.1f}" y="{middle}" dominant-baseline="central">{bar.count:,}</text></g>'
        )
    height = len(bars) * _LINE
    # Colours of their own, for a notebook has no style of ours; the page's style sets others.
    return (
        f'<div><svg role="img" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        f'fill="#4a7bd0" font-size="12">{"".join(lines)}</svg></div>'
    )


def _escape(text: str) -> str:
    return escape(escape_control(text), quote=True)
