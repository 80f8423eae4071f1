"""One file under one recipe: the entry of the report, the rows behind it, and where they came from."""

from mmconvert.core.frozen import frozen
from mmscore.core.predictions.load import Refusal, Rows
from mmscore.core.report import Entry
from mmscore.core.select_recipe import Choice
from mmscore.core.table import Scored
from mmscore.scoring.scored_file import Settled


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
