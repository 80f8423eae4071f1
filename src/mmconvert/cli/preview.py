"""`mmconvert preview`: samples on one page, as a model sees them, with their images and problems."""

import json
from pathlib import Path
from typing import Any

import click

from mmconvert.console.app import EXIT_REFUSED, OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.core.text.printable import escape_control
from mmconvert.viewer.preview import Previewed, PreviewOptions, preview_files

PREVIEW_TERMINAL: dict[str, dict[str, Any]] = {
    "format": {"metavar": "NAME"},
    "image_root": {"metavar": "DIR"},
    "map": {"metavar": "FIELD=COLUMN"},
    "transform": {"metavar": "NAME[:k=v,...]"},
    "prompt": {"metavar": "NAME[:k=v,...]"},
    "prompt_suffix": {"metavar": "TEXT"},
    "processor": {"metavar": "MODEL"},
    "loss": {"is_flag": False, "flag_value": "assistant"},
}


@click.command(cls=GroupedCommand)
@click.argument("inputs", nargs=-1, required=True, metavar="DATASET|INPUT...")
@click.option(
    "-o", "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="HTML file."
)
@add_struct_options(PreviewOptions, PREVIEW_TERMINAL)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no progress and no summary.")
@OPTIONS_FILE
def preview(inputs: tuple[str, ...], output: Path, options: PreviewOptions, as_json: bool, quiet: bool) -> int:
    """Write one self-contained HTML page with samples of a dataset, or of any file that convert reads.

    The page shows turns with their images, options, answers, and every problem of rows that convert would skip.
    --prompt and --transform show their result before anything is converted. --loss --processor MODEL shows the tokens
    of each sample, those that ChatCollator learns in colour; --loss last shows what it learns with loss="last".
    """
    done = preview_files(inputs, output, options, quiet=quiet or as_json)
    if as_json:
        click.echo(json.dumps(done.to_json(), ensure_ascii=False))
    elif not quiet:
        click.echo(escape_control(_format_summary(done, output)))
    return EXIT_REFUSED if done.files_refused and not done.rows else 0


def _format_summary(done: Previewed, output: Path) -> str:
    rows = f"{done.rows:,} rows" if done.whole else f"the first {done.rows:,} rows"
    rows = f"{done.rows:,} of {done.rows + done.undrawn:,} rows, drawn by --sample" if done.undrawn else rows
    refused = f", {done.refused:,} of them skipped" if done.refused else ""
    refused += f", invalid files: {done.files_refused:,}" if done.files_refused else ""
    tokens = f", {done.tokens:,} tokens, of which {done.learnt:,} are learnt" if done.tokens else ""
    place = f"Open it in a browser: {output.resolve().as_uri()}"
    return f"{output}: {rows}{refused}, {done.pictures:,} images{tokens}\n{place}"
