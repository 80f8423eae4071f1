from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.storage.fetch_cache import FetchCache

URL = "http://a.example/x.png"
BODY = b"x" * 100
RECORD = 32 + 32 + 8 + len(BODY)


def keep(folder: Path, bodies: dict[str, bytes]) -> None:
    cache = FetchCache(folder)
    for url, body in bodies.items():
        cache.keep(url, body)
    cache.close()


def read(folder: Path, *urls: str, most: int = 1000) -> list[bytes | None]:
    cache = FetchCache(folder)
    try:
        return [cache.read(url, most) for url in urls]
    finally:
        cache.close()


@given(runs=st.lists(st.dictionaries(st.text(min_size=1), st.binary(max_size=300), max_size=5), max_size=4))
def test_what_several_runs_kept_is_read(runs: list[dict[str, bytes]], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("kept")
    expected: dict[str, bytes] = {}
    for bodies in runs:
        new = {url: body for url, body in bodies.items() if url not in expected}
        keep(folder, new)
        expected |= new
    assert read(folder, *expected) == [*expected.values()]
    assert len([*folder.iterdir()]) == sum(1 for bodies in _without_repeats(runs) if bodies)


def _without_repeats(runs: list[dict[str, bytes]]) -> list[set[str]]:
    seen: set[str] = set()
    news = []
    for bodies in runs:
        news.append(set(bodies) - seen)
        seen |= set(bodies)
    return news


def test_what_this_process_kept_is_read(tmp_path: Path) -> None:
    cache = FetchCache(tmp_path)
    for number in range(3):
        cache.keep(f"{URL}?{number}", bytes([number]) * number)
        assert cache.read(URL + "?0", 10) == b""
        cache.keep(f"{URL}?again{number}", BODY)
    assert [cache.read(f"{URL}?{number}", 10) for number in (2, 0, 1, 9)] == [b"\2\2", b"", b"\1", None]
    cache.close()


@pytest.mark.parametrize("kept", [0, 31, 71, 72, 100, RECORD - 1])
def test_what_was_not_kept_to_its_end_is_not_read(kept: int, tmp_path: Path) -> None:
    keep(tmp_path, {"first": b"1", URL: BODY})
    (file,) = tmp_path.iterdir()
    data = file.read_bytes()
    file.write_bytes(data[: len(data) - RECORD + kept])
    assert read(tmp_path, "first", URL) == [b"1", None]


@pytest.mark.parametrize("at", [0, 40, 64, 71, 72, RECORD - 1])
def test_what_is_damaged_is_not_read(at: int, tmp_path: Path) -> None:
    keep(tmp_path, {URL: BODY})
    (file,) = tmp_path.iterdir()
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)
    assert read(tmp_path, URL) == [None]


def test_too_much_is_not_read(tmp_path: Path) -> None:
    keep(tmp_path, {URL: BODY})
    assert read(tmp_path, URL, most=99) == [None]


def test_a_folder_that_is_gone_keeps_nothing(tmp_path: Path) -> None:
    keep(tmp_path / "gone", {URL: BODY})
    assert read(tmp_path / "gone", URL) == [None]
