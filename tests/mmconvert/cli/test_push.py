import json
import subprocess
import sys

import pytest
import yaml
from msgspec.structs import replace

from mmconvert.core.record import Part, Turn
from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.dataset.views import list_sft_turns
from support.datasets_on_disk import record, write_dataset

pytestmark = pytest.mark.slow

RUN = "from mmconvert.cli import main; main()"


@pytest.fixture
def mmconvert(hub, tmp_path):
    def run(*arguments, **environment):
        env = {**hub.environment(tmp_path / "home"), **environment}
        command = [sys.executable, "-c", RUN, *map(str, arguments)]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def folder(tmp_path):
    return write_dataset(tmp_path / "set", {"test": map(record, range(3))})


def test_push_publishes_and_prints_one_json_object(hub, mmconvert, folder):
    done = mmconvert("push", folder, "user/demo", "--private", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout)
    assert summary["url"] == f"{hub.url}/datasets/user/demo"
    assert (summary["rows"], summary["dry_run"], summary["removed"]) == (3, False, [])
    assert list(summary["files"]) == ["data/test-00000-of-00001.parquet", "README.md", ".mmconvert/manifest.json"]
    assert hub.dataset("user/demo").private


def test_a_dry_run_lists_files_and_contacts_nothing(hub, mmconvert, folder):
    done = mmconvert("push", folder, "user/demo", "--dry-run")
    assert (done.returncode, done.stderr, hub.requests) == (0, "", [])
    shard, card, manifest, total, heading, *limits, following = done.stdout.splitlines()
    size = (folder / "data/test-00000-of-00001.parquet").stat().st_size
    assert shard.split() == [f"{size:,}", "data/test-00000-of-00001.parquet"]
    assert (card.split()[1], manifest.split()[1]) == ("README.md", ".mmconvert/manifest.json")
    assert total.endswith("3 files, 3 rows for user/demo; nothing was sent")
    assert heading == "The Hub's limits, for this push alone:"
    assert following == f"  next:  mmconvert push {folder} user/demo"
    assert limits[0].split() == ["1", "of", "10,000", "files", "in", "a", "folder"]
    assert not [line for line in limits if line.startswith("warning")]
    private = json.loads(mmconvert("push", folder, "user/demo", "--dry-run", "--private", "--json").stdout)
    assert (len(private["limits"]), private["warnings"]) == (len(limits) + 1, [])


@pytest.mark.parametrize(
    ("view", "following"),
    [
        ("eval", "mmscore predict user/demo -o predictions.parquet --model MODEL"),
        ("sft", "train on it, in TRL: train_dataset=load_dataset('user/demo')['test']"),
    ],
)
def test_what_comes_next_goes_by_the_view(mmconvert, tmp_path, view, following):
    rows = [replace(record(n), answer="a", answers=("a",)) for n in range(2)]
    with DatasetWriter(tmp_path / "set", view=view, about={"format": "vmcq"}) as writer:
        writer.write([replace(row, messages=list_sft_turns(row)) if view == "sft" else row for row in rows], "test")
    done = mmconvert("push", tmp_path / "set", "user/demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].split(maxsplit=1) == ["next:", following]


def test_a_refused_token_is_one_line_and_exit_code_1(mmconvert, folder):
    done = mmconvert("push", folder, "user/demo", HF_TOKEN="hf_wrong")
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("mmconvert: user/demo: the Hub answered 401")
    assert "Set HF_TOKEN" in line


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["demo"], 2, "is not a name of a repository"),
        (["user/demo", "--create-pr", "--revision", "dev"], 2, "either --create-pr or --revision dev"),
        (["user/demo", "--dry-run"], 1, "not a dataset created by mmconvert"),
    ],
)
def test_what_can_be_refused_without_the_hub_is(hub, mmconvert, tmp_path, arguments, code, message):
    (tmp_path / "photos").mkdir()
    done = mmconvert("push", tmp_path / "photos", *arguments)
    assert (done.returncode, hub.requests) == (code, [])
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_conversion_can_be_pushed_at_once(hub, mmconvert, tmp_path):
    (tmp_path / "qa.jsonl").write_text('{"id": "1", "question": "Which?", "prediction": "A"}\n')
    arguments = ("convert", tmp_path / "qa.jsonl", "--push", "user/demo", "--json")
    dry = mmconvert(*arguments, "-o", tmp_path / "dry", "--dry-run")
    assert (dry.returncode, hub.requests) == (0, [])
    done = mmconvert(*arguments, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["push"]["url"] == f"{hub.url}/datasets/user/demo"
    files = hub.dataset("user/demo").files()
    assert "data/test-00000-of-00001.parquet" in files
    assert not any(str(tmp_path).encode() in data for data in files.values())


def test_a_benchmark_gets_its_eval_yaml(hub, mmconvert, tmp_path):
    turn = Turn("user", (Part("text", "Which?"),))
    row = replace(record(0), images=(), messages=(turn,), question="Which?", options=("red", "blue"), answer="A")
    folder = write_dataset(tmp_path / "text", {"test": [row]})
    done = mmconvert("push", folder, "user/colours", "--eval-yaml")
    assert (done.returncode, done.stderr) == (0, "")
    (task,) = yaml.safe_load(hub.dataset("user/colours").files()["eval.yaml"])["tasks"]
    assert (task["id"], task["split"]) == ("default_test", "test")
    with_images = write_dataset(tmp_path / "images", {"test": [record(0)]})
    refused = mmconvert("push", with_images, "user/other", "--eval-yaml")
    assert refused.returncode == 1
    assert "which eval.yaml cannot say" in refused.stderr
