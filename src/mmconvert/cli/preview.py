"""`mmconvert preview`: samples on one page, as a model sees them, with their images and problems."""

import json
from pathlib import Path

import click

from mmconvert.console.app import EXIT_REFUSED, OPTIONS_FILE
from mmconvert.console.options import add_struct_options
from mmconvert.core.text.printable import escape_control
from mmconvert.viewer.preview import Previewed, PreviewOptions, preview_files

PREVIEW_TERMINAL = {
    "rows": {"metavar": "N"},
    "format": {"metavar": "NAME"},
    "image_root": {"metavar": "DIR"},
    "map": {"metavar": "FIELD=COLUMN"},
    "frames": {"metavar": "N"},
    "fps": {"metavar": "N"},
    "transform": {"metavar": "NAME[:k=v,...]"},
    "prompt": {"metavar": "NAME[:k=v,...]"},
    "prompt_suffix": {"metavar": "TEXT"},
    "seed": {"metavar": "N"},
}


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="DATASET|INPUT...")
@click.option(
    "-o", "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="HTML file."
)
@add_struct_options(PreviewOptions, PREVIEW_TERMINAL)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="No progress and no summary.")
@OPTIONS_FILE
def preview(inputs: tuple[str, ...], output: Path, options: PreviewOptions, as_json: bool, quiet: bool) -> int:
    """Show a dataset, or any file that convert reads, on one HTML page that needs nothing else.

    Turns with their images, placeholders matched to images, options, answer, and every problem of rows that a
    conversion would skip. What --prompt and --transform make of the rows is seen before anything is converted.
    """
    done = preview_files(inputs, output, options, quiet=quiet or as_json)
    if as_json:
        click.echo(json.dumps(done.to_json(), ensure_ascii=False))
    elif not quiet:
        click.echo(escape_control(_format_summary(done, output)))
    return EXIT_REFUSED if done.files_refused and not done.rows else 0


def _format_summary(done: Previewed, output: Path) -> str:
    rows = f"{done.rows:,} rows" if done.whole else f"the first {done.rows:,} rows"
    refused = f", {done.refused:,} of them refused" if done.refused else ""
    refused += f", files refused as a whole: {done.files_refused:,}" if done.files_refused else ""
    return f"{output}: {rows}{refused}, {done.pictures:,} pictures\nOpen it in a browser: {output.resolve().as_uri()}"
