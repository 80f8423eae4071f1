"""Plug-ins treat what they are given as dataclasses: that is how the pages show it."""

import copy
import pickle
from dataclasses import asdict, fields, is_dataclass, replace
from typing import Any

import msgspec
import pytest

from mmconvert.core.plugin_struct import PluginStruct


class Place(PluginStruct, frozen=True):
    """A place."""

    file: str
    row: int = 0
    notes: list[str] = msgspec.field(default_factory=list)


class Row(PluginStruct, frozen=True, gc=False):
    """A row, at a place."""

    place: Place


def test_the_functions_of_dataclasses_take_it() -> None:
    place = Place("a", 2)
    assert is_dataclass(place)
    assert replace(place, row=3) == Place("a", 3)
    assert place == Place("a", 2)
    assert [field.name for field in fields(place)] == ["file", "row", "notes"]
    assert asdict(Row(place)) == {"place": {"file": "a", "row": 2, "notes": []}}
    with pytest.raises(TypeError):
        replace(place, line=1)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value)), replace])
def test_copies_are_equal_and_frozen(again: Any) -> None:
    place = Place("a", 2, ["x"])
    other = again(place)
    assert other == place
    assert other is not place
    with pytest.raises(AttributeError):
        other.row = 3


def test_values_match_by_place() -> None:
    match Place("a", 1, []):
        case Place("a", row):
            assert row == 1
        case other:
            pytest.fail(f"{other} matches nothing")
