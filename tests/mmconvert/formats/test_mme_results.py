"""MME's folders of tab-separated texts."""

from pathlib import Path

import pytest

from mmconvert.core.errors import Error
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read


def folder(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        (tmp_path / f"{name}.txt").write_bytes(text.encode())
    return tmp_path


def test_real_results_give_a_record_a_line(shared: Path) -> None:
    records = read(shared / "real/mme/LaVIN")
    rows = list(records)
    assert (records.format, len(rows), records.rejects) == ("mme_results", 2374, [])
    assert len({row.id for row in rows}) == len(rows)
    assert {row.category for row in rows} == {path.stem for path in (shared / "real/mme/LaVIN").glob("*.txt")}
    groups = [row.group for row in rows]
    assert groups[::2] == groups[1::2]
    first = rows[0]
    assert (first.id, first.group, first.answer, first.extra) == (
        "OCR-000000000", "OCR/0001.jpg", "Yes", {"image": "0001.jpg"},
    )  # fmt: skip
    assert first.prediction == 'yes, the word in the logo is "angie\'s." the logo features a red circle'
    assert {(row.dataset, row.task) for row in rows} == {("MME", "yes_no")}


def test_ids_are_numbers_of_lines_and_say_so(tmp_path: Path) -> None:
    assert [row.source.numbered for row in read(folder(tmp_path, color="a.jpg\tIs it?\tYes\tno"))] == [True]


def test_one_category_alone_gives_the_same_records(shared: Path) -> None:
    whole = [row for row in read(shared / "real/mme/LaVIN") if row.category == "color"]
    assert list(read(shared / "real/mme/LaVIN/color.txt")) == whole


def test_only_tabs_and_line_ends_separate(tmp_path: Path) -> None:
    text = '\ufeffa.jpg\t"Is it?\tYes\t"no\r\n\na.jpg\tIs it\u2028 not?\tno\t\n'
    first, second = read(folder(tmp_path, color=text))
    assert (first.question, first.answer, first.prediction) == ('"Is it?', "Yes", '"no')
    assert (second.question, second.answer, second.prediction) == ("Is it\u2028 not?", "no", "")
    assert second.source.row == 1


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"a.jpg\tIs it?\tYes\tno\tmore", "table.cells"),
        (b"a.jpg\tIs it?\tYes", "table.cells"),
        (b"a.jpg\tIs it?\tred\tno", "answer.type"),
        (b"a.jpg\tIs it?\tYes\t\xff", "text.encoding"),
    ],
)
def test_a_bad_line_is_refused_and_the_others_go_on(tmp_path: Path, line: bytes, code: str) -> None:
    good = b"a.jpg\tIs it?\tYes\tno"
    (tmp_path / "color.txt").write_bytes(b"\n".join([good, line, good]))
    records = read(tmp_path)
    assert [record.id for record in records] == ["color-000000000", "color-000000002"]
    assert [(reject.code, reject.where.line) for reject in records.rejects] == [(code, 2)]


def test_other_texts_are_not_taken_for_results(tmp_path: Path) -> None:
    good = "a.jpg\tIs it?\tYes\tno\n"
    assert guess(folder(tmp_path, color=good))[0] == "mme_results"
    with pytest.raises(Error, match=r"notes\.txt has no lines of image, question"):
        guess(folder(tmp_path, notes="Remember\tthis\n"))
    with pytest.raises(Error, match=r"Rename a table with a header to end in \.tsv"):
        guess(tmp_path / "notes.txt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(Error, match=r"holds no \.txt file"):
        list(read(tmp_path / "empty", "mme_results"))
