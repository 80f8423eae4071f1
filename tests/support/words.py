"""Words that no text for users has: `scripts/words` and tests look for them."""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "scripts/words.toml"
PACKAGES = ("mmconvert", "mmscore")
_CODE_BLOCK = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
_INLINE_CODE = re.compile(r"`[^`\n]*`|\]\([^)]*\)|<[^>\n]*>|--[a-z-]+|[\w./-]+\.(?:md|py|js|json|html)\b")
_PROMPTS = ("judges/", "judge_prompts.py", "kits/mmtrusteval/tasks.py", "kits/evalscope/judge.py")
"""Files whose texts are for models, not for users."""


class Word(NamedTuple):
    """A phrase, what to write instead, and files in which it means something else."""

    phrase: re.Pattern[str]
    say: str
    allowed: tuple[str, ...] = ()


class Problem(NamedTuple):
    """A phrase that was found."""

    place: str
    found: str
    say: str

    def __str__(self) -> str:
        return f"{self.place}: {self.found!r}: write {self.say!r}"


def read_words() -> list[Word]:
    """Read the list."""
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))["words"]
    return [
        Word(re.compile(rf"\b(?:{one['phrase']})(?!\w)", re.IGNORECASE), one["say"], tuple(one.get("allowed", ())))
        for one in listed
    ]


def find_problems(texts: Iterable[tuple[str, int, str]], words: Iterable[Word]) -> Iterator[Problem]:
    """Look for phrases in texts.

    Args:
        texts: File, line and text each.
        words: What to look for.
    """
    listed = list(words)
    for file, line, text in texts:
        for word in listed:
            if file in word.allowed:
                continue
            for match in word.phrase.finditer(text):
                number = line + text.count("\n", 0, match.start())
                yield Problem(f"{file}:{number}", match[0], word.say)


def list_texts() -> Iterator[tuple[str, int, str]]:
    """Give all texts that users read: pages, messages, help, descriptions of the schema."""
    for page in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        *sorted(ROOT.glob("docs/**/*.md")),
    ):
        if "_site" not in page.parts:
            yield str(page.relative_to(ROOT)), 1, hide_code(page.read_text(encoding="utf-8"))
    for file in sorted(ROOT.glob("src/**/*.py")):
        name = str(file.relative_to(ROOT))
        if not any(part in name for part in _PROMPTS):
            yield from ((name, line, text) for line, text in list_messages(file.read_text(encoding="utf-8")))
    for program in PACKAGES:
        yield f"{program} --help", 1, hide_code("\n".join(_list_help(program)))


def hide_code(page: str) -> str:
    """Blank code blocks, code in a line, addresses and markup of a page; lines keep their numbers."""
    page = _CODE_BLOCK.sub(lambda block: "\n" * block[0].count("\n"), page)
    return _INLINE_CODE.sub(" ", page)


def list_messages(source: str) -> Iterator[tuple[int, str]]:
    """Give the texts of a module but its docstrings: those of several words."""
    tree = ast.parse(source)
    docs = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
        if is_text and len(node.value.split()) > 1:
            yield node.lineno, _INLINE_CODE.sub(" ", node.value)


def _list_help(program: str) -> Iterator[str]:
    import click

    group = import_module(f"{program}.cli").program
    context = click.Context(group, info_name=program)
    yield group.get_help(context)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield command.get_help(
            click.Context(command, info_name=f"{program} {name}", terminal_width=300, max_content_width=300)
        )
