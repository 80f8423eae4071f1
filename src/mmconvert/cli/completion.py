"""`mmconvert completion` and `mmscore completion`: what a shell needs to complete the words of the program."""

import click
from click.shell_completion import get_completion_class

from mmconvert.console.help_groups import GroupedCommand
from mmconvert.core.errors import Error

_SHELLS = ("bash", "zsh", "fish")


@click.command(cls=GroupedCommand)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> int:
    """Print the completion script for SHELL: commands, options, files and names of plug-ins.

    Each program completes its own words. Open a new shell afterwards.
    """
    root = ctx.find_root()
    found = get_completion_class(shell)
    if found is None:
        raise Error(f"this release of click knows no {shell}. Update it: pip install -U click")
    program = str(root.info_name)
    click.echo(found(root.command, {}, program, f"_{program.upper()}_COMPLETE").source())
    return 0
