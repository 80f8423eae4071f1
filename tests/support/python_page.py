"""docs/python.md: its last part is what the functions say of themselves; the prose before it is written by hand."""

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/python.md"
PACKAGES = ("mmconvert", "mmscore")

BEGIN = "## Function by function"
_WHY = "`scripts/docs` writes this part from the functions: it is the output of `help()`."
_ENTRY = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
_DEFAULT = re.compile(r" \[default: .*\]$")


def page(current: str) -> str:
    """Bring the page up to date.

    Args:
        current: The page as it stands.
    """
    prose = current.partition(f"\n{BEGIN}\n")[0].rstrip("\n")
    return "\n\n".join([prose, BEGIN, _WHY, *(_block(name, one) for name, one in functions().items())]) + "\n"


def functions() -> dict[str, Any]:
    """Give the public functions of both packages by their full names."""
    found = {f"{name}.{word}": getattr(import_module(name), word) for name in PACKAGES for word in _words(name)}
    return {name: one for name, one in found.items() if inspect.isfunction(one)}


def _words(package: str) -> list[str]:
    words: list[str] = import_module(package).__all__
    return words


def _block(name: str, function: Any) -> str:
    said = inspect.getdoc(function) or ""
    arguments = re.search(r"^Args:\n((?: {4}.*\n?|\n)+)", said, re.MULTILINE)
    texts = {entry[1]: " ".join(entry[2].split()) for entry in _ENTRY.finditer(arguments[1] if arguments else "")}
    rows = [
        f"| `{one.name}` | {'' if one.default is one.empty else f'`{one.default!r}`'} | {_cell(texts[one.name])} |"
        for one in inspect.signature(function).parameters.values()
        if one.name in texts
    ]
    table = "\n".join(["| argument | default | meaning |", "| --- | --- | --- |", *rows])
    return f"### `{name}`\n\n{said.partition(chr(10))[0]}\n\n{table}"


def _cell(text: str) -> str:
    return _DEFAULT.sub("", text).replace("|", "\\|")
