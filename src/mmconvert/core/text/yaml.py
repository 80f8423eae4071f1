"""YAML of others read as plain data, of a size that grows with the text."""

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from mmconvert.core.errors import UsageError, build_missing_path_error, take_first_line

if TYPE_CHECKING:  # takes time to load, and most commands read none
    import yaml

_MOST_REPEATED = 100_000
"""Values that the aliases of a document may repeat; in a few lines they can stand for billions."""


_MOST_TEXT = 1 << 20
"""A reader in Python makes hundreds of bytes of each, and takes a while."""


class AliasError(ValueError):
    """A document is too long, or its aliases lead back to themselves or stand for too much."""


def load_yaml(source: "str | bytes | IO[str]", loader: "type[yaml.SafeLoader] | None" = None) -> Any:
    r"""Read one document.

    Args:
        source: The text, or a file that is open for reading.
        loader: How scalars are understood; None for YAML 1.1 as `yaml.safe_load` reads it.

    Raises:
        yaml.YAMLError: It is no YAML.
        AliasError: It is too long, or its aliases stand for too many values.

    Example:
        >>> load_yaml("a: &x [1]\nb: *x")
        {'a': [1], 'b': [1]}
        >>> load_yaml("a: &x [*x]")
        Traceback (most recent call last):
        mmconvert.core.text.yaml.AliasError: an alias is inside the value it refers to
    """
    import yaml

    text = source if isinstance(source, str | bytes) else source.read(_MOST_TEXT + 1)
    if len(text) > _MOST_TEXT:
        raise AliasError(f"it is longer than {_MOST_TEXT:,} characters")
    opened = (loader or yaml.SafeLoader)(text)
    try:
        node = opened.get_single_node()
        if node is None:
            return None
        # Before values are made: merge keys (<<) copy what they refer to.
        counts: dict[int, int] = {}
        if _count_values(node, counts) - len(counts) > _MOST_REPEATED:
            raise AliasError(f"its aliases repeat more than {_MOST_REPEATED:,} values")
        return opened.construct_document(node)
    finally:
        opened.dispose()


def _count_values(node: "yaml.Node", counts: dict[int, int]) -> int:
    """Count a node and all below it, as often as aliases repeat them.

    Raises:
        AliasError: They never end.
    """
    place = id(node)
    if counts.get(place) == 0:
        raise AliasError("an alias is inside the value it refers to")
    if place not in counts:
        counts[place] = 0
        parts = node.value if isinstance(node.value, list) else ()
        children = (child for part in parts for child in (part if isinstance(part, tuple) else (part,)))
        counts[place] = 1 + sum(_count_values(child, counts) for child in children)
    return counts[place]


def read_mapping_file(path: str) -> dict[str, Any]:
    """Read a YAML or JSON file of names and values; {} from an empty one.

    Raises:
        UsageError: It cannot be read, or holds something else.
    """
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            values = load_yaml(file) or {}
    except FileNotFoundError:
        raise build_missing_path_error(Path(path)) from None
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: cannot be read as YAML ({take_first_line(error)}). Correct the file.") from error
    if not isinstance(values, dict):
        raise UsageError(f"{path}: expected option names and values. Write one `name: value` a line.")
    return values
