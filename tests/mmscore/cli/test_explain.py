import json

import pytest

from support.predictions import choices, write_predictions
from support.terminal import mmscore, one_message


@pytest.fixture
def file(tmp_path):
    rows = choices(("A", "A"), ("answer:\x1b[31m [red]\nB", "B"), (None, "A"))
    return write_predictions(tmp_path / "p.parquet", rows)


def test_the_table_shows_rules_and_the_place_of_each_answer(file):
    shown = mmscore("explain", file, "--recipe", "own_choice")
    assert shown.code == 0
    assert "rule that fired" in shown.out
    assert ">>B<<" in shown.out
    assert "failed" in shown.out
    assert "\x1b" not in shown.out


def test_two_recipes_show_where_the_gap_comes_from(file):
    shown = mmscore("explain", file, "--recipe", "own_choice", "--recipe", "reform_singlechoice")
    assert shown.code == 0
    assert "accuracy B - A = -1.0000, by the pair of rules that fired" in shown.out
    assert "2 rows whose scores differ" in shown.out


def test_json_is_one_object_and_the_file_holds_the_same(file, tmp_path):
    shown = mmscore("explain", file, "--recipe", "own_choice", "--limit", 1, "--json", "-o", tmp_path / "e.json")
    found = json.loads(shown.out)
    assert found == json.loads((tmp_path / "e.json").read_text())
    assert (found["rows_found"], len(found["rows"])) == (3, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["none.parquet"], 2, "none.parquet: no such file or folder."),
        (["{file}", "--recipe", "own_chioce"], 2, "Did you mean own_choice"),
        (["{file}", *["--recipe", "own_choice"] * 3], 2, "at most two recipes"),
        (["{file}", "--score", "acuracy"], 2, "Did you mean accuracy?"),
        (["{file}", "--limit", "-1"], 2, "Invalid value for '--limit'"),
        (["{file}", "--recipe", "mmbench_circular", "--answers", "none"], 2, "none: no such file or folder."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_message(file, arguments, code, message):
    ended = mmscore("explain", *(text.format(file=file) for text in arguments))
    assert message in one_message(ended, "mmscore")
    assert ended.code == code
