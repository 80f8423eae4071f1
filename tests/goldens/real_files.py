"""Result files that others published: their own tool's numbers beside ours.

The files are not part of the repository: they lie in `../shared/real`, kept as published. real_files.json holds what
their authors' tools give for them.
"""

from pathlib import Path

import msgspec

import mmscore

NUMBERS = Path(__file__).with_name("real_files.json")


class RealFile(msgspec.Struct):
    """A published file.

    Attributes:
        what: Model and benchmark.
        file: Path in `../shared/real`.
        answers: Path of its answer key there, None where the file holds them.
        tool: The authors' program, with its commit.
        numbers: What that program gives, by the name of our metric.
    """

    what: str
    file: str
    answers: str | None
    tool: str
    numbers: dict[str, float]


class Scored(msgspec.Struct):
    """A published file with both numbers of each metric, theirs and ours.

    Attributes:
        what: Model and benchmark.
        tool: The authors' program.
        recipe: Ours, which `mmscore` selects by itself.
        rows: Rows that have a score.
        numbers: Metric -> theirs, ours.
    """

    what: str
    tool: str
    recipe: str
    rows: int
    numbers: dict[str, tuple[float, float]]


def read_real_files() -> list[RealFile]:
    """Read what is known of each file."""
    return msgspec.json.decode(NUMBERS.read_bytes(), type=list[RealFile])


def score_real_files(folder: Path) -> list[Scored]:
    """Score every file as a user does, without naming a recipe.

    Args:
        folder: Where the files are, `../shared/real`.
    """
    found = []
    for one in read_real_files():
        answers = {} if one.answers is None else {"answers": folder / one.answers}
        entry = mmscore.score(folder / one.file, **answers).entries[0]
        numbers = {name: (theirs, entry.metrics[name].value) for name, theirs in one.numbers.items()}
        found.append(Scored(one.what, one.tool, entry.recipe, entry.counts.scored, numbers))
    return found
