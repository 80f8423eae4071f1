"""Tables of LMUData that are named by an https address: fetched once, checked, kept in $LMUData."""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mmconvert.core.errors import Error, RowError, UsageError
from mmconvert.kits.vlmevalkit.datasets import find_lmudata_root
from mmconvert.storage.atomic import open_published_file
from mmconvert.storage.http import Limits, open_url

LIMITS = Limits(bytes=64 << 30, seconds=6 * 3600)
"""The largest tables have some ten gigabytes."""

_TABLE = re.compile(r"\w[\w.\-]*\.tsv", re.IGNORECASE)

Open = Callable[[str, Limits], AbstractContextManager[Iterator[bytes]]]


def download_table(url: str, *, md5: str | None = None, sha256: str | None = None, open_url: Open = open_url) -> Path:
    """Give the local file of a table on the network; it is fetched unless it stands there already.

    Args:
        url: https address whose path ends in `NAME.tsv`; kept as `$LMUData/NAME.tsv`.
        md5: What the file's MD5 must be, as hex; None for any. Frameworks publish these.
        sha256: What its SHA-256 must be; None for any.
        open_url: Opens an address; the rules for remote hosts are those of `remote.fetch`.

    Returns:
        The file. One that stands there is used as it is where its sums are right; else it is fetched again.

    Raises:
        UsageError: The address names no table, or is not https.
        Error: It cannot be fetched, or a sum is wrong; a file that stood there is untouched.
    """
    parts = urlsplit(url)
    name = unquote(parts.path).rpartition("/")[2]
    if parts.scheme != "https" or not _TABLE.fullmatch(name):
        raise UsageError(f"{url}: only tables are downloaded, from an https address that ends in NAME.tsv.")
    wanted = {kind: value.strip().lower() for kind, value in (("md5", md5), ("sha256", sha256)) if value}
    path = find_lmudata_root() / name
    if path.is_file() and (not wanted or _hash_file(path, wanted) == wanted):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open_published_file(path) as temporary:
            digests = {kind: hashlib.new(kind, usedforsecurity=False) for kind in wanted}
            with open_url(url, LIMITS) as chunks, temporary.open("wb") as file:
                for chunk in chunks:
                    file.write(chunk)
                    for digest in digests.values():
                        digest.update(chunk)
            found = {kind: digest.hexdigest() for kind, digest in digests.items()}
            if found != wanted:
                raise Error(
                    f"{url}: {_format_sums(found)}, expected {_format_sums(wanted)}. Nothing was replaced. "
                    "Check the sum, or take the address that it belongs to."
                )
    except RowError as error:
        raise Error(f"{url}: {error.message} Fetch the table by hand, and give the file.") from None
    except OSError as error:
        raise Error(f"{path}: cannot be written: {error.strerror}. Make room or give rights there.") from None
    return path


def _hash_file(path: Path, wanted: dict[str, str]) -> dict[str, str]:
    sums = {}
    for kind in wanted:
        with path.open("rb") as file:
            sums[kind] = hashlib.file_digest(file, kind).hexdigest()
    return sums


def _format_sums(sums: dict[str, str]) -> str:
    return ", ".join(f"{kind} {value}" for kind, value in sums.items())
