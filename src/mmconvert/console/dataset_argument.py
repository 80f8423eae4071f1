"""DATASET on the command line: a path, the URL of one in a store, or the name of one on the Hub."""

from typing import Any

import click
from click.shell_completion import CompletionItem

from mmconvert.core.errors import build_missing_path_error
from mmconvert.storage.object_store import find_local


class DatasetArgument(click.ParamType[Any]):
    """A path that exists, or stands in a store or on the Hub; the command gets where it can be read."""

    name = "dataset"

    def __init__(self, **options: Any) -> None:
        """Say what a path on the disk must be, by the options of `click.Path`."""
        self._on_disk: click.Path[Any] = click.Path(exists=True, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Find it.

        Raises:
            UsageError: Nothing stands there.
            Error: The store or the Hub cannot be asked, see `mmconvert.storage.object_store.local`.
        """
        place = find_local(value)
        if not place.exists():
            raise build_missing_path_error(place)
        return place if str(place) != str(value) else self._on_disk.convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete paths of this disk."""
        return [CompletionItem(incomplete, type="file")]
