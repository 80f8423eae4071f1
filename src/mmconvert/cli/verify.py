"""`mmconvert verify`: re-read every byte of a dataset against its manifest."""

import json
from pathlib import Path
from typing import Any

import click

from mmconvert.console.app import EXIT_REFUSED
from mmconvert.console.dataset_argument import DatasetArgument
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.core.progress import show_progress
from mmconvert.dataset.verify import verify as find_faults
from mmconvert.storage.hub_fs import find_on_hub
from mmconvert.storage.object_store import is_url


class _UnfetchedDataset(DatasetArgument):
    """A dataset of a store stays where it is: it is read a shard at a time."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Find it, unless it is in a store."""
        return value if is_url(value) and find_on_hub(value) is None else super().convert(value, param, ctx)


@click.command(cls=GroupedCommand)
@click.argument("dataset", type=_UnfetchedDataset(file_okay=False, path_type=Path), metavar="DATASET")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
def verify(dataset: Path | str, as_json: bool, quiet: bool) -> int:
    """Check every byte of a dataset against its manifest; exit code 1 if one has changed."""
    with show_progress("verify", quiet=quiet) as advance:
        faults = find_faults(dataset, advance)
    if as_json:
        click.echo(json.dumps({"dataset": str(dataset), "faults": faults}, ensure_ascii=False))
    else:
        click.echo("\n".join(faults) if faults else f"{dataset}: every byte of every shard is as it was written.")
    return EXIT_REFUSED if faults else 0
