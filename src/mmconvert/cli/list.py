"""`mmconvert list`: the plug-ins available."""

import click

from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.plugin_table import format_json, format_text
from mmconvert.plugins.listing import list_plugins as find_plugins


@click.command("list", cls=GroupedCommand)
@click.argument("kind", required=False)
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("--json", "as_object", is_flag=True, help="Print one JSON object.")
def list_plugins(kind: str | None, words: tuple[str, ...], as_object: bool) -> int:
    """List formats and other plug-ins by kind: name, summary, and origin if it is not mmconvert.

    KIND is formats, readings, prompts, transforms or engines. Each WORD must occur in the name or summary.
    """
    found = find_plugins("mmconvert", kind, words)
    click.echo(format_json(found) if as_object else format_text("mmconvert", found))
    return 0
