"""What `frozen` makes behaves as `@dataclass(frozen=True, slots=True)` does."""

import copy
import gc
import pickle
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest

from mmconvert.core.frozen import frozen


@frozen
class Place:
    """A place."""

    file: str
    row: int = 0
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.file}:{self.row}"

    @property
    def next(self) -> int:
        return self.row + 1


@dataclass(frozen=True, slots=True)
class Usual:
    """The same by the usual decorator."""

    file: str
    row: int = 0
    notes: list[str] = field(default_factory=list)


@frozen
class Pair:
    """A place and a name; every value can be hashed."""

    name: str
    row: int


def test_values_defaults_and_methods_are_those_of_the_class() -> None:
    place = Place("a", row=3)
    assert (place.file, place.row, place.notes, place.next, str(place)) == ("a", 3, [], 4, "a:3")
    assert repr(place) == "Place(file='a', row=3, notes=[])"
    assert isinstance(place, Place)
    assert is_dataclass(place)
    assert Place("a").notes is not Place("a").notes
    assert [f.name for f in fields(Place)] == [f.name for f in fields(place)] == ["file", "row", "notes"]
    assert (type(place).__name__, type(place).__module__, type(place).__doc__) == ("Place", __name__, "A place.")


@pytest.mark.parametrize("kind", [Place, Usual])
@pytest.mark.parametrize("name", ["row", "notes", "unknown"])
def test_nothing_can_be_set_or_deleted(kind: Any, name: str) -> None:
    place = kind("a", 1)
    # The usual decorator has two words for a name that is no field.
    refused: Any = (AttributeError, TypeError)
    with pytest.raises(refused):
        setattr(place, name, 2)
    with pytest.raises(refused):
        delattr(place, name)
    assert place == kind("a", 1)
    assert not hasattr(place, "__dict__")


@pytest.mark.parametrize("arguments", [((), {}), (("a", 1, [], 4), {}), (("a",), {"file": "b"}), (("a",), {"line": 1})])
def test_wrong_arguments_are_refused(arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    with pytest.raises(TypeError):
        Place(*arguments[0], **arguments[1])


def test_equal_values_are_equal_and_hash_alike() -> None:
    assert Pair("a", 1) == Pair("a", 1)
    assert Pair("a", 1) != Pair("a", 2)
    assert Pair("a", 1) != ("a", 1)
    assert len({Pair("a", 1), Pair("a", 1), Pair("b", 1)}) == 2
    with pytest.raises(TypeError):
        hash(Place("a"))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value)), replace])
def test_copies_are_equal_and_frozen(again: Any) -> None:
    place = Place("a", 2, ["x"])
    other = again(place)
    assert other == place
    assert other is not place
    with pytest.raises(AttributeError):
        other.row = 3


def test_other_values_are_taken_by_replace() -> None:
    place = Place("a", 2)
    assert replace(place, row=3) == Place("a", 3)
    assert asdict(replace(place, file="b")) == {"file": "b", "row": 2, "notes": []}
    assert place.row == 2


def test_values_match_by_place() -> None:
    match Pair("a", 1):
        case Pair("a", row):
            assert row == 1
        case other:
            pytest.fail(f"{other} matches nothing")


def test_post_init_may_refuse() -> None:
    @frozen
    class Share:
        part: float

        def __post_init__(self) -> None:
            if not 0 <= self.part <= 1:
                raise ValueError(f"{self.part} is no share")

    assert Share(0.5).part == 0.5
    with pytest.raises(ValueError, match="2 is no share"):
        Share(2)
    with pytest.raises(ValueError, match="3 is no share"):
        replace(Share(0.5), part=3)


@pytest.mark.parametrize("given", [{"repr": False}, {"compare": False}, {"init": False}, {"kw_only": True}])
def test_what_a_struct_cannot_do_is_refused(given: dict[str, Any]) -> None:
    class Key:
        name: str
        secret: str = field(default="", **given)

    with pytest.raises(TypeError, match="Key: cannot be @frozen"):
        frozen(Key)


def test_a_class_that_inherits_is_refused() -> None:
    class Child(Pair):  # type: ignore[misc]
        more: int = 0

    with pytest.raises(TypeError, match="Child: cannot be @frozen"):
        frozen(Child)


def test_python_looks_for_circles_through_objects_unless_told_otherwise() -> None:
    @frozen(gc=False)
    class Row:
        """A row."""

        cells: list[str]

    assert gc.is_tracked(Place("a"))
    assert not gc.is_tracked(Row(["a"]))
    assert replace(Row(["a"]), cells=["b"]) == Row(["b"])
