"""Short names of results: no longer than it takes to tell them apart."""

from collections.abc import Sequence

from mmscore.core.report import Entry


def labels(entries: Sequence[Entry]) -> list[str]:
    """Name each entry by what differs among them: model, recipe, dataset, at last its file; one alone by its model."""
    parts = [
        [entry.model for entry in entries],
        [f"{entry.recipe}@{entry.version}" for entry in entries],
        [entry.dataset or "" for entry in entries],
    ]
    differing = [part for part in parts if len(set(part)) > 1] or parts[:1]
    named = [" · ".join(filter(None, words)) for words in zip(*differing, strict=True)]
    if len(set(named)) < len(named):
        named = [f"{name} · {entry.predictions}" for name, entry in zip(named, entries, strict=True)]
    return [name if named.count(name) == 1 else f"{name} ({number})" for number, name in enumerate(named, 1)]


def common(values: Sequence[str | None]) -> str | None:
    """Give the one value that all have; None where they differ.

    Example:
        >>> common(["a", "a"]), common(["a", "b"])
        ('a', None)
    """
    return values[0] if len(set(values)) == 1 else None
