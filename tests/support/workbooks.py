"""Workbooks made part by part, so that a test can say exactly what the file holds."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def relations(**targets: str) -> str:
    """Write a relations part: id -> `kind=target`."""
    items = "".join(
        f'<Relationship Id="{id_}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for id_, (kind, target) in ((id_, value.split("=", 1)) for id_, value in targets.items())
    )
    return f"<Relationships>{items}</Relationships>"


def sheet(*rows: str) -> str:
    """Write a worksheet part from the XML of its rows."""
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(rows)}</sheetData></worksheet>'


def text_row(*texts: str) -> str:
    cells = "".join(f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>' for text in texts)
    return f"<row>{cells}</row>"


def write_workbook(path: Path, first: str, *, parts: Mapping[str, str] | None = None, names: str = "Sheet1") -> Path:
    """Write a workbook whose first sheet is `first`; `parts` adds or replaces parts of the archive."""
    sheets = "".join(f'<sheet name="{n}" sheetId="{k}" r:id="rId{k}"/>' for k, n in enumerate(names.split(","), 1))
    targets = {f"rId{k}": f"worksheet=worksheets/sheet{k}.xml" for k, _ in enumerate(names.split(","), 1)}
    standard = {
        "_rels/.rels": relations(rId1="officeDocument=xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{sheets}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(
            **targets, s="sharedStrings=sharedStrings.xml", t="styles=/xl/styles.xml"
        ),
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}"/>',
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"/>',
        "xl/worksheets/sheet1.xml": first,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**standard, **(parts or {})}.items():
            archive.writestr(name, text)
    return path
