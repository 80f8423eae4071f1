"""Which plug-ins there are, by kind, without importing one."""

from collections.abc import Sequence
from typing import NamedTuple

from mmconvert.core.errors import UsageError, suggest_spelling
from mmconvert.plugins.registry import GROUPS, find_plugins


class ListedPlugin(NamedTuple):
    """A plug-in: its name, what it is, who brought it."""

    name: str
    summary: str
    origin: str


def list_kinds(package: str) -> dict[str, str]:
    """Name the kinds of plug-ins of one program, each with the package that holds them."""
    return {group.rpartition(".")[2]: group for group in GROUPS if group.startswith(package + ".")}


def list_plugins(
    program: str, kind: str | None, words: Sequence[str], others: Sequence[str] = ()
) -> dict[str, list[ListedPlugin]]:
    """Find the plug-ins of one program.

    Args:
        program: mmconvert or mmscore.
        kind: Kind such as `formats`, or one more word; None for all kinds.
        words: Words that must stand in the name or the summary, in any case.
        others: What else the command lists, to be named where the kind is unknown.

    Returns:
        Kind -> its plug-ins by name; of several kinds those with any.

    Raises:
        UsageError: There is no such kind, or nothing with all the words.
    """
    groups = list_kinds(program)
    known = [*groups, *others]
    if kind is not None and kind not in groups:
        if hint := suggest_spelling(kind, known):
            raise UsageError(f"unknown kind {kind!r}.{hint} Known: {', '.join(known)}.")
        words = [kind, *words]
        kind = None
    listed = {
        name: [ListedPlugin(one.name, one.read_summary(), one.origin) for one in find_plugins(group).values()]
        for name, group in groups.items()
        if kind in (None, name)
    }
    found = {name: [one for one in rows if _matches(one, words)] for name, rows in listed.items()}
    if words and not any(found.values()):
        names = [one.name for rows in listed.values() for one in rows]
        near = suggest_spelling(words[0], names)
        raise UsageError(f"nothing here has {' and '.join(map(repr, words))}.{near} Kinds: {', '.join(known)}.")
    return {name: rows for name, rows in found.items() if rows or kind is not None}


def _matches(plugin: ListedPlugin, words: Sequence[str]) -> bool:
    text = f"{plugin.name} {plugin.summary} {plugin.origin}".lower()
    return all(word.lower() in text for word in words)
