import json
import math

import pytest

from goldens.commands import find_problem
from goldens.comparison import difference
from goldens.files import FILES, WRITERS, find_recipe_name
from goldens.rules import COMMANDS, RULES, Whole, per_version
from goldens.run import (
    count_outside,
    list_families,
    read_cases,
    read_cases_outside,
    read_family,
    run_cases,
    spread,
)
from mmconvert.core.errors import RowError

FAMILIES = [family for family in list_families() if not family.startswith(FILES)]
MOST = 4
"""Cases of a rule, and of each recipe it proves, in the ordinary run, where a case reads files or asks programs."""
COSTLY = {
    "evalscope_bleu_rouge", "evalscope_report", "mmbench_prompt", "mmmu_eval", "reform_generation", "vlmeval_circular",
    "vlmeval_coco", "vlmeval_io", "vlmeval_mcq_eval", "vlmeval_ocrbench", "vlmeval_prompt", "vlmeval_vcr",
    "vlmeval_vqa", "vlmeval_yorn",
}  # fmt: skip
"""Families of which the ordinary run takes a part of the cases, `--release` all."""
METEOR = "reform_generation"
"""A family whose cases start Java, which reads paraphrases for a quarter of a minute; it waits for the release."""


def _assert_all_pass(family, cases):
    result = run_cases(family, cases)
    assert result.failures == []
    assert result.missing_rules == set()
    assert result.passed == result.total > 0


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != METEOR])
@pytest.mark.slow
def test_cases_of_the_repository_hold(family):
    def name_proven(case):
        return case["rule"], find_recipe_name(family, case) if (family, case["rule"]) in WRITERS else None

    cases = read_family(family)
    _assert_all_pass(family, spread(cases, MOST, name_proven) if family in COSTLY else cases)


@pytest.mark.parametrize("family", sorted(COSTLY))
@pytest.mark.release
def test_every_case_of_a_costly_family_holds(family):
    _assert_all_pass(family, read_family(family))


@pytest.mark.parametrize(("family", "number"), count_outside().items())
@pytest.mark.slow
def test_cases_outside_the_repository_hold(family, number, repository):
    file = repository.parent / "shared" / "golden" / f"{family}.visible.jsonl"
    if not file.is_file():
        pytest.skip(f"{number} cases of {family} not run: they stay in ../shared")
    _assert_all_pass(family, read_cases_outside(file, family))


def test_every_rule_has_cases_in_the_repository():
    held = {(family, case["rule"]) for family in FAMILIES for _, case in read_family(family)}
    assert {name for name in RULES if not name[1].endswith("@v2")} == held


def test_cases_are_spread_over_a_rule():
    cases = [(str(number), {"rule": "ab"[number % 2]}) for number in range(20)]
    assert [place for place, _ in spread(cases, 3)] == ["0", "1", "8", "9", "14", "15"]
    assert spread(cases, 10) == cases


def test_every_rule_serves_a_command_that_exists():
    assert [problem for command in sorted(set(COMMANDS.values())) if (problem := find_problem(command))] == []


@pytest.mark.parametrize(
    "command",
    [
        "mmscore sum",
        "mmtool score",
        "mmscore score --recipes vlmevalkit_mcq",
        "mmscore score --recipe vlmevalkit_mcq@v9",
        "mmconvert convert --prompt no_such",
        "mmscore.compat.vlmevalkit.no_such",
        "mmscore.compat.no_such.run",
        "mmscore.kits.reform_eval.evaluation.evaluate",
    ],
)
def test_a_command_that_is_none_is_named(command):
    assert find_problem(command)


def _file(tmp_path, *cases):
    file = tmp_path / "some_family.visible.jsonl"
    file.write_text("".join(json.dumps(case) + "\n" for case in cases), "utf-8")
    return file


def test_a_wrong_value_is_a_miss_and_a_missing_rule_is_named(tmp_path):
    file = _file(
        tmp_path,
        {"rule": "double", "input": 2, "expected": 4},
        {"rule": "double", "input": 3, "expected": 5},
        {"rule": "other", "input": 3, "expected": 5},
    )
    result = run_cases("some_family", read_cases(file), {("some_family", "double"): lambda x: 2 * x})
    assert (result.passed, result.total, result.missing_rules) == (1, 3, {"other"})
    assert len(result.failures) == 1
    assert ":2 " in result.failures[0]


def test_only_the_projects_own_errors_count_as_a_refusal(tmp_path):
    file = _file(tmp_path, {"rule": "r", "input": 2, "expected": {"error": "KeyError"}})

    def refuse(_):
        raise RowError("c", "f", "no")

    assert run_cases("some_family", read_cases(file), {("some_family", "r"): refuse}).passed == 1
    assert run_cases("some_family", read_cases(file), {("some_family", "r"): lambda _: None}).passed == 0
    crashed = run_cases("some_family", read_cases(file), {("some_family", "r"): lambda x: x / 0})
    assert crashed.passed == 0
    assert "ZeroDivisionError" in crashed.failures[0]


def test_a_rule_that_crashes_misses_that_case_alone(tmp_path):
    file = _file(tmp_path, {"rule": "r", "input": 0, "expected": 1}, {"rule": "r", "input": 2, "expected": 0.5})
    result = run_cases("some_family", read_cases(file), {("some_family", "r"): lambda x: 1 / x})
    assert (result.passed, len(result.failures)) == (1, 1)


def test_newer_libraries_value_passes_too(tmp_path):
    file = _file(tmp_path, {"rule": "r", "input": 1, "expected": 1, "expected_latest_libs": {"error": "E"}})
    for value, passed in ((1, 1), ({"error": "RowError"}, 1), (2, 0)):
        assert (
            run_cases("some_family", read_cases(file), {("some_family", "r"): lambda _, value=value: value}).passed
            == passed
        )


def test_expected_v2_asks_the_older_rule_as_well(tmp_path):
    file = _file(tmp_path, {"rule": "r", "input": 1, "expected": "new", "expected_v2": "old"})
    new = {("some_family", "r"): lambda _: "new"}
    assert run_cases("some_family", read_cases(file), new).passed == 0
    assert run_cases("some_family", read_cases(file), {**new, ("some_family", "r@v2"): lambda _: "old"}).passed == 1
    assert run_cases("some_family", read_cases(file), {**new, ("some_family", "r@v2"): lambda _: "new"}).passed == 0


def test_a_whole_rule_sees_the_expected_part(tmp_path):
    file = _file(tmp_path, {"rule": "r", "input": 1, "expected": [7]})
    assert (
        run_cases("some_family", read_cases(file), {("some_family", "r"): Whole(lambda case: case["expected"])}).passed
        == 1
    )


def test_every_version_must_be_right():
    def run(version):
        if version == "2":
            raise RowError("c", "f", "no")
        return version

    given = per_version(run, ("1", "2"))
    assert difference({"1": "1", "2": {"error": "KeyError"}}, given) is None
    assert difference({"1": "1", "2": "2"}, given)
    assert difference({"1": {"error": "KeyError"}, "2": {"error": "KeyError"}}, given)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (0.5, 0.5 + 1e-10),
        (True, 1.0),
        (0, False),
        ("0.24324324324324326", 0.24324324324324326),
        ("NaN", math.nan),
        ({"$f": "-inf"}, -math.inf),
        ({"a": 1, "b": [2]}, {"b": (2,), "a": 1}),
        ({"error": "KeyError", "message": "k"}, {"error": "RowError"}),
        ({"nondeterministic": True, "possible_per_item": [[1, 2], [3]]}, {"preds": [2, 3]}),
    ],
)
def test_equal_values(expected, actual):
    assert difference(expected, actual) is None


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (0.5, 0.5001),
        (0.5, "x"),
        (1, 2),
        ("a", "b"),
        ("1", None),
        (None, 0),
        ([1, 2], [2, 1]),
        ([1, 2], [1]),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, {}),
        ({"error": "KeyError"}, "fine"),
        ("fine", {"error": "RowError"}),
        (math.nan, 0.0),
        ({"$f": "nan"}, 0.0),
        ({"nondeterministic": True, "possible_per_item": [[1, 2], [3]]}, {"preds": [3, 3]}),
        (10**17 + 1, 10**17),
    ],
)
def test_different_values(expected, actual):
    assert difference(expected, actual)


def test_a_family_widens_the_tolerance_or_wants_the_order():
    assert difference(1.0, 1.0 + 1e-7) is not None
    assert difference(1.0, 1.0 + 1e-7, "vlmeval_coco") is None
    assert difference(1.0, 1.0 + 1e-6, "mmte_metrics", "pearson_corr") is None
    assert difference(1.0, 1.0 + 1e-6, "mmte_metrics", "accuracy_score") is not None
    assert difference({"a": 1, "b": 2}, {"b": 2, "a": 1}, "vlmeval_mcq_eval")
    assert difference("corr 0.123456789: x", "corr 0.123456788: x", "reform_multiround") is None
    assert difference("corr 0.12: x", "corr 0.13: x", "reform_multiround")
