"""What a ranking is made of: where a file belongs, and what a model reached there."""

import msgspec

METHODS = GENERATION, LIKELIHOOD = ("generation", "likelihood")


class RankColumn(msgspec.Struct, frozen=True):
    """Where a file belongs.

    Attributes:
        dataset: Name of the dataset.
        column: What it is ranked in: the dataset itself, or the dimension that it belongs to.
        metric: The number that stands for it; None for the first that the recipe gives.
        factor: What one of it is worth in the ranking; None for 100 where it is a share, else 1.
    """

    dataset: str
    column: str
    metric: str | None = None
    factor: float | None = None


class RankCell(msgspec.Struct, frozen=True):
    """What one model reached on one dataset.

    Attributes:
        model: Who answered; the file's name where it does not say.
        method: One of `METHODS`.
        dataset: Name of the dataset.
        column: What it is ranked in.
        metric: Name of the number.
        score: The number, times what one of it is worth; a share is in percent.
        n: Rows that went into it.
        unscored: Rows of the file that should have a score and have none.
        recipe: Recipe, with its version.
        predictions: The file, or several.
        weight: What part the dataset has in the mean of its column, against the others' weights.
        partial: The number covers a part of the dataset only.
    """

    model: str
    method: str
    dataset: str
    column: str
    metric: str
    score: float
    n: int
    unscored: int
    recipe: str
    predictions: str
    weight: float = 1.0
    partial: bool = False
