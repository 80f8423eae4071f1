"""Rows that stand in a list inside one JSON object, read element by element.

The list is named by the way to it: `("data",)` for `{"version": ..., "data": [...]}`. Its elements are
distinguished and read as those of a JSON array (`json_array`), so that a bad one is refused and the others
go on; the rest of the object must be without fault.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mmconvert.core.errors import Error, RowError, quote_value, show, suggest_spelling
from mmconvert.core.rows import Rejected, Row, Where
from mmconvert.core.text.json import parse_json
from mmconvert.io.json_array import JsonWindow, read_elements
from mmconvert.io.json_lines import parse_object
from mmconvert.storage.source_files import open_source

_HEAD_ITEMS = 8
_MOST_MEMBERS = 100_000
_DEEPEST = 100
_MOST_NAMED = 8
"""Members that a message names."""
"""Objects inside each other that a head is looked for in."""


def rows(path: Path, way: Sequence[str], *, nan: bool = False) -> Iterator[Row | Rejected]:
    """Read the elements of a list inside an object.

    Args:
        path: The file.
        way: Names of the members that lead to the list, outermost first.
        nan: Read NaN and the infinities in a row as null.

    Yields:
        A row for each element that is an object, `Rejected` for any other.

    Raises:
        Error: The file is empty, not one JSON object, or not whole, or has no such list.
    """
    with open_source(path) as file:
        window = _open_window(JsonWindow(file, path))
        yield from _read_rows(window, way, nan)
        _expect_end(window)


def read_members(path: Path, way: Sequence[str], *, nan: bool = False) -> dict[str, Any]:
    """Read an object without the list that the way leads to.

    Args:
        path: The file.
        way: Names of the members that lead to the list.
        nan: Read NaN and the infinities as null.

    Returns:
        The members; the objects on the way hold what stands beside the list.

    Raises:
        Error: As for `rows`.
    """
    with open_source(path) as file:
        window = _open_window(JsonWindow(file, path))
        found = _read_members(window, way, nan)
        _expect_end(window)
    return found


def read_keyed_rows(path: Path, key: str, text: str) -> Iterator[Row | Rejected]:
    """Read the members of an object as rows: `{"q1": "yes", "q2": {"response": "no"}}`.

    Args:
        path: The file.
        key: Field for the members' names.
        text: Field for a value that is a text; an object has fields of its own.

    Yields:
        A row for each member that is a text or an object, `Rejected` for any other.

    Raises:
        Error: The file is empty, not one JSON object, or not whole.
    """
    with open_source(path) as file:
        window = _open_window(JsonWindow(file, path))
        for number, name in enumerate(_read_names(window)):
            where = Where(path.name, number, window.line)
            raw = window.read_element()
            try:
                yield Row({key: name, **_read_member(raw, text)}, where)
            except RowError as error:
                yield Rejected.of(error, where, name)
        _expect_end(window)


def _read_member(raw: bytes, text: str) -> dict[str, Any]:
    if raw[:1] == b"{":
        return parse_object(raw)
    try:
        value = parse_json(raw.decode())
    except UnicodeDecodeError:
        raise RowError("text.encoding", "", "this is not UTF-8. Save the file as UTF-8.") from None
    if value is not None and not isinstance(value, str):
        raise RowError(f"{text}.type", text, f"expected a text or an object {show(value)}.")
    return {text: value}


def head(path: Path) -> dict[str, Any]:
    """Read the first members of an object up to and with the first list of objects, lists cut short, NaN as null.

    Raises:
        Error: The file is empty or damaged there.
    """
    with open_source(path) as file:
        return _read_head(_open_window(JsonWindow(file, path)))[0]


def _open_window(window: JsonWindow) -> JsonWindow:
    if window.begin("a JSON object") != b"{":
        message = f"{window.path}: expected a JSON object, which begins with a brace. Check that it is the right file."
        raise Error(message)
    return window


def _expect_end(window: JsonWindow) -> None:
    if window.peek():
        window.fail("something follows the closing brace of the object", "Keep one object in the file.")


def _read_names(window: JsonWindow, wanted: str | None = None) -> Iterator[str]:
    """Yield the members' names, `wanted` among them; whoever iterates moves the window behind each value."""
    window.advance(window.at + 1)
    seen: dict[str, None] = {}
    while not (window.peek() == b"}" and not seen):
        if window.peek() != b'"':
            window.fail("expected the name of a member in quotes")
        name = _read_value(window)
        if name in seen:
            window.fail(f"the name {name!r} appears twice in one object", "Keep one of them.")
        seen[name] = None
        if len(seen) > _MOST_MEMBERS:
            window.fail(f"an object has more than {_MOST_MEMBERS:,} members", "Write its rows as a list.")
        if window.peek() != b":":
            window.fail(f"expected a colon behind the name {name!r}")
        window.advance(window.at + 1)
        if not window.peek():
            window.fail("the file was cut")
        yield name
        if window.peek() == b"}":
            break
        if window.peek() != b",":
            expected = f"expected a comma or the closing brace behind {name!r}"
            window.fail(expected if window.peek() else "the file was cut")
        window.advance(window.at + 1)
    window.advance(window.at + 1)
    if wanted is not None and wanted not in seen:
        found = ", ".join(map(quote_value, [*seen][:_MOST_NAMED])) or "nothing"
        near = suggest_spelling(wanted, seen)
        raise Error(f"{window.path}: there is no member {wanted!r} (found {found}).{near} Check which file it is.")


def _read_value(window: JsonWindow, *, nan: bool = False) -> Any:
    raw = window.read_element()
    # All members stay in memory, unlike the elements of a list of rows.
    window.held += len(raw)
    window.refuse_large(window.held)
    try:
        return parse_json(raw.decode(), nan=nan)
    except UnicodeDecodeError:
        window.fail("this is not UTF-8", "Save the file as UTF-8.")
    except RowError as error:
        window.fail(error.message)


def _list(window: JsonWindow, way: Sequence[str]) -> None:
    if window.peek() != b"[":
        window.fail(f"expected a list under {'.'.join(way)!r}")
    window.advance(window.at + 1)


def _read_rows(window: JsonWindow, way: Sequence[str], nan: bool) -> Iterator[Row | Rejected]:
    for name in _read_names(window, way[0]):
        if name != way[0]:
            window.read_element()
        elif len(way) > 1:
            yield from _read_rows(_read_object(window, name), way[1:], nan)
        else:
            _list(window, way)
            if window.peek() != b"]":
                yield from read_elements(window, window.path.name, nan=nan)
            window.advance(window.at + 1)


def _read_members(window: JsonWindow, way: Sequence[str], nan: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in _read_names(window, way[0]):
        if name != way[0]:
            found[name] = _read_value(window, nan=nan)
        elif len(way) > 1:
            found[name] = _read_members(_read_object(window, name), way[1:], nan)
        else:
            _list(window, way)
            _pass_over(window)
    return found


def _read_object(window: JsonWindow, name: str) -> JsonWindow:
    if window.peek() != b"{":
        window.fail(f"expected an object under {name!r}")
    return window


def _pass_over(
    window: JsonWindow, take: Callable[[JsonWindow], bool] = lambda window: bool(window.read_element())
) -> None:
    """Go through a list from behind its bracket; stop where `take` says so, else move behind the list."""
    if window.peek() == b"]":
        window.advance(window.at + 1)
        return
    while True:
        if window.peek() in (b"", b",", b"]", b"}"):
            window.fail("expected an element of the list" if window.peek() else "the file was cut")
        if not take(window):
            return
        ending = window.peek()
        window.advance(window.at + 1)
        if ending == b"]":
            return
        if ending != b",":
            window.fail("expected a comma or the closing bracket" if ending else "the file was cut")


def _read_head(window: JsonWindow, depth: int = 0) -> tuple[dict[str, Any], bool]:
    """Read an object's head; tell whether a list of objects was met, behind which nothing is read."""
    found: dict[str, Any] = {}
    for name in _read_names(window):
        first = window.peek()
        if first == b"{":
            if depth == _DEEPEST:
                window.fail(f"objects are nested more than {_DEEPEST} deep", "Nest them less deeply.")
            found[name], met = _read_head(window, depth + 1)
        elif first == b"[":
            found[name], met = _list_head(window)
        else:
            found[name], met = _read_value(window, nan=True), False
        if met:
            return found, True
    return found, False


def _list_head(window: JsonWindow) -> tuple[list[Any], bool]:
    items: list[Any] = []

    def take(window: JsonWindow) -> bool:
        if len(items) == _HEAD_ITEMS:
            window.read_element()
            return True
        items.append(_read_value(window, nan=True))
        # A list of objects is what the head is read for; one of texts may have something behind it.
        return not (isinstance(items[0], dict) and len(items) == _HEAD_ITEMS)

    window.advance(window.at + 1)
    _pass_over(window, take)
    return items, bool(items) and isinstance(items[0], dict)
