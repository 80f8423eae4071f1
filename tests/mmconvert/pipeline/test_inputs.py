"""INPUT arguments: files, folders, pipes, names; what tells rows of several files apart."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mmconvert.core.errors import UsageError
from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.pipeline.inputs import Input, describe_input, plan_inputs
from support.datasets_on_disk import record, write_dataset


def touch(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('{"id": 1, "prediction": "a"}\n')


def shown(inputs: list[Input]) -> list[tuple[str, str, str | None, str]]:
    return [(i.path.name, i.split, i.subset, i.id_prefix) for i in inputs]


def test_one_file_is_taken_as_it_is(tmp_path: Path) -> None:
    touch(tmp_path / "a.jsonl")
    assert plan_inputs([str(tmp_path / "a.jsonl")]) == [Input(tmp_path / "a.jsonl", "test")]
    assert plan_inputs([f"dev={tmp_path}/a.jsonl"], split="train")[0].split == "dev"
    assert plan_inputs([str(tmp_path / "a.jsonl")], split="train", subsets=["x"])[0] == Input(
        tmp_path / "a.jsonl", "train", "x"
    )


def test_a_file_whose_name_looks_like_a_split_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path / "dev=a.jsonl", tmp_path / "a.jsonl")
    monkeypatch.chdir(tmp_path)
    assert shown(plan_inputs(["dev=a.jsonl"])) == [("dev=a.jsonl", "test", None, "")]


def test_the_files_of_a_folder_are_its_subsets(tmp_path: Path) -> None:
    touch(*(tmp_path / "in" / name for name in ("b_test.jsonl", "a.jsonl", ".hidden.jsonl", "c_x_val.jsonl")))
    assert shown(plan_inputs([str(tmp_path / "in")])) == [
        ("a.jsonl", "test", "a", "a-"),
        ("b_test.jsonl", "test", "b", "b-"),
        ("c_x_val.jsonl", "test", "c_x", "c_x-"),
    ]
    assert shown(plan_inputs([str(tmp_path / "in")], subsets=["b"])) == [("b_test.jsonl", "test", "b", "")]


def test_what_lies_beside_the_data_is_not_data(tmp_path: Path) -> None:
    touch(tmp_path / "in/a.jsonl", tmp_path / "in/README.md", tmp_path / "in/images/x.png")
    touch(tmp_path / "in/out.rejects.jsonl", tmp_path / "in/.out.rejects.jsonl.host.1.new.jsonl")
    assert shown(plan_inputs([str(tmp_path / "in")])) == [("a.jsonl", "test", "a", "")]


def test_files_of_unknown_kinds_are_left_to_the_users_format(tmp_path: Path) -> None:
    touch(tmp_path / "in/a.xml", tmp_path / "in/b.xml")
    assert [i.path.name for i in plan_inputs([str(tmp_path / "in")])] == ["a.xml", "b.xml"]


def test_a_kits_folder_of_results_is_one_input(tmp_path: Path) -> None:
    touch(tmp_path / "run/summary.json")
    (tmp_path / "run/Art").mkdir()
    (tmp_path / "run/Art/output.json").write_text(json.dumps([{"id": "validation_Art_1", "question_type": "open"}]))
    assert shown(plan_inputs([str(tmp_path / "run")])) == [("run", "test", None, "")]


def test_a_folder_of_folders_is_one_input(tmp_path: Path) -> None:
    touch(tmp_path / "in/x/a.jsonl")
    assert shown(plan_inputs([str(tmp_path / "in")])) == [("in", "test", None, "")]


@pytest.mark.parametrize(
    ("files", "prefixes"),
    [
        (["a.tsv", "b.tsv"], ["a-", "b-"]),
        (["train=a.tsv", "dev=x/a.tsv"], ["train-a-", "dev-a-"]),
        (["a_test.tsv", "a_val.tsv"], ["a_test-", "a_val-"]),
        (["x/a.tsv", "y/a.tsv"], ["x-a-", "y-a-"]),
        (["x/y/a.tsv", "z/y/a.tsv"], ["0-a-", "1-a-"]),
        (["a.tsv", "a.tsv"], ["", ""]),
        (["train=a.tsv", "dev=a.tsv"], ["train-a-", "dev-a-"]),
    ],
)
def test_rows_of_several_files_can_be_told_apart(
    files: list[str], prefixes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    touch(*(Path(name.rpartition("=")[2]) for name in files))
    assert [i.id_prefix for i in plan_inputs(files)] == prefixes


def test_a_dataset_of_ours_is_read_by_its_splits(tmp_path: Path) -> None:
    write_dataset(tmp_path / "ds", {"test": [record(1)], "train": [record(1)]})
    inputs = plan_inputs([str(tmp_path / "ds")])
    assert [(i.path.name, i.split, i.subset) for i in inputs] == [
        ("test-00000-of-00001.parquet", "test", None),
        ("train-00000-of-00001.parquet", "train", None),
    ]


def test_a_split_is_not_named_anew_in_silence(tmp_path: Path) -> None:
    write_dataset(tmp_path / "ds", {"test": [record(1)], "train": [record(1)]})
    with pytest.raises(UsageError, match="brings its own splits, test, train"):
        plan_inputs([f"dev={tmp_path}/ds"])


def test_a_split_of_ours_can_be_taken_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmconvert.dataset.shards.SHARD_BYTES", 1)
    monkeypatch.setattr("mmconvert.dataset.shards.ROW_GROUP_BYTES", 1)
    write_dataset(tmp_path / "ds", {"test": map(record, range(3)), "train": [record(3)]})
    whole = plan_inputs([str(tmp_path / "ds")], whole_splits=True)
    assert [(one.path.name, one.split, len(one.more)) for one in whole] == [
        ("test-00000-of-00003.parquet", "test", 2),
        ("train-00000-of-00001.parquet", "train", 0),
    ]
    assert [file for one in whole for file in one.list_files()] == plan_inputs([str(tmp_path / "ds")])


def test_two_datasets_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    write_dataset(tmp_path / "one", {"test": [record(1)]})
    write_dataset(tmp_path / "two", {"test": [record(1)]})
    inputs = plan_inputs([str(tmp_path / "one"), str(tmp_path / "two")])
    assert [i.id_prefix for i in inputs] == ["one-", "two-"]


def test_no_config_is_dropped_in_silence(tmp_path: Path) -> None:
    write_dataset(tmp_path / "ds", {"test": [record(1)]})
    with DatasetWriter(tmp_path / "ds", append=True) as writer:
        writer.write([record(2)], "dev", "zh")
    with pytest.raises(
        UsageError, match=r"several configs: default, zh. Name the folder of one: \S+/ds/data or \S+/ds/zh."
    ):
        plan_inputs([str(tmp_path / "ds")])
    assert [(i.path.parent.name, i.split) for i in plan_inputs([str(tmp_path / "ds/zh")])] == [("zh", "dev")]
    assert [(i.path.parent.name, i.split) for i in plan_inputs([str(tmp_path / "ds/data")])] == [("data", "test")]


def test_a_bare_name_is_a_table_of_lmudata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path / "MMBench_DEV_EN.tsv")
    monkeypatch.setenv("LMUData", str(tmp_path))
    assert plan_inputs(["MMBench_DEV_EN"])[0].path == tmp_path / "MMBench_DEV_EN.tsv"
    assert plan_inputs(["dev=MMBench_DEV_EN"] if False else ["MMBench_DEV_EN"], split="dev")[0].split == "dev"
    with pytest.raises(UsageError, match=r"MMBench_DEV: no such file or folder. Did you mean MMBench_DEV_EN\?"):
        plan_inputs(["MMBench_DEV"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "an INPUT is empty"),
        ("zzz", r"zzz: no such file or folder. See what is there: ls .$"),
        ("qestions.jsonl", r"qestions.jsonl: no such file or folder. Did you mean questions.jsonl\?"),
        ("dev=qestions.jsonl", r"^qestions.jsonl: no such file or folder. Did you mean questions.jsonl\?"),
        ("no/where.jsonl", "no/where.jsonl: no such file or folder."),
        ("empty", "empty: the folder holds no files."),
        ("https://example.org/a.jsonl", "nothing is fetched from the network"),
    ],
)
def test_what_is_not_there_is_named(name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    touch(Path("questions.jsonl"))
    Path("empty").mkdir()
    with pytest.raises(UsageError, match=message):
        plan_inputs([name])


@pytest.mark.parametrize("split", ["a-b", "a b", "a/b", "", "..", "a."])
def test_a_split_that_load_dataset_cannot_name_is_refused(split: str, tmp_path: Path) -> None:
    touch(tmp_path / "a.jsonl")
    if split:
        with pytest.raises(UsageError, match="is not a split name"):
            plan_inputs([str(tmp_path / "a.jsonl")], split=split)
    else:
        assert plan_inputs([str(tmp_path / "a.jsonl")], split=split)[0].split == "test"


def test_a_subset_that_cannot_be_honoured_is_refused(tmp_path: Path) -> None:
    touch(tmp_path / "in/alpha.jsonl", tmp_path / "in/beta.jsonl")
    with pytest.raises(UsageError, match=r"no subset 'alpa'. Did you mean alpha\? Found: alpha, beta."):
        plan_inputs([str(tmp_path / "in")], subsets=["alpa"])
    for names, subsets in (["alpha", "beta"], ["x"]), (["alpha"], ["x", "y"]):
        with pytest.raises(UsageError, match="--subset picks files of a folder"):
            plan_inputs([str(tmp_path / f"in/{name}.jsonl") for name in names], subsets=subsets)


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    Path(os.fsdecode(os.fsencode(tmp_path / "in") + b"/\xff.jsonl")).write_text("{}")
    with pytest.raises(UsageError, match="is not UTF-8 text"):
        plan_inputs([str(tmp_path / "in")])


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b'{"id": 1}\n{"id": 2}\n', "stdin.jsonl"),
        (b'\xef\xbb\xbf {"id": 1}', "stdin.jsonl"),
        (b'{\n "id": 1\n}', "stdin.json"),
        (b'\n [{"id": 1}]', "stdin.json"),
        (b"id\tprediction\n1\ta\n", "stdin.tsv"),
        (b"id,prediction\n1,a\n", "stdin.csv"),
        (b"PAR1....", "stdin.parquet"),
        (b"PK\x03\x04....", "stdin.xlsx"),
        (b"", "stdin.csv"),
    ],
)
def test_the_kind_of_standard_input_is_told_from_its_bytes(
    data: bytes, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    (source,) = plan_inputs(["-"])
    assert (source.path.name, source.path.read_bytes()) == (name, data)


def test_a_pipe_is_read_like_standard_input_and_nothing_stays(tmp_path: Path) -> None:
    code = "import sys; from mmconvert.pipeline.inputs import plan_inputs; print(plan_inputs(sys.argv[1:])[0].path)"
    command = f"'{sys.executable}' -c '{code}' <(printf 'id,prediction\\n1,a\\n')"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.strip().endswith("stdin.csv")
    assert not Path(ended.stdout.strip()).parent.exists()


def test_a_fingerprint_follows_head_tail_and_size(tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for file, data in (first, b"x" * 3_000_000), (second, b"x" * 2_999_999 + b"y"):
        file.write_bytes(data)
    digests = [describe_input(Input(file)) for file in (first, second)]
    assert digests[0]["bytes"] == digests[1]["bytes"] == 3_000_000
    assert digests[0]["head_tail_sha256"] != digests[1]["head_tail_sha256"]
    assert describe_input(Input(tmp_path)) == {"name": tmp_path.name, "split": "test"}


@pytest.mark.parametrize("name", ["a" * 5_000, "a/" * 150 + "b" * 300, "x=" + "a" * 5_000 + ".tsv", "nul\0"])
def test_a_text_that_is_no_path_is_wrong_usage(name: str) -> None:
    with pytest.raises(UsageError):
        plan_inputs([name])
