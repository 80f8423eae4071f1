"""Datasets of the Hub read by their names: the same rows as from a disk, and no more bytes than are needed."""

import functools
import json
import random
import re
import time
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import PIL.Image
import pytest

from mmconvert.core.record import Image, Part, Record, Source, Turn
from mmconvert.dataset.dataset import DatasetWriter, open_dataset
from mmconvert.storage.hub_fs import HubPath, use_endpoint
from support.changes import write_change
from support.datasets_on_disk import make_image, record, write_dataset
from support.hub_client import hub_client
from support.hub_repo import Blob, Repo
from support.predictions import choices, write_predictions

pytestmark = pytest.mark.slow

MEGABYTE = 1 << 20


@pytest.fixture
def program(hub_server, hub_process):
    return functools.partial(hub_process, "command")


def noise(number: int) -> Record:
    """A row with an image of 196 kB that no compression makes smaller."""
    buffer = BytesIO()
    pixels = random.Random(number).randbytes(256 * 256 * 3)
    PIL.Image.frombytes("RGB", (256, 256), pixels).save(buffer, "PNG", compress_level=0)
    image = Image(buffer.getvalue(), 1, format="PNG", width=256, height=256)
    turn = Turn("user", (Part("image"), Part("text", f"Question {number}?")))
    source = Source("vmcq", "a.jsonl", number)
    return Record(str(number), str(number), (turn,), "vqa", source, images=(image,), answer="A", answers=("A",))


def upload(hub_server, name: str, files: dict[str, bytes]) -> Repo:
    repo = hub_server.repos[f"datasets/user/{name}"] = Repo(f"user/{name}")
    repo.commit("main", {path: Blob(data, path.endswith(".parquet")) for path, data in files.items()}, "new")
    return repo


def files_of(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def large(running_hub, tmp_path_factory):
    """A dataset `user/large` of 12 MB in one shard; row groups of a megabyte."""
    folder = tmp_path_factory.mktemp("large") / "set"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mmconvert.dataset.shards.ROW_GROUP_BYTES", MEGABYTE)
        with DatasetWriter(folder) as writer:
            writer.write(map(noise, range(60)))
    upload(running_hub, "large", files_of(folder))
    return folder


@pytest.fixture
def small(hub_server, tmp_path):
    folder = write_dataset(tmp_path / "small", {"train": map(record, range(3)), "test": [record(3)]})
    upload(hub_server, "small", files_of(folder))
    return folder


def test_a_part_of_a_large_dataset_is_a_part_of_its_bytes(hub_server, program, large, tmp_path):
    code, _, err = program("mmconvert", "convert", "user/large", "-o", tmp_path / "few", "--limit", "3")
    assert code == 0, err
    assert [row.id for row in open_dataset(tmp_path / "few").records()] == ["0", "1", "2"]
    assert 0 < hub_server.served < 5 * MEGABYTE


def test_a_model_is_asked_about_a_part_of_a_large_dataset(hub_server, program, large, tmp_path):
    options = ("--backend", "echo", "--model", "text=A", "--limit", "3", "--json")
    code, out, err = program("mmscore", "predict", "user/large", "-o", tmp_path / "p.parquet", *options)
    assert (code, json.loads(out)["rows"]) == (0, 3), err
    assert 0 < hub_server.served < 3 * MEGABYTE


def test_a_task_file_may_name_a_dataset_of_the_hub(hub_server, program, large, tmp_path):
    task = {
        "datasets": [{"input": "user/large", "limit": 3}],
        "models": [{"model": "text=A", "backend": "echo"}],
        "recipes": ["own_short_answer"],
    }
    (tmp_path / "task.json").write_text(json.dumps(task))
    code, out, err = program("mmscore", "run", tmp_path / "task.json", "--work-dir", tmp_path / "work", "--json")
    assert code == 0, out + err
    assert (json.loads(out)["runs"][0]["status"], json.loads(out)["runs"][0]["rows"]) == ("ok", 3)
    assert 0 < hub_server.served < 3 * MEGABYTE


def test_references_come_without_images(hub_server, program, large, tmp_path):
    rows = [{"id": str(n), "prediction": "A" if n % 2 else "B"} for n in range(60)]
    file = write_predictions(tmp_path / "bare.parquet", rows)
    options = ("--recipe", "own_short_answer", "--json", "--quiet")
    there = program("mmscore", file, "--answers", "user/large", *options)
    assert 0 < hub_server.served < MEGABYTE
    here = program("mmscore", file, "--answers", large, *options)
    (one,), (other,) = (json.loads(shown[1])["entries"] for shown in (there, here))
    assert one["metrics"] == other["metrics"]
    assert one["counts"]["scored"] == 60


def test_a_large_table_is_read_as_far_as_it_is_asked_for(hub_server, program, tmp_path):
    line = json.dumps({"messages": [{"role": "user", "content": "x" * 1000}], "answer": "a"}) + "\n"
    upload(hub_server, "talks", {"talks.jsonl": (line * 40_000).encode()})
    options = ("-o", tmp_path / "few", "--limit", "5")
    code, _, err = program("mmconvert", "convert", "hf://datasets/user/talks/talks.jsonl", *options)
    assert code == 0, err
    assert open_dataset(tmp_path / "few").num_rows == 5
    assert 0 < hub_server.served < 20 * MEGABYTE


@pytest.mark.parametrize(
    "command",
    [
        ("inspect", "{}", "--json"),
        ("check", "{}", "--json"),
        ("verify", "{}", "--json"),
        ("export", "{}", "--to", "lmudata", "-o", "out.tsv", "--json"),
        ("preview", "{}", "-o", "out.html", "--json"),
    ],
    ids=lambda command: command[0],
)
def test_a_command_does_with_a_hub_id_what_it_does_with_the_folder(program, small, tmp_path, command):
    def run(place):
        words = [str(tmp_path / word) if word.startswith("out.") else word.format(place) for word in command]
        code, out, err = program("mmconvert", *words)
        written = (tmp_path / "out.tsv").read_bytes() if (tmp_path / "out.tsv").exists() else b""
        name = rf"hf://datasets/{place}@[0-9a-f]{{40}}|{re.escape(str(place))}"
        return code, re.sub(name, "PLACE", out), err, written

    code, out, err, written = run("user/small")
    assert code in (0, 3), err
    here = run(small)
    assert (code, written) == (here[0], here[3])
    if command[0] != "inspect":
        assert out == here[1]


def test_several_processes_read_from_the_hub(program, small, tmp_path):
    arguments = ("convert", "user/small", "-o", tmp_path / "out", "--workers", "2", "--json")
    code, out, err = program("mmconvert", *arguments)
    assert (code, json.loads(out)["splits"]) == (0, {"train": 3, "test": 1}), err
    there, here = (
        [(row.id, row.images[0].bytes, row.messages) for row in open_dataset(folder).records()]
        for folder in (tmp_path / "out", small)
    )
    assert there == here


def test_images_beside_a_table_come_from_the_hub_too(hub_server, program, tmp_path):
    part = {"type": "image_url", "image_url": {"url": "pictures/a.png"}}
    row = {"messages": [{"role": "user", "content": [part, {"type": "text", "text": "What?"}]}], "answer": "a"}
    upload(hub_server, "beside", {"talks.jsonl": json.dumps(row).encode(), "pictures/a.png": make_image(1)})
    arguments = ("convert", "hf://datasets/user/beside/talks.jsonl", "-o", tmp_path / "out", "--json")
    code, out, err = program("mmconvert", *arguments)
    assert (code, json.loads(out)["images"]) == (0, 1), out + err
    [found] = open_dataset(tmp_path / "out").records()
    assert found.images[0].bytes == make_image(1)


def test_a_dataset_is_written_to_the_hub_in_one_commit(hub_server, program, small, tmp_path):
    made = ("convert", small, "-o", "hf://datasets/user/made")
    code, out, err = program("mmconvert", *made, "--json")
    assert (code, json.loads(out)["output"]) == (0, "hf://datasets/user/made"), err
    repo = hub_server.dataset("user/made")
    assert len(repo.messages) == 2
    repo.put("README.md", repo.files()["README.md"] + b"By hand.\n")
    code, _, err = program("mmconvert", *made)
    assert (code, "a dataset already exists there" in err) == (2, True)
    other = write_dataset(tmp_path / "other", {"test": [record(8)]})
    code, _, err = program("mmconvert", "convert", other, "-o", "hf://datasets/user/made", "--overwrite", "--quiet")
    assert (code, len(repo.messages)) == (0, 4), err
    assert repo.files()["README.md"].endswith(b"By hand.\n")
    assert ".gitattributes" in repo.files()
    code, out, _ = program("mmconvert", "inspect", "user/made", "--json")
    assert [file["rows"] for file in json.loads(out)] == [3, 1]
    code, _, err = program("mmconvert", "convert", small, "-o", "hf://datasets/user/made/inside")
    assert (code, "Name hf://datasets/USER/REPO" in err) == (2, True)


def test_predictions_and_reports_are_written_to_the_hub(hub_server, small, tmp_path):
    place = "hf://datasets/user/runs"
    ask = ("mmscore", "predict", small, "--backend", "echo", "--model", "text=A", "--quiet", "-o")
    scored = write_predictions(tmp_path / "scored.parquet", choices(("A", "A"), ("B", "A")))
    report = ("mmscore", scored, "--recipe", "own_choice", "--quiet", "-o")
    hub_server.fail("POST .*/repos/create", 503, times=1)
    with hub_client(hub_server.environment(tmp_path / "home"), cwd=tmp_path) as hub_process:
        shown = [
            hub_process("command", *ask, f"{place}/p.parquet"),
            hub_process("command", *ask, tmp_path / "p.parquet"),
            hub_process("command", *report, f"{place}/reports/r.json"),
        ]
        code, _, err = hub_process("command", *ask, "hf://datasets/other/runs/p.parquet")
    assert [ended[0] for ended in shown] == [0, 0, 0], shown
    files = hub_server.dataset("user/runs").files()
    assert files["p.parquet"] == (tmp_path / "p.parquet").read_bytes()
    assert json.loads(files["reports/r.json"])["entries"]
    assert (code, "take one with write access to other" in err) == (1, True), err


@pytest.mark.release
def test_a_revision_and_a_path_may_be_named(hub_server, program, small, tmp_path):
    repo = hub_server.dataset("user/small")
    repo.refs["v1"] = repo.oid("main")
    changed = write_dataset(tmp_path / "changed", {"test": [record(7)]})
    repo.commit("main", {path: Blob(data, True) for path, data in files_of(changed).items()}, "newer")
    repo.refs["refs/pr/3"] = repo.refs["v1"]

    def ids(name):
        code, _, err = program("mmconvert", "convert", name, "-o", tmp_path / "out", "--overwrite", "--quiet")
        assert code == 0, err
        return [row.id for row in open_dataset(tmp_path / "out").records()]

    assert ids("user/small") == ["7"]
    assert ids("user/small@v1") == ids("hf://datasets/user/small@v1") == ["0", "1", "2", "3"]
    assert ids("hf://datasets/user/small@refs/pr/3/data") == ["0", "1", "2", "3"]
    assert ids("hf://datasets/user/small@v1/data/train-00000-of-00001.parquet") == ["0", "1", "2"]
    manifest = json.loads((tmp_path / "out/.mmconvert/manifest.json").read_text())
    assert manifest["input"][0]["name"].startswith(f"hf://datasets/user/small@{repo.refs['v1']}/data/train")


def test_a_push_while_a_dataset_is_read_changes_nothing_of_it(hub_server, program, large, tmp_path):
    begun, pushed = tmp_path / "begun", tmp_path / "pushed"
    wait = (
        f"import time; open({str(begun)!r}, 'w'); [time.sleep(0.01) for _ in iter(lambda: os.path.exists(path), True)]"
    )
    change = write_change(tmp_path, pushed, wait, row="0")
    repo, before = hub_server.dataset("user/large"), hub_server.dataset("user/large").oid("main")

    def push() -> None:
        while not begun.exists():
            time.sleep(0.01)
        other = write_dataset(tmp_path / "other", {"test": map(record, range(100, 160))})
        repo.commit("main", {path: Blob(data, True) for path, data in files_of(other).items()}, "newer")
        pushed.touch()

    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(push)
        try:
            code, _, err = program("mmconvert", "convert", "user/large", "-o", tmp_path / "out", "--transform", change)
        finally:
            begun.touch()
            done.result()
            repo.refs["main"] = before
    assert code == 0, err
    assert [row.id for row in open_dataset(tmp_path / "out").records()] == [str(number) for number in range(60)]
    manifest = json.loads((tmp_path / "out/.mmconvert/manifest.json").read_text())
    assert f"@{before}/" in manifest["input"][0]["name"]


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("user/none", 2, "no such file or folder, and no dataset of this name on the Hub"),
        ("user/small@v9", 2, "no revision 'v9'"),
        ("hf://datasets/user/small/data/trian-00000-of-00001.parquet", 2, "Did you mean train-00000-of-00001.parquet"),
        ("user/texts", 2, "holds no table"),
    ],
)
def test_what_the_hub_does_not_have_is_one_message(hub_server, program, small, tmp_path, name, code, words):
    upload(hub_server, "texts", {"README.md": b"hello"})
    found, out, err = program("mmconvert", "convert", name, "-o", tmp_path / "out")
    assert (found, out) == (code, "")
    assert words in err
    assert err.count("mmconvert: ") == 1


def test_a_hub_that_fails_while_it_is_read_is_one_message(hub_server, program, large, tmp_path):
    hub_server.fail("GET .*/resolve/.*parquet", 404)
    code, out, err = program("mmconvert", "convert", "user/large", "-o", tmp_path / "out")
    assert (code, out) == (1, "")
    assert "the Hub answered 404" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.release
def test_a_hub_that_fails_for_a_moment_is_asked_again(hub_server, program, small, tmp_path):
    for pattern in ("GET /api/datasets/user/small", "GET .*/tree/", "/resolve/.*manifest", "/resolve/.*parquet"):
        hub_server.fail(pattern, 503, times=1)
    code, _, err = program("mmconvert", "convert", "user/small", "-o", tmp_path / "out", "--quiet")
    assert (code, open_dataset(tmp_path / "out").num_rows, hub_server.faults[0].times) == (0, 4, 0), err


def test_a_gated_dataset_says_what_to_do(hub_server, program, large, tmp_path):
    hub_server.fail("/resolve/", 403, **{"X-Error-Code": "GatedRepo"})
    code, out, err = program("mmconvert", "convert", "user/large", "-o", tmp_path / "out")
    assert (code, out) == (1, "")
    assert "the dataset is gated. Accept its terms" in err


def test_a_local_path_wins_over_the_hub(hub_server, small, tmp_path):
    write_dataset(tmp_path / "user/small", {"test": [record(9)]})
    with hub_client(hub_server.environment(tmp_path / "home"), cwd=tmp_path) as hub_process:
        code, out, err = hub_process("command", "mmconvert", "convert", "user/small", "-o", tmp_path / "out", "--json")
    assert (code, json.loads(out)["rows_written"], hub_server.requests) == (0, 1, []), err


@pytest.mark.release
def test_without_a_network_the_cache_is_asked_and_the_next_step_is_said(hub_server, small, tmp_path):
    arguments = ("command", "mmconvert", "convert", "user/small", "-o", tmp_path / "out")
    home = tmp_path / "home"
    offline = {**hub_server.environment(home), "HF_HUB_OFFLINE": "1"}
    with hub_client(offline) as hub_process:
        code, _, err = hub_process(*arguments)
    assert code == 1
    assert "HF_HUB_OFFLINE is set" in err
    assert "hf download" in err
    with hub_client(hub_server.environment(home)) as hub_process:
        hub_process("fetch", "user/small")
    with hub_client(offline) as hub_process:
        code, _, err = hub_process(*arguments)
    assert (code, open_dataset(tmp_path / "out").num_rows) == (0, 4), err
    with hub_client({**hub_server.environment(tmp_path / "other"), "HF_ENDPOINT": "http://127.0.0.1:9"}) as hub_process:
        code, _, err = hub_process(*arguments)
    assert code == 1
    assert "the Hub cannot be reached" in err


def test_a_dataset_that_is_none_of_ours_is_read_by_its_splits(hub_server, program, tmp_path):
    rows = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), ("B", "A"))).read_bytes()
    files = {f"data/{split}-00000-of-00001.parquet": rows for split in ("dev", "test")}
    upload(hub_server, "theirs", {"README.md": b"", **files})
    code, out, err = program("mmconvert", "convert", "user/theirs", "-o", tmp_path / "out", "--json")
    assert (code, json.loads(out)["splits"]) == (0, {"dev": 2, "test": 2}), err
    upload(hub_server, "several", {"a/test.parquet": rows, "b/test.parquet": rows})
    code, _, err = program("mmconvert", "convert", "user/several", "-o", tmp_path / "out2")
    assert (code, "Name one: hf://datasets/user/several@" in err) == (2, True)
    code, out, _ = program("mmconvert", "convert", "hf://datasets/user/several/b", "-o", tmp_path / "out3", "--json")
    assert (code, json.loads(out)["splits"]) == (0, {"test": 2})


def test_a_script_of_a_repository_is_neither_run_nor_fetched(hub_server, program, tmp_path):
    rows = write_predictions(tmp_path / "p.parquet", choices(("A", "A"))).read_bytes()
    script = f"open({str(tmp_path / 'ran')!r}, 'w')".encode()
    files = {"scripted.py": script, "setup.py": script, "data/test-00000-of-00001.parquet": rows}
    upload(hub_server, "scripted", {"README.md": b"", **files})
    code, out, err = program("mmconvert", "convert", "user/scripted", "-o", tmp_path / "out", "--json")
    assert (code, json.loads(out)["rows_read"]) == (0, 1), err
    assert not (tmp_path / "ran").exists()
    assert [line for line in hub_server.requests if "scripted.py" in line or "setup.py" in line] == []
    assert [line for line in hub_server.requests if "data/test-00000-of-00001.parquet" in line]


def test_a_file_that_is_not_there_is_named_by_its_url():
    url = "hf://datasets/user/set/a.tsv"
    for look in (HubPath.stat, HubPath.read_bytes):
        with pytest.raises(FileNotFoundError) as raised:
            look(HubPath(url))
        assert raised.value.filename == url


@pytest.mark.parametrize(
    ("endpoint", "url", "used"),
    [
        ("https://mirror.example/", "https://huggingface.co/datasets/a/b", "https://mirror.example/datasets/a/b"),
        ("https://mirror.example", "https://example.org/https://huggingface.co/a", None),
        ("", "https://huggingface.co/datasets/a/b", None),
        (None, "https://huggingface.co/datasets/a/b", None),
    ],
)
def test_an_address_of_the_hub_is_fetched_from_the_endpoint_that_is_named(monkeypatch, endpoint, url, used):
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    if endpoint is not None:
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
    assert use_endpoint(url) == (used or url)
