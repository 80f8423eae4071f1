"""A tar file of samples, as WebDataset lays them out: files that stand together and share the name up to the first dot.

Nothing is unpacked to the disk and a name is nothing but a key. Read are headers of plain files, one after the other;
links, devices and whatever else an archive may hold refuse their sample, and all sizes are bounded before a byte is
taken into memory.
"""

import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import NamedTuple

from mmconvert.core.errors import Error, RowError, quote_value
from mmconvert.core.rows import MOST_ROW_BYTES, Rejected, Row, Where, build_too_large_error
from mmconvert.storage.source_files import open_source

KEY, FILES = "__key__", "#files"
"""Fields of a row: the sample's key, and its files by what follows the first dot of their names."""

_BLOCK = tarfile.BLOCKSIZE
_MOST_HEADER_BYTES = 64 << 10
"""Bytes of a long name or of further attributes."""
_SKIPPED = 1 << 20
_ATTRIBUTE = re.compile(rb"(\d{1,20}) ([^=]+)=")
_WITHOUT_BYTES = (
    *(tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE),
    *(tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE),
)
_PLAIN_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)


class _Member(NamedTuple):
    """One entry: its name, its kind, and where its bytes are."""

    name: str
    kind: bytes
    offset: int
    size: int


class _Group:
    """The sample that is being read."""

    def __init__(self, key: str, where: Where) -> None:
        self.key, self.where = key, where
        self.files: dict[str, bytes] = {}
        self.bytes = 0
        self.error: RowError | None = None

    def close(self) -> Row | Rejected:
        if self.error is not None:
            return Rejected.of(self.error, self.where, self.key)
        return Row({KEY: self.key, FILES: self.files}, self.where)


def rows(path: Path) -> Iterator[Row | Rejected]:
    """Read samples one after the other.

    Args:
        path: The archive.

    Yields:
        A row with `KEY` and `FILES` for each sample; `Rejected` for one that holds too much, a file twice, or something
        that is no plain file.

    Raises:
        Error: The file is empty, no tar archive, or damaged.
    """
    with open_source(path) as file:
        group: _Group | None = None
        number = 0
        for member in _read_members(file, path):
            if member.kind == tarfile.DIRTYPE:
                continue
            folder, _, name = member.name.rpartition("/")
            base, _, field = name.partition(".")
            key = f"{folder}/{base}" if folder else base
            if group is not None and group.key != key:
                yield group.close()
                group = None
            if group is None:
                group = _Group(key, Where(path.name, number, offset=member.offset))
                number += 1
            _add_file(group, field, member, file, path)
        if group is not None:
            yield group.close()


def _add_file(group: _Group, field: str, member: _Member, file: BufferedReader, path: Path) -> None:
    group.bytes += member.size
    if member.kind not in _PLAIN_FILES:
        message = "the archive holds a link, a device or another thing that is not a plain file. Pack the file itself."
        group.error = group.error or RowError("archive.member", field, message)
    elif field in group.files:
        message = f"the sample has the file {quote_value(field)} twice. Give each file of a sample a name of its own."
        group.error = group.error or RowError("archive.twice", field, message)
    elif group.bytes > MOST_ROW_BYTES:
        group.error = group.error or build_too_large_error(field=field)
    if group.error is None:
        group.files[field] = _read_exactly(file, member.size, path)
        file.seek(-member.size % _BLOCK, 1)
    else:
        group.files.clear()
        _skip(file, member.size, path)


def _read_members(file: BufferedReader, path: Path) -> Iterator[_Member]:
    """Read headers; whoever takes a member reads or skips its bytes before the next one."""
    name: str | None = None
    size: int | None = None
    found = False
    while header := file.read(_BLOCK):
        if not any(header) and len(header) == _BLOCK:
            break
        start = file.tell() - len(header)
        try:
            info = tarfile.TarInfo.frombuf(header, "utf-8", "replace")
        except (tarfile.HeaderError, ValueError) as error:
            if not found:
                raise Error(
                    f"{path}: is not a tar archive, or a compressed one. Unpack it to a .tar file first."
                ) from None
            raise _build_damage(path, start, str(error)) from None
        found = True
        if info.size < 0:
            raise _build_damage(path, start, "negative size")
        if info.type in (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
            if info.size > _MOST_HEADER_BYTES:
                raise _build_damage(path, start, f"{info.size:,} bytes of attributes")
            data = _read_exactly(file, info.size, path)
            file.seek(-info.size % _BLOCK, 1)
            if info.type == tarfile.XHDTYPE:
                told = _read_attributes(data)
                name = told.get(b"path", b"").decode(errors="replace") or name
                size = int(told[b"size"]) if told.get(b"size", b"").isdigit() else size
            elif info.type == tarfile.GNUTYPE_LONGNAME:
                name = data.rstrip(b"\0").decode(errors="replace")
            continue
        # Links, folders and devices have no bytes, whatever their header says of a size.
        length = 0 if info.type in _WITHOUT_BYTES else info.size if size is None else size
        yield _Member(name or info.name, info.type, start, length)
        name = size = None
    if not found:
        raise Error(f"{path}: the archive is empty. Get it again, or leave it out.")


def _read_attributes(data: bytes) -> dict[bytes, bytes]:
    """Read the `LENGTH NAME=VALUE` lines of an extended header, up to the first that is none."""
    found: dict[bytes, bytes] = {}
    at = 0
    while match := _ATTRIBUTE.match(data, at):
        length = int(match[1])
        if length <= match.end() - at or at + length > len(data):
            break
        found[match[2]] = data[match.end() : at + length - 1]
        at += length
    return found


def _read_exactly(file: BufferedReader, size: int, path: Path) -> bytes:
    start = file.tell()
    data = file.read(size)
    if len(data) != size:
        raise _build_damage(path, start, "the file ends in the middle of a member")
    return data


def _skip(file: BufferedReader, size: int, path: Path) -> None:
    start, left = file.tell(), size + -size % _BLOCK
    while left:
        block = file.read(min(left, _SKIPPED))
        if not block:
            raise _build_damage(path, start, "the file ends in the middle of a member")
        left -= len(block)


def _build_damage(path: Path, at: int, what: str) -> Error:
    return Error(f"{path}: the archive is damaged at byte {at:,} ({what}). Get it again.")


class TarWriter:
    """Writes samples into one tar file; the same samples give the same bytes."""

    def __init__(self, path: Path) -> None:
        """Open the file."""
        self._tar = tarfile.open(path, "w", format=tarfile.USTAR_FORMAT)  # noqa: SIM115 (closed by whoever made it)
        self.samples = 0

    def estimate_size(self, files: Mapping[str, bytes]) -> int:
        """Give the bytes that the archive will have with another sample."""
        added = sum(_BLOCK + len(data) + -len(data) % _BLOCK for data in files.values())
        return self._tar.offset + added + tarfile.RECORDSIZE

    def add(self, key: str, files: Iterable[tuple[str, bytes]]) -> None:
        """Add the files of one sample, in order.

        Args:
            key: The sample's key, without a dot.
            files: What follows the key and a dot in the name of each, and its bytes.
        """
        for field, data in files:
            info = tarfile.TarInfo(f"{key}.{field}")  # owner, group and time are 0
            info.size = len(data)
            self._tar.addfile(info, BytesIO(data))
        self.samples += 1

    def close(self) -> None:
        """Write the end of the archive."""
        self._tar.close()
