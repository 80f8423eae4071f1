"""docs/formats.md: its table and its last part follow from the formats; the prose between is written by hand."""

import ast
import importlib
import json
import re
import tempfile
import textwrap
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from mmconvert.core.record import SCHEMA
from mmconvert.plugins.format import Format
from mmconvert.plugins.registry import find_plugins, load
from mmconvert.testing.values import ANSWERED, CHOICE, NAMED, VALUES, list_targets, write_and_read_back

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/formats.md"
NOTES = ("Kept", "Refused", "Lost")
"""What the docstring of every format says, each in a paragraph that begins so."""

LABELS = {"Refused": "Invalid"}
"""Word of the docstrings -> the word that the page shows in its place."""

BEGIN = "## Format by format"
_WHY = """\
`scripts/docs` writes this part from the formats, their examples and a trial export.

- **Fills**: columns that the example fills, in addition to id, prompt, images and provenance.
- **Kept**: what has no column and is kept elsewhere.
- **Invalid**: what makes a row or a file invalid.
- **Lost**: what reading leaves out.
- **Not written**: columns that an export cannot hold. Samples, images, turns and other content are reported one by one,
  and the exit code is 3. Metadata is reported once, with a count, and the exit code is 0. `dataset` and `subset` are no
  loss if the file name contains them. For training data, `answer` is written as the assistant's turn.
- **Options**: the options of `export` for this format. Any other one is an error. The first value of `--images` is the
  default."""
_ALWAYS = {"id", "sample", "messages", "task", "source", "images", "image_info", "extra", "label", "answers"}
_ROW = re.compile(r"\| `(?P<name>\w+)`[^|]*\| (?P<what>.*) \| [^|]* \|")
_HEAD = "| name | what | files |\n| --- | --- | --- |\n"


def page(current: str) -> str:
    """Bring the page up to date.

    Args:
        current: The page as it stands; what a row of its table says of a format stays.
    """
    what = {match["name"]: match["what"] for match in map(_ROW.fullmatch, current.splitlines()) if match}
    names = [name for name in what if name in find_plugins("mmconvert.formats")]
    names += [name for name in find_plugins("mmconvert.formats") if name not in what]
    before, _, rest = current.partition(_HEAD)
    after = rest[len(rest) - len(rest.lstrip("|\n")) :] if not rest.startswith("|") else _behind_table(rest)
    prose = after.partition(f"\n{BEGIN}\n")[0].rstrip("\n")
    table = "".join(_row(name, what.get(name)) for name in names)
    blocks = "\n".join(block(name) for name in names)
    return f"{before}{_HEAD}{table}\n{prose}\n\n{BEGIN}\n\n{_WHY}\n\n{blocks}"


def _behind_table(rest: str) -> str:
    lines = rest.split("\n")
    end = next(number for number, line in enumerate(lines) if not line.startswith("|"))
    return "\n".join(lines[end:]).lstrip("\n")


def _row(name: str, what: str | None) -> str:
    plugin: Format = load("mmconvert.formats", name)
    arrow = " ↔" if plugin.write is not None else ""
    files = " ".join(suffix or "folder" for suffix in plugin.suffixes)
    return f"| `{name}`{arrow} | {what or plugin.summary} | {files} |\n"


@cache
def block(name: str) -> str:
    """Describe one format."""
    plugin: Format = load("mmconvert.formats", name)
    lines = [f"### `{name}`", "", *_wrapped(f"{plugin.summary}. {_files(name)}", ""), ""]
    points = {"Fills": _fills(name), **notes(name), "Not written": _not_written(name), "Options": _options(name)}
    for word, text in points.items():
        if text:
            lines += _wrapped(f"- **{LABELS.get(word, word)}:** {text}", "  ")
    return "\n".join([*lines, ""])


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def notes(name: str) -> dict[str, str]:
    """Read what a format's module says in its docstring under `NOTES`.

    Returns:
        Word -> text; words that the docstring lacks are missing.
    """
    module = importlib.import_module(find_plugins("mmconvert.formats")[name].module)
    doc = ast.get_docstring(ast.parse(Path(module.__file__ or "").read_bytes())) or ""
    found: dict[str, str] = {}
    word = ""
    for line in doc.splitlines():
        begin = next((note for note in NOTES if line.startswith(f"{note}: ")), None)
        word = begin or (word if line.strip() else "")
        if word:
            found[word] = f"{found.get(word, '')} {line.removeprefix(f'{word}: ') if begin else line}".strip()
    return found


def _files(name: str) -> str:
    plugin: Format = load("mmconvert.formats", name)
    read = _listed([suffix or "a folder" for suffix in plugin.suffixes])
    with tempfile.TemporaryDirectory() as folder:
        made = [path.suffix for path in list_targets(name, Path(folder))]
    pieces = "; a large file is read in pieces by several workers" if plugin.cuttable else ""
    if _listed(made) == read:
        return f"Read from and written to {read}{pieces}."
    return f"Read from {read}, {f'written to {_listed(made)}' if made else 'not written'}{pieces}."


def _listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def _fills(name: str) -> str:
    rows = (ROOT / f"tests/data/{name}/expected.jsonl").read_text(encoding="utf-8").splitlines()
    found = {column for row in rows for column in json.loads(row)}
    return ", ".join(f"`{column}`" for column in SCHEMA.names if column in found - _ALWAYS)


def _options(name: str) -> str:
    plugin: Format = load("mmconvert.formats", name)
    ways = plugin.images if isinstance(plugin.images, Mapping) else {"": plugin.images}
    said = [f"`--columns` {' or '.join(plugin.columns)}"] if plugin.columns else []
    for suffix, images in ways.items():
        said += [f"`--images` {' or '.join(images)}{f' ({suffix})' if suffix else ''}"] if images else []
    said += ["a folder as output gets a file of the conventional name"] if plugin.file_name is not None else []
    return "; ".join(said)


def _not_written(name: str) -> str:
    lost: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        for path in list_targets(name, Path(folder)):
            for base in (ANSWERED, CHOICE):
                always, _ = write_and_read_back(base, path, name)
                lost |= always & {*SCHEMA.names}
                for column, value in VALUES.items():
                    told, _ = write_and_read_back(replace(base, **{column: value}), path, name)
                    lost |= {column} if told & NAMED.get(column, {column}) else set()
    return ", ".join(f"`{column}`" for column in SCHEMA.names if column in lost)
