"""Every command line that a page shows, also one that no test follows, names commands and options that there are."""

import re
import shlex
from pathlib import Path

import pytest

from support.cli_page import PROGRAMS, commands

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")] + sorted((ROOT / "docs").rglob("*.md"))
KNOWN = {words: command for program in PROGRAMS for words, command in commands(program).items()}
GENERATED = "cli.md"

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`((?:mmconvert|mmscore) [^`]+)`")
_LINE = re.compile(r"^(?:\$ )?(?:\w+=\S+ )*((?:mmconvert|mmscore) .+)$", re.MULTILINE)
_BEHIND = re.compile(r"\s(?:#|\||<|>|&|·|;).*")


def shown(text: str) -> list[str]:
    """The command lines of a page, in its blocks and in its sentences."""
    joined = re.sub(r"\\\n\s*", "", text)
    blocks = [line for block in _FENCE.findall(joined) for line in _LINE.findall(block)]
    return blocks + [" ".join(span.split()) for span in _SPAN.findall(_FENCE.sub("", joined))]


def unknown(line: str) -> list[str]:
    """What a command line names and the programs do not have."""
    try:
        program, *words = shlex.split(_BEHIND.sub("", line))
    except ValueError:
        program, *words = _BEHIND.sub("", line).split()
    called = f"{program} {words[0]}" if words else program
    if called not in KNOWN:
        if words and re.fullmatch(r"[a-z-]+", words[0]) and program == "mmconvert":
            return [called]
        called = "mmscore score" if program == "mmscore" else program
    command = KNOWN[called]
    options = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
    options |= {"-h", "--help", "--version"}
    return [
        f"{called} {word}" for word in words if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in options
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != GENERATED], ids=lambda page: page.name)
def test_what_a_page_shows_exists(page):
    assert {line: missing for line in shown(page.read_text(encoding="utf-8")) if (missing := unknown(line))} == {}


def test_lines_are_found_and_mistakes_too():
    text = "`mmscore a --html x` and\n```\n$ A=b mmconvert convert x \\\n    --foo 1  # why\nmmconvert convret x\n```\n"
    assert [unknown(line) for line in shown(text)] == [["mmconvert convert --foo"], ["mmconvert convret"], []]
    assert sum(len(shown(page.read_text(encoding="utf-8"))) for page in PAGES) > 150
