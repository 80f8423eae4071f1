"""JSON and JSON Lines: long texts, deep and wide trees, next to nothing in many bytes."""

from collections.abc import Iterator
from pathlib import Path

from support.unfolding.files import fill, save, writes


@writes
def write_jsonl_string(folder: Path, size: int) -> Path:
    return save(folder, "a.jsonl", b'{"id": "1", "prediction": "', fill(b"word ", size), b'", "answer": "A"}\n')


@writes
def write_jsonl_extra(folder: Path, size: int) -> Path:
    head = b'{"id": "1", "prediction": "A", "answer": "A", "note": "'
    return save(folder, "a.jsonl", head, fill(b"word ", size), b'"}\n')


@writes
def write_jsonl_escapes(folder: Path, size: int) -> Path:
    head = b'{"id": "1", "answer": "A", "prediction": "'
    return save(folder, "a.jsonl", head, fill(rb"\u0041\n", size // 8 * 8), b'"}\n')


@writes
def write_jsonl_wide_escapes(folder: Path, size: int) -> Path:
    """One astral character makes each of the others four bytes long in Python."""
    head = '{"id": "1", "answer": "A", "prediction": "\U0001f600'.encode()
    return save(folder, "a.jsonl", head, fill(b"word ", size), b'"}\n')


@writes
def write_jsonl_brackets(folder: Path, size: int) -> Path:
    return save(folder, "a.jsonl", fill(b"[", size))


@writes
def write_jsonl_brackets_inside(folder: Path, size: int) -> Path:
    return save(folder, "a.jsonl", b'{"id": "1", "prediction": "A", "x": ', fill(b"[", size))


@writes
def write_jsonl_spaces(folder: Path, size: int) -> Path:
    return save(folder, "a.jsonl", fill(b" ", size))


@writes
def write_jsonl_nuls(folder: Path, size: int) -> Path:
    return save(folder, "a.jsonl", fill(b"\0", size))


@writes
def write_jsonl_blank_lines(folder: Path, size: int) -> Path:
    return save(folder, "a.jsonl", fill(b"\n", size))


@writes
def write_jsonl_keys(folder: Path, size: int) -> Path:
    return save(folder, "a.jsonl", b'{"id": "1", "prediction": "A"', _keys(size), b"}\n")


def _keys(size: int) -> Iterator[bytes]:
    for first in range(0, size // 16, 65536):
        yield b"".join(b', "k%09d": 1' % number for number in range(first, min(first + 65536, size // 16)))


@writes
def write_jsonl_empty_objects(folder: Path, size: int) -> Path:
    return save(folder, "a.jsonl", b'{"id": "1", "prediction": "A", "x": [', fill(b"{},", size // 3 * 3), b"1]}\n")


@writes
def write_jsonl_numbers(folder: Path, size: int) -> Path:
    return save(folder, "a.jsonl", b'{"id": "1", "prediction": "A", "x": [', fill(b"1,", size // 2 * 2), b"1]}\n")


@writes
def write_jsonl_bad_lines(folder: Path, size: int) -> Path:
    return save(folder, "a.jsonl", b'{"id": "1", "prediction": "A"}\n', fill(b"x\n", size))


@writes
def write_json_string(folder: Path, size: int) -> Path:
    return save(folder, "a.json", b'[{"id": "1", "prediction": "', fill(b"word ", size), b'"}]')


@writes
def write_json_brackets(folder: Path, size: int) -> Path:
    return save(folder, "a.json", fill(b"[", size))


@writes
def write_json_spaces(folder: Path, size: int) -> Path:
    return save(folder, "a.json", fill(b" ", size))


@writes
def write_json_nuls(folder: Path, size: int) -> Path:
    return save(folder, "a.json", fill(b"\0", size))


@writes
def write_json_object_string(folder: Path, size: int) -> Path:
    return save(folder, "a.json", b'{"model": "', fill(b"word ", size), b'", "data": [{"a": 1}]}')


@writes
def write_json_object_brackets(folder: Path, size: int) -> Path:
    return save(folder, "a.json", b'{"model": ', fill(b'{"a":', size))


@writes
def write_json_object_keys(folder: Path, size: int) -> Path:
    return save(folder, "a.json", b'{"a": 1', _keys(size), b"}")


@writes
def write_json_empty_objects(folder: Path, size: int) -> Path:
    return save(folder, "a.json", b"[", fill(b"{},", size // 3 * 3), b"{}]")


@writes
def write_json_open_string(folder: Path, size: int) -> Path:
    return save(folder, "a.json", b'[{"id": "', fill(b"word ", size))
