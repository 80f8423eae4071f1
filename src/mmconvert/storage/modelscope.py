"""Datasets on ModelScope: their list of files, and the files, over https, where ModelScope's own client keeps them.

`GET /api/v1/datasets/OWNER/NAME/repo/tree` lists the files page by page, and `.../repo?Revision=&FilePath=` gives one.
Source: modelscope-hub 0.5.1 (PyPI), `_legacy_api.py`: list_dataset_files_paginated, get_file_download_url;
`_download.py`: _find_legacy_repo_dir for the folders.
"""

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlencode

import msgspec

from mmconvert.core.errors import Error, RowError, UsageError, show
from mmconvert.storage.atomic import open_published_file, write_synced

Download = Callable[..., Path]
"""Fetches the file of an address: (url, place=, sha256=) -> the place."""

_REVISION = "master"
_PAGE = 200
_MOST_PAGES = 2000
_LARGEST_PAGE = 16 << 20
_LISTING = ".mmconvert-files.json"
_SHA256 = re.compile(r"[0-9a-f]{64}")


class RepoFile(msgspec.Struct, frozen=True):
    """A file of a dataset.

    Attributes:
        path: Its path within the dataset.
        size: Its bytes.
        sha256: Its digest; None where the server does not say.
    """

    path: str
    size: int
    sha256: str | None = None


def find_endpoint() -> str:
    """Give the address of ModelScope, or of the mirror that MODELSCOPE_ENDPOINT names."""
    named = os.environ.get("MODELSCOPE_ENDPOINT", "").strip().rstrip("/") or "https://modelscope.cn"
    return named if "://" in named else f"https://{named}"


def find_folder(repo: str) -> Path:
    """Say where ModelScope's client, and we, keep the files of a dataset."""
    owner, _, name = repo.partition("/")
    named = os.environ.get("MODELSCOPE_CACHE")
    root = Path(named).expanduser() if named else Path("~/.cache/modelscope/hub").expanduser()
    return root / "datasets" / owner / name.replace(".", "___")


def list_files(repo: str, download: Download | None) -> list[RepoFile]:
    """List the files of a dataset.

    Args:
        repo: `OWNER/NAME`.
        download: Fetches a file; None takes the list of the last time.

    Raises:
        UsageError: Nothing may be fetched, and no list is here.
        Error: The server cannot be reached, or sends no list of files.
    """
    kept = find_folder(repo) / _LISTING
    if download is None:
        try:
            return msgspec.json.decode(kept.read_bytes(), type=list[RepoFile])
        except (OSError, msgspec.DecodeError):
            raise UsageError(f"{kept.parent}: holds no files that were fetched from ModelScope.") from None
    files = sorted(_fetch_pages(repo, download), key=lambda file: PurePosixPath(file.path))
    kept.parent.mkdir(parents=True, exist_ok=True)
    with open_published_file(kept) as temporary:
        write_synced(temporary, msgspec.json.encode(files))
    return files


def get_file(repo: str, file: RepoFile, download: Download | None) -> Path:
    """Give a file on this machine; it is fetched unless it is there with the right digest.

    Raises:
        UsageError: It is not here, or not whole, and nothing may be fetched.
        Error: It cannot be fetched, or has another digest.
    """
    place = find_folder(repo) / file.path
    if download is not None:
        wish = urlencode({"Revision": _REVISION, "FilePath": file.path})
        return download(f"{_build_url(repo)}?{wish}", place=place, sha256=file.sha256)
    if not place.is_file() or place.stat().st_size != file.size:
        raise UsageError(f"{place}: is missing or not whole.")
    return place


def _build_url(repo: str) -> str:
    return f"{find_endpoint()}/api/v1/datasets/{repo}/repo"


def _fetch_pages(repo: str, download: Download) -> Iterator[RepoFile]:
    url = f"{_build_url(repo)}/tree"
    with tempfile.TemporaryDirectory() as folder:
        for number in range(1, _MOST_PAGES + 1):
            wish = {"Revision": _REVISION, "Recursive": "True", "PageNumber": number, "PageSize": _PAGE}
            try:
                page = download(f"{url}?{urlencode(wish)}", place=Path(folder, f"{number}.json"))
            except Error as error:
                # Where to put the file by hand is no hint for a page.
                cause = error.__context__
                raise _build_strange(url, cause.message if isinstance(cause, RowError) else str(error)) from None
            if page.stat().st_size > _LARGEST_PAGE:
                raise _build_strange(url, "a page of it is too large.")
            entries = _read_page(url, page.read_bytes())
            yield from (file for entry in entries if (file := _read_file(url, entry)) is not None)
            if len(entries) < _PAGE:
                return
    raise _build_strange(url, "it does not end.")


def _read_page(url: str, data: bytes) -> list[Any]:
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        said = None
    listed = said.get("Data") if isinstance(said, dict) else None
    entries = listed.get("Files") if isinstance(listed, dict) else listed
    if not isinstance(entries, list):
        reason = said.get("Message") if isinstance(said, dict) else None
        raise _build_strange(url, f"the server says {show(str(reason)[:200])}." if reason else "it is none.")
    return entries


def _read_file(url: str, entry: Any) -> RepoFile | None:
    """Read an entry; None for a folder.

    Raises:
        Error: It is none, or leads out of the dataset.
    """
    path, size = (entry.get("Path"), entry.get("Size")) if isinstance(entry, dict) else (None, None)
    if not isinstance(path, str) or not path:
        raise _build_strange(url, "an entry has no path.")
    if entry.get("Type") == "tree":
        return None
    if not path.isprintable() or "\\" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise _build_strange(url, f"an entry leads out of it {show(path)}.")
    digest = entry.get("Sha256")
    checked = digest.lower() if isinstance(digest, str) and _SHA256.fullmatch(digest.lower()) else None
    return RepoFile(path, size if type(size) is int else 0, checked)


def _build_strange(url: str, reason: str) -> Error:
    return Error(f"{url}: the list of the dataset's files cannot be used: {reason}")
