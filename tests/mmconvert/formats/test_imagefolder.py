"""Folders of images as Hugging Face's imagefolder has them."""

import json
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mmconvert
from mmconvert.core.errors import Error
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read
from mmconvert.pipeline.inputs import plan_inputs
from support.records import image_bytes


def images(folder: Path, *names: str) -> Path:
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image_bytes("PNG", number, (8, 8)))
    return folder


def test_a_real_folder_gives_what_datasets_reads(shared: Path, tmp_path: Path) -> None:
    folder = shared / "real/field/imagefolder"
    mmconvert.convert(folder, tmp_path / "out")
    found = datasets.load_dataset(str(tmp_path / "out"))
    theirs = datasets.load_dataset("imagefolder", data_dir=str(folder), cache_dir=str(tmp_path / "cache"))
    assert [*found] == [*theirs] == ["train"]
    assert found["train"]["answer"][:] == theirs["train"]["text"][:]
    assert [row["images"][0].size for row in found["train"]] == [row["image"].size for row in theirs["train"]]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_metadata_of_every_kind_names_the_images(tmp_path: Path, suffix: str) -> None:
    names = ("file_name", "question", "answer")
    rows = [dict(zip(names, row, strict=True)) for row in (("b.png", "Which?", "one"), ("in/a.png", "Who?", "two"))]
    path = images(tmp_path / "set", "b.png", "in/a.png") / f"metadata.{suffix}"
    if suffix == "csv":
        path.write_text("file_name,question,answer\nb.png,Which?,one\nin/a.png,Who?,two\n")
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    for source in (tmp_path / "set", path):
        records = read(source)
        found = [(row.question, row.answer, row.images[0].name) for row in records]
        assert (records.format, found) == ("imagefolder", [("Which?", "one", "b.png"), ("Who?", "two", "in/a.png")])


def test_metadata_in_several_folders_numbers_all_rows(tmp_path: Path) -> None:
    folder = images(tmp_path / "set", "one/a.png", "two/a.png")
    for name in ("one", "two"):
        (folder / name / "metadata.csv").write_text(f"file_name,caption\na.png,{name}\n")
    rows = list(read(folder))
    assert [(row.id, row.answer, row.images[0].name) for row in rows] == [
        ("000000000", "one", "one/a.png"),
        ("000000001", "two", "two/a.png"),
    ]


def test_several_images_of_a_row_are_shown_in_order(tmp_path: Path) -> None:
    folder = images(tmp_path / "set", "a.png", "b.png", "c.png")
    row = {"first_file_name": "a.png", "other_file_names": ["c.png", "b.png"], "question": "Which differs?"}
    (folder / "metadata.jsonl").write_text(json.dumps(row) + "\n")
    (record,) = read(folder)
    assert [image.name for image in record.images] == ["a.png", "c.png", "b.png"]


def test_folders_of_one_depth_are_classes(tmp_path: Path) -> None:
    folder = images(tmp_path / "set", "cat/1.png", "cat/2.png", "dog/1.png")
    (folder / "README.md").write_text("# Cats and dogs")
    rows = list(read(folder))
    assert [row.answer for row in rows] == ["cat", "cat", "dog"]
    assert {row.question for row in rows} == {"What is shown in the image?"}
    theirs = datasets.load_dataset("imagefolder", data_dir=str(folder), cache_dir=str(tmp_path / "cache"))["train"]
    assert [theirs.features["label"].int2str(row["label"]) for row in theirs] == [row.answer for row in rows]


def test_splits_become_splits(tmp_path: Path) -> None:
    folder = images(tmp_path / "set", "train/cat/1.png", "train/dog/1.png", "val/cat/1.png", "val/dog/2.png")
    assert {source.split: source.path.name for source in plan_inputs([str(folder)])} == {
        "train": "train",
        "validation": "val",
    }
    assert [source.split for source in plan_inputs([str(folder)], split="dev")] == ["dev"]


def test_images_alone_need_a_question(tmp_path: Path) -> None:
    folder = images(tmp_path / "set", "a.png", "b.png")
    assert [source.path for source in plan_inputs([str(folder)])] == [folder]
    records = read(folder)
    assert (list(records), {reject.code for reject in records.rejects}) == ([], {"question.missing"})
    asked = read(folder, mapping=("question=:What is it?",))
    assert [row.question for row in asked] == ["What is it?"] * 2


def test_the_users_mapping_counts_before_its_own(tmp_path: Path) -> None:
    folder = images(tmp_path / "set", "a.png")
    (folder / "metadata.csv").write_text("file_name,text,label\na.png,Which?,cat\n")
    (row,) = read(folder, mapping=("question=text",))
    assert (row.question, row.answer) == ("Which?", "cat")


def test_a_missing_image_is_refused_by_name(tmp_path: Path) -> None:
    folder = images(tmp_path / "set", "a.png")
    (folder / "metadata.csv").write_text("file_name,text\na.png,one\nb.png,two\n")
    records = read(folder)
    assert [row.answer for row in records] == ["one"]
    assert [(reject.code, reject.field) for reject in records.rejects] == [("image.missing", "file_name")]


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = images(tmp_path / "set", "cat/1.png", "dog/1.png")
    (folder / "cat/2.png").symlink_to(images(tmp_path, "secret.png") / "secret.png")
    with pytest.raises(Error, match="leads out of"):
        list(read(folder))


def test_folders_with_other_files_are_no_imagefolder(tmp_path: Path) -> None:
    folder = images(tmp_path / "set", "cat/1.png")
    (folder / "cat/notes.txt").write_text("x")
    with pytest.raises(Error, match=r"notes\.txt is not an image"):
        guess(folder)


@pytest.mark.parametrize("name", ["test", "dog"])
def test_a_linked_folder_is_refused_and_not_left_out(tmp_path: Path, name: str) -> None:
    folder = images(tmp_path / "set", "train/cat/1.png")
    (folder / name).symlink_to(images(tmp_path / "other", "2.png"))
    (source,) = plan_inputs([str(folder)])
    with pytest.raises(Error, match=f"{name}: is a link to a folder"):
        list(read(source.path, "imagefolder"))


def test_a_metadata_file_of_something_else_makes_no_imagefolder(tmp_path: Path) -> None:
    folder = images(tmp_path / "set", "in/1.png")
    (folder / "in/metadata.jsonl").write_text('{"model": "m"}\n')
    with pytest.raises(Error, match="no column 'file_name' in metadata"):
        guess(folder)
