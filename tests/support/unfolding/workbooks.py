"""Workbooks: texts that many cells share, and very many cells, sheets and members."""

import zipfile
from pathlib import Path

from support.unfolding.files import MB, writes
from support.workbooks import MAIN, sheet, write_workbook


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
