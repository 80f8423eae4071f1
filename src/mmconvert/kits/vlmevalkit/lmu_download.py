"""Tables of LMUData that are named by an https address: fetched once, checked, kept in $LMUData."""

import contextlib
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mmconvert.core.errors import UsageError
from mmconvert.core.progress import Advance
from mmconvert.kits.vlmevalkit.datasets import find_lmudata_root
from mmconvert.storage.atomic import link_or_copy
from mmconvert.storage.download import Open, download_file, has_sums
from mmconvert.storage.http import open_url
from mmconvert.storage.hub_fs import resolve_page, use_endpoint

_TABLE = re.compile(r"\w[\w.\-]*\.tsv", re.IGNORECASE)


def download_table(
    url: str,
    *,
    name: str | None = None,
    md5: str | None = None,
    sha256: str | None = None,
    open_url: Open = open_url,
    advance: Advance = lambda _done: None,
) -> Path:
    """Give the local file of a table on the network; it is fetched unless it stands there already.

    Args:
        url: https address of the table; without a name its path must end in `NAME.tsv`.
        name: The benchmark's name: as in the framework, its table is kept as `$LMUData/NAME.tsv`, whatever the address
            calls it. None for the name in the address.
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
    parts = urlsplit(url)
    called = unquote(parts.path).rpartition("/")[2]
    if parts.scheme != "https" or not (name or _TABLE.fullmatch(called)):
        raise UsageError(f"{url}: only tables are downloaded, from an https address that ends in NAME.tsv.")
    sums = {kind: value.strip().lower() for kind, value in (("md5", md5), ("sha256", sha256)) if value}
    root = find_lmudata_root()
    place = root / (f"{name}.tsv" if name else called)
    # Earlier releases of the framework, and ours, kept the name that the address has.
    if sums and not place.exists() and _TABLE.fullmatch(called) and has_sums(root / called, sums):
        with contextlib.suppress(FileExistsError):
            link_or_copy(root / called, place)
        return place
    download_file(use_endpoint(resolve_page(url)), place, sums, open_url=open_url, advance=advance)
    return place
