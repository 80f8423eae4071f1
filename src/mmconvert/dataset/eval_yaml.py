"""A benchmark's `eval.yaml`: the tasks of a dataset on the Hub, and how Inspect asks and scores them.

Source of the form: UKGovernmentBEIS/inspect_ai@499e615, src/inspect_ai/_eval/task/hf.py (HFTask).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from mmconvert.core.errors import Error
from mmconvert.dataset.dataset import read_shard_batches
from mmconvert.dataset.manifest import read_manifest

EVAL_YAML = "eval.yaml"
_FRAMEWORK = "inspect-ai"
_COLUMNS = ["id", "question", "options", "answer", "images"]


def build_eval_yaml(folder: Path, name: str) -> bytes:
    """Describe a dataset's splits as tasks of a benchmark: multiple choice, or answers that a response includes.

    Args:
        folder: A dataset that mmconvert wrote.
        name: Name of the benchmark.

    Raises:
        Error: The form cannot say how the samples are asked: images, no answer, or some with options and some without.
    """
    import yaml

    configs, _ = read_manifest(folder)
    tasks = [
        _describe_task(config, split, _has_options(folder, [shard.file for shard in shards]))
        for config, splits in configs.items()
        for split, shards in splits.items()
    ]
    page = {"name": name, "description": f"{name}, by mmconvert.", "evaluation_framework": _FRAMEWORK, "tasks": tasks}
    return yaml.safe_dump(page, sort_keys=False, allow_unicode=True).encode()


def _describe_task(config: str, split: str, has_options: bool) -> Mapping[str, Any]:
    fields = {"id": "id", "input": "question", "target": "answer"}
    return {
        "id": f"{config}_{split}",
        "config": config,
        "split": split,
        "field_spec": fields | {"choices": "options"} if has_options else fields,
        "solvers": [{"name": "multiple_choice" if has_options else "generate"}],
        "scorers": [{"name": "choice" if has_options else "includes"}],
    }


def _has_options(folder: Path, files: list[str]) -> bool:
    """Say whether the samples of a split are multiple choice; all of them are, or none."""
    found: set[bool] = set()
    for file in files:
        for batch in read_shard_batches(folder / file, _COLUMNS):
            for name in ("question", "answer"):
                if name not in batch.schema.names or batch[name].null_count:
                    _refuse(_name_sample(batch, name), f"has no {name}")
            images = _count_items(batch["images"])
            if any(images):
                _refuse(str(batch["id"][images.index(max(images))]), "has an image")
            found |= {count > 0 for count in _count_items(batch["options"])}
    if len(found) > 1:
        raise Error(f"{folder}: {EVAL_YAML} cannot say that some samples have options and some have none. Split them.")
    return found == {True}


def _count_items(column: pa.Array) -> list[int]:
    import pyarrow.compute as pc

    return [count or 0 for count in pc.list_value_length(column).to_pylist()]


def _name_sample(batch: pa.RecordBatch, column: str) -> str:
    missing = batch[column].is_null().to_pylist() if column in batch.schema.names else [True]
    return str(batch["id"][missing.index(True)])


def _refuse(sample: str, reason: str) -> None:
    raise Error(
        f"sample {sample!r} {reason}, which {EVAL_YAML} cannot say (one data URL a sample, a question and an answer). "
        "Leave --eval-yaml out."
    )
