"""A table named by its address: fetched once, checked, and never in the way of an older one."""

import contextlib
import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmconvert.core.errors import Error, RowError, UsageError
from mmconvert.kits.vlmevalkit.lmu_download import download_table
from mmconvert.storage.http import Limits
from support.write_order import watch_writes

URL = "https://tables.example/kit/Colours.tsv?download=1"
NEW = b"index\tquestion\timage\n1\tnew\tx\n"
MD5, SHA256 = hashlib.md5(NEW).hexdigest(), hashlib.sha256(NEW).hexdigest()


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    return tmp_path / "LMUData/Colours.tsv"


class Network:
    """Stands for the network: counts what is opened."""

    def __init__(self, body: bytes = NEW, ends: Exception | None = None) -> None:
        self.body, self.ends, self.opened = body, ends, 0

    @contextlib.contextmanager
    def __call__(self, url: str, limits: Limits) -> Iterator[Iterator[bytes]]:
        self.opened += 1
        yield self._chunks()

    def _chunks(self) -> Iterator[bytes]:
        yield self.body[:5]
        if self.ends is not None:
            raise self.ends
        yield self.body[5:]


def left_over(table: Path) -> list[str]:
    return [path.name for path in table.parent.iterdir() if path != table]


def test_a_table_is_fetched_once(table: Path) -> None:
    network = Network()
    for _ in range(2):
        assert download_table(URL, md5=MD5, sha256=SHA256.upper(), open_url=network) == table
        assert download_table(URL, open_url=network) == table
    assert (table.read_bytes(), network.opened, left_over(table)) == (NEW, 1, [])


@pytest.mark.parametrize("sums", [{"md5": "0" * 32}, {"sha256": "0" * 64}, {"md5": MD5, "sha256": "0" * 64}])
def test_a_wrong_sum_names_both_values_and_replaces_nothing(table: Path, sums: dict[str, str]) -> None:
    with pytest.raises(Error, match="0000") as caught:
        download_table(URL, open_url=Network(), **sums)
    assert (MD5 if list(sums) == ["md5"] else SHA256) in str(caught.value)
    assert not table.exists()
    table.write_bytes(b"old")
    with pytest.raises(Error, match="0000"):
        download_table(URL, open_url=Network(), **sums)
    assert (table.read_bytes(), left_over(table)) == (b"old", [])


def test_an_older_table_gives_way_to_the_one_with_the_right_sum(table: Path) -> None:
    table.parent.mkdir()
    table.write_bytes(b"old")
    assert download_table(URL, open_url=Network()).read_bytes() == b"old"
    assert download_table(URL, md5=MD5, open_url=Network()).read_bytes() == NEW


@pytest.mark.parametrize(
    "ends", [RowError("remote.failed", "", "the answer ends early."), OSError(28, "No space left")]
)
def test_a_broken_download_leaves_nothing_behind(table: Path, ends: Exception) -> None:
    with pytest.raises(Error, match=r"ends early|No space left"):
        download_table(URL, open_url=Network(ends=ends))
    assert list(table.parent.iterdir()) == []
    table.write_bytes(b"old")
    with pytest.raises(Error):
        download_table(URL, md5=MD5, open_url=Network(ends=ends))
    assert (table.read_bytes(), left_over(table)) == (b"old", [])


LEFT = f"from mmconvert.kits.vlmevalkit.lmu_download import download_table as d; d({URL!r}, open_url=stops)"
STOPS = """
import contextlib, time

@contextlib.contextmanager
def stops(url, limits):
    def chunks():
        yield b"index"
        print("begun", flush=True)
        time.sleep(60)
    yield chunks()
"""


def test_what_a_killed_download_left_goes_with_the_next_one(table: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", f"{STOPS}\n{LEFT}"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    process.wait()
    assert len(left_over(table)) == 1
    assert download_table(URL, open_url=Network()).read_bytes() == NEW
    assert left_over(table) == []


@pytest.mark.parametrize(
    "url",
    [
        "http://tables.example/Colours.tsv",
        "https://tables.example/Colours.zip",
        "https://tables.example/.tsv",
        "https://tables.example/%2e%2e%2fColours.tsv%2f..",
        "https://tables.example/a%00.tsv",
        "https://tables.example/..%5cColours.tsv",
        "https://tables.example/",
    ],
)
def test_only_https_tables_are_downloaded(table: Path, url: str) -> None:
    network = Network()
    with pytest.raises(UsageError, match="only tables"):
        download_table(url, open_url=network)
    assert network.opened == 0


def test_the_name_cannot_lead_out_of_the_folder(table: Path) -> None:
    assert download_table("https://tables.example/x/..%2f..%2fColours.tsv", open_url=Network()) == table


def test_a_table_is_on_the_disk_before_it_has_its_name(table: Path) -> None:
    with watch_writes(table):
        download_table(URL, open_url=Network())
