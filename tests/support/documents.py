"""Pages of the documentation as a reader would follow them: every block of a page, in order, in one folder.

- `console`: lines that begin with `$ ` are commands, what stands below one is all that it shows. `...` stands for
  any text, a line of it for any lines; nothing below a command says nothing of what it shows. `# exit code 3` behind
  a command is how it ends; 0 where nothing is said.
- `bash`: commands, and files written by `cat > NAME <<'EOF'`.
- `python`: a program of its own. `pycon`: a dialog with Python, compared by doctest.
- `text`, `yaml`, `json` and the like are looked at only.

One shell runs all of a page, so that `cd` and `export` hold. It is a real one, with the real programs.
"""

import os
import re
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.hub_server import HubServer

SHOWN_ONLY = {"text", "yaml", "json", "jsonl", "toml", "tsv"}
LIMIT_S = 300
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT_CODE = re.compile(r"\s+# exit code (\d+)$")


@dataclass(frozen=True)
class Step:
    """One command of a page, with what the page says of it."""

    line: int
    command: str
    shown: str = ""
    code: int = 0


class Shell:
    """A bash that runs one command after another in a folder."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._watchdog = threading.Timer(LIMIT_S, self._process.kill)
        self._watchdog.start()

    def run(self, command: str) -> tuple[str, int]:
        """Run a command; give what it showed and its exit code."""
        mark = uuid.uuid4().hex
        self._process.stdin.write(f"{{\n{command}\n}} </dev/null\nprintf '\\n{mark} %d\\n' $?\n")
        self._process.stdin.flush()
        shown = ""
        for line in self._process.stdout:
            if line.startswith(mark):
                return shown[:-1], int(line.split()[1])
            shown += line
        raise AssertionError(f"the shell ended (after {LIMIT_S} s of a page it is ended):\n{shown}")

    def close(self) -> None:
        """End the shell."""
        self._watchdog.cancel()
        self._process.kill()
        self._process.communicate()


def follow(
    page: Path,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    words: Mapping[str, str] | None = None,
) -> list[Step]:
    """Do what a page says, and compare what it shows.

    Args:
        page: Markdown file.
        folder: Where its commands run.
        environment: Variables beside those of a plain terminal.
        words: What a reader puts in the place of a word of the page, such as their own name.

    Returns:
        The steps, all done.
    """
    text = page.read_text(encoding="utf-8")
    for word, own in (words or {}).items():
        assert word in text, f"{page.name} does not say {word}"
        text = text.replace(word, own)
    done = list(steps(text))
    shell = Shell(folder, terminal(folder) | dict(environment or {}))
    try:
        for step in done:
            shown, code = shell.run(step.command)
            place = f"{page.name}:{step.line}: {step.command}\n--- shows\n{shown}\n--- "
            assert code == step.code, f"{place}ends with {code}, not {step.code}"
            assert not step.shown or matches(step.shown, shown), f"{place}the page says\n{step.shown}"
    finally:
        shell.close()
    return done


def terminal(folder: Path) -> dict[str, str]:
    """Give the environment of a plain terminal, wide enough for tables, that reaches no network."""
    programs = Path(sys.executable).parent
    home = folder.parent / f"{folder.name}-home"
    home.mkdir(exist_ok=True)
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "HF_HOME": str(home / "hf"),
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "COLUMNS": "160",
        "PYTHONUNBUFFERED": "1",
    }


def reaching(hub: HubServer, home: Path) -> dict[str, str]:
    """Give the variables of a terminal for which a server is the Hub."""
    client = {name: value for name, value in hub.environment(home).items() if name.startswith("HF_")}
    return {**client, "HF_HUB_OFFLINE": "0"}


def steps(text: str) -> Iterator[Step]:
    """Read the steps of a page.

    Raises:
        AssertionError: A block has no language, or one that is neither run nor known to be looked at only.
    """
    for fence in _FENCE.finditer(text):
        kind, block = fence.groups()
        line = text.count("\n", 0, fence.start()) + 2
        if kind == "console":
            yield from _dialog(block, line)
        elif kind == "bash":
            yield Step(line, block)
        elif kind == "python":
            yield Step(line, f"python - <<'END OF BLOCK'\n{block}END OF BLOCK")
        elif kind == "pycon":
            check = "python -m doctest -o ELLIPSIS -o NORMALIZE_WHITESPACE"
            yield Step(line, f"cat > .block.txt <<'END OF BLOCK'\n{block}END OF BLOCK\n{check} .block.txt")
        else:
            assert kind in SHOWN_ONLY, f"line {line}: what is to be done with a block of {kind or 'no language'}?"


def _dialog(block: str, first: int) -> Iterator[Step]:
    lines = block.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    assert starts[:1] == [0], f"line {first}: a console block begins with a command"
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        length = next(n for n in range(1, end - start + 1) if not lines[start + n - 1].endswith("\\"))
        command = "\n".join(lines[start : start + length]).removeprefix("$ ")
        said = _EXIT_CODE.search(command)
        shown = "\n".join(lines[start + length : end])
        yield Step(first + start, _EXIT_CODE.sub("", command), shown.strip("\n"), int(said[1]) if said else 0)


def matches(expected: str, shown: str) -> bool:
    r"""Tell whether a command showed what a page says.

    Example:
        >>> matches("a: 4 rows, ... s\n...\nend", "a: 4 rows, 0.1 s  \nmore\nand more\n\nend\n")
        True
        >>> matches("a", "a\nb")
        False
    """
    pattern = ""
    for line in expected.splitlines():
        words = r".*".join(re.escape(words) for words in line.rstrip().split("..."))
        pattern += r"(?:.*\n)*?" if line.strip() == "..." else rf"{words}[ \t]*\n"
    return re.fullmatch(pattern, f"{shown.strip(chr(10))}\n") is not None
