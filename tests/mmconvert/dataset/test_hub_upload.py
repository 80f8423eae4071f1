import functools
import itertools
import json
import subprocess
import sys
import time
from email.utils import formatdate
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import Image
from mmconvert.dataset import hub_limits, hub_upload
from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.storage import hub_errors
from support.datasets_on_disk import make_image, record, write_dataset
from support.hub_client import hub_client
from support.hub_repo import Blob
from support.hub_server import HANG_UP, STALL, TOKEN

pytestmark = pytest.mark.slow

REPO_NUMBERS = itertools.count()


@pytest.fixture
def repo(hub_server):
    """The name of a repository that no other test uses."""
    return f"user/demo{next(REPO_NUMBERS)}"


@pytest.fixture
def push(hub_process):
    return functools.partial(hub_process, "push")


@pytest.fixture
def load(hub_process):
    return functools.partial(hub_process, "load")


@pytest.fixture
def small_shards(monkeypatch):
    """A new shard for every two rows."""
    monkeypatch.setattr("mmconvert.dataset.shards.SHARD_BYTES", 1)
    monkeypatch.setattr("mmconvert.dataset.shards.ROW_GROUP_BYTES", 400)
    monkeypatch.setattr("mmconvert.dataset.shards.BATCH_RECORDS", 2)


def data_files(hub_server, repo):
    return sorted(path for path in hub_server.dataset(repo).files() if path.endswith(".parquet"))


def test_a_pushed_dataset_loads_with_the_rows_and_images_of_the_folder(
    hub_server, repo, push, load, tmp_path, small_shards
):
    folder = write_dataset(tmp_path / "set", {"train": map(record, range(5)), "test": map(record, range(5, 7))})
    (folder / "notes.txt").write_text("mine")
    done = push(folder, repo)
    assert done["url"] == f"{hub_server.url}/datasets/{repo}"
    assert done["files"] == 6
    files = hub_server.dataset(repo).files()
    assert sorted(files) == [
        ".gitattributes",
        ".mmconvert/manifest.json",
        "README.md",
        "data/test-00000-of-00001.parquet",
        "data/train-00000-of-00003.parquet",
        "data/train-00001-of-00003.parquet",
        "data/train-00002-of-00003.parquet",
    ]
    assert files["data/train-00000-of-00003.parquet"] == (folder / "data/train-00000-of-00003.parquet").read_bytes()
    assert load(repo) == load(folder)
    assert [row[0] for row in load(repo)["train"]] == list("01234")


def test_a_second_push_removes_shards_that_the_new_split_no_longer_has(
    hub_server, repo, push, load, tmp_path, small_shards
):
    folder = tmp_path / "set"
    push(write_dataset(folder, {"train": map(record, range(5)), "dev": [record(9)]}), repo)
    hub_server.dataset(repo).put("data/extra.txt", b"somebody's")
    done = push(write_dataset(folder, {"train": map(record, range(3))}), repo)
    assert done["removed"] == [f"data/train-0000{k}-of-00003.parquet" for k in range(3)]
    assert data_files(hub_server, repo) == [
        "data/dev-00000-of-00001.parquet",
        "data/train-00000-of-00002.parquet",
        "data/train-00001-of-00002.parquet",
    ]
    assert "data/extra.txt" in hub_server.dataset(repo).files()
    assert {split: len(rows) for split, rows in load(repo).items()} == {"train": 3, "dev": 1}
    manifest = json.loads(hub_server.dataset(repo).files()[".mmconvert/manifest.json"])
    assert {split: sum(s["rows"] for s in shards) for split, shards in manifest["configs"]["default"].items()} == {
        "train": 3,
        "dev": 1,
    }


def test_pushing_the_same_dataset_again_makes_no_commit_and_sends_no_bytes(hub_server, repo, push, tmp_path):
    folder = write_dataset(tmp_path / "set", {"test": [record(1)]})
    push(folder, repo)
    commits = len(hub_server.dataset(repo).trees)
    hub_server.requests.clear()
    assert push(folder, repo)["removed"] == []
    assert len(hub_server.dataset(repo).trees) == commits
    assert not [line for line in hub_server.requests if line.startswith("PUT")]


def test_another_configuration_joins_the_repository(repo, push, load, tmp_path):
    push(write_dataset(tmp_path / "zh", {"test": [record(1), record(2)]}, config="zh"), repo)
    push(write_dataset(tmp_path / "en", {"test": [record(3)]}), repo)
    assert [row[0] for row in load(repo, "zh")["test"]] == ["1", "2"]
    assert [row[0] for row in load(repo)["test"]] == ["3"]


def test_a_branch_is_made_where_it_is_missing_and_main_stays(hub_server, repo, push, load, tmp_path):
    done = push(write_dataset(tmp_path / "set", {"test": [record(1)]}), repo, revision="v1.0")
    assert done["url"] == f"{hub_server.url}/datasets/{repo}/tree/v1.0"
    assert data_files(hub_server, repo) == []
    assert [row[0] for row in load(repo, revision="v1.0")["test"]] == ["1"]


def test_a_pull_request_holds_the_upload_and_main_stays(hub_server, repo, push, load, tmp_path):
    done = push(write_dataset(tmp_path / "set", {"test": [record(1)]}), repo, create_pr=True)
    assert done["url"] == f"{hub_server.url}/datasets/{repo}/discussions/1"
    assert data_files(hub_server, repo) == []
    assert [row[0] for row in load(repo, revision="refs/pr/1")["test"]] == ["1"]


@pytest.mark.parametrize("pattern", ["POST .*/repos/create", "POST .*/preupload/", "POST .*/commit/"])
@pytest.mark.parametrize("status", [429, 503])
def test_a_pull_request_is_tried_again_where_none_was_made(hub_server, repo, push, tmp_path, pattern, status):
    hub_server.fail(pattern, status, times=1)
    done = push(write_dataset(tmp_path / "set", {"test": [record(1)]}), repo, create_pr=True)
    assert done["url"] == f"{hub_server.url}/datasets/{repo}/discussions/1"


@pytest.mark.parametrize("status", [HANG_UP, 504])
def test_a_pull_request_whose_answer_got_lost_is_not_made_twice(hub_server, repo, push, tmp_path, status):
    hub_server.fail("POST .*/commit/", status, times=1)
    assert "Push again" in push(write_dataset(tmp_path / "set", {"test": [record(1)]}), repo, create_pr=True)["error"]
    assert len([line for line in hub_server.requests if "/commit/" in line]) == 1


def test_the_cards_licence_and_text_on_the_hub_survive_a_push(hub_server, repo, push, tmp_path):
    folder = write_dataset(tmp_path / "set", {"test": [record(1)]})
    push(folder, repo)
    there = hub_server.dataset(repo)
    card = there.files()["README.md"].decode()
    there.put("README.md", (card.replace("---\n", "---\nlicense: mit\n", 1) + "By hand.\n").encode())
    push(write_dataset(folder, {"test": [record(1), record(2)]}), repo)
    card = there.files()["README.md"].decode()
    assert "license: mit" in card
    assert "num_examples: 2" in card
    assert card.endswith("By hand.\n")


def test_a_private_repository_is_made_private_and_a_public_one_is_not_taken_for_it(hub_server, repo, push, tmp_path):
    folder = write_dataset(tmp_path / "set", {"test": [record(1)]})
    push(folder, f"{repo}-secret", private=True)
    assert hub_server.dataset(f"{repo}-secret").private
    push(folder, repo)
    commits = len(hub_server.dataset(repo).trees)
    refused = push(folder, repo, private=True)
    assert refused["error"].startswith(f"{repo}: exists and is public.")
    assert len(hub_server.dataset(repo).trees) == commits


def test_a_token_that_is_not_accepted_stops_at_once_and_says_what_to_do(hub_server, repo, push, tmp_path):
    refused = push(write_dataset(tmp_path / "set", {"test": [record(1)]}), repo, token="hf_wrong")
    assert refused["error"].startswith(f"{repo}: the Hub answered 401")
    assert "Set HF_TOKEN to a token that may write" in refused["error"]
    assert "hf_wrong" not in refused["error"]
    assert len(hub_server.requests) <= 2


def test_a_place_where_the_token_may_not_write_stops_at_once_and_says_what_to_do(hub_server, push, tmp_path):
    refused = push(write_dataset(tmp_path / "set", {"test": [record(1)]}), "other/demo")
    assert refused["error"].startswith("other/demo: the Hub answered 403")
    assert "take one with write access to other" in refused["error"]
    assert len(hub_server.requests) <= 2
    assert "datasets/other/demo" not in hub_server.repos


@pytest.mark.parametrize("pattern", ["POST .*/commit/", "POST .*/repos/create", "POST .*/preupload/"])
@pytest.mark.parametrize("status", [503, 0], ids=["503", "hang-up"])
def test_a_failure_that_passes_is_got_over(hub_server, repo, push, tmp_path, pattern, status):
    hub_server.fail(pattern, status, times=1)
    assert "url" in push(write_dataset(tmp_path / "set", {"test": [record(1)]}), repo)
    assert data_files(hub_server, repo) == ["data/test-00000-of-00001.parquet"]


def test_the_hub_says_how_long_to_wait(hub_server, repo, push, tmp_path):
    folder = write_dataset(tmp_path / "set", {"test": [record(1)]})
    hub_server.fail("POST .*/commit/", 429, times=1, **{"Retry-After": "7"})
    assert push(folder, repo)["waits"] == [7]
    hub_server.fail("POST /api/repos/create", 429, times=1, RateLimit='"api";r=0;t=55')
    assert push(folder, repo)["waits"] == [55]
    hub_server.fail(
        "POST /api/repos/create", 429, times=1, **{"Retry-After": formatdate(time.time() + 90, usegmt=True)}
    )
    [wait] = push(folder, repo)["waits"]
    assert 60 < wait <= 91
    hub_server.fail("POST /api/repos/create", 503, times=1, **{"Retry-After": "86400"})
    assert push(folder, repo)["waits"] == [hub_errors.RETRIES.longest_pause]


def test_an_upload_that_is_cut_in_the_middle_is_sent_again(hub_server, repo, push, tmp_path):
    folder = write_dataset(tmp_path / "set", {"test": map(record, range(5))})
    hub_server.fail("PUT /lfs/", HANG_UP, times=1)
    assert "url" in push(folder, repo)
    assert data_files(hub_server, repo) == ["data/test-00000-of-00001.parquet"]


def test_a_store_that_refuses_the_bytes_ends_the_push_with_advice(hub_server, repo, push, tmp_path, small_shards):
    hub_server.fail("PUT /lfs/", 403)
    refused = push(write_dataset(tmp_path / "set", {"test": map(record, range(5))}), repo)
    assert refused["error"].startswith(f"{repo}: the Hub answered 403")
    assert data_files(hub_server, repo) == []


def test_a_push_that_was_killed_goes_on_with_what_is_missing(hub_server, repo, push, load, tmp_path, small_shards):
    folder = write_dataset(tmp_path / "set", {"test": map(record, range(8))})
    hub_server.fail("PUT /lfs/", STALL, spare=2)
    command = [sys.executable, "-m", "mmconvert", "push", str(folder), repo]
    with subprocess.Popen(command, env=hub_server.environment(tmp_path / "home"), stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while (len(hub_server.stored) < 2 or stalled(hub_server) < 3) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
    assert len(hub_server.stored) == 2
    assert sorted(hub_server.dataset(repo).files()) == [".gitattributes"]
    hub_server.faults.clear()
    hub_server.requests.clear()
    assert "url" in push(folder, repo)
    assert stalled(hub_server) == 2
    assert load(repo) == load(folder)


@pytest.mark.release
def test_as_many_shards_as_a_folder_may_hold_are_pushed(hub_server, repo, push, tmp_path, small_shards, monkeypatch):
    for size in ("BATCH_RECORDS", "ROW_GROUP_BYTES"):
        monkeypatch.setattr(f"mmconvert.dataset.shards.{size}", 1)
    count = hub_limits.FOLDER_FILES
    folder = write_dataset(tmp_path / "set", {"train": map(record, range(count))})
    assert push(folder, repo)["files"] == count + 2
    assert len(data_files(hub_server, repo)) == count
    assert sum("/commit/" in line for line in hub_server.requests) < 300
    hub_server.requests.clear()
    push(folder, repo)
    assert not [line for line in hub_server.requests if line.startswith("PUT")]


def stalled(hub_server):
    return sum(line.startswith("PUT /lfs/") for line in hub_server.requests)


def test_several_configurations_and_splits_go_in_one_commit(hub_server, repo, push, load, tmp_path, small_shards):
    folder = tmp_path / "set"
    write_dataset(folder, {"train": map(record, range(5)), "test": [record(5)]})
    with DatasetWriter(folder, append=True, about={"format": "vmcq"}) as writer:
        writer.write([record(6), record(7), record(8)], split="test", config="zh")
        writer.write([record(9)], split="dev", config="zh")
    push(folder, repo)
    commits = len(hub_server.dataset(repo).messages)
    assert {split: len(rows) for split, rows in load(repo).items()} == {"train": 5, "test": 1}
    assert {split: len(rows) for split, rows in load(repo, "zh").items()} == {"test": 3, "dev": 1}
    with DatasetWriter(folder, overwrite=True, about={"format": "vmcq"}) as writer:
        writer.write([record(1)], split="train")
        writer.write([record(2)], split="test", config="zh")
    done = push(folder, repo)
    assert len(hub_server.dataset(repo).messages) == commits + 1
    assert len(done["removed"]) == 5
    assert data_files(hub_server, repo) == [
        "data/test-00000-of-00001.parquet",
        "data/train-00000-of-00001.parquet",
        "zh/dev-00000-of-00001.parquet",
        "zh/test-00000-of-00001.parquet",
    ]
    assert {split: len(rows) for split, rows in load(repo, "zh").items()} == {"test": 1, "dev": 1}


def test_what_the_hub_cannot_hold_is_refused_before_it_is_sent(hub_server, repo, push, tmp_path):
    folder = write_dataset(tmp_path / "set", {"test": [record(1)]})
    push(folder, repo)
    there = hub_server.dataset(repo)
    many = {f"data/{number}.txt": Blob(b"", False) for number in range(hub_limits.FOLDER_FILES)}
    there.commit("main", {**there.tree("main"), **many}, "somebody's")
    hub_server.requests.clear()
    refused = push(write_dataset(folder, {"test": [record(2)]}), repo)
    assert refused["error"] == (
        f"{repo}: the Hub would reject it: files in a folder: 10,001 of 10,000. "
        "Write fewer shards, or give configurations, which have folders of their own."
    )
    assert not [line for line in hub_server.requests if line.startswith("PUT")]


def test_a_failure_that_stays_ends_with_advice_and_no_commit(hub_server, repo, push, tmp_path):
    hub_server.fail("/commit/", 503)
    refused = push(write_dataset(tmp_path / "set", {"test": [record(1)]}), repo)
    assert refused["error"].startswith(f"{repo}: the Hub answered 503")
    assert "Push again later" in refused["error"]
    assert len([line for line in hub_server.requests if "/commit/" in line]) == 3
    assert data_files(hub_server, repo) == []


def test_a_commit_of_somebody_else_in_between_is_taken_into_account(hub_server, repo, push, tmp_path):
    hub_server.fail("/commit/", 412, times=1)
    assert "url" in push(write_dataset(tmp_path / "set", {"test": [record(1)]}), repo)
    assert len([line for line in hub_server.requests if "/tree/" in line]) == 2


def test_a_shard_that_somebody_adds_in_between_goes_with_the_others(hub_server, repo, push, tmp_path, monkeypatch):
    asked = hub_server._preupload

    def somebody_first(place, revision, call):
        monkeypatch.undo()
        place.put("data/test-00001-of-00002.parquet", b"theirs")
        return asked(place, revision, call)

    monkeypatch.setattr(hub_server, "_preupload", somebody_first)
    done = push(write_dataset(tmp_path / "set", {"test": [record(1)]}), repo)
    assert done["removed"] == ["data/test-00001-of-00002.parquet"]
    assert data_files(hub_server, repo) == ["data/test-00000-of-00001.parquet"]


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "the Hub cannot be reached"),
        ({"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE is set. Unset it to publish."),
    ],
    ids=["no server", "offline"],
)
def test_a_hub_that_cannot_be_asked_is_said_so(hub_server, tmp_path, environment, message):
    folder = write_dataset(tmp_path / "set", {"test": [record(1)]})
    with hub_client({**hub_server.environment(tmp_path / "home"), **environment}) as call:
        assert call("push", folder, "user/demo")["error"].startswith(f"user/demo: {message}")
    assert hub_server.requests == []


def test_paths_of_this_machine_stay_here(hub_server, repo, push, tmp_path):
    about = {"input": [{"file": "/home/me/secret/a.tsv"}, "~/x.tsv", "..\\up\\b.tsv", "C:\\me\\c.tsv", "plain.tsv"]}
    push(write_dataset(tmp_path / "set", {"test": [record(1)]}, **about), repo)
    files = hub_server.dataset(repo).files()
    assert json.loads(files[".mmconvert/manifest.json"])["input"] == [
        {"file": "a.tsv"},
        "x.tsv",
        "b.tsv",
        "c.tsv",
        "plain.tsv",
    ]
    assert not any(str(tmp_path).encode() in data or TOKEN.encode() in data for data in files.values())


@pytest.mark.parametrize(
    "repo_id", ["demo", "a/b/c", "user/", "/x", "us er/x", "user/-x", "user/a..b", "user/x.git", "../x"]
)
def test_a_wrong_repository_name_is_a_wrong_usage(repo_id):
    with pytest.raises(UsageError, match="is not a name of a repository"):
        hub_upload.check_target(repo_id)


def test_a_pull_request_on_a_branch_is_a_wrong_usage():
    hub_upload.check_target("user/demo", revision="main", create_pr=True)
    with pytest.raises(UsageError, match="either --create-pr or --revision dev"):
        hub_upload.check_target("user/demo", revision="dev", create_pr=True)


def test_a_folder_that_is_no_dataset_of_ours_is_refused(tmp_path):
    (tmp_path / "photos").mkdir()
    with pytest.raises(Error, match="not a dataset created by mmconvert"):
        hub_upload.prepare(tmp_path / "photos")
    with pytest.raises(UsageError, match="no such folder"):
        hub_upload.prepare(tmp_path / "nothing")


@pytest.mark.parametrize("place", ["images", "attachments"])
@pytest.mark.parametrize(
    ("image", "message"),
    [
        (Image(None, 1, url="https://example.org/a.png"), "has no bytes, only a URL that was kept"),
        (Image(make_image(1)[:-20], 1), "ends before its end marker"),
        (Image(make_image(1).replace(b"IDATx", b"IDATy"), 1), "cannot be decoded"),
    ],
    ids=["url", "cut", "broken"],
)
def test_an_image_that_cannot_be_published_is_named(tmp_path, place, image, message):
    bad = record(2, image) if place == "images" else replace(record(2), attachments=(image,))
    folder = write_dataset(tmp_path / "set", {"test": [record(1), bad]})
    with pytest.raises(Error, match=rf"row '2' {place}\[0\]: .*{message}"):
        hub_upload.prepare(folder)


def test_a_changed_byte_is_found_before_anything_is_sent(tmp_path):
    folder = write_dataset(tmp_path / "set", {"test": [record(1)]})
    shard = folder / "data/test-00000-of-00001.parquet"
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    with pytest.raises(Error, match=r"differs from the manifest. Run mmconvert verify"):
        hub_upload.prepare(folder)


@pytest.mark.parametrize(
    "file",
    [
        "../outside.parquet",
        "/etc/hostname",
        "data/x.txt",
        "data/../../a-00000-of-00001.parquet",
        # These end as a shard's own name does.
        "../set/data/test-00000-of-00001.parquet",
        "/data/test-00000-of-00001.parquet",
        "data/../data/test-00000-of-00001.parquet",
        "data/test-00000-of-00001.parquet/../../x",
    ],
)
def test_a_manifest_cannot_name_other_files(tmp_path, file):
    folder = write_dataset(tmp_path / "set", {"test": [record(1)]})
    manifest = json.loads((folder / ".mmconvert/manifest.json").read_text())
    manifest["configs"]["default"]["test"][0]["file"] = file
    (folder / ".mmconvert/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(Error, match="has no shard of this name"):
        hub_upload.prepare(folder)


def test_the_checks_before_a_push_tell_how_much_is_done(tmp_path):
    folder = write_dataset(tmp_path / "d", {"train": map(record, range(40))})
    told = []
    hub_upload.prepare(folder, told.append)
    assert [done.rows for done in told] == [0, 40]
    assert [done.share for done in told] == [pytest.approx(0.2), pytest.approx(1.0)]


class _Api:
    """A Hub without a network, which keeps what is committed."""

    endpoint = "https://hub"

    def __init__(self) -> None:
        self.committed: list[str] = []

    def create_repo(self, *_: object, **__: object) -> None:
        pass

    def dataset_info(self, *_: object, **__: object) -> SimpleNamespace:
        return SimpleNamespace(sha="0" * 40, private=False)

    def list_repo_tree(self, *_: object, **__: object) -> list[object]:
        return []

    def create_commit(self, repo: str, operations: object, **_: object) -> SimpleNamespace:
        self.committed.append(repo)
        return SimpleNamespace(pr_url=None)


@pytest.mark.parametrize("changes", [True, False])
def test_a_shard_that_changes_behind_its_check_is_not_published(changes, tmp_path, monkeypatch):
    folder = write_dataset(tmp_path / "set", {"train": map(record, range(5))})
    [shard] = folder.rglob("*.parquet")
    secret = tmp_path / "secret"
    secret.write_bytes(b"SECRET".ljust(shard.stat().st_size))
    api = _Api()
    monkeypatch.setattr(hub_upload, "_open_api", lambda token: api)
    monkeypatch.setenv("HF_TOKEN", "hf_any")
    upload = hub_upload.prepare(folder)
    if changes:
        shard.unlink()
        shard.symlink_to(secret)
        with pytest.raises(Error, match=r"\.parquet: changed while it was read\. Run again\."):
            hub_upload.push(upload, "user/set")
    else:
        hub_upload.push(upload, "user/set")
    assert api.committed == ([] if changes else ["user/set"])
