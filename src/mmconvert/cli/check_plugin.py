"""`mmconvert check-plugin`: the contract of a format, a prompt or a transform, run on anybody's."""

import json
from pathlib import Path

import click
from msgspec.structs import asdict

from mmconvert.console.app import EXIT_REFUSED, OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.core.text.printable import escape_control
from mmconvert.testing import KINDS, Breach, find_breaches, list_promises


@click.command("check-plugin", cls=GroupedCommand)
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("name", metavar="NAME")
@click.argument("examples", nargs=-1, type=click.Path(exists=True, path_type=Path), metavar="[EXAMPLE]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@OPTIONS_FILE
def check_plugin(kind: str, name: str, examples: tuple[Path, ...], as_json: bool) -> int:
    """Test your own format, prompt or transform against the contract of its kind.

    NAME is file.py@OBJECT or an installed plug-in, with parameters after a colon. EXAMPLE is a valid file: one that
    the format reads, or one with samples for the prompt or transform. This runs the code of the plug-in. Exit code
    1: a part of the contract is broken.
    """
    found = find_breaches(kind, name, examples)
    if as_json:
        shown = {"kind": kind, "name": name, "promises": list_promises(kind), "breaches": list(map(asdict, found))}
        click.echo(json.dumps(shown, ensure_ascii=False))
    else:
        for promise in list_promises(kind):
            seen = not found or found[0].check != list_promises(kind)[0]
            click.echo(escape_control(_format_lines(promise, found, seen=seen)))
        broken = len({breach.check for breach in found})
        click.echo(f"{name}: {_format_verdict(len(list_promises(kind)), broken)}", err=True)
    return EXIT_REFUSED if found else 0


def _format_verdict(promised: int, broken: int) -> str:
    if not broken:
        return f"all {promised} promises are kept."
    return f"{broken} of {promised} promises {'is' if broken == 1 else 'are'} broken."


def _format_lines(promise: str, found: list[Breach], *, seen: bool) -> str:
    """Show one promise with its breaches; `seen` tells whether those behind the first were looked at."""
    messages = [breach.message for breach in found if breach.check == promise]
    mark = "broken" if messages else "kept" if seen else "-"
    return "\n".join([f"{mark:<8}{promise}", *(f"        {message}" for message in messages)])
