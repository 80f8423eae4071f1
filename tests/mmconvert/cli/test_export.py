"""`mmconvert export`: a dataset back into files, losses told."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from mmconvert.core.errors import UsageError
from mmconvert.core.record import Image, to_arrow
from mmconvert.pipeline.convert import read
from support.datasets_on_disk import record, write_dataset
from support.terminal import mmconvert, one_message

DEMO = Path(__file__).parents[3] / "src/mmconvert/testing/demo/files"


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


def test_images_become_files_on_request(dataset: str) -> None:
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
    assert "row 1 images: a predictions table holds no images" in ended.err
    assert mmconvert("export", dataset, "-o", "back.jsonl", "--to", "predictions", "--allow-rejects").code == 0


def test_metadata_without_a_field_is_said_once_and_the_exit_code_is_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [replace(record(n), category="c", split="dev", answer="a", answers=("a",)) for n in range(12)]
    write_dataset(tmp_path / "ds", {"test": rows})
    ended = mmconvert("export", "ds", "-o", "t.json", "--to", "llava")
    assert ended.code == 0
    assert ended.err.splitlines() == [
        "remark: category (12 rows), split (12 rows): the format has no field for it",
        "remark: answer (12 rows): the reference answer is written as the assistant's turn",
    ]
    said = json.loads(mmconvert("export", "ds", "-o", "t.json", "--to", "llava", "--json").out)
    assert {loss["remark"] for loss in said["losses"]} == {True}
    assert len(said["losses"]) == 36


def test_a_row_that_is_left_out_beside_metadata_makes_the_exit_code_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = replace(record(1), category="c", answer="a", answers=("a",))
    write_dataset(tmp_path / "ds", {"test": [asked, replace(asked, id="2", answer=None, answers=())]})
    ended = mmconvert("export", "ds", "-o", "t.json", "--to", "llava")
    assert ended.code == 3
    assert "row 2 answer: the row is left out" in ended.err.splitlines()[0]
    assert ended.err.splitlines()[1].startswith("remark: category (1 row): ")


def test_the_summary_has_exactly_its_keys(dataset: str) -> None:
    ended = mmconvert("export", dataset, "-o", "back.tsv", "--to", "lmudata", "--json")
    summary = json.loads(ended.out)
    assert summary == {
        "format": "lmudata",
        "output": "back.tsv",
        "rows_read": 4,
        "rows_rejected": 0,
        "rows_unmatched": 0,
        "rows_undrawn": 0,
        "losses": [],
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ds", "-o", "x.tsv", "--to", "lmudta"], "unknown format 'lmudta'. Did you mean lmudata"),
        (["ds", "-o", "x.docx", "--to", "lmudata"], "x.docx: format 'lmudata' is written to .tsv or .csv"),
        (["ds", "-o", "x.json", "--to", "hub_vqa"], "format 'hub_vqa' is only read"),
        (["ds", "-o", "x.tsv", "--to", "mmmu_outputs"], "is written to .json or a folder (FOLDER/). Name the file so."),
        (["dss", "-o", "x.tsv", "--to", "lmudata"], "dss: no such file or folder"),
        (["ds", "-o", "ds", "--to", "lmudata"], "ds: is a dataset, which holds no other files"),
        (["ds", "-o", "new/", "--to", "vmcq"], "format 'vmcq' has no file name by convention. Name the file"),
        (["ds", "-o", "new/", "--to", "vlmevalkit_predictions"], "needs the model, which the first row does not have"),
        (["ds", "-o", "x.tsv", "--to", "lmudata", "--columns", "server"], "format 'lmudata': unknown columns 'server'"),
        (
            ["ds", "-o", "x.xlsx", "--to", "mmbench", "--columns", "sever"],
            "unknown columns 'sever'. Did you mean server? Known: submission, server.",
        ),
        (
            ["ds", "-o", "x.xlsx", "--to", "mmbench", "--images", "files"],
            "format 'mmbench': no 'files' images in a .xlsx file. Leave out --images.",
        ),
        (["ds", "-o", "x.json", "--to", "llava", "--images", "inline"], "Give --images files or original."),
        (["ds", "-o", "x.parquet", "--to", "trl", "--images", "files"], "Give --images inline."),
        (["ds", "-o", "x.jsonl", "--to", "trl", "--images", "inline"], "Give --images files or original."),
        (["ds", "-o", "x.tsv", "--to", "lmudata", "--image-dir", "p"], "Give --images files or original with it."),
        (["ds", "-o", "x.parquet", "--to", "mmmu", "--image-dir", "p"], "Leave out --image-dir."),
        (["ds", "-o", "x.jsonl", "--to", "vmcq", "--csv-safe"], "--csv-safe is for .tsv and .csv files."),
        (["ds", "-o", "x.tsv", "--to", "lmudata", "--config-name", "zh"], "ds: no config 'zh'. Known: default."),
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
    outside = replace(inside, images=(replace(inside.images[0], name="../../evil.png"),))
    write_dataset(tmp_path / "ds", {"test": [outside]})
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


def test_a_folder_gets_a_file_of_the_conventional_name(dataset: str) -> None:
    ended = mmconvert("export", dataset, "-o", "root/", "--to", "lmudata", "--json")
    assert ended.code == 2
    assert "needs the dataset" in one_message(ended)
    mmconvert("convert", DEMO / "lmudata/Colours.tsv", "-o", "named", "--dataset", "Mine", "--quiet")
    assert not Path("root").exists()
    ended = mmconvert("export", "named", "-o", "root/", "--to", "lmudata", "--json")
    assert (ended.code, json.loads(ended.out)["output"]) == (0, "root/Mine.tsv")
    assert len(list(read("root/Mine.tsv", "lmudata"))) == 4


def predictions(folder: Path, method: str = "generate", **columns: object) -> Path:
    row = {
        "options": ["x", "y"],
        "answer": "A",
        "prediction": "B",
        "method": method,
        "model": "org/model-7b",
        **columns,
    }
    answered = {**to_arrow([record(1)]).to_pylist()[0], **row}
    pq.write_table(pa.Table.from_pylist([answered]), folder / "p.parquet")
    return folder / "p.parquet"


@pytest.mark.parametrize(
    ("to", "columns", "name"),
    [
        ("vlmevalkit_predictions", {}, "model-7b_MME.xlsx"),
        ("vlmevalkit_predictions", {"dataset": "../../up"}, "model-7b_.._.._up.xlsx"),
        ("reform_predictions", {}, "MME_SingleChoice_generation_model-7b.json"),
        ("reform_predictions", {"method": "likelihood"}, "MME_SingleChoice_likelihood_model-7b.json"),
        ("reform_predictions", {"options": [], "task": "ocr"}, "MME_OCROpenEnded_generation_model-7b.json"),
        ("mmmu_pro_outputs", {"subset": "vision"}, "model-7b_vision_direct.jsonl"),
        ("pope", {"category": "random"}, "model-7b_coco_pope_random.json"),
    ],
)
def test_results_are_named_as_their_kit_names_them(
    to: str, columns: dict[str, object], name: str, tmp_path: Path
) -> None:
    source = predictions(tmp_path, **{"dataset": "MME", **columns})
    ended = mmconvert("export", source, "-o", tmp_path / "out", "--to", to)
    assert ended.code == 2
    (tmp_path / "out").mkdir()
    assert mmconvert("export", source, "-o", tmp_path / "out", "--to", to, "--allow-rejects").code == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]


def test_what_a_likelihood_run_chose_is_an_index_for_reform_eval(tmp_path: Path) -> None:
    mmconvert("export", predictions(tmp_path, "likelihood"), "-o", tmp_path / "p.json", "--to", "reform_predictions")
    assert json.loads((tmp_path / "p.json").read_text())[0]["prediction"] == 1


def test_of_several_configs_one_must_be_named(dataset: str) -> None:
    mmconvert("convert", DEMO / "lmudata/Colours.tsv", "-o", "ds", "--append", "--config-name", "zh", "--limit", "1")
    ended = mmconvert("export", "ds", "-o", "x.tsv", "--to", "lmudata")
    assert (ended.code, one_message(ended)) == (2, "ds: holds several configs. Name one: --config-name default or zh.")
    assert not Path("x.tsv").exists()
    for config, rows in (("default", 4), ("zh", 1)):
        assert mmconvert("export", "ds", "-o", "x.tsv", "--to", "lmudata", "--config-name", config).code == 0
        assert len(list(read("x.tsv", "lmudata"))) == rows
    with pytest.raises(UsageError, match="holds several configs"):
        list(read("ds"))
    assert len(list(read("ds/zh"))) == 1


def test_a_row_whose_image_is_an_address_is_left_out_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = replace(record(2), question="Which?")
    kept = replace(asked, id="1", images=(Image(None, 1, url="https://example.org/a.png"),))
    write_dataset(tmp_path / "ds", {"test": [kept, asked]})
    ended = mmconvert("export", "ds", "-o", "back.tsv", "--to", "lmudata")
    assert ended.code == 3
    assert "row 1 images: the row is left out: the image https://example.org/a.png is only a URL" in ended.err
    assert [r.id for r in read("back.tsv", "lmudata")] == ["2"]


@pytest.mark.parametrize("output", ["out", "out/", "new/model-1.5/"])
def test_a_format_of_folders_fills_the_folder_that_is_named(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mmconvert("convert", DEMO / "mmmu_outputs", "-o", "ds", "--quiet")
    ended = mmconvert("export", "ds", "-o", output, "--to", "mmmu_outputs")
    assert (ended.code, ended.err) == (0, "")
    assert sorted(path.parent.name for path in Path(output).rglob("output.json")) == ["Art", "Math"]
    again = mmconvert("export", "ds", "-o", output, "--to", "mmmu_outputs")
    assert (again.code, "is not an empty folder. Name a new one." in one_message(again)) == (2, True)
