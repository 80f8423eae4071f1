"""`mmconvert check`: every problem, nothing written, the exit codes of convert."""

import base64
import json
from pathlib import Path

import pytest

from support.records import picture_bytes
from support.terminal import mmconvert

DEMO = Path(__file__).parents[3] / "src/mmconvert/demo/files"


def table(path: Path, *rows: str) -> Path:
    path.write_text("id\tprediction\n" + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def check(*arguments: object):
    return mmconvert("check", *arguments, "--format", "predictions")


def test_a_clean_file_ends_with_0() -> None:
    ended = mmconvert("check", DEMO / "lmudata/Colours.tsv", "--format", "lmudata")
    assert (ended.code, ended.out, ended.err) == (0, "", "4 rows would convert, none would be refused.\n")


def test_every_problem_is_named_with_file_row_and_field(tmp_path: Path) -> None:
    ended = check(table(tmp_path / "a.tsv", "1\ta", "2\t", "\tb", "1\tc", "4\td\te"))
    assert ended.code == 3
    assert ended.out.splitlines() == [
        "a.tsv:5 id: the id stands in an earlier row too (got '1').",
        'a.tsv:3 prediction: the row has no prediction ("" would be one).',
        "a.tsv:4 id: the row has no id.",
        "a.tsv:6: expected 2 cells, found 3. Check for a stray tab or newline, or quote the cell.",
    ]
    assert ended.err == "1 row would convert; 4 would be refused.\n"


@pytest.mark.parametrize(("rows", "message"), [([], "no row would convert"), (["1\t"], "no row would convert")])
def test_a_file_without_a_good_row_ends_with_1(rows: list[str], message: str, tmp_path: Path) -> None:
    ended = check(table(tmp_path / "a.tsv", *rows))
    assert (ended.code, message in ended.err) == (1, True)


def test_a_broken_file_does_not_hide_the_problems_of_the_next(tmp_path: Path) -> None:
    broken = table(tmp_path / "a.tsv", '"never closed')
    ended = check(broken, table(tmp_path / "b.tsv", "1\ta", "2\t"))
    assert ended.code == 1
    first, second = ended.out.splitlines()
    assert first.startswith("a.tsv:2: a quote opens here")
    assert second.startswith("b.tsv:3 prediction:")
    assert ended.err == "a whole file would be refused, and with it the conversion.\n"


def test_pictures_are_decoded(tmp_path: Path) -> None:
    data = bytearray(picture_bytes("PNG", 3, (40, 40)))
    data[60] ^= 0xFF
    row = f"1\tq\ta\tb\tA\t{base64.b64encode(bytes(data)).decode()}\n"
    (tmp_path / "a.tsv").write_text("index\tquestion\tA\tB\tanswer\timage\n" + row)
    ended = mmconvert("check", tmp_path / "a.tsv", "--format", "lmudata")
    assert ended.code == 1
    assert ended.out.startswith("a.tsv:2 image: the picture cannot be decoded")


def test_programs_get_one_object(tmp_path: Path) -> None:
    ended = check(table(tmp_path / "a.tsv", "1\ta", "2\t"), "--json")
    assert json.loads(ended.out) == {
        "rows": 1,
        "problems": ['a.tsv:3 prediction: the row has no prediction ("" would be one).'],
        "warnings": [],
    }
    assert ended.err == ""


def test_nothing_is_written(tmp_path: Path) -> None:
    check(table(tmp_path / "a.tsv", "1\t"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.tsv"]
