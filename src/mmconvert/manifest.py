"""The manifest of a dataset: which shards it has, written last, so that its presence means whole."""

import json
from pathlib import Path
from typing import Any

from mmconvert.errors import Error
from mmconvert.record import SCHEMA_VERSION
from mmconvert.shards import Shard

MANIFEST = ".mmconvert/manifest.json"
DEFAULT_CONFIG = "default"


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
            config: {split: [Shard(**shard) for shard in shards] for split, shards in splits.items()}
            for config, splits in manifest["configs"].items()
        }
        version = int(manifest["schema_version"])
    except FileNotFoundError:
        raise Error(f"{path}: has no {MANIFEST}; it is no dataset of ours or was not published whole.") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Error(f"{path / MANIFEST}: is damaged ({error}). Convert the dataset again.") from None
    if version > SCHEMA_VERSION:
        raise Error(f"{path}: has schema version {version}; this program knows {SCHEMA_VERSION}. Upgrade mmconvert.")
    return configs, manifest
