"""`mmconvert check`: every problem of a file with file, row and field; writes nothing."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click

from mmconvert.command_line import EXIT_PARTIAL, EXIT_REFUSED, OPTIONS_FILE, printable
from mmconvert.conversion import ReadOptions, Records
from mmconvert.errors import Error, UsageError, got
from mmconvert.inputs import Input, plan
from mmconvert.sources import Rejected, Where


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--format", "format_", metavar="NAME", help="Read it as this format.")
@click.option(
    "--image-root",
    "image_roots",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of relative picture paths.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@OPTIONS_FILE
def check(inputs: tuple[str, ...], format_: str | None, image_roots: tuple[Path, ...], as_json: bool) -> int:
    """Name every problem with file, row, field and what to do; writes nothing.

    Every picture is decoded once, and a row may have several problems. Exit codes are those of convert: 0 no
    problem, 3 some rows would be refused, 1 all of them or a whole file.
    """
    how = ReadOptions(format=format_, image_roots=image_roots, decode=True, every_problem=True)
    found = _Found()
    for source in plan(inputs):
        _check(source, how, found)
    warnings = [f"{text} ({count:,} times)" if count > 1 else text for text, count in found.warnings.items()]
    if as_json:
        shown = {"rows": found.rows, "problems": found.problems, "warnings": warnings}
        click.echo(json.dumps(shown, ensure_ascii=False))
    else:
        for line in [*found.problems, *(f"warning: {warning}" for warning in warnings)]:
            click.echo(printable(line))
        click.echo(_verdict(found), err=True)
    if found.refused or not found.rows:
        return EXIT_REFUSED
    return EXIT_PARTIAL if found.problems else 0


@dataclass(slots=True)
class _Found:
    rows: int = 0
    refused: int = 0
    bad_rows: int = 0
    problems: list[str] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)


def _check(source: Input, how: ReadOptions, found: _Found) -> None:
    seen: dict[str, Where] = {}
    found_rows: list[Rejected] = []
    records = None
    try:
        records = Records(source, how)
        for record in records:
            if record.id in seen:
                found_rows.append(_duplicate(record.id, records.where, seen))
            else:
                found.rows += 1
                seen[record.id] = records.where
    except UsageError:
        raise
    except Error as error:
        found.refused += 1
        found.problems.append(str(error))
    if records is not None:
        for where, key in records.mended:
            if key in seen:
                found_rows.append(_duplicate(key, where, seen))
            seen.setdefault(key, where)
        found_rows = sorted(
            [*records.rejects, *found_rows], key=lambda problem: (problem.where.file, problem.where.row)
        )
        found.bad_rows += len({(problem.where.file, problem.where.row) for problem in found_rows})
        found.problems += map(str, found_rows)
        found.warnings += Counter({f"{source.path.name}: {text}": n for text, n in records.warnings.items()})


def _duplicate(key: str, where: Where, seen: Mapping[str, Where]) -> Rejected:
    message = f"the id stands in {_place(seen[key])} too {got(key)}."
    return Rejected(where, "id.duplicate", message, "id", key)


def _place(where: Where) -> str:
    return f"line {where.line}" if where.line is not None else f"row {where.row}"


def _verdict(found: _Found) -> str:
    if found.refused:
        return "a whole file would be refused, and with it the conversion."
    if not found.rows:
        return "no row would convert."
    rows = f"{found.rows:,} row{'s' * (found.rows != 1)}"
    if found.problems:
        more = f", for {len(found.problems):,} problems" if len(found.problems) > found.bad_rows else ""
        return f"{rows} would convert; {found.bad_rows:,} would be refused{more}."
    return f"{rows} would convert, none would be refused."
