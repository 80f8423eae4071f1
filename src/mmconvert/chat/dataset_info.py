"""LLaMA-Factory's list of data sets, `dataset_info.json`, which lies beside the files that it names."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmconvert.core.errors import Error, RowError, show
from mmconvert.core.rows import MOST_ROW_BYTES
from mmconvert.core.text.json import parse_json
from mmconvert.plugins.format import Target
from mmconvert.storage.atomic import open_published_file

INFO = "dataset_info.json"


def add_to_dataset_info(target: Target, entry: Mapping[str, Any]) -> None:
    """Add the file that is written to the list beside it, or replace its entry there.

    Args:
        target: The file; the name that it will have is the data set's.
        entry: What the list says of it beside its name. Columns that it does not list count as absent.

    Raises:
        Error: The list that is there cannot be read.
    """
    path = target.path.with_name(INFO)
    name = target.name or target.path.name
    known = _list_known_sets(path)
    known[Path(name).stem] = {"file_name": name, **entry}
    with open_published_file(path) as temporary:
        temporary.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _list_known_sets(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            known = parse_json(file.read(MOST_ROW_BYTES).decode())
    except FileNotFoundError:
        return {}
    except (UnicodeDecodeError, RowError) as error:
        raise Error(f"{path}: is not JSON ({error}). Repair it, or export to another folder.") from None
    if not isinstance(known, dict):
        raise Error(f"{path}: expected an object of data sets {show(known)}. Export to another folder.")
    return known
