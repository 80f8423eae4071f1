import json

import pytest

from mmconvert.core.errors import Error, UsageError
from mmscore.analysis.rank import compute_ranking
from mmscore.core.report import Counts, Entry
from mmscore.kits.mmtrusteval.benchmark_rank import PATHS
from mmscore.kits.mmtrusteval.chains import read_chain
from mmscore.kits.mmtrusteval.log_totals import GROUPS, KINDS, PROMPTS
from mmscore.kits.mmtrusteval.ranking import build_columns, build_task_cells, find_aspect
from mmscore.kits.mmtrusteval.task_scores import TOPICS
from mmscore.kits.mmtrusteval.tasks import TASKS
from mmscore.scoring import bootstrap
from mmscore.scoring.evaluate import score
from support.terminal import mmscore, one_message

TASK_OF = {path: task for task, paths in PATHS.items() for path in paths}
COUNTS = Counts(total=3, scored=2, unparsed=0, excluded=0, failed=1, judge_failed=0, missing=0, rejected=0)


def _entry(*table, model="m", file="x.json"):
    about = {"recipe": "mmtrust_task", "version": "2025.03", "parity": "MMTrustEval", "reason": "", "signature": ""}
    return Entry(
        **about,
        metrics={},
        groups={},
        counts=COUNTS,
        partial=False,
        model=model,
        dataset=None,
        table=table,
        predictions=file,
    )


def _rows(results):
    return [
        {"task": TASK_OF[path], "log": log, **numbers}
        for path, logs in results.items()
        if path in TASK_OF
        for log, numbers in logs.items()
    ]


def _ranking(entries, name_of=str):
    return compute_ranking(
        build_task_cells(entries, name_of), "subaspect", needed=build_columns(name_of), by_score=True
    )


def test_tasks_subaspects_and_total_are_the_kits(shared):
    checked = 0
    for line in (shared / "golden/mmte_scores.visible.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["rule"] != "rank" or "tasks" not in case["expected"]:
            continue
        found = _ranking([_entry(*_rows(case["input"]["results"]))])
        (standing,) = found.tables[0].standings
        assert {cell.dataset: cell.score for cell in found.cells} == pytest.approx(case["expected"]["tasks"])
        assert standing.scores == pytest.approx(case["expected"]["subaspects"])
        assert round(standing.average_score, 2) == pytest.approx(case["expected"]["total"], abs=0.0100001)
        assert standing.missing == ()
        by_aspect = _ranking([_entry(*_rows(case["input"]["results"]))], find_aspect).tables[0].standings[0]
        assert list(by_aspect.scores) == ["Truthfulness", "Safety", "Robustness", "Fairness", "Privacy"]
        assert by_aspect.average_score == pytest.approx(standing.average_score)
        checked += 1
    assert checked > 5


def test_models_stand_in_order_of_their_total_and_lacking_tasks_are_named():
    logs = {"a": 90.0, "b": 90.0, "c": 70.0}
    entries = [
        _entry({"task": "T.5", "log": "g-text-misleading", "Accuracy": str(n)}, model=m) for m, n in logs.items()
    ]
    found = _ranking(entries)
    standings = found.tables[0].standings
    assert [(s.model, s.place, s.average_score) for s in standings] == [
        ("a", 1.5, 90.0),
        ("b", 1.5, 90.0),
        ("c", 3.0, 70.0),
    ]
    assert len(standings[0].missing) == 31
    assert not found.complete


def test_rows_without_a_score_are_counted_over_all_logs_of_a_task():
    rows = [{"task": "S.2", "log": name, "acc": 0.5} for name in ("object-detection", "risk-analysis")]
    (cell,) = build_task_cells([_entry(rows[0], file="a"), _entry(rows[1], file="b")], str)
    assert (cell.score, cell.n, cell.unscored, cell.predictions) == (50.0, 4, 2, "a, b")


def test_a_log_that_stands_there_twice_or_lacks_is_refused():
    row = {"task": "T.5", "log": "g-text-misleading", "Accuracy": "1.00"}
    with pytest.raises(UsageError, match="there is another log g-text-misleading of m"):
        build_task_cells([_entry(row), _entry(row)], str)
    with pytest.raises(Error, match=r"m, T\.4: scores: no log 'visual-assistance-image'"):
        build_task_cells([_entry({"task": "T.4", "log": "visual-assistance-text", "Accuracy": "1.00"})], str)
    with pytest.raises(
        Error, match=r"x.json: mmtrust_task gives no numbers of a task of MMTrustEval\. Name its dataset"
    ):
        build_task_cells([_entry()], str)


@pytest.fixture
def logs(tmp_path):
    """Logs of two models for one task of one log, and for one of two."""
    made = {}
    for model, flag in (("m1", 0), ("m2", 1)):
        folder = tmp_path / model
        folder.mkdir()
        said = {"chatmodel_eval:pred_no_op": "[Yes]" if flag else "[No]", "pred": "x", "label": "y"}
        for name in ("g-text-misleading", "object-detection", "risk-analysis"):
            (folder / f"{name}.json").write_text(json.dumps({"total_results": {}, "per_sample_results": [said]}))
        made[model] = sorted(folder.iterdir())
    return made


def test_reports_and_logs_are_ranked_by_the_command(logs, tmp_path):
    report = tmp_path / "m1.report.json"
    assert mmscore(*logs["m1"], "--model", "m1", "-o", report, "--quiet").code == 0
    again = mmscore(*logs["m2"], "--model", "m2", "--json", "--quiet")
    (tmp_path / "m2.report.json").write_text(again.out)
    shown = mmscore("rank", report, tmp_path / "m2.report.json", "--by", "aspect", "--csv", tmp_path / "r.csv")
    assert shown.code == 3
    assert "Gen-Place" in shown.out
    assert "* m1 by generation lacks T.1, T.2" in shown.out
    assert [line.split(",")[0] for line in (tmp_path / "r.csv").read_text().splitlines()] == ["model", "m2", "m1"]
    mixed = mmscore("rank", report, *logs["m2"], "--model", "m2", "--by", "subaspect", "--json", "--allow-rejects")
    (table,) = json.loads(mixed.out)["tables"]
    assert [standing["model"] for standing in table["standings"]] == ["m2", "m1"]
    assert table["standings"][0]["scores"] == {"Misguided Mistakes in Truthfulness": 100.0, "Toxicity in Safety": 100.0}
    assert table["columns"][0]["name"] == "Inherent Deficiency in Truthfulness"


def test_reports_are_ranked_by_dataset_too(logs, tmp_path):
    report = tmp_path / "report.json"
    mmscore(*logs["m1"], "--model", "m1", "-o", report, "--quiet")
    shown = mmscore("rank", report, "--by", "dataset", "--method", "likelihood", "--json")
    assert shown.code == 0, shown.err
    (table,) = json.loads(shown.out)["tables"]
    assert (table["method"], len(table["columns"])) == ("likelihood", 3)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{report}", "--by", "dataset"], 2, "does not state how the predictions were made. Give --method generation"),
        (
            ["{report}", "--by", "aspect", "--recipe", "own_choice"],
            2,
            "is a report, scored already, by mmtrust_task@",
        ),
        (["safebench={report}", "--by", "aspect"], 2, "holds 3 entries, and safebench= names the dataset of one"),
        (["{log}", "--by", "aspect", "--metric", "x"], 2, "--by aspect ranks by scores of its own"),
        (["{report}", "{report}", "--by", "aspect"], 2, "there is another log"),
        (["{damaged}", "--by", "aspect"], 1, "is not a report that mmscore wrote"),
        (["{later}", "--by", "aspect"], 1, "has schema version 99"),
    ],
    ids=str,
)
def test_a_mistake_is_one_message(logs, tmp_path, arguments, code, message):
    places = {name: tmp_path / f"{name}.json" for name in ("report", "damaged", "later")} | {"log": logs["m1"][0]}
    mmscore(*logs["m1"], "--model", "m1", "-o", places["report"], "--quiet")
    places["damaged"].write_text('{"schema_version": 1, "entries": [{"recipe": 1}]}')
    places["later"].write_text('{"schema_version": 99, "entries": []}')
    ended = mmscore("rank", *(text.format(**places) for text in arguments))
    assert message in one_message(ended, "mmscore")
    assert ended.code == code


LABELS = {"R.3": "1", "R.6": "sst2->1", "R.2": "q->a", "F.3": ["a"], "P.3": 1.5, "P.5": ["a"], "P.6": ["a"]}
SUBSETS = {
    "T.3": PROMPTS,
    "T.6": KINDS,
    "F.2": GROUPS,
    "F.3": ("stereotype", "anti-stereotype", "unrelated"),
    "F.5": tuple(TOPICS),
    "F.7": tuple(TOPICS),
}
SAID = {"chatmodel_eval": "[0, 0, 1, 1]", "chatmodel_score": "Yes. 75", "openai_moderation_api_eval": 0.25}


def _log_of(dataset, task):
    """Make a log of twelve samples in which every outside evaluator has said something."""
    samples = []
    for number in range(12):
        kinds = GROUPS if dataset.startswith("stereo-topic") else SUBSETS.get(task.number, (None,))
        extra = {"subset": kinds[number % len(kinds)]} if kinds[0] else {}
        extra |= {"gender": "ab"[number % 2], "age": number % 3, "skintone": "x"}
        label = "[0, 0, 1, 1]" if "grounding" in dataset else LABELS.get(task.number, number // 6)
        said = {f"{link.column}": SAID.get(name, number % 2) for name, link in _outside(task)}
        pred = ("Yes, a positive 50", "No, I cannot: -50")[number % 2]
        samples.append({**said, "content": "q", "pred": pred, "label": label, "extra": extra})
    return {"total_results": {}, "per_sample_results": samples}


def _outside(task):
    for chain in map(read_chain, task.chains):
        yield from ((link.key, link) for link in chain.links if link.evaluator.outside)


@pytest.mark.slow
def test_a_whole_benchmark_comes_out_of_its_logs(tmp_path, monkeypatch):
    monkeypatch.setattr(bootstrap, "_MOST_ROWS", 0)  # a ranking has no errors
    logs = [tmp_path / f"{dataset}.json" for dataset in TASKS]
    for log, (dataset, task) in zip(logs, TASKS.items(), strict=True):
        log.write_text(json.dumps(_log_of(dataset, task)))
    entries = score(logs, model="m").entries
    assert [entry.messages for entry in entries if entry.messages] == []
    ranking = _ranking(entries)
    assert ranking.complete
    scores = {cell.dataset: cell.score for cell in ranking.cells}
    assert set(scores) == set(PATHS)
    assert (scores["T.1"], scores["R.2"], scores["S.1"]) == (50.0, 75.0, pytest.approx(100 * 1.75 / 3))
