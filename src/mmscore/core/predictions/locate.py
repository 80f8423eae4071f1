"""Where predictions stand: at a path, on standard input, or on the Hugging Face Hub."""

import re
import sys
from pathlib import Path

import msgspec

from mmconvert.core.errors import UsageError, build_missing_path_error
from mmconvert.pipeline.inputs import spool_stream
from mmconvert.storage.hub_fs import find_on_hub
from mmconvert.storage.object_store import fetch as fetched_url
from mmconvert.storage.object_store import is_url

STDIN = "-"
"""Name of standard input; a file of that name is `./-`."""


class PredictionsPlace(msgspec.Struct, frozen=True):
    """A file or folder on this machine, and what its rows are called where they do not say.

    Attributes:
        path: The file or folder.
        title: Its name without folder and suffix, the repository's for one on the Hub.
    """

    path: Path
    title: str


def locate_predictions(name: str | Path) -> PredictionsPlace:
    """Find what the user named: an existing path, `-`, a URL, or a dataset of the Hub, see `find_on_hub`.

    Args:
        name: As the user wrote it.

    Returns:
        The place. Standard input is copied to a file that goes away with the process.

    Raises:
        UsageError: Nothing stands there, here or on the Hub.
        Error: The Hub cannot be reached, or refuses.

    Example:
        >>> locate_predictions("no-such-folder/predictions.parquet")
        Traceback (most recent call last):
        mmconvert.core.errors.UsageError: no-such-folder/predictions.parquet: no such file or folder. See what is
        there: ls .
    """
    if str(name) == STDIN:
        return PredictionsPlace(spool_stream(sys.stdin.buffer), "stdin")
    if not str(name):
        raise UsageError("the name of a file is empty. Is a variable of the command line not set?")
    path = find_on_hub(name)
    if path is not None:
        return PredictionsPlace(path, _read_title(str(name)))
    if is_url(str(name)):
        path = fetched_url(str(name))
        return PredictionsPlace(path, path.stem)
    path = Path(name)
    if not path.exists():
        raise build_missing_path_error(path)
    return PredictionsPlace(path, path.resolve().name if path.is_dir() else path.stem)


def _read_title(name: str) -> str:
    """Give the last name of what stands on the Hub, without a revision and the suffix of a table.

    Example:
        >>> _read_title("user/preds-1.5@main"), _read_title("hf://datasets/user/preds@v1/data/m1.parquet")
        ('preds-1.5', 'm1')
    """
    inside = re.sub(r"@(refs/(pr|convert)/)?[^/]+", "", name)
    return inside.rstrip("/").rpartition("/")[2].removesuffix(".parquet")
