"""Tables of LMUData that are named by an https address: fetched once, checked, kept in $LMUData."""

import contextlib
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.progress import Advance
from mmconvert.kits.vlmevalkit.datasets import find_lmudata_root
from mmconvert.storage.atomic import link_or_copy, open_published_file
from mmconvert.storage.download import Open, download_file, has_sums
from mmconvert.storage.http import open_url
from mmconvert.storage.hub_fs import resolve_page, use_endpoint

_TABLE = re.compile(r"\w[\w.\-]*\.tsv", re.IGNORECASE)


def download_table(
    url: str,
    *,
    file_name: str | None = None,
    md5: str | None = None,
    sha256: str | None = None,
    open_url: Open = open_url,
    advance: Advance = lambda _done: None,
) -> Path:
    """Give the local file of a table on the network; it is fetched unless it stands there already.

    Args:
        url: https address of the table; without a file name its path must end in `NAME.tsv`.
        file_name: What the file in $LMUData is called. The framework calls a benchmark's table `BENCHMARK.tsv`,
            whatever the address calls it. None for the name in the address.
        md5: What the file's MD5 must be, as hex; None for any. Frameworks publish these.
        sha256: What its SHA-256 must be; None for any.
        open_url: Opens an address; the rules for remote hosts are those of `remote.fetch`.
        advance: Takes how far the download is.

    Returns:
        The file. One that stands there is used as it is where its sums are right; else it is fetched again.

    Raises:
        UsageError: The address names no table, or is not https.
        Error: It cannot be fetched, or a sum is wrong; a file that stood there is untouched.
    """
    called = read_url_name(url)
    if urlsplit(url).scheme != "https" or not (file_name or _TABLE.fullmatch(called)):
        raise UsageError(f"{url}: only tables are downloaded, from an https address that ends in NAME.tsv.")
    sums = {kind: value.strip().lower() for kind, value in (("md5", md5), ("sha256", sha256)) if value}
    place = find_lmudata_root() / (file_name or called)
    if not place.exists() and (older := _find_older(url, sums)) is not None:
        with contextlib.suppress(FileExistsError):
            link_or_copy(older, place)
        return place
    download_file(use_endpoint(resolve_page(url)), place, sums, open_url=open_url, advance=advance)
    return place


def find_table(url: str, file_name: str, md5: str | None) -> Path | None:
    """Find the local file of a table on the network, which is used as it is; None where there is none.

    Args:
        url: Address of the table.
        file_name: What the file in $LMUData is called.
        md5: What its MD5 is; None where nobody knows.
    """
    place = find_lmudata_root() / file_name
    return place if place.is_file() else _find_older(url, {"md5": md5} if md5 else {})


def _find_older(url: str, sums: dict[str, str]) -> Path | None:
    """Find a table that earlier releases of the framework, and ours, kept under the name that its address has."""
    called = read_url_name(url)
    older = find_lmudata_root() / called
    return older if sums and _TABLE.fullmatch(called) and has_sums(older, sums) else None


def read_url_name(url: str) -> str:
    """Give the file name at the end of an address.

    Example:
        >>> read_url_name("https://example.org/tables/a%20b.tsv?download=true")
        'a b.tsv'
    """
    return unquote(urlsplit(url).path).rpartition("/")[2]


def join_parts(urls: Sequence[str], place: Path, md5: str | None, download: Callable[..., Path]) -> Path:
    """Give a table whose bytes are at several addresses, one piece behind the other.

    Args:
        urls: The addresses, in order.
        place: Where the table shall be.
        md5: What its MD5 must be; None for any.
        download: Fetches a piece, as `download_table`.

    Returns:
        The table; one that stands there is used as it is where its MD5 is right.

    Raises:
        Error: A piece cannot be fetched, or the MD5 is wrong; a file that stood there is untouched.
    """
    sums = {"md5": md5} if md5 else {}
    if has_sums(place, sums):
        return place
    pieces = [download(url, file_name=f"{place.name}.{read_url_name(url)}") for url in urls]
    with open_published_file(place) as temporary:
        with temporary.open("wb") as file:
            for piece in pieces:
                with piece.open("rb") as source:
                    shutil.copyfileobj(source, file)
        joined = has_sums(temporary, sums)
        for piece in pieces:
            piece.unlink()
        if not joined:
            raise Error(f"{place}: the pieces that were fetched do not have the MD5 {md5} together. Run again.")
    return place
