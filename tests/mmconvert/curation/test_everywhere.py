"""Counts, duplicates, overlap, mixtures and splits are the same on Ray, in a store and on the Hub as on this disk."""

import functools
import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import mmconvert
from mmconvert.benchmarks.catalogue import Benchmark, Url
from mmconvert.curation import fingerprints, mix_rows, split, stats
from mmconvert.dataset import shards
from mmconvert.dataset.dataset import DatasetWriter, open_dataset
from mmconvert.storage.object_store import fetch
from support.hub_repo import Blob, Repo
from support.named_benchmarks import catalogue_of
from support.planted_leaks import CHANGES, KINDS, encode, invent_words, write_rows
from support.terminal import Shown, shown
from support.web_server import reply, web_server

pytestmark = pytest.mark.slow

Command = Callable[..., Shown]
Rows = list[tuple[str, bytes | None, str]]
DATASETS = ("train", "bench", "other")


def draw_rows(draws: random.Random, name: str, count: int) -> Rows:
    kinds = list(KINDS.values())
    return [
        (f"{name}{n}", encode(kinds[n % 3](draws, (160, 120))), " ".join(invent_words(draws, 12))) for n in range(count)
    ]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Datasets that are cut into several parts: `train` holds duplicates and rows of `bench`."""
    folder, draws = tmp_path_factory.mktemp("everywhere"), random.Random(8)
    bench, train, other = (draw_rows(draws, name, count) for name, count in (("b", 9), ("t", 20), ("o", 15)))
    train += [(f"again {key}", image, question.upper()) for key, image, question in train[:3]]
    half = CHANGES["half size"](KINDS["textured"](random.Random(1), (200, 200)))
    whole = encode(KINDS["textured"](random.Random(1), (200, 200)), "PNG")
    bench += [("near", whole, "what is seen here")]
    train += [("leak", half, "what else"), *bench[2:5], ("asked", None, bench[6][2] + "?")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "ROW_GROUP_BYTES", 1)
        patch.setattr(fingerprints, "_PART_BYTES", 4_000)
        patch.setattr(stats, "_PART_ROWS", 4)
        patch.setattr(mix_rows, "PART_BYTES", 20_000)
        patch.setattr(mix_rows, "BUCKET_BYTES", 20_000)
        patch.setattr(mix_rows, "_SHARD_BUCKETS", 2)
        patch.setattr(split, "_PART_BYTES", 20_000)
        for name, rows in zip(DATASETS, (train, bench, other), strict=True):
            file = write_rows(folder, f"{name}-rows", rows)
            mmconvert.convert(file, folder / "whole" / name, image_root=folder / "images")
            with DatasetWriter(folder / name) as writer:
                writer.write(open_dataset(folder / "whole" / name).records(), "train")
        yield folder


def run_all(command: Command, places: Mapping[str, str], output: str, *options: str) -> dict[str, Any]:
    """Run the five commands, and give what they print apart from where that lies."""
    train, bench, other = (places[name] for name in DATASETS)
    commands = {
        "stats": ["stats", train],
        "unique": ["dedupe", train, "--near", "-o", f"{output}/unique"],
        "clean": ["overlap", train, "--with", bench, "--drop", "-o", f"{output}/clean"],
        "divided": ["split", train, "--split-ratio", "a,b=0.4", "-o", f"{output}/divided"],
        "mixed": ["mix", f"{train}:1", f"{other}:2", "-o", f"{output}/mixed"],
    }
    found = {}
    for name, arguments in commands.items():
        done = command(*arguments, *options, "--json")
        assert done.code == 0, done.err
        found[name] = json.loads(done.out)
        for place in ("dataset", "train", "output"):
            found[name].pop(place, None)
    for source in found["mixed"]["sources"]:
        del source["path"]
    return found


def read_shards(folder: Path) -> dict[str, str]:
    """The digest of each file with rows."""
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*.parquet"))
        if ".mmconvert" not in file.parts
    }


mmconvert_here: Command = functools.partial(shown, "mmconvert")


@pytest.fixture(scope="module")
def expected(local: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """What one process gives, and writes."""
    places = {name: str(local / name) for name in DATASETS}
    found = run_all(mmconvert_here, places, str(local / "one"), "--workers", "1")
    assert {pair["way"] for pair in found["clean"]["pairs"]} == {"image", "near image", "text"}
    assert found["unique"]["rows_removed"] == 3
    assert found["mixed"]["rows"] == 22
    return found, read_shards(local / "one")


def test_several_processes_give_the_same(local: Path, expected: tuple[dict[str, Any], dict[str, str]]) -> None:
    places = {name: str(local / name) for name in DATASETS}
    parts = [part for name in DATASETS for part in fingerprints._list_parts(open_dataset(local / name), near=True)]
    assert len(parts) > 6
    assert all(len([name for name in expected[1] if name.startswith(one)]) > 2 for one in ("mixed", "divided"))
    assert run_all(mmconvert_here, places, str(local / "three"), "--workers", "3") == expected[0]
    assert read_shards(local / "three") == expected[1]


def test_a_ray_cluster_gives_the_same(local: Path, expected: tuple[dict[str, Any], dict[str, str]]) -> None:
    pytest.importorskip("ray")
    for kept in local.rglob("fingerprints-*.parquet"):
        kept.unlink()
    places = {name: str(local / name) for name in DATASETS}
    assert run_all(mmconvert_here, places, str(local / "ray"), "--engine", "ray") == expected[0]
    assert read_shards(local / "ray") == expected[1]


def test_a_store_gives_the_same(
    bucket: Any, local: Path, expected: tuple[dict[str, Any], dict[str, str]], tmp_path: Path
) -> None:
    for name in DATASETS:
        bucket.put(str(local / name), f"bucket/in/{name}", recursive=True)
    places = {name: f"s3://bucket/in/{name}" for name in DATASETS}
    assert run_all(mmconvert_here, places, "s3://bucket/out") == expected[0]
    assert read_shards(fetch("s3://bucket/out")) == expected[1]
    assert mmconvert.verify(fetch("s3://bucket/out/mixed")) == []


def test_the_hub_gives_the_same(
    hub_server: Any, hub_process: Any, local: Path, expected: tuple[dict[str, Any], dict[str, str]], tmp_path: Path
) -> None:
    for name in DATASETS:
        repo = hub_server.repos[f"datasets/user/{name}"] = Repo(f"user/{name}")
        files = [file for file in (local / name).rglob("*") if file.is_file()]
        tree = {file.relative_to(local / name).as_posix(): Blob(file.read_bytes(), lfs=False) for file in files}
        repo.commit("main", tree, "as it stands")

    def command(*arguments: object) -> Shown:
        return Shown(*hub_process("command", "mmconvert", *map(str, arguments)))

    places = {name: f"user/{name}" for name in DATASETS}
    found = run_all(command, places, str(tmp_path), "--workers", "2")
    text = json.dumps(found).replace('"user/bench"', '"bench"')
    assert json.loads(text) == expected[0]
    # Its process cuts datasets into larger parts than this one, which shards of mixtures follow.
    for name in ("unique", "clean", "divided", "mixed"):
        one = local / "one" / name
        assert [*open_dataset(tmp_path / name).records()] == [*open_dataset(one).records()]


def test_a_name_of_the_catalogue_is_found_as_its_file_is(
    local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import base64

    lines = ["index\timage\tquestion\tA\tB\tanswer"]
    for number, record in enumerate(open_dataset(local / "bench").records()):
        image = base64.b64encode(record.images[0].bytes or b"").decode()
        lines.append(f"{number}\t{image}\t{record.question}\tyes\tno\tA")
    table = "\n".join(lines).encode() + b"\n"
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    (tmp_path / "Leaks.tsv").write_bytes(table)
    of_file = mmconvert.overlap(local / "train", tmp_path / "Leaks.tsv")
    assert {pair.way for pair in of_file.pairs} == {"image", "near image", "text"}
    entry = Benchmark(
        name="Leaks",
        source=Url("https://huggingface.co/datasets/a/b/resolve/main/leaks.tsv", hashlib.md5(table).hexdigest()),
        format="lmudata",
        prompt="vlmevalkit:dataset_class=ImageMCQDataset",
    )
    with (
        web_server({"/datasets/a/b/resolve/main/leaks.tsv": reply(table)}) as server,
        catalogue_of(entry),
    ):
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.port}")
        with pytest.raises(mmconvert.UsageError, match="allow_remote=True"):
            mmconvert.overlap(local / "train", "Leaks")
        hosts = [f"127.0.0.1:{server.port}"]
        by_name = mmconvert.overlap(local / "train", "vlmevalkit:Leaks", allow_remote=True, allow_host=hosts)
    assert by_name.pairs == of_file.pairs
    assert by_name.benchmarks == of_file.benchmarks
