"""`mmscore view`: watch the runs below a folder in the browser."""

import contextlib

import click

from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.core.text.printable import escape_control
from mmscore.reporting.live.server import LiveView, ViewOptions


@click.command(cls=GroupedCommand)
@click.argument("folder", type=click.Path(exists=True, file_okay=False), metavar="DIR")
@add_struct_options(ViewOptions)
def view(folder: str, options: ViewOptions) -> int:
    """Show the runs below DIR on a page that refreshes itself: progress, scores, reports, comparisons of two.

    The page is served on this machine alone; its address holds a token. Nothing is written and nothing is sent
    elsewhere. Ctrl-C ends it.
    """
    with LiveView(folder, options) as live:
        click.echo(escape_control(f"{folder}: {live.url}"))
        with contextlib.suppress(KeyboardInterrupt):
            live.wait()
    return 0
