"""`mmconvert check`: every problem of a file with file, row and field; writes nothing."""

import json
from pathlib import Path

import click

from mmconvert.command_line import EXIT_PARTIAL, EXIT_REFUSED, printable
from mmconvert.convert import ReadOptions, Records
from mmconvert.inputs import plan


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--format", "format_", metavar="NAME", help="Read it as this format.")
@click.option(
    "--image-root", "image_roots", multiple=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(inputs: tuple[str, ...], format_: str | None, image_roots: tuple[Path, ...], as_json: bool) -> int:
    """Name every problem with file, row and field; writes nothing.

    Every picture is decoded once. Exit codes are those of convert: 0 no problem, 3 some rows would be
    refused, 1 all of them or the file.
    """
    rows, problems, warnings = 0, [], []
    for source in plan(inputs):
        records = Records(source, ReadOptions(format=format_, image_roots=image_roots, decode=True))
        seen: set[str] = set()
        for record in records:
            rows += 1
            if record.id in seen:
                problems.append(
                    f"{record.source.file} row {record.source.row} id: the id stands in an earlier row too."
                )
            seen.add(record.id)
        problems += [str(reject) for reject in records.rejects]
        warnings += [f"{source.path.name}: {text} ({count} times)" for text, count in records.warnings.items()]
    if as_json:
        click.echo(json.dumps({"rows": rows, "problems": problems, "warnings": warnings}, ensure_ascii=False))
    else:
        for line in [*problems, *(f"warning: {warning}" for warning in warnings)]:
            click.echo(printable(line))
        click.echo(f"{rows:,} rows convert, {len(problems):,} problems", err=True)
    if not rows:
        return EXIT_REFUSED
    return EXIT_PARTIAL if problems else 0
