"""DATASET on the command line: a path, the URL of one in a store, or the name of one on the Hub."""

from typing import Any

import click

from mmconvert.storage import local


class DatasetArgument(click.Path):
    """A path that exists, or stands in a store or on the Hub; the command gets where it can be read."""

    def __init__(self, **options: Any) -> None:
        super().__init__(exists=True, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Find it.

        Raises:
            BadParameter: Nothing stands there.
            Error: The store or the Hub cannot be asked, see `mmconvert.storage.local`.
        """
        place = local(value)
        return place if place.exists() and str(place) != str(value) else super().convert(value, param, ctx)
