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

from mmconvert.core.errors import Error, UsageError, first_line
from mmconvert.dataset.manifest import MANIFEST
from mmconvert.storage.hub_fs import dataset_repo, file_in_repo, on_the_hub

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


def fetched(url: str) -> Path:
    """Copy a file or folder to this machine; the copy goes away with the process.

    Raises:
        UsageError: Nothing stands there, or the package for such URLs is missing.
        Error: The store cannot be reached, or refuses.
    """
    with opened_store(url) as (store, place):
        if not store.exists(place):
            raise UsageError(f"{url}: no such file or folder. Check bucket, path and credentials.")
        folder = Path(tempfile.mkdtemp(prefix="mmconvert-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        target = folder / place.rstrip("/").rpartition("/")[2]
        if store.isdir(place):
            store.get(place.rstrip("/") + "/", f"{target}/", recursive=True)
        else:
            store.get_file(place, str(target))
    return target


def local(name: str | Path) -> Path:
    """Give the place to read a path, a URL or a dataset of the Hub from; what a store has is fetched first.

    Raises:
        UsageError: As `fetched` and `on_the_hub`.
        Error: As `fetched` and `on_the_hub`.
    """
    return on_the_hub(name) or (fetched(str(name)) if is_url(str(name)) else Path(name))


def stands(url: str) -> bool:
    """Tell whether a file or folder stands at a URL.

    Raises:
        UsageError: As `fetched`.
        Error: As `fetched`.
    """
    with opened_store(url) as (store, place):
        return bool(store.exists(place))


@contextmanager
def placed(name: str | Path) -> Iterator[Path]:
    """Give the place on this machine to write a file to; one for a URL is sent when the context is left well.

    Raises:
        UsageError: As `fetched`.
        Error: As `fetched`.
    """
    if not is_url(str(name)):
        yield Path(name)
        return
    with tempfile.TemporaryDirectory(prefix="mmconvert-") as folder:
        file = Path(folder, file_name(str(name)))
        yield file
        send_file(file, str(name))


def file_name(url: str) -> str:
    """Give the last word of a URL.

    Example:
        >>> file_name("s3://bucket/runs/answers.parquet")
        'answers.parquet'
    """
    return url.rstrip("/").rpartition("/")[2]


def send_file(file: Path, url: str) -> None:
    """Copy a file to a URL, replacing what stands there; a repository of the Hub is made where it is missing.

    Raises:
        UsageError: As `fetched`.
        Error: As `fetched`.
    """
    if (there := file_in_repo(url)) is not None:
        # Imported here: it needs the Hub's client.
        from mmconvert.dataset import hub_upload

        hub_upload.put_file(file, *there)
        return
    with opened_store(url) as (store, place):
        store.put_file(str(file), place)


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
            UsageError: As `fetched`.
            Error: As `fetched`.
        """
        # The folder is opened, not the file: a name is no URL, whatever stands in it.
        with opened_store(self.url) as (store, place):
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


def check_free(url: str, *, overwrite: bool) -> None:
    """Refuse a place where something stands.

    Raises:
        UsageError: A dataset stands there and may not be replaced, or anything else does.
        Error: As `fetched`.
    """
    if dataset_repo(url) is not None:
        taken, foreign = _is_published(url), False
    else:
        with opened_store(url) as (store, place):
            taken = store.exists(f"{place.rstrip('/')}/{MANIFEST}")
            foreign = not taken and store.exists(place) and (not store.isdir(place) or bool(store.ls(place)))
    if taken and not overwrite:
        raise UsageError(f"{url}: a dataset stands there already. Name another place, or give --overwrite.")
    if foreign:
        raise UsageError(f"{url}: is no dataset of ours and not empty. Name another place.")


def _is_published(url: str) -> bool:
    try:
        place = on_the_hub(url)
    except UsageError:  # there is no such repository yet
        return False
    return place is not None and (place / MANIFEST).is_file()


def send(folder: Path, url: str) -> None:
    """Copy a dataset to a place that `check_free` found right; its manifest last, so that it is whole or none.

    Files of a dataset that stood there go away after the new ones are there; its manifest goes first. To the Hub
    it is pushed, in one commit, and what else the repository has stays.

    Raises:
        Error: As `fetched`; what was sent stands there without a manifest. The Hub refuses.
    """
    if (repo := dataset_repo(url)) is not None:
        # Imported here: it reads datasets, from stores too, and needs the Hub's client.
        from mmconvert.dataset import hub_upload

        hub_upload.push(folder, repo[0], revision=repo[1])
        return
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    with opened_store(url) as (store, place):
        root = place.rstrip("/")
        if store.exists(f"{root}/{MANIFEST}"):
            store.rm_file(f"{root}/{MANIFEST}")
        before = {path.removeprefix(f"{root}/") for path in store.find(root)}
        for file in sorted(files, key=lambda name: name == MANIFEST):
            if file == MANIFEST:
                for stale in before - set(files):
                    store.rm_file(f"{root}/{stale}")
            store.put_file(str(folder / file), f"{root}/{file}")


@contextmanager
def opened_store(url: str) -> Iterator[tuple[Any, str]]:
    """Open the file system of a URL, and say in one sentence what goes wrong with it."""
    # Imported here: it is slow to load, and most files lie on a disk.
    from fsspec.core import url_to_fs

    try:
        yield url_to_fs(url)
    except Error:
        raise
    except ImportError as error:
        package = f" ({first_line(error)})" if str(error) else ""
        raise UsageError(f"{url}: the package for such URLs is missing{package}.") from None
    except ValueError as error:
        raise UsageError(f"{url}: cannot be opened ({first_line(error)}).") from None
    except Exception as error:  # clients of many stores: each has errors of its own
        raise Error(f"{url}: the store failed ({type(error).__name__}: {first_line(error)}). Run again.") from None
