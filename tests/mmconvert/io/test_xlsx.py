import contextlib
import datetime
import random
import zipfile
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmconvert.core.rows import Rejected, Row
from mmconvert.io import xlsx
from support.workbooks import MAIN, relations, sheet, text_row, write_workbook


def cells(path, **options):
    """Fields of each row that was read; the code and column of each that was not."""
    return [
        dict(item.fields) if isinstance(item, Row) else (item.code, item.field) for item in xlsx.rows(path, **options)
    ]


@pytest.fixture
def book(tmp_path):
    return lambda *rows, **options: write_workbook(tmp_path / "t.xlsx", sheet(*rows), **options)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40), min_size=1, max_size=6))
def test_every_text_that_a_writer_can_store_comes_back(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("texts") / "t.xlsx"
    with xlsxwriter.Workbook(path, {"strings_to_formulas": False, "strings_to_urls": False}) as workbook:
        table = workbook.add_worksheet()
        table.write_string(0, 0, "t")
        for row, text in enumerate(texts, 1):
            table.write_string(row, 0, text)
    assert [fields["t"] for fields in cells(path)] == texts


@pytest.mark.parametrize(
    "text", ["00012", "007", "1e5", "0x1F", "1,000", "None", "NA", "null", "nan", "=1+1", "TRUE", " a "]
)
def test_a_text_cell_stays_the_text_it_is(book, text):
    assert cells(book(text_row("t"), text_row(text))) == [{"t": text}]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[
            ("3", "3"),
            ("3.0", "3"),
            ("-0", "0"),
            ("-3.5", "-3.5"),
            ("0.1", "0.1"),
            ("1E3", "1000"),
            ("1e300", "1e+300"),
        ],
        *[("12345678901234567890", "12345678901234567890"), ("-00012345678901234567", "-12345678901234567")],
    ],
)
def test_a_number_gives_the_text_a_person_would_type(book, value, text):
    assert cells(book(text_row("n"), f"<row><c><v>{value}</v></c></row>")) == [{"n": text}]


@pytest.mark.parametrize("value", ["1_0", "nan", "inf", "0x1F", "1e999", "one"])
def test_a_number_cell_that_holds_no_number_refuses_the_row(book, value):
    assert cells(book(text_row("n"), f"<row><c><v>{value}</v></c></row>")) == [("cell.number", "n")]


@pytest.mark.parametrize(
    ("cell", "kind", "text"),
    [
        ("<c><f>1+1</f></c>", "formula", "=1+1"),
        ("<c><f>1+1</f><v>2</v></c>", "formula", "=1+1"),
        ('<c t="str"><f>UPPER("b")</f><v>B</v></c>', "formula", '=UPPER("b")'),
        ('<c t="e"><v>#N/A</v></c>', "error", "#N/A"),
        ('<c t="d"><v>2023-01-02</v></c>', "date", "2023-01-02"),
        ('<c s="1"><v>44928.5</v></c>', "date", "2023-01-02T12:00:00"),
    ],
)
def test_what_is_no_plain_value_refuses_the_row_where_it_is_needed_and_is_kept_elsewhere(book, cell, kind, text):
    styles = f'<styleSheet xmlns="{MAIN}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'
    path = book(text_row("a", "b"), f"<row>{cell}</row>", text_row("x", "y"), parts={"xl/styles.xml": styles})
    assert cells(path) == [(f"cell.{kind}", "a"), {"a": "x", "b": "y"}]
    assert cells(path, needed=lambda name: name == "b") == [{"a": text, "b": None}, {"a": "x", "b": "y"}]


@pytest.mark.parametrize(
    ("code", "is_date"),
    [
        *[("yyyy-mm-dd", True), ("[h]:mm", True), ("0.00", False), ("General", False), ('0 "days"', False)],
        *[("[Red]0", False), ("[$-409]d", True), ("0\\h", False), ("#,##0_m", False), ("AM/PM", True)],
    ],
)
def test_a_date_is_known_by_its_number_format(book, code, is_date):
    code = code.replace('"', "&quot;")
    formats = f'<numFmts><numFmt numFmtId="164" formatCode="{code}"/></numFmts>'
    styles = (
        f'<styleSheet xmlns="{MAIN}">{formats}<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>'
        '<cellXfs><xf numFmtId="164"/></cellXfs><cellStyles/></styleSheet>'
    )
    path = book(text_row("a"), "<row><c><v>5</v></c></row>", parts={"xl/styles.xml": styles})
    assert cells(path) == ([("cell.date", "a")] if is_date else [{"a": "5"}])


def test_only_a_blank_cell_is_missing(book):
    row = '<row><c t="inlineStr"><is><t></t></is></c><c t="inlineStr"/><c s="0"/><c><v></v></c></row>'
    assert cells(book(text_row("a", "b", "c", "d"), row)) == [{"a": "", "b": None, "c": None, "d": None}]


def test_blank_rows_are_passed_over_and_do_not_count(book):
    path = book(
        text_row("a"), "<row/>", '<row><c s="0"/></row>', '<row r="7"><c r="A7"><v>1</v></c></row>', text_row("x")
    )
    assert [(item.fields["a"], item.where.row, item.where.line) for item in xlsx.rows(path)] == [
        ("1", 0, 7),
        ("x", 1, 8),
    ]


def test_booleans_read_as_the_spreadsheet_shows_them(book):
    assert cells(book(text_row("a", "b"), '<row><c t="b"><v>1</v></c><c t="b"><v>0</v></c></row>')) == [
        {"a": "TRUE", "b": "FALSE"}
    ]


def test_runs_of_one_text_are_joined_and_phonetic_ones_left_out(book):
    strings = f'<sst xmlns="{MAIN}"><si><r><t>a </t></r><r><t>b</t></r><rPh><t>x</t></rPh><phoneticPr/></si></sst>'
    path = book(text_row("a"), '<row><c t="s"><v>0</v></c></row>', parts={"xl/sharedStrings.xml": strings})
    assert cells(path) == [{"a": "a b"}]


def test_column_names_are_trimmed_and_a_cell_without_one_is_kept(book):
    row = '<row r="2"><c r="A2"><v>1</v></c><c r="C2"><v>2</v></c><c r="XFD2"><v>3</v></c></row>'
    assert cells(book(text_row(" a ", "b", " "), row)) == [{"a": "1", "b": None, "column C": "2", "column XFD": "3"}]


def test_a_prefix_on_every_element_makes_no_difference(tmp_path):
    path = tmp_path / "t.xlsx"
    body = sheet(text_row("a"), text_row("x")).replace("<", "<x:").replace("<x:/", "</x:").replace("xmlns=", "xmlns:x=")
    assert cells(write_workbook(path, body)) == [{"a": "x"}]


def test_other_sheets_are_remarked_on_once(book):
    path = book(text_row("a"), text_row("x"), text_row("y"), names="data,notes")
    first, second = xlsx.rows(path)
    assert first.remarks == ("only the first sheet 'data' is read, not 'notes'",)
    assert second.remarks == ()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "'Sheet1': is empty"),
        ([text_row("a", " a")], "the column 'a' appears twice"),
        (["<row><c><f>A2</f></c></row>"], "the header holds a formula"),
        (['<row><c r="BXY1"><v>1</v></c></row>'], "more than 2,000 columns"),
        ([text_row("a"), '<row r="1048577"><c><v>1</v></c></row>'], "damaged"),
        ([text_row("a"), '<row r="99999999999"><c><v>1</v></c></row>'], "damaged"),
        ([text_row("a"), '<row><c r="XFE2"><v>1</v></c></row>'], "damaged"),
        ([text_row("a"), '<row><c r="2A"><v>1</v></c></row>'], "damaged"),
        ([text_row("a"), '<row><c t="s"><v>0</v></c></row>'], "names text 0 of 0"),
        ([text_row("a"), '<row><c t="s"><v>-1</v></c></row>'], "damaged"),
        ([text_row("a"), "<row>"], "mismatched tag"),
        ([text_row("a"), text_row("&undefined;")], "undefined entity"),
    ],
)
def test_a_sheet_that_cannot_be_trusted_is_refused_by_name(book, rows, message):
    with pytest.raises(Error, match=message) as error:
        cells(book(*rows))
    assert "t.xlsx" in str(error.value)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"xl/worksheets/sheet1.xml": "<!DOCTYPE x><worksheet/>"}, "DOCTYPE"),
        ({"xl/sharedStrings.xml": '<!DOCTYPE x [<!ENTITY a "aa">]><sst><si><t>&a;</t></si></sst>'}, "DOCTYPE"),
        ({"xl/workbook.xml": '<?xml version="1.0" encoding="idna"?><workbook/>'}, "no worksheet"),
        ({"_rels/.rels": "<Relationships/>"}, "holds no workbook"),
        ({"_rels/.rels": relations(a="officeDocument=xl/workbook.bin")}, "holds no workbook"),
        ({"xl/workbook.xml": "<workbook/>"}, "no worksheet"),
        ({"xl/_rels/workbook.xml.rels": relations(rId1="worksheet=../../../etc/passwd")}, "no part etc/passwd"),
        ({"xl/_rels/workbook.xml.rels": relations(rId1="chartsheet=x.xml")}, "no worksheet"),
    ],
)
def test_a_workbook_with_a_bad_part_is_refused(book, parts, message):
    with pytest.raises(Error, match=message):
        cells(book(text_row("a"), text_row("x"), parts=parts))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"index,question\n1,x\n", "not an xlsx workbook"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "OLE file"),
        (b"PK\x03\x04 and then nothing", "damaged"),
        (b"PK\x05\x06" + b"\0" * 18, "it has no part _rels/.rels"),
    ],
)
def test_another_kind_of_file_is_refused_by_name(tmp_path, data, message):
    path = tmp_path / "t.xlsx"
    path.write_bytes(data)
    with pytest.raises(Error, match=message):
        cells(path)


def test_a_part_that_inflates_too_far_is_refused_before_it_is_read(book):
    bomb = sheet(text_row("a"), text_row("x")) + "<!--" + " " * (65 << 20) + "-->"
    with pytest.raises(Error, match=r"inflates to 68,\d{3},\d{3} bytes"):
        cells(book(parts={"xl/worksheets/sheet1.xml": bomb}))


def test_more_rows_or_characters_than_the_limit_are_refused(book, monkeypatch):
    path = book(text_row("a"), *[text_row("xxxxx")] * 5)
    monkeypatch.setattr(xlsx, "MAX_ROWS", 4)
    with pytest.raises(Error, match="more than 4 rows"):
        cells(path)
    monkeypatch.setattr(xlsx, "MAX_ROWS", 5)
    monkeypatch.setattr(xlsx, "MAX_CHARACTERS", 24)
    with pytest.raises(Error, match=r"t.xlsx:6: holds more than 24 characters"):
        cells(path)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system lists no open files")
def test_an_error_leaves_no_file_open(book, monkeypatch):
    path = book(text_row("a"), *[text_row("x")] * 5)
    monkeypatch.setattr(xlsx, "MAX_ROWS", 4)
    with pytest.raises(Error) as held:
        cells(path)
    # The error still holds the frames that it went through, and with them whatever they had open.
    assert held.traceback
    opened = [file for file in Path("/proc/self/fd").iterdir() if file.exists() and file.samefile(path)]
    assert opened == []


def test_an_encrypted_part_is_refused(tmp_path, book):
    path = book(text_row("a"), text_row("x"))
    data = bytearray(path.read_bytes())
    for header, flags in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        at = data.find(header)
        while at != -1:
            data[at + flags] |= 1
            at = data.find(header, at + 1)
    path.write_bytes(data)
    with pytest.raises(Error, match="encrypted"):
        cells(path)


def test_no_damaged_file_ends_in_another_error(tmp_path):
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path) as workbook:
        table = workbook.add_worksheet()
        for row in range(30):
            table.write_row(row, 0, ["name" if row == 0 else f"text {row}", "n" if row == 0 else row])
    whole = path.read_bytes()
    chance = random.Random(0)
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data[: chance.choice([len(data), chance.randrange(1, len(data))])])
        try:
            cells(path)
        except Error:
            refused += 1
    assert refused > 100


def test_parts_damaged_inside_a_whole_archive_end_in_no_other_error(tmp_path):
    source = tmp_path / "source.xlsx"
    with xlsxwriter.Workbook(source) as workbook:
        table = workbook.add_worksheet()
        table.write_row(0, 0, ["a", "b"])
        table.write_row(1, 0, ["x", 1.5])
        table.write_datetime(2, 0, datetime.datetime(2023, 1, 1), workbook.add_format({"num_format": "yyyy"}))
    with zipfile.ZipFile(source) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    chance = random.Random(1)
    path = tmp_path / "t.xlsx"
    for _ in range(300):
        name = chance.choice(sorted(parts))
        data = bytearray(parts[name])
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(3)] = chance.choice([b"", b"9", b'"', b"<", b"\xff", b"-1", b"r"])
        with zipfile.ZipFile(path, "w") as archive:
            for other, content in parts.items():
                archive.writestr(other, bytes(data) if other == name else content)
        with contextlib.suppress(Error):
            cells(path)


def test_mixed_cells_agree_with_openpyxl(tmp_path):
    path = tmp_path / "t.xlsx"
    workbook = openpyxl.Workbook()
    table = workbook.active
    table.append(["text", "number", "flag", "gap"])
    for row in range(40):
        table.append([f"t{row}\nend ", row * 0.25, row % 2 == 0, None])
    table.merge_cells("A3:A4")
    workbook.save(path)
    assert [fields["text"] for fields in cells(path)] == [
        row[0].value for row in openpyxl.load_workbook(path).active.iter_rows(min_row=2)
    ]
    assert [float(fields["number"]) for fields in cells(path)] == [row * 0.25 for row in range(40)]
    assert {fields["flag"] for fields in cells(path)} == {"TRUE", "FALSE"}
    assert xlsx.read_header(path) == ["text", "number", "flag", "gap"]


def test_a_rejected_row_says_where_it_stands(book):
    (item,) = xlsx.rows(book(text_row("a"), '<row r="9"><c><f>1</f></c></row>'))
    assert isinstance(item, Rejected)
    assert str(item).startswith("t.xlsx:9 a: a formula is never evaluated (got '=1').")
    assert item.where.row == 0


def test_a_column_that_a_formula_or_a_date_names_has_no_name(book):
    styles = f'<styleSheet xmlns="{MAIN}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'
    header = text_row("a").replace("</row>", '<c><f>"b"</f><v>b</v></c><c s="1"><v>44928</v></c></row>')
    path = book(header, text_row("x", "y", "z"), parts={"xl/styles.xml": styles})
    assert xlsx.read_header(path) == ["a"]
    assert cells(path) == [{"a": "x", "column B": "y", "column C": "z"}]


@pytest.mark.parametrize("number", ["2.5", "9007199254740992", "-9007199254740992", "1e20", "9" * 5000])
def test_a_number_that_is_no_id_refuses_its_row(book, number):
    path = book(text_row("id", "n"), f"<row><c><v>{number}</v></c><c><v>{number}</v></c></row>", text_row(number, "x"))
    assert cells(path, ids=lambda name: name == "id") == [("id.number", "id"), {"id": number, "n": "x"}]


def test_a_date_that_no_calendar_has_is_kept_where_nobody_needs_it(book):
    styles = f'<styleSheet xmlns="{MAIN}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'
    path = book(text_row("a"), '<row><c s="1"><v>1e12</v></c></row>', parts={"xl/styles.xml": styles})
    assert cells(path, needed=lambda name: False) == [{"a": "1e12"}]
