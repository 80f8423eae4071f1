"""YAML files read as plain data."""

from pathlib import Path
from typing import Any

from mmconvert.core.errors import Error, take_first_line
from mmconvert.core.text.yaml import load_yaml
from mmconvert.storage.source_files import read_source


def read_yaml(path: Path) -> Any:
    """Read the one document of a file.

    Raises:
        Error: It cannot be read, or is no YAML.
    """
    # Imported here: every format is loaded to tell a file's, and few files are YAML.
    import yaml

    try:
        return load_yaml(read_source(path))
    except (yaml.YAMLError, ValueError, RecursionError, OSError) as error:
        raise Error(f"{path}: cannot be read as YAML ({take_first_line(error)}). Correct it.") from None
