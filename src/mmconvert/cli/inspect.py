"""`mmconvert inspect`: what a file is, and why; writes nothing."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click

from mmconvert.cli.image_root import image_root_option
from mmconvert.console.app import OPTIONS_FILE
from mmconvert.core.record import Image, Record, prompt_text
from mmconvert.core.text.printable import printable
from mmconvert.io.detect import sample
from mmconvert.pipeline.convert import ReadOptions, Records
from mmconvert.pipeline.inputs import Input, plan

_SAMPLES = 3
_LINES, _WIDTH = 8, 110
_PIPED = "-"


@click.command()
@click.argument("path", metavar="INPUT")
@click.option("--format", "format_", metavar="NAME", help="Read it as this format.")
@image_root_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array, an object for each file.")
@OPTIONS_FILE
def inspect(path: str, format_: str | None, image_roots: tuple[Path | str, ...], as_json: bool) -> int:
    """Say which format a file has, and why, with counts and three rows; writes nothing."""
    how = ReadOptions(format=format_, image_roots=image_roots)
    # What was piped stands in a file that goes away with the process: no name for anybody.
    piped = path == _PIPED or Path(path).is_fifo()
    found = [_inspected(source, how) | ({"file": _PIPED} if piped else {}) for source in plan([path])]
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False, indent=1))
    else:
        click.echo(printable("\n\n".join(map(_text, found))))
    return 0


def _inspected(source: Input, how: ReadOptions) -> dict[str, Any]:
    records = Records(source, how)
    first: list[Record] = []
    tasks: Counter[str] = Counter()
    extra: set[str] = set()
    understood: set[str] = set()
    pictures = 0
    for record in records:
        pictures += len(record.images)
        tasks[record.task] += 1
        extra.update(record.extra)
        # What a column of ours holds too stands in extra only for the way back.
        understood.update(name for name in record.extra if getattr(record, name, None))
        if len(first) < _SAMPLES:
            first.append(record)
    columns = sample(source.path).columns
    extra -= understood
    return {
        "file": str(source.path),
        "format": records.format,
        "reason": records.reason,
        "columns": [name for name in columns if name not in extra],
        "extra": [name for name in columns if name in extra],
        "rows": tasks.total(),
        "rejected": len(records.rejects),
        "images": pictures,
        "tasks": dict(tasks),
        "warnings": dict(records.warnings),
        "samples": [_sample(record) for record in first],
        "first_reject": str(records.rejects[0]) if records.rejects else None,
    }


def _sample(record: Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "answer": record.answer,
        "prediction": record.prediction,
        "images": [_picture(image) for image in record.images],
        "prompt": prompt_text(record),
    }


def _picture(image: Image) -> str:
    return str(image.url) if image.bytes is None else f"{image.format} {image.width}x{image.height}"


def _text(file: dict[str, Any]) -> str:
    again = ", with the same input again" if file["file"] == _PIPED else ""
    facts = {
        "format": f"{file['format']}, {file['reason']}",
        "rows": f"{file['rows']:,} convert, {file['rejected']:,} refused",
        "first refused": file["first_reject"],
        "all refused": f"mmconvert check {file['file']}{again}" if file["rejected"] > 1 else None,
        "tasks": ", ".join(f"{count:,} {task}" for task, count in file["tasks"].items()),
        "pictures": f"{file['images']:,}",
        "understood": ", ".join(file["columns"]),
        "kept in extra": ", ".join(file["extra"]),
    }
    lines = [file["file"], *(f"  {name + ':':<15}{text}" for name, text in facts.items() if text)]
    lines += [f"  warning: {text} ({count:,} times)" for text, count in file["warnings"].items()]
    for shown in file["samples"]:
        lines += _sample_lines(shown)
    return "\n".join(lines)


def _sample_lines(shown: dict[str, Any]) -> list[str]:
    facts = [f"id {shown['id']}"]
    facts += [f"{name} {_cut(repr(shown[name]))}" for name in ("answer", "prediction") if shown[name] is not None]
    facts += shown["images"] or ["no picture"]
    prompt = shown["prompt"].splitlines()
    more = [f"... {len(prompt) - _LINES:,} more lines"] if len(prompt) > _LINES else []
    return ["", "  " + ", ".join(facts), *(f"    {_cut(line)}" for line in [*prompt[:_LINES], *more])]


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]} ..."
