"""What `mmscore score` says at its end: where its files are, and which command says more."""

import sys
from collections.abc import Mapping

from mmconvert.closing import close, command
from mmscore.places import STDIN
from mmscore.report import Report


def last_words(report: Report, files: Mapping[str, str | None]) -> None:
    """Print places and the next step on stderr, where files were written or somebody watches.

    Args:
        report: What was found.
        files: Label -> file that was written, None for none.
    """
    if any(files.values()) or (sys.stderr is not None and sys.stderr.isatty()):
        close({**files, "next": _next(report)}, err=True)


def _next(report: Report) -> str | None:
    """Name the command that tells how two files differ, or why one has its number."""
    recipes = list(dict.fromkeys(entry.recipe for entry in report.entries))
    files = list(dict.fromkeys(entry.predictions for entry in report.entries))
    if STDIN in files or len(files) > 2:
        return None
    verb, most = ("compare", 1) if len(files) == 2 else ("explain", 2)
    return command("mmscore", verb, *files, *(word for name in recipes[:most] for word in ("--recipe", name)))
