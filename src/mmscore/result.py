"""One file under one recipe: the entry of the report, the rows behind it, and where they came from."""

from mmconvert.frozen import frozen
from mmscore.choice import Choice
from mmscore.predictions import Refusal, Rows
from mmscore.report import Entry
from mmscore.scored import Scored
from mmscore.settled import Settled


@frozen
class Result:
    """What scoring one file by one recipe gave.

    Attributes:
        entry: The entry of the report.
        scored: All rows, settled.
        raw: All rows before the recipe settled them.
        rows: The file, joined with its references.
        choice: The recipe.
        refusals: Why rows were rejected, or got no verdict.
    """

    entry: Entry
    scored: Scored
    raw: Scored
    rows: Rows
    choice: Choice
    refusals: tuple[Refusal, ...] = ()

    @property
    def settled(self) -> Settled:
        """Give what the recipe made of the file, for whoever needs no report."""
        return Settled(self.choice, self.scored, self.refusals)
