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
from mmconvert.storage.http import Body, Limits
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
    def __call__(self, url: str, limits: Limits) -> Iterator[Body]:
        self.opened += 1
        yield Body(self._chunks(), 0, len(self.body), None)

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


def test_a_full_disk_is_not_left_fuller(table: Path) -> None:
    ends = OSError(28, "No space left")
    with pytest.raises(Error, match="No space left"):
        download_table(URL, open_url=Network(ends=ends))
    assert list(table.parent.iterdir()) == []
    table.write_bytes(b"old")
    with pytest.raises(Error):
        download_table(URL, md5=MD5, open_url=Network(ends=ends))
    assert (table.read_bytes(), left_over(table)) == (b"old", [])


def test_a_download_that_breaks_off_keeps_what_has_arrived_and_no_table(table: Path) -> None:
    ends = RowError("remote.failed", "", "the answer ends early.")
    with pytest.raises(Error, match=r"ends early\..*Colours\.tsv\.part: run again to continue"):
        download_table(URL, open_url=Network(ends=ends))
    assert not table.exists()
    assert sorted(left_over(table)) == ["Colours.tsv.part", "Colours.tsv.part.json"]
    assert download_table(URL, open_url=Network()).read_bytes() == NEW
    assert left_over(table) == []


def test_a_benchmark_is_kept_under_its_name_as_the_framework_keeps_it(table: Path) -> None:
    network = Network()
    place = download_table(URL, file_name="Colours_DEV.tsv", md5=MD5, open_url=network)
    assert (place, place.read_bytes()) == (table.with_name("Colours_DEV.tsv"), NEW)
    assert not table.exists()
    assert (
        download_table("https://tables.example/get?id=3", file_name="Other.tsv", open_url=network).name == "Other.tsv"
    )


def test_an_older_copy_under_the_name_of_the_address_is_used(table: Path) -> None:
    network = Network()
    download_table(URL, open_url=network)
    assert download_table(URL, file_name="Colours_DEV.tsv", md5=MD5, open_url=network).read_bytes() == NEW
    assert (network.opened, table.read_bytes()) == (1, NEW)
    table.write_bytes(b"other")
    table.with_name("Colours_DEV.tsv").unlink()
    assert download_table(URL, file_name="Colours_DEV.tsv", md5=MD5, open_url=network).read_bytes() == NEW
    assert network.opened == 2


def test_pages_of_the_hub_are_fetched_as_files_and_from_the_mirror(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    @contextlib.contextmanager
    def note_address(url: str, limits: Limits) -> Iterator[Body]:
        asked.append(url)
        yield Body(iter([NEW]), 0, len(NEW), None)

    page = "https://huggingface.co/datasets/a/b/blob/main/Colours.tsv"
    download_table(page, file_name="One.tsv", open_url=note_address)
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.example/")
    download_table(page, file_name="Two.tsv", open_url=note_address)
    file = "datasets/a/b/resolve/main/Colours.tsv"
    assert asked == [f"https://huggingface.co/{file}", f"https://mirror.example/{file}"]


LEFT = f"from mmconvert.kits.vlmevalkit.lmu_download import download_table as d; d({URL!r}, open_url=stops)"
STOPS = """
import contextlib, time
from mmconvert.storage.http import Body

@contextlib.contextmanager
def stops(url, limits):
    def chunks():
        yield b"index"
        print("begun", flush=True)
        time.sleep(60)
    yield Body(chunks(), 0, 30, None)
"""


def test_what_a_killed_download_left_goes_with_the_next_one(table: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", f"{STOPS}\n{LEFT}"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    process.wait()
    assert "Colours.tsv.part" in left_over(table)
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
