"""`mmscore list`: the plug-ins at hand."""

import click

from mmconvert.command_line import list_of_plugins


@click.command("list")
@click.argument("kind", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_plugins(kind: str | None, as_json: bool) -> int:
    """Show recipes, metrics and other plug-ins: name, what it is, who brought it."""
    click.echo(list_of_plugins("mmscore", kind, as_json))
    return 0
