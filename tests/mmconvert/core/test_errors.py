"""Values in messages: cut before their text is built."""

from typing import Any

import pytest

from mmconvert.core.errors import quote_value, show


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
