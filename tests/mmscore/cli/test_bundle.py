import json

import pytest

from support.predictions import choices, write_predictions
from support.terminal import mmscore, one_message


@pytest.fixture
def file(tmp_path):
    return write_predictions(tmp_path / "p.parquet", choices(("A", "A"), ("B", "A")))


def test_a_bundle_is_made_and_verified(file, tmp_path):
    made = mmscore("bundle", file, "-o", tmp_path / "b", "--recipe", "own_choice")
    assert (made.code, made.err) == (0, "")
    assert "p own_choice@1 accuracy: 0.5" in made.out
    shown = mmscore("verify", tmp_path / "b")
    assert (shown.code, shown.err) == (0, "")
    assert "every number comes out the same" in shown.out
    assert json.loads(mmscore("verify", tmp_path / "b", "--json").out)["faults"] == []


def test_a_fault_is_named_and_gives_exit_code_1(file, tmp_path):
    mmscore("bundle", file, "-o", tmp_path / "b", "--recipe", "own_choice")
    (tmp_path / "b" / "predictions" / "p.parquet").write_bytes(b"x")
    shown = mmscore("verify", tmp_path / "b")
    assert (shown.code, shown.out) == (1, "predictions/p.parquet: its bytes are not those that were bundled\n")
    assert json.loads(mmscore("verify", tmp_path / "b", "--json").out)["report"] is None


def test_rows_without_a_score_give_exit_code_3(tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), (None, "A")))
    assert mmscore("bundle", file, "-o", tmp_path / "b", "--json").code == 3
    assert mmscore("bundle", file, "-o", tmp_path / "c", "--allow-rejects").code == 0
    assert mmscore("verify", tmp_path / "b").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["bundle", "none.parquet", "-o", "{folder}/b"], 2, "none.parquet: no such file or folder."),
        (["bundle", "{file}", "-o", "{folder}/b", "--recipe", "own_chioce"], 2, "Did you mean own_choice"),
        (["bundle", "{file}", "-o", "{file}"], 2, "already exists. Name a folder that does not."),
        (["bundle", "{file}"], 2, "Missing option '-o'"),
        (["bundle", "-", "-o", "{folder}/b"], 2, "Write standard input to a file first."),
        (["bundle", "{file}", "--answers", "-", "-o", "{folder}/b"], 2, "Write standard input to a file first."),
        (["bundle", "{file}", "-o", "{folder}/b", "--by", "categry"], 2, "no column 'categry'"),
        (["verify", "{folder}/none"], 2, "no such file or folder."),
        (["verify", "{file}"], 2, "is a file. Name the folder."),
        (["verify", "{folder}"], 1, "bundle.json: is missing; the folder is not a bundle, or incomplete."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_message(file, tmp_path, arguments, code, message):
    ended = mmscore(*(text.format(file=file, folder=tmp_path) for text in arguments))
    assert message in one_message(ended, "mmscore")
    assert ended.code == code
    assert [path.name for path in tmp_path.iterdir()] == ["p.parquet"]
