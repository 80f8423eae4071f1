"""YAML of others read as plain data, of a size that grows with the text."""

from typing import IO, Any

import yaml

_MOST_REPEATED = 100_000
"""Values that the aliases of a document may repeat; in a few lines they can stand for billions."""


class AliasError(yaml.YAMLError):
    """The aliases of a document lead back to themselves, or stand for too much."""


def load_yaml(source: "str | bytes | IO[str]", loader: type[yaml.SafeLoader] = yaml.SafeLoader) -> Any:
    r"""Read one document.

    Args:
        source: The text, or a file that is open for reading.
        loader: How scalars are understood.

    Raises:
        yaml.YAMLError: It is no YAML, or its aliases stand for too many values.

    Example:
        >>> load_yaml("a: &x [1]\nb: *x")
        {'a': [1], 'b': [1]}
        >>> load_yaml("a: &x [*x]")
        Traceback (most recent call last):
        mmconvert.core.text.yaml.AliasError: an alias stands inside what it refers to
    """
    opened = loader(source)
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


def _count_values(node: yaml.Node, counts: dict[int, int]) -> int:
    """Count a node and all below it, as often as aliases repeat them.

    Raises:
        AliasError: They never end.
    """
    place = id(node)
    if counts.get(place) == 0:
        raise AliasError("an alias stands inside what it refers to")
    if place not in counts:
        counts[place] = 0
        parts = node.value if isinstance(node, yaml.CollectionNode) else ()
        children = (child for part in parts for child in (part if isinstance(part, tuple) else (part,)))
        counts[place] = 1 + sum(_count_values(child, counts) for child in children)
    return counts[place]
