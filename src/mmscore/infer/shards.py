"""Shards of a run: each is predicted by a command of its own, as one of a job array, and all are merged in the end.

A shard is a range of the dataset's rows. Its file says in its metadata which one it is and of what run, so that merging
can tell what is missing, what was given twice and what is of another run. The merged file is that of one process.
"""

import json
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

import msgspec
import pyarrow.compute as pc

from mmconvert.core.errors import Error, UsageError, show
from mmconvert.dataset.dataset import Dataset, read_shard_batches
from mmconvert.dataset.publish import open_output
from mmconvert.io.parquet import open_parquet
from mmconvert.storage.atomic import require_apart
from mmconvert.storage.object_store import exists, find_local, is_url
from mmconvert.storage.source_files import watch_sources
from mmscore.core.predictions.run_metadata import RUN_METADATA
from mmscore.infer.predictions_file import INTERRUPTED, PREDICTIONS_SCHEMA, PredictionsFile
from mmscore.llm.response_cache import OK

SHARD = "shard"
"""Key of a predictions file's `RUN_METADATA` that says which shard it is."""

SETTINGS = "settings"
"""Key of the same JSON, of shards alone: a digest of what else their run was given."""

_MOST_SHARDS = 100_000
_OF_ONE_SHARD = frozenset((SHARD, "rows", "partial", INTERRUPTED))
"""Keys of the metadata in which shards of one run may differ; of `SHARD` the number and the first row."""

_COLUMNS = PREDICTIONS_SCHEMA.remove_metadata()
_Count = Annotated[int, msgspec.Meta(ge=0)]


class Shard(msgspec.Struct, frozen=True):
    """Which part of a run a file is.

    Attributes:
        number: From 1.
        of: Number of shards.
        first: Number of its first row in the dataset, from 0.
        rows: Rows of the dataset that it has.
    """

    number: Annotated[int, msgspec.Meta(ge=1)]
    of: Annotated[int, msgspec.Meta(ge=1, le=_MOST_SHARDS)]
    first: _Count
    rows: _Count


def parse_shard(text: str) -> tuple[int, int]:
    """Read `I/N`: the number of a shard, from 1, and the number of shards.

    Raises:
        UsageError: It is none.

    Example:
        >>> parse_shard("2/8")
        (2, 8)
    """
    number, _, of = text.partition("/")
    if not (number.isascii() and number.isdecimal() and of.isascii() and of.isdecimal()):
        raise UsageError(f"--shard: expected I/N, such as 1/8 {show(text)}.")
    if int(number) == 0:
        raise UsageError(f"--shard: shards are numbered from 1 {show(text)}. Of a Slurm array: --array=1-{int(of)}.")
    if int(number) > int(of) or int(of) > _MOST_SHARDS:
        raise UsageError(f"--shard: I goes from 1 to N, and N up to {_MOST_SHARDS:,} {show(text)}. Correct it.")
    return int(number), int(of)


def name_shard_file(output: str | Path, shard: str) -> str:
    """Name the file of a shard after that of the whole run.

    Args:
        output: The predictions file of the whole run, or its URL.
        shard: `I/N`.

    Raises:
        UsageError: The shard is none.

    Example:
        >>> name_shard_file("answers.parquet", "2/8")
        'answers.2.parquet'
    """
    number, _ = parse_shard(shard)
    stem, dot, ending = str(output).rpartition(".")
    return f"{stem}.{number}.{ending}" if dot else ending


def find_shard(dataset: Dataset, total: int, shard: str, *, keeps_groups: bool) -> Shard:
    """Find the rows of a shard; those of all shards are all rows, each once, in their order.

    Args:
        dataset: The dataset.
        total: Number of its first rows that are asked about.
        shard: `I/N`.
        keeps_groups: Rows of one conversation stay together; shards may become unequal.

    Raises:
        UsageError: The shard is none.
        Error: The dataset cannot be read.
    """
    number, of = parse_shard(shard)
    bounds = [total * before // of for before in (number - 1, number)]
    if keeps_groups:
        groups = (group for batch in dataset.batches(["group"]) for group in batch["group"].to_pylist())
        cuts = _list_cuts(groups, total)
        bounds = [cuts[bisect_left(cuts, bound)] for bound in bounds]
    return Shard(number, of, bounds[0], bounds[1] - bounds[0])


def _list_cuts(groups: Iterable[str | None], total: int) -> list[int]:
    """List the rows, the end among them, in front of which no conversation goes on.

    Example:
        >>> _list_cuts(["a", "a", None, "b", "c", "b"], 6)
        [0, 2, 3, 6]
    """
    rows = list(groups)[:total]
    last = {group: row for row, group in enumerate(rows) if group is not None}
    cuts, end = [], -1
    for row, group in enumerate(rows):
        if end < row:
            cuts.append(row)
        end = max(end, row if group is None else last[group])
    return [*cuts, total]


class MergeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How shards are merged."""

    overwrite: bool = False
    """Replace the output file if it exists."""


class MergeKeywords(TypedDict, total=False):
    """Keywords of `merge`: the options of `mmscore merge` by their names."""

    overwrite: bool


class Merged(msgspec.Struct, frozen=True):
    """What was merged.

    Attributes:
        output: The predictions file.
        shards: Number of shards.
        rows: Rows of the file.
        failed: Rows without a response.
    """

    output: str
    shards: int
    rows: int
    failed: int


class _ShardFile(msgspec.Struct, frozen=True):
    path: Path
    shard: Shard
    about: Mapping[str, Any]


@watch_sources()
def merge_shards(shards: Sequence[str | Path], output: str | Path, options: MergeOptions) -> Merged:
    """Merge the predictions files of all shards of a run into the file of one process, to the byte.

    Args:
        shards: The files, in any order, or their URLs.
        output: The predictions file that shall appear, or its URL.
        options: How.

    Raises:
        UsageError: No shard is given, the output exists, or is one of the shards.
        Error: A file is no finished shard, is of another run or repeats another one, or shards are missing.
    """
    if not shards:
        raise UsageError("no shard is given. Name the files: mmscore merge answers.*.parquet -o answers.parquet.")
    require_apart([output], list(map(str, shards)))
    if not options.overwrite and (exists(str(output)) if is_url(str(output)) else Path(output).exists()):
        raise UsageError(f"{output}: already exists. --overwrite replaces it.")
    files = sorted(map(_read_shard, map(find_local, shards)), key=lambda file: file.shard.number)
    _require_one_run(files)
    _require_all(files, str(output))
    about = {key: value for key, value in files[0].about.items() if key not in (SHARD, SETTINGS)}
    asked = sum(file.shard.rows for file in files)
    about |= {"rows": sum(file.about["rows"] for file in files), "partial": asked < about["dataset_rows"]}
    rows = failed = 0
    with open_output(output) as place, PredictionsFile(place, about) as merged:
        for batch in (batch for file in files for batch in read_shard_batches(file.path, None)):
            merged.copy(batch)
            rows += batch.num_rows
            failed += pc.sum(pc.not_equal(batch["prediction_status"], OK)).as_py() or 0
    return Merged(str(output), len(files), rows, failed)


def _read_shard(path: Path) -> _ShardFile:
    """Read which shard a file is.

    Raises:
        Error: It is none, or it is not finished.
    """
    parquet = open_parquet(path)
    schema, rows = parquet.schema_arrow, parquet.metadata.num_rows
    try:
        about = json.loads((schema.metadata or {}).get(RUN_METADATA, b"{}"))
        shard = msgspec.convert(about[SHARD], Shard)
    except (ValueError, LookupError, TypeError):
        raise Error(f"{path}: is no shard of a run (mmscore predict --shard I/N). Leave it out.") from None
    where = f"{path}: shard {shard.number} of {shard.of}"
    if about.get(INTERRUPTED) is True:
        raise Error(f"{where} was stopped early. Run its command again.")
    is_whole = about.get("rows") == rows and isinstance(about.get("dataset_rows"), int)
    if not is_whole or schema.remove_metadata() != _COLUMNS:
        raise Error(f"{where} is damaged, or was written by another version. Run its command again with --restart.")
    return _ShardFile(path, shard, about)


def _require_one_run(files: Sequence[_ShardFile]) -> None:
    """Refuse files of another run than that of most.

    Raises:
        Error: There are some.
    """
    runs = [json.dumps(_describe_run(file), sort_keys=True) for file in files]
    most, _ = Counter(runs).most_common(1)[0]
    first = files[runs.index(most)]
    for file, run in zip(files, runs, strict=True):
        if run != most:
            own, other = _describe_run(file), _describe_run(first)
            differing = ", ".join(sorted(key for key in own.keys() | other.keys() if own.get(key) != other.get(key)))
            raise Error(f"{file.path}: is of another run than {first.path} (another {differing}). Leave it out.")


def _describe_run(file: _ShardFile) -> dict[str, Any]:
    """Give what all shards of a run have in common."""
    own = {key: value for key, value in file.about.items() if key not in _OF_ONE_SHARD}
    return {**own, "number of shards": file.shard.of}


def _require_all(files: Sequence[_ShardFile], output: str) -> None:
    """Refuse shards of which one is given twice, or that are not all.

    Raises:
        Error: So it is.
    """
    found: dict[int, list[str]] = defaultdict(list)
    for file in files:
        found[file.shard.number].append(str(file.path))
    of = files[0].shard.of
    for number, paths in found.items():
        if len(paths) > 1:
            raise Error(f"{', '.join(paths)}: are all shard {number} of {of}. Name one of them.")
    if missing := [number for number in range(1, of + 1) if number not in found]:
        names = ", ".join(name_shard_file(output, f"{number}/{of}") for number in missing)
        verb = "shard" if len(missing) == 1 else "shards"
        numbers = ", ".join(map(str, missing))
        raise Error(
            f"{output}: {verb} {numbers} of {of} missing ({names}). "
            f"Run the command of each: mmscore predict ... --shard {missing[0]}/{of}."
        )
    end = 0
    for file in files:
        if file.shard.first != end:
            raise Error(f"{file.path}: does not begin where shard {file.shard.number - 1} ends. Run its command again.")
        end += file.shard.rows
