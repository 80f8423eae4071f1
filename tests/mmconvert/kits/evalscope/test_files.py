import csv

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error, UsageError
from mmconvert.kits.evalscope.files import CELL_LENGTH, load_subset, read_rows
from support.releases import RELEASES

OLD, OLDER, NEW = "1.10.0", "1.3.0", "1.14.1"


def _rows(folder, release=NEW, **options):
    return load_subset(folder, "s", release=release, **options).rows


def _file(folder, name, text):
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def test_the_last_ending_won_until_the_first_did(tmp_path):
    _file(tmp_path, "s.jsonl", '{"from": "jsonl"}\n')
    _file(tmp_path, "s.tsv", "from\ntsv\n")
    assert _rows(tmp_path, OLDER) == [{"from": "tsv"}]
    assert _rows(tmp_path, OLD) == _rows(tmp_path, NEW) == [{"from": "jsonl"}]


def test_a_file_of_the_split_goes_before_one_without(tmp_path):
    _file(tmp_path, "s.jsonl", '{"a": 1}\n')
    _file(tmp_path, "s_val.jsonl", '{"a": 2}\n')
    assert _rows(tmp_path) == [{"a": 1}]
    assert _rows(tmp_path, split="val") == [{"a": 2}]


def test_an_empty_file_makes_room_for_the_next(tmp_path):
    _file(tmp_path, "s.jsonl", "")
    _file(tmp_path, "s.csv", "a\n")
    assert _rows(tmp_path, OLDER) == []
    with pytest.raises(Error, match=r"s_test.jsonl, s.jsonl"):
        _rows(tmp_path)
    _file(tmp_path, "s.tsv", "a\n1\n")
    assert _rows(tmp_path) == [{"a": "1"}]


def test_a_named_file_needs_no_subset(tmp_path):
    file = _file(tmp_path, "mine.jsonl", '{"a": 1}\n')
    assert load_subset(file, "default").rows == [{"a": 1}]


def test_parquet_is_read_since_1_14(tmp_path):
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "s.parquet")
    assert _rows(tmp_path) == [{"a": 1}, {"a": 2}]
    with pytest.raises(Error):
        _rows(tmp_path, OLD)
    with pytest.raises(UsageError, match=r"1\.10\.0 reads \.jsonl, \.csv, \.tsv"):
        read_rows(tmp_path / "s.parquet", OLD)
    with pytest.raises(Error, match="parquet"):
        read_rows(_file(tmp_path, "bad.parquet", "text"))


@pytest.mark.parametrize(
    ("limit", "count"), [(None, 4), (0, 4), (3, 3), (9, 4), (0.5, 2), (0.3, 1), (0.1, 0), (1.0, 4)]
)
def test_a_limit_is_a_number_or_a_share(tmp_path, limit, count):
    _file(tmp_path, "s.jsonl", '{"a": 1}\n' * 4)
    assert [len(_rows(tmp_path, release, limit=limit)) for release in RELEASES] == [count] * 3


def test_impossible_limits(tmp_path):
    _file(tmp_path, "s.jsonl", '{"a": 1}\n' * 4)
    for release in RELEASES:
        with pytest.raises(UsageError):
            _rows(tmp_path, release, limit=-1)
    assert len(_rows(tmp_path, OLD, limit=1.5)) == 4
    with pytest.raises(UsageError):
        _rows(tmp_path, NEW, limit=1.5)


def test_repeats_number_the_samples(tmp_path):
    _file(tmp_path, "s.jsonl", '{"a": 0}\n{"a": 1}\n')
    old, new = (load_subset(tmp_path, "s", repeats=2, release=release) for release in (OLD, NEW))
    assert old.ids == new.ids == [(0, 0), (1, 0), (2, 1), (3, 1)]
    assert (len(old.rows), len(new.rows)) == (4, 2)


def test_a_byte_order_mark(tmp_path):
    table = _file(tmp_path, "a.tsv", "\ufeffa\tb\n1\t2\n")
    assert read_rows(table, OLD) == [{"\ufeffa": "1", "b": "2"}]
    assert read_rows(table, NEW) == [{"a": "1", "b": "2"}]
    lines = _file(tmp_path, "a.jsonl", '\ufeff{"a": 1}\n')
    assert read_rows(lines, OLD) == read_rows(lines, NEW) == [{"a": 1}]
    blank = _file(tmp_path, "b.jsonl", '\ufeff{"a": 1}\n\n')
    assert read_rows(blank, NEW) == [{"a": 1}]
    with pytest.raises(Error, match="byte order mark"):
        read_rows(blank, OLD)


@pytest.mark.parametrize("line", ["null", "[1]", '{"a": 1}{"a": 2}', "{", "\xff".encode("latin-1"), "[" * 100_000])
def test_one_bad_line_stops_the_file(tmp_path, line):
    raw = line if isinstance(line, bytes) else line.encode()
    with pytest.raises(Error, match=r"s\.jsonl"):
        read_rows(_file(tmp_path, "s.jsonl", b'{"a": 1}\n' + raw + b"\n"))


def test_json_is_read_loosely(tmp_path):
    (row,) = read_rows(_file(tmp_path, "s.jsonl", '{"a": 1, "a": NaN}\n\n'))
    assert row["a"] != row["a"]


def test_tables_are_read_as_python_reads_them(tmp_path):
    text = 'a\tb\n"quoted ""x"""\t2\r\nshort\n[{"k": "v"}]\t1\tover\n"open\r\nend\t5\n'
    assert read_rows(_file(tmp_path, "s.tsv", text)) == [
        {"a": 'quoted "x"', "b": "2"},
        {"a": "short", "b": None},
        {"a": '[{"k": "v"}]', "b": "1", None: ["over"]},
        {"a": "open\nend\t5\n", "b": None},
    ]


@pytest.mark.parametrize("row", ["{}\t1", '"{}"\t1', "1\t1\t{}"])
def test_a_cell_has_a_longest_length(tmp_path, row):
    assert read_rows(_file(tmp_path, "a.tsv", f"a\tb\n{row.format('x' * CELL_LENGTH)}\n"))
    file = _file(tmp_path, "a.tsv", f"a\tb\n{row.format('x' * (CELL_LENGTH + 1))}\n")
    for process_limit in (CELL_LENGTH, 1 << 20):
        before = csv.field_size_limit(process_limit)
        try:
            with pytest.raises(Error, match=r"a\.tsv: EvalScope stops"):
                read_rows(file)
        finally:
            csv.field_size_limit(before)
