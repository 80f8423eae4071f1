"""The manifest of a dataset: which shards it has, written last, so that its presence means whole."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mmconvert.core.errors import Error, UsageError, show
from mmconvert.core.record import SCHEMA_VERSION
from mmconvert.dataset.shards import Shard
from mmconvert.storage.folders import require_inside
from mmconvert.storage.hub_fs import parse_commit

MANIFEST = ".mmconvert/manifest.json"
DEFAULT_CONFIG = "default"
DATA_FOLDER = "data"
"""Folder of the shards of the default config."""
PREDICTIONS = "predictions"
"""View of a dataset whose configs hold predictions, one a model and benchmark."""

# What `datasets` accepts, and nothing that would leave the dataset's folder.
_CONFIG = re.compile(r"\w[\w.\-]*")
_SPLIT = re.compile(r"\w+(\.\w+)*")
_SHA256 = re.compile(r"[0-9a-f]{64}")

_SHARD_FIELDS = ("file", "rows", "bytes", "sha256")

SELECTING = ("where", "sample", "limit")
"""Options of a manifest that choose a part of the input."""


def read_manifest(path: Path) -> tuple[dict[str, dict[str, list[Shard]]], dict[str, Any]]:
    """Read a dataset's manifest.

    Returns:
        Shards by config and split, and the manifest as it stands.

    Raises:
        Error: The manifest is missing, damaged, or of a newer schema version.
    """
    try:
        manifest = json.loads((path / MANIFEST).read_bytes())
        configs = {
            config: {split: [_read_shard(shard, config, split) for shard in shards] for split, shards in splits.items()}
            for config, splits in manifest["configs"].items()
        }
        if not any(configs.values()):
            raise ValueError("it lists no split")
        version = int(manifest["schema_version"])
        shards = [shard.file for splits in configs.values() for listed in splits.values() for shard in listed]
    except FileNotFoundError:
        message = (
            f"{path}: has no {MANIFEST}; it is not a dataset created by mmconvert, or is incomplete. Convert it again."
        )
        raise Error(message) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, UsageError, RecursionError) as error:
        raise Error(f"{path / MANIFEST}: is damaged ({error}). Convert the dataset again.") from None
    require_inside(path, (path / file for file in (MANIFEST, *shards)))
    if version > SCHEMA_VERSION:
        raise Error(f"{path}: has schema version {version}; this program knows {SCHEMA_VERSION}. Upgrade mmconvert.")
    return configs, manifest


def describe_several_configs(path: Path, configs: Iterable[str]) -> str:
    """Say that a dataset holds several configs, and what to name instead."""
    folders = " or ".join(str(path / build_config_folder(name)) for name in configs)
    return f"holds several configs: {', '.join(configs)}. Name the folder of one: {folders}."


def _read_shard(fields: Mapping[str, Any], config: str, split: str) -> Shard:
    """Check one shard's entry: a dataset may come from anywhere, and its manifest must not lead out of it."""
    check_names(config, split)
    if unknown := fields.keys() - {*_SHARD_FIELDS}:
        raise TypeError(f"a shard has unknown fields: {', '.join(sorted(unknown))}")
    shard = Shard(**fields)
    folder = re.escape(build_config_folder(config))
    if not re.fullmatch(rf"{folder}/{re.escape(split)}-\d+-of-\d+\.parquet", shard.file):
        raise ValueError(f"split {split!r} of config {config!r} has no shard of this name {show(shard.file)}")
    if not all(isinstance(fields[name], int) and fields[name] >= 0 for name in ("rows", "bytes")):
        raise TypeError(f"{shard.file}: rows and bytes must be numbers")
    if not _SHA256.fullmatch(shard.sha256):
        raise ValueError(f"{shard.file}: sha256 must be 64 hex digits")
    return shard


def join_runs(earlier: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
    """Tell of an earlier run's inputs too, whose shards are kept."""
    formats = ", ".join(str(run["format"]) for run in (earlier, about) if run.get("format"))
    inputs = [*earlier.get("input", []), *about.get("input", [])]
    return {**about, "format": ", ".join(dict.fromkeys(formats.split(", "))), "input": inputs}


def find_hub_source(path: Path) -> tuple[str, str] | None:
    """Find where on the Hub the rows of a dataset come from: what was converted, or else the dataset itself.

    Args:
        path: The dataset, here or on the Hub.

    Returns:
        `USER/REPO` and the commit; None where they come from elsewhere, or from several repositories.

    Raises:
        Error: Its manifest is damaged.
    """
    inputs = read_manifest(path)[1].get("input") if (path / MANIFEST).is_file() else None
    names = [one.get("name") if isinstance(one, dict) else None for one in inputs] if isinstance(inputs, list) else []
    found = {parse_commit(str(name)) for name in names}
    return found.pop() or parse_commit(str(path)) if len(found) == 1 else parse_commit(str(path))


def find_selection(path: Path) -> dict[str, Any]:
    """Find the options of `convert` that chose a part of the input: `where`, `sample`, `limit`.

    Args:
        path: The dataset, here or on the Hub.

    Returns:
        Name and value of those that were given; empty where all of the input was converted, or nobody says how.

    Raises:
        Error: Its manifest is damaged.
    """
    options = read_manifest(path)[1].get("options") if (path / MANIFEST).is_file() else None
    given = options if isinstance(options, dict) else {}
    return {name: given[name] for name in SELECTING if given.get(name) is not None}


def build_config_folder(config: str) -> str:
    """Give the folder of a config's shards inside the dataset.

    Example:
        >>> build_config_folder("default"), build_config_folder("zh")
        ('data', 'zh')
    """
    return DATA_FOLDER if config == DEFAULT_CONFIG else config


def find_config_folder(path: Path) -> tuple[Path, str] | None:
    """Tell whether a path is the folder of one config of a converted dataset.

    Returns:
        The dataset's folder and the config's name; None for anything else.
    """
    if not path.is_dir() or not (path.parent / MANIFEST).is_file():
        return None
    found = (name for name in read_manifest(path.parent)[0] if build_config_folder(name) == path.name)
    return next(((path.parent, name) for name in found), None)


def check_names(config: str, split: str) -> None:
    """Refuse names that cannot be those of a folder and of `load_dataset`.

    Raises:
        UsageError: The config or the split cannot be named so.

    Example:
        >>> check_names("v1.0-zh", "dev.en")
        >>> check_names("../up", "test")
        Traceback (most recent call last):
            ...
        mmconvert.core.errors.UsageError: '../up' is not a config name. Use letters, digits, _, - and dots after the
        first.
    """
    if not _CONFIG.fullmatch(config) or config in (DATA_FOLDER, "README.md"):
        raise UsageError(f"{config!r} is not a config name. Use letters, digits, _, - and dots after the first.")
    if not _SPLIT.fullmatch(split) or split == "all":
        raise UsageError(f"{split!r} is not a split name. Use letters, digits, _ and single dots, not the word all.")
