"""Seeded damage to files: to their bytes, and to what they are made of (lines, cells, JSON, zip parts, columns).

Bytes alone rarely get past the first check of a structured file, so most of the damage is done to a
decoded form that is then written well-formed again.
"""

import base64
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Sequence
from random import Random

from fuzzing import columns
from fuzzing.damage import TEXTS, odd, of_bytes, of_tree, text

_BASE64 = re.compile(rb"[A-Za-z0-9+/]{64,}={0,2}")

Mutator = Callable[[bytes, Random, Sequence[bytes]], bytes]


def mutated(data: bytes, suffix: str, rng: Random, others: Sequence[bytes]) -> bytes:
    """Damage a file in one to four places.

    Args:
        data: The whole file.
        suffix: Its suffix with the dot, which tells what it is made of; "" for bytes only.
        rng: Decides everything.
        others: Other files of the kind, to splice with.
    """
    for _ in range(rng.choice([1, 1, 1, 2, 2, 4])):
        mutators = [*STRUCTURED.get(suffix, []), of_bytes]
        data = rng.choice(mutators)(data, rng, others)
    return data


def of_lines(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Drop, repeat, swap or bring in a line."""
    lines = data.split(b"\n")
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            lines.pop(at)
        case 1:
            lines.insert(to, lines[at])
        case 2:
            lines[at], lines[to] = lines[to], lines[at]
        case _:
            lines.insert(at, rng.choice(rng.choice([data, *others]).split(b"\n")))
    return b"\n".join(lines)


def of_cells(delimiter: bytes) -> Mutator:
    """Make the mutator of a table: a cell is replaced, swapped, dropped or repeated, the header's too."""

    def mutate(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
        lines = data.split(b"\n")
        number = rng.randrange(len(lines)) if rng.random() < 0.85 else 0
        cells = lines[number].split(delimiter)
        at, to = rng.randrange(len(cells)), rng.randrange(len(cells))
        match rng.randrange(6):
            case 0:
                cells[at], cells[to] = cells[to], cells[at]
            case 1:
                cells.pop(at)
            case 2:
                cells.insert(to, cells[at])
            case 3:
                cells[at] = json.dumps(odd(rng), ensure_ascii=False).encode()
            case _:
                cells[at] = text(rng).encode()
        lines[number] = delimiter.join(cells)
        return b"\n".join(lines)

    return mutate


def of_json(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Damage a JSON file's tree and write it again."""
    try:
        return json.dumps(of_tree(json.loads(data), rng), ensure_ascii=rng.random() < 0.5).encode()
    except (ValueError, RecursionError):
        return of_bytes(data, rng, others)


def of_json_line(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Damage the tree of one line of JSON Lines."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = of_json(lines[at], rng, others) if lines[at] else lines[at]
    return b"\n".join(lines)


def of_base64(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Damage an image that stands in the file as base64."""
    runs = list(_BASE64.finditer(data))
    if not runs:
        return of_bytes(data, rng, others)
    run = rng.choice(runs)
    whole = run[0].rstrip(b"=")
    image = base64.b64decode(whole[: len(whole) // 4 * 4])
    return data[: run.start()] + base64.b64encode(of_bytes(image, rng, ())) + data[run.end() :]


def of_zip(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Damage, drop, repeat or rename a part of a zip archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = [(info.filename, archive.read(info)) for info in archive.infolist()]
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError, OSError, ValueError):
        return of_bytes(data, rng, others)
    if not parts:  # earlier damage emptied it
        return of_bytes(data, rng, others)
    at = rng.randrange(len(parts))
    name, part = parts[at]
    match rng.randrange(10):
        case 0:
            parts.pop(at)
        case 1:
            parts[at] = (rng.choice(["../x", "/x", "x", name.upper()]), part)
        case 2 | 3:
            parts[at] = (name, of_bytes(part, rng, [content for _, content in parts]))
        case _:
            sheets = [i for i, (other, _) in enumerate(parts) if "sheet" in other or "Strings" in other]
            at = rng.choice(sheets or [at])
            parts[at] = (parts[at][0], _xml(parts[at][1], rng))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts:
            archive.writestr(zipfile.ZipInfo(name), part)
    return out.getvalue()


_TAG = re.compile(rb"<[^>]*>|[^<]+")


def _xml(data: bytes, rng: Random) -> bytes:
    """Swap, drop or repeat tags, and put odd values into attributes and texts."""
    pieces = _TAG.findall(data)
    if not pieces:
        return data
    at, to = rng.randrange(len(pieces)), rng.randrange(len(pieces))
    word = rng.choice([*TEXTS, "A1", "XFD1048576", "A0", "b", "e", "d", "s", "str", "inlineStr", "n", "&amp;"]).encode()
    match rng.randrange(6):
        case 0:
            pieces.pop(at)
        case 1:
            pieces.insert(to, pieces[at])
        case 2:
            pieces[at], pieces[to] = pieces[to], pieces[at]
        case 3:
            pieces[at] = re.sub(rb'="[^"]*"', lambda _: b'="' + word.replace(b'"', b"") + b'"', pieces[at], count=1)
        case _ if not pieces[at].startswith(b"<"):
            pieces[at] = word
        case _:
            pieces.insert(at, rng.choice([b"<f>1+1</f>", b"<v>9</v>", b"<is><t>x</t></is>", b"<c><v>1</v></c>", word]))
    return b"".join(pieces)


STRUCTURED: dict[str, list[Mutator]] = {
    ".jsonl": [of_json_line, of_json_line, of_json_line, of_lines, of_base64],
    ".json": [of_json, of_json, of_json, of_base64],
    ".tsv": [of_cells(b"\t"), of_cells(b"\t"), of_cells(b"\t"), of_lines, of_base64],
    ".csv": [of_cells(b","), of_cells(b","), of_cells(b","), of_lines, of_base64],
    ".xlsx": [of_zip, of_zip, of_zip],
    ".parquet": [columns.of_values, columns.of_values, columns.of_types, columns.of_footer],
}
"""Suffix -> mutators, the likelier ones more than once."""
