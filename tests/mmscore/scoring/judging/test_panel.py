"""Several judges of one run: how their verdicts on a row become one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mmconvert.core.errors import RowError
from mmscore.core.judge import LEAVE, Judge, NoVerdict, Verdict
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import OWN, Item, Recipe
from mmscore.core.report import JudgeUsage
from mmscore.core.select_recipe import RecipeChoice
from mmscore.scoring.judging.jury import CaseOutcome, JudgeSetting
from mmscore.scoring.judging.panel import AGGREGATIONS, Panel, Sitting, _describe_costs

CASE = (Item(prediction="perhaps"), Parsed("A", "letter", (0, 1)), {"hit": 0.0})


def _hit(item, parsed, version):
    if parsed.value == "?":
        raise RowError("answer.letter", "answer", "cannot be compared")
    return {"hit": float(parsed.value == "B")}


RECIPE = Recipe("test", OWN, {"1": "test"}, (), lambda item, version: CASE[1], _hit, lambda facts: None)
JUDGE = Judge("test", OWN, {"1": "test"}, {"all": "every row"}, "all", (), lambda case, replies: LEAVE)


class Juror:
    """A judge whose word is known."""

    def __init__(self, model, repeat, step):
        self.setting = JudgeSetting("test", JUDGE, "1", "all", model, repeat=repeat)
        self._step = step

    def judge(self, cases):
        reply = None if self._step is LEAVE else "said"
        return [CaseOutcome(self._step, reply, "0" * 64, int(reply is not None))] * len(cases)


def settled(*said, aggregation="mean", min_valid=1):
    """Settle one row; `said` holds (model, step) pairs, repeats where a model stands again."""
    seen, jurors = {}, []
    for model, step in said:
        seen[model] = seen.get(model, -1) + 1
        jurors.append(Juror(model, seen[model], step))
    panel = Panel(tuple(juror.setting for juror in jurors), aggregation, min_valid)
    sitting = Sitting(panel, jurors, RecipeChoice("test", "1", RECIPE, "test"))
    (outcome,) = sitting.judge([CASE])
    return outcome, sitting


def scored(*numbers):
    return [(f"m{n}", Verdict(scores={"acc": number})) for n, number in enumerate(numbers)]


def read(*letters):
    return [(f"m{n}", Verdict(Parsed(letter, "judge"))) for n, letter in enumerate(letters)]


@pytest.mark.parametrize(("aggregation", "value"), [("mean", 0.625), ("median", 0.75), ("majority_vote", 1.0)])
def test_scores_become_one_as_asked(aggregation, value):
    outcome, _ = settled(*scored(0.5, 1.0, 0.0, 1.0), aggregation=aggregation)
    assert outcome.step.scores == {"acc": value}
    assert outcome.step.parsed == Parsed("A", "judge", (0, 1))


def test_repeats_of_one_judge_count_as_one_judge():
    said = [("m", Verdict(scores={"acc": 1.0}))] * 3 + [("n", Verdict(scores={"acc": 0.0}))]
    assert settled(*said)[0].step.scores == {"acc": 0.5}


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_of_readings_the_most_frequent_counts(aggregation):
    outcome, _ = settled(*read("C", "B", "B"), aggregation=aggregation)
    assert (outcome.step.parsed.value, outcome.step.scores) == ("B", {"hit": 1.0})


def test_the_first_judge_breaks_a_tie():
    assert settled(*read("C", "B"))[0].step.parsed.value == "C"
    assert settled(*scored(0.0, 1.0), aggregation="majority_vote")[0].step.scores == {"acc": 0.0}


def test_a_judge_without_a_verdict_takes_no_part():
    outcome, _ = settled(("m", NoVerdict("cut off")), *scored(1.0, 0.0))
    assert outcome.step.scores == {"acc": 0.5}
    assert [vote.error for vote in outcome.votes] == ["cut off", None, None]


def test_a_reading_that_the_recipe_refuses_is_no_vote():
    outcome, _ = settled(*read("?", "B"))
    assert outcome.step.scores == {"hit": 1.0}
    assert outcome.votes[0].error == "answer: cannot be compared"


def test_too_few_verdicts_are_none():
    outcome, _ = settled(("m", NoVerdict("cut off")), *scored(1.0), min_valid=2)
    assert outcome.step == NoVerdict("1 of 2 judges have a verdict, 2 are needed; cut off")


def test_judges_that_leave_a_row_are_not_missed():
    assert settled(("m", LEAVE), *scored(1.0), min_valid=2)[0].step.scores == {"acc": 1.0}
    assert settled(("m", LEAVE), ("n", LEAVE))[0].step is LEAVE


def test_every_word_is_kept_and_agreement_counted():
    outcome, sitting = settled(*scored(1.0, 0.0))
    assert [(vote.judge, vote.model, vote.reply, vote.scores) for vote in outcome.votes] == [
        ("test@1", "m0", "said", {"acc": 1.0}), ("test@1", "m1", "said", {"acc": 0.0}),
    ]  # fmt: skip
    assert (outcome.models, outcome.tries) == (("m0", "m1"), 2)
    assert "the same in 0 of 1 rows" in sitting.remarks()[0]
    assert "the same in 1 of 1 rows" in settled(*scored(1.0, 1.0))[1].remarks()[0]


def test_agreement_beyond_chance_is_told_for_each_two_judges():
    sitting = settled(*read("B", "B", "C"))[1]
    for words in ("AAB", "BBB", "ABA", "BBB"):
        for jury, value in zip(sitting.juries, words, strict=True):
            jury.judge = lambda cases, value=value: [CaseOutcome(Verdict(Parsed(value, "judge")), "said", "", 1)]
        sitting.judge([CASE])
    assert list(sitting.remarks()[1:]) == [
        "judges: m0 and m1 agree on 4 of 5 rows (80.0%); Cohen's kappa 0.545 (95 % -0.419 to 0.918).",
        "judges: m0 and m2 agree on 3 of 5 rows (60.0%); Cohen's kappa 0.286 (95 % -0.374 to 0.790).",
        "judges: m1 and m2 agree on 2 of 5 rows (40.0%); Cohen's kappa -0.250 (95 % -0.838 to 0.519).",
    ]


def test_judges_that_always_say_one_thing_have_no_kappa_and_that_is_told():
    (told,) = settled(*read("B", "B"))[1].remarks()[1:]
    assert told.startswith("judges: m0 and m1 agree on 1 of 1 rows (100.0%); Cohen's kappa is not defined, as both")


def test_one_judge_alone_is_no_vote():
    outcome, sitting = settled(*read("B"))
    assert (outcome.step, outcome.votes, outcome.models) == (Verdict(Parsed("B", "judge")), (), ("m0",))
    assert sitting.remarks() == ()


def test_the_signature_names_every_model_and_the_rule():
    _, sitting = settled(*scored(1.0, 0.0), aggregation="median")
    assert sitting.panel.signature() == {
        "judge": "test@1", "judge_strategy": "all", "judge_model": "m0+m1", "judge_generation": "temperature=0",
        "judge_repeats": "1", "judge_aggregation": "median", "judge_min_valid": "1",
    }  # fmt: skip


@given(
    numbers=st.lists(st.floats(0, 1), min_size=2, max_size=6),
    aggregation=st.sampled_from(AGGREGATIONS),
)
def test_the_joint_score_lies_among_the_judges_scores(numbers, aggregation):
    joint = settled(*scored(*numbers), aggregation=aggregation)[0].step.scores["acc"]
    assert min(numbers) - 1e-12 <= joint <= max(numbers) + 1e-12


def test_what_is_not_in_the_cost_is_said_where_there_is_something():
    one = JudgeUsage("own@1", "m", 12, 0, 3000, 0, 400, 0.5, "USD", "2026-01-01", "m-large")
    (remark,) = _describe_costs([one])
    assert remark == (
        "cost: judge own@1 (m): 12 responses, 3,000 + 400 tokens, 0.5 USD by the price of m-large of 2026-01-01."
    )
    (remark,) = _describe_costs([replace(one, uncounted=2, cached_tokens=1000)])
    assert "(1,000 of them cached)" in remark
    assert remark.endswith("of 2026-01-01; 2 responses without token counts are not in it.")
    assert list(_describe_costs([one, one]))[2] == "cost: all judges: 1 USD."
