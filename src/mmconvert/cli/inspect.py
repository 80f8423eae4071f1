"""`mmconvert inspect`: what a file is, and why; writes nothing."""

import json
from collections.abc import Sequence

import click

from mmconvert.console.app import OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.core.text.printable import escape_control
from mmconvert.pipeline.inspect import Inspected, InspectedRecord, inspect_files
from mmconvert.pipeline.read import FileOptions

FILE_OPTIONS = {
    "format": {"metavar": "NAME"},
    "image_root": {"metavar": "DIR"},
    "map": {"metavar": "FIELD=COLUMN"},
}
"""What the terminal shows for values."""
_LINES, _WIDTH, _NAMES = 8, 110, 24


@click.command(cls=GroupedCommand)
@click.argument("path", metavar="INPUT")
@add_struct_options(FileOptions, FILE_OPTIONS)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with one object per file.")
@OPTIONS_FILE
def inspect(path: str, options: FileOptions, as_json: bool) -> int:
    """Show the detected format and columns of a file, with counts and three samples; write nothing."""
    found = inspect_files(path, options)
    if as_json:
        click.echo(json.dumps([file.to_json() for file in found], ensure_ascii=False, indent=1))
    else:
        click.echo(escape_control("\n\n".join(map(_format_file, found))))
    return 0


def _format_file(file: Inspected) -> str:
    again = ", with the same input again" if file.file == "-" else ""
    facts = {
        "format": f"{file.format}, {file.reason}",
        "rows": f"{file.rows:,} valid, {file.rejected:,} invalid",
        "first invalid": file.first_reject,
        "all invalid": f"mmconvert check {file.file}{again}" if file.rejected > 1 else None,
        "tasks": ", ".join(f"{count:,} {task}" for task, count in file.tasks.items()),
        "images": f"{file.images:,}",
        "columns": _list_names(file.columns),
        "kept in extra": _list_names(file.extra),
    }
    lines = [file.file, *(f"  {name + ':':<15}{text}" for name, text in facts.items() if text)]
    lines += [f"  warning: {text} ({count:,} times)" for text, count in file.warnings.items()]
    for shown in file.samples:
        lines += _sample_lines(shown)
    return "\n".join(lines)


def _list_names(names: Sequence[str]) -> str:
    """List names; of a JSON object of rows they are its ids, as many as there are rows."""
    more = f" and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
    return f"{', '.join(names[:_NAMES])}{more}"


def _sample_lines(shown: InspectedRecord) -> list[str]:
    facts = [f"id {shown.id}"]
    values = {"answer": shown.answer, "prediction": shown.prediction}
    facts += [f"{name} {_shorten(repr(value))}" for name, value in values.items() if value is not None]
    facts += shown.images or ["no image"]
    prompt = shown.prompt.splitlines()
    more = [f"... {len(prompt) - _LINES:,} more lines"] if len(prompt) > _LINES else []
    return ["", "  " + ", ".join(facts), *(f"    {_shorten(line)}" for line in [*prompt[:_LINES], *more])]


def _shorten(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]} ..."
