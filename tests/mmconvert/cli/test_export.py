"""`mmconvert export`: a dataset back into files, losses told."""

import json
from pathlib import Path

import pytest

from mmconvert.convert import read
from support.datasets_on_disk import record, write_dataset
from support.terminal import mmconvert, one_message

DEMO = Path(__file__).parents[3] / "src/mmconvert/demo/files"


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    mmconvert("convert", DEMO / "lmudata/Colours.tsv", "-o", "ds", "--format", "lmudata", "--quiet")
    return "ds"


def test_what_is_exported_reads_back_equal(dataset: str) -> None:
    ended = mmconvert("export", dataset, "-o", "new/back.tsv", "--to", "lmudata")
    assert (ended.code, ended.out, ended.err) == (0, "new/back.tsv: 4 rows as lmudata\n", "")
    back = [(r.id, r.question, r.options, r.answer, r.images) for r in read("new/back.tsv", "lmudata")]
    assert back == [(r.id, r.question, r.options, r.answer, r.images) for r in read(dataset, "mmconvert")]


def test_pictures_become_files_on_request(dataset: str) -> None:
    ended = mmconvert(
        "export", dataset, "-o", "back.tsv", "--to", "lmudata", "--images", "files", "--image-dir", "pics"
    )
    assert ended.code == 0, ended.err
    names = {path.name for path in Path("pics").iterdir()}
    assert names == {
        f"{i.sha256[:16]}.{ {'PNG': 'png', 'JPEG': 'jpg'}[i.format] }" for r in read(dataset) for i in r.images
    }


def test_what_is_lost_is_said_row_by_row(dataset: str) -> None:
    ended = mmconvert("export", dataset, "-o", "back.jsonl", "--to", "predictions")
    assert ended.code == 3
    assert "row 1 images: a predictions table holds no pictures" in ended.err
    assert mmconvert("export", dataset, "-o", "back.jsonl", "--to", "predictions", "--allow-rejects").code == 0


def test_the_summary_has_exactly_its_keys(dataset: str) -> None:
    ended = mmconvert("export", dataset, "-o", "back.tsv", "--to", "lmudata", "--json")
    summary = json.loads(ended.out)
    assert summary == {"format": "lmudata", "output": "back.tsv", "rows_read": 4, "rows_rejected": 0, "losses": []}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ds", "-o", "x.tsv", "--to", "lmudta"], "unknown format 'lmudta'. Did you mean lmudata"),
        (["ds", "-o", "x.docx", "--to", "lmudata"], "x.docx: format 'lmudata' is written to .tsv or .csv"),
        (["ds", "-o", "x.json", "--to", "mmmu_outputs"], "format 'mmmu_outputs' is only read"),
        (["dss", "-o", "x.tsv", "--to", "lmudata"], "'dss' does not exist"),
        (["ds", "-o", "ds", "--to", "lmudata"], "'ds' is a directory"),
        (["ds", "--to", "lmudata"], "Missing option '-o'"),
    ],
)
def test_a_mistake_is_one_message_and_writes_nothing(arguments: list[str], message: str, dataset: str) -> None:
    before = sorted(path.name for path in Path().iterdir())
    ended = mmconvert("export", *arguments)
    assert ended.code == 2
    assert message in one_message(ended)
    assert sorted(path.name for path in Path().iterdir()) == before


def test_a_damaged_dataset_writes_nothing(dataset: str) -> None:
    Path(dataset, "data/test-00000-of-00001.parquet").write_bytes(b"PAR1 gone")
    ended = mmconvert("export", dataset, "-o", "back.tsv", "--to", "lmudata")
    assert ended.code == 1
    assert "Run mmconvert verify ds" in one_message(ended)
    assert not Path("back.tsv").exists()


def test_a_path_of_a_record_cannot_leave_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inside = record(1)
    image = inside.images[0]
    object.__setattr__(image, "name", "../../evil.png")
    write_dataset(tmp_path / "ds", {"test": [inside]})
    ended = mmconvert(
        "export",
        "ds",
        "-o",
        "deep/back.jsonl",
        "--to",
        "openai_messages",
        "--images",
        "original",
        "--image-dir",
        "deep",
    )
    assert ended.code == 1
    assert "leaves the folder" in one_message(ended)
    assert not Path("evil.png").exists()
    assert not (tmp_path.parent / "evil.png").exists()
