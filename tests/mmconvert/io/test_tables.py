"""TSV and CSV as written by pandas, editors and strangers."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmconvert.core.rows import DELIMITERS, Rejected, Row
from mmconvert.io import tables


def cells(text: str | bytes, tmp_path: Path, suffix: str = ".tsv", **options) -> list:
    path = tmp_path / f"t{suffix}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [list(item.fields.values()) if isinstance(item, Row) else item for item in tables.rows(path, **options)]


def test_only_an_empty_cell_is_missing(tmp_path: Path) -> None:
    assert cells("a\tb\nNone\tNA\nnull\t\nnan\t#N/A\n", tmp_path) == [["None", "NA"], ["null", None], ["nan", "#N/A"]]


def test_numbers_stay_as_they_are_written(tmp_path: Path) -> None:
    assert cells("a\tb\n00012\t1e5\n", tmp_path) == [["00012", "1e5"]]


def test_quotes_open_only_at_the_start_of_a_cell(tmp_path: Path) -> None:
    text = 'a\tb\n"x\ty\nz"\t5" pipe\n"say ""hi"""\t[{"k": "v"}]\n'
    assert cells(text, tmp_path) == [["x\ty\nz", '5" pipe'], ['say "hi"', '[{"k": "v"}]']]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_a_byte_order_mark(end: str, tmp_path: Path) -> None:
    assert cells(("\ufeffa\tb" + end + "1\t2" + end + end + '"3"\t4' + end), tmp_path) == [["1", "2"], ["3", "4"]]


def test_unicode_line_separators_do_not_end_a_record(tmp_path: Path) -> None:
    assert cells("a\tb\nx\u2028y\u0085z\x0b\t2\n", tmp_path) == [["x\u2028y\u0085z\x0b", "2"]]


def test_a_wrong_number_of_cells_is_an_error_of_that_row(tmp_path: Path) -> None:
    first, short, long, last = cells("a\tb\n1\t2\n3\n4\t5\t6\n7\t8\n", tmp_path)
    assert (first, last) == (["1", "2"], ["7", "8"])
    assert isinstance(short, Rejected)
    assert isinstance(long, Rejected)
    assert (short.where.row, short.where.line, long.where.row) == (1, 3, 2)
    assert "expected 2 cells, found 3" in long.message


def test_cells_may_be_left_out_where_the_format_says_so(tmp_path: Path) -> None:
    assert cells("a\tx\n1\n", tmp_path, may_lack=lambda name: name == "x") == [["1", None]]


def test_a_column_may_have_a_reader_of_its_own(tmp_path: Path) -> None:
    readers = {"b": lambda cell: len(cell) if len(cell) > 1 else None, "z": lambda cell: 1 / 0}
    long = "x" * 5000
    text = f'a\tb\n1\t{long}\n2\t"q\tr"\n3\ts\n4\t\n5\n'
    *good, short = cells(text, tmp_path, readers=readers)
    assert good == [["1", 5000], ["2", 3], ["3", "s"], ["4", None]]
    assert short.code == "table.cells"


def test_lines_are_counted_through_quoted_newlines(tmp_path: Path) -> None:
    *_, bad = cells('a\tb\n"1\n2\n3"\tx\n\nonly\n', tmp_path)
    assert (bad.where.row, bad.where.line) == (1, 6)


def test_an_open_quote_refuses_the_file_and_says_where(tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"t\.tsv:3: a quote opens here"):
        cells('a\tb\n1\t2\n"3\t4\n5\t6\n', tmp_path)


def test_invalid_utf8_is_an_error_of_that_row(tmp_path: Path) -> None:
    good, bad = cells(b"a\tb\n1\t2\n3\t\xff\n", tmp_path)
    assert good == ["1", "2"]
    assert (bad.code, bad.field) == ("text.encoding", "b")
    assert "byte 1 is 0xFF, which is not UTF-8 ('ÿ' in Windows-1252)" in bad.message
    assert "t.tsv:3 b:" in str(bad)
    assert str(bad).endswith("iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW.")


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("id;question\r\n1;a, b\r\n", ".csv"),
        ("\ufeffid;question\n1;a, b\n", ".csv"),
        ("id\tquestion\n1\ta, b\n", ".csv"),
        ("id\tquestion;\n1\ta, b\n", ".csv"),
        ('"id";"question, with\ncomma"\n1;"a, b"\n', ".csv"),
        ("id;question\n1;a, b\n", ".tsv"),
        ("id|question\n1|a, b\n", ".csv"),
        ('id,question\n1,"a, b"\n', ".tsv"),
        ('id,"question;x"\n1,"a, b"\n', ".csv"),
        ('id,question;x\n1,"a, b"\n', ".csv"),
    ],
)
def test_the_header_shows_what_separates_cells(text: str, suffix: str, tmp_path: Path) -> None:
    assert cells(text, tmp_path, suffix) == [["1", "a, b"]]
    path = tmp_path / f"t{suffix}"
    (row,) = tables.rows(path)
    assert tables.read_row(path, row.where.offset) == row.fields


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le"])
def test_utf_16_with_its_mark_is_read(encoding: str, tmp_path: Path) -> None:
    long = "x\U0001f600é" * tables.BLOCK
    text = f'id\tquestion\r\n1\t"two\r\nlines"\r\n2\t{long}\r\n3\r\n'
    data = text.encode(encoding) if encoding == "utf-16" else ("\ufeff" + text).encode(encoding)
    first, second, short = cells(data, tmp_path)
    assert (first, second) == (["1", "two\r\nlines"], ["2", long])
    assert (short.code, short.where.line) == ("table.cells", 5)


def test_a_table_in_utf_16_is_one_piece(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_bytes("id\tquestion\n".encode("utf-16") + "1\tü\n".encode("utf-16-le") * 1000)
    spans = list(tables.cut(path, [100]))
    assert [row.fields for span in spans for row in tables.rows(path, span)] == [{"id": "1", "question": "ü"}] * 1000


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"\xff\xfea\x00b", "is no whole UTF-16 at byte 5. Save the table again"),
        ("a\tb\n1\t\ud800\n".encode("utf-16", "surrogatepass"), "is no whole UTF-16 at byte 15"),
        (b"sep=;\r\na;b\r\n1;2\r\n", "'sep=' is for Excel alone. Delete it"),
        (b"caf\xe9\tb\n1\t2\n", "byte 4 is 0xE9, which is not UTF-8 .'é' in Windows-1252.*iconv -f WINDOWS-1252"),
        (b"PK\x03\x04", "zip"),
        (b"a\ta\n1\t2\n", "appears twice"),
        (b"\x1f\x8b1", "gzip"),
    ],
)
def test_what_is_no_table_is_refused_by_name(data: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(Error, match=reason):
        cells(data, tmp_path)


def test_a_cell_may_be_larger_than_a_block(tmp_path: Path) -> None:
    big = "x" * (tables.BLOCK + 7)
    assert cells(f'a\tb\n{big}\t1\n"{big}"\t2\n', tmp_path) == [[big, "1"], [big, "2"]]


def test_a_record_is_found_again_by_its_offset(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text('a\tb\n"1\n"\tx\n2\ty\n', encoding="utf-8")
    items = [item for item in tables.rows(path) if isinstance(item, Row)]
    assert [tables.read_row(path, item.where.offset or 0) for item in items] == [item.fields for item in items]


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=12)


@settings(deadline=None)
@given(
    table=st.lists(st.tuples(CELL, CELL, CELL), max_size=6),
    suffix=st.sampled_from([".tsv", ".csv"]),
    block=st.sampled_from([1, 3, 64]),
)
def test_reads_what_the_csv_module_writes(
    table: list, suffix: str, block: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=DELIMITERS[suffix].decode(), lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([("a", "b", "c"), *table])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BLOCK", block)
        read = cells(text.getvalue(), tmp_path_factory.mktemp("csv"), suffix)
    assert read == [[cell or None for cell in row] for row in table]


def test_a_control_character_in_the_header_refuses_the_table(tmp_path):
    (tmp_path / "t.tsv").write_bytes(b"question\tans\0wer\nq\tA\n")
    with pytest.raises(Error, match=r"a control character is in the column 'ans\\x00wer'"):
        tables.read_header(tmp_path / "t.tsv")
