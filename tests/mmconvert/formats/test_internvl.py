"""InternVL's meta file and the rows of its data sets."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmconvert.core.errors import Error
from mmconvert.core.record import Part
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read
from support.records import image_bytes

TEXT, IMAGE = (lambda text: Part("text", text)), Part("image")


def row(question: str = "Q", answer: str = "A", **more: Any) -> dict[str, Any]:
    return {"conversations": [{"from": "human", "value": question}, {"from": "gpt", "value": answer}], **more}


def meta(folder: Path, sets: dict[str, Any], **rows: list[dict[str, Any]]) -> Path:
    """Write a meta file and the annotations that it names."""
    (folder / "pics").mkdir()
    (folder / "pics/a.png").write_bytes(image_bytes("PNG"))
    for name, data in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in data), encoding="utf-8")
    file = folder / "meta.json"
    file.write_text(json.dumps(sets), encoding="utf-8")
    return file


def test_all_sets_are_one_input_whose_ids_name_them(tmp_path: Path) -> None:
    sets = {name: {"root": "pics/", "annotation": f"{name}.jsonl", "repeat_time": 1} for name in ("x", "y")}
    file = meta(tmp_path, sets, x=[row("<image>\nQ", id=7, image="a.png")], y=[row(id=7), row(length=3)])
    assert guess(file)[0] == "internvl"
    first, second, third = read(file)
    assert [(one.id, one.sample) for one in (first, second, third)] == [
        ("x-000000000", "7"),
        ("y-000000000", "7"),
        ("y-000000001", "y-000000001"),
    ]
    assert (first.source.file, third.source.file, third.source.row) == ("x.jsonl", "y.jsonl", 1)
    assert first.messages[0].content == (IMAGE, TEXT("Q"))
    assert first.images[0].name == "pics/a.png"
    assert third.extra == {"length": 3}


def test_below_one_the_first_part_is_taken_and_said(tmp_path: Path) -> None:
    data = [row(f"Q{number}") for number in range(5)]
    records = read(meta(tmp_path, {"x": {"root": "", "annotation": "x.jsonl", "repeat_time": 0.5}}, x=data))
    assert [record.question for record in records] == ["Q0", "Q1"]
    assert [*records.warnings] == ["x: repeat_time 0.5 takes the first 2 of 5 rows"]


@pytest.mark.parametrize("times", [3, 3.0])
def test_above_one_rows_are_copied_and_said(times: float, tmp_path: Path) -> None:
    sets = {"x": {"root": "", "annotation": "x.jsonl", "repeat_time": times}}
    records = read(meta(tmp_path, sets, x=[row("Q"), row("R")]))
    made = list(records)
    assert [record.id for record in made] == [f"x-00000000{n}#{k}" for n in range(2) for k in range(3)]
    assert [record.variant for record in made] == [0, 1, 2] * 2
    assert {record.question for record in made[:3]} == {"Q"}
    assert list(records.warnings.values()) == [2]


def test_one_image_without_a_marker_stands_in_front(tmp_path: Path) -> None:
    data = [row("Q", image="a.png"), row("Q", "<image>", image="a.png")]
    records = read(meta(tmp_path, {"x": {"root": "pics", "annotation": "x.jsonl"}}, x=data))
    first, second = records
    assert first.messages[0].content == second.messages[0].content == (IMAGE, TEXT("Q"))
    assert second.messages[1].content == (TEXT("<image>"),)
    assert list(records.warnings.values()) == [2]


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (row("Q", image=["a.png"]), "placeholder.count"),
        (row("<image><image>Q", image=["a.png"]), "placeholder.count"),
        (row("<image>Q"), "placeholder.count"),
        (row("<image>Q", image="../../a.png"), "image.path"),
        (row("<image>Q", image="b.png"), "image.missing"),
        (row("<image>Q", image=5), "image.type"),
        (row("<video>Q", video="a.mp4"), "media.unsupported"),
        ({"image": "a.png"}, "messages.missing"),
    ],
)
def test_a_bad_row_is_refused_and_names_its_own_file(bad: dict, code: str, tmp_path: Path) -> None:
    records = read(meta(tmp_path, {"x": {"root": "pics", "annotation": "x.jsonl"}}, x=[row(), bad]))
    assert len(list(records)) == 1
    assert (records.rejects[0].code, records.rejects[0].where.file, records.rejects[0].where.line) == (
        code,
        "x.jsonl",
        2,
    )


def test_images_that_are_no_relative_paths_stay_as_they_are(tmp_path: Path) -> None:
    data = [row("<image>Q", image="https://a.example/1.png"), row("<image>Q", image=str(tmp_path / "pics/a.png"))]
    file = meta(tmp_path, {"x": {"root": "elsewhere", "annotation": "x.jsonl"}}, x=data)
    first, second = read(file, keep_urls=True)
    assert first.images[0].url == "https://a.example/1.png"
    assert second.images[0].name == "pics/a.png"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"annotation": "none.jsonl"}, r"x\.annotation: no such file beside it"),
        ({"annotation": "../x.jsonl"}, r"x\.annotation: no such file beside it"),
        ({"annotation": "x.jsonl", "root": 5}, r"x\.root: expected a text"),
        ({"annotation": "x.jsonl", "repeat_time": "2"}, r"x\.repeat_time: expected a number"),
        ({"annotation": "x.jsonl", "repeat_time": True}, r"x\.repeat_time: expected a number"),
        ({"annotation": "x.jsonl", "repeat_time": -1}, r"x\.repeat_time: expected a number"),
        ({"annotation": "x.jsonl", "repeat_time": 100_000}, r"x\.repeat_time: expected a number up to 1,000"),
        ({"annotation": "x.jsonl", "repeat_time": 1.5}, r"x\.repeat_time: InternVL takes whole numbers above 1"),
        ({"root": ""}, "x: expected an object with 'annotation'"),
    ],
)
def test_a_set_that_cannot_be_read_refuses_the_file(entry: dict, words: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "x.jsonl").write_text(json.dumps(row()) + "\n")
    file = meta(folder, {"x": entry}, x=[row()])
    with pytest.raises(Error, match=words):
        list(read(file, "internvl"))


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "secret.jsonl").write_text(json.dumps(row()) + "\n")
    file = meta(folder, {"x": {"root": "", "annotation": "x.jsonl"}})
    (folder / "x.jsonl").symlink_to(tmp_path / "secret.jsonl")
    with pytest.raises(Error, match="no such file beside it"):
        list(read(file, "internvl"))


def test_preferences_and_other_objects_are_no_training_rows(tmp_path: Path) -> None:
    data = [{"image": "a.png", "question": "Q", "chosen": "A", "rejected": "B"}]
    file = meta(tmp_path, {"x": {"root": "pics", "annotation": "x.jsonl"}}, x=data)
    with pytest.raises(Error, match="internvl: its rows are preferences"):
        guess(file)
    (tmp_path / "info.json").write_text('{"x": {"file_name": "x.jsonl"}, "y": {"file_name": "y.jsonl"}}')
    with pytest.raises(Error, match=r"none of the formats|no column"):
        guess(tmp_path / "info.json")
