"""Object stores and other file systems, by URL: s3://, gs://, abfs://, whatever fsspec knows.

What is read is fetched whole to this machine first (of the Hub's datasets, what is asked for); what is written
is sent when it is whole here: shards are hashed, checked and renamed, which no object store does. Credentials
are those of the store's own client (environment, configuration files).
"""

import atexit
import functools
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mmconvert.core.errors import Error, UsageError, take_first_line
from mmconvert.storage.hub_fs import find_on_hub
from mmconvert.storage.temporary import build_temporary_prefix

_URL = re.compile(r"(?!https?:|file:)[a-z][a-z0-9+.-]+://.", re.IGNORECASE)


def is_url(name: str) -> bool:
    """Tell the URL of a file system from a path and from a web address.

    Example:
        >>> is_url("s3://bucket/data.tsv"), is_url("https://example.org/data.tsv"), is_url("data.tsv")
        (True, False, False)

    Raises:
        UsageError: It is the URL of a file of this machine, which as a path would begin with a folder `file:`.
    """
    if name.lower().startswith("file:/"):
        raise UsageError(f"{name}: name the path itself, {unquote(urlsplit(name).path)}")
    return _URL.match(name) is not None


def fetch(url: str) -> Path:
    """Copy a file or folder to this machine; the copy goes away with the process.

    Raises:
        UsageError: Nothing stands there, or the package for such URLs is missing.
        Error: The store cannot be reached, or refuses.
    """
    with open_store(url) as (store, place):
        if not store.exists(place):
            raise UsageError(f"{url}: no such file or folder. Check bucket, path and credentials.")
        folder = Path(tempfile.mkdtemp(prefix=build_temporary_prefix()))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        target = folder / place.rstrip("/").rpartition("/")[2]
        if store.isdir(place):
            store.get(place.rstrip("/") + "/", f"{target}/", recursive=True)
        else:
            store.get_file(place, str(target))
    return target


def find_local(name: str | Path) -> Path:
    """Give the place to read a path, a URL or a dataset of the Hub from; what a store has is fetched first.

    Raises:
        UsageError: As `fetch` and `find_on_hub`.
        Error: As `fetch` and `find_on_hub`.
    """
    return find_on_hub(name) or (fetch(str(name)) if is_url(str(name)) else Path(name))


def exists(url: str) -> bool:
    """Tell whether a file or folder stands at a URL.

    Raises:
        UsageError: As `fetch`.
        Error: As `fetch`.
    """
    with open_store(url) as (store, place):
        return bool(store.exists(place))


def read_file_name(url: str) -> str:
    """Give the last word of a URL.

    Example:
        >>> read_file_name("s3://bucket/runs/answers.parquet")
        'answers.parquet'
    """
    return url.rstrip("/").rpartition("/")[2]


class StoreFolder:
    """A folder of a store of which single files are read, when they are wanted."""

    def __init__(self, url: str) -> None:
        """Name it; nobody is asked yet."""
        self.url = url.rstrip("/")
        # The rows of a dialog show the same pictures one after the other.
        self.read = functools.lru_cache(4)(self._read)

    def _read(self, name: str, limit: int) -> bytes | None:
        """Read a file.

        Args:
            name: Path below the folder, without `..`.
            limit: Most bytes to read.

        Returns:
            The beginning of the file; None where there is none that may be read.

        Raises:
            UsageError: As `fetch`.
            Error: As `fetch`.
        """
        # The folder is opened, not the file: a name is no URL, whatever stands in it.
        with open_store(self.url) as (store, place):
            file = f"{place.rstrip('/')}/{name}"
            try:
                return bytes(store.cat_file(file, start=0, end=limit))
            except (FileNotFoundError, IsADirectoryError, PermissionError):
                return None
            except OSError:
                # A store that has no beginning of an empty file says so.
                if store.size(file) != 0:
                    raise
                return b""


@contextmanager
def open_store(url: str) -> Iterator[tuple[Any, str]]:
    """Open the file system of a URL, and say in one sentence what goes wrong with it."""
    # Imported here: it is slow to load, and most files lie on a disk.
    from fsspec.core import url_to_fs

    try:
        yield url_to_fs(url)
    except Error:
        raise
    except ImportError as error:
        package = f" ({take_first_line(error)})" if str(error) else ""
        raise UsageError(f"{url}: the package for such URLs is missing{package}.") from None
    except ValueError as error:
        raise UsageError(f"{url}: cannot be opened ({take_first_line(error)}).") from None
    except Exception as error:  # clients of many stores: each has errors of its own
        raise Error(f"{url}: the store failed ({type(error).__name__}: {take_first_line(error)}). Run again.") from None
