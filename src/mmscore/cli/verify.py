"""`mmscore verify`: recompute a bundle."""

import json
from pathlib import Path

import click

from mmconvert.console.app import EXIT_REFUSED
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.core.text.printable import escape_control
from mmscore.analysis.bundle import verify as check


@click.command(cls=GroupedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(bundle: Path, as_json: bool) -> int:
    """Check every byte of BUNDLE against its manifest, recompute its scores and compare them.

    Exit code 1: something differs; it is listed.
    """
    found = check(bundle)
    if as_json:
        click.echo(json.dumps(found.to_json(), ensure_ascii=False, indent=1))
    else:
        said = found.faults or (f"{bundle}: every byte is as it was bundled, and every number comes out the same.",)
        click.echo(escape_control("\n".join(said)))
        for remark in found.remarks:
            click.echo(escape_control(remark), err=True)
    return EXIT_REFUSED if found.faults else 0
