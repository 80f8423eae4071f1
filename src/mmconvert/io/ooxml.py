"""The parts of an Office archive (a zip of XML files), parsed as a stream and under limits.

The size of a part is checked before it is inflated, a DOCTYPE ends the reading, and every fault of the
archive becomes an `Error` that names the file.
"""

import os
import posixpath
import zipfile
import zlib
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import IO
from xml.parsers import expat

from mmconvert.core.errors import Error, show
from mmconvert.storage.source_files import open_source

MAX_PART_BYTES = 64 << 20
MAX_DIRECTORY_BYTES = 4 << 20
"""Bytes of the list of parts at the archive's end, all of which `zipfile` takes apart; enough for 40,000 of them."""

_CHUNK = 1 << 20
_END_BYTES = (1 << 16) + 22
"""An end of an archive with the longest comment."""
_OLE = b"\xd0\xcf\x11\xe0"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")

Attributes = Mapping[str, str]


class LocalNames(dict[str, str]):
    """Names of elements without their prefixes; each is worked out once.

    Example:
        >>> LocalNames()["x:row"]
        'row'
    """

    def __missing__(self, name: str) -> str:
        """Take the prefix off."""
        self[name] = name.rpartition(":")[2]
        return self[name]


class Package:
    """An open archive; use as a context manager."""

    def __init__(self, path: Path) -> None:
        """Open it.

        Raises:
            Error: The file is empty, another kind of file, or a damaged archive.
        """
        self.path = path
        # Of the Hub the whole file is fetched: a directory stands at the end of an archive.
        self._file = open_source(Path(os.fspath(path)))
        try:
            self._zip = self._open_archive(path)
        except BaseException:
            self._file.close()
            raise

    def _open_archive(self, path: Path) -> zipfile.ZipFile:
        head = self._file.read(8)
        if not head:
            raise Error(f"{path}: the file is empty. Get it again, or leave it out.")
        if head.startswith(_OLE):
            raise Error(f"{path}: is an OLE file: an .xls or a workbook with a password. Save it as plain .xlsx.")
        if not head.startswith(_ZIP):
            raise Error(
                f"{path}: is not an xlsx workbook {show(head)}. A table as text belongs into a .csv or .tsv file."
            )
        size = _measure_directory(path)
        if size > MAX_DIRECTORY_BYTES:
            raise Error(f"{path}: its list of parts takes {size:,} bytes, as in no workbook. Save it again.")
        try:
            return zipfile.ZipFile(self._file)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise self.build_error(error) from None

    def __enter__(self) -> "Package":
        """Give the archive itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._zip.close()
        self._file.close()

    def build_error(self, reason: object) -> Error:
        """Make the error for a fault inside the archive."""
        return Error(f"{self.path}: is a damaged xlsx workbook ({reason}). Save it again.")

    def parsed(
        self,
        part: str,
        start: Callable[[str, Attributes], None],
        end: Callable[[str], None] | None = None,
        data: Callable[[str], None] | None = None,
    ) -> Iterator[None]:
        """Run a part through handlers, pausing after each piece so that results can be taken away.

        Args:
            part: Name inside the archive.
            start: Called with the name of an element, which may have a prefix, and its attributes.
            end: Called with the name.
            data: Called with pieces of text.

        Raises:
            Error: The part is missing, damaged, larger than `MAX_PART_BYTES`, or has a DOCTYPE.
        """
        with self._open(part) as file:
            chunk = self._read(file, part)
            # Told, not left to the declaration, which could name any codec of Python.
            parser = expat.ParserCreate("UTF-16" if chunk.startswith(_UTF16) else "UTF-8")
            parser.buffer_text = True
            parser.StartElementHandler = start
            parser.StartDoctypeDeclHandler = self._refuse_doctype
            parser.EndElementHandler = end
            parser.CharacterDataHandler = data
            try:
                while chunk:
                    parser.Parse(chunk, False)
                    yield
                    chunk = self._read(file, part)
                parser.Parse(b"", True)
            except expat.ExpatError as error:
                raise self.build_error(f"{part}: {error}") from None
        yield

    def list_elements(self, part: str, wanted: Container[str]) -> Iterator[tuple[str, Attributes]]:
        """Give tag (without its prefix) and attributes of the elements of a part; see `parsed`.

        Args:
            part: Name inside the archive.
            wanted: Tags; others are passed over, of which there may be millions.
        """
        found: list[tuple[str, Attributes]] = []
        tags = LocalNames()

        def take(name: str, attributes: Attributes) -> None:
            if tags[name] in wanted:
                found.append((tags[name], attributes))

        for _ in self.parsed(part, take):
            yield from found
            found.clear()

    def list_relations(self, part: str) -> dict[str, tuple[str, str]]:
        """Give kind and name of the parts that a part ("" for the archive) refers to, by relation id."""
        folder, name = posixpath.split(part)
        found = {}
        for _, attributes in self.list_elements(posixpath.join(folder, "_rels", f"{name}.rels"), ("Relationship",)):
            if attributes.get("TargetMode") != "External":
                kind = attributes.get("Type", "").rpartition("/")[2]
                target = posixpath.normpath(posixpath.join("/", folder, attributes.get("Target", "")))
                found[attributes.get("Id", "")] = (kind, target.lstrip("/"))
        return found

    def _open(self, part: str) -> IO[bytes]:
        try:
            size = self._zip.getinfo(part).file_size
            if size > MAX_PART_BYTES:
                limit = f"the limit is {MAX_PART_BYTES:,}. Save it as TSV."
                raise Error(f"{self.path}: {part} inflates to {size:,} bytes; {limit}")
            return self._zip.open(part)
        except KeyError:
            raise self.build_error(f"it has no part {part}") from None
        except (RuntimeError, NotImplementedError, zipfile.BadZipFile, OSError) as error:
            # the first two are zipfile's words for an encrypted part and an unknown compression
            raise self.build_error(f"{part}: {error}") from None

    def _read(self, file: IO[bytes], part: str) -> bytes:
        try:
            return file.read(_CHUNK)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise self.build_error(f"{part}: {error}") from None

    def _refuse_doctype(self, *_: object) -> None:
        raise Error(f"{self.path}: a part has a DOCTYPE, which no workbook needs; it is not read. Save it again.")


def _measure_directory(path: Path) -> int:
    """Give the bytes of an archive's list of parts as its end tells them; 0 where no end is found."""
    with open_source(path) as file:
        file.seek(0, 2)
        file.seek(-min(file.tell(), _END_BYTES), 2)
        tail = file.read()
    at = tail.rfind(b"PK\5\6")
    return int.from_bytes(tail[at + 12 : at + 16], "little") if at != -1 else 0


def read_attribute(attributes: Attributes, name: str) -> str:
    """Give an attribute whatever its prefix, "" where there is none.

    Example:
        >>> read_attribute({"sheetId": "1", "r:id": "rId1"}, "id")
        'rId1'
    """
    return next((value for key, value in attributes.items() if key.rpartition(":")[2] == name), "")
