"""Small files of every format and their records, for plug-ins to be tried on: those of `mmconvert demo`."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from mmconvert.core.record import Record
from mmconvert.io.detect import sample
from mmconvert.pipeline.convert import read
from mmconvert.plugins.format import Format, Sample
from mmconvert.plugins.registry import find_plugins, load
from mmconvert.testing import demo

FILES = Path(demo.__file__).parent / "files"
_RECORDS = 3


@cache
def list_example_files() -> dict[str, Path]:
    """Give the example of each format that has one, by the format's name; a folder where that is its input."""
    return {name: path for name in find_plugins("mmconvert.formats") for path in _open_example(name)}


def _open_example(name: str) -> Iterator[Path]:
    plugin: Format = load("mmconvert.formats", name)
    folder = FILES / name
    if not folder.is_dir():
        return
    if "" in plugin.suffixes and plugin.mismatch(Sample(folder, "", (), ())) is None:
        yield folder
        return
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix in plugin.suffixes]
    yield from [path for path in files if plugin.mismatch(sample(path)) is None][:1]


@cache
def load_example_records() -> tuple[Record, ...]:
    """Give a few records of each format."""
    return tuple(record for name, path in list_example_files().items() for record in list(read(path, name))[:_RECORDS])


def load_records(paths: Sequence[Path]) -> tuple[Record, ...]:
    """Give the records of a user's own files.

    Raises:
        Error: A file cannot be read.
    """
    return tuple(record for path in paths for record in read(path))
