"""A benchmark's name is an INPUT: from $LMUData, fetched where that is allowed, or with what to do instead."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from mmconvert.benchmarks.catalogue import (
    Benchmark,
    BuiltByCode,
    JoinedTables,
    LocalTable,
    ModelScopeFiles,
    Source,
    TaskGroup,
    Url,
    UrlParts,
)
from mmconvert.dataset.dataset import open_dataset
from mmconvert.dataset.manifest import MANIFEST
from support.named_benchmarks import catalogue_of
from support.terminal import Shown, mmconvert, one_message
from support.web_server import Handler, WebServer, reply, web_server

PROMPT = "vlmevalkit:dataset_class=ImageMCQDataset"
HUB = "https://huggingface.co/datasets/a/b/resolve/main"
PATH = "/datasets/a/b/resolve/main"

Convert = Callable[..., Shown]


@pytest.fixture
def table(repository: Path) -> bytes:
    return (repository / "src/mmconvert/testing/demo/files/lmudata/Colours.tsv").read_bytes()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "LMUData"
    monkeypatch.setenv("LMUData", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def answers() -> dict[str, Handler]:
    return {}


@pytest.fixture
def server(answers: dict[str, Handler], monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    with web_server(answers) as running:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{running.port}")
        yield running


@pytest.fixture
def fetching(server: WebServer, root: Path) -> Convert:
    """Convert to `out`, with what may be fetched from the server."""

    def convert(*arguments: str) -> Shown:
        options = ["--allow-remote", "--allow-host", f"127.0.0.1:{server.port}", "--overwrite", "--json"]
        return mmconvert("convert", *arguments, "-o", "out", *options)

    return convert


def bench(name: str, source: Source, **more: object) -> Benchmark:
    return Benchmark(name=name, source=source, format="lmudata", **more)


def md5(data: bytes) -> str:
    return hashlib.md5(data).hexdigest()


def test_a_benchmark_is_fetched_once_checked_and_converted(
    fetching: Convert, server: WebServer, answers: dict[str, Handler], root: Path, table: bytes
) -> None:
    answers[f"{PATH}/colours_v1.tsv"] = reply(table)
    with catalogue_of(bench("Colours_DEV", Url(f"{HUB}/colours_v1.tsv", md5(table)), prompt=PROMPT)):
        for name in ("Colours_DEV", "vlmevalkit:Colours_DEV", "dev=Colours_DEV"):
            done = fetching(name)
            assert done.code == 0, done.err
        assert json.loads(done.out)["splits"] == {"dev": 4}
        # What lies there is used by everybody, without the network.
        assert mmconvert("check", "Colours_DEV").code == 0
        inspected = json.loads(mmconvert("inspect", "Colours_DEV", "--json").out)
    assert len(server.requests) == 1
    assert [path.name for path in root.iterdir()] == ["Colours_DEV.tsv"]
    assert "catalogue" in json.dumps(inspected)
    record = next(iter(open_dataset("out").records()))
    assert record.dataset == "Colours_DEV"
    assert "Please select the correct answer from the options above." in record.messages[-1].content[-1].text
    manifest = json.loads(Path("out", MANIFEST).read_text())
    assert json.dumps(manifest).count('"key": "vlmevalkit:Colours_DEV"') == 1


def test_options_win_over_the_catalogue(root: Path, table: bytes) -> None:
    root.mkdir()
    (root / "Colours.tsv").write_bytes(table)
    with catalogue_of(bench("Colours", Url(f"{HUB}/c.tsv"), prompt=PROMPT)):
        options = ["--dataset", "Mine", "--prompt", "mmbench"]
        done = mmconvert("convert", "Colours", "-o", "out", *options)
    assert done.code == 0, done.err
    assert "benchmark: vlmevalkit:Colours, prompt template mmbench\n" in done.out
    record = next(iter(open_dataset("out").records()))
    assert record.dataset == "Mine"
    assert "There are several options:" in record.messages[-1].content[-1].text


def test_without_permission_it_is_said_what_to_fetch_and_where(root: Path, table: bytes) -> None:
    url = f"{HUB}/colours_v1.tsv"
    with catalogue_of(bench("Colours_DEV", Url(url, md5(table)))):
        done = mmconvert("convert", "Colours_DEV", "-o", "out")
        message = one_message(done)
        assert done.code == 2
        assert message == (
            f"vlmevalkit:Colours_DEV: {root}/Colours_DEV.tsv is missing. Fetch it "
            f"(mmconvert convert Colours_DEV -o DIR --allow-remote), or put it there: {url} (MD5 {md5(table)})"
        )
        root.mkdir()
        (root / "Colours_DEV.tsv").write_bytes(table)
        assert mmconvert("convert", "Colours_DEV", "-o", "out").code == 0


def test_a_copy_under_the_name_of_the_address_is_used_where_its_md5_is_right(root: Path, table: bytes) -> None:
    root.mkdir()
    (root / "colours_v1.tsv").write_bytes(table)
    with catalogue_of(bench("Colours_DEV", Url(f"{HUB}/colours_v1.tsv", md5(table)))):
        assert mmconvert("convert", "Colours_DEV", "-o", "out").code == 0
        (root / "colours_v1.tsv").write_bytes(table + b"\n")
        assert mmconvert("convert", "Colours_DEV", "-o", "out", "--overwrite").code == 2


def test_a_wrong_md5_leaves_nothing(fetching: Convert, answers: dict[str, Handler], root: Path, table: bytes) -> None:
    answers[f"{PATH}/c.tsv"] = reply(table)
    with catalogue_of(bench("Colours", Url(f"{HUB}/c.tsv", "0" * 32))):
        done = fetching("Colours")
    assert done.code == 1
    assert md5(table) in one_message(done)
    assert list(root.iterdir()) == []
    assert not Path("out").exists()


def test_a_download_that_broke_off_is_continued_by_the_next_run(
    fetching: Convert, server: WebServer, answers: dict[str, Handler], root: Path, table: bytes
) -> None:
    answers[f"{PATH}/c.tsv"] = reply(table[:500], "200 OK", 'ETag: "one"', length=len(table))
    with catalogue_of(bench("Colours", Url(f"{HUB}/c.tsv", md5(table)))):
        done = fetching("Colours")
        assert done.code == 1
        assert f"kept in {root}/Colours.tsv.part: run again" in one_message(done)
        rest = [f"Content-Range: bytes 500-{len(table) - 1}/{len(table)}", 'ETag: "one"']
        answers[f"{PATH}/c.tsv"] = reply(table[500:], "206 Partial Content", *rest)
        assert fetching("Colours").code == 0
    assert b"Range: bytes=500-" in server.requests[-1]
    assert [path.name for path in root.iterdir()] == ["Colours.tsv"]


def test_a_file_or_folder_of_the_name_wins(root: Path, tmp_path: Path, table: bytes) -> None:
    (tmp_path / "Colours").mkdir()
    (tmp_path / "Colours/own.tsv").write_bytes(table)
    with catalogue_of(bench("Colours", Url(f"{HUB}/c.tsv"))):
        assert mmconvert("convert", "Colours", "-o", "out").code == 0
    assert next(iter(open_dataset("out").records())).dataset != "Colours"


def test_a_table_of_ones_own_in_lmudata_needs_no_prefix(root: Path, table: bytes) -> None:
    root.mkdir()
    (root / "colours.tsv").write_bytes(table)
    (root / "old.tsv").write_bytes(table)
    other = Benchmark(name="colours", framework="lmms_eval", source=BuiltByCode(), prompt="mmbench")
    with catalogue_of(other, bench("Colours", Url(f"{HUB}/c.tsv"), aliases=("old",))):
        for name in ("colours", "old"):
            assert mmconvert("convert", name, "-o", "out", "--overwrite").code == 0
            assert next(iter(open_dataset("out").records())).dataset != "Colours"
        done = mmconvert("convert", "lmms_eval:colours", "-o", "more")
    assert "lmms-eval's own code builds its data" in one_message(done)


def test_several_frameworks_are_a_question(root: Path) -> None:
    other = Benchmark(name="colours", framework="lmms_eval", source=BuiltByCode())
    with catalogue_of(other, bench("Colours", Url(f"{HUB}/c.tsv"))):
        message = one_message(mmconvert("convert", "colours", "-o", "out"))
    assert "Choose one: lmms_eval:colours, vlmevalkit:Colours." in message


def test_tables_of_a_joined_benchmark_are_its_subsets(root: Path, table: bytes) -> None:
    root.mkdir()
    (root / "One.tsv").write_bytes(table)
    (root / "Two.tsv").write_bytes(table)
    parts = [bench(name, Url(f"{HUB}/{name}.tsv"), prompt=PROMPT) for name in ("One", "Two")]
    with catalogue_of(bench("Both", JoinedTables(("One", "Two"))), *parts):
        done = mmconvert("convert", "Both", "-o", "out", "--json")
    assert json.loads(done.out)["splits"] == {"test": 8}, done.err
    records = list(open_dataset("out").records())
    assert {(record.dataset, record.subset) for record in records} == {("Both", "One"), ("Both", "Two")}
    assert len({record.id for record in records}) == 8
    assert "Please select" in records[0].messages[-1].content[-1].text


def test_rows_of_several_addresses_are_one_benchmark(
    fetching: Convert, answers: dict[str, Handler], root: Path, table: bytes
) -> None:
    answers.update({f"{PATH}/one.tsv": reply(table), f"{PATH}/two.tsv": reply(table)})
    source = UrlParts((f"{HUB}/one.tsv", f"{HUB}/two.tsv"), "rows", md5s=(md5(table), md5(table)))
    with catalogue_of(bench("Colours", source)):
        done = fetching("Colours")
    assert json.loads(done.out)["splits"] == {"test": 8}, done.err
    assert sorted(path.name for path in root.iterdir()) == ["one.tsv", "two.tsv"]
    assert {record.dataset for record in open_dataset("out").records()} == {"Colours"}


def test_bytes_of_several_addresses_are_one_table(
    fetching: Convert, server: WebServer, answers: dict[str, Handler], root: Path, table: bytes
) -> None:
    answers.update({f"{PATH}/part-aa": reply(table[:1000]), f"{PATH}/part-ab": reply(table[1000:])})
    source = UrlParts((f"{HUB}/part-aa", f"{HUB}/part-ab"), "bytes", md5(table))
    with catalogue_of(bench("Colours", source)):
        done = mmconvert("convert", "Colours", "-o", "out")
        assert f"the joined bytes of {HUB}/part-aa, {HUB}/part-ab (MD5 {md5(table)})" in one_message(done)
        for _ in range(2):
            assert fetching("Colours").code == 0
        assert (root / "Colours.tsv").read_bytes() == table
    assert [path.name for path in root.iterdir()] == ["Colours.tsv"]
    assert len(server.requests) == 2
    with catalogue_of(bench("Other", UrlParts(source.urls, "bytes", "0" * 32))):
        assert "do not have the MD5" in one_message(fetching("Other"))
    assert [path.name for path in root.iterdir()] == ["Colours.tsv"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (LocalTable(), "Its authors hand out the table: put it there."),
        (TaskGroup(("a", "b")), "is a group of 2 tasks, each scored by itself. Name one: vlmevalkit:a, vlmevalkit:b."),
        (BuiltByCode(), "VLMEvalKit's own code builds its data (read VAR). Convert the files that it makes."),
        (Url(f"{HUB}/data.zip"), f"own code unpacks {HUB}/data.zip."),
    ],
)
def test_what_cannot_be_fetched_says_what_to_do(source: Source, said: str, root: Path) -> None:
    with catalogue_of(bench("Mine", source, note="read VAR")):
        done = mmconvert("convert", "Mine", "-o", "out", "--allow-remote")
    assert done.code == 2
    assert said in one_message(done)


CARD = """---
configs:
- config_name: default
  data_files: [{split: test, path: all.tsv}]
- config_name: warm
  data_files: [{split: test, path: "warm/test-*"}, {split: dev, path: "warm/dev-*"}]
- config_name: cold
  data_files: [{split: test, path: "cold/test-*"}]
---
"""


@pytest.fixture
def hosted(
    server: WebServer, answers: dict[str, Handler], table: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, bytes]:
    """Serve a dataset as ModelScope does; give its files, and list them in two pages."""
    monkeypatch.setenv("MODELSCOPE_ENDPOINT", f"http://127.0.0.1:{server.port}/")
    monkeypatch.setenv("MODELSCOPE_CACHE", str(tmp_path / "cache"))
    lines = table.splitlines(keepends=True)
    parts = {"warm": lines[0] + b"".join(lines[1:3]), "cold": lines[0] + b"".join(lines[3:])}
    files = {f"{name}/test-0.tsv": data for name, data in parts.items()}
    files |= {"README.md": CARD.encode(), "warm/dev-0.tsv": b"another split", "all.tsv": table}
    base = "/api/v1/datasets/owner/my.set/repo"
    entries = [{"Path": "warm", "Type": "tree", "Size": 0}] * (200 - len(files) + 1)
    for name, data in files.items():
        digest = hashlib.sha256(data).hexdigest()
        entries.append({"Path": name, "Type": "blob", "Size": len(data), "Sha256": digest})
        answers[f"{base}?{urlencode({'Revision': 'master', 'FilePath': name})}"] = reply(data)
    for number, page in enumerate((entries[:200], entries[200:]), start=1):
        body = json.dumps({"Code": 200, "Data": {"Files": page}}).encode()
        answers[f"{base}/tree?Revision=master&Recursive=True&PageNumber={number}&PageSize=200"] = reply(body)
    return files


def test_a_dataset_on_modelscope_is_fetched_and_read_subset_by_subset(
    fetching: Convert, server: WebServer, hosted: dict[str, bytes], tmp_path: Path
) -> None:
    with catalogue_of(bench("Colours", ModelScopeFiles("owner/my.set", ("warm", "cold"), "test"))):
        done = fetching("Colours")
        assert json.loads(done.out)["splits"] == {"test": 4}, done.err
        assert {record.subset for record in open_dataset("out").records()} == {"warm", "cold"}
        folder = tmp_path / "cache/datasets/owner/my___set"
        assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == {
            ".mmconvert-files.json",
            "README.md",
            "cold/test-0.tsv",
            "warm/test-0.tsv",
        }
        fetched = len(server.requests)
        # Without --allow-remote it is read from there, without a request.
        assert mmconvert("convert", "Colours", "-o", "again").code == 0
        assert len(server.requests) == fetched
        # Only the list of files is fetched again.
        assert fetching("Colours").code == 0
        assert len(server.requests) == fetched + 2
        (folder / "cold/test-0.tsv").write_bytes(b"")
        assert "is on ModelScope" in one_message(mmconvert("convert", "Colours", "-o", "third"))
        assert fetching("Colours").code == 0
        assert (folder / "cold/test-0.tsv").read_bytes() == hosted["cold/test-0.tsv"]


def test_subsets_that_the_card_does_not_have_are_rows_of_the_whole(fetching: Convert, hosted: dict[str, bytes]) -> None:
    with catalogue_of(bench("Colours", ModelScopeFiles("owner/my.set", ("easy", "hard"), "test"))):
        done = fetching("Colours")
    assert json.loads(done.out)["splits"] == {"test": 4}, done.err


def test_what_is_on_modelscope_says_how_it_is_fetched(
    fetching: Convert, answers: dict[str, Handler], hosted: dict[str, bytes]
) -> None:
    by_hand = "pip install modelscope; modelscope download --dataset owner/my.set --local_dir my.set"
    with catalogue_of(bench("Colours", ModelScopeFiles("owner/my.set", (), "nightly"))):
        message = one_message(mmconvert("convert", "Colours", "-o", "out"))
        assert "Fetch it: mmconvert convert vlmevalkit:Colours -o DIR --allow-remote. Or fetch it by hand" in message
        assert message.endswith(by_hand)
        message = one_message(fetching("Colours"))
        assert "has no split 'nightly'" in message
        assert message.endswith(by_hand)
    bad = dict.fromkeys(answers, reply(b"damaged"))
    pages = {path: answer for path, answer in answers.items() if "tree?" in path}
    answers.update(bad | pages)
    with catalogue_of(bench("Colours", ModelScopeFiles("owner/my.set", (), "test"))):
        assert "sha256" in one_message(fetching("Colours"))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"<html>", "it is none"),
        (b'{"Code": 10990101007, "Message": "dataset not found", "Data": null}', "dataset not found"),
        (b'{"Data": {"Files": [{"Path": "../x.tsv", "Type": "blob", "Size": 1}]}}', "leads out of it"),
        (b'{"Data": {"Files": [{"Path": "/etc/x.tsv", "Type": "blob", "Size": 1}]}}', "leads out of it"),
        (b'{"Data": {"Files": [{"Path": "a\\\\b.tsv", "Type": "blob", "Size": 1}]}}', "leads out of it"),
        (b'{"Data": {"Files": [1]}}', "an entry has no path"),
    ],
)
def test_a_strange_list_of_files_is_named(
    fetching: Convert, answers: dict[str, Handler], hosted: dict[str, bytes], body: bytes, told: str
) -> None:
    (first,) = (path for path in answers if "PageNumber=1" in path)
    answers[first] = reply(body)
    with catalogue_of(bench("Colours", ModelScopeFiles("owner/my.set", (), "test"))):
        message = one_message(fetching("Colours"))
    assert told in message
    assert message.endswith("modelscope download --dataset owner/my.set --local_dir my.set")


def test_a_dataset_that_modelscope_does_not_have_says_so(
    fetching: Convert, answers: dict[str, Handler], hosted: dict[str, bytes]
) -> None:
    with catalogue_of(bench("Colours", ModelScopeFiles("owner/other", (), "test"))):
        message = one_message(fetching("Colours"))
    assert (
        "datasets/owner/other/repo/tree: the list of the dataset's files cannot be used: the server answers 404"
        in message
    )
    assert "/tmp" not in message


def test_a_table_that_its_authors_hand_out_is_read_from_its_place(root: Path, table: bytes) -> None:
    root.mkdir()
    (root / "Mine.tsv").write_bytes(table)
    with catalogue_of(bench("Mine", LocalTable())):
        assert mmconvert("convert", "Mine", "-o", "out").code == 0


def test_a_misspelt_name_is_met_with_the_nearest_benchmark(root: Path) -> None:
    message = one_message(mmconvert("convert", "MMStarr", "-o", "out"))
    assert message == "MMStarr: no such file or folder. Did you mean MMStar?"
