"""What the writers of all kinds share: their list, and files that are written a piece at a time."""

from collections.abc import Callable, Iterator
from pathlib import Path

KB, MB = 1 << 10, 1 << 20
Writer = Callable[[Path, int], Path]
WRITERS: dict[str, Writer] = {}
"""Name of an attack -> what writes its file."""


def writes(writer: Writer) -> Writer:
    """Add a writer to the list."""
    WRITERS[writer.__name__.removeprefix("write_")] = writer
    return writer


def save(folder: Path, name: str, *pieces: bytes | Iterator[bytes]) -> Path:
    """Write a file of pieces."""
    path = folder / name
    with path.open("wb") as file:
        for piece in pieces:
            for one in (piece,) if isinstance(piece, bytes) else piece:
                file.write(one)
    return path


def fill(text: bytes, size: int) -> Iterator[bytes]:
    """Repeat a text up to a size, a piece at a time."""
    piece = text * max(1, MB // len(text))
    for _ in range(size // len(piece)):
        yield piece
    yield (piece * 2)[: size % len(piece)]
