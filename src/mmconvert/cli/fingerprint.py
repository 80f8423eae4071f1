"""`mmconvert fingerprint`: hashes of datasets in one file, to compare with data that nobody else may see."""

import json
from pathlib import Path

import click

from mmconvert.console.app import OPTIONS_FILE
from mmconvert.console.dataset_argument import DatasetArgument
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.core.text.printable import escape_control
from mmconvert.curation.fingerprints import FingerprintOptions, write_fingerprints


@click.command(cls=GroupedCommand)
@click.argument("datasets", nargs=-1, required=True, type=DatasetArgument(path_type=Path), metavar="DATASET...")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Output file.",
)
@add_struct_options(FingerprintOptions, {"engine": {"metavar": "NAME"}})
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no progress and no summary.")
@OPTIONS_FILE
def fingerprint(
    datasets: tuple[Path, ...], output: Path, options: FingerprintOptions, as_json: bool, quiet: bool
) -> int:
    """Write hashes of the images and questions of datasets into one parquet file, for mmconvert overlap.

    The file holds no image and no text. Whoever has it can compare it with data of their own:
    mmconvert overlap TRAIN --fingerprints FILE
    """
    done = write_fingerprints(datasets, output, options, quiet=quiet or as_json)
    if as_json:
        click.echo(json.dumps(done.to_json(), ensure_ascii=False))
    elif not quiet:
        samples = ", ".join(f"{name} {count:,}" for name, count in done.samples.items())
        images = ", ".join(f"{count:,} {state}" for state, count in done.images.items() if count)
        click.echo(
            escape_control(f"{done.output}: samples: {samples}; images: {images or 'none'}; {done.bytes:,} bytes")
        )
    return 0
