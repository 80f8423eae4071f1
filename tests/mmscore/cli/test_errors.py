"""A user's mistake with `mmscore`: one clear message, no traceback, the exit code of the contract."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.datasets_on_disk import record, write_dataset
from support.terminal import mmscore, names_next_step, one_message


@pytest.fixture(autouse=True)
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with predictions, broken files and a dataset."""
    monkeypatch.chdir(tmp_path)
    files = {
        "answers.tsv": "id\tprediction\tanswer\n1\ta\ta\n",
        "column.tsv": "id\tpredicton\n1\ta\n",
        "empty.tsv": "",
        "none.tsv": "id\tprediction\n1\t\n",
        "damaged.parquet": b"PAR1" + b"\0" * 64 + b"PAR1",
        "notes.txt": "hello",
    }
    for name, text in files.items():
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    write_dataset(tmp_path / "ds", {"test": [record(1)]})
    return tmp_path


ECHO = ["--model", "answer", "--backend", "echo"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["scroe", "answers.tsv"], 2, "No such command 'scroe'. Did you mean score?"),
        (["answer.tsv"], 2, "answer.tsv: no such file or folder. Did you mean answers.tsv?"),
        (["answers.tsv", "--recipe", "own_chioce"], 2, "unknown recipe 'own_chioce'. Did you mean own_choice"),
        (["answers.tsv", "--recipe"], 2, "Option '--recipe' requires an argument."),
        (["answers.tsv", "--recip", "x"], 2, "No such option '--recip'."),
        (["answers.tsv", "--by", "nothing", "--recipe", "own_short_answer"], 2, "answers.tsv: no column 'nothing'"),
        (["answers.tsv", "--answers", "nope.tsv"], 2, "nope.tsv: no such file or folder."),
        (["answers.tsv", "--options", "run.yaml"], 2, "run.yaml"),
        (["column.tsv"], 1, "Name it: --map prediction=predicton"),
        (["empty.tsv"], 1, "empty.tsv: the file is empty."),
        (["none.tsv"], 1, "none.tsv: holds no rows that can be read."),
        (["damaged.parquet"], 1, "damaged.parquet: is a damaged parquet file"),
        (["notes.txt"], 1, "notes.txt: "),
        (["predict", "ds", "-o", "p.parquet"], 2, "Missing option '--model'."),
        (["predict", "dss", "-o", "p.parquet", *ECHO], 2, "dss: no such file or folder. Did you mean ds?"),
        (["predict", "ds", "-o", "p.parquet", "--model", "x", "--backend", "ehco"], 2, "Did you mean echo?"),
        (["predict", "ds", "-o", "p.parquet", *ECHO, "--limit", "x"], 2, "Invalid value for '--limit'"),
        (["predict", "answers.tsv", "-o", "p.parquet", *ECHO], 2, "mmconvert convert answers.tsv -o answers"),
        (["list", "recipe"], 2, "unknown kind 'recipe'. Did you mean recipes?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_message(arguments: list[str], code: int, message: str, scene: Path) -> None:
    before = sorted(path.name for path in scene.iterdir())
    ended = mmscore(*arguments)
    said = one_message(ended, "mmscore")
    assert message in said
    assert names_next_step(said)
    assert ended.code == code
    assert sorted(path.name for path in scene.iterdir()) == before


def test_no_argument_shows_the_commands() -> None:
    ended = mmscore()
    assert (ended.code, ended.out) == (2, "")
    assert "score        Score predictions" in ended.err


def test_a_real_process_shows_no_traceback_either() -> None:
    for arguments, code in ((["answer.tsv"], 2), (["damaged.parquet"], 1)):
        ended = subprocess.run(
            [sys.executable, "-m", "mmscore", *arguments], capture_output=True, text=True, timeout=60
        )
        assert (ended.returncode, ended.stdout) == (code, "")
        assert len(ended.stderr.splitlines()) == 1
        assert ended.stderr.startswith("mmscore: ")
