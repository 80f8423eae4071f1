"""Pushes with Xet on: the Hub's own client writes into a Xet store here, from which the loopback Hub serves."""

import io
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import PIL.Image
import pytest

from mmconvert.core.record import Image, Record
from support.datasets_on_disk import record, write_dataset
from support.hub_client import hub_client
from support.hub_server import STALL, HubServer
from support.xet_store import XetStore

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        int(huggingface_hub.__version__.partition(".")[0]) < 2, reason="the loopback Hub has no Xet for older clients"
    ),
]

REPO = "user/demo"
ROWS, SIDE = 60, 200


@pytest.fixture
def xet(hub: HubServer, tmp_path: Path) -> XetStore:
    hub.xet = XetStore(tmp_path / "xet")
    return hub.xet


@pytest.fixture
def client(hub: HubServer, xet: XetStore, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    with hub_client(hub.environment(tmp_path / "home")) as call:
        yield call


def make_rows(count: int) -> list[Record]:
    """Make rows with images of 120 kB that nothing shrinks."""
    rows = []
    for number in range(count):
        buffer = io.BytesIO()
        noise = random.Random(number).randbytes(SIDE * SIDE * 3)
        PIL.Image.frombytes("RGB", (SIDE, SIDE), noise).save(buffer, "PNG")
        rows.append(record(number, Image(buffer.getvalue(), 1, format="PNG", width=SIDE, height=SIDE)))
    return rows


def sum_sizes(paths: list[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


def test_a_push_by_xet_loads_with_the_bytes_of_the_folder(
    hub: HubServer, xet: XetStore, client: Callable[..., Any], tmp_path: Path
) -> None:
    folder = write_dataset(tmp_path / "set", {"test": make_rows(ROWS)})
    assert client("push", folder, REPO)["files"] == 3
    assert not [line for line in hub.requests if "/lfs" in line]
    shard = "data/test-00000-of-00001.parquet"
    assert hub.dataset(REPO).files()[shard] == (folder / shard).read_bytes()
    assert sum_sizes(xet.list_xorbs()) > ROWS * SIDE * SIDE * 3
    assert client("load", REPO) == client("load", folder)


def test_a_changed_dataset_sends_its_changed_part(
    hub: HubServer, xet: XetStore, client: Callable[..., Any], tmp_path: Path
) -> None:
    rows = make_rows(ROWS + 1)
    folder = write_dataset(tmp_path / "set", {"test": rows[:-1]})
    client("push", folder, REPO)
    before = set(xet.list_xorbs())
    write_dataset(folder, {"test": [*rows[:20], rows[-1], *rows[20:-1]]})
    client("push", folder, REPO)
    sent = sum_sizes([path for path in xet.list_xorbs() if path not in before])
    assert 0 < sent < sum_sizes([*before]) / 4
    assert client("load", REPO) == client("load", folder)


def test_a_push_by_xet_that_was_killed_goes_on(
    hub: HubServer, xet: XetStore, client: Callable[..., Any], tmp_path: Path
) -> None:
    folder = write_dataset(tmp_path / "set", {"test": make_rows(ROWS)})
    hub.fail("POST .*/commit/", STALL, times=1)
    command = [sys.executable, "-m", "mmconvert", "push", str(folder), REPO]
    with subprocess.Popen(command, env=hub.environment(tmp_path / "home"), stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while not any("/commit/" in line for line in hub.requests) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
    assert sorted(hub.dataset(REPO).files()) == [".gitattributes"]
    sent = set(xet.list_xorbs())
    assert sent
    assert "url" in client("push", folder, REPO)
    assert set(xet.list_xorbs()) == sent
    assert client("load", REPO) == client("load", folder)
