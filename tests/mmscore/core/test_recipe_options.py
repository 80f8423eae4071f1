import json

import pytest

from mmconvert.core.errors import UsageError
from mmscore.analysis.bundle import Request, bundle, verify
from mmscore.api import compare, explain
from mmscore.scoring.evaluate import score
from mmscore.scoring.judging.request import JudgeRequest
from support.chat_server import chat_server, said
from support.terminal import mmscore, one_message

TASK = """
dataset_id: "stereo-classification-text"
model_id: "llava-v1.5-7b"
log_file: "./logs/x.json"
generation_kwargs: {'max_new_tokens': 50, 'do_sample': False}
evaluator_seq_cfgs:
  [
    { "rule_contain_eval": { metrics_cfg: { pred_mean: {}, accuracy_score: {normalize: false} }, fuzzy_match: True } },
    { "rule_reject_template_eval": { metrics_cfg: { pred_no_op: {}, pred_mean: {} } } },
  ]
"""
JUDGED = {
    "chatmodel_eval": {
        "model_id": "m",
        "prompt_template": "Is {pred} like {label}?",
        "generation_kwargs": {},
        "metrics_cfg": {},
    },
    "rule_yes_or_no_eval": {"metrics_cfg": {"pred_mean": {}}},
}


@pytest.fixture
def log(tmp_path):
    samples = [
        {"content": "q", "pred": text, "label": [label]} for text, label in (("a Dog", "dog"), ("no, sorry", "cat"))
    ]
    (tmp_path / "log.json").write_text(json.dumps({"total_results": {}, "per_sample_results": samples}))
    return tmp_path / "log.json"


@pytest.fixture
def task(tmp_path):
    (tmp_path / "task.yaml").write_text(TASK)
    return tmp_path / "task.yaml"


def test_a_task_file_of_the_kit_works_as_it_is(log, task):
    shown = mmscore(log, "--recipe", "mmtrust_task", "--recipe-options", task, "--json")
    assert shown.code == 0, shown.err
    (entry,) = json.loads(shown.out)["entries"]
    assert {name: metric["value"] for name, metric in entry["metrics"].items()} == {
        "rule_contain_eval:pred_mean": 0.5,
        "rule_contain_eval:accuracy_score": 0.0,
        "rule_reject_template_eval:pred_mean": 0.5,
    }
    assert "with options of the user's" in entry["parity"]


def test_the_digest_of_the_options_stands_in_the_signature(log, task):
    def signature():
        return score(log, "mmtrust_task", recipe_options=task).entries[0].signature

    before = signature()
    assert "|options:" in before
    task.write_text(TASK.replace("True", "False"))
    assert signature() != before


@pytest.mark.slow
def test_options_go_with_every_command_that_scores(log, task, tmp_path):
    found = explain(str(log), recipe=["mmtrust_task", "own_trust_task"], recipe_options=str(task))
    assert found.gap is not None
    same = compare(str(log), str(log), recipe="mmtrust_task", recipe_options=task, all=True)
    assert list(same.metrics) == list(found.readers[0].metrics)
    report = bundle(Request((str(log),), ("mmtrust_task",), recipe_options=str(task)), tmp_path / "b")
    task.unlink()
    assert report["entries"][0]["metrics"]["rule_contain_eval:pred_mean"]["value"] == 0.5
    assert verify(tmp_path / "b").faults == ()


def test_the_judge_asks_what_the_task_file_asks(log, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    task = tmp_path / "judged.json"
    task.write_text(json.dumps({"evaluator_seq_cfgs": [JUDGED]}))
    with chat_server(lambda request: said("[Yes]")) as server:
        request = JudgeRequest("mmtrust", base_url=server.url)
        (entry,) = score(log, "mmtrust_judged", judge=request, recipe_options=task).entries
        assert len(server.asked) == 2
    assert entry.metrics["chatmodel_eval->rule_yes_or_no_eval:pred_mean"].value == 1.0
    assert "prompt template the user's" in entry.parity
    task.write_text(json.dumps({"evaluator_seq_cfgs": [JUDGED] * 3}))
    with pytest.raises(UsageError, match="asks 3 times about a sample"):
        score(log, "mmtrust_judged", judge=request, recipe_options=task)


@pytest.mark.parametrize(
    ("recipe", "text", "message"),
    [
        (
            "mmtrust_task",
            "evaluator_seq_cfg: []",
            "task.yaml: no option 'evaluator_seq_cfg'. Did you mean evaluator_seq_",
        ),
        (
            "mmtrust_task",
            "evaluator_seq_cfgs: [{rule_yes_no_eval: {metrics_cfg: {}}}]",
            "Did you mean rule_yes_or_no_eval",
        ),
        ("mmtrust_task", "- 1", "task.yaml: expected options by name"),
        ("mmtrust_task", "a: [", "task.yaml: cannot be read as YAML"),
        ("mmtrust_yes_no", TASK, "recipe 'mmtrust_yes_no' takes no options. Leave --recipe-options out."),
        ("own_choice", TASK, "recipe 'own_choice' takes no options"),
    ],
)
def test_what_a_recipe_cannot_honour_is_wrong_usage(log, task, recipe, text, message):
    task.write_text(text)
    ended = mmscore(log, "--recipe", recipe, "--recipe-options", task)
    assert message in one_message(ended, "mmscore")
    assert ended.code == 2


def test_a_file_that_is_missing_is_wrong_usage(log, task):
    ended = mmscore(log, "--recipe", "mmtrust_task", "--recipe-options", str(task).replace("task", "tusk"))
    assert "Did you mean task.yaml" in one_message(ended, "mmscore")
    assert ended.code == 2


def test_the_recipe_that_fits_takes_the_options_too(log, task):
    (entry,) = score(log, dataset="stereo-classification-text", recipe_options=task).entries
    assert "rule_reject_template_eval:pred_mean" in entry.metrics
    (unnamed,) = score(log, recipe_options=task).entries
    assert unnamed.metrics == entry.metrics


def test_json_may_stand_in_place_of_the_file(log, tmp_path):
    chains = {"evaluator_seq_cfgs": [{"rule_contain_eval": {"metrics_cfg": {"pred_mean": {}}, "fuzzy_match": True}}]}
    (tmp_path / "task.json").write_text(json.dumps(chains))
    by_file, by_text = (
        score(log, "mmtrust_task", recipe_options=options).entries[0]
        for options in (tmp_path / "task.json", json.dumps(chains))
    )
    assert (by_text.metrics, by_text.signature) == (by_file.metrics, by_file.signature)
    bundle(Request((str(log),), ("mmtrust_task",), recipe_options=json.dumps(chains)), tmp_path / "bundle")
    assert verify(tmp_path / "bundle").faults == ()
    with pytest.raises(UsageError, match="cannot be read as YAML"):
        score(log, "mmtrust_task", recipe_options='{"evaluator_seq_cfgs": [')
