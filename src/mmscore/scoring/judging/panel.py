"""The judges of one run: one, or several whose verdicts on a row become one.

Every judge protocol is put to every judge model, and each question asked as often as the user wants.
Repeats of one judge become one verdict first, then the judges do, each counting the same. Scores are
averaged (`mean`), or the middle or the most frequent one is taken; where all
judges read an answer, a letter or a yes, the most frequent reading counts and the recipe scores it.
Verdicts that are as frequent give way to the first of them, in the order in which judges were named.
"""

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from mmconvert.core.errors import RowError
from mmscore.core.estimates import compute_agreement
from mmscore.core.judge import JUDGED, LEAVE, Leave, NoVerdict, Verdict
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item
from mmscore.core.report import JudgeAgreement, JudgeUsage, Judging
from mmscore.core.select_recipe import RecipeChoice
from mmscore.llm.prices import PriceTable, TokenUsage
from mmscore.scoring.judging.jury import CaseOutcome, JudgeSetting, Jury, ModelJury, Vote, describe_built_in

Scores = Mapping[str, float]
Case = tuple[Item, Parsed, Scores]
"""A row, what the recipe's rules read in it, and what they gave."""

_T = TypeVar("_T")

MEAN, MEDIAN, MAJORITY = AGGREGATIONS = ("mean", "median", "majority_vote")
"""How the scores of several verdicts become one."""


def find_majority(values: Sequence[_T]) -> _T:
    """Give the most frequent value; of several, that which comes first.

    Example:
        >>> find_majority(["B", "A", "A"]), find_majority(["B", "A"])
        ('A', 'B')
    """
    return Counter(values).most_common(1)[0][0]


def _average(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


_AGGREGATES: Mapping[str, Callable[[Sequence[float]], float]] = {
    MEAN: _average,
    MEDIAN: statistics.median,
    MAJORITY: find_majority,
}


class Panel(msgspec.Struct, frozen=True):
    """Who judges, and how their verdicts become one.

    Attributes:
        settings: One a judge, model and repeat, in the order in which the user named them.
        aggregation: One of `AGGREGATIONS`.
        min_valid: Fewest judges that must have a verdict on a row, of those that were asked about it.
        prices: What the judge models cost; None where nobody knows.
    """

    settings: tuple[JudgeSetting, ...]
    aggregation: str = MEAN
    min_valid: int = 1
    prices: PriceTable | None = None

    @property
    def asks(self) -> bool:
        """Whether anybody is asked at all."""
        return any(setting.asks for setting in self.settings)

    @property
    def columns(self) -> frozenset[str]:
        """Fields of `Item` that the judges read beside those of the recipe."""
        return frozenset(column for setting in self.settings for column in setting.judge.columns)

    def signature(self) -> Mapping[str, str]:
        """Name what the numbers depend on: what differs between judges stands side by side."""
        signatures = [setting.signature() for setting in self.settings]
        names = dict.fromkeys(name for one in signatures for name in one)
        named = {name: "+".join(dict.fromkeys(one[name] for one in signatures if name in one)) for name in names}
        if len(self.settings) < 2:
            return named
        repeats = 1 + max(setting.repeat for setting in self.settings)
        voting = {"repeats": str(repeats), "aggregation": self.aggregation, "min_valid": str(self.min_valid)}
        return named | {f"judge_{name}": value for name, value in voting.items()}


@dataclass(slots=True)
class Sitting:
    """A panel ready for rows: its judges are open.

    Attributes:
        panel: Who judges.
        juries: One a setting of the panel, in its order.
        choice: The recipe, which scores what judges read.
        compared: Rows with several verdicts so far.
        agreed: Those of them whose verdicts are all the same.
        pairs: Two judges -> how often they gave these two verdicts on a row, each its most frequent one.
    """

    panel: Panel
    juries: Sequence[Jury]
    choice: RecipeChoice
    compared: int = field(default=0, init=False)
    agreed: int = field(default=0, init=False)
    pairs: dict[tuple[str, str], Counter[tuple[Hashable, Hashable]]] = field(default_factory=dict, init=False)

    def judge(self, cases: Sequence[Case]) -> list[CaseOutcome]:
        """Settle rows; one outcome a row, in order."""
        options = self.choice.recipe.options
        outcomes = [jury.judge([jury.setting.build_case(*case, options) for case in cases]) for jury in self.juries]
        return [self._combine(case, said) for case, said in zip(cases, zip(*outcomes, strict=True), strict=True)]

    def remarks(self) -> tuple[str, ...]:
        """Say whose prompt was built in, how often several verdicts on a row were the same, and what they cost."""
        asked = [jury.setting for jury in self.juries if jury.setting.asks]
        kits = dict.fromkeys(setting.built_in for setting in asked if setting.built_in is not None)
        remarks = [describe_built_in(kit) for kit in kits]
        if len(self.juries) > 1:
            same = f"{self.agreed:,} of {self.compared:,} rows"
            remarks.append(f"judges: all verdicts on a row are the same in {same}.")
        facts = self.facts()
        remarks += map(_describe_agreement, facts.agreement)
        if self.panel.prices is not None:
            remarks += _describe_costs(facts.usage)
        return tuple(remarks)

    def facts(self) -> Judging:
        """Say how far each two judges agree, and what each took."""
        found = [(pair, compute_agreement(said)) for pair, said in self.pairs.items()]
        agreement = (JudgeAgreement(pair, one.n, one.same, one.kappa, one.ci95) for pair, one in found)
        asked = [jury for jury in self.juries if isinstance(jury, ModelJury)]
        return Judging(tuple(agreement), tuple(_list_usages(self.panel.prices, asked)))

    def _combine(self, case: Case, said: Sequence[CaseOutcome]) -> CaseOutcome:
        asked = [
            (jury.setting, outcome)
            for jury, outcome in zip(self.juries, said, strict=True)
            if not isinstance(outcome.step, Leave)
        ]
        models = tuple(dict.fromkeys(setting.model for setting, outcome in asked if outcome.tries))
        if len(self.juries) == 1:
            return replace(said[0], models=models)
        if not asked:
            return CaseOutcome(LEAVE)
        votes = tuple(self._build_vote(setting, outcome, case) for setting, outcome in asked)
        valid = [vote for vote in votes if vote.error is None]
        self.compared += len(valid) > 1
        self.agreed += len(valid) > 1 and all(_read_vote(vote) == _read_vote(valid[0]) for vote in valid)
        self._count_pairs(valid)
        digest, tries = asked[0][1].prompt_sha256, sum(outcome.tries for _, outcome in asked)
        return CaseOutcome(self._decide(votes, valid, case[1]), None, digest, tries, votes, models)

    def _count_pairs(self, valid: Sequence[Vote]) -> None:
        said = [
            (seat[0], find_majority([_freeze(_read_vote(vote)) for vote in seat])) for seat in _group_repeats(valid)
        ]
        for (one, first), (other, second) in itertools.combinations(said, 2):
            names = (_name_seat(one, other), _name_seat(other, one))
            self.pairs.setdefault(names, Counter())[first, second] += 1

    def _build_vote(self, setting: JudgeSetting, outcome: CaseOutcome, case: Case) -> Vote:
        item, parsed, _ = case
        about = (setting.title, setting.model, setting.repeat, outcome.reply)
        if not isinstance(outcome.step, Verdict):
            return Vote(*about, None, None, outcome.step.reason if isinstance(outcome.step, NoVerdict) else "")
        read = outcome.step.parsed or replace(parsed, how=JUDGED)
        if outcome.step.scores is not None:
            return Vote(*about, read.value, outcome.step.scores)
        try:
            scores = self.choice.recipe.metrics(item, read, self.choice.version)
            return Vote(*about, read.value, scores, reads=True)
        except RowError as error:
            return Vote(*about, None, None, f"{error.field}: {error.message}", reads=True)

    def _decide(self, votes: Sequence[Vote], valid: Sequence[Vote], parsed: Parsed) -> Verdict | NoVerdict:
        seats = _group_repeats(valid)
        asked = len(_group_repeats(votes))
        if len(seats) < min(self.panel.min_valid, asked):
            reason = next(vote.error for vote in votes if vote.error is not None)
            return NoVerdict(
                f"{len(seats)} of {asked} judges have a verdict, {self.panel.min_valid} are needed; {reason}"
            )
        if all(vote.reads for vote in valid):
            value = find_majority([find_majority([vote.value for vote in seat]) for seat in seats])
            scores = next(vote.scores for vote in valid if vote.value == value)
        else:
            value = valid[0].value
            aggregate = _AGGREGATES[self.panel.aggregation]
            scores = _combine_scores(
                [_combine_scores([vote.scores or {} for vote in seat], aggregate) for seat in seats], aggregate
            )
        return Verdict(Parsed(value, JUDGED, parsed.span if value == parsed.value else None), scores)


def _describe_agreement(found: JudgeAgreement) -> str:
    first, second = found.judges
    share = f"judges: {first} and {second} agree on {found.same:,} of {found.n:,} rows ({found.same / found.n:.1%})"
    if found.kappa is None or found.ci95 is None:
        return f"{share}; Cohen's kappa is not defined, as both have the same verdict on every row."
    low, high = found.ci95
    return f"{share}; Cohen's kappa {found.kappa:.3f} (95 % {low:.3f} to {high:.3f})."


def _list_usages(prices: PriceTable | None, juries: Sequence[ModelJury]) -> Iterator[JudgeUsage]:
    """Sum up what all responses behind the verdicts took, one a judge and model, their repeats together."""
    seats: dict[tuple[str, str], list[ModelJury]] = {}
    for jury in juries:
        seats.setdefault((jury.setting.title, jury.setting.model), []).append(jury)
    for seat, repeats in seats.items():
        usages = [(usage, batch) for jury in repeats for batch, usage in enumerate(jury.usage)]
        responses, uncounted, prompt, cached, completion = (
            sum(getattr(usage, name) for usage, _ in usages) for name in TokenUsage.__struct_fields__
        )
        taken = JudgeUsage(*seat, responses, uncounted, prompt, cached, completion)
        if prices is None:
            yield taken
            continue
        name, price = prices.find(seat[1]) or (None, None)
        cost = None if price is None else sum(one.compute_cost(price, batch=bool(batch)) for one, batch in usages)
        yield replace(taken, cost=cost, currency=prices.currency, prices_of=str(prices.date), priced_as=name)


def _describe_costs(usages: Sequence[JudgeUsage]) -> Iterator[str]:
    for one in usages:
        what = f"cost: judge {one.judge} ({one.model}): {one.responses:,} responses, "
        what += f"{one.prompt_tokens:,} + {one.completion_tokens:,} tokens"
        what += f" ({one.cached_tokens:,} of them cached)" if one.cached_tokens else ""
        if one.cost is None:
            yield f"{what}; the table of {one.prices_of} has no price for it, so the cost is unknown."
            continue
        lacking = f"; {one.uncounted:,} responses without token counts are not in it" if one.uncounted else ""
        yield f"{what}, {one.cost:.4g} {one.currency} by the price of {one.priced_as} of {one.prices_of}{lacking}."
    costs = [one.cost for one in usages if one.cost is not None]
    if 1 < len(costs) == len(usages):
        yield f"cost: all judges: {math.fsum(costs):.4g} {usages[0].currency}."


def _read_vote(vote: Vote) -> object:
    return vote.value if vote.reads else vote.scores


def _freeze(value: object) -> Hashable:
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else str(value)


def _name_seat(vote: Vote, other: Vote) -> str:
    """Name a judge by what tells it from another: its model, its protocol, or both."""
    if vote.model != other.model:
        return vote.model if vote.judge == other.judge else f"{vote.judge} by {vote.model}"
    return vote.judge


def _group_repeats(votes: Iterable[Vote]) -> list[list[Vote]]:
    """Gather the repeats of each judge."""
    seats: dict[tuple[str, str], list[Vote]] = {}
    for vote in votes:
        seats.setdefault((vote.judge, vote.model), []).append(vote)
    return list(seats.values())


def _combine_scores(given: Sequence[Scores], aggregate: Callable[[Sequence[float]], float]) -> Scores:
    """Put scores of the same name together, over those that have it."""
    names = dict.fromkeys(name for scores in given for name in scores)
    return {name: aggregate([scores[name] for scores in given if name in scores]) for name in names}
