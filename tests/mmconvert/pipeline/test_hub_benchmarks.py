"""Benchmarks on the Hub are read by their name: configuration, split, files and revision as the catalogue says."""

import base64
import functools
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.dataset.dataset import open_dataset
from support.datasets_on_disk import make_image
from support.hub_repo import Blob, Repo
from support.hub_server import HubServer

pytestmark = pytest.mark.slow

CARD = """---
configs:
- config_name: Full
  data_files:
  - {split: adversarial, path: Full/adversarial-*}
  - {split: random, path: Full/random-*}
- config_name: default
  data_files:
  - {split: test, path: data/test-*}
---
"""


@pytest.fixture
def program(hub_server: HubServer, hub_process: Callable[..., Any]) -> Callable[..., Any]:
    return functools.partial(hub_process, "command")


def upload(hub_server: HubServer, name: str, files: dict[str, bytes]) -> None:
    repo = hub_server.repos[f"datasets/{name}"] = Repo(name)
    repo.commit("main", {path: Blob(data, path.endswith(".parquet")) for path, data in files.items()}, "new")


def questions(category: str) -> bytes:
    rows = [
        {"id": str(n), "question_id": str(n), "question": "Is there a cat?", "answer": "no", "image_source": f"I_{n}",
         "category": category, "image": {"bytes": make_image(n), "path": f"{n}.png"}}
        for n in range(3)
    ]  # fmt: skip
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


@pytest.fixture
def pope(hub_server: HubServer) -> None:
    names = {"Full/adversarial": "adversarial", "Full/random": "random", "data/test": "all"}
    files = {f"{path}-00000-of-00001.parquet": questions(category) for path, category in names.items()}
    upload(hub_server, "lmms-lab-encoder/POPE", {**files, "README.md": CARD.encode()})


@pytest.mark.usefixtures("pope")
@pytest.mark.parametrize(
    ("name", "split", "category"),
    [
        ("lmms_eval:pope_adv", "adversarial", "adversarial"),
        ("pope_random", "random", "random"),
        ("lmms:pope", "test", "all"),
    ],
)
def test_config_and_split_are_those_of_the_framework(
    name: str, split: str, category: str, program: Callable[..., Any], tmp_path: Path
) -> None:
    code, out, err = program("mmconvert", "convert", name, "-o", tmp_path / "out", "--json")
    assert code == 0, err
    summary = json.loads(out)
    assert (summary["splits"], summary["format"]) == ({split: 3}, "hub_vqa")
    (record, *_) = open_dataset(tmp_path / "out").records()
    assert (record.dataset, record.category, record.task) == (name.rpartition(":")[2], category, "yes_no")


def test_named_files_of_a_dataset_without_configurations(
    hub_server: HubServer, program: Callable[..., Any], tmp_path: Path
) -> None:
    table = b"index\tquestion\tA\tB\tanswer\timage\n1\tWhich?\tx\ty\tA\t" + base64.b64encode(make_image(1)) + b"\n"
    upload(hub_server, "jiyaoliufd/MedQ-Bench", {"medqbench_QA_test.tsv": table, "README.md": b""})
    code, out, err = program("mmconvert", "convert", "MedqbenchMCQ_test", "-o", tmp_path / "out", "--json")
    assert code == 0, err
    assert json.loads(out)["splits"] == {"test": 1}
    code, _, err = program("mmconvert", "convert", "MedqbenchMCQ_dev", "-o", tmp_path / "more")
    assert code == 2
    assert "has no file medqbench_QA_dev.tsv any more" in err


def test_a_table_of_the_name_is_taken_and_else_all_are_listed(
    hub_server: HubServer, program: Callable[..., Any], tmp_path: Path
) -> None:
    upload(hub_server, "yifanzhang114/MME-RealWorld-Base64", {"a.tsv": b"x", "b.tsv": b"x"})
    code, _, err = program("mmconvert", "convert", "MME-RealWorld-CN", "-o", tmp_path / "out")
    assert code == 2
    assert (
        "several of its tables may be meant. Name one of its tables, hf://datasets/USER/REPO/FILE: a.tsv, b.tsv" in err
    )


def test_splits_are_kept_apart_where_the_framework_names_none(
    hub_server: HubServer, program: Callable[..., Any], tmp_path: Path
) -> None:
    card = b"---\nconfigs:\n- config_name: default\n  data_files:\n"
    card += b"  - {split: test, path: data/test-*}\n  - {split: train, path: data/train-*}\n---\n"
    files = {f"data/{split}-00000-of-00001.parquet": questions(split) for split in ("test", "train")}
    upload(hub_server, "BLISS-e-V/SCAM", {**files, "README.md": card})
    code, out, err = program("mmconvert", "convert", "SCAM", "-o", tmp_path / "out", "--json")
    assert code == 0, err
    assert json.loads(out)["splits"] == {"test": 3, "train": 3}


def test_a_dataset_that_is_not_there_says_so(program: Callable[..., Any], tmp_path: Path) -> None:
    code, _, err = program("mmconvert", "convert", "lmms_eval:textvqa_val", "-o", tmp_path / "out")
    assert code == 2
    assert "no dataset of this name on the Hub" in err
