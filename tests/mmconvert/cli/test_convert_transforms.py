"""`mmconvert convert --transform`: from the command line to the dataset, and what a slip costs."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from mmconvert.dataset.dataset import open_dataset
from support.drawing import pixels
from support.records import image_bytes

RUN = "from mmconvert.cli import main; main()"


def mmconvert(*arguments):
    command = [sys.executable, "-c", RUN, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def source(tmp_path):
    (tmp_path / "cat.png").write_bytes(image_bytes("PNG", 1, (20, 15)))
    content = [{"type": "image_url", "image_url": {"url": "cat.png"}}, {"type": "text", "text": "How many?"}]
    rows = [
        {"id": str(n), "messages": [{"role": "user", "content": content}], "answer": str(n), "bbox": box}
        for n, box in enumerate([[1, 2, 9, 9], [90, 90, 1, 1], [3, 3, 4, 4]])
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_transforms_run_in_order_and_refuse_rows_by_name(source, tmp_path):
    out = tmp_path / "out"
    done = mmconvert(
        "convert", source, "-o", out, "--json", "--seed", 5,
        "--transform", "draw_boxes:width=1", "--transform", "crop_box:slot=1",
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["rows_read"], summary["rows_written"], summary["rows_rejected"]) == (3, 2, 1)
    (reject,) = [json.loads(line) for line in (tmp_path / "out.rejects.jsonl").read_text().splitlines()]
    assert (reject["row"], reject["line"], reject["id"], reject["field"], reject["code"]) == (
        1, 2, "1", "bbox", "box.outside",
    )  # fmt: skip
    first, second = open_dataset(out).records()
    assert (pixels(first.images[0]).size, pixels(second.images[0]).size) == ((9, 9), (4, 4))
    assert pixels(first.images[0]).getpixel((0, 0)) == (255, 0, 0)
    assert [note["name"] for note in first.extra["transforms"]] == ["draw_boxes", "crop_box"]
    options = json.loads((out / ".mmconvert/manifest.json").read_text())
    assert "draw_boxes:width=1" in json.dumps(options)


@pytest.mark.slow
def test_a_dataset_of_ours_is_transformed_like_any_file(source, tmp_path):
    assert mmconvert("convert", source, "-o", tmp_path / "plain", "--quiet").returncode == 0
    for name in ("one", "two"):
        done = mmconvert("convert", tmp_path / "plain", "-o", tmp_path / name, "--transform", "noise_image:size=8x8")
        assert done.returncode == 0, done.stderr
    shards = [next((tmp_path / name).glob("data/*.parquet")) for name in ("one", "two")]
    assert shards[0].read_bytes() == shards[1].read_bytes()
    rows = pq.read_table(shards[0]).to_pylist()
    assert [len(row["images"]) for row in rows] == [1, 1, 1]
    assert [row["attachments"][0]["image"]["bytes"] for row in rows] == [image_bytes("PNG", 1, (20, 15))] * 3


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("draw_box", "unknown transform 'draw_box'. Did you mean draw_boxes"),
        ("draw_boxes:wdth=1", "unknown parameter 'wdth'. Did you mean width"),
        ("draw_boxes:width=one", "must be a whole number (got 'one')"),
        ("draw_boxes:width", "key=value"),
    ],
)
def test_a_slip_is_wrong_usage_and_publishes_nothing(source, tmp_path, spec, told):
    done = mmconvert("convert", source, "-o", tmp_path / "out", "--transform", spec)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
