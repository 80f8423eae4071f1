"""`mmconvert verify`: re-read every byte of a dataset against its manifest."""

import json
from pathlib import Path

import click

from mmconvert.command_line import EXIT_REFUSED
from mmconvert.dataset_argument import DatasetArgument
from mmconvert.store import verify as find_faults


@click.command()
@click.argument("dataset", type=DatasetArgument(file_okay=False, path_type=Path), metavar="DATASET")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(dataset: Path, as_json: bool) -> int:
    """Re-read every byte of a dataset against its manifest; exit 1 when a byte has changed."""
    faults = find_faults(dataset)
    if as_json:
        click.echo(json.dumps({"dataset": str(dataset), "faults": faults}, ensure_ascii=False))
    else:
        click.echo("\n".join(faults) if faults else f"{dataset}: every byte is as it was written.")
    return EXIT_REFUSED if faults else 0
