"""A recipe's own options, as the user writes them in a file of YAML or JSON, or as JSON in its place."""

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from mmconvert.core.errors import UsageError, build_missing_path_error, show, suggest_spelling, take_first_line
from mmconvert.core.hashing import hash_file
from mmconvert.core.plugin_struct import PluginStruct
from mmconvert.core.text.yaml import load_yaml

_DIGITS = 16


class RecipeOptions(PluginStruct, frozen=True):
    """Options of a recipe.

    Attributes:
        values: Option -> value.
        digest: First digits of the SHA-256 of the file, or of the JSON, for the signature of a number.
    """

    values: Mapping[str, Any]
    digest: str


def read_options(path: str | Path) -> RecipeOptions:
    """Read a file of options, or a text that is a JSON object.

    Raises:
        UsageError: Nothing stands there, or no options by name.
    """
    text, place = str(path), Path(path)
    inline = is_inline(path)
    if not inline and not place.is_file():
        raise build_missing_path_error(place)
    # Imported here: most runs have no options, and need not wait for it.
    import yaml

    try:
        values = load_yaml(text if inline else place.read_text(encoding="utf-8-sig"))
    except (yaml.YAMLError, UnicodeDecodeError, OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: cannot be read as YAML ({take_first_line(error)}). Correct it.") from None
    if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
        raise UsageError(f"{path}: expected options by name {show(values)}. Write `name: value` lines.")
    digest = hashlib.sha256(text.encode()).hexdigest() if inline else hash_file(place)
    return RecipeOptions(values, digest[:_DIGITS])


def is_inline(path: str | Path) -> bool:
    """Tell options themselves, a JSON object, from the file that they stand in.

    Example:
        >>> is_inline('{"multiple": true}'), is_inline("task.yaml")
        (True, False)
    """
    return str(path).lstrip().startswith("{")


def check_known(options: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse options that nobody knows; for `Recipe.configure`.

    Args:
        options: As the user gave them.
        known: Names of options.

    Raises:
        UsageError: A name is none of them.

    Example:
        >>> check_known({"metric": 1}, ("metrics",))
        Traceback (most recent call last):
        mmconvert.core.errors.UsageError: no option 'metric'. Did you mean metrics? Known: metrics.
    """
    for name in options:
        if name not in known:
            raise UsageError(f"no option {name!r}.{suggest_spelling(name, known)} Known: {', '.join(known)}.")
