"""`mmconvert push`: publish a converted dataset on the Hub."""

import json
from pathlib import Path

import click

from mmconvert.console.app import OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.console.published import format_published, list_published_places
from mmconvert.console.summary import close, format_command
from mmconvert.core.text.printable import escape_control
from mmconvert.dataset.manifest import read_manifest
from mmconvert.dataset.publish import PushOptions, publish
from mmconvert.dataset.views import EVAL

UPLOAD = {"revision": {"metavar": "REV"}}
ORIGIN = {"license": {"metavar": "NAME"}, "source": {"metavar": "URL|USER/REPO"}}
"""What the terminal shows for values."""


@click.command(cls=GroupedCommand)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("repo_id", metavar="USER/REPO")
@add_struct_options(PushOptions, UPLOAD | ORIGIN)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no progress and no summary.")
@OPTIONS_FILE
def push(folder: Path, repo_id: str, options: PushOptions, as_json: bool, quiet: bool) -> int:
    """Push a converted dataset to the Hub, after checking every byte and image.

    Shards, dataset card and manifest are uploaded in one commit. An interrupted push continues when it is run again.
    The token comes from HF_TOKEN or `hf auth login`. Without --license and --source the values of an existing
    dataset card are kept.
    """
    done = publish(folder, repo_id, options, quiet=quiet or as_json)
    if as_json:
        click.echo(json.dumps(done, ensure_ascii=False))
    elif not quiet:
        click.echo(escape_control(format_published(done)))
        again = format_command("mmconvert", "push", folder, repo_id)
        configs, manifest = read_manifest(folder)
        splits = [split for shards in configs.values() for split in shards]
        close(list_published_places(done, again, manifest.get("view", EVAL), splits))
    return 0
