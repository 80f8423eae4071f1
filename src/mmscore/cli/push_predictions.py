"""`--push` of `mmscore score` and `predict`."""

from collections.abc import Callable
from typing import Any

from mmconvert.console.options import add_struct_options
from mmconvert.console.published import format_published
from mmconvert.core.text.printable import escape_control
from mmscore.reporting.push import HubOptions, PushedPredictions


def push_options(*without: str) -> Callable[[Any], Any]:
    """Give a command the options of a push but `dry_run`, as `HubOptions` in `hub`.

    Args:
        without: Further ones that it has not.
    """
    metavars = {"push": "USER/REPO", "revision": "REV", "model_card": "USER/MODEL"}
    terminal = {name: {"metavar": text} for name, text in metavars.items()}
    return add_struct_options(HubOptions, terminal, into="hub", without=["dry_run", *without])


def pushed_text(done: PushedPredictions) -> str:
    """Say in a few lines what was pushed."""
    proposed = [f"{done['model_card']}: numbers proposed for the model's card"] if done["model_card"] else []
    return escape_control("\n".join([format_published(done), *proposed]))
