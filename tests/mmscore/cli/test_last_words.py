import pytest

from support.predictions import choices, write_predictions
from support.terminal import mmscore


@pytest.fixture
def make(tmp_path):
    def write(name, rows, **columns):
        return write_predictions(tmp_path / f"{name}.parquet", rows, **columns)

    return write


SHORT = [{"id": "0", "prediction": "x", "answer": "x", "task": "vqa"}]


def following(tmp_path, *arguments):
    """Give the command that the last words name, None for none."""
    ended = mmscore(*arguments, "-o", tmp_path / "r.json")
    assert ended.code == 0
    return next((line.split(maxsplit=1)[1] for line in ended.err.splitlines() if line.startswith("  next:")), None)


def test_two_files_that_cannot_be_compared_have_no_next_command(make, tmp_path):
    choice, short = make("c", choices(("A", "A"))), make("s", SHORT)
    assert following(tmp_path, choice, short) is None
    other = make("o", choices(("A", "A")), dataset="E")
    assert following(tmp_path, make("d", choices(("A", "A")), dataset="D"), other) is None
    named = following(tmp_path, choice, other)
    assert named == f"mmscore compare {choice} {other} --recipe own_choice"
    assert mmscore(*named.split()[1:]).code == 0


def test_three_files_of_several_recipes_are_shown_each_by_its_own(make, tmp_path):
    files = [make("c", choices(("A", "A"))), make("d", choices(("B", "A"))), make("s", SHORT)]
    assert following(tmp_path, *files) == f"mmscore {' '.join(map(str, files))} --html report.html"
