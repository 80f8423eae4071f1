"""Small files that unfold to much, and large ones of next to nothing, for tests of memory and time.

Each writer takes a folder and a size, writes one file and gives its path.
"""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from support.workbooks import MAIN, sheet, write_workbook

KB, MB = 1 << 10, 1 << 20
Writer = Callable[[Path, int], Path]
WRITERS: dict[str, Writer] = {}
"""Name of an attack -> what writes its file."""

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c6360606000000004000127"
    "34277f0000000049454e44ae426082".replace(" ", "")
)


def writes(writer: Writer) -> Writer:
    """Add a writer to the list."""
    WRITERS[writer.__name__.removeprefix("write_")] = writer
    return writer


def _save(folder: Path, name: str, *pieces: bytes | Iterator[bytes]) -> Path:
    path = folder / name
    with path.open("wb") as file:
        for piece in pieces:
            for one in (piece,) if isinstance(piece, bytes) else piece:
                file.write(one)
    return path


def _fill(text: bytes, size: int) -> Iterator[bytes]:
    """Repeat a text up to a size, a piece at a time."""
    piece = text * max(1, MB // len(text))
    for _ in range(size // len(piece)):
        yield piece
    yield (piece * 2)[: size % len(piece)]


# --- parquet -----------------------------------------------------------------------------------------------------


def _parquet(folder: Path, columns: dict[str, Any], **options: Any) -> Path:
    path = folder / "a.parquet"
    given = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 30, **options}
    pq.write_table(pa.table(columns), path, **given)
    return path


def _ids(count: int) -> pa.Array:
    return pa.array([str(number) for number in range(count)])


def _same(value: Any, count: int, type_: pa.DataType) -> pa.Array:
    """Give a column of one value in all rows that takes the memory of one."""
    dictionary = pa.array([value], type_)
    return pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), dictionary)


@writes
def write_parquet_text_dictionary(folder: Path, size: int) -> Path:
    rows = 64
    column = _same("x" * (size // rows), rows, pa.string())
    return _plain_schema(folder, {"id": _ids(rows), "prediction": column, "answer": _ids(rows)})


@writes
def write_parquet_text_many_rows(folder: Path, size: int) -> Path:
    rows = max(64, size // (64 << 10))
    column = _same("x" * (64 << 10), rows, pa.string())
    return _plain_schema(folder, {"id": _ids(rows), "prediction": column, "answer": _ids(rows)})


@writes
def write_parquet_image_dictionary(folder: Path, size: int) -> Path:
    rows = 256
    image = PIXEL + bytes(size // rows)
    column = pa.StructArray.from_arrays(
        [_same(image, rows, pa.binary()), pa.array(["a.png"] * rows)], names=["bytes", "path"]
    )
    return _plain_schema(folder, {"question": _ids(rows), "answer": _ids(rows), "image": column})


@writes
def write_parquet_list_dictionary(folder: Path, size: int) -> Path:
    rows = 64
    values = _same("x" * (size // rows), rows, pa.string())
    column = pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), values)
    return _plain_schema(folder, {"question": _ids(rows), "answers": column, "image": _images(rows)})


@writes
def write_parquet_kept_dictionary(folder: Path, size: int) -> Path:
    """The Arrow schema in the file says that the column is a dictionary."""
    rows = 64
    column = _same("x" * (size // rows), rows, pa.string())
    return _parquet(folder, {"id": _ids(rows), "prediction": column, "answer": _ids(rows)})


@writes
def write_parquet_huge_cell(folder: Path, size: int) -> Path:
    texts = pa.array(["a", "x" * size, "b"], pa.large_string())
    return _parquet(folder, {"id": _ids(3), "prediction": texts, "answer": _ids(3)}, use_dictionary=False)


@writes
def write_parquet_huge_id(folder: Path, size: int) -> Path:
    texts = pa.array(["a", "x" * size, "b"], pa.large_string())
    return _parquet(folder, {"id": texts, "prediction": _ids(3), "answer": _ids(3)}, use_dictionary=False)


@writes
def write_parquet_plain_zeros(folder: Path, size: int) -> Path:
    rows = 64
    cells = pa.array([PIXEL + bytes(size // rows)] * rows, pa.large_binary())
    return _parquet(folder, {"question": _ids(rows), "answer": _ids(rows), "image": cells}, use_dictionary=False)


@writes
def write_parquet_gzip_zeros(folder: Path, size: int) -> Path:
    rows = 16
    texts = pa.array(["0" * (size // rows)] * rows, pa.large_string())
    columns = {"id": _ids(rows), "prediction": texts, "answer": _ids(rows)}
    return _parquet(folder, columns, use_dictionary=False, compression="gzip")


@writes
def write_parquet_long_list(folder: Path, size: int) -> Path:
    values = (
        pa.array([0] * size, pa.int8())
        if size < MB
        else pa.concat_arrays([pa.array([0] * MB, pa.int8())] * (size // MB))
    )
    column = pa.LargeListArray.from_arrays(pa.array([0, 0, len(values)], pa.int64()), values)
    return _parquet(folder, {"id": _ids(2), "prediction": _ids(2), "extra_numbers": column})


@writes
def write_parquet_many_nulls(folder: Path, size: int) -> Path:
    rows = size
    return _parquet(folder, {"id": pa.nulls(rows, pa.string()), "prediction": pa.nulls(rows, pa.string())})


@writes
def write_parquet_skewed(folder: Path, size: int) -> Path:
    """Ten thousand small rows in front of the large ones."""
    few = 40
    large = pa.array(["x" * (size // few)], pa.string())
    small = pa.array(["A"] * 10_000, pa.string())
    texts = pa.chunked_array([small, *[large] * few])
    ids = _ids(len(texts))
    return _parquet(folder, {"id": ids, "prediction": texts, "answer": ids}, use_dictionary=False)


def _images(rows: int) -> pa.Array:
    return pa.StructArray.from_arrays([pa.array([PIXEL] * rows), pa.nulls(rows, pa.string())], names=["bytes", "path"])


def _plain_schema(folder: Path, columns: dict[str, Any]) -> Path:
    """Write dictionaries in the file, of which its Arrow schema says nothing."""
    return _parquet(folder, columns, store_schema=False)


# --- tables ------------------------------------------------------------------------------------------------------

LMU = b"index\tquestion\tA\tB\tanswer\timage\n1\tWhich?\tred\tblue\tA\t"


@writes
def write_tsv_cell(folder: Path, size: int) -> Path:
    return _save(folder, "a.tsv", b"id\tprediction\tanswer\n1\t", _fill(b"word ", size), b"\tA\n")


@writes
def write_tsv_quoted_cell(folder: Path, size: int) -> Path:
    return _save(folder, "a.tsv", b'id\tprediction\tanswer\n1\t"', _fill(b'word "" \n', size // 9 * 9), b'"\tA\n')


@writes
def write_tsv_id(folder: Path, size: int) -> Path:
    return _save(folder, "a.tsv", b"id\tprediction\tanswer\n", _fill(b"7", size), b"\tA\tA\n")


@writes
def write_tsv_image(folder: Path, size: int) -> Path:
    return _save(folder, "a.tsv", LMU, _fill(b"AAAA", size), b"\n")


@writes
def write_tsv_image_no_base64(folder: Path, size: int) -> Path:
    return _save(folder, "a.tsv", LMU, _fill(b"AA A", size), b"!\n")


@writes
def write_tsv_options(folder: Path, size: int) -> Path:
    head = b"index\tquestion\tA\tB\tanswer\timage\n1\tWhich?\tred\t"
    return _save(folder, "a.tsv", head, _fill(b"'a', ", size), b"\tA\tiVBO\n")


@writes
def write_tsv_literal(folder: Path, size: int) -> Path:
    head = b"id\tquestion\toptions\tprediction\tanswer\n1\tWhich?\t["
    return _save(folder, "a.tsv", head, _fill(b"'a', ", size // 5 * 5), b"'b']\tA\tA\n")


@writes
def write_tsv_nuls(folder: Path, size: int) -> Path:
    return _save(folder, "a.tsv", _fill(b"\0", size))


@writes
def write_tsv_nuls_behind(folder: Path, size: int) -> Path:
    return _save(folder, "a.tsv", b"id\tprediction\tanswer\n", _fill(b"\0", size))


@writes
def write_tsv_one_line(folder: Path, size: int) -> Path:
    return _save(folder, "a.tsv", _fill(b"word ", size))


@writes
def write_tsv_tabs(folder: Path, size: int) -> Path:
    return _save(folder, "a.tsv", b"id\tprediction\tanswer\n", _fill(b"\t", size), b"\n")


@writes
def write_tsv_header_tabs(folder: Path, size: int) -> Path:
    return _save(folder, "a.tsv", b"id\tprediction", _fill(b"\t", size), b"\n1\tA\n")


@writes
def write_tsv_open_quote(folder: Path, size: int) -> Path:
    return _save(folder, "a.tsv", b'id\tprediction\tanswer\n1\t"', _fill(b"word\n", size))


@writes
def write_tsv_short_rows(folder: Path, size: int) -> Path:
    return _save(folder, "a.tsv", b"id\tprediction\tanswer\n", _fill(b"x\n", size))


@writes
def write_csv_cell(folder: Path, size: int) -> Path:
    return _save(folder, "a.csv", b"id,prediction,answer\n1,", _fill(b"word ", size), b",A\n")


# --- JSON --------------------------------------------------------------------------------------------------------


@writes
def write_jsonl_string(folder: Path, size: int) -> Path:
    return _save(folder, "a.jsonl", b'{"id": "1", "prediction": "', _fill(b"word ", size), b'", "answer": "A"}\n')


@writes
def write_jsonl_extra(folder: Path, size: int) -> Path:
    head = b'{"id": "1", "prediction": "A", "answer": "A", "note": "'
    return _save(folder, "a.jsonl", head, _fill(b"word ", size), b'"}\n')


@writes
def write_jsonl_escapes(folder: Path, size: int) -> Path:
    head = b'{"id": "1", "answer": "A", "prediction": "'
    return _save(folder, "a.jsonl", head, _fill(rb"\u0041\n", size // 8 * 8), b'"}\n')


@writes
def write_jsonl_wide_escapes(folder: Path, size: int) -> Path:
    """One astral character makes each of the others four bytes long in Python."""
    head = '{"id": "1", "answer": "A", "prediction": "\U0001f600'.encode()
    return _save(folder, "a.jsonl", head, _fill(b"word ", size), b'"}\n')


@writes
def write_jsonl_brackets(folder: Path, size: int) -> Path:
    return _save(folder, "a.jsonl", _fill(b"[", size))


@writes
def write_jsonl_brackets_inside(folder: Path, size: int) -> Path:
    return _save(folder, "a.jsonl", b'{"id": "1", "prediction": "A", "x": ', _fill(b"[", size))


@writes
def write_jsonl_spaces(folder: Path, size: int) -> Path:
    return _save(folder, "a.jsonl", _fill(b" ", size))


@writes
def write_jsonl_nuls(folder: Path, size: int) -> Path:
    return _save(folder, "a.jsonl", _fill(b"\0", size))


@writes
def write_jsonl_blank_lines(folder: Path, size: int) -> Path:
    return _save(folder, "a.jsonl", _fill(b"\n", size))


@writes
def write_jsonl_keys(folder: Path, size: int) -> Path:
    return _save(folder, "a.jsonl", b'{"id": "1", "prediction": "A"', _keys(size), b"}\n")


def _keys(size: int) -> Iterator[bytes]:
    for first in range(0, size // 16, 65536):
        yield b"".join(b', "k%09d": 1' % number for number in range(first, min(first + 65536, size // 16)))


@writes
def write_jsonl_empty_objects(folder: Path, size: int) -> Path:
    return _save(folder, "a.jsonl", b'{"id": "1", "prediction": "A", "x": [', _fill(b"{},", size // 3 * 3), b"1]}\n")


@writes
def write_jsonl_numbers(folder: Path, size: int) -> Path:
    return _save(folder, "a.jsonl", b'{"id": "1", "prediction": "A", "x": [', _fill(b"1,", size // 2 * 2), b"1]}\n")


@writes
def write_jsonl_bad_lines(folder: Path, size: int) -> Path:
    return _save(folder, "a.jsonl", b'{"id": "1", "prediction": "A"}\n', _fill(b"x\n", size))


@writes
def write_json_string(folder: Path, size: int) -> Path:
    return _save(folder, "a.json", b'[{"id": "1", "prediction": "', _fill(b"word ", size), b'"}]')


@writes
def write_json_brackets(folder: Path, size: int) -> Path:
    return _save(folder, "a.json", _fill(b"[", size))


@writes
def write_json_spaces(folder: Path, size: int) -> Path:
    return _save(folder, "a.json", _fill(b" ", size))


@writes
def write_json_nuls(folder: Path, size: int) -> Path:
    return _save(folder, "a.json", _fill(b"\0", size))


@writes
def write_json_object_string(folder: Path, size: int) -> Path:
    return _save(folder, "a.json", b'{"model": "', _fill(b"word ", size), b'", "data": [{"a": 1}]}')


@writes
def write_json_object_brackets(folder: Path, size: int) -> Path:
    return _save(folder, "a.json", b'{"model": ', _fill(b'{"a":', size))


@writes
def write_json_object_keys(folder: Path, size: int) -> Path:
    return _save(folder, "a.json", b'{"a": 1', _keys(size), b"}")


@writes
def write_json_empty_objects(folder: Path, size: int) -> Path:
    return _save(folder, "a.json", b"[", _fill(b"{},", size // 3 * 3), b"{}]")


@writes
def write_json_open_string(folder: Path, size: int) -> Path:
    return _save(folder, "a.json", b'[{"id": "', _fill(b"word ", size))


# --- workbooks ---------------------------------------------------------------------------------------------------


@writes
def write_xlsx_shared(folder: Path, size: int) -> Path:
    """One text of 32,000 characters in a great many cells."""
    text = "x" * 32_000
    row = "<row>" + '<c t="s"><v>0</v></c>' * 100 + "</row>"
    head = "<row>" + "".join(f'<c t="inlineStr"><is><t>{name}</t></is></c>' for name in _columns(100)) + "</row>"
    strings = f'<sst xmlns="{MAIN}"><si><t>{text}</t></si></sst>'
    rows = [row] * max(1, size // 3_200_000)
    return write_workbook(folder / "a.xlsx", sheet(head, *rows), parts={"xl/sharedStrings.xml": strings})


def _columns(count: int) -> list[str]:
    names = ["index", "question", "A", "B", "answer", "image", "prediction"]
    return [*names, *(f"column{number}" for number in range(count - len(names)))]


@writes
def write_xlsx_one_text(folder: Path, size: int) -> Path:
    head = "<row>" + "".join(f'<c t="inlineStr"><is><t>{name}</t></is></c>' for name in _columns(7)) + "</row>"
    cell = f'<row><c t="inlineStr"><is><t>{"x" * min(size, 60 * MB)}</t></is></c></row>'
    return write_workbook(folder / "a.xlsx", sheet(head, cell))


@writes
def write_xlsx_many_strings(folder: Path, size: int) -> Path:
    strings = f'<sst xmlns="{MAIN}">' + "<si/>" * (min(size, 60 * MB) // 5) + "</sst>"
    head = "<row>" + "".join(f'<c t="inlineStr"><is><t>{name}</t></is></c>' for name in _columns(7)) + "</row>"
    return write_workbook(folder / "a.xlsx", sheet(head, head), parts={"xl/sharedStrings.xml": strings})


@writes
def write_xlsx_many_cells(folder: Path, size: int) -> Path:
    row = "<row>" + "<c/>" * (min(size, 60 * MB) // 4) + "</row>"
    return write_workbook(folder / "a.xlsx", sheet(row))


@writes
def write_xlsx_many_full_cells(folder: Path, size: int) -> Path:
    row = "<row>" + "<c><v>1</v></c>" * (min(size, 60 * MB) // 15) + "</row>"
    return write_workbook(folder / "a.xlsx", sheet(row))


@writes
def write_xlsx_members(folder: Path, size: int) -> Path:
    path = folder / "a.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(min(size // 1000, 200_000)):
            archive.writestr(str(number), b"")
    return path


@writes
def write_xlsx_sheets(folder: Path, size: int) -> Path:
    count = min(size, 60 * MB) // 60
    names = "".join(f'<sheet name="s{k}" sheetId="{k}" r:id="rId1"/>' for k in range(count))
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    book = f'<workbook xmlns="{MAIN}" xmlns:r="{office}"><sheets>{names}</sheets></workbook>'
    return write_workbook(folder / "a.xlsx", sheet(), parts={"xl/workbook.xml": book})


# --- pictures ----------------------------------------------------------------------------------------------------


def _row_with(folder: Path, name: str, data: bytes) -> Path:
    """Write a picture, and a row of JSON Lines that shows it."""
    (folder / name).write_bytes(data)
    row = {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": name}}, {"type": "text", "text": "What is it?"}],
            }
        ]
    }
    return _save(folder, "a.jsonl", json.dumps(row).encode() + b"\n")


def _side(size: int, most: int = 16_383) -> tuple[int, int]:
    """Give sides of a picture of about so many pixels."""
    width = min(most, 16_000, max(16, int(size**0.5) * 2))
    return width, max(1, min(most, size // width))


@writes
def write_webp(folder: Path, size: int) -> Path:
    import PIL.Image

    out = io.BytesIO()
    PIL.Image.new("RGB", _side(size)).save(out, "WEBP", quality=1, method=0)
    return _row_with(folder, "a.webp", out.getvalue())


@writes
def write_webp_lossless(folder: Path, size: int) -> Path:
    import PIL.Image

    out = io.BytesIO()
    PIL.Image.new("RGBA", _side(size), (1, 2, 3, 4)).save(out, "WEBP", lossless=True, quality=0, method=0)
    return _row_with(folder, "a.webp", out.getvalue())


@writes
def write_webp_frames(folder: Path, size: int) -> Path:
    import PIL.Image

    frames = [PIL.Image.new("RGB", (64, 64), (n % 256, n // 256, 0)) for n in range(min(10_000, size // 1000))]
    out = io.BytesIO()
    frames[0].save(out, "WEBP", save_all=True, append_images=frames[1:], quality=1, method=0)
    return _row_with(folder, "a.webp", out.getvalue())


@writes
def write_webp_large_frames(folder: Path, size: int) -> Path:
    import PIL.Image

    shape = _side(size)
    frames = [PIL.Image.new("RGB", shape, colour) for colour in ("red", "blue")]
    out = io.BytesIO()
    frames[0].save(out, "WEBP", save_all=True, append_images=frames[1:], quality=1, method=0)
    return _row_with(folder, "a.webp", out.getvalue())


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(width: int, height: int, depth: int, colour: int, bytes_a_pixel: int, interlaced: int = 0) -> bytes:
    packer = zlib.compressobj(1)
    row = bytes(1 + width * bytes_a_pixel)
    packed = b"".join([*(packer.compress(row) for _ in range(height + 8 * interlaced * height // 4)), packer.flush()])
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


@writes
def write_png_deep(folder: Path, size: int) -> Path:
    width, height = _side(size)
    return _row_with(folder, "a.png", _png(width, height, 16, 6, 8))


@writes
def write_png_giants(folder: Path, size: int) -> Path:
    """Twelve giants, each another one, in lines that are long enough for several workers."""
    width, height = _side(size)
    rows = []
    for number in range(12):
        (folder / f"a{number}.png").write_bytes(_png(width, height - number, 8, 2, 3))
        content = [{"type": "image_url", "image_url": {"url": f"a{number}.png"}}, {"type": "text", "text": "?" * MB}]
        rows.append(json.dumps({"messages": [{"role": "user", "content": content}]}).encode() + b"\n")
    return _save(folder, "a.jsonl", *rows)


@writes
def write_png_interlaced(folder: Path, size: int) -> Path:
    width, height = _side(size)
    return _row_with(folder, "a.png", _png(width, height, 8, 6, 4, 1))


@writes
def write_apng_frames(folder: Path, size: int) -> Path:
    import PIL.Image

    frames = [PIL.Image.new("RGB", (64, 64), (n % 256, n // 256, 0)) for n in range(min(10_000, size // 1000))]
    out = io.BytesIO()
    frames[0].save(out, "PNG", save_all=True, append_images=frames[1:])
    return _row_with(folder, "a.png", out.getvalue())


@writes
def write_png_text(folder: Path, size: int) -> Path:
    data = _png(1, 1, 8, 2, 3)
    text = _chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(size), 1))
    return _row_with(folder, "a.png", data[:33] + text + data[33:])


@writes
def write_gif_frames(folder: Path, size: int) -> Path:
    import PIL.Image

    frames = [PIL.Image.new("L", (64, 64), n % 256) for n in range(min(10_000, size // 1000))]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], optimize=False)
    return _row_with(folder, "a.gif", out.getvalue())


@writes
def write_gif_large(folder: Path, size: int) -> Path:
    import PIL.Image

    shape = _side(size)
    frames = [PIL.Image.new("P", shape, n) for n in range(3)]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], optimize=False)
    return _row_with(folder, "a.gif", out.getvalue())


def _tiff(entries: list[tuple[int, int, int, int]], data: bytes, pages: int = 1) -> bytes:
    """Write a TIFF of pages that all show the same data."""
    out = bytearray(b"II*\0" + struct.pack("<I", 8))
    size = 2 + 12 * len(entries) + 4
    at = 8 + size * pages
    for page in range(pages):
        out += struct.pack("<H", len(entries))
        for tag, kind, count, value in entries:
            out += struct.pack("<HHII", tag, kind, count, value + (at if tag == 273 else 0))
        out += struct.pack("<I", 8 + size * (page + 1) if page + 1 < pages else 0)
    return bytes(out) + data


def build_tiff(width: int, height: int, compression: int, data: bytes, bits: int = 8, pages: int = 1) -> bytes:
    entries = [
        *((256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, bits), (259, 3, 1, compression), (262, 3, 1, 1)),
        *((273, 4, 1, 0), (277, 3, 1, 1), (278, 4, 1, height), (279, 4, 1, len(data))),
    ]
    return _tiff(entries, data, pages)


@writes
def write_tiff_strip(folder: Path, size: int) -> Path:
    """One strip as high as the picture, of zeros that were deflated."""
    width, height = _side(size)
    packer = zlib.compressobj(9)
    packed = b"".join([*(packer.compress(bytes(width * 4)) for _ in range(height)), packer.flush()])
    entries = [
        *((256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 32), (259, 3, 1, 8), (262, 3, 1, 1)),
        *((273, 4, 1, 0), (277, 3, 1, 1), (278, 4, 1, height), (279, 4, 1, len(packed)), (339, 3, 1, 3)),
    ]
    return _row_with(folder, "a.tiff", _tiff(entries, packed))


@writes
def write_tiff_pages(folder: Path, size: int) -> Path:
    return _row_with(folder, "a.tiff", build_tiff(8, 8, 1, bytes(64), pages=min(100_000, size // 1000)))


@writes
def write_tiff_rgba(folder: Path, size: int) -> Path:
    import PIL.Image

    out = io.BytesIO()
    PIL.Image.new("RGBA", _side(size)).save(out, "TIFF", compression="tiff_lzw")
    return _row_with(folder, "a.tiff", out.getvalue())


@writes
def write_tiff_ycbcr(folder: Path, size: int) -> Path:
    import PIL.Image

    out = io.BytesIO()
    PIL.Image.new("YCbCr", _side(size)).save(out, "TIFF", compression="jpeg")
    return _row_with(folder, "a.tiff", out.getvalue())


@writes
def write_jpeg_progressive(folder: Path, size: int) -> Path:
    import PIL.Image

    out = io.BytesIO()
    PIL.Image.new("RGB", _side(size)).save(out, "JPEG", quality=50, progressive=True, subsampling=0)
    return _row_with(folder, "a.jpg", out.getvalue())


@writes
def write_jpeg_cmyk(folder: Path, size: int) -> Path:
    import PIL.Image

    out = io.BytesIO()
    PIL.Image.new("CMYK", _side(size)).save(out, "JPEG", quality=50, progressive=True)
    return _row_with(folder, "a.jpg", out.getvalue())


@writes
def write_jpeg_scans(folder: Path, size: int) -> Path:
    """A progressive JPEG whose last scan stands there again and again, each a walk over the whole picture."""
    import PIL.Image

    out = io.BytesIO()
    PIL.Image.new("L", _side(size)).save(out, "JPEG", quality=50, progressive=True)
    data = out.getvalue()
    start = data.rfind(b"\xff\xda")
    scan = data[start:-2]
    return _row_with(folder, "a.jpg", data[:-2] + scan * (min(15 * MB, size) // len(scan)) + data[-2:])


@writes
def write_bmp(folder: Path, size: int) -> Path:
    """Run-length coded, so that few bytes make many pixels."""
    width, height = _side(size)
    line = b"\xff\0" * (width // 255) + bytes([width % 255, 0]) * bool(width % 255) + b"\0\0"
    pixels = line * height + b"\0\1"
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 1, len(pixels), 0, 0, 256, 0)
    start = 14 + 40 + 1024
    return _row_with(
        folder, "a.bmp", b"BM" + struct.pack("<IHHI", start + len(pixels), 0, 0, start) + head + bytes(1024) + pixels
    )


PICTURES = ("webp", "png", "apng", "gif", "tiff", "jpeg", "bmp")
"""First words of the writers of pictures, whose size is one of pixels."""
