"""The cells of a workbook's first sheet (.xlsx), streamed under limits, each with its kind.

A reader of its own because what a spreadsheet says is not what libraries give: a formula must not
pass for its cached value, `1/2` that became a date must be seen as one, `007` in a text cell is a
text. Nothing is evaluated; sizes are checked before a part is inflated and a DOCTYPE ends the reading,
so that neither a bomb nor a stray cell in the last corner costs memory.

Source: ECMA-376 part 1, 18.3 (worksheets), 18.4 (shared strings), 18.8 (styles), 22.9.2.19 (escapes).
"""

import re
from collections.abc import Generator
from functools import lru_cache
from pathlib import Path

import msgspec

from mmconvert.core.errors import Error
from mmconvert.io.ooxml import Attributes, LocalNames, Package, read_attribute

LAST_ROW = 1_048_576
LAST_COLUMN = 16_384

_STYLES = ("numFmt", "xf", "cellXfs", "cellStyles", "dxfs")
_LETTERS = re.compile(r"[A-Z]{1,3}")
_ESCAPE = re.compile(r"_x(?:(005[fF])_(?=x[0-9a-fA-F]{4}_)|(00[01][0-9a-fA-F]|[fF]{3}[eEfF])_)")
_BUILT_IN_DATES = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
_NOT_IN_FORMAT = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE | re.DOTALL)


class XlsxCell(msgspec.Struct, frozen=True):
    """A cell that is not blank.

    Attributes:
        column: 0-based.
        kind: text, number, boolean, error, date or formula.
        text: The text; the number, error or date as the file spells it; TRUE or FALSE; `=` and the formula.
    """

    column: int
    kind: str
    text: str


class Workbook(msgspec.Struct, frozen=True):
    """A workbook whose parts were found; its first worksheet is `sheets[0]`.

    Attributes:
        path: The file.
        sheets: Names of all worksheets in their order.
        part: Name of the first worksheet's part inside the archive.
        epoch_1904: Dates count from 1904 instead of 1900.
    """

    path: Path
    sheets: tuple[str, ...]
    part: str
    epoch_1904: bool
    _strings: str | None
    _styles: str | None

    def rows(self) -> Generator[tuple[int, list[XlsxCell]], None, None]:
        """Stream the rows of the first worksheet that have a cell, with their 1-based row numbers.

        Raises:
            Error: A part is damaged, larger than 64 MiB, or has a DOCTYPE.
        """
        with Package(self.path) as package:
            strings = _read_shared_strings(package, self._strings) if self._strings else []
            dates = _list_date_styles(package, self._styles) if self._styles else set()
            sheet = _Sheet(strings, dates, package)
            for _ in package.parsed(self.part, sheet.start, sheet.end, sheet.data):
                yield from sheet.rows
                sheet.rows.clear()


def open_workbook(path: Path) -> Workbook:
    """Find the sheets of a workbook.

    Raises:
        Error: The file is empty, another kind of file, damaged, or has no worksheet.
    """
    with Package(path) as package:
        root = package.list_relations("")
        book = next((part for kind, part in root.values() if kind == "officeDocument"), None)
        if book is None or not book.endswith(".xml"):
            raise Error(f"{path}: holds no workbook that can be read. Save it as .xlsx.")
        relations = package.list_relations(book)
        found: list[tuple[str, str]] = []
        epoch_1904 = False
        for tag, attributes in package.list_elements(book, ("workbookPr", "sheet")):
            if tag == "workbookPr":
                epoch_1904 = read_attribute(attributes, "date1904") in ("1", "true")
            elif tag == "sheet":
                kind, part = relations.get(read_attribute(attributes, "id"), ("", ""))
                if kind == "worksheet":
                    found.append((attributes.get("name", ""), part))
        if not found:
            raise Error(f"{path}: the workbook has no worksheet. Save it again with one.")
        parts = dict(relations.values())
        names = tuple(name for name, _ in found)
        return Workbook(path, names, found[0][1], epoch_1904, parts.get("sharedStrings"), parts.get("styles"))


def format_column(column: int) -> str:
    """Give the letters of a 0-based column.

    Example:
        >>> format_column(0), format_column(27), format_column(16383)
        ('A', 'AB', 'XFD')
    """
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def unescape(text: str) -> str:
    r"""Put back the characters that XML cannot hold and writers spell `_x000D_`; other texts stay.

    Only control characters and the escaped underscore are taken back: `_x0041_` is what a model wrote.

    Example:
        >>> unescape("a_x000D_b"), unescape("_x005F_x000D_"), unescape("_x0041_")
        ('a\rb', '_x000D_', '_x0041_')
    """
    return _ESCAPE.sub(lambda m: "_" if m[1] else chr(int(m[2], 16)), text) if "_x" in text else text


def _read_shared_strings(package: Package, part: str) -> list[str]:
    strings = _Strings()
    for _ in package.parsed(part, strings.start, strings.end, strings.data):
        pass
    return strings.found


def _list_date_styles(package: Package, part: str) -> set[int]:
    """Give the numbers of the cell styles that show a number as a date or a time."""
    formats: dict[str, bool] = {}
    dates: set[int] = set()
    style = -1
    inside = False
    for tag, attributes in package.list_elements(part, _STYLES):
        if tag == "numFmt":
            code = _NOT_IN_FORMAT.sub("", attributes.get("formatCode", ""))
            formats[attributes.get("numFmtId", "")] = any(letter in code.lower() for letter in "dmyhs")
        elif tag == "xf" and inside:
            style += 1
            number = attributes.get("numFmtId", "0")
            if formats.get(number, _parse_small(number) in _BUILT_IN_DATES):
                dates.add(style)
        elif tag in ("cellXfs", "cellStyles", "dxfs"):
            inside = tag == "cellXfs"
    return dates


def _parse_small(text: str) -> int:
    """Read a plain number of at most nine digits; -1 for anything else."""
    return int(text) if len(text) <= 9 and text.isdecimal() else -1


class _Strings:
    """Handlers that collect the shared texts in `found`; phonetic runs stand beside a text and are left out."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._tags = LocalNames()
        self._text: list[str] = []
        self._open = self._phonetic = False

    def start(self, name: str, _: Attributes) -> None:
        tag = self._tags[name]
        if tag == "t":
            self._open = not self._phonetic
        elif tag == "si":
            self._text.clear()
        elif tag == "rPh":
            self._phonetic = True

    def data(self, text: str) -> None:
        if self._open:
            self._text.append(text)

    def end(self, name: str) -> None:
        tag = self._tags[name]
        if tag == "t":
            self._open = False
        elif tag == "si":
            self.found.append(unescape("".join(self._text)))
        elif tag == "rPh":
            self._phonetic = False


class _Sheet:
    """Handlers that collect the rows of one worksheet; `rows` is emptied by the caller."""

    def __init__(self, strings: list[str], dates: set[int], package: Package) -> None:
        self.rows: list[tuple[int, list[XlsxCell]]] = []
        self._strings, self._dates, self._package = strings, dates, package
        self._tags = LocalNames()
        self._row, self._column = 0, -1
        self._cells: list[XlsxCell] = []
        self._attributes: Attributes | None = None
        self._value: list[str] | None = None
        self._formula: list[str] | None = None
        self._inline: list[str] | None = None
        self._into: list[str] | None = None
        self._phonetic = False

    def start(self, name: str, attributes: Attributes) -> None:
        tag = self._tags[name]
        if tag == "c":
            self._attributes = attributes
            self._value = self._formula = self._inline = None
        elif tag == "t":
            self._into = None if self._phonetic else self._inline
        elif tag == "is":
            self._inline = []
        elif tag == "v":
            self._into = self._value = []
        elif tag == "f":
            self._into = self._formula = []
        elif tag == "row":
            self._row = self._read_number(attributes["r"], LAST_ROW) if "r" in attributes else self._row + 1
            self._column = -1
        elif tag == "rPh":
            self._phonetic = True

    def data(self, text: str) -> None:
        if self._into is not None:
            self._into.append(text)

    def end(self, name: str) -> None:
        tag = self._tags[name]
        if tag in ("t", "v", "f"):
            self._into = None
        elif tag == "c":
            if self._attributes is not None:
                self._add(self._attributes)
            self._attributes = None
        elif tag == "row":
            if self._cells:
                self.rows.append((self._row, self._cells))
            self._cells = []
        elif tag == "rPh":
            self._phonetic = False

    def _add(self, attributes: Attributes) -> None:
        reference = attributes.get("r")
        self._column = self._column + 1 if reference is None else self._find_column(reference)
        if self._column >= LAST_COLUMN:
            raise self._package.build_error(f"row {self._row} has more than {LAST_COLUMN:,} cells")
        kind, text = self._read_content(attributes.get("t", "n"), attributes.get("s", "0"))
        if text is not None:
            self._cells.append(XlsxCell(self._column, kind, text))

    def _read_content(self, type_: str, style: str) -> tuple[str, str | None]:
        if self._formula is not None:
            return "formula", "=" + "".join(self._formula)
        value = None if self._value is None else "".join(self._value)
        match type_:
            case "inlineStr":
                return "text", None if self._inline is None else unescape("".join(self._inline))
            case "s":
                return "text", self._read_shared(value) if value else None
            case "str":
                return "text", None if value is None else unescape(value)
            case _ if not value or not value.strip():
                return "number", None
            case "b":
                return "boolean", "TRUE" if value.strip() == "1" else "FALSE"
            case "e":
                return "error", value
            case "d":
                return "date", value
        return "date" if _parse_small(style) in self._dates else "number", value.strip()

    def _read_shared(self, value: str) -> str:
        index = self._read_number(value, len(self._strings), 0)
        if index >= len(self._strings):
            raise self._package.build_error(f"row {self._row} names text {index} of {len(self._strings)}")
        return self._strings[index]

    def _read_number(self, text: str, most: int, least: int = 1) -> int:
        number = _parse_small(text.strip())
        if not least <= number <= most:
            raise self._package.build_error(f"row {self._row} holds the number {text[:20]!r}")
        return number

    def _find_column(self, reference: str) -> int:
        letters = reference.rstrip("0123456789")
        column = _parse_column(letters)
        if not (0 < len(reference) - len(letters) < 8 and 0 <= column < LAST_COLUMN):
            raise self._package.build_error(f"row {self._row} has a cell {reference[:20]!r}")
        return column


@lru_cache(maxsize=LAST_COLUMN)
def _parse_column(letters: str) -> int:
    """Give the 0-based number of a column; -1 where these are no one to three capital letters."""
    if not _LETTERS.fullmatch(letters):
        return -1
    column = 0
    for letter in letters:
        column = column * 26 + ord(letter) - 64
    return column - 1
