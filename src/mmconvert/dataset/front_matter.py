"""The YAML block at the top of a card, read and written so that nothing of it changes on the way."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from mmconvert.core.errors import Error, take_first_line
from mmconvert.core.text.yaml import load_yaml

FRONT = re.compile(r"\A---[ \t]*\r?\n(?P<yaml>.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_BOOL = "tag:yaml.org,2002:bool"


class _YamlClasses(NamedTuple):
    """The kinds of YAML of a card: how it is written, fast where it is plain, and read."""

    dumper: Any
    fast_dumper: Any
    loader: Any


@cache
def _build_kinds() -> _YamlClasses:
    # It takes time to load, and most runs have no card.
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            """Write equal parts out each time: not every reader of cards follows YAML references."""
            return True

    class FastDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # PyYAML may lack libyaml
        """Writes printable ASCII as `Dumper` does, in a fifth of the time; emoji and line breaks otherwise."""

        def ignore_aliases(self, data: object) -> bool:
            return True

    class Loader(yaml.SafeLoader):
        """Reads `no`, which is a language, as the Hub does: YAML 1.2 has no booleans but true and false."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in known if tag != _BOOL]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    Loader.add_implicit_resolver(_BOOL, re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
    return _YamlClasses(Dumper, FastDumper, Loader)


def read_front_matter(text: str) -> dict[str, Any]:
    r"""Read the YAML block at the top of a card; a card without one, or with broken YAML, has nothing.

    Example:
        >>> read_front_matter("---\nlicense: mit\n---\n# Title")
        {'license': 'mit'}
        >>> read_front_matter("# Title")
        {}
    """
    found = FRONT.match(text)
    if found is None:
        return {}
    import yaml

    try:
        values = load_yaml(found["yaml"], _build_kinds().loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def add_front_matter(values: Mapping[str, Any], body: str) -> str:
    """Put a YAML block in front of a card's body, keys in the order given."""
    import yaml

    kinds = _build_kinds()
    dumper = kinds.fast_dumper if _is_plain(values) else kinds.dumper
    block = yaml.dump(dict(values), Dumper=dumper, sort_keys=False, allow_unicode=True, width=1_000_000)
    return f"---\n{block}---\n{body}"


def _is_plain(values: Mapping[str, Any]) -> bool:
    """Tell whether all texts are printable ASCII without a backslash, and no key is empty."""
    text = repr(dict(values))
    return text.isascii() and "\\" not in text and "'':" not in text


def require_readable(text: str) -> None:
    """Refuse a card of the repository whose YAML would be lost.

    Raises:
        Error: It cannot be read.
    """
    import yaml

    found = FRONT.match(text)
    try:
        load_yaml(found["yaml"] if found else "", _build_kinds().loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = take_first_line(error)
        message = f"README.md of the repository: its YAML cannot be read ({said}). Fix it, and push again."
        raise Error(message) from None


def replace_front_matter(text: str, values: Mapping[str, Any]) -> str:
    """Put other YAML in front of a card's body."""
    return add_front_matter(values, FRONT.sub("", text, count=1))
