"""Small files, good and bad, and what must come of them: material for what the page on bad input claims."""

import base64
import json
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from support.records import image_bytes
from support.workbooks import MAIN, sheet, text_row, write_workbook

RED = image_bytes("PNG")
BASE64 = base64.b64encode(RED).decode()
CHOICE = {"question": "<image 1> Which?", "options": ["red", "blue"], "answer": "A", "image_1": "red.png"}
LMU_ROW = {"index": "0", "question": "Which?", "A": "red", "B": "blue", "answer": "A", "image": BASE64}
REFORM_ROW = {"sample_id": "0", "answer": 0, "answer_options": ["yes", "no"], "prediction": "(A)"}
HEADER = ("index", "question", "A", "B", "prediction", "note")

Content = bytes | Callable[[Path], object]
"""Bytes of a file, or what writes it."""


@dataclass
class Proof:
    """A claim of the page, word for word, and a file that shows it.

    Attributes:
        quote: What the page says.
        files: Name -> content; the first is converted.
        format: How it is read.
        refused: Row -> code of the rows that are refused; None where the file is.
        options: Further options of `convert`.
        says: What the message says where the file is refused, or a warning.
        rows: What the rows that convert hold, by the names of columns.
    """

    quote: str
    files: Mapping[str, Content]
    format: str
    refused: Mapping[int, str] | None = field(default_factory=dict)
    options: Sequence[str] = ()
    says: str = ""
    rows: Sequence[Mapping[str, Any]] | None = None


def lines(*rows: Any) -> bytes:
    """JSON Lines: a good row of each kind comes first; bytes stand as they are."""
    return b"".join(row + b"\n" if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows)


def vmcq(*changes: Any, quote: str, **more: Any) -> Proof:
    rows = [change if isinstance(change, bytes) else {**CHOICE, **change} for change in changes]
    # Some rows are of 64 MiB: they are written when a test wants them.
    return Proof(quote, {"a.jsonl": lambda path: path.write_bytes(lines(CHOICE, *rows))}, "vmcq", **more)


def cells(*rows: Mapping[str, str]) -> dict[str, Any]:
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = [names, *([row.get(name, "") for name in names] for row in rows)]
    return {"a.tsv": "".join("\t".join(row) + "\n" for row in table).encode()}


def lmu(*changes: Mapping[str, str], quote: str, **more: Any) -> Proof:
    rows = [{**LMU_ROW, "index": str(number), **change} for number, change in enumerate([{}, *changes])]
    return Proof(quote, {"a.tsv": lambda path: path.write_bytes(cells(*rows)["a.tsv"])}, "lmudata", **more)


def options(*texts: str, quote: str, refused: Mapping[int, str], **more: Any) -> Proof:
    rows = [{"question": "q", "options": text, "answer": "A"} for text in ('["a", "b"]', *texts)]
    return Proof(quote, cells(*rows), "vmcq", refused, **more)


def reform(*changes: Mapping[str, Any], quote: str, **more: Any) -> Proof:
    rows = [
        REFORM_ROW,
        *({**REFORM_ROW, "sample_id": str(number), **change} for number, change in enumerate(changes, 1)),
    ]
    return Proof(quote, {"a.json": json.dumps(rows).encode()}, "reform_predictions", **more)


def book(
    *rows: str, quote: str, header: Sequence[str] = HEADER, parts: Mapping[str, str] | None = None, **more: Any
) -> Proof:
    def write(path: Path) -> None:
        write_workbook(path, sheet(text_row(*header), text_row("0", "q", "a", "b", "A"), *rows), parts=parts)

    return Proof(quote, {"a.xlsx": write}, "mmbench", **more)


def row_with(cell: str, place: int) -> str:
    """A row of a workbook with one cell of its own kind."""
    texts = ("1", "q", "a", "b", "A", "n")
    made = [f'<c t="inlineStr"><is><t>{text}</t></is></c>' for text in texts]
    return "<row>" + "".join([*made[:place], cell, *made[place + 1 :]]) + "</row>"


STYLES = '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
DATES = {"xl/styles.xml": f'<styleSheet xmlns="{MAIN}">{STYLES}</styleSheet>'}
FORMULA, ERROR, DATE = "<c><f>1+1</f><v>2</v></c>", '<c t="e"><v>#N/A</v></c>', '<c s="1"><v>44928</v></c>'


def parquet(quote: str, table: pa.Table, **more: Any) -> Proof:
    return Proof(quote, {"a.parquet": lambda path: pq.write_table(table, path)}, "predictions", **more)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int = 1, padding: int = 0) -> bytes:
    """A PNG whose header says a size; its structure is whole, whatever its pixels are."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    text = chunk(b"tEXt", b"a\0" + bytes(padding))
    return b"\x89PNG\r\n\x1a\n" + header + text + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


def large_png(padding: int) -> Content:
    """A PNG that is made when a test wants it."""
    return lambda path: path.write_bytes(png(3, 2, padding))


def show_images(
    data: Mapping[str, bytes | Callable[[Path], object]], quote: str, codes: Sequence[str | None], **more: Any
) -> Proof:
    """One row for each image; None for one that converts."""
    rows = [{**CHOICE, "image_1": name} for name in data]
    refused = {number: code for number, code in enumerate(codes, 1) if code}
    return Proof(quote, {"a.jsonl": lines(CHOICE, *rows), **data}, "vmcq", refused, **more)


def inline(*texts: str, quote: str, **more: Any) -> Proof:
    return vmcq(*({"image_1": text} for text in texts), quote=quote, **more)


def bomb(path: Path) -> None:
    write_workbook(path, "<worksheet>" + " " * (65 << 20))


def flipped(path: Path) -> None:
    table = pa.table({"id": ["a"], "prediction": ["yellow"]})
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(table, path, write_page_checksum=True, **plain)
    path.write_bytes(path.read_bytes().replace(b"yellow", b"yellom", 1))


DATA = "data:image/png;base64,"
LOGGED = b'{"x:pred_no_op": NaN, "content": "Hear?", "pred": "Yes", "label": 1}'
LATIN = '{"question": "caf\xe9", "options": ["a", "b"]}'.encode("latin-1")
MIXED = base64.b64encode(b"\xfb\xff" + bytes(5)).decode() + "-_"
CUT, LYING = RED[:-12], b"\x89PNG\r\n\x1a\n" + chunk(b"IHDQ", bytes(13)) + chunk(b"IEND", b"")
PREDICTED = {"id": ["a", "b"], "prediction": ["x", "y"]}
QUESTION = {"question": "q", "options": ["a", "b"]}
