import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmconvert.core.record import encode_json
from mmconvert.plugins.registry import load
from mmscore.core.recipe import Facts, Item
from mmscore.core.select_recipe import choose_recipe
from mmscore.core.table import SCORED
from mmscore.kits.mmtrusteval.evaluators import EvaluatorContext
from mmscore.kits.mmtrusteval.rows import build_chain_recipe
from mmscore.kits.mmtrusteval.task_log import SAMPLES, TOTAL
from mmscore.kits.mmtrusteval.tasks import TASKS, find_task
from mmscore.scoring.evaluate import score
from support.items import score_items

LATEST = "2025.03"
YES_NO = {"rule_yes_or_no_eval": {"metrics_cfg": {"accuracy_score": {}, "pred_mean": {}}}}


def _item(prediction, label=None, number=0, dataset=None, **extra):
    return Item(
        id=str(number),
        prediction=prediction,
        label=None if label is None else encode_json(label),
        dataset=dataset,
        extra=encode_json(extra),
    )


def _numbers(recipe, items, version=LATEST):
    scored = score_items(items, recipe, version).with_status(SCORED)
    return {name: estimate.value for name, estimate in recipe.reduce(scored, version).items()}


def _log(path, *samples):
    path.write_text(json.dumps({TOTAL: {}, SAMPLES: samples}), "utf-8")
    return path


def _golden_tasks(shared):
    for line in (shared / "golden/mmte_task.visible.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        answered = all(isinstance(sample["response"], str) for sample in case["input"]["responses"])
        if "json" in case["expected"] and case["input"]["evaluator_seq_cfgs"] and answered:
            yield case


@pytest.mark.slow
def test_rows_of_a_predictions_file_have_the_totals_of_the_kits_log(shared):
    checked = 0
    for case in _golden_tasks(shared):
        samples = case["input"]["responses"]
        items = [_item(s["response"], s["target"], n, extra=s["extra"]) for n, s in enumerate(samples)]
        merged = {}
        for config in case["input"]["evaluator_seq_cfgs"]:
            merged |= _numbers(build_chain_recipe([config]), items)
        for key, value in merged.items():
            known = case["expected"]["json"][TOTAL][key]
            wanted = float(known["$f"]) if isinstance(known, dict) else known
            assert value == pytest.approx(wanted, rel=1e-5, abs=1e-6, nan_ok=True), (case["input"], key)
            checked += 1
    assert checked > 100


@given(st.lists(st.tuples(st.sampled_from(["yes", "no", "I know", "?"]), st.integers(0, 1)), min_size=1, max_size=8))
def test_permuted_rows_have_the_same_numbers(rows):
    recipe = load("mmscore.recipes", "mmtrust_yes_no")
    items = [_item(text, label, number) for number, (text, label) in enumerate(rows)]
    assert _numbers(recipe, items) == _numbers(recipe, items[::-1])


def test_a_log_is_scored_by_the_chains_of_its_dataset(tmp_path):
    samples = ({"content": "q", "pred": text, "label": label} for text, label in [("Positive", "1"), ("neg", "0")])
    (entry,) = score(_log(tmp_path / "log.json", *samples), dataset="dt-text").entries
    assert (entry.recipe, entry.version) == ("mmtrust_task", LATEST)
    assert entry.metrics["rule_contain_exact_eval:pred_mean"].value == 0.5


def test_what_a_classifier_said_is_taken_from_the_log_and_the_published_rates_stand_in_the_table(tmp_path):
    topics = ["ideology", "culture/lifestyle", "ideology"]
    samples = [
        {"classifer_reject_eval:pred_no_op": flag, "content": "q", "pred": text, "extra": {"subset": topic}}
        for flag, text, topic in zip((1, 0, 0), ("fine", "I cannot", "fine"), topics, strict=True)
    ]
    (entry,) = score(_log(tmp_path / "log.json", *samples), dataset="vision-preference").entries
    assert entry.recipe == "mmtrust_task"
    assert {name: e.value for name, e in entry.metrics.items()} == pytest.approx(
        {"rule_reject_template_eval:pred_mean": 1 / 3, "classifer_reject_eval:pred_mean": 1 / 3}
    )
    assert list(entry.table) == [
        {
            "task": "F.5",
            "log": "vision-preference",
            "RtA_rate_total": 0.6667,
            "RtA_rate_ideology": 0.5,
            "RtA_rate_culture_lifestyle": 1.0,
        }
    ]
    assert entry.groups["category"]["ideology"]["classifer_reject_eval:pred_mean"].value == 0.5


def test_what_a_judge_said_is_taken_from_the_log(tmp_path):
    samples = [{"chatmodel_score:pred_no_op": said, "pred": "x", "label": "q->a"} for said in ("75", "25/100", "bad")]
    (entry,) = score(_log(tmp_path / "log.json", *samples), dataset="benchlmm-mri").entries
    assert entry.metrics["chatmodel_score->rule_score_eval:pred_mean"].value == pytest.approx(100 / 3)
    assert entry.metrics["chatmodel_score->rule_score_eval:pred_mean"].unit == "points"
    assert entry.counts.unparsed == 1


@pytest.mark.parametrize(
    ("dataset", "message"),
    [("g-text-misleading", "asks the chat model"), ("safebench", "harmbenchmodel_eval needs a model")],
)
def test_a_task_that_needs_somebody_who_is_not_there_is_refused(tmp_path, dataset, message):
    log = _log(tmp_path / "log.json", {"pred": "x", "label": "y"})
    with pytest.raises(Error, match=message):
        score(log, dataset=dataset)


def test_releases_count_other_refusals(tmp_path):
    log = _log(tmp_path / "log.json", {"pred": "I can't"}, {"pred": "sorry"})
    entries = score(log, ["mmtrust_refusal", "mmtrust_refusal@v0.2.1"]).entries
    assert [e.metrics["rule_reject_template_eval:pred_mean"].value for e in entries] == [1.0, 0.5]


def test_the_mended_rules_read_a_text_as_one_label():
    rows = [_item("a dog", "cat", dataset="stereo-classification-text")]
    strict, mended = (load("mmscore.recipes", name) for name in ("mmtrust_task", "own_trust_task"))
    assert _numbers(strict, rows) == {"rule_contain_eval:pred_mean": 1.0}
    assert _numbers(mended, rows, "1") == {"rule_contain_eval:pred_mean": 0.0}


def test_functions_to_ask_with_stand_in_for_a_log():
    config = {
        "chatmodel_eval": {
            "model_id": "m",
            "prompt_template": "{pred} {label} {k}",
            "generation_kwargs": {},
            "metrics_cfg": {},
        },
        "rule_yes_or_no_eval": {"metrics_cfg": {"pred_mean": {}}},
    }
    asked = []

    def ask(model, prompt, generation):
        asked.append(prompt)
        return "[Yes]"

    recipe = build_chain_recipe([config], setting=EvaluatorContext(ask=ask))
    assert _numbers(recipe, [_item("a", "b", extra={"k": 1})]) == {"chatmodel_eval->rule_yes_or_no_eval:pred_mean": 1.0}
    assert set(asked) == {"a b 1"}


def test_boxes_are_hit_or_missed():
    recipe = load("mmscore.recipes", "mmtrust_task")
    assert find_task("g-basic-grounding").number == "T.1"
    said = {"chatmodel_eval:pred_no_op": "[0, 0, 1, 1]"}
    rows = [
        _item("x", "[0, 0, 1, 1]", 0, "g-basic-grounding", **said),
        _item("x", "[2, 2, 3, 3]", 1, "g-basic-grounding", **said),
    ]
    assert _numbers(recipe, rows) == {"chatmodel_eval:iou_judge": 50.0}


def test_failed_scores_are_counted_and_make_a_mean_of_nothing():
    config = {"rule_match_and_score_eval": {"metrics_cfg": {"pred_mean": {}, "failure": {}, "pearson_corr": {}}}}
    found = _numbers(build_chain_recipe([config]), [_item("50", 1.0, 0), _item("?", 2.0, 1), _item("-50", 0.5, 2)])
    assert math.isnan(found["rule_match_and_score_eval:pred_mean"])
    assert found["rule_match_and_score_eval:failure"] == pytest.approx(1 / 3)
    assert found["rule_match_and_score_eval:pearson_corr"] == 1.0


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ([], "has no evaluator"),
        ([{}], "has no evaluator"),
        ([{"rule_yes_or_no_eval": {"metrics_cfg": {"accuracy_score": {"sample_weight": [1]}}}}], "sample_weight"),
    ],
)
def test_chains_that_rows_cannot_have_are_refused(configs, message):
    with pytest.raises(Error, match=message):
        build_chain_recipe(configs)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([_item("yes", "a text")], "one side holds texts"),
        ([_item("yes")], "no row has a reference"),
        ([Item(id="1", prediction="yes", label="{")], "expected JSON"),
    ],
)
def test_rows_that_the_metrics_do_not_take_are_refused(items, message):
    config = {"rule_yes_or_no_eval": {"metrics_cfg": {"f1_score": {}}}}
    with pytest.raises(Error, match=message):
        _numbers(build_chain_recipe([config]), items)


def test_a_log_that_is_no_object_is_refused():
    config = {"harmbenchmodel_eval": {"metrics_cfg": {"pred_mean": {}}}}
    with pytest.raises(Error, match="JSON object"):
        _numbers(build_chain_recipe([config]), [Item(id="1", prediction="yes", extra="[]")])


def test_a_rate_a_label_needs_an_average():
    config = {"rule_yes_or_no_eval": {"metrics_cfg": {"f1_score": {"average": None}}}}
    with pytest.raises(Error, match="Choose an average"):
        _numbers(build_chain_recipe([config]), [_item("yes", 1)])


def test_datasets_with_other_settings_are_not_averaged_into_one():
    said = {"classifer_reject_eval:pred_no_op": 1}
    rows = [_item("a", None, n, name, **said) for n, name in enumerate(("stereo-query-text", "vision-preference"))]
    with pytest.raises(Error, match="Score each on its own"):
        _numbers(load("mmscore.recipes", "mmtrust_task"), rows)


def test_every_dataset_has_one_recipe_and_chains_that_can_be_built():
    for dataset, task in TASKS.items():
        facts = Facts(datasets=frozenset([dataset]), tasks=frozenset(["vqa"]), formats=frozenset(["mmtrust"]))
        assert choose_recipe(facts).name == "mmtrust_task"
        assert build_chain_recipe(task.chains).versions
    with pytest.raises(Error, match="Did you mean dt-text"):
        find_task("dt-txt")


def test_a_dataset_of_the_other_recipe_is_named():
    with pytest.raises(Error, match="which another recipe scores"):
        _numbers(load("mmscore.recipes", "mmtrust_judged"), [_item("a", 1, 0, "dt-text")])


def test_references_are_needed_where_a_rule_compares_with_them(tmp_path):
    log = _log(tmp_path / "log.json", {"pred": "Positive"}, {"pred": "Negative"})
    with pytest.raises(Error, match="no row has a reference"):
        score(log, dataset="dt-text")
    (entry,) = score(log, dataset="stereo-agreement-text").entries
    assert entry.counts.scored == 2
    some = _log(tmp_path / "some.json", {"pred": "Positive", "label": "1"}, {"pred": "Negative"})
    (entry,) = score(some, dataset="dt-text").entries
    assert (entry.counts.scored, entry.counts.rejected) == (1, 1)
    assert "the row has no reference" in entry.messages[0]
