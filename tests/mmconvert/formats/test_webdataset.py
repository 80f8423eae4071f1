"""WebDataset: what is written streams in `datasets` and reads back equal; what is read is checked."""

import hashlib
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import datasets
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mmconvert.core.record import Image, Part, Record, Turn
from mmconvert.dataset.dataset import open_dataset
from mmconvert.formats import webdataset
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from support.datasets_on_disk import make_image, record
from support.records import checked, records
from support.terminal import mmconvert

NEEDS_JSON = pytest.mark.skipif(not hasattr(datasets, "Json"), reason="datasets reads JSON of several shapes since 4.8")


def answered(number: int, **fields: Any) -> Record:
    image = checked("PNG", 0, 1)
    turns = (*record(number).messages, Turn("assistant", (Part("text", "Yes."),)))
    return replace(record(number, image), messages=turns, answer="a", answers=("a",), label='"a"', **fields)


def names(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        return archive.getnames()


def pack(path: Path, *samples: dict[str, bytes | dict[str, Any]]) -> Path:
    with tarfile.open(path, "w") as archive:
        for number, files in enumerate(samples):
            for name, value in files.items():
                data = value if isinstance(value, bytes) else json.dumps(value).encode()
                info = tarfile.TarInfo(f"{number}.{name}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return path


SHOWN: dict[str, Any] = {"messages": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Q?"}]}]}


@pytest.mark.parametrize("place", ["out", "out.tar"])
@given(given_records=st.lists(records(pairs=True), min_size=1, max_size=3, unique_by=lambda one: one.id))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_records_read_back_equal(place: str, tmp_path_factory: pytest.TempPathFactory, given_records) -> None:
    path = tmp_path_factory.mktemp("tar") / place
    losses = write(given_records, Target(path), "webdataset")
    left_out = {loss.id for loss in losses if loss.left_out}
    if len(left_out) < len(given_records):
        assert list(read(path, "webdataset")) == [one for one in given_records if one.id not in left_out]


def test_the_layout_is_webdatasets(tmp_path: Path) -> None:
    hidden = replace(checked("PNG", 5, 2), slot=2)
    first = answered(1, attachments=(hidden,), extra={"n": None})
    assert write([first, answered(2)], Target(tmp_path / "shards"), "webdataset")[0].field == "files"
    assert [file.name for file in (tmp_path / "shards").iterdir()] == ["shards-000000.tar"]
    path = tmp_path / "shards/shards-000000.tar"
    assert names(path) == [
        *("000000000.0.png", "000000000.attachment.0.png", "000000000.json"),
        *("000000001.0.png", "000000001.json"),
    ]
    with tarfile.open(path) as archive:
        fields = json.load(archive.extractfile("000000000.json"))
    assert (fields["id"], fields["extra"], fields["label"]) == ("1", '{"n":null}', '"a"')
    assert fields["messages"][0]["content"][0] == {"type": "image", "text": ""}
    assert not [value for value in fields.values() if value is None or value == []]
    assert guess(tmp_path / "shards")[0] == guess(path)[0] == "webdataset"


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write([answered(1), answered(2)], Target(tmp_path / f"{name}.tar"), "webdataset")
    one, two = (hashlib.sha256((tmp_path / f"{name}.tar").read_bytes()).hexdigest() for name in "ab")
    assert one == two


@pytest.mark.parametrize(("limit", "value"), [("MOST_SAMPLES", 2), ("MOST_BYTES", 16_000)])
def test_shards_are_bounded_and_read_as_one(
    limit: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webdataset, limit, value)
    rows = [answered(number, question="q" * 1000) for number in range(7)]
    write(rows, Target(tmp_path / "out"), "webdataset")
    shards = sorted((tmp_path / "out").iterdir())
    assert [shard.name for shard in shards] == [f"out-{number:06d}.tar" for number in range(len(shards))]
    assert len(shards) > 2
    assert all(shard.stat().st_size <= max(value, 16_000) for shard in shards)
    keys = [name.partition(".")[0] for shard in shards for name in names(shard) if name.endswith("json")]
    assert keys == [f"{number:09d}" for number in range(7)]
    assert list(read(tmp_path / "out")) == rows
    write(rows, Target(tmp_path / "out.tar"), "webdataset")
    assert list(read(tmp_path / "out.tar")) == rows


@NEEDS_JSON
def test_datasets_streams_and_loads_it(tmp_path: Path) -> None:
    rows = [answered(number, category="c" if number > 5 else None) for number in range(8)]
    assert write(rows, Target(tmp_path / "out"), "webdataset") == []
    files = {"train": str(tmp_path / "out/*.tar")}
    for streaming in (False, True):
        loaded = list(datasets.load_dataset("webdataset", data_files=files, split="train", streaming=streaming,
                                            cache_dir=str(tmp_path / "cache")))  # fmt: skip
        assert [row["__key__"] for row in loaded] == [f"{number:09d}" for number in range(8)]
        assert [row["0.png"].size for row in loaded] == [
            (image.width, image.height) for (image,) in [r.images for r in rows]
        ]
        assert [row["json"]["id"] for row in loaded] == [row.id for row in rows]
        assert loaded[0]["json"]["messages"][-1]["role"] == "assistant"


@NEEDS_JSON
def test_rows_of_other_images_are_remarked_upon_and_load_with_the_features_that_are_named(tmp_path: Path) -> None:
    pair = answered(2)
    turn = Turn("user", (Part("image"), *pair.messages[0].content))
    pair = replace(
        pair, messages=(turn, *pair.messages[1:]), images=(*pair.images, replace(checked("JPEG", 0, 1), slot=2))
    )
    losses = write([answered(1), pair], Target(tmp_path / "a.tar"), "webdataset")
    assert [(loss.id, loss.field, loss.remark) for loss in losses] == [("2", "files", True)]
    assert "features=" in losses[0].message
    features = datasets.Features(
        {"__key__": datasets.Value("string"), "__url__": datasets.Value("string"), "json": datasets.Json()}
        | {name: datasets.Image() for name in ("0.png", "1.jpg")}
    )
    files, cache = {"train": str(tmp_path / "a.tar")}, str(tmp_path / "cache")
    loaded = datasets.load_dataset("webdataset", data_files=files, split="train", features=features, cache_dir=cache)
    assert [loaded[row]["1.jpg"] is None for row in range(2)] == [True, False]
    assert [loaded[row]["json"]["id"] for row in range(2)] == ["1", "2"]


def test_a_dataset_is_exported_and_converted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write([answered(1), answered(2)], Target(tmp_path / "in"), "webdataset")
    assert mmconvert("convert", "in", "-o", "ds", "--quiet").code == 0
    before = list(open_dataset(tmp_path / "ds").records())
    ended = mmconvert("export", "ds", "-o", "shards/", "--to", "webdataset")
    assert (ended.code, ended.err) == (0, "")
    assert list(read("shards")) == before
    assert (tmp_path / "in/in-000000.tar").read_bytes() == (tmp_path / "shards/shards-000000.tar").read_bytes()


def test_a_row_whose_image_is_an_address_is_left_out_by_name(tmp_path: Path) -> None:
    kept = replace(answered(1), images=(Image(None, 1, url="https://a.example/x.png"),))
    losses = write([kept, answered(2)], Target(tmp_path / "a.tar"), "webdataset")
    assert [(loss.id, loss.field, loss.left_out) for loss in losses] == [("1", "images", True)]
    assert [row.id for row in read(tmp_path / "a.tar")] == ["2"]


@pytest.mark.parametrize("name", ["png", "0.png", "7.PNG"])
def test_samples_of_others_are_read_by_their_messages(name: str, tmp_path: Path) -> None:
    talk = {"messages": [*SHOWN["messages"], {"role": "assistant", "content": "A."}], "topic": 3}
    records = read(pack(tmp_path / "a.tar", {name: make_image(1), "json": talk, "txt": b"A."}))
    (row,) = records
    assert (row.sample, row.task, row.extra) == ("0", "chat", {"topic": 3})
    assert [part.type for part in row.messages[0].content] == ["image", "text"]
    assert row.images[0].bytes == make_image(1)
    assert list(records.warnings.values()) == [1]


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"0.png": make_image(1)}, "messages.missing"),
        ({"json": b"[1]"}, "json.type"),
        ({"json": b"\xff"}, "text.encoding"),
        ({"json": b'{"a":'}, "json.syntax"),
        ({"json": SHOWN}, "placeholder.count"),
        ({"0.png": make_image(1), "1.png": make_image(2), "json": SHOWN}, "placeholder.count"),
        ({"0.png": make_image(1), "0.jpg": make_image(2), "json": SHOWN}, "image.twice"),
        ({"0.png": b"no picture", "json": SHOWN}, "image.format"),
        ({"0.png": make_image(1), "mp4": b"", "json": SHOWN}, "media.unsupported"),
        ({"json": {"sample": "1", "task": "vqa", "id": "1", "messages": 3}}, "record.shape"),
        ({"json": {"sample": "1", "task": "vqa", "messages": []}}, "id.type"),
        ({"json": {"messages": [{"role": "user", "content": [{"type": "video"}]}]}}, "media.unsupported"),
        ({"json": {"messages": [{"role": "user", "content": [{"type": "text"}]}]}}, "messages.part"),
    ],
)
def test_a_bad_sample_is_refused_by_name_and_the_others_go_on(
    files: dict[str, bytes | dict[str, Any]], code: str, tmp_path: Path
) -> None:
    good: dict[str, bytes | dict[str, Any]] = {"0.png": make_image(1), "json": SHOWN}
    records = read(pack(tmp_path / "a.tar", good, files, good), "webdataset")
    assert len(list(records)) == 2
    assert [(reject.where.row, reject.code) for reject in records.rejects] == [(1, code)]


def test_a_folder_with_other_files_is_none(tmp_path: Path) -> None:
    pack(tmp_path / "a.tar", {"json": {"messages": SHOWN["messages"]}})
    assert webdataset.FORMAT.mismatch(webdataset.Sample(tmp_path, "", (), ())) is None
    (tmp_path / "notes.md").write_text("x")
    assert "not all of its files" in (webdataset.FORMAT.mismatch(webdataset.Sample(tmp_path, "", (), ())) or "")


def test_tar_and_find_write_the_same_layout(tmp_path: Path) -> None:
    for name, data in {"k.0.png": make_image(1), "k.json": json.dumps(SHOWN).encode()}.items():
        (tmp_path / name).write_bytes(data)
    subprocess.run([sys.executable, "-m", "tarfile", "-c", "a.tar", "k.0.png", "k.json"], cwd=tmp_path, check=True)
    assert [row.sample for row in read(tmp_path / "a.tar")] == ["k"]
