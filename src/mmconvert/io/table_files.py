"""Open a text table as spreadsheets save it: what separates its cells, and UTF-16, are known by its first bytes."""

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mmconvert.core.errors import Error
from mmconvert.core.rows import DELIMITERS
from mmconvert.io.json_lines import refuse_other_magic
from mmconvert.storage.source_files import open_source

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BLOCK = 1 << 16
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SEPARATORS = (b"\t", b";", b",", b"|")
"""What may separate cells in place of what the suffix says; a name with a tab in it is rarer than one with a comma."""
_QUOTED = re.compile(rb'(?<![^\t;,|])"[^"]*+(?:""[^"]*+)*+(?:"|\Z)')
_HINT = re.compile(rb'"?sep=.?"?\r?\Z')


class TableFile(msgspec.Struct, frozen=True):
    """A text table that is open where its header begins.

    Attributes:
        file: Its bytes as UTF-8.
        delimiter: Stands between cells.
        is_decoded: It is UTF-16: places in `file` are none in the file, and only all of it can be read.
    """

    file: BufferedReader
    delimiter: bytes
    is_decoded: bool


@contextmanager
def open_table(path: Path) -> Iterator[TableFile]:
    """Open a table.

    Its suffix says what separates cells, comma or tab. Where the header holds none of it, which is so where a
    spreadsheet wrote semicolons or tabs into a `.csv`, its cells are separated by what it holds instead.

    Raises:
        Error: The file is empty, is no text, or begins with a line for Excel alone.
    """
    with open_source(path) as file:
        is_decoded = file.read(2) in _UTF16_BOMS
        head = _begin(file, path, is_decoded).read(_BLOCK)
        refuse_other_magic(head[:4], path, "a table")
        at = len(_UTF8_BOM) if head.startswith(_UTF8_BOM) else 0
        header = _QUOTED.sub(b"", head[at:]).partition(b"\n")[0]
        if _HINT.match(header):
            raise Error(f"{path}:1: a line 'sep=' is for Excel alone. Delete it.")
        text = _begin(file, path, is_decoded)
        text.read(at)
        yield TableFile(text, choose_delimiter(header, DELIMITERS.get(path.suffix.lower(), b"\t")), is_decoded)


def _begin(file: BufferedReader, path: Path, is_decoded: bool) -> BufferedReader:
    """Begin a file anew, as UTF-8."""
    file.seek(0)
    return BufferedReader(_Utf16Bytes(file, path)) if is_decoded else file


def choose_delimiter(header: bytes, usual: bytes) -> bytes:
    r"""Choose what separates cells.

    Args:
        header: The line of column names, without those in quotes.
        usual: What the file's name says.

    Example:
        >>> [choose_delimiter(line, b",") for line in (b"id,a;b", b"id;question", b"id\tquestion;", b"messages")]
        [b',', b';', b'\t', b',']
    """
    if usual in header:
        return usual
    return next((one for one in _SEPARATORS if one in header), usual)


class _Utf16Bytes(io.RawIOBase):
    """A UTF-16 file as the bytes of the same text in UTF-8; it is read from its beginning on."""

    def __init__(self, file: BufferedReader, path: Path) -> None:
        self._file, self._path = file, path
        self._decoder: Any = codecs.getincrementaldecoder("utf-16")()
        self._left = b""
        self._given = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._given

    def readinto(self, target: "WriteableBuffer") -> int:
        with memoryview(target) as view:
            while not self._left:
                start = self._file.tell() - len(self._decoder.getstate()[0])
                block = self._file.read(_BLOCK)
                try:
                    self._left = self._decoder.decode(block, final=not block).encode()
                except UnicodeDecodeError as error:
                    place = f"at byte {start + error.start + 1:,}"
                    raise Error(f"{self._path}: is no whole UTF-16 {place}. Save the table again, as UTF-8.") from None
                if not block:
                    break
            count = min(len(view), len(self._left))
            view[:count] = self._left[:count]
        self._left = self._left[count:]
        self._given += count
        return count
