"""Datasets and predictions in an object store: a real S3-compatible server on the loopback interface."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import fsspec
import pytest
from msgspec.structs import replace

import mmscore
from mmconvert.cli import program
from mmconvert.console.app import run
from mmconvert.core.errors import Error, UsageError
from mmconvert.dataset import verify as verification
from mmconvert.dataset.dataset import open_dataset
from mmconvert.dataset.manifest import MANIFEST
from mmconvert.dataset.publish import check_free, send
from mmconvert.dataset.verify import verify
from mmconvert.storage.object_store import _FEW, EXTRAS, _stamp_object, _Stamps, fetch, read_file_name
from mmscore.cli import program as scoring
from mmscore.scoring.evaluate import score
from support.changes import write_change
from support.datasets_on_disk import make_image, record, write_dataset
from support.deferred import defer
from support.hub_client import hub_client
from support.hub_repo import Blob, Repo
from support.predictions import choices, write_predictions
from support.videos import make_video

pytestmark = pytest.mark.slow

pytest.importorskip("s3fs", reason="needs s3fs and moto, of the development extra")
BUCKET = "s3://bucket"


@pytest.fixture
def convert(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            run(program, ["convert", *map(str, arguments)], program="mmconvert")
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return call


SHOWN = {"messages": [{"role": "user", "content": "<image 1> What?"}], "image_1": "0.png", "answer": "a"}


def lines(count: int, bad: bool = False) -> str:
    rows = [{"messages": [{"role": "user", "content": f"question {n}"}], "answer": "a"} for n in range(count)]
    return "".join(json.dumps(row) + "\n" for row in rows) + ("{bad\n" if bad else "")


def test_a_file_of_a_store_becomes_a_dataset_of_the_store(bucket, convert, tmp_path):
    bucket.pipe("bucket/in/talks.jsonl", lines(5, bad=True).encode())
    code, out, _ = convert(f"{BUCKET}/in/talks.jsonl", "-o", f"{BUCKET}/sets/talks", "--json")
    summary = json.loads(out)
    assert (code, summary["rows_written"], summary["output"]) == (3, 5, f"{BUCKET}/sets/talks")
    assert [file.name for file in tmp_path.iterdir()] == ["talks.rejects.jsonl"]
    copy = fetch(f"{BUCKET}/sets/talks")
    assert verify(copy) == []
    assert [row.messages[0].content[0].text for row in open_dataset(copy).records()] == [
        f"question {n}" for n in range(5)
    ]
    assert "/tmp" not in (copy / "README.md").read_text()


LOAD = """
import json, sys
from datasets import load_dataset
rows = {call}
image = rows["test"][0]["images"][0]
print(json.dumps([{{split: len(rows[split]) for split in rows}}, rows["train"][0]["messages"], image.size]))
"""


@pytest.mark.parametrize(
    ("output", "options"), defer([("sets/named/", ["--config-name", "zh"]), ("sets/talks", [])], 1)
)
def test_the_call_that_is_printed_loads_the_dataset_from_the_store(output, options, bucket, convert, tmp_path):
    bucket.pipe({"bucket/talks.jsonl": lines(3).encode(), "bucket/shown.jsonl": json.dumps(SHOWN).encode()})
    bucket.pipe("bucket/0.png", make_image(0))
    inputs = [f"train={BUCKET}/talks.jsonl", f"test={BUCKET}/shown.jsonl"]
    code, out, _ = convert(*inputs, "-o", f"{BUCKET}/{output}", *options)
    call = out.partition("dataset:")[2].splitlines()[0].strip()
    online = {**os.environ, "HF_HUB_OFFLINE": "0", "HF_DATASETS_OFFLINE": "0", "HF_HOME": str(tmp_path / "home")}
    script = [sys.executable, "-c", LOAD.format(call=call)]
    loaded = subprocess.run(script, env=online, capture_output=True, text=True, check=False)
    assert (code, loaded.returncode) == (0, 0), loaded.stderr
    turns = [{"role": "user", "content": [{"type": "text", "text": "question 0"}]}]
    assert json.loads(loaded.stdout) == [{"train": 3, "test": 1}, turns, [3, 2]]


def test_a_dataset_of_the_store_is_an_input_and_is_replaced_only_when_told_so(bucket, convert, tmp_path):
    bucket.pipe("bucket/talks.jsonl", lines(3).encode())
    place = f"{BUCKET}/set"
    assert convert(f"{BUCKET}/talks.jsonl", "-o", place)[0] == 0
    assert convert(place, "-o", tmp_path / "again")[0] == 0
    assert open_dataset(tmp_path / "again").num_rows == 3
    bucket.pipe("bucket/talks.jsonl", lines(4).encode())
    code, _, err = convert(f"{BUCKET}/talks.jsonl", "-o", place)
    assert (code, "a dataset already exists there" in err) == (2, True)
    assert convert(f"train={BUCKET}/talks.jsonl", "-o", place, "--overwrite")[0] == 0
    copy = fetch(place)
    assert verify(copy) == []
    assert open_dataset(copy).splits == {"train": 4}
    assert convert(f"{BUCKET}/talks.jsonl", "-o", place, "--append")[0] == 2


def test_a_place_where_something_else_stands_is_left_alone(bucket):
    bucket.pipe("bucket/mine/notes.txt", b"mine")
    with pytest.raises(UsageError, match="is not empty and not a dataset created by mmconvert"):
        check_free(f"{BUCKET}/mine", overwrite=True)
    check_free(f"{BUCKET}/new", overwrite=False)


def test_a_dataset_has_its_manifest_last(bucket, tmp_path, monkeypatch):
    import s3fs

    folder = write_dataset(tmp_path / "d", {"test": map(record, range(3))})
    send(folder, f"{BUCKET}/d")
    put = s3fs.S3FileSystem._put_file

    async def breaks(self, source, target, *arguments, **options):
        if target.endswith(".parquet"):
            raise OSError("the line is cut")
        return await put(self, source, target, *arguments, **options)

    monkeypatch.setattr(s3fs.S3FileSystem, "_put_file", breaks)
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(Error, match=r"s3://bucket/d: the store failed \(OSError: the line is cut\)"):
        send(folder, f"{BUCKET}/d")
    assert not bucket.exists(f"bucket/d/{MANIFEST}")


def test_a_changed_byte_in_the_store_is_found_a_shard_at_a_time(bucket, tmp_path, monkeypatch, capsys):
    folder = write_dataset(tmp_path / "d", {"train": map(record, range(3)), "test": map(record, range(3))})
    send(folder, f"{BUCKET}/d")
    at_once = []
    whole = verification.hash_file
    monkeypatch.setattr(
        verification, "hash_file", lambda file: at_once.append(len([*file.parent.iterdir()])) or whole(file)
    )
    assert verify(f"{BUCKET}/d") == []
    assert at_once == [1, 1]
    shard = "bucket/d/data/test-00000-of-00001.parquet"
    data = bytearray(bucket.cat(shard))
    data[len(data) // 2] ^= 1
    bucket.pipe({shard: bytes(data), "bucket/d/data/stray.parquet": b"x"})
    bucket.rm("bucket/d/data/train-00000-of-00001.parquet")
    with pytest.raises(SystemExit) as ended:
        run(program, ["verify", f"{BUCKET}/d", "--json"], program="mmconvert")
    assert ended.value.code == 1
    assert json.loads(capsys.readouterr().out)["faults"] == [
        f"{BUCKET}/d/data/train-00000-of-00001.parquet: is missing.",
        f"s3://{shard}: its sha256 differs from the manifest: a byte has changed.",
        f"{BUCKET}/d/data/stray.parquet: is not in the manifest, but would be loaded with the others.",
    ]
    with pytest.raises(Error, match=r"s3://bucket/none: has no \.mmconvert"):
        verify(f"{BUCKET}/none")


def test_predictions_and_references_of_a_store_are_scored(bucket, tmp_path):
    file = write_predictions(tmp_path / "m1.parquet", choices(("A", "A"), ("A", "B")))
    bucket.put_file(str(file), "bucket/m1.parquet")
    (entry,) = score(f"{BUCKET}/m1.parquet", "own_choice").entries
    assert (entry.model, entry.metrics["accuracy"].value) == ("m1", 0.5)
    (joined,) = score(file, "own_choice", answers=f"{BUCKET}/m1.parquet").entries
    assert joined.metrics["accuracy"].value == 0.5


def shown(*shown_images: str) -> bytes:
    rows = (
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": name}}]}], "answer": "a"}
        for name in shown_images
    )
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def refusals(file: Path) -> list[tuple[str, str]]:
    return [(row["code"], row["message"]) for row in map(json.loads, file.read_text().splitlines())]


def test_images_beside_a_file_of_a_store_are_fetched_when_they_are_wanted(bucket, convert, tmp_path):
    bucket.pipe({f"bucket/in/pictures/{n}.png": make_image(n) for n in range(3)})
    names = ["pictures/0.png", "./pictures/../pictures/1.png", "pictures/2.png", "pictures/2.png"]
    bucket.pipe("bucket/in/talks.jsonl", shown(*names))
    code, out, _ = convert(f"{BUCKET}/in/talks.jsonl", "-o", "d", "--json")
    assert (code, json.loads(out)["images"]) == (0, 4)
    images = [record.images[0] for record in open_dataset(tmp_path / "d").records()]
    assert [image.bytes for image in images] == [make_image(n) for n in (0, 1, 2, 2)]
    assert [image.name for image in images][:2] == ["pictures/0.png", "pictures/1.png"]


@pytest.mark.parametrize("workers", [1, 3])
def test_videos_beside_a_file_of_a_store_are_copied_when_they_are_wanted(bucket, convert, tmp_path, workers):
    make_video(tmp_path / "a.mp4")
    bucket.put_file(str(tmp_path / "a.mp4"), "bucket/in/clips/a.mp4")
    clips = [{}, {"start": 0.5, "end": 1.0}, {"start": 1.0, "end": 1.5}, {}]
    names = ["clips/a.mp4"] * 4 + ["clips/none.mp4", "../../secret/a.mp4", "/etc/hostname"]
    rows = [
        {
            "messages": [{"role": "user", "content": [{"type": "video_url", "video_url": {"url": name, **clip}}]}],
            "answer": "a",
        }
        for name, clip in zip(names, [*clips, {}, {}, {}], strict=True)
    ]
    bucket.pipe("bucket/in/t.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
    code, out, err = convert(f"{BUCKET}/in/t.jsonl", "-o", "d", "--frames", "2", "--workers", workers, "--json")
    assert code == 3, (out, err)
    times = [[round(image.time, 1) for image in record.images] for record in open_dataset(tmp_path / "d").records()]
    assert times == [[0.6, 1.3], [0.7, 0.9], [1.2, 1.4], [0.6, 1.3]]
    rejects = [json.loads(line)["code"] for line in Path("d.rejects.jsonl").read_text().splitlines()]
    assert rejects == ["video.missing", "video.path", "video.path"]


def test_images_of_a_store_are_held_to_the_rules_of_a_folder(bucket, convert, tmp_path):
    bucket.pipe(
        {"bucket/secret.png": make_image(1), "bucket/in/empty.png": b"", "bucket/in/large.png": b"x" * 2_000_000}
    )
    names = ["../secret.png", "/bucket/secret.png", "a/../../secret.png", "b/..", "..", "\\in\\large.png", "none.png"]
    chained = [f"none::memory://x::{BUCKET}/secret.png", f"{BUCKET}/secret.png", "secret.png?versionId=1"]
    bucket.pipe("bucket/in/talks.jsonl", shown(*names, *chained, "empty.png", "large.png"))
    code, _, err = convert(f"{BUCKET}/in/talks.jsonl", "-o", "d", "--max-image-mb", "1")
    assert (code, "no row could be converted" in err) == (1, True)
    found = refusals(tmp_path / "d.rejects.jsonl")
    left = ["image.path"] * 3
    assert [code for code, _ in found] == [
        *left,
        "image.missing",
        "image.path",
        "image.path",
        "image.missing",
        "image.missing",
        "image.path",
        "image.missing",
        "image.empty",
        "image.too_large",
    ]
    assert all("leaves the image root" in message for _, message in found[:3])
    assert "no such file under the image root s3://bucket/in (got 'none.png')" in found[6][1]


def test_an_image_root_may_be_in_the_store(bucket, convert, tmp_path):
    bucket.pipe("bucket/pictures/0.png", make_image(0))
    (tmp_path / "talks.jsonl").write_bytes(shown("0.png"))
    (tmp_path / "empty").mkdir()
    code, _, err = convert("talks.jsonl", "-o", "d", "--image-root", "empty", "--image-root", f"{BUCKET}/pictures/")
    assert (code, err) == (0, "")
    assert [record.images[0].bytes for record in open_dataset(tmp_path / "d").records()] == [make_image(0)]
    assert convert("talks.jsonl", "-o", "e", "--image-root", "none")[0] == 2


CHANGED = "changed while it was read. Run again."


def put_later(folder: Path, place: str, data: bytes, row: str | None = None) -> str:
    """Write the transform that puts an object when it meets a row."""
    return write_change(folder, Path(place), f"import s3fs; s3fs.S3FileSystem().pipe(path, {data!r})", row)


def test_an_object_that_changes_before_the_dataset_is_published_is_refused(bucket, convert, tmp_path):
    bucket.pipe("bucket/in/talks.jsonl", lines(3).encode())
    change = put_later(tmp_path, "bucket/in/talks.jsonl", lines(4).encode())
    code, _, err = convert(f"{BUCKET}/in/talks.jsonl", "-o", "d", "--transform", change)
    assert (code, f"{BUCKET}/in/talks.jsonl: {CHANGED}" in err) == (1, True), err
    assert not (tmp_path / "d").exists()
    change = put_later(tmp_path, "bucket/in/talks.jsonl", lines(4).encode())
    assert convert(f"{BUCKET}/in/talks.jsonl", "-o", "d", "--transform", change)[0] == 0


@pytest.mark.parametrize(("name", "changed"), [("in", "a.jsonl"), ("in", "b.jsonl"), ("in/a.jsonl", "a.jsonl")])
def test_what_changes_in_a_store_while_it_is_copied_is_refused(bucket, name, changed, monkeypatch):
    import s3fs

    bucket.pipe({f"bucket/in/{one}.jsonl": lines(3).encode() for one in "ab"})
    get = s3fs.S3FileSystem._get_file

    async def change(self, source, target, *arguments, **options):
        await get(self, source, target, *arguments, **options)
        await self._pipe_file(f"bucket/in/{changed}", lines(4).encode())

    monkeypatch.setattr(s3fs.S3FileSystem, "_get_file", change)
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(Error, match=f"s3://bucket/{name}: {CHANGED}"):
        fetch(f"{BUCKET}/{name}")


@pytest.mark.parametrize("number", [0, 29])
@pytest.mark.release
def test_an_image_of_a_store_that_was_read_and_changes_then_is_refused(bucket, number, convert, tmp_path):
    bucket.pipe({f"bucket/in/pictures/{n}.png": make_image(n) for n in range(30)})
    bucket.pipe("bucket/in/talks.jsonl", shown(*(f"pictures/{n}.png" for n in range(30))))
    place = f"bucket/in/pictures/{number}.png"
    change = put_later(tmp_path, place, make_image(99), row="000000029")
    code, _, err = convert(f"{BUCKET}/in/talks.jsonl", "-o", "d", "--transform", change)
    assert (code, f"s3://{place}: {CHANGED}" in err) == (1, True), err
    assert not (tmp_path / "d").exists()
    change = put_later(tmp_path, "bucket/in/pictures/unread.png", make_image(99), row="000000029")
    assert convert(f"{BUCKET}/in/talks.jsonl", "-o", "d", "--transform", change)[0] == 0


@pytest.mark.release
def test_images_beside_a_file_of_the_hub_are_fetched_too(hub, tmp_path):
    files = {"in/talks.jsonl": shown("pictures/0.png", "../README.md"), "in/pictures/0.png": make_image(0)}
    files["README.md"] = b"# Talks"
    repo = hub.repos["datasets/user/talks"] = Repo("user/talks")
    repo.commit("main", {path: Blob(data, lfs=False) for path, data in files.items()}, "new")
    with hub_client(hub.environment(tmp_path / "home")) as client:
        inputs = "hf://datasets/user/talks/in/talks.jsonl"
        code, _, err = client("command", "mmconvert", "convert", inputs, "-o", tmp_path / "d", "--quiet")
    assert (code, err) == (3, "")
    assert [record.images[0].bytes for record in open_dataset(tmp_path / "d").records()] == [make_image(0)]
    assert [code for code, _ in refusals(tmp_path / "d.rejects.jsonl")] == ["image.path"]


def answered(**options: object) -> tuple[int, int]:
    summary = mmscore.predict(f"{BUCKET}/d", f"{BUCKET}/out/p.parquet", backend="echo", model="text=A", **options)
    assert summary.output == f"{BUCKET}/out/p.parquet"
    return summary.asked, summary.reused


def test_a_dataset_of_a_store_is_answered_in_the_store(bucket, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = write_dataset(tmp_path / "d", {"test": map(record, range(3))})
    send(folder, f"{BUCKET}/d")
    assert answered() == (3, 0)
    mmscore.predict(folder, tmp_path / "p.parquet", backend="echo", model="text=A")
    assert bucket.cat("bucket/out/p.parquet") == (tmp_path / "p.parquet").read_bytes()
    with pytest.raises(UsageError, match=r"s3://bucket/out/p\.parquet: already exists\. resume=True"):
        answered()
    assert answered(resume=True) == (0, 3)
    assert answered(restart=True) == (3, 0)
    assert {file.name for file in (tmp_path / "p.parquet.work").iterdir()} == {
        "p.parquet",
        "p.parquet.answers.sqlite",
    }


@pytest.mark.release
def test_replies_outlive_a_store_that_fails(bucket, tmp_path, monkeypatch):
    import s3fs

    monkeypatch.chdir(tmp_path)
    send(write_dataset(tmp_path / "d", {"test": map(record, range(3))}), f"{BUCKET}/d")

    async def breaks(*_: object, **__: object) -> None:
        raise OSError("the line is cut")

    with monkeypatch.context() as broken:
        broken.setattr(s3fs.S3FileSystem, "_put_file", breaks)
        s3fs.S3FileSystem.clear_instance_cache()
        with pytest.raises(Error, match=r"p\.parquet: the store failed .* Run again"):
            answered()
    assert not bucket.exists("bucket/out/p.parquet")
    s3fs.S3FileSystem.clear_instance_cache()
    assert answered() == (0, 3)
    assert bucket.exists("bucket/out/p.parquet")


def test_a_table_and_its_images_are_exported_to_the_store(bucket, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = write_dataset(tmp_path / "d", {"test": map(record, range(3))})

    def export(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            run(program, ["export", str(folder), "--to", "openai_messages", *arguments], program="mmconvert")
        return ended.value.code, "".join(capsys.readouterr())

    for root in (BUCKET, "here"):
        code, said = export("-o", f"{root}/out/t.jsonl", "--images", "files")
        assert (code, f"{root}/out/t.jsonl: 3 rows as openai_messages" in said) == (0, True), said
    files = [path.relative_to("here").as_posix() for path in Path("here").rglob("*") if path.is_file()]
    assert len(files) == 4
    for file in files:
        assert bucket.cat(f"bucket/{file}") == Path("here", file).read_bytes()
    assert not (tmp_path / "s3:").exists()
    assert export("-o", f"{BUCKET}/out/t.jsonl", "--image-dir", "pictures")[0] == 2


@pytest.mark.parametrize("output", ["outputs", "outputs/"])
def test_a_folder_is_exported_to_the_store(output, bucket, tmp_path, capsys):
    answered = replace(
        record(1), id="validation_Art_1", images=(), messages=(), answer="a", label='"a"', prediction="a"
    )
    folder = write_dataset(tmp_path / "d", {"test": [answered]})

    def export(place: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            run(program, ["export", str(folder), "--to", "mmmu_outputs", "-o", place], program="mmconvert")
        return ended.value.code, "".join(capsys.readouterr())

    code, said = export(f"{BUCKET}/{output}")
    assert (code, f"{BUCKET}/{output}: 1 rows as mmmu_outputs" in said) == (0, True), said
    assert bucket.find("bucket/outputs") == ["bucket/outputs/Art/output.json"]
    code, said = export(f"{BUCKET}/{output}")
    assert (code, "not empty" in said) == (2, True), said


def test_reports_are_written_to_the_store(bucket, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_predictions(tmp_path / "m1.parquet", choices(("A", "A"), ("A", "B")))
    outputs = {flag: f"out/r.{name}" for flag, name in (("-o", "json"), ("--csv", "csv"), ("--rows", "parquet"))}
    for root in (BUCKET, str(tmp_path)):
        (tmp_path / "out").mkdir(exist_ok=True)
        flags = [word for flag, place in outputs.items() for word in (flag, f"{root}/{place}")]
        with pytest.raises(SystemExit) as ended:
            run(scoring, ["score", "m1.parquet", "--recipe", "own_choice", *flags], program="mmscore")
        assert ended.value.code == 0, capsys.readouterr().err
    for place in outputs.values():
        assert bucket.cat(f"bucket/{place}") == (tmp_path / place).read_bytes()
    with pytest.raises(SystemExit) as ended:
        run(scoring, ["score", "m1.parquet", "--html", f"{BUCKET}/out/r.html"], program="mmscore")
    assert ended.value.code == 0
    assert bucket.cat("bucket/out/r.html").startswith(b"<!doctype html>")


@pytest.mark.parametrize(
    ("url", "kind", "message"),
    [
        ("s3://bucket/nothing.jsonl", UsageError, "no such file or folder"),
        ("nosuchstore://x/y", UsageError, "cannot be opened|package"),
        ("s3://no-such-bucket/x.jsonl", UsageError, "no such file or folder"),
    ],
)
def test_what_cannot_be_fetched_says_why(bucket, url, kind, message):
    with pytest.raises(kind, match=message):
        fetch(url)


def test_the_extra_that_is_named_for_a_scheme_exists(repository):
    extras = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert {*EXTRAS.values()} - extras.keys() == set()


def test_a_folder_of_a_store_has_a_name_with_a_slash_behind_it_too():
    assert read_file_name("s3://bucket/runs/") == read_file_name("s3://bucket/runs") == "runs"


def test_any_file_system_of_fsspec_will_do(tmp_path):
    import fsspec

    folder = write_dataset(tmp_path / "d", {"test": map(record, range(3))})
    send(folder, "memory://here/d")
    assert verify(fetch("memory://here/d")) == []
    shutil.rmtree(folder)
    fsspec.filesystem("memory").rm("/here", recursive=True)


@pytest.mark.parametrize("name", ["ETag", "etag", "blob_id"])
def test_a_stamp_is_the_tag_that_a_store_gives(name):
    assert _stamp_object({name: "a1", "size": 7, "mtime": 3}) == "a1"


@pytest.mark.parametrize("name", ["generation", "LastModified", "last_modified", "updated", "mtime", "created"])
def test_a_stamp_without_a_tag_is_size_and_time_by_whatever_name_a_store_gives_it(name):
    facts = {"ETag": "", "size": 7, name: 3, "name": "a"}
    assert _stamp_object(facts) == "7 3"
    assert _stamp_object({**facts, name: None}) == "7"


def test_stamps_of_a_few_objects_are_asked_one_by_one_and_of_more_their_folder_is_listed_once(monkeypatch):
    store = fsspec.filesystem("memory")
    for number in range(4 * _FEW):
        store.pipe_file(f"/stamps/{number % 2}/{number}", b"x" * number)
    calls = []
    for name in ("info", "ls"):
        real = getattr(store, name)
        monkeypatch.setattr(
            store, name, lambda *given, real=real, name=name, **named: calls.append(name) or real(*given, **named)
        )
    stamps = _Stamps(store, "/stamps")
    for number in range(0, 2 * _FEW, 2):
        assert stamps.read(f"0/{number}").split()[0] == str(number)
    assert calls == ["info"] * _FEW
    calls.clear()
    for number in range(0, 4 * _FEW, 2):
        assert stamps.read(f"0/{number}").split()[0] == str(number)
    assert calls == ["ls"]
    assert stamps.read("0/none") == stamps.read("none") == ""
