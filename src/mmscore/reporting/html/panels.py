"""The numbers of the page beside its items: what its script draws, as JSON values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import asdict

from mmscore.analysis.rule_contributions import count_rules
from mmscore.core.report import Report
from mmscore.core.table import SCORED
from mmscore.reporting.html.confusion import Confusion, confusion
from mmscore.reporting.html.contrasts import differences, gaps
from mmscore.reporting.html.labels import labels
from mmscore.reporting.html.repeats import Repeats
from mmscore.reporting.html.verdicts import Verdicts
from mmscore.scoring.scored_file import Result


def panels(
    results: Sequence[Result], verdicts: Sequence[Verdicts], repeated: Sequence[Repeats | None]
) -> dict[str, Any]:
    """Gather what the page shows above its table.

    Args:
        results: One a file and recipe.
        verdicts: What became of the rows of each.
        repeated: What the questions of each that have several replies are like.

    Returns:
        `report` is the JSON report; the other lists have one element an entry of it (`labels`, `scores`,
        `rules`, `confusions`, `repeats`) or one a pair of entries (`differences`, `gaps`).
    """
    entries = [result.entry for result in results]
    return {
        "report": Report(tuple(entries)).to_json(),
        "labels": labels(entries),
        "scores": [one.score for one in verdicts],
        "rules": [_rules(*one) for one in zip(results, verdicts, strict=True)],
        "confusions": [_confusion(confusion(r.scored, v)) for r, v in zip(results, verdicts, strict=True)],
        "repeats": [None if one is None else _repeats(one) for one in repeated],
        "differences": differences(results),
        "gaps": gaps(results),
    }


def _rules(result: Result, verdicts: Verdicts) -> list[dict[str, Any]]:
    """Count the scored rows that each rule read, and how they fared."""
    status = np.array(result.scored.column("status"))
    having = (status == SCORED) & ~np.isnan(verdicts.values)
    return [asdict(rule) for rule in count_rules(result.scored.where(having), verdicts.values[having])]


def _confusion(found: Confusion | None) -> dict[str, Any] | None:
    return None if found is None else asdict(found)


def _repeats(found: Repeats) -> dict[str, Any]:
    return {name: value for name, value in asdict(found).items() if name != "unstable"}
