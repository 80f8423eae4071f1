"""`mmscore list`: the plug-ins at hand."""

import importlib
import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence

import click

from mmconvert.command_line import list_of_plugins, printable
from mmconvert.errors import UsageError

Listing = Callable[[Sequence[str]], Mapping[str, Sequence[str]]]
"""What a kit's door may have as `listing`: files with further classes -> kind -> ids."""


@click.command("list")
@click.argument("kind", required=False)
@click.option("--import", "imports", multiple=True, metavar="FILE.py", help="Your classes, where KIND is a kit.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_plugins(kind: str | None, imports: tuple[str, ...], as_json: bool) -> int:
    """Show recipes, metrics and other plug-ins: name, what it is, who brought it.

    KIND is one of them, or a kit with a registry of its own, such as mmtrusteval, whose ids are shown.
    """
    listing = _listing(kind) if kind is not None else None
    if listing is not None:
        found = listing(imports)
        lines = [f"{name}: {', '.join(ids) or '-'}" for name, ids in found.items()]
        click.echo(json.dumps(found) if as_json else printable("\n".join(lines)))
        return 0
    if imports:
        raise UsageError("--import: is for a kit with a registry. Name it: mmscore list mmtrusteval --import FILE.py")
    click.echo(list_of_plugins("mmscore", kind, as_json))
    return 0


def _listing(kind: str) -> Listing | None:
    """Find the registry of a kit's door; None where there is none of the name."""
    name = f"mmscore.compat.{kind}"
    if not kind.isidentifier() or importlib.util.find_spec(name) is None:
        return None
    found: Listing | None = getattr(importlib.import_module(name), "listing", None)
    return found
