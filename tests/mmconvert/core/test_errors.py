"""Values in messages: cut before their text is built."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from mmconvert.core.errors import UsageError, build_missing_path_error, quote_value, refuse_long_paths, show


def nested(levels: int, width: int = 10) -> Any:
    value: Any = "lol"
    for _ in range(levels):
        value = [value] * width
    return value


@pytest.mark.parametrize(
    "value",
    [None, 1, -2.5, "it's", b"\x00", [], [1, "a"], (), (1,), {"a": [None, {"b": ()}]}, {1, 2}, "x" * 200, ["y" * 200]],
)
def test_says_what_repr_says(value: object) -> None:
    whole = repr(value)
    assert quote_value(value) == (f"{whole[:80]}..." if len(whole) > 80 else whole)
    assert show(value, limit=500) == f"(got {whole})"


@pytest.mark.parametrize("value", [nested(30), {"k": nested(30)}, {"k" * 10_000_000: 1}, 1 << 1_000_000], ids=type)
def test_builds_no_more_than_it_shows(value: object) -> None:
    assert len(show(value)) < 100


def test_shows_what_holds_itself_and_what_is_deep() -> None:
    circle: list[Any] = []
    circle.append(circle)
    assert quote_value(circle) == "[" * 80 + "..."
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert quote_value(deep) == "[" * 80 + "..."


@pytest.mark.parametrize("path", ["x" * 300, "x" * 300 + "/rows.jsonl", "/".join(["y" * 200] * 30), "a\0b"])
def test_a_path_that_no_file_can_have_is_missing(path: str) -> None:
    assert str(build_missing_path_error(Path(path))).endswith("no such file or folder. See what is there: ls .")


def test_what_is_beside_a_path_in_a_folder_that_cannot_be_listed_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert "See what is there: ls" in str(build_missing_path_error(tmp_path / "a"))


def test_a_path_that_is_too_long_is_refused_wherever_it_is_looked_for() -> None:
    with (
        pytest.raises(UsageError, match=r"^'x{79}\.\.\.: no file can have so long a name. Give the path"),
        refuse_long_paths(),
    ):
        Path("x" * 300).stat()
    with pytest.raises(FileNotFoundError), refuse_long_paths():
        Path("no such file").stat()
