"""`mmconvert inspect`: which format, why, what is understood."""

import io
import json
import sys
from pathlib import Path

import pytest

from support.terminal import mmconvert

DEMO = Path(__file__).parents[3] / "src/mmconvert/testing/demo/files"


def test_a_file_is_described_with_three_rows() -> None:
    ended = mmconvert("inspect", DEMO / "vmcq/colours.tsv")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[:6] == [
        str(DEMO / "vmcq/colours.tsv"),
        "  format:        vmcq, detected by question, options, answer, image_1, image_2",
        "  rows:          4 valid, 0 invalid",
        "  tasks:         4 multiple_choice",
        "  images:      5",
        "  columns:       question, options, answer, image_1, image_2",
    ]
    assert [line for line in lines if line.startswith("  id ")] == [
        "  id 000000000, answer 'A', PNG 32x32",
        "  id 000000001, answer 'B', PNG 32x32",
        "  id 000000002, answer 'B', PNG 32x32, JPEG 32x32",
    ]
    assert "    A. red" in lines


def test_programs_get_one_json_array() -> None:
    (found,) = json.loads(mmconvert("inspect", DEMO / "openai_messages/colours.jsonl", "--json").out)
    assert (found["format"], found["rows"], found["rejected"], found["images"]) == ("openai_messages", 4, 0, 5)
    assert (found["columns"], found["extra"]) == (["messages", "answer", "image_1"], ["note"])
    assert found["samples"][0]["prompt"] == "What colour is this?<image>"


def test_refused_rows_are_counted_and_the_first_is_shown(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("id\tprediction\n1\ta\n2\t\n3\t\n")
    ended = mmconvert("inspect", tmp_path / "a.tsv", "--format", "predictions")
    assert ended.code == 0
    assert "  format:        predictions, given by --format\n" in ended.out
    assert "  rows:          1 valid, 2 invalid\n" in ended.out
    assert "  first invalid: a.tsv:3 prediction: the row has no prediction" in ended.out


def test_standard_input_is_named_as_it_can_be_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"id\tprediction\n1\ta\n2\t\n3\t\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    ended = mmconvert("inspect", "-", "--format", "predictions")
    assert (ended.code, ended.out.splitlines()[0]) == (0, "-")
    assert "  all skipped:   mmconvert check -, with the same input again\n" in ended.out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert json.loads(mmconvert("inspect", "-", "--format", "predictions", "--json").out)[0]["file"] == "-"


def test_long_and_hostile_texts_are_cut_and_escaped(tmp_path: Path) -> None:
    row = {"messages": [{"role": "user", "content": "\x1b[31m" + "x" * 500 + "\nline" * 50}], "answer": "y" * 500}
    (tmp_path / "a.jsonl").write_text(json.dumps(row))
    ended = mmconvert("inspect", tmp_path / "a.jsonl", "--format", "openai_messages")
    assert "\x1b" not in ended.out
    assert max(map(len, ended.out.splitlines())) < 180
    assert "    ... 43 more lines\n" in ended.out


def test_every_file_of_a_folder_is_described(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.tsv").write_text("id\tprediction\n1\ta\n")
    found = json.loads(mmconvert("inspect", tmp_path, "--format", "predictions", "--json").out)
    assert [Path(file["file"]).name for file in found] == ["a.tsv", "b.tsv"]


def test_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("id\tprediction\n1\t\n")
    mmconvert("inspect", tmp_path / "a.tsv", "--format", "predictions")
    assert [path.name for path in tmp_path.iterdir()] == ["a.tsv"]
