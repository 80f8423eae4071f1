"""A file read in pieces gives what it gives whole: rows, numbers, lines."""

from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmconvert.core.rows import Row
from mmconvert.io import json_lines, jsonl, parquet, tables

TEXTS = {
    ".tsv": (tables, '\ufeffa\tb\n1\t"x\ny"\n\n2\tz\r\n"3\t\n"\tw\nbad\n5\t"q""\n"\n6\tend'),
    ".csv": (tables, 'a,b\n1,"x\n\n,y"\n2,z\n3,w\n'),
    ".jsonl": (jsonl, '\ufeff{"a": 1}\n\n{"a": "\u2028"}\r\n  \n{bad\n{"a": 4}\n{"a": 5}'),
}


def same(source: ModuleType, path: Path, *sizes: int) -> None:
    whole = list(source.rows(path))
    spans = list(source.cut(path, sizes))
    pieces = [item for span in spans for item in source.rows(path, span)]
    assert pieces == whole
    assert all(span.start < span.end <= following.start for span, following in pairwise(spans))


@pytest.mark.parametrize("size", [1, 2, 7, 20, 10_000])
@pytest.mark.parametrize("suffix", TEXTS)
def test_text_in_pieces(suffix: str, size: int, tmp_path: Path) -> None:
    source, text = TEXTS[suffix]
    path = tmp_path / f"t{suffix}"
    path.write_text(text, encoding="utf-8", newline="")
    same(source, path, size)
    assert len(list(source.cut(path, [1]))) > 2


LINES = st.sampled_from(
    ['{"a": 1}\n', '{"a": "x"}\r\n', "\n", "  \n", "\t\r\n", '  {"a": 2}\n', "{bad\n", '{"a": "\u2028"}\n']
)


@settings(deadline=None)
@given(
    lines=st.lists(LINES, min_size=1, max_size=30),
    end=st.sampled_from(["", '{"a": 3}', " "]),
    sizes=st.lists(st.integers(1, 90), min_size=1, max_size=4),
    buffer=st.sampled_from([16, 64]),
    few=st.sampled_from([0, 1, 1_000]),
    piece=st.sampled_from([1, 7, 1_000]),
)
def test_lines_that_are_skipped_over_are_counted(
    lines: list[str],
    end: str,
    sizes: list[int],
    buffer: int,
    few: int,
    piece: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("lines") / "t.jsonl"
    path.write_text("".join(lines) + end, encoding="utf-8", newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lines, "_BUFFER", buffer)
        patch.setattr(json_lines, "_FEW_LINES", few)
        patch.setattr(json_lines, "_PIECE", piece)
        same(jsonl, path, *sizes)


@pytest.mark.parametrize("suffix", TEXTS)
def test_where_pieces_end_depends_on_their_sizes_alone(suffix: str, tmp_path: Path) -> None:
    source, text = TEXTS[suffix]
    path = tmp_path / f"t{suffix}"
    path.write_text(text, encoding="utf-8", newline="")
    same(source, path, 9, 1, 4)
    spans = list(source.cut(path, [9, 1, 4]))
    ends = [9, 10, *range(14, 2 * path.stat().st_size, 4)]
    assert {span.end for span in spans} <= set(ends)
    assert all(ends[0] == span.end or span.start >= ends[ends.index(span.end) - 1] for span in spans)
    assert len(spans) > 2


def test_the_last_piece_is_left_to_who_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("a\tb\n" + "1\t2\n" * 20 + '"', encoding="utf-8")
    first, second = tables.cut(path, [50])
    assert len(list(tables.rows(path, first))) == 12
    with pytest.raises(Error, match=r"t\.tsv:22: a quote opens here"):
        list(tables.rows(path, second))


@pytest.mark.parametrize("size", [1, 400, 10_000])
def test_parquet_in_pieces(size: int, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": list(range(50))}), tmp_path / "t.parquet", row_group_size=7)
    same(parquet, tmp_path / "t.parquet", size)
    rows = [item.fields["a"] for item in parquet.rows(tmp_path / "t.parquet") if isinstance(item, Row)]
    assert rows == list(range(50))
