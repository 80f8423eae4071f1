"""General-VMCQ: where the images of a row may stand."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from mmconvert.pipeline.convert import Records, read, write
from mmconvert.plugins.format import Target
from support.records import image_bytes
from support.videos import make_video

RED, BLUE = image_bytes("PNG", 200), image_bytes("JPEG")
ROW = {"question": "<image 1> or <image 2>?", "options": ["a", "b"], "answer": "A"}
RED_BASE64 = base64.b64encode(RED).decode()


def opened(folder: Path, *rows: dict[str, Any]) -> Records:
    (folder / "red.png").write_bytes(RED)
    (folder / "blue.jpg").write_bytes(BLUE)
    (folder / "rows.jsonl").write_text("".join(json.dumps({**ROW, **row}) + "\n" for row in rows))
    return read(folder / "rows.jsonl", "vmcq")


@pytest.mark.parametrize(
    "images",
    [
        {"image_1": {"path": "red.png"}, "image_2": {"bytes": None, "path": "blue.jpg"}},
        {"image_1": {"bytes": RED_BASE64, "path": "x.png"}, "image_2": "blue.jpg"},
        {"image_1": {"url": f"data:image/png;base64,{RED_BASE64}"}, "image_2": "blue.jpg"},
        {"images": ["red.png", "blue.jpg"]},
        {"images": [{"path": "red.png"}, {"bytes": base64.b64encode(BLUE).decode()}]},
        {"images": "['red.png', 'blue.jpg']"},
        {"images": "red.png", "image_2": "blue.jpg"},
        {"images": [None, "blue.jpg"], "image_1": "red.png"},
        {"images": [{"bytes": None, "path": None}, "blue.jpg"], "image_1": "red.png"},
    ],
)
def test_an_image_is_a_reference_or_an_object_in_a_column_of_its_own_or_in_a_list(
    images: dict[str, Any], tmp_path: Path
) -> None:
    records = opened(tmp_path, images)
    (record,) = records
    assert ([image.bytes for image in record.images], [image.slot for image in record.images]) == ([RED, BLUE], [1, 2])
    assert record.extra == {}
    assert write(records, Target(tmp_path / "again.jsonl"), "vmcq") == []
    (again,) = read(tmp_path / "again.jsonl", "vmcq")
    assert [image.sha256 for image in again.images] == [image.sha256 for image in record.images]


def test_a_table_may_list_its_images_and_those_that_are_not_shown_are_attached(tmp_path: Path) -> None:
    opened(tmp_path)
    (tmp_path / "t.tsv").write_text('question\toptions\timages\n<image 2>?\t["a", "b"]\t["red.png", "blue.jpg"]\n')
    (record,) = read(tmp_path / "t.tsv", "vmcq")
    assert [image.bytes for image in record.images] == [BLUE]
    assert [image.bytes for image in record.attachments] == [RED]


@pytest.mark.parametrize(
    ("images", "code", "field"),
    [
        ({"images": ["red.png", "blue.jpg"], "image_1": "red.png"}, "image.twice", "images[0]"),
        ({"images": ["red.png", 5]}, "image.type", "images[1]"),
        ({"images": ["red.png", "../blue.jpg"]}, "image.path", "images[1]"),
        ({"images": ["red.png"]}, "placeholder.no_image", "question"),
        ({"images": "[open('x')]"}, "list.syntax", "images"),
        ({"image_1": {"name": "red.png"}, "image_2": "blue.jpg"}, "image.type", "image_1"),
        ({"image_1": {"bytes": "red.png"}, "image_2": "blue.jpg"}, "image.base64", "image_1"),
        ({"image_1": {"path": "/etc/passwd"}, "image_2": "blue.jpg"}, "image.path", "image_1"),
        ({"image_1": 5, "image_2": "blue.jpg"}, "image.type", "image_1"),
    ],
)
def test_an_image_of_another_kind_refuses_its_row(
    images: dict[str, Any], code: str, field: str, tmp_path: Path
) -> None:
    records = opened(tmp_path, images, {"images": ["red.png", "blue.jpg"]})
    assert len(list(records)) == 1
    assert [(reject.code, reject.field) for reject in records.rejects] == [(code, field)]


def test_a_row_with_more_images_than_the_format_has_columns_is_left_out_and_named(tmp_path: Path) -> None:
    make_video(tmp_path / "a.mp4", frames=130)
    source = tmp_path / "q.jsonl"
    source.write_text('{"question": "<video 1>?", "options": ["a", "b"], "answer": "A", "video_1": "a.mp4"}\n')
    for frames, lost in ((100, []), (101, ["images"])):
        losses = write(read(source, frames=frames), Target(tmp_path / "back.jsonl"), "vmcq")
        assert [loss.field for loss in losses if loss.left_out] == lost
        if not lost:
            assert [len(record.images) for record in read(tmp_path / "back.jsonl", "vmcq")] == [frames]
