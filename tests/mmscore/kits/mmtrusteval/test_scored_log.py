import json

import pytest

from goldens.comparison import difference
from mmconvert.core.errors import Error
from mmscore.scoring import bootstrap
from mmscore.scoring.evaluate import ScoreOptions, format_kit_log, score, score_results
from mmscore.scoring.judging.request import JudgeRequest
from support.chat_server import chat_server, said
from support.predictions import write_predictions
from support.terminal import mmscore, one_message

pytestmark = pytest.mark.slow


def _written(path, *samples):
    path.write_text(json.dumps({"total_results": {}, "per_sample_results": samples}))
    return path


def _log(file, recipe="mmtrust_task", **options):
    (result,) = score_results([file], [recipe] if recipe else [], ScoreOptions(**options), log=True)
    return format_kit_log(result)


def test_the_log_of_scored_rows_is_the_one_that_the_kits_runner_saves(shared, tmp_path, monkeypatch):
    monkeypatch.setattr(bootstrap, "_MOST_ROWS", 0)  # a log has no errors
    task, checked = tmp_path / "task.json", 0
    for line in (shared / "golden/mmte_task.visible.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line, object_hook=lambda fields: float(fields["$f"]) if "$f" in fields else fields)
        given = case["input"]
        answered = all(isinstance(sample["response"], str) for sample in given["responses"])
        if "json" not in case["expected"] or not given["evaluator_seq_cfgs"] or not answered:
            continue
        names = {"content": "content", "pred": "response", "label": "target", "extra": "extra"}
        samples = [{name: sample[key] for name, key in names.items()} for sample in given["responses"]]
        task.write_text(json.dumps({"evaluator_seq_cfgs": given["evaluator_seq_cfgs"]}))
        found = json.loads(_log(_written(tmp_path / "log.json", *samples), recipe_options=task))
        assert difference(case["expected"]["json"], found, "mmte_task") is None, case["input"]
        checked += 1
    assert checked > 140


def test_what_a_judge_said_comes_into_the_log_and_need_not_be_asked_again(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    samples = [
        {"content": {"image_path": "a.png", "text": "q"}, "pred": text, "label": "cat"} for text in ("a cat", "hm")
    ]
    file = _written(tmp_path / "log.json", *samples)
    with chat_server(lambda request: said("[Yes] it does")) as server:
        judge = JudgeRequest("mmtrust", base_url=server.url)
        log = _log(file, "mmtrust_judged", dataset="g-text-misleading", judge=judge)
        again = _log(file, "mmtrust_judged", dataset="g-text-misleading", judge=judge)
    first = json.loads(log)["per_sample_results"][0]
    assert first["chatmodel_eval:pred_no_op"] == "[Yes] it does"
    assert first["content"] == {"image_path": "a.png", "text": "q"}
    assert log == again
    (tmp_path / "judged.json").write_text(log)
    (entry,) = score(tmp_path / "judged.json", dataset="g-text-misleading").entries
    assert entry.table == [{"task": "T.5", "log": "g-text-misleading", "Accuracy": "100.00"}]


def test_a_reply_that_nobody_kept_is_not_made_up(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    file = _written(tmp_path / "log.json", {"content": "q", "pred": "a cat", "label": "cat"})
    with chat_server(lambda request: said("No.")) as server:
        judge = JudgeRequest("mmtrust", base_url=server.url)
        (entry,) = score(file, "mmtrust_judged", dataset="adv-untarget", judge=judge).entries
        assert entry.table == [{"task": "R.4", "log": "adv-untarget", "accuracy": 0.0}]
        with pytest.raises(Error, match="is not kept where it was asked twice"):
            _log(file, "mmtrust_judged", dataset="adv-untarget", judge=judge)


def test_points_are_fractions_and_flags_whole_in_the_log(tmp_path):
    file = _written(tmp_path / "log.json", {"chatmodel_score:pred_no_op": "75", "pred": "x", "label": "q->a"})
    text = _log(file, dataset="benchlmm-ct")
    assert '"chatmodel_score->rule_score_eval:pred_mean": 75.0' in text
    assert text.endswith("}\n")
    flagged = {"harmbenchmodel_eval:pred_no_op": 1, "pred": "I cannot", "label": "y", "content": "q"}
    (sample,) = json.loads(_log(_written(tmp_path / "h.json", flagged), dataset="safebench"))["per_sample_results"]
    assert sample == {**flagged, "rule_reject_template_eval:pred_no_op": 1}


def test_the_command_writes_it_and_leaves_rows_without_a_score_out(tmp_path):
    file = _written(tmp_path / "log.json", {"pred": "Positive", "label": "1"}, {"pred": "Negative"})
    ended = mmscore(file, "--dataset", "dt-text", "--log", tmp_path / "out.json")
    assert ended.code == 3
    found = json.loads((tmp_path / "out.json").read_text())
    assert found == {
        "total_results": {"rule_contain_exact_eval:pred_mean": 1.0},
        "per_sample_results": [{"pred": "Positive", "label": "1"}],
    }


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["{log}", "--recipe", "own_short_answer"],
            2,
            "--log: recipe 'own_short_answer' knows no log of its framework.",
        ),
        (["{log}", "{log}", "--recipe", "mmtrust_yes_no"], 2, "--log: a log is of one file by one recipe."),
        (["{log}", "--dataset", "dt-text", "--dry-run"], 2, "--log: --dry-run scores nothing"),
    ],
)
def test_a_log_that_cannot_be_is_wrong_usage(tmp_path, arguments, code, message):
    file = _written(tmp_path / "log.json", {"pred": "Positive", "label": "1"})
    ended = mmscore(*(text.format(log=file) for text in arguments), "--log", tmp_path / "out.json")
    assert message in one_message(ended, "mmscore")
    assert (ended.code, (tmp_path / "out.json").exists()) == (code, False)


def test_a_log_is_of_one_dataset(tmp_path):
    rows = [
        {"id": str(n), "prediction": "x", "label": "1", "dataset": name}
        for n, name in enumerate(("dt-text", "safebench"))
    ]
    rows = [row | {"extra": '{"harmbenchmodel_eval:pred_no_op": 1}'} for row in rows]
    with pytest.raises(Error, match="of one dataset, and here is dt-text, safebench"):
        _log(write_predictions(tmp_path / "p.parquet", rows))
