"""Options of `--help` stand under headings, in the same order for every command."""

import click
import pytest

from mmconvert.cli import program as mmconvert
from mmconvert.console.help_groups import HEADINGS, find_heading, name_option
from mmscore.cli import program as mmscore

COMMANDS = [
    pytest.param(group.get_command(click.Context(group), name), id=f"{program} {name}")
    for program, group in (("mmconvert", mmconvert), ("mmscore", mmscore))
    for name in group.list_commands(click.Context(group))
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_stands_below_its_heading(command: click.Command) -> None:
    context = click.Context(command, info_name=command.name, terminal_width=100)
    shown = command.get_help(context)
    found = [line.rstrip(":") for line in shown.splitlines() if line.rstrip(":") in HEADINGS and line.endswith(":")]
    assert found == [heading for heading in HEADINGS if heading in found]
    for option in command.get_params(context):
        if isinstance(option, click.Option):
            heading = find_heading(str(command.name), name_option(option))
            below = shown.partition(f"\n{heading}:\n")[2].partition("\n\n")[0]
            assert max(option.opts, key=len) in below


def test_an_option_stands_below_one_heading() -> None:
    names = [name for options in HEADINGS.values() for name in options]
    assert len(names) == len({*names})


def test_an_option_without_a_heading_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        find_heading("convert", "unheard_of")
