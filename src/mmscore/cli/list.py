"""`mmscore list`: the plug-ins available."""

import importlib
import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence

import click

from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.plugin_table import format_json, format_text
from mmconvert.core.errors import UsageError
from mmconvert.core.text.printable import escape_control
from mmconvert.plugins.listing import list_plugins as find_plugins

Listing = Callable[[Sequence[str]], Mapping[str, Sequence[str]]]
"""What a framework's door may have as `listing`: files with further classes -> kind -> ids."""


@click.command("list", cls=GroupedCommand)
@click.argument("kind", required=False)
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option(
    "--import",
    "imports",
    multiple=True,
    metavar="FILE.py",
    help="Python file with your classes, if KIND is a framework.",
)
@click.option("--json", "as_object", is_flag=True, help="Print one JSON object.")
def list_plugins(kind: str | None, words: tuple[str, ...], imports: tuple[str, ...], as_object: bool) -> int:
    """List recipes, metrics and other plug-ins by kind: name, summary, and origin if it is not mmscore.

    KIND is recipes, judges, metrics, parsers, backends, protocols or adapters, or a framework with a registry of its
    own, such as mmtrusteval. Each WORD must occur in the name or summary.
    """
    door = f"mmscore.compat.{kind}"
    known = kind is not None and kind.isidentifier() and importlib.util.find_spec(door) is not None
    listing: Listing | None = getattr(importlib.import_module(door), "listing", None) if known else None
    if listing is not None:
        found = listing(imports)
        lines = [f"{name}: {', '.join(ids) or '-'}" for name, ids in found.items()]
        click.echo(json.dumps(found) if as_object else escape_control("\n".join(lines)))
        return 0
    if imports:
        raise UsageError(
            "--import: is for a framework with a registry. Name it: mmscore list mmtrusteval --import FILE.py"
        )
    plugins = find_plugins("mmscore", kind, words)
    click.echo(format_json(plugins) if as_object else format_text("mmscore", plugins))
    return 0
