"""The option `--image-root`, which commands that read files share."""

from pathlib import Path
from typing import Any

import click

from mmconvert.console.completion_types import NearPath
from mmconvert.storage.object_store import is_url


class _ImageRoot(NearPath):
    """A folder that exists, or the URL of one in a store."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check a folder; a store is asked when a row is read."""
        return value if is_url(str(value)) else super().convert(value, param, ctx)


image_root_option = click.option(
    "--image-root",
    "image_roots",
    multiple=True,
    type=_ImageRoot(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of relative picture paths, or its URL in a store.",
)
