"""`mmconvert list`: the plug-ins at hand."""

import json

from mmconvert.plugins.registry import find_plugins
from support.terminal import mmconvert, one_message


def test_every_format_is_listed_with_what_it_is() -> None:
    ended = mmconvert("list", "formats")
    assert ended.code == 0
    title, *rows = ended.out.splitlines()
    assert title == f"formats ({len(rows)})  for --format, --to"
    assert [row.split()[0] for row in rows] == list(find_plugins("mmconvert.formats"))
    assert "built-in" not in ended.out


def test_every_kind_is_listed() -> None:
    found = json.loads(mmconvert("list", "--json").out)
    assert set(found) == {"formats", "readings", "prompts", "transforms", "engines"}
    assert all({"name", "summary", "origin"} == set(row) for rows in found.values() for row in rows)
    assert all(row["summary"] for rows in found.values() for row in rows)


def test_an_unknown_kind_is_met_with_the_nearest() -> None:
    ended = mmconvert("list", "format")
    assert ended.code == 2
    assert one_message(ended).startswith("unknown kind 'format'. Did you mean formats")


def test_benchmarks_are_listed_with_what_scores_them_and_where_they_are() -> None:
    ended = mmconvert("list", "benchmarks", "chartqa")
    assert ended.code == 0
    title, headings, *rows = ended.out.splitlines()
    assert title == f"benchmarks ({len(rows)})  for INPUT"
    assert headings.split() == ["name", "framework", "questions", "recipe", "where"]
    cells = {row.split()[0]: row.split() for row in rows}
    address = "https://opencompass.openxlab.space/utils/VLMEval/ChartQA_TEST.tsv"
    assert cells["ChartQA_TEST"][1:] == ["VLMEvalKit", "-", "vlmevalkit_vqa", address]
    assert cells["evalscope:chartqa"][2:5] == ["2,500", "none", "yet"]


def test_benchmarks_are_a_list_of_objects_for_programs() -> None:
    found = json.loads(mmconvert("list", "benchmarks", "--json").out)
    assert len([one for one in found if one["modality"] == "image"]) > 1500
    (one,) = [one for one in found if one["key"] == "lmms_eval:pope_adv"]
    assert one["source"] == {
        "kind": "hub", "repo": "lmms-lab-encoder/POPE", "config": "Full", "split": "adversarial"
    }  # fmt: skip
    assert (one["name"], one["recipe"], one["judge"], one["licence"]) == ("pope_adv", "lmms_pope", "no", None)
    assert {frozenset(one) for one in found} == {frozenset(found[0])}


def test_a_word_that_no_benchmark_has_ends_with_the_nearest() -> None:
    ended = mmconvert("list", "benchmarks", "MMStarr")
    assert ended.code == 2
    assert "Did you mean MMStar" in one_message(ended)


def test_benchmarks_are_a_kind_that_is_suggested() -> None:
    assert "Did you mean benchmarks?" in one_message(mmconvert("list", "benchmark"))
