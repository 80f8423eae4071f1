import json
import random

import pytest

from mmconvert.core.errors import Error, UsageError
from mmscore.api import compare
from mmscore.reporting.compare_table import show
from mmscore.scoring.evaluate import score
from mmscore.scoring.paired_tests import adjust_holm, compare_paired
from support.json_shape import faults
from support.predictions import choices, write_predictions


@pytest.fixture
def files(tmp_path):
    """Two models' answers to the same questions, in another order, some of them in one file only."""
    draw = random.Random(5)
    answers = [draw.choice("ABC") for _ in range(60)]
    a = choices(*((draw.choice("ABC") if n % 2 else answer, answer) for n, answer in enumerate(answers)), model="first")
    b = choices(
        *((draw.choice("ABC") if n % 5 else answer, answer) for n, answer in enumerate(answers)), model="second"
    )
    for rows in (a, b):
        for n, row in enumerate(rows):
            row["category"] = "xyz"[n % 3]
    draw.shuffle(b)
    return write_predictions(tmp_path / "a.parquet", a[:-2]), write_predictions(tmp_path / "b.parquet", b)


def test_the_difference_is_that_of_the_rows_both_have(files):
    found = compare(*map(str, files), recipe="own_choice")
    assert len(found.pairing) == 58
    assert set(found.pairing.only_b) == {"58", "59"}
    accuracy = found.scores["accuracy"]
    assert accuracy.n == 58
    assert accuracy.a == score(files[0], "own_choice").entries[0].metrics["accuracy"].value
    assert accuracy.value == pytest.approx(accuracy.b - accuracy.a)
    assert found.metrics["accuracy"].b == accuracy.b
    assert found.a.model == "first"
    assert not found.complete


def test_swapping_the_files_turns_every_sign(files):
    there, back = compare(*map(str, files), recipe="own_choice"), compare(*map(str, files[::-1]), recipe="own_choice")
    for name, difference in there.scores.items():
        assert difference.value == -back.scores[name].value
        assert difference.mcnemar is None or difference.p == back.scores[name].p


def test_a_file_does_not_differ_from_itself(files):
    found = compare(str(files[0]), str(files[0]), recipe="own_choice")
    assert found.complete
    assert {(d.value, d.p, d.ci95) for d in found.scores.values()} == {(0.0, 1.0, None)}
    assert found.remarks[-1] == "accuracy: no row differs, so there is no interval."


def test_an_interval_that_would_have_no_width_is_none_and_the_table_says_why(tmp_path, capsys):
    rows = [{"id": str(n), "answer": "A", "options": ["x", "y"], "prediction": "A"} for n in range(40)]
    a = str(write_predictions(tmp_path / "a.parquet", rows))
    b = str(write_predictions(tmp_path / "b.parquet", [row | {"prediction": "B"} for row in rows]))
    found = compare(a, b, recipe="own_choice")
    assert found.scores["accuracy"].ci95 is None
    assert found.remarks == ("accuracy: all resamples are the same, so there is no interval.",)
    show(found)
    assert found.remarks[0] in capsys.readouterr().out


def test_groups_are_compared_by_themselves_and_their_p_values_adjusted(files):
    found = compare(*map(str, files), recipe="own_choice", by="category")
    groups = found.groups["category"]
    assert list(groups) == ["x", "y", "z"]
    assert sum(group.scores["accuracy"].n for group in groups.values()) == 58
    plain = [group.scores["accuracy"].p for group in groups.values()]
    assert [group.p_holm["accuracy"] for group in groups.values()] == adjust_holm(plain)


def test_rows_of_one_group_are_drawn_together(tmp_path):
    pattern = ["AB", "AA", "BA", "AA", "AB", "AA"]
    rows = [
        [{**row, "group": str(n // 2)} for n, row in enumerate(choices(*((p[side], "A") for p in pattern)))]
        for side in (0, 1)
    ]
    a, b = (str(write_predictions(tmp_path / f"{n}.parquet", side)) for n, side in enumerate(rows))
    accuracy = compare(a, b, recipe="own_choice").scores["accuracy"]
    assert (accuracy.clusters, accuracy.why_no_p) == (3, "fewer than 30 pairs")
    hits = [[float(p[side] == "A") for p in pattern] for side in (0, 1)]
    assert accuracy == compare_paired(*hits, [0, 0, 1, 1, 2, 2])


def test_numbers_that_are_no_mean_of_rows_stand_beside(tmp_path):
    rows = [
        {"id": f"{n}#{v}", "sample": str(n), "variant": v, "task": "multiple_choice", "options": ["x", "y"],
         "answer": "AB"[v], "prediction": "AB"[v] if n or not v else "A"}
        for n in range(3) for v in range(2)
    ]  # fmt: skip
    a = str(write_predictions(tmp_path / "a.parquet", rows))
    found = compare(a, a, recipe="mmbench_circular")
    assert found.metrics
    assert all(pair.a == pair.b for pair in found.metrics.values())


@pytest.mark.slow
def test_numbers_of_the_whole_file_are_tested_by_drawing_rows_and_adjusted_for_groups(tmp_path):
    draw = random.Random(7)
    sides = [
        [
            {"id": str(n), "task": "yes_no", "category": "xy"[n % 2], "answer": (label := ["yes", "no"][n % 3 > 0]),
             "prediction": label if draw.random() < share else "no"}
            for n in range(60)
        ]
        for share in (0.4, 0.9)
    ]  # fmt: skip
    a, b = (str(write_predictions(tmp_path / f"{n}.parquet", rows)) for n, rows in enumerate(sides))
    found = compare(a, b, recipe="pope_official", by="category", all=True, resamples=200)
    f1 = found.metrics["f1"]
    assert (f1.test, f1.resamples) == ("paired bootstrap of the number", 200)
    assert f1.ci95[0] <= f1.value <= f1.ci95[1]
    # Accuracy is a mean of rows, which are the better test; precision is one of other rows on either side.
    assert found.metrics["accuracy"].test is None
    precision = found.metrics["precision"]
    assert precision.test
    assert (precision.a, precision.b) == tuple(
        score(file, "pope_official").entries[0].metrics["precision"].value for file in (a, b)
    )
    assert found.scores["precision"].n < 60
    groups = found.groups["category"]
    plain = [group.metrics["f1"].p for group in groups.values()]
    assert [group.metrics_p_holm["f1"] for group in groups.values()] == adjust_holm(plain)
    assert faults(json.loads(json.dumps(found.to_json(), allow_nan=False)), "compare.json") == []


def test_one_primary_metric_has_one_p_value_and_the_others_wait_for_all(files):
    found = compare(*map(str, files), recipe="own_choice", by="category")
    reported = list(score(files[0], "own_choice").entries[0].metrics)
    assert found.primary == reported[0] == "accuracy"
    assert (list(found.scores), list(found.metrics), found.metrics["accuracy"].test) == (
        ["accuracy"],
        ["accuracy"],
        None,
    )
    assert all(list(group.scores) == ["accuracy"] for group in found.groups["category"].values())
    whole = compare(*map(str, files), recipe="own_choice", all=True)
    assert set(found.others) == {*whole.metrics, *whole.scores} - {"accuracy"}
    assert (whole.others, whole.primary, whole.scores["accuracy"]) == ((), "accuracy", found.scores["accuracy"])


def test_a_primary_metric_that_is_no_mean_of_the_same_rows_is_tested_as_a_number(tmp_path):
    sides = [
        [{"id": str(n), "answer": "Yes", "category": ["relation", "x"][n % 2], "task": "yes_no",
          "prediction": "Yes" if n % 5 < right else "No"} for n in range(40)]
        for right in (2, 4)
    ]  # fmt: skip
    a, b = (str(write_predictions(tmp_path / f"{n}.parquet", rows)) for n, rows in enumerate(sides))
    found = compare(a, b, recipe="vlmevalkit_amber", resamples=200)
    assert (found.primary, list(found.scores), list(found.metrics)) == ("average", [], ["average"])
    assert (found.metrics["average"].p, found.metrics["average"].test) == (1 / 201, "paired bootstrap of the number")
    assert found.metrics["average"].a == score(a, "vlmevalkit_amber").entries[0].metrics["average"].value


def test_numbers_of_fewer_than_30_pairs_have_no_p_value(tmp_path):
    rows = [{"id": str(n), "answer": ["yes", "no"][n % 2], "task": "yes_no", "prediction": "yes"} for n in range(29)]
    a, b = (str(write_predictions(tmp_path / f"{n}.parquet", rows)) for n in "ab")
    f1 = compare(a, b, recipe="pope_official", all=True, resamples=100).metrics["f1"]
    assert (f1.p, f1.test, f1.why_no_p, f1.ci95) == (None, None, "fewer than 30 pairs", None)


def test_few_clusters_are_remarked(tmp_path):
    answers = [("A" if n % 3 else "B", "A") for n in range(60)]
    sides = [[{**row, "group": str(n // 5), "category": "xy"[n > 9]} for n, row in enumerate(choices(*answers))]] * 2
    a, b = (str(write_predictions(tmp_path / f"{n}.parquet", side)) for n, side in enumerate(sides))
    found = compare(a, b, recipe="own_choice", by="category")
    assert found.remarks[0].startswith("fewer than 30 clusters (12)")
    assert not any(remark.startswith("category") for remark in found.remarks)
    assert score(a, "own_choice", by="category").entries[0].messages == [found.remarks[0]]
    ungrouped = compare(str(write_predictions(tmp_path / "c.parquet", choices(*answers))), a)
    assert ungrouped.remarks == (found.remarks[0], found.remarks[-1])


def test_files_of_other_recipes_are_refused(tmp_path):
    a = write_predictions(tmp_path / "a.parquet", choices(("A", "A")))
    b = write_predictions(tmp_path / "b.parquet", [{"id": "0", "prediction": "x", "answer": "x", "task": "vqa"}])
    with pytest.raises(UsageError, match=r"scored by own_choice, .* by own_short_answer.*with recipe"):
        compare(str(a), str(b))


def test_files_without_a_row_in_common_are_refused(tmp_path):
    a = write_predictions(tmp_path / "a.parquet", choices(("A", "A")))
    b = write_predictions(tmp_path / "b.parquet", [{**choices(("A", "A"))[0], "id": "other"}])
    with pytest.raises(Error, match=r"no row has a score in both .*such as 0;.*such as other"):
        compare(str(a), str(b), recipe="own_choice")


def test_the_json_has_the_shape_that_the_schema_says(files):
    found = compare(*map(str, files), recipe="own_choice", by="category").to_json()
    assert faults(json.loads(json.dumps(found, allow_nan=False)), "compare.json") == []
    assert faults({**found, "rows": 3, "more": 1}, "compare.json") == [
        "$.rows: 3 is no object",
        "$: has more",
    ]


def rotations(path, count, right):
    """Four questions in so many rotations each; rotation 0 is answered right, the others where `right` says."""
    rows = [
        {"id": f"{n}#{v}", "sample": str(n), "variant": v, "task": "multiple_choice", "options": ["x", "y", "z"],
         "answer": "ABC"[v], "prediction": "ABC"[v] if right or not v else "A"}
        for n in range(4) for v in range(count)
    ]  # fmt: skip
    return str(write_predictions(path, rows))


def test_a_score_of_several_rows_is_of_rows_that_both_files_have(tmp_path):
    three, one = rotations(tmp_path / "3.parquet", 3, right=False), rotations(tmp_path / "1.parquet", 1, right=True)
    assert score(three, "mmbench_circular").entries[0].metrics["circular_accuracy"].value == 0
    found = compare(three, one, recipe="mmbench_circular")
    circular = found.scores["circular_accuracy"]
    assert (circular.a, circular.b, circular.n) == (1, 1, 4)
    assert found.metrics["circular_accuracy"].a == 1
    assert (found.complete, found.pairing.only_a[:2], found.pairing.only_b) == (False, ("0#1", "0#2"), ())


def test_with_the_same_rows_a_score_of_several_rows_is_that_of_the_report(tmp_path):
    a, b = rotations(tmp_path / "a.parquet", 3, right=False), rotations(tmp_path / "b.parquet", 3, right=True)
    found = compare(a, b, recipe="mmbench_circular")
    assert [found.scores["circular_accuracy"].a, found.scores["circular_accuracy"].b] == [0, 1]
    assert found.complete


def test_other_questions_under_the_same_ids_are_named(tmp_path):
    a = write_predictions(tmp_path / "a.parquet", choices(("A", "A"), ("A", "B"), ("A", "C")))
    b = write_predictions(tmp_path / "b.parquet", choices(("A", "A"), ("A", "C"), ("A", "C")))
    found = compare(str(a), str(b), recipe="own_choice")
    assert (found.unlike, len(found.pairing), found.complete) == (("1",), 3, False)
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert told["rows"]["unlike"] == ["1"]
    assert faults(told, "compare.json") == []


@pytest.mark.parametrize(("names", "complete"), [("DD", True), ("DE", False), ((None, "E"), True)])
def test_files_of_two_datasets_are_no_complete_comparison(tmp_path, names, complete):
    a, b = (
        str(write_predictions(tmp_path / f"{n}.parquet", choices(("A", "A"), dataset=name)))
        for n, name in enumerate(names)
    )
    assert compare(a, b, recipe="own_choice").complete is complete
    assert compare(a, b, recipe="own_choice", dataset="D").complete
