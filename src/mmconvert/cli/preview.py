"""`mmconvert preview`: rows on one page, as a model sees them, with their pictures and problems."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import click

from mmconvert.cli.image_root import image_root_option
from mmconvert.console.app import EXIT_REFUSED, OPTIONS_FILE
from mmconvert.core.errors import UsageError
from mmconvert.core.progress import progress
from mmconvert.core.text.printable import printable
from mmconvert.pipeline.convert import ReadOptions
from mmconvert.pipeline.inputs import plan
from mmconvert.storage.atomic import require_folder
from mmconvert.viewer.preview import Previewed
from mmconvert.viewer.preview import preview as write_preview

ROWS = 200
SUFFIXES = (".html", ".htm")


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="DATASET|INPUT...")
@click.option(
    "-o", "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="HTML file."
)
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    default=ROWS,
    show_default=True,
    metavar="N",
    help="Most rows to show, the first ones of each split or subset.",
)
@click.option("--format", "format_", metavar="NAME", help="Read it as this format.")
@image_root_option
@click.option(
    "--transform", "transforms", multiple=True, metavar="NAME[:k=v,...]", help="Step for every record, as in convert."
)
@click.option("--prompt", metavar="NAME[:k=v,...]", help="Wording of a kit, as in convert.")
@click.option("--prompt-suffix", metavar="TEXT", help="Text behind the last user turn.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of what transforms draw.")
@click.option("--keep-urls", is_flag=True, help="Name pictures at addresses instead of refusing their rows.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="No progress and no summary.")
@OPTIONS_FILE
def preview(
    inputs: tuple[str, ...],
    output: Path,
    rows: int,
    format_: str | None,
    image_roots: tuple[Path | str, ...],
    transforms: tuple[str, ...],
    prompt: str | None,
    prompt_suffix: str | None,
    seed: int,
    keep_urls: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Show a dataset, or any file that convert reads, on one HTML page that needs nothing else.

    Turns with their pictures, placeholders matched to pictures, options, answer, and every problem of rows that a
    conversion would refuse. What --prompt and --transform make of the rows is seen before anything is converted.
    """
    how = ReadOptions(
        format=format_,
        image_roots=image_roots,
        transforms=transforms,
        prompt=prompt,
        prompt_suffix=prompt_suffix,
        seed=seed,
        keep_urls=keep_urls,
    )
    done = previewed(inputs, output, how, rows=rows, quiet=quiet or as_json)
    if as_json:
        shown = {one.name: getattr(done, one.name) for one in dataclasses.fields(done)} | {"output": str(output)}
        click.echo(json.dumps(shown, ensure_ascii=False))
    elif not quiet:
        click.echo(printable(_summary(done, output)))
    return EXIT_REFUSED if done.files_refused and not done.rows else 0


def previewed(inputs: Sequence[str], output: Path, how: ReadOptions, *, rows: int = ROWS, quiet: bool) -> Previewed:
    """Write the page of what the user named.

    Args:
        inputs: INPUT arguments of the command.
        output: The HTML file.
        how: How to read them.
        rows: Most rows to show.
        quiet: No progress on standard error.

    Raises:
        UsageError: A name is unknown, a path is missing, or the page cannot stand where it shall.
        Error: The only file would be refused as a whole.
    """
    require_folder(output)
    if output.suffix.lower() not in SUFFIXES:
        # What stands there is replaced, and should be no table.
        raise UsageError(f"{output}: a page is an HTML file. Name it so: {output.with_suffix(SUFFIXES[0])}.")
    sources = plan(inputs)
    title = ", ".join(Path(name).name or name for name in inputs)
    with progress("preview", quiet=quiet) as advance:
        return write_preview(sources, output, how, title=title, rows=rows, advance=advance)


def _summary(done: Previewed, output: Path) -> str:
    rows = f"{done.rows:,} rows" if done.whole else f"the first {done.rows:,} rows"
    refused = f", {done.refused:,} of them refused" if done.refused else ""
    refused += f", files refused as a whole: {done.files_refused:,}" if done.files_refused else ""
    return f"{output}: {rows}{refused}, {done.pictures:,} pictures\nOpen it in a browser: {output.resolve().as_uri()}"
