"""`mmconvert inspect`: what a file is, and why; writes nothing."""

import json
from pathlib import Path

import click

from mmconvert.command_line import printable
from mmconvert.convert import ReadOptions, Records
from mmconvert.guess import sample
from mmconvert.inputs import plan
from mmconvert.record import Record, prompt_text

_SAMPLES = 3
_WIDTH = 100


@click.command()
@click.argument("path", metavar="INPUT")
@click.option("--format", "format_", metavar="NAME", help="Read it as this format.")
@click.option(
    "--image-root", "image_roots", multiple=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def inspect(path: str, format_: str | None, image_roots: tuple[Path, ...], as_json: bool) -> int:
    """Say which format a file has, and why, with counts and three rows; writes nothing."""
    found = []
    for source in plan([path]):
        records = Records(source, ReadOptions(format=format_, image_roots=image_roots))
        first: list[Record] = []
        tasks: dict[str, int] = {}
        rows = pictures = 0
        for record in records:
            rows += 1
            pictures += len(record.images)
            tasks[record.task] = tasks.get(record.task, 0) + 1
            if len(first) < _SAMPLES:
                first.append(record)
        found.append(
            {
                "file": str(source.path),
                "format": records.format,
                "reason": records.reason,
                "columns": list(sample(source.path).columns),
                "rows": rows,
                "rejected": len(records.rejects),
                "images": pictures,
                "tasks": tasks,
                "samples": [_shown(record) for record in first],
                "first_reject": str(records.rejects[0]) if records.rejects else None,
            }
        )
    click.echo(
        json.dumps(found, ensure_ascii=False, indent=1) if as_json else printable("\n\n".join(map(_text, found)))
    )
    return 0


def _shown(record: Record) -> dict[str, object]:
    return {
        "id": record.id,
        "prompt": prompt_text(record)[:_WIDTH],
        "answer": record.answer,
        "images": [f"{i.format} {i.width}x{i.height}" if i.bytes else i.url for i in record.images],
    }


def _text(file: dict[str, object]) -> str:
    lines = [f"{name}: {value}" for name, value in file.items() if name != "samples" and value not in (None, [], {})]
    samples = file["samples"]
    lines += [f"  {sample}" for sample in samples] if isinstance(samples, list) else []
    return "\n".join(lines)
