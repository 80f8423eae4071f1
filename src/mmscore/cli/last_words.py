"""What `mmscore score` says at its end: where its files are, and which command says more."""

import sys
from collections.abc import Mapping, Sequence

from mmconvert.console.summary import close, format_command
from mmscore.core.predictions.locate import STDIN
from mmscore.core.report import Report


def last_words(
    report: Report, files: Mapping[str, str | None], asked: Sequence[str], options: Mapping[str, str | None]
) -> None:
    """Print places and the next step on stderr, where files were written or somebody watches.

    Args:
        report: What was found.
        files: Label -> file that was written, None for none.
        asked: Recipes as the user named them, none where they followed from the files.
        options: Those by which the files were read, None where one was not given.
    """
    if any(files.values()) or (sys.stderr is not None and sys.stderr.isatty()):
        close({**files, "next": _next(report, asked, options, page=files.get("page"))}, err=True)


def _next(report: Report, asked: Sequence[str], options: Mapping[str, str | None], *, page: str | None) -> str | None:
    """Name the command that tells how files differ, or why one has its number."""
    files = list(dict.fromkeys(entry.predictions for entry in report.entries))
    found = list(dict.fromkeys(entry.recipe for entry in report.entries))
    datasets = {entry.dataset for entry in report.entries if entry.dataset is not None}
    # Where each file has a recipe of its own, none is of all.
    recipes = list(dict.fromkeys(asked)) or (found if len(found) == 1 else [])
    alike = bool(recipes) and len(datasets) < 2
    if STDIN in files or (len(files) > 2 and page) or (len(files) == 2 and not alike):
        return None
    given = [word for name, value in options.items() if value for word in (name, value)]
    if len(files) > 2:
        return format_command("mmscore", *files, *_each("--recipe", recipes), *given, "--html", "report.html")
    verb, most = ("compare", 1) if len(files) == 2 else ("explain", 2)
    return format_command("mmscore", verb, *files, *_each("--recipe", recipes[:most]), *given)


def _each(option: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (option, value)]
