"""One self-contained HTML page: no network, opens from disk, shows any text as text.

The data stand in script elements of a type that no browser runs; the page's own scripts, allowed by their
sha256 alone, put every text in place as text. Caller's scripts find `window.mm` (docs/preview.md).
"""

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Any, TextIO

from msgspec.structs import asdict, replace

from mmconvert._version import __version__
from mmconvert.core.text.printable import escape_control
from mmconvert.storage.atomic import open_published_file
from mmconvert.storage.source_files import require_unchanged
from mmconvert.viewer.encoding import build_details, build_row, encode_script_json
from mmconvert.viewer.items import Column, Filter, Mark, PageItem

_HERE = files("mmconvert.viewer")
_STYLES = ("viewer.css",)
_SCRIPTS = ("text.js", "fit.js", "items.js", "item.js", "gallery.js", "table.js", "viewer.js")
_DATA = "<!-- data -->"
_SCRIPT_END = re.compile(r"</script|<!--", re.IGNORECASE)


def write_page(
    path: Path,
    title: str,
    *,
    items: Iterable[PageItem],
    columns: Sequence[Column],
    filters: Sequence[Filter] = (),
    data: Mapping[str, Any] | None = None,
    unit: tuple[str, str] = ("item", "items"),
    first: str = "",
    lead: str = "",
    facts: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    styles: Sequence[Traversable] = (),
    scripts: Sequence[Traversable] = (),
) -> int:
    """Write a page; it appears whole or not at all.

    Args:
        path: The file that shall appear; one that stands there is replaced.
        title: Heading, and name of the browser's tab.
        items: Lines of the table in their order, read once.
        columns: Columns of the table.
        filters: What the table can be filtered by, in the order of their buttons.
        data: JSON values for the caller's scripts, `mm.data` there.
        unit: What one item is called, and several.
        first: Mark of the items that stand first until the reader sorts them; "" for none.
        lead: One sentence below the heading.
        facts: Label -> value of the cards at the top; read after the items, which may fill it while they are made.
        notes: Sentences that everybody should see, such as warnings of the reader; read after the items, too.
        styles: Stylesheets of the caller, after the page's own.
        scripts: Scripts of the caller, run after the page's own.

    Returns:
        How many items the page holds.

    Raises:
        KeyError: An item carries a mark that is no filter.
        ValueError: Two items have one id, or a script would end the element it stands in.
    """
    code = [one.read_text("utf-8") for one in [*(_HERE / name for name in _SCRIPTS), *scripts]]
    style = "\n".join(one.read_text("utf-8") for one in [*(_HERE / name for name in _STYLES), *styles])
    for text in code:
        if _SCRIPT_END.search(text):
            raise ValueError("a script holds </script or <!--, which would end or hide it inside a page")
    shell = Template((_HERE / "shell.html").read_text("utf-8")).substitute(
        title=html.escape(escape_control(title)), policy=build_script_policy(code), styles=style, version=__version__
    )
    head, foot = shell.split(_DATA)
    with open_published_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.write(head)
        count = _write_items(file, items, [column.name for column in columns], filters)
        page = {
            "title": title,
            "unit": list(unit),
            "first": first,
            "lead": lead,
            "facts": list((facts or {}).items()),
            "notes": list(notes),
            "columns": [asdict(replace(column, label=column.label or column.name)) for column in columns],
            "filters": [
                {"kind": "mark" if isinstance(one, Mark) else "choice"}
                | asdict(replace(one, label=one.label or one.name))
                for one in filters
            ],
        }
        _write_script(file, "mm-page", encode_script_json(page))
        _write_script(file, "mm-data", encode_script_json(data or {}))
        for text in code:
            file.write(f"<script>{text}</script>\n")
        file.write(foot)
        require_unchanged()
    return count


def build_script_policy(scripts: Sequence[str]) -> str:
    """Give the content security policy of a page that runs these scripts and no others, and asks for nothing."""
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests)
    # Styles may stand anywhere: chart libraries write them into their SVG, and no style can reach out of the page.
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _write_script(file: TextIO, name: str, text: str) -> None:
    file.write(f'<script type="application/json" id="{name}">{text}</script>\n')


def _write_items(file: TextIO, items: Iterable[PageItem], columns: Sequence[str], filters: Sequence[Filter]) -> int:
    """Write details item by item as they come, one a line, then what the table needs of all, then the images."""
    marks = {one.name: number for number, one in enumerate(one for one in filters if isinstance(one, Mark))}
    numbers: dict[str, int] = {}
    rows: dict[str, str] = {}
    file.write('<script type="application/json" id="mm-details">')
    for item in items:
        if item.id in rows:
            raise ValueError(f"two items are called {item.id!r}")
        images = [None if image.src is None else numbers.setdefault(image.src, len(numbers)) for image in item.images]
        thumbnail = next((number for number in images if number is not None), None)
        rows[item.id] = encode_script_json(build_row(item, columns, marks, thumbnail))
        file.write(f"{encode_script_json(build_details(item, images))}\n")
    file.write("</script>\n")
    _write_script(file, "mm-rows", f"[{','.join(rows.values())}]")
    _write_script(file, "mm-images", "\n".join(numbers))
    return len(rows)
