"""What a framework itself wrote about a file is compared with what is computed."""

import json
import math

import pytest

from mmconvert.plugins.format import StatedNumbers
from mmscore import score
from mmscore.core.estimates import Estimate
from mmscore.reporting.report_table import draw
from mmscore.scoring.stated_numbers import compare_stated_numbers

HEAD = "index\tquestion\tA\tB\tanswer\tcategory\tprediction\n"


def _log(folder, task, *replies):
    path = folder / f"20260101_000000_samples_{task}.jsonl"
    rows = [
        {"doc_id": n, "target": "yes", "filtered_resps": [reply], "input": "Is it?"} for n, reply in enumerate(replies)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _notes(path, **options):
    (entry,) = score(path, **options).entries
    return entry.notes


@pytest.mark.parametrize(("overall", "notes"), [("0.5", 0), ("0.25", 1)])
def test_the_table_that_vlmevalkit_left_beside_is_compared(tmp_path, overall, notes):
    table = tmp_path / "m_MMStar.tsv"
    table.write_text(f"{HEAD}1\tQ\tred\tblue\tA\tc1\tA\n2\tQ\tup\tdown\tB\tc2\tA\n")
    assert _notes(table) == ()
    (tmp_path / "m_MMStar_acc.csv").write_text(f'"split","Overall","c1","c2"\n"none","{overall}","1.0","0.0"\n')
    found = _notes(table)
    assert len(found) == notes
    assert found == ("m_MMStar_acc.csv says Overall 0.25, mmscore computes 0.5",)[:notes]


@pytest.mark.parametrize(
    "ending", ["score.csv", "gpt-4o-mini_score.csv", "gpt-4o-mini_acc.csv", "exact_matching_acc.csv"]
)
def test_scores_with_a_judges_name_are_compared_and_those_of_longer_benchmarks_are_not(tmp_path, ending):
    table = tmp_path / "m_AesBench_VAL.tsv"
    table.write_text(f"{HEAD}1\tQ\tred\tblue\tA\tc1\tA\n2\tQ\tup\tdown\tB\tc2\tA\n")
    (tmp_path / f"m_AesBench_VAL_{ending}").write_text('"split","Overall"\n"none","0.25"\n')
    assert _notes(table) == (f"m_AesBench_VAL_{ending} says Overall 0.25, mmscore computes 0.5",)
    short, long = tmp_path / "m_MMBench.tsv", tmp_path / "m_MMBench_V11_gpt-4o-mini_acc.csv"
    table.rename(short)
    long.write_text('"split","Overall"\n"none","0.25"\n')
    assert _notes(short) == ()


def test_scores_in_json_are_compared_lists_by_place(tmp_path):
    table = tmp_path / "m_OCRBench.tsv"
    table.write_text("index\tquestion\tanswer\tcategory\tprediction\n1\tQ\t['a']\tRegular Text Recognition\ta\n")
    (tmp_path / "m_OCRBench_score.json").write_text(json.dumps({"Text Recognition": 1, "Final Score": 3}))
    assert _notes(table) == ("m_OCRBench_score.json says Final Score 3, mmscore computes 1",)
    table = tmp_path / "m_COCO_VAL.tsv"
    table.write_text("index\tquestion\tanswer\tprediction\n1\tQ\t['a red cat sits']\ta red cat sits\n")
    (tmp_path / "m_COCO_VAL_score.json").write_text(json.dumps({"Bleu": [100, 50, 100, 100], "ROUGE_L": 100}))
    (note,) = _notes(table)
    assert note.startswith("m_COCO_VAL_score.json says Bleu 2 50, mmscore computes")


def test_a_recipe_of_our_own_is_compared_by_the_first_number(tmp_path):
    table = tmp_path / "m_XLRS-Bench-lite.tsv"
    table.write_text(f"{HEAD}1\tQ\tred\tblue\tA\tc1\tA\n2\tQ\tup\tdown\tB\tc2\tA\n")
    (tmp_path / "m_XLRS-Bench-lite_acc.csv").write_text('"split","Overall"\n"none","0.75"\n')
    report = score(table)
    assert report.entries[0].notes == ("m_XLRS-Bench-lite_acc.csv says Overall 0.75, mmscore computes accuracy 0.5",)
    assert "note: m_XLRS-Bench-lite_acc.csv says" in draw(report, 200)
    assert report.to_json()["entries"][0]["notes"] == list(report.entries[0].notes)


def test_the_results_of_the_same_run_of_lmms_eval_are_compared(tmp_path):
    path = _log(tmp_path, "pope", "yes", "no")
    results = {"pope": {"alias": "pope", "pope_accuracy,none": 0.75, "pope_accuracy_stderr,none": 0.1}}
    (tmp_path / "20260101_000000_results.json").write_text(json.dumps({"results": results}))
    assert _notes(path) == ("20260101_000000_results.json says pope_accuracy 0.75, mmscore computes 0.5",)
    results["pope"]["pope_accuracy,none"] = 0.5
    (tmp_path / "20260101_000000_results.json").write_text(json.dumps({"results": results}))
    assert _notes(path) == ()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"results": 5}', '{"results": {"pope": []}}'])
def test_a_damaged_file_beside_is_no_fault_of_the_log(tmp_path, text):
    path = _log(tmp_path, "pope", "yes", "no")
    (tmp_path / "20260101_000000_results.json").write_text(text)
    assert _notes(path) == ()


@pytest.mark.parametrize(("stated", "notes"), [(0.0, 0), (0.9, 1)])
@pytest.mark.parametrize("new", [False, True])
def test_the_report_of_the_same_run_of_evalscope_is_compared(tmp_path, new, stated, notes):
    reviews = tmp_path / "reviews/m"
    reviews.mkdir(parents=True)
    row = {"index": 0, "target": ["cat"], "input": "What?", "sample_score": {"score": {"prediction": "dog"}}}
    (reviews / "general_vqa_mine.jsonl").write_text(json.dumps(row) + "\n")
    identity = {"name": "bleu", "aggregation": "mean", "dimensions": {"ngram": 1}}
    metric = {"identity": identity} if new else {"name": "mean_bleu-1"}
    subsets = [{"name": "other", "score": 0.4}, {"name": "mine", "score": stated}]
    report = {"metrics": [{**metric, "categories": [{"name": ["default"], "subsets": subsets}]}]}
    (tmp_path / "reports/m").mkdir(parents=True)
    (tmp_path / "reports/m/general_vqa.json").write_text(json.dumps(report))
    recipe = "evalscope_general_vqa@" + ("1.14" if new else "1.10")
    found = _notes(reviews / "general_vqa_mine.jsonl", recipe=recipe)
    assert len(found) == notes
    assert all(note.startswith("reports/m/general_vqa.json says ") for note in found)


def test_rounded_numbers_percents_and_nan_are_the_same():
    ours = {"acc": Estimate(1 / 3, 3), "r": Estimate(math.nan, 0), "iou": Estimate(12.5, 8, unit="percent")}
    stated = StatedNumbers("the file", {"acc": 0.3333, "r": math.nan, "iou": 0.125, "unknown": 7.0})
    assert compare_stated_numbers(stated, ours) == ()
    assert compare_stated_numbers(StatedNumbers("the file", {"r": 0.5}), ours) == (
        "the file says r 0.5, mmscore computes nan",
    )


def test_many_differences_are_counted():
    ours = {f"n{number}": Estimate(0.0, 1) for number in range(9)}
    found = compare_stated_numbers(StatedNumbers("the file", dict.fromkeys(ours, 1.0)), ours)
    assert (len(found), found[-1]) == (6, "... and 4 more such numbers")
