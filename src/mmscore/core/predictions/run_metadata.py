"""What a run says of itself in the metadata of its predictions file."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from mmconvert.core.errors import quote_value, show

RUN_METADATA = b"mmscore.run"
"""Key of the parquet metadata under which a run says what it did, as JSON; `partial` is true when it stopped early."""

CONDITION = "where"
"""Key of `RUN_METADATA` with the condition that chose the rows of the dataset that were predicted."""

SELECTION = "converted_with"
"""Key of `RUN_METADATA` with the options that chose a part of the input when the dataset was converted."""

DATASET_SOURCE = "dataset_source"
"""Key, in what a run says, of the repository on the Hub that its questions come from, `USER/REPO@COMMIT`."""


def read_run(schema: pa.Schema) -> dict[str, Any]:
    """Read what the run that wrote a file says of itself; empty where it says nothing."""
    try:
        said = json.loads((schema.metadata or {}).get(RUN_METADATA, b"{}"))
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def is_partial(run: Mapping[str, Any]) -> bool:
    """Tell whether a run says that its rows are a part of a dataset, or its dataset a part of the input."""
    return run.get("partial") is True or bool(run.get(SELECTION))


def describe_part(file: Path, run: Mapping[str, Any]) -> Iterator[str]:
    """Say that a file holds a part of what it seems to: a selection of the rows, or a shard of a run.

    Args:
        file: The predictions file.
        run: What `read_run` gave of it.
    """
    if isinstance(selection := run.get(SELECTION), dict) and selection:
        options = " ".join(f"--{name} {quote_value(value)}" for name, value in selection.items())
        yield f"{file}: its dataset was converted with {options}: its scores are of a part of the input."
    if (where := run.get(CONDITION)) is not None and run.get("partial") is True:
        yield f"{file}: was predicted with --where {quote_value(where)}: its scores are of a part of the dataset."
    if "shard" not in run:
        return
    shard = run["shard"]
    which = f"{shard.get('number')} of {shard.get('of')}" if isinstance(shard, dict) else show(shard)
    yield f"{file}: is shard {which} of a run: its scores are partial. Merge all shards first: mmscore merge."
