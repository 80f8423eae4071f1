"""The few errors a user can meet; each carries one finished sentence.

    Error              the run ends, exit code 1
    ├── UsageError     options or names are wrong, exit code 2
    └── RowError       one row is refused, the others go on

Template: `<file>:<line> <field>: <what is wrong> (got <repr cut at 80>). <what to do next>`.
Anything else that escapes is a bug and keeps its traceback.
"""

import contextlib
import difflib
import errno
import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

_AS_NEAR = 0.1
"""Spellings this much less alike than the nearest one are named too."""

_SHORTEST_PART = 3
"""Letters from which on a name may be a part of another one."""
_MOST_NEAR = 3
"""Spellings that are named."""

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What a system says that has no room for more bytes of a file."""

_LONGEST_INT = 4096
"""Bits of an integer that is shown in decimal digits."""


class Error(Exception):
    """The content of a file was refused or the run failed; the text is for the user."""


class UsageError(Error):
    """An option, a name or a path given by the user is wrong."""


class RowError(Error):
    """One row is refused; the pipeline adds file and row and continues.

    Args:
        code: Stable dotted word for programs, such as `image.truncated`.
        field: The source's own name of the field, or "" for the row as a whole.
        message: What is wrong and what to do, without file, row and field.
    """

    def __init__(self, code: str, field: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.field = field
        self.message = message


class in_field:  # noqa: N801 - reads as a function; a generator's context would cost a row several times as much
    """Name the field for errors of rows that are raised inside and know at most their place in it, such as `[2]`."""

    __slots__ = ("_field",)

    def __init__(self, field: str) -> None:
        self._field = field

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, RowError):
            inside = error.field if error.field and error.field[0] != "[" else f"{self._field}{error.field}"
            raise RowError(error.code, inside, error.message) from None


def show(value: object, limit: int = 80) -> str:
    """Show a value inside a message, cut so that an image does not flood the terminal.

    Args:
        value: Anything with a repr.
        limit: Most characters of the repr to show.

    Returns:
        `(got ...)`, control characters escaped by repr.

    Example:
        >>> got("E")
        "(got 'E')"
        >>> got("x" * 100, limit=5)
        "(got 'xxxx...)"
    """
    return f"(got {quote_value(value, limit)})"


def quote_value(value: object, limit: int = 80) -> str:
    """Give a value's repr, cut; no more of it is built than is shown, however large the value is.

    Args:
        value: Anything with a repr.
        limit: Most characters of the repr to show.

    Example:
        >>> quote_value([1, {"a": None}, ("x",)])
        "[1, {'a': None}, ('x',)]"
        >>> quote_value("x" * 100, limit=5)
        "'xxxx..."
    """
    text = ""
    for piece in _list_pieces(value, limit):
        text += piece
        if len(text) > limit:
            return f"{text[:limit]}..."
    return text


def _list_pieces(value: object, limit: int) -> Iterator[str]:
    """Give a repr piece by piece, so that who has enough of it leaves the rest unmade."""
    if isinstance(value, str | bytes):
        yield repr(value[: limit + 1])
    elif isinstance(value, int) and value.bit_length() > _LONGEST_INT:
        # Python refuses to write it in decimal digits, and would take a time that grows with their square.
        yield hex(value)
    elif type(value) is dict:
        yield "{"
        for number, (key, member) in enumerate(value.items()):
            yield ", " if number else ""
            yield from _list_pieces(key, limit)
            yield ": "
            yield from _list_pieces(member, limit)
        yield "}"
    elif type(value) is list or type(value) is tuple:
        yield "[" if type(value) is list else "("
        for number, member in enumerate(value):
            yield ", " if number else ""
            yield from _list_pieces(member, limit)
        yield "]" if type(value) is list else ",)" if len(value) == 1 else ")"
    else:
        yield repr(value)


def suggest_spelling(name: str, known: Iterable[str]) -> str:
    """Name the closest known spellings of an unknown name: those that begin with it, that contain it, or look alike.

    Returns:
        A sentence that starts with a blank, or "" when nothing is near.

    Example:
        >>> suggest_spelling("lmudat", ["lmudata", "mmmu"])
        ' Did you mean lmudata?'
        >>> suggest_spelling("answer.tsv", ["answers.tsv", "none.tsv"])
        ' Did you mean answers.tsv?'
        >>> suggest_spelling("openai", ["pope", "openai_messages", "openai_finetune"])
        ' Did you mean openai_messages or openai_finetune?'
        >>> suggest_spelling("mmbench", ["lmms_mmbench", "mme", "mmbench_circular"])
        ' Did you mean mmbench_circular or lmms_mmbench?'
        >>> suggest_spelling("zzz", ["lmudata"])
        ''
    """
    words = list(known)
    near: list[str] = []
    if len(name) >= _SHORTEST_PART:
        begun = [word for word in words if word.startswith(name)]
        near = _list_nearest(name, begun) + _list_nearest(name, [w for w in words if name in w and w not in begun])
    near = near or _list_nearest(name, difflib.get_close_matches(name, words, n=_MOST_NEAR, cutoff=0.6))
    return f" Did you mean {' or '.join(near[:_MOST_NEAR])}?" if near else ""


def _list_nearest(name: str, words: list[str]) -> list[str]:
    """List the words that are about as like a name as the one that is most like it, that one first."""
    likeness = {word: difflib.SequenceMatcher(None, name, word).ratio() for word in words}
    near = [word for word, like in likeness.items() if like >= max(likeness.values()) - _AS_NEAR]
    return sorted(near, key=lambda word: -likeness[word])


def build_missing_path_error(path: Path, known: Iterable[str] = ()) -> UsageError:
    """Say that nothing stands at a path, and name its nearest neighbours.

    Args:
        path: What was asked for.
        known: Names that would have been understood beside the files of the folder.

    Example:
        >>> str(build_missing_path_error(Path("no/such/file.tsv")))
        'no/such/file.tsv: no such file or folder. See what is there: ls .'
    """
    return UsageError(f"{path}: no such file or folder.{suggest_paths(path, known)}")


def suggest_paths(path: Path, known: Iterable[str] = ()) -> str:
    """Name the nearest of what stands in the folder of a path, and of further names; else say how to look there."""
    beside: list[str] = []
    with contextlib.suppress(OSError):
        beside = [entry.name for entry in path.parent.iterdir()]
    folder = next((parent.as_posix() for parent in path.parents if _is_folder(parent)), "/")
    return suggest_spelling(path.name, [*beside, *known]) or f" See what is there: ls {shlex.quote(folder)}"


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # too long for a path, or in a folder that may not be read
        return False


@contextlib.contextmanager
def refuse_long_paths() -> Iterator[None]:
    """Refuse a path that is too long for a file, whoever looks for it first.

    Raises:
        UsageError: The system calls a path too long.
    """
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        named = "a path" if error.filename is None else quote_value(os.fsdecode(error.filename))
        raise UsageError(f"{named}: no file can have so long a name. Give the path of a file.") from None


def build_write_error(place: object, error: OSError) -> Error:
    """Say that a file or folder cannot be written.

    Args:
        place: What should have appeared.
        error: What the system says.

    Returns:
        A `UsageError` for a place that cannot be written to, an `Error` for one that has no room.

    Example:
        >>> str(build_write_error("a.json", OSError(28, "")))
        'a.json: cannot be written (No space left on device). Free space there, or name another place.'
        >>> str(build_write_error("a/b.json", OSError(2, "")))
        'a/b.json: cannot be written (No such file or directory). Name a file in a folder that exists.'
    """
    reason = os.strerror(error.errno) if error.errno is not None else take_first_line(error)
    message = f"{place}: cannot be written ({reason})."
    if is_no_room(error):
        return Error(f"{message} {MAKE_ROOM}")
    known = "Name a file in a folder that exists." if error.errno in (errno.ENOENT, errno.ENOTDIR) else ""
    return UsageError(f"{message} {known or 'Name a file in a folder that you may write to.'}")


MAKE_ROOM = "Free space there, or name another place."
"""What to do where `is_no_room`."""


def is_no_room(error: OSError) -> bool:
    """Tell an error of a disk that is full, of a quota, or of a limit on the size of files."""
    return error.errno in _NO_ROOM


def build_memory_error(place: object) -> Error:
    """Say that memory ran out.

    Args:
        place: What was read then: a file, or a row of one.

    Example:
        >>> str(build_memory_error("a.tsv"))
        'a.tsv: memory ran out while it was read. Split the file, or give the program more memory.'
    """
    return Error(f"{place}: memory ran out while it was read. Split the file, or give the program more memory.")


def is_out_of_memory(error: BaseException) -> bool:
    """Tell an error that only says that the system gave no more memory, in whatever words.

    Example:
        >>> is_out_of_memory(MemoryError()), is_out_of_memory(OSError(12, "")), is_out_of_memory(OSError(2, ""))
        (True, True, False)
    """
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    # A thread has a stack, for which there was no room.
    return isinstance(error, MemoryError) or (type(error) is RuntimeError and "start new thread" in str(error))


def take_first_line(error: BaseException) -> str:
    r"""Give the first line of another library's message, to stand in brackets in a sentence of ours.

    Example:
        >>> take_first_line(OSError("Couldn't deserialize thrift: bad page.\nDetails"))
        "Couldn't deserialize thrift: bad page"
        >>> take_first_line(MemoryError())
        'MemoryError'
    """
    lines = str(error).splitlines()
    return lines[0][:200].rstrip(". ") if lines else type(error).__name__


def describe_error(error: BaseException) -> str:
    """Describe an error of a user's own code: its class, its words, and the line that raised it.

    Example:
        >>> describe_error(KeyError("image"))
        "KeyError: 'image'"
    """
    import traceback  # rarely needed, and slow to load

    frames = traceback.extract_tb(error.__traceback__)
    # The plug-in's own line says more than one deep inside a library that it called.
    own = next((frame for frame in reversed(frames) if "site-packages" not in frame.filename), None)
    place = f" ({Path(own.filename).name}:{own.lineno})" if own is not None else ""
    return f"{type(error).__name__}: {take_first_line(error)}{place}"


got = show  # the name that plug-ins know from before the first release
