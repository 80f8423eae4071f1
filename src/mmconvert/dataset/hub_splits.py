"""Which files of a dataset on the Hub are those of a configuration and split, as its card or its names say."""

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from mmconvert.core.errors import UsageError, suggest_spelling
from mmconvert.core.rows import READERS
from mmconvert.dataset.front_matter import read_front_matter

CARD = "README.md"
_DEFAULT = "default"
_SHOWN = 12
_SPELLINGS = (("train", "training"), ("validation", "valid", "dev", "val"), ("test", "testing", "eval", "evaluation"))
"""Words for a split that files and folders may begin with; the Hub takes each group for one."""


class RepoListing(msgspec.Struct, frozen=True):
    """What is known of a dataset before any of its tables is fetched.

    Attributes:
        shown: The dataset, for messages.
        names: Paths of its files within it, in order.
        card: Its README.md; empty where it has none.
    """

    shown: str
    names: Sequence[str]
    card: bytes = b""

    def read_configs(self) -> dict[str, Any]:
        """Read what files the card names for each configuration."""
        configs = read_front_matter(self.card.decode("utf-8", "replace")).get("configs")
        found = [one for one in configs if isinstance(one, Mapping)] if isinstance(configs, list) else []
        return {str(one.get("config_name", _DEFAULT)): one["data_files"] for one in found if one.get("data_files")}


def find_split_files(root: Path, config: str | None, split: str | None) -> list[Path]:
    """Find the tables of a split, as `choose_split_files`, of a dataset at one commit or in the Hub client's cache."""
    card = root / CARD
    content = card.read_bytes() if card.is_file() else b""
    listing = RepoListing(str(root), _list_names(root), content)
    return [root / name for name in choose_split_files(listing, config, split)]


def choose_split_files(listing: RepoListing, config: str | None, split: str | None) -> list[str]:
    """Choose the tables of a split.

    Args:
        listing: The dataset.
        config: Its configuration; None for the one that is taken by default.
        split: The split; None for all.

    Returns:
        Their paths in order.

    Raises:
        UsageError: The dataset has no such configuration or split, or several files may be meant.
    """
    named = listing.read_configs()
    if named:
        patterns = _choose_patterns(listing.shown, named, config, split)
        found = list(dict.fromkeys(name for pattern in patterns for name in _match(listing.names, pattern)))
    else:
        found = _find_by_name(listing, config, split)
    tables = [name for name in found if _is_table(name)]
    if not tables:
        wanted = " and ".join(f"{kind} {name!r}" for kind, name in (("config", config), ("split", split)) if name)
        raise UsageError(f"{listing.shown}: no table of {wanted or 'it'} was found. {_list_tables(listing)}")
    return tables


def match_files(root: Path, pattern: str) -> list[Path]:
    """List the files of a dataset whose path within it is like a pattern; `*` stands for any letters."""
    if not re.search(r"[*?\[]", pattern):
        return [root / pattern] if (root / pattern).is_file() else []
    return [root / name for name in _match(_list_names(root), pattern)]


def _list_names(root: Path) -> list[str]:
    files = sorted(file for file in root.rglob("*") if file.is_file())
    return [str(file).removeprefix(str(root)).strip("/") for file in files]


def _match(names: Sequence[str], pattern: str) -> list[str]:
    # `**/` may stand for no folder at all.
    others = {pattern, pattern.replace("**/", "")}
    return [name for name in names if name == pattern or any(fnmatch.fnmatchcase(name, one) for one in others)]


def _is_table(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in READERS


def _choose_patterns(shown: str, named: Mapping[str, Any], config: str | None, split: str | None) -> list[str]:
    name = config or (_DEFAULT if _DEFAULT in named else next(iter(named)) if len(named) == 1 else None)
    if name is None or name not in named:
        hint = suggest_spelling(config, named) if config else ""
        which = f"no configuration {config!r}" if config else "several configurations"
        raise UsageError(f"{shown}: has {which}.{hint} Known: {', '.join(list(named)[:_SHOWN])}.")
    splits = dict(_list_patterns(named[name]))
    if split is None:
        return [pattern for patterns in splits.values() for pattern in patterns]
    if split not in splits and list(splits) != [None]:
        known = ", ".join(str(one) for one in splits if one)
        raise UsageError(
            f"{shown}: has no split {split!r}.{suggest_spelling(split, filter(None, splits))} Known: {known}."
        )
    return splits.get(split) or _filter_split(splits[None], split)


def _filter_split(patterns: list[str], split: str) -> list[str]:
    """Take the patterns that name the split; all where none does, for a pattern without a split is of all."""
    return [pattern for pattern in patterns if _names_split(pattern, split)] or patterns


def _list_patterns(files: Any) -> Iterator[tuple[str | None, list[str]]]:
    """Give split -> patterns of the forms that cards have: one, a list, a list of splits, or an object of them."""
    if isinstance(files, Mapping):
        yield from ((str(split), _as_list(patterns)) for split, patterns in files.items())
    elif isinstance(files, list) and files and all(isinstance(one, Mapping) for one in files):
        yield from ((str(one["split"]) if "split" in one else None, _as_list(one.get("path"))) for one in files)
    else:
        yield None, _as_list(files)


def _as_list(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)] if value else []


def _find_by_name(listing: RepoListing, config: str | None, split: str | None) -> list[str]:
    """Find the tables by their names: the configuration is a folder, the split begins a file's or a folder's name."""
    tables = [PurePosixPath(name) for name in listing.names if _is_table(name)]
    if config is not None:
        own = [file for file in tables if config in file.parts[:-1]]
        tables = own or [file for file in tables if file.stem == config or file.stem.startswith(f"{config}-")]
    if split is not None:
        own = [file for file in tables if _names_split(str(file), split)]
        # A table alone is the whole of its configuration, whatever it is called.
        tables = own or (tables if len(tables) == 1 else [])
    parquet = [file for file in tables if file.suffix.lower() == ".parquet"]
    tables = parquet or tables
    if len({file.parent for file in tables}) > 1 or (len(tables) > 1 and config is None and split is None):
        raise UsageError(f"{listing.shown}: several of its tables may be meant. {_list_tables(listing)}")
    return [str(file) for file in tables]


def _names_split(path: str, split: str) -> bool:
    words = next((group for group in _SPELLINGS if split in group), (split,))
    *folders, name = path.split("/")
    begins = re.compile(rf"(?:{'|'.join(map(re.escape, words))})(?:[-_.\d*].*)?", re.ASCII)
    return any(begins.fullmatch(part) for part in (*folders, name))


def _list_tables(listing: RepoListing) -> str:
    tables = [name for name in listing.names if _is_table(name)]
    if not tables:
        return "It holds no table. Fetch it, and convert the files that are in it."
    more = ", ..." if len(tables) > _SHOWN else ""
    return f"Name one of its tables, hf://datasets/USER/REPO/FILE: {', '.join(tables[:_SHOWN])}{more}."
