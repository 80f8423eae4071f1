"""Frames of videos through the commands: datasets, checks, pages, task files, and options that go wrong."""

import json
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest
import yaml

import mmconvert as api
from mmconvert.dataset.manifest import MANIFEST
from support.terminal import mmconvert, mmscore
from support.videos import make_video


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    make_video(tmp_path / "clips/a.mp4")
    make_video(tmp_path / "clips/b.mp4", frames=3)
    rows = [
        {
            "messages": [{"role": "user", "content": "<video>Why?"}, {"role": "assistant", "content": "x"}],
            "videos": [name],
        }
        for name in ("clips/a.mp4", "clips/b.mp4", "clips/none.mp4")
    ]
    (tmp_path / "talks.json").write_text(json.dumps(rows))
    return tmp_path / "talks.json"


def test_a_dataset_holds_frames_with_their_times(talks: Path, tmp_path: Path) -> None:
    done = mmconvert("convert", talks, "-o", tmp_path / "out", "--frames", 4)
    assert done.code == 3
    assert "no such file under the image root" in done.out
    assert "a video has fewer frames than requested; all of them are used" in done.out
    rows = datasets.load_dataset(str(tmp_path / "out"), split="test")
    assert [len(row["images"]) for row in rows] == [4, 3]
    assert {image.size for row in rows for image in row["images"]} == {(32, 32)}
    info = rows[0]["image_info"]
    assert [(one["name"], one["source_name"], one["format"]) for one in info] == [(None, "clips/a.mp4", "JPEG")] * 4
    assert [one["time"] for one in info] == pytest.approx([0.4, 0.8, 1.2, 1.6])
    assert [part["type"] for part in rows[0]["messages"][0]["content"]] == ["image"] * 4 + ["text"]
    reject = json.loads((tmp_path / "out.rejects.jsonl").read_text())
    assert (reject["code"], reject["field"]) == ("video.missing", "videos[0]")
    options = json.loads((tmp_path / "out" / MANIFEST).read_text())["options"]
    assert (options["frames"], options["fps"], options["frame_format"]) == (4, None, "jpeg")


def test_the_bytes_of_a_dataset_do_not_depend_on_the_run_or_on_processes(talks: Path, tmp_path: Path) -> None:
    for name, workers in (("one", 1), ("again", 1), ("two", 2)):
        done = mmconvert(
            "convert", talks, "-o", tmp_path / name, "--fps", 2.5, "--frame-format", "png", "--workers", workers
        )
        assert done.code == 3, done.err
    shards = [sorted((tmp_path / name).rglob("*.parquet")) for name in ("one", "again", "two")]
    assert len({b"".join(path.read_bytes() for path in paths) for paths in shards}) == 1
    info = pq.read_table(shards[0][0]).column("image_info").to_pylist()
    assert {one["format"] for row in info for one in row} == {"PNG"}


def test_nothing_is_said_of_frames_where_none_are_asked_for(talks: Path, tmp_path: Path) -> None:
    done = mmconvert("convert", talks, "-o", tmp_path / "out")
    assert done.code == 1
    assert "--frames 8" in done.err
    (tmp_path / "q.jsonl").write_text('{"question": "Q?", "options": ["a", "b"], "answer": "A"}\n')
    assert mmconvert("convert", tmp_path / "q.jsonl", "-o", tmp_path / "out").code == 0
    assert "frames" not in json.loads((tmp_path / "out" / MANIFEST).read_text())["options"]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--frames", 4, "--fps", 1), "--frames and --fps exclude each other"),
        (("--frames", 0), "--frames"),
        (("--frames", 1001), "--frames"),
        (("--fps", 0), "--fps"),
        (("--fps", "nan"), "--fps"),
        (("--fps", "inf"), "--fps"),
        (("--frames", 4, "--frame-format", "gif"), "--frame-format"),
    ],
)
@pytest.mark.parametrize("command", ["convert", "check", "inspect", "preview"])
def test_wrong_options_are_refused_by_name(
    talks: Path, tmp_path: Path, command: str, flags: tuple[object, ...], says: str
) -> None:
    output = {"convert": ("-o", tmp_path / "out"), "preview": ("-o", tmp_path / "page.html")}.get(command, ())
    done = mmconvert(command, talks, *output, *flags)
    assert (done.code, says in done.err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_check_names_what_convert_would_refuse(talks: Path) -> None:
    done = mmconvert("check", talks, "--frames", 2)
    assert done.code == 3
    assert "talks.json" in done.out
    assert "videos[0]: no such file" in done.out
    assert "2 rows would convert; 1 would be skipped" in done.out + done.err


def test_inspect_and_the_page_show_frames(talks: Path, tmp_path: Path) -> None:
    done = mmconvert("inspect", talks, "--frames", 2, "--json")
    (found,) = json.loads(done.out)
    assert (found["rows"], found["rejected"], found["images"]) == (2, 1, 4)
    assert mmconvert("preview", talks, "-o", tmp_path / "page.html", "--frames", 2).code == 0
    shown = api.preview(talks, tmp_path / "again.html", frames=2)
    assert (shown.records, shown.pictures) == (2, 4)


@pytest.mark.release
def test_python_takes_the_options_as_keywords(talks: Path, tmp_path: Path) -> None:
    assert api.convert(talks, tmp_path / "out", frames=2, frame_format="png").images == 4
    assert api.convert(talks, tmp_path / "dense", fps=1.0).images == 3
    assert api.inspect(talks, frames=2)[0].images == 4
    assert api.check(talks, frames=2).rows == 2
    with pytest.raises(api.UsageError, match="exclude each other"):
        api.convert(talks, tmp_path / "both", frames=2, fps=1.0)


def test_a_task_file_names_frames_as_an_option_of_the_conversion(
    talks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clips.csv").write_text("id,video,question,answer\n1,clips/a.mp4,Why?,x\n2,clips/b.mp4,Why?,y\n")
    task = {
        "work-dir": "results",
        "datasets": [{"input": "clips.csv", "frames": 2}],
        "models": [{"model": "text=x", "backend": "echo", "name": "x"}],
        "recipes": ["own_short_answer"],
    }
    (tmp_path / "task.yaml").write_text(yaml.safe_dump(task))
    done = mmscore("run", "task.yaml", "--quiet")
    assert done.code == 0, done.err
    (converted,) = (tmp_path / "results/.datasets").rglob("*.parquet")
    assert [len(images) for images in pq.read_table(converted).column("images").to_pylist()] == [2, 2]
    task["datasets"] = [{"input": "clips.csv", "frames": 0}]
    (tmp_path / "task.yaml").write_text(yaml.safe_dump(task))
    assert mmscore("run", "task.yaml", "--quiet").code == 2


def test_the_frames_go_back_out_as_images(talks: Path, tmp_path: Path) -> None:
    mmconvert("convert", talks, "-o", tmp_path / "out", "--frames", 2)
    assert mmconvert("export", tmp_path / "out", "-o", tmp_path / "back/talks.json", "--to", "sharegpt").code == 0
    rows = json.loads((tmp_path / "back/talks.json").read_text())
    assert [row["messages"][0]["content"] for row in rows] == ["<image><image>Why?"] * 2
    assert all((tmp_path / "back" / name).is_file() for row in rows for name in row["images"])
    again = mmconvert("convert", tmp_path / "out", "-o", tmp_path / "copy")
    assert again.code == 0
    times = pq.read_table(next((tmp_path / "copy").rglob("*.parquet"))).column("image_info").to_pylist()
    assert [[round(one["time"], 1) for one in row] for row in times] == [[0.6, 1.3], [0.1, 0.2]]
