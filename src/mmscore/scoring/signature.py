"""The signature of a number: all that it depends on, the rows by short digests, so that like is compared with like."""

import hashlib
import platform
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mmconvert._version import __version__
from mmconvert.core.arrow import build_column, build_scalar, from_numpy, list_texts, to_numpy
from mmconvert.plugins.registry import name_by_content
from mmscore.core.predictions.join import ANSWER_COLUMNS
from mmscore.core.select_recipe import RecipeChoice
from mmscore.scoring.judging.panel import Panel

LIBRARIES = ("jieba", "nltk", "numpy", "pandas", "pyarrow", "rapidfuzz")
"""Libraries whose release may change a number, some of them with extras."""


@cache
def list_versions() -> Mapping[str, str]:
    """Name the releases that are at work."""
    installed = (name for name in LIBRARIES if find_spec(name) is not None)
    libraries = {name: metadata.version(name) for name in installed}
    return {"mmscore": __version__, "python": platform.python_version(), **libraries}


def write_signature(
    choice: RecipeChoice,
    *,
    average: str,
    column: str | None,
    panel: Panel | None,
    answers: str | Path | None,
    mismatch: str,
    digests: Mapping[str, str],
) -> str:
    """Write the signature of the numbers of one file under one recipe.

    Args:
        choice: The recipe, its version and its options.
        average: Over what the numbers are means, `micro` or `macro`.
        column: The column whose groups were averaged; None for rows.
        panel: Who judged after the rules; None for nobody.
        answers: The dataset that the references were read from; None for the predictions' own.
        mismatch: How many of the rows these ask something else of, where that was allowed; else empty.
        digests: What `Fingerprint.digests` gave.

    Returns:
        Parts `name:value`, divided by `|`; predictions and places are not in it.
    """
    releases = dict(list_versions())
    parts = {
        "recipe": f"{name_by_content(choice.name)}@{choice.version}",
        "parity": choice.recipe.parity,
        **({"not-reproduced": choice.instead.replace("|", " ")} if choice.instead else {}),
        "average": average if column is None else f"{average} over {column}",
        "mmscore": releases.pop("mmscore"),
        **(panel.signature() if panel else {}),
    }
    if choice.options is not None:
        parts["options"] = choice.options
    if answers is not None:
        parts["answers"] = Path(answers).name
    if mismatch:
        parts["mismatch"] = mismatch
    parts |= digests
    parts["releases"] = ",".join(f"{name}={release}" for name, release in releases.items())
    return "|".join(f"{key}:{value}" for key, value in parts.items())


PROMPT_COLUMNS = ("messages", "image_info")
"""Columns that say what the model was asked: the turns, and the digests of the images in them."""

_OWN = ANSWER_COLUMNS - {"id"} | {"extra", *PROMPT_COLUMNS}
_DIGITS = 12
_BYTES = 16
_ABSENT = build_scalar("\0")
_NOTHING = build_column([0], pa.int32())[0]
_SEPARATOR = 0x1F
_SLICE = 2**29
"""Bytes of a batch whose texts are joined at once; Arrow's texts end at 2 GiB."""


class Fingerprint:
    """Digests rows batch after batch; their order makes no difference, their number does.

    Two digests are kept apart. *data* is of the ids and of every column that a recipe reads and no
    model has written: questions, options, references. *prompt* is of the chat turns and of the
    images' own digests, where the file tells them.

    Attributes:
        columns: What a batch must bring along, of the columns that the file has.

    Example:
        >>> fingerprint = Fingerprint(["answer", "prediction"], {"id", "answer", "prediction"})
        >>> fingerprint.add(pa.RecordBatch.from_pydict({"id": ["1"], "answer": ["A"], "prediction": ["B"]}))
        >>> fingerprint.digests()
        {'data': 'eba1ff962203'}
    """

    def __init__(self, read: Iterable[str], known: Iterable[str]) -> None:
        """Prepare for rows.

        Args:
            read: Columns that the recipe reads.
            known: Columns that the file has.
        """
        known = frozenset(known)
        wanted = {"data": sorted({"id", *read} - _OWN), "prompt": PROMPT_COLUMNS if "messages" in known else ()}
        self._columns = {name: [c for c in columns if c in known] for name, columns in wanted.items() if columns}
        self._sums = {name: np.zeros(2, np.uint64) for name in self._columns}
        self.columns = frozenset(column for columns in self._columns.values() for column in columns)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take rows in.

        Args:
            batch: Rows with `columns`, in any order.
        """
        for name, columns in self._columns.items():
            self._sums[name] += _sum([batch.column(column) for column in columns])

    def start_again(self) -> "Fingerprint":
        """Prepare for other rows of the same file, which `merge` takes over."""
        again = copy(self)
        again._sums = {name: np.zeros(2, np.uint64) for name in self._sums}
        return again

    def merge(self, other: "Fingerprint") -> None:
        """Take the rows of another one in, which `start_again` gave."""
        for name in self._sums:
            self._sums[name] += other._sums[name]

    def digests(self) -> dict[str, str]:
        """Give the digests so far, by name, as hex digits."""
        return {name: total.tobytes().hex()[:_DIGITS] for name, total in self._sums.items()}


def _sum(columns: Sequence[pa.Array]) -> npt.NDArray[np.uint64]:
    """Add up the digests of rows, so that no order is in them."""
    count = len(columns[0])
    if count > 1 and sum(column.nbytes for column in columns) > _SLICE:
        halves = ([c.slice(0, count // 2) for c in columns], [c.slice(count // 2) for c in columns])
        return _sum(halves[0]) + _sum(halves[1])
    rows = pc.binary_join_element_wise(*map(_texts, columns), build_scalar(chr(_SEPARATOR)))
    texts = list_texts(pc.cast(rows, pa.binary()))
    digests = b"".join(hashlib.blake2b(text, digest_size=_BYTES).digest() for text in texts)
    total: npt.NDArray[np.uint64] = np.frombuffer(digests, "<u8").reshape(-1, 2).sum(axis=0, dtype=np.uint64)
    return total


def _texts(column: pa.Array, depth: int = 1) -> pa.Array:
    """Write a column as one text a row; each depth of nesting has a separator of its own."""
    separator = build_scalar(chr(_SEPARATOR - depth))
    if pa.types.is_struct(column.type):
        texts = pc.binary_join_element_wise(*[_texts(part, depth + 1) for part in column.flatten()], separator)
    elif pa.types.is_list(column.type):
        lengths = to_numpy(pc.fill_null(pc.list_value_length(column), _NOTHING))
        offsets = from_numpy(np.concatenate([[0], lengths.cumsum()]).astype(np.int32))
        texts = pc.binary_join(pa.ListArray.from_arrays(offsets, _texts(column.flatten(), depth + 1)), separator)
    else:
        return pc.fill_null(pc.cast(column, pa.string()), _ABSENT)
    return pc.if_else(column.is_valid(), texts, _ABSENT) if column.null_count else texts
