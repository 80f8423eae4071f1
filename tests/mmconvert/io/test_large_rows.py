"""Rows and values that are larger than any should be; limits are made small, and what is near them is read."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmconvert.core.errors import Error, RowError
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.core.text import json as json_text
from mmconvert.core.text.yaml import AliasError, load_yaml
from mmconvert.io import json_array, json_lines, json_object, jsonl, ooxml, tables, xlsx
from support.workbooks import sheet, text_row, write_workbook

LIMIT = 3 << 20


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module in (tables, json_lines, json_array):
        monkeypatch.setattr(module, "MOST_ROW_BYTES", LIMIT)
    return


def write(path: Path, *pieces: bytes) -> Path:
    path.write_bytes(b"".join(pieces))
    return path


class TestTables:
    @pytest.mark.parametrize("size", [LIMIT - 10, LIMIT + 1, 3 * LIMIT])
    @pytest.mark.parametrize("quote", [b"", b'"'])
    def test_a_row_over_the_limit_refuses_the_file(self, size: int, quote: bytes, tmp_path: Path) -> None:
        path = write(tmp_path / "t.tsv", b"id\ttext\n1\ta\n2\t", quote, b"x" * size, quote, b"\n3\tc\n")
        rows = tables.rows(path)
        assert next(rows).fields == {"id": "1", "text": "a"}
        if size < LIMIT:
            assert [row.fields["id"] for row in rows] == ["2", "3"]
            return
        with pytest.raises(Error, match=r"t\.tsv:3: .* (larger than|does not close in) 3 MiB\. "):
            next(rows)

    def test_a_quote_that_stays_open_is_named_before_the_file_ends(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.tsv", b'id\ttext\n1\ta\n2\n\t"', b"word\n" * LIMIT)
        with pytest.raises(Error, match=r"t\.tsv:4: a quote opens here and does not close in 3 MiB\. Close it"):
            list(tables.rows(path))

    @pytest.mark.parametrize("quote", [b"", b'"a"'])
    def test_a_row_of_a_great_many_cells_is_refused_alone(self, quote: bytes, tmp_path: Path) -> None:
        path = write(tmp_path / "t.tsv", b"id\ttext\n", quote, b"\t" * 100_000, b"\n2\tb\n")
        bad, good = tables.rows(path)
        assert "expected 2 cells, found more than 10,000." in bad.message
        assert good.fields == {"id": "2", "text": "b"}

    @pytest.mark.parametrize("cell", [b'""', b'a""b', b'\n""\r\n', b"\n" * 7, b""])
    def test_quotes_and_line_ends_in_a_cell_are_counted_as_before(self, cell: bytes, tmp_path: Path) -> None:
        path = write(tmp_path / "t.tsv", b'id\ttext\n1\t"', cell * 3, b'"\n2\tb\n')
        first, second = tables.rows(path)
        assert first.fields["text"] == ((cell * 3).replace(b'""', b'"').decode() or None)
        assert second.where.line == 3 + 3 * cell.count(b"\n")

    def test_blank_lines_are_passed_over_at_once_and_counted(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.tsv", b"id\ttext\n", b"\n" * 5_000_000, b"\r\n", b"1\ta\n\n\n2\tb\n")
        first, second = tables.rows(path)
        assert (first.where.row, first.where.line, second.where.row, second.where.line) == (0, 5_000_003, 1, 5_000_006)
        assert tables.read_row(path, second.where.offset) == {"id": "2", "text": "b"}

    def test_blank_lines_of_one_column_stay_rows(self, tmp_path: Path) -> None:
        assert len(list(tables.rows(write(tmp_path / "t.tsv", b"text\n\n\na\n")))) == 3


class TestJsonLines:
    @pytest.mark.parametrize("end", [b"\n", b""])
    def test_a_line_over_the_limit_is_refused_alone(self, end: bytes, tmp_path: Path) -> None:
        large = b'{"id": 2, "text": "' + b"x" * 2 * LIMIT + b'"}'
        path = write(tmp_path / "t.jsonl", b'{"id": 1}\n', large + b"\n", b'{"id": 3}\n', large, end)
        first, second, third, last = jsonl.rows(path)
        assert [isinstance(item, Rejected) for item in (first, second, third, last)] == [False, True, False, True]
        assert second.code == "row.too_large"
        assert f"the row holds {len(large) + 1:,} bytes, over the limit" in second.message
        assert (third.where.row, third.where.line, third.where.offset) == (2, 3, 11 + len(large))
        assert jsonl.parse_object(path.read_bytes()[third.where.offset :].splitlines()[0]) == {"id": 3}

    def test_spans_begin_where_they_do_whatever_lines_are_too_long(self, tmp_path: Path) -> None:
        rows = [b'{"id": %d, "text": "%s"}\n' % (n, b"x" * (2 * LIMIT if n % 3 == 1 else 10)) for n in range(9)]
        path = write(tmp_path / "t.jsonl", *rows)
        spans = [Span(*span) if isinstance(span, tuple) else span for span in jsonl.cut(path, [LIMIT])]
        found = [item.where for span in spans for item in jsonl.rows(path, span)]
        assert found == [item.where for item in jsonl.rows(path)]
        assert len(spans) > 2

    def test_one_array_on_a_long_line_is_read_all_the_same(self, tmp_path: Path) -> None:
        element = b'{"id": 1, "text": "' + b"x" * 1000 + b'"}, '
        rows = jsonl.rows(write(tmp_path / "t.jsonl", b"[", element * (LIMIT // 500), b'{"id": 2}]'))
        assert sum(1 for _ in rows) == LIMIT // 500 + 1

    def test_blank_lines_are_passed_over_at_once_and_counted(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.jsonl", b"\n" * 3_000_000, b" \n\t\n  ", b'{"id": 1}\n\n\n', b'{"id": 2}')
        assert [(item.where.line, item.where.offset) for item in jsonl.rows(path)] == [
            (3_000_003, 3_000_004),
            (3_000_006, 3_000_018),
        ]


class TestJson:
    def test_an_element_over_the_limit_refuses_the_file(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.json", b'[{"id": 1},\n {"text": "', b"x" * 2 * LIMIT, b'"}]')
        rows = json_array.rows(path)
        assert next(rows).fields == {"id": 1}
        with pytest.raises(Error, match=r"t\.json:2: this value is larger than 3 MiB \(element 1\)\. Give its"):
            next(rows)

    def test_members_that_are_kept_are_bounded_together(self, tmp_path: Path) -> None:
        members = b", ".join(b'"m%d": "%s"' % (number, b"x" * (LIMIT // 4)) for number in range(6))
        path = write(tmp_path / "t.json", b"{", members, b', "rows": [{"id": 1}]}')
        with pytest.raises(Error, match="larger than 3 MiB"):
            json_object.read_members(path, ("rows",))
        assert [row.fields for row in json_object.rows(path, ("rows",))] == [{"id": 1}]

    def test_a_head_of_objects_inside_each_other_ends_in_a_sentence(self, tmp_path: Path) -> None:
        with pytest.raises(Error, match="objects are nested more than 100 deep"):
            json_object.head(write(tmp_path / "t.json", b'{"a":' * 100_000))

    def test_an_object_of_a_great_many_members_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(json_object, "_MOST_MEMBERS", 100)
        path = write(tmp_path / "t.json", b"{", b", ".join(b'"m%d": 1' % number for number in range(101)), b"}")
        with pytest.raises(Error, match="more than 100 members"):
            json_object.head(path)

    @pytest.mark.parametrize("value", ["{},", "[],", "1,", '"",'])
    def test_a_value_of_very_many_values_is_refused(self, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(json_text, "MOST_VALUES", 1000)
        monkeypatch.setattr(json_text, "_LARGE", 1000)
        with pytest.raises(RowError, match="holds more than 1,000 values") as refused:
            json_text.parse_json("[" + value * 2000 + "1]")
        assert refused.value.code == "json.size"
        assert len(json_text.parse_json("[" + value * 400 + "1]")) == 401


def test_yaml_of_a_great_length_is_not_read() -> None:
    assert len(load_yaml("- a\n" * 1000)) == 1000
    with pytest.raises(AliasError, match="longer than 1,048,576 characters"):
        load_yaml("- a\n" * 300_000)


class TestWorkbooks:
    def test_cells_behind_the_last_column_are_refused(self, tmp_path: Path) -> None:
        row = "<row>" + "<c><v>1</v></c>" * 20_000 + "</row>"
        path = write_workbook(tmp_path / "t.xlsx", sheet(text_row("a"), row))
        with pytest.raises(Error, match="has more than 16,384 cells"):
            list(xlsx.rows(path))

    def test_an_archive_of_a_great_many_parts_is_not_opened(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ooxml, "MAX_DIRECTORY_BYTES", 10_000)
        with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as archive:
            for number in range(600):
                archive.writestr(f"{number:060d}", b"")
        with pytest.raises(Error, match="its list of parts takes 63,600 bytes, as in no workbook"):
            ooxml.Package(tmp_path / "t.xlsx")

    def test_elements_that_nobody_asks_for_are_not_kept(self, tmp_path: Path) -> None:
        styles = "<styleSheet>" + "<x/>" * 100_000 + '<numFmt numFmtId="1" formatCode="0"/></styleSheet>'
        path = write_workbook(tmp_path / "t.xlsx", sheet(text_row("a"), text_row("1")), parts={"xl/styles.xml": styles})
        with ooxml.Package(path) as package:
            assert [tag for tag, _ in package.list_elements("xl/styles.xml", ("numFmt",))] == ["numFmt"]
        assert [row.fields for row in xlsx.rows(path) if isinstance(row, Row)] == [{"a": "1"}]
