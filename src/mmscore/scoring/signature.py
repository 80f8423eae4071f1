"""The signature of a number: all that it depends on, so that whoever compares compares like with like."""

import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

from mmconvert._version import __version__
from mmconvert.plugins.registry import name_by_content
from mmscore.core.select_recipe import RecipeChoice
from mmscore.scoring.judging.panel import Panel

LIBRARIES = ("jieba", "nltk", "numpy", "pandas", "pyarrow", "rapidfuzz", "scipy")
"""Libraries whose release may change a number."""


@cache
def versions() -> Mapping[str, str]:
    """Name the releases that are at work."""
    libraries = {name: metadata.version(name) for name in LIBRARIES}
    return {"mmscore": __version__, "python": platform.python_version(), **libraries}


def signature(
    choice: RecipeChoice,
    *,
    average: str,
    column: str | None,
    panel: Panel | None,
    answers: str | Path | None,
    digests: Mapping[str, str],
) -> str:
    """Write the signature of the numbers of one file under one recipe.

    Args:
        choice: The recipe, its version and its options.
        average: Over what the numbers are means, `micro` or `macro`.
        column: The column whose groups were averaged; None for rows.
        panel: Who judged after the rules; None for nobody.
        answers: The dataset that the references were read from; None for the predictions' own.
        digests: What `Fingerprint.digests` gave.

    Returns:
        Parts `name:value`, divided by `|`; predictions and places are not in it.
    """
    releases = dict(versions())
    parts = {
        "recipe": f"{name_by_content(choice.name)}@{choice.version}",
        "parity": choice.recipe.parity,
        "average": average if column is None else f"{average} over {column}",
        "mmscore": releases.pop("mmscore"),
        **(panel.signature() if panel else {}),
    }
    if choice.options is not None:
        parts["options"] = choice.options
    if answers is not None:
        parts["answers"] = Path(answers).name
    parts |= digests
    parts["releases"] = ",".join(f"{name}={release}" for name, release in releases.items())
    return "|".join(f"{key}:{value}" for key, value in parts.items())
