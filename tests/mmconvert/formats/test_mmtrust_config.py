"""MMTrustEval's dataset configurations: which files they may name, and what annotations say."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmconvert.core.errors import Error
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read
from support.records import image_bytes

ROWS = [{"image": "a.png", "query": "Is it?", "truth": "Yes"}, {"image": "b.png", "text": "Was it?", "query": "kept"}]


def configured(folder: Path, rows: Any = ROWS, config: str = "annotation_file: rows.json\nimage_dir: images\n") -> Path:
    (folder / "images").mkdir(exist_ok=True)
    for name in ("a", "b"):
        (folder / f"images/{name}.png").write_bytes(image_bytes("PNG"))
    (folder / "rows.json").write_text(json.dumps(rows))
    (folder / "vispr-recognition.yaml").write_text(config)
    return folder / "vispr-recognition.yaml"


def test_annotations_become_rows_of_the_dataset_that_the_file_is_named_after(tmp_path: Path) -> None:
    file = configured(tmp_path)
    assert guess(file)[0] == "mmtrust_config"
    first, second = read(file)
    assert (first.question, first.answer, first.label) == ("Is it?", "Yes", '"Yes"')
    assert (first.dataset, first.images[0].name) == ("vispr-recognition", "images/a.png")
    assert (second.question, second.extra, second.label) == ("Was it?", {"query": "kept"}, None)


def test_annotations_may_be_json_lines_and_paths_those_of_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "configs").mkdir()
    file = configured(tmp_path / "configs", config="annotation_file: ./data/rows.jsonl\nimage_dir: ./configs/images\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    monkeypatch.chdir(tmp_path)
    records = read(file)
    assert not list(records)
    assert "Give the folder that has it: --image-root=." in str(records.rejects[0])
    assert len(list(read(file, image_roots=(Path(),)))) == 2


def test_an_absolute_folder_of_images_lies_inside_an_image_root(tmp_path: Path) -> None:
    file = configured(tmp_path, config=f"annotation_file: rows.json\nimage_dir: {tmp_path}/images\n")
    assert [record.images[0].name for record in read(file)] == ["images/a.png", "images/b.png"]


def test_keys_of_ours_word_the_question_and_name_the_fields(tmp_path: Path) -> None:
    rows = [{"Img Path": "a.png", "Info Type": "name", "private": 1}, {"Img Path": "b.png", "private": 0}]
    wording = 'text: "What is the {Info Type}? {}"\nimage: Img Path\ntarget: private\n'
    records = read(configured(tmp_path, rows, f"annotation_file: rows.json\nimage_dir: images\n{wording}"))
    (record,) = records
    assert (record.question, record.label, len(record.images)) == ("What is the name? {}", "1", 1)
    assert record.extra == {"Info Type": "name"}
    assert "rows.json:1 Info Type: the prompt template shows it" in str(records.rejects[0])


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("tier: tier_2\n", "names no annotation_file"),
        ("- a\n", "names no annotation_file"),
        ("a: [\n", "cannot be read as YAML"),
        ("annotation_file: missing.json\n", "no such file beside it or in the working folder"),
        ("annotation_file: ../rows.json\n", "no such file beside it or in the working folder"),
        ('annotation_file: "a\\0b"\n', "no such file beside it or in the working folder"),
        ("annotation_file: rows.json\nimage_dir: 3\n", "image_dir: expected a text"),
    ],
)
def test_a_configuration_that_leads_nowhere_is_refused(tmp_path: Path, config: str, message: str) -> None:
    (tmp_path / "rows.json").write_text("[]")
    (tmp_path / "inner").mkdir()
    file = configured(tmp_path / "inner", config=config)
    with pytest.raises(Error, match=f"vispr-recognition.yaml: .*{message}"):
        list(read(file, "mmtrust_config"))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"image": "a.png"}, "expected a text in one of text, query"),
        ({"text": "x", "image": 3}, "expected a path"),
        ({"text": "x", "image": "../rows.json"}, "rows.json"),
        ({"text": "x", "truth": {"a": 1}}, "expected a text, a number or a list"),
    ],
)
def test_annotations_that_are_no_samples_are_refused_by_row(tmp_path: Path, row: Any, message: str) -> None:
    records = read(configured(tmp_path, [row, ROWS[0]]))
    assert len(list(records)) == 1
    assert message in str(records.rejects[0])
