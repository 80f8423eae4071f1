"""Where predictions stand: at a path, on standard input, or on the Hugging Face Hub."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from mmconvert.errors import no_such_path
from mmconvert.storage import fetched as fetched_url
from mmconvert.storage import is_url

STDIN = "-"
"""Name of standard input; a file of that name is `./-`."""

_HUB_ID = re.compile(r"(?P<repo>\w[\w.-]*/\w[\w.-]*)(?:@(?P<revision>[\w./-]+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder on this machine, and what its rows are called where they do not say.

    Attributes:
        path: The file or folder.
        title: Its name without folder and suffix, the repository's for one on the Hub.
    """

    path: Path
    title: str


def located(name: str | Path) -> Place:
    """Find what the user named: an existing path, `-`, a URL, or the Hub id `USER/REPO[@REVISION]` of a dataset.

    A path wins over a Hub id. What cannot be an id asks nobody: a name with the suffix of a table, or
    one inside a folder that exists.

    Args:
        name: As the user wrote it.

    Returns:
        The place. Standard input is copied to a file that goes away with the process; of a dataset on
        the Hub, its parquet files stand in the cache of the Hub's client.

    Raises:
        UsageError: Nothing stands there, here or on the Hub.
        Error: The Hub cannot be reached, or refuses.

    Example:
        >>> located("no-such-folder/predictions.parquet")
        Traceback (most recent call last):
        mmconvert.errors.UsageError: no-such-folder/predictions.parquet: no such file or folder.
    """
    if str(name) == STDIN:
        # Imported here and below: a path, which most are, needs neither.
        from mmconvert.inputs import spooled

        return Place(spooled(sys.stdin.buffer), "stdin")
    if is_url(str(name)):
        path = fetched_url(str(name))
        return Place(path, path.stem)
    path = Path(name)
    if path.exists():
        return Place(path, path.resolve().name if path.is_dir() else path.stem)
    wish = _HUB_ID.fullmatch(str(name))
    if wish is None or path.parent.is_dir() or _is_table(path):
        raise no_such_path(path)
    from mmscore.hub_files import fetched

    return Place(fetched(wish["repo"], wish["revision"]), wish["repo"].partition("/")[2])


def _is_table(path: Path) -> bool:
    from mmconvert.guess import READERS

    return path.suffix.lower() in READERS
