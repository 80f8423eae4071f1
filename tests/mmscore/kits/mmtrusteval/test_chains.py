import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmscore.compat.mmtrusteval.evaluators import SequentialEvaluator
from mmscore.kits.mmtrusteval.chains import read_chain
from mmscore.kits.mmtrusteval.evaluators import EVALUATORS, EvaluatorContext
from mmscore.kits.mmtrusteval.measures import compute_measure
from mmscore.parsers.mmtrust_refusal import V0_2_1

pytestmark = pytest.mark.slow

CHAT = {"model_id": "judge", "prompt_template": "Is {pred} right? {k}", "generation_kwargs": {}, "metrics_cfg": {}}
MEAN = {"metrics_cfg": {"pred_mean": {}}}
values = st.none() | st.booleans() | st.integers(-5, 200) | st.floats() | st.text(max_size=12)
anything = st.recursive(
    values, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2)
)


def results(config, setting, preds, labels, extras=None):
    return SequentialEvaluator(config, setting)(preds, labels, extras)


@pytest.mark.parametrize("name", EVALUATORS)
@given(samples=st.lists(st.tuples(anything, anything, anything), max_size=3))
def test_any_values_are_processed_or_refused(name, samples):
    config = {name: {"metrics_cfg": {}, **(dict(CHAT, prompt_template="{pred}") if name.startswith("chat") else {})}}
    setting = EvaluatorContext(ask=lambda *_: "yes", classify=lambda *_: 1)
    preds, labels, extras = ([sample[n] for sample in samples] for n in range(3))
    try:
        (link,) = read_chain(config, setting).links
        assert len(link.process_all(preds, labels, extras)) == len(samples)
    except Error:
        pass


def test_a_chain_keeps_the_outputs_of_each_evaluator_and_the_metrics_of_the_last():
    asked = []

    def ask(model, prompt, generation):
        asked.append((model, prompt, dict(generation)))
        return "[Yes]"

    config = {"chatmodel_eval": dict(CHAT, generation_kwargs={"do_sample": False}), "rule_yes_or_no_eval": MEAN}
    found = results(config, EvaluatorContext(ask=ask), ["a"], [1], [{"k": 3}])
    assert found == {"chatmodel_eval:pred_no_op": ["[Yes]"], "chatmodel_eval->rule_yes_or_no_eval:pred_mean": 1.0}
    assert asked == [("judge", "Is a right? 3", {"do_sample": False})]


def test_a_reply_that_is_the_answer_needs_no_judge_and_noise_is_asked_about():
    replies = iter(["25", "Yes."])
    setting = EvaluatorContext(ask=lambda model, prompt, generation: next(replies))
    config = {
        "chatmodel_score": dict(CHAT, prompt_template="{} {} {}", test_noise=True),
        "rule_score_eval": MEAN,
    }
    found = results(config, setting, ["Red.<\\s>\n", "blurred"], ["Colour?\nx->red"] * 2)
    assert found["chatmodel_score:pred_no_op"] == ["100", "100"]
    assert list(replies) == []


def test_releases_differ_in_what_refuses():
    config = {"rule_reject_template_eval": MEAN}
    latest, older = (
        results(config, s, ["I can't.", "sorry"], None) for s in (EvaluatorContext(), EvaluatorContext(V0_2_1))
    )
    assert [found["rule_reject_template_eval:pred_mean"] for found in (latest, older)] == [1.0, 0.5]


def test_repaired_rules_take_a_text_as_one_label_and_points_as_numbers():
    contain, score = {"rule_contain_eval": MEAN}, {"rule_score_eval": MEAN}
    assert results(contain, None, ["a dog"], ["cat"])["rule_contain_eval:pred_mean"] == 1.0
    assert results(contain, EvaluatorContext(fixed=True), ["a dog"], ["cat"])["rule_contain_eval:pred_mean"] == 0.0
    assert results(score, None, ["75.0"], [None])["rule_score_eval:pred_mean"] == 0.0
    assert results(score, EvaluatorContext(fixed=True), ["75.0"], [None])["rule_score_eval:pred_mean"] == 75.0


def test_what_an_evaluator_needs_and_is_not_connected_is_named():
    config = {"harmbenchmodel_eval": MEAN}
    with pytest.raises(Error, match="harmbenchmodel_eval needs a model"):
        results(config, None, ["a"], ["b"])
    with pytest.raises(Error, match="asks the chat model 'judge'"):
        results({"chatmodel_eval": dict(CHAT, prompt_template="{pred}")}, None, ["a"], ["b"], [None])


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ([], "expected evaluators"),
        ({"rule_yes_or_no": MEAN}, "Did you mean rule_yes_or_no_eval"),
        ({"rule_yes_or_no_eval": {}}, "metrics_cfg is missing"),
        ({"rule_yes_or_no_eval": None}, "expected settings by name"),
        ({"rule_yes_or_no_eval": {"metrics_cfg": []}}, "expected metrics"),
        ({"rule_yes_or_no_eval": {"metrics_cfg": {"acuracy_score": {}}}}, "Did you mean accuracy_score"),
        ({"rule_yes_or_no_eval": {"metrics_cfg": {"pred_mean": {"x": 1}}}}, "no setting 'x'"),
        ({"rule_yes_or_no_eval": {**MEAN, "foo": 1}}, "no setting 'foo'"),
        ({"rule_yes_or_no_eval": {**MEAN, "yes_template": [1]}}, "list of texts"),
        ({"chatmodel_eval": MEAN}, "generation_kwargs is missing"),
    ],
)
def test_a_configuration_that_cannot_run_is_refused_before_it_runs(config, message):
    with pytest.raises(Error, match=message):
        read_chain(config)


@pytest.mark.parametrize(
    ("config", "pred", "label", "message"),
    [
        ({"rule_match_and_score_eval": {**MEAN, "fail_id": None}}, "x", 1, "fail_id"),
        ({"rule_match_and_score_eval": {**MEAN, "kv_mapping": {}}}, "50", 1, "kv_mapping: is empty"),
        ({"rule_contain_eval": MEAN}, "abc 5", 5, "fuzzy_match"),
        ({"rule_contain_adv_eval": MEAN}, "yes", "zzz->0", "no task of AdvGLUE"),
        ({"rule_contain_adv_eval": MEAN}, None, "mnli", "task->code"),
        ({"rule_yes_or_no_eval": {"metrics_cfg": {"iou_judge": {}}}}, "yes", "[0,0,1,1]", "expected a text"),
        ({"chatmodel_eval": CHAT}, "a", "b", "prompt_template asks for it"),
        ({"chatmodel_eval": dict(CHAT, prompt_template="{pred.x}")}, "a", "b", "prompt_template asks for it"),
        ({"chatmodel_eval": dict(CHAT, prompt_template="{pred:d}")}, "a", "b", "cannot be shown"),
        ({"chatmodel_eval": dict(CHAT, prompt_template="{pred!x}")}, "a", "b", "cannot be shown"),
        ({"chatmodel_score": dict(CHAT, prompt_template="{} {} {}")}, "a", "b", "prompt_template asks for it"),
        ({"chatmodel_eval": dict(CHAT, prompt_template="{pred")}, "a", "b", "prompt_template"),
    ],
)
def test_a_value_that_a_rule_does_not_take_is_refused(config, pred, label, message):
    with pytest.raises(Error, match=message):
        results(config, None, [pred], [label], [None])


def test_a_judge_may_grade_what_an_evaluator_before_it_made():
    config = {"rule_yes_or_no_eval": {"metrics_cfg": {}}, "chatmodel_score": dict(CHAT, prompt_template="{:>3}|{!r}")}
    config["chatmodel_score"]["metrics_cfg"] = {"pred_no_op": {}}
    setting = EvaluatorContext(ask=lambda model, prompt, generation: prompt)
    assert results(config, setting, ["yes"], ["b"])["rule_yes_or_no_eval->chatmodel_score:pred_no_op"] == ["  1|'b'"]


def test_none_stands_for_a_settings_default_and_degrees_may_be_numbers():
    config = {"rule_match_and_score_eval": {"metrics_cfg": {"pred_mean": {}}, "kv_mapping": None, "values": None}}
    assert results(config, None, ["fifty"], [1])["rule_match_and_score_eval:pred_mean"] == 50.0
    config["rule_match_and_score_eval"]["kv_mapping"] = {"half": 50}
    assert results(config, None, ["half"], [1])["rule_match_and_score_eval:pred_mean"] == 50.0


def test_sums_and_failures_are_of_numbers():
    assert compute_measure("pred_sum", None, [True, 2.5], {}) == 3.5
    assert math.isnan(compute_measure("pred_mean", None, [], {}))
    assert compute_measure("failure", None, [0.1, None], {"fails_num": 0.1}) == 0.5
    # As NumPy has it: the sum of one None is None, and rows count number by number.
    assert [compute_measure("pred_sum", None, said, {}) for said in (None, [None])] == [None, None]
    assert compute_measure("failure", None, [[0, math.nan], [None, 1]], {}) == 0.5
    for name, settings in (("pred_sum", {}), ("pred_mean", {}), ("failure", {})):
        with pytest.raises(Error, match="expected numbers"):
            compute_measure(name, None, [{"a": 1}], settings)
        with pytest.raises(Error, match="expected numbers"):
            compute_measure(name, None, ["a", None], settings)
    with pytest.raises(Error, match="fails_num"):
        compute_measure("failure", None, [1], {"fails_num": None})
