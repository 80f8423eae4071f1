"""docs/cli.md: its last part is what the programs say of themselves; the prose before it is written by hand."""

from importlib import import_module
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/cli.md"
PROGRAMS = ("mmconvert", "mmscore")

BEGIN = "## Command by command"
_WHY = "`scripts/docs` writes this part from the programs: it is the output of `--help`."
_WIDTH = 100


def page(current: str) -> str:
    """Bring the page up to date.

    Args:
        current: The page as it stands.
    """
    prose = current.partition(f"\n{BEGIN}\n")[0].rstrip("\n")
    blocks = [block for program in PROGRAMS for block in _blocks(program)]
    return "\n\n".join([prose, BEGIN, _WHY, *blocks]) + "\n"


def commands(program: str) -> dict[str, click.Command]:
    """Give the commands of a program by the words that call them, the program itself first."""
    group: click.Group = import_module(f"{program}.cli").program
    found: dict[str, click.Command] = {program: group}
    context = click.Context(group, info_name=program)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found[f"{program} {name}"] = command
    return found


def _blocks(program: str) -> list[str]:
    return [f"### {words}\n\n```text\n{_help(words, command)}\n```" for words, command in commands(program).items()]


def _help(words: str, command: click.Command) -> str:
    settings = {"help_option_names": ["-h", "--help"], **command.context_settings}
    settings |= {"terminal_width": _WIDTH, "max_content_width": _WIDTH}
    context = click.Context(command, info_name=words, **settings)
    return "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
