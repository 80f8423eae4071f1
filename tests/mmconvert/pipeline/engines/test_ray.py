"""A cluster of two nodes on this machine writes what one process writes, also when a node dies."""

import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmconvert.core.errors import Error, UsageError
from mmconvert.dataset.verify import verify
from mmconvert.pipeline import parts
from mmconvert.pipeline.convert import ReadOptions, WriteOptions, convert
from mmconvert.pipeline.inputs import Input
from mmconvert.plugins import registry
from support.ray_cluster import ray, two_nodes

pytestmark = pytest.mark.slow

PARTS = 40


DIES_ONCE = """
import os, signal
from dataclasses import replace
from pathlib import Path

from mmconvert.formats.openai_messages import FORMAT as MESSAGES

def rows(path, span):
    for number, row in enumerate(MESSAGES.rows(path, span)):
        yield row
        died = Path(__file__).with_name("died")
        if row.where.row == 103 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)

FORMAT = replace(MESSAGES, rows=rows)
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with two_nodes() as made:
        yield made


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is cut into many parts."""
    file = tmp_path / "in.jsonl"
    rows = [{"messages": [{"role": "user", "content": f"question {n:04d}"}], "answer": "a"} for n in range(PARTS * 5)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    monkeypatch.setattr(parts, "SMALL_FILE", 100)
    monkeypatch.setattr(parts, "PART_BYTES", file.stat().st_size // PARTS)
    return file


def shards(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.glob("data/*.parquet"))}


def converted(source: Path, output: Path, how: ReadOptions | None = None, **where: object) -> Path:
    convert([Input(source)], output, how or ReadOptions(), WriteOptions(**where))  # type: ignore[arg-type]
    return output


@pytest.mark.release
def test_a_cluster_writes_the_bytes_of_one_process(cluster, source, tmp_path):
    one = converted(source, tmp_path / "one")
    many = converted(source, tmp_path / "many", engine="ray", workers=None)
    assert len([node for node in ray.nodes() if node["Alive"]]) == 2
    assert len(shards(one)) >= PARTS
    assert shards(one) == shards(many)
    assert verify(many) == []


@pytest.mark.release
def test_small_files_share_parts_on_a_cluster_as_in_one_process(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "SMALL_FILE", 2_000)
    monkeypatch.setattr(parts, "PART_BYTES", 2_000)
    files = [tmp_path / f"{number:02d}.jsonl" for number in range(30)]
    for number, file in enumerate(files):
        rows = [{"messages": [{"role": "user", "content": f"question {number} {n}"}], "answer": "a"} for n in range(5)]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    one, many = tmp_path / "one", tmp_path / "many"
    convert([Input(file) for file in files], one, ReadOptions(), WriteOptions())
    convert([Input(file) for file in files], many, ReadOptions(), WriteOptions(engine="ray", workers=None))
    assert len(shards(one)) < len(files)
    assert shards(one) == shards(many)
    assert verify(many) == []


@pytest.mark.release
def test_the_parts_of_a_node_that_is_killed_are_done_again(cluster, source, tmp_path, monkeypatch):
    one = converted(source, tmp_path / "one")
    second = cluster.add_node(num_cpus=1)
    killed = threading.Event()

    def kill() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            written = [file for folder in tmp_path.glob(".many*") for file in folder.rglob("part-*.parquet")]
            if len(written) > 3:
                cluster.remove_node(second, allow_graceful=False)
                killed.set()
                return
            time.sleep(0.005)

    killer = threading.Thread(target=kill)
    killer.start()
    many = converted(source, tmp_path / "many", engine="ray", workers=3)
    killer.join()
    assert killed.is_set()
    assert shards(one) == shards(many)
    assert verify(many) == []


@pytest.mark.release
def test_the_part_of_a_process_that_is_killed_is_done_again(cluster, source, tmp_path):
    (tmp_path / "mine.py").write_text(DIES_ONCE)
    how = ReadOptions(format=f"{tmp_path / 'mine.py'}@FORMAT")
    many = converted(source, tmp_path / "many", how, engine="ray", workers=2)
    assert (tmp_path / "died").exists()
    assert shards(converted(source, tmp_path / "one", how)) == shards(many)
    assert verify(many) == []


@pytest.mark.release
def test_processes_that_share_may_each_have_a_cluster(cluster, source, tmp_path):
    one = converted(source, tmp_path / "one")
    shared = converted(source, tmp_path / "shared", engine="ray", workers=2, share=True)
    assert shards(one) == shards(shared)


@pytest.mark.release
def test_what_a_part_refuses_ends_the_run_as_anywhere(cluster, source, tmp_path):
    with source.open("a") as file:
        file.write("{bad\n")
    with pytest.raises(Error, match=r"in\.jsonl:201: .*--on-bad fail"):
        converted(source, tmp_path / "out", engine="ray", workers=2, fail_on_bad=True)
    assert not (tmp_path / "out").exists()


def test_without_the_package_the_extra_is_named(source, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "mmconvert.pipeline.engines.ray", raising=False)
    registry._load_own.cache_clear()  # a test before this one may have loaded the engine
    with pytest.raises(UsageError, match=r"engine 'ray' needs the package ray\. .* pip install .mmconvert\[ray\]"):
        converted(source, tmp_path / "out", engine="ray")
