"""Datasets on the Hugging Face Hub, read as folders on a disk are read: no more is fetched than is asked for.

A name stands for one commit from its first look on, so that a push in between changes nothing. Small files
come whole, into the cache of the Hub's client; of larger ones only the pieces that are read.
"""

import contextlib
import fnmatch
import functools
import io
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

import msgspec

from mmconvert._version import __version__
from mmconvert.core.errors import Error, UsageError, suggest_spelling, take_first_line
from mmconvert.core.rows import READERS
from mmconvert.storage.hub_errors import load_hub_transport, retry

SMALL_FILE = 4 << 20
"""Bytes up to which a file is fetched whole: about what one answer of the Hub takes anyway."""
BLOCK = 4 << 20
"""Bytes fetched ahead where a file is read from its beginning to its end."""

_ID = re.compile(r"(?P<repo>\w[\w.-]*/\w[\w.-]*)(?:@(?P<revision>[\w./-]+))?", re.ASCII)
_SECONDS = 10
"""How long the Hub may be silent when it is asked for a name for the first time."""

# One slash where the URL has been through a Path.
_URL = re.compile(
    r"hf:/?/datasets/(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>refs/(?:pr|convert)/[^/]+|[^/]+))?(?:/(?P<path>.*))?",
    re.ASCII,
)
_HUB = "https://huggingface.co/"
_PAGE = re.compile(r"(https://huggingface\.co/(?:datasets/)?[^/]+/[^/]+)/blob/")
_AT = re.compile(r"hf://datasets/(?P<repo>[^/@]+/[^/@]+)@(?P<commit>[^/]+)(?:/(?P<path>.+))?", re.DOTALL)


def find_on_hub(name: str | Path) -> Path | None:
    """Find a dataset that the user named by `USER/REPO[@REVISION]` or `hf://datasets/USER/REPO[@REVISION][/PATH]`.

    What exists on the disk wins. What cannot be an id asks nobody: a name with the suffix of a table, or one
    inside a folder that exists.

    Args:
        name: As the user wrote it. The token is that of the environment or of `hf auth login`.

    Returns:
        Its place; with HF_HUB_OFFLINE the copy in the cache of the Hub's client; None for any other name.

    Raises:
        UsageError: There is no such dataset, revision or path.
        Error: The Hub cannot be reached, or refuses.
    """
    if isinstance(name, HubPath):
        return name
    # Unlike `Path.exists`, it takes any text: one that is too long for a path is none.
    if os.path.exists(name):
        return None
    wish = _URL.fullmatch(str(name)) or _ID.fullmatch(str(name))
    if wish is None:
        return None
    is_file = os.path.isdir(os.path.dirname(name) or os.curdir) or Path(name).suffix.lower() in READERS
    if wish.re is _ID and is_file:
        return None
    revision = unquote(wish["revision"]) if wish["revision"] else None
    inside = (wish.groupdict().get("path") or "").strip("/")
    with _explain_hub_errors(str(name), revision):
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import OfflineModeIsEnabled

        try:
            root: Path = HubPath(f"hf://datasets/{wish['repo']}@{_commit(wish['repo'], revision)}")
        except OfflineModeIsEnabled:
            cached = snapshot_download(wish["repo"], repo_type="dataset", revision=revision, local_files_only=True)
            root = Path(cached)
    place = root / inside if inside else root
    if not place.exists():
        neighbours = [file.name for file in place.parent.iterdir()] if place.parent.is_dir() else []
        hint = suggest_spelling(place.name, neighbours)
        raise UsageError(f"{name}: the dataset on the Hub has no file or folder {inside!r}.{hint} Check the path.")
    return place


def is_at_commit(url: str) -> bool:
    """Tell whether what a URL names can never change, because it names a commit of the Hub.

    Example:
        >>> is_at_commit(f"hf://datasets/user/set@{'0' * 40}/data"), is_at_commit("hf://datasets/user/set@main")
        (True, False)
    """
    return parse_commit(url) is not None


def parse_commit(url: str) -> tuple[str, str] | None:
    """Take apart what a URL names that can never change.

    Returns:
        Repository and commit; None for any other URL or path.

    Example:
        >>> parse_commit(f"hf://datasets/user/set@{'0' * 40}/data") == ("user/set", "0" * 40)
        True
    """
    found = _AT.fullmatch(url)
    is_commit = found is not None and re.fullmatch(r"[0-9a-f]{40}", found["commit"]) is not None
    return (found["repo"], found["commit"]) if found is not None and is_commit else None


def shorten_name(path: Path) -> str | None:
    """Give what a user calls a place on the Hub, `USER/REPO` and the path in it; None for any other path."""
    found = _AT.fullmatch(str(path)) if isinstance(path, HubPath) else None
    return "/".join(filter(None, (found["repo"], found["path"]))) if found else None


def parse_dataset_repo(url: str) -> tuple[str, str | None] | None:
    """Take apart where a whole dataset is to be published on the Hub.

    Args:
        url: `hf://datasets/USER/REPO[@REVISION]`.

    Returns:
        Repository and revision, None for the main one; None for a URL of another store.

    Raises:
        UsageError: The URL leads into a repository.

    Example:
        >>> parse_dataset_repo("hf://datasets/user/set@v1"), parse_dataset_repo("s3://bucket/set")
        (('user/set', 'v1'), None)
    """
    found = _URL.fullmatch(url)
    if found is None:
        return None
    if (found["path"] or "").strip("/"):
        raise UsageError(f"{url}: a dataset has a repository of its own on the Hub. Name hf://datasets/USER/REPO.")
    return found["repo"], unquote(found["revision"]) if found["revision"] else None


def parse_file_in_repo(url: str) -> tuple[str, str, str | None] | None:
    """Take apart where a file is to be put on the Hub: repository, path and revision; None for another URL.

    Example:
        >>> parse_file_in_repo("hf://datasets/user/runs@v1/a/p.parquet"), parse_file_in_repo("s3://bucket/p.parquet")
        (('user/runs', 'a/p.parquet', 'v1'), None)
    """
    found = _URL.fullmatch(url)
    path = (found["path"] or "").strip("/") if found else ""
    return (found["repo"], path, unquote(found["revision"]) if found["revision"] else None) if found and path else None


def resolve_page(url: str) -> str:
    """Give the address of a file on the Hub of which a URL names the page; any other URL as it is.

    Example:
        >>> resolve_page("https://huggingface.co/datasets/user/set/blob/main/a.tsv")
        'https://huggingface.co/datasets/user/set/resolve/main/a.tsv'
        >>> resolve_page("https://example.org/blob/a.tsv")
        'https://example.org/blob/a.tsv'
    """
    return _PAGE.sub(r"\1/resolve/", url)


def use_endpoint(url: str) -> str:
    """Give the address at the mirror that HF_ENDPOINT names, of a URL at the Hub; any other URL as it is."""
    endpoint = os.environ.get("HF_ENDPOINT")
    return f"{endpoint.rstrip('/')}/{url.removeprefix(_HUB)}" if endpoint and url.startswith(_HUB) else url


class HubPath(type(Path())):  # type: ignore[misc]  # the class of this system's paths, which is a variable to mypy
    """A file or folder of a dataset at a commit, `hf://datasets/USER/REPO@COMMIT/PATH`; it is only read.

    Whoever reads with `open` gets the pieces that are read. A program that wants a file on this machine
    (`os.fspath`) gets the whole one, in the cache of the Hub's client.
    """

    def __str__(self) -> str:
        """Give the URL; the names of a path are joined by one slash."""
        text: str = super().__str__()
        return text.replace("hf:/", "hf://", 1) if text.startswith("hf:/") else text

    def __fspath__(self) -> str:
        """Fetch the file, or the folder, whole."""
        from huggingface_hub import hf_hub_download

        at = self._locate()
        if at is None or at.path not in _list_tree(at):
            raise FileNotFoundError(f"{self}: no such file on the Hub")
        with _explain_hub_errors(str(self)):
            return retry(lambda: hf_hub_download(at.repo, at.path, repo_type="dataset", revision=at.commit))

    def exists(self, **_: Any) -> bool:
        """Tell whether the commit has such a file or folder."""
        return self.is_file() or self.is_dir()

    def is_file(self, **_: Any) -> bool:
        """Tell whether the commit has such a file."""
        at = self._locate()
        return at is not None and at.path in _list_tree(at)

    def is_dir(self, **_: Any) -> bool:
        """Tell whether the commit has files below this path."""
        at = self._locate()
        return at is not None and at.path in _list_folders(at)

    def stat(self, **_: Any) -> os.stat_result:
        """Give the size and whether it is a folder; no times, no owner.

        Raises:
            FileNotFoundError: There is no such file or folder.
        """
        if self.is_dir():
            return os.stat_result((stat.S_IFDIR | 0o555, *(0,) * 9))
        return os.stat_result((stat.S_IFREG | 0o444, *(0,) * 5, self._find_file().size, *(0,) * 3))

    def resolve(self, strict: bool = False) -> "HubPath":
        """Give the path itself: the Hub has no links."""
        return self

    def iterdir(self) -> Iterator["HubPath"]:
        """Give what lies in the folder."""
        return (path for path in self._list_below() if path.parent == self)

    def glob(self, pattern: str, **_: Any) -> Iterator["HubPath"]:
        """Give what lies in the folder and has a name like `pattern`."""
        return (path for path in self.iterdir() if fnmatch.fnmatchcase(path.name, pattern))

    def rglob(self, pattern: str, **_: Any) -> Iterator["HubPath"]:
        """Give what lies below the folder and has a name like `pattern`."""
        return (path for path in self._list_below() if fnmatch.fnmatchcase(path.name, pattern))

    def open(
        self,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any]:
        """Open the file for reading.

        Args:
            mode: `r` or `rb`.
            buffering: 0 fetches each piece that is read in one request, for those who know which they
                need; else it is fetched ahead.
            encoding: As `open`.
            errors: As `open`.
            newline: As `open`.

        Raises:
            FileNotFoundError: There is no such file.
            Error: The Hub cannot be reached, or refuses; also when it is read.
        """
        if mode not in ("r", "rb"):
            raise io.UnsupportedOperation(f"{self}: is only read")
        size = self._find_file().size
        if size <= SMALL_FILE:
            return open(os.fspath(self), mode, buffering, encoding, errors, newline)
        pieces = _Pieces(self, size)
        if buffering == 0:
            return pieces  # type: ignore[return-value]  # raw files are no IO to mypy
        ahead = io.BufferedReader(pieces, max(buffering, BLOCK))
        return ahead if mode == "rb" else io.TextIOWrapper(ahead, encoding, errors, newline)

    def read_bytes(self) -> bytes:
        """Fetch and read the file."""
        with self.open("rb") as file:
            return bytes(file.read())

    def _locate(self) -> "_At | None":
        found = _AT.fullmatch(str(self))
        return _At(found["repo"], found["commit"], found["path"] or "") if found else None

    def _find_file(self) -> "_File":
        at = self._locate()
        found = None if at is None else _list_tree(at).get(at.path)
        if found is None:
            raise FileNotFoundError(2, "no such file on the Hub", str(self))
        return found

    def _list_below(self) -> Iterator["HubPath"]:
        at = self._locate()
        if at is None:
            return
        start = f"{at.path}/" if at.path else ""
        root = self.parents[at.path.count("/")] if at.path else self
        for path in sorted([*_list_tree(at), *_list_folders(at)]):
            if path and path.startswith(start):
                yield root / path


def read_known_sha256(path: Path) -> str | None:
    """Give the digest of a file that the Hub knows, of its large ones; None where the bytes must be read."""
    return path._find_file().sha256 if isinstance(path, HubPath) else None


class _At(msgspec.Struct, frozen=True):
    """Where a path leads: a dataset, a commit of it, and the name of a file or folder in that."""

    repo: str
    commit: str
    path: str


class _File(msgspec.Struct, frozen=True):
    size: int
    sha256: str | None


def _list_tree(at: _At) -> Mapping[str, _File]:
    return _list_commit_files(at.repo, at.commit)


def _list_folders(at: _At) -> frozenset[str]:
    return _list_commit_folders(at.repo, at.commit)


@functools.cache
def _list_commit_files(repo: str, commit: str) -> Mapping[str, _File]:
    """List the files of a commit; it never changes."""
    from huggingface_hub.hf_api import RepoFile

    with _explain_hub_errors(repo):
        entries = _open_api().list_repo_tree(repo, repo_type="dataset", revision=commit, recursive=True)
        return {e.path: _File(e.size, e.lfs.sha256 if e.lfs else None) for e in entries if isinstance(e, RepoFile)}


@functools.cache
def _list_commit_folders(repo: str, commit: str) -> frozenset[str]:
    parents = (file.split("/")[:-1] for file in _list_commit_files(repo, commit))
    return frozenset("/".join(names[:depth]) for names in parents for depth in range(len(names) + 1)) | {""}


def _commit(repo: str, revision: str | None) -> str:
    commit: str = retry(lambda: _open_api().dataset_info(repo, revision=revision, timeout=_SECONDS).sha)
    return commit


@functools.cache
def _open_api() -> Any:
    # Imported here and below: most datasets lie on a disk, and the Hub's client takes time to load.
    from huggingface_hub import HfApi

    return HfApi(library_name="mmconvert", library_version=__version__)


class _Pieces(io.RawIOBase):
    """A file on the Hub of which each read is one request, asked again where the line breaks."""

    def __init__(self, path: HubPath, size: int) -> None:
        from huggingface_hub import HfFileSystem

        self._name = str(path)
        with _explain_hub_errors(self._name):
            self._file = HfFileSystem().open(self._name, "rb", cache_type="none", size=size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: Any) -> int:
        with _explain_hub_errors(self._name):
            data = self._file.read(len(buffer)) if len(buffer) else b""
        buffer[: len(data)] = data
        return len(data)


@contextlib.contextmanager
def _explain_hub_errors(name: str, revision: str | None = None) -> Iterator[None]:
    """Say in one sentence why the Hub gives no answer.

    Raises:
        UsageError: There is no such dataset or revision.
        Error: It cannot be reached, or refuses.
    """
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError:
        raise Error(f"{name}: the dataset is gated. Accept its terms on its page, and set HF_TOKEN.") from None
    except (errors.RepositoryNotFoundError, errors.HFValidationError):
        raise UsageError(
            f"{name}: no such file or folder, and no dataset of this name on the Hub that the token may see. "
            "Check the name, or set HF_TOKEN."
        ) from None
    except errors.RevisionNotFoundError:
        raise UsageError(f"{name}: the dataset on the Hub has no revision {revision!r}. Check the name.") from None
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled):
        raise Error(
            f"{name}: no such file or folder, and the Hub cannot be reached: HF_HUB_OFFLINE is set, and the client's "
            "cache has no such dataset. Check the path, unset it, or fetch the dataset while there is a network: "
            "hf download USER/REPO --repo-type dataset"
        ) from None
    except errors.HfHubHTTPError as error:
        said = error.server_message or take_first_line(error)
        raise Error(f"{name}: the Hub answered {error.response.status_code}: {said}. Try again later.") from None
    except (load_hub_transport().TransportError, ConnectionError, TimeoutError) as error:
        raise Error(
            f"{name}: no such file or folder, and the Hub cannot be reached ({take_first_line(error)}). "
            "Check the path, or the network; HF_HUB_OFFLINE=1 takes what the client's cache has."
        ) from None
