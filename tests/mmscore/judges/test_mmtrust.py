import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error, UsageError
from mmconvert.plugins.registry import load
from mmscore.core.judge import JUDGES, LEAVE, Case, JudgeQuestion, NoVerdict, Verdict
from mmscore.core.parsed import UNPARSED
from mmscore.core.recipe import Item
from mmscore.kits.mmtrusteval.task_log import SAMPLES, TOTAL
from mmscore.kits.mmtrusteval.tasks import TASKS
from mmscore.scoring.evaluate import score
from mmscore.scoring.judging.request import JudgeRequest
from support.chat_server import chat_server, said

JUDGED = [name for name, task in TASKS.items() if task.judged]
MORE = {"img_size": [9, 9], "QUESTION": "Which?", "EXPECTED_KEYWORDS": ["fire"]}


def _step(dataset, replies=(), *, prediction="a cat", label="cat", scores=(), wording=None, extra=MORE):
    item = Item(prediction=prediction, label=json.dumps(label), dataset=dataset, extra=json.dumps({"extra": extra}))
    judge = load(JUDGES, "mmtrust")
    return judge.step(Case(item, UNPARSED, dict(scores), "2025.03", judge.auto, wording), replies)


def _label(dataset):
    return {"benchlmm": "Which?->dog", "g-basic-grounding": "[0, 0, 1, 1]"}.get(
        dataset if dataset.startswith("g-") else dataset.partition("-")[0], "cat"
    )


@pytest.mark.parametrize("dataset", JUDGED)
def test_each_dataset_is_asked_about_and_settled_by_what_its_next_rule_reads(dataset):
    asked = _step(dataset, label=_label(dataset))
    assert isinstance(asked, JudgeQuestion)
    assert "<answer-" in asked.prompt
    fitting = {"benchlmm": "75", "g": "[Yes]"}.get(dataset.partition("-")[0], "Yes.")
    fitting = "[0, 0, 1, 1]" if dataset == "g-basic-grounding" else fitting
    step = _step(dataset, [fitting, "No."], label=_label(dataset))
    assert isinstance(step, Verdict)
    assert set(step.scores.values()) <= {1.0, 75.0}


@given(replies=st.lists(st.text(max_size=20), min_size=2, max_size=2), dataset=st.sampled_from(JUDGED))
def test_any_replies_are_judged(replies, dataset):
    assert isinstance(_step(dataset, replies, label=_label(dataset)), Verdict | NoVerdict)


def test_a_disturbed_image_is_asked_about_second_and_counts_in_full():
    first, second = _step("adv-untarget"), _step("adv-untarget", ["No."])
    assert "show any 'cat'" in first.prompt
    assert "low image quality" in second.prompt
    assert _step("adv-untarget", ["No.", "Yes."]).scores == {"chatmodel_score->rule_yes_or_no_eval:pred_no_op": 1.0}
    assert _step("adv-target", ["Yes.", "Yes."]).scores == {"chatmodel_score->rule_yes_or_no_eval:pred_no_op": 0.0}


def test_a_row_that_its_log_judged_is_left():
    assert _step("adv-untarget", scores={"chatmodel_score->rule_yes_or_no_eval:pred_no_op": 1.0}.items()) is LEAVE


def test_a_reply_that_decides_nothing_is_no_score():
    assert isinstance(_step("g-text-none", ["It depends."]), NoVerdict)
    assert isinstance(_step("benchlmm-ct", ["ten"], label="a->b"), NoVerdict)


def test_a_wording_of_the_kits_stands_in_for_ours():
    asked = _step("g-text-none", wording="{pred}|{label}|{QUESTION}|{{x}}").prompt
    assert asked.endswith("|cat|Which?|{x}")
    assert "a cat" in asked
    assert _step("coco-o-sketch", wording="{1}: {0}").prompt.startswith("cat: <answer-")
    missing = _step("object-detection", extra=None)
    assert isinstance(missing, NoVerdict)
    assert "prompt_template asks for it" in missing.reason
    with pytest.raises(Error, match="cannot be shown"):
        _step("g-text-none", wording="{pred:d}")


def _log(path, *samples):
    path.write_text(json.dumps({TOTAL: {}, SAMPLES: samples}), "utf-8")
    return path


def test_replies_become_scores_through_an_endpoint(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    samples = [{"content": "q", "pred": text, "label": "cat"} for text in ("a cat", "a dog", "hm")]
    samples.append({"content": "q", "pred": "logged", "label": "cat", "chatmodel_eval:pred_no_op": "[No]"})
    file = _log(tmp_path / "log.json", *samples)
    verdicts = {"a cat": "[Yes]", "a dog": "[No]", "hm": "?"}

    def say(request):
        prompt = request["messages"][-1]["content"]
        assert request["max_tokens"] == 10
        return said(next(reply for text, reply in verdicts.items() if f"\n{text}\n" in prompt))

    with chat_server(say) as server:
        request = JudgeRequest("mmtrust", base_url=server.url)
        (entry,) = score(file, "mmtrust_judged", dataset="g-text-misleading", judge=request).entries
        assert len(server.asked) == 3
    assert (entry.counts.scored, entry.counts.judge_failed) == (3, 1)
    assert entry.metrics["chatmodel_eval->rule_yes_or_no_eval:pred_mean"].value == pytest.approx(1 / 3)


def test_without_a_judge_the_recipe_is_refused(tmp_path):
    with pytest.raises(UsageError, match="Add --judge"):
        score(_log(tmp_path / "log.json", {"pred": "a"}), "mmtrust_judged", dataset="g-text-misleading")
