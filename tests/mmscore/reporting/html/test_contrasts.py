import pytest

from mmscore.api import compare, explain
from mmscore.reporting.html.contrasts import differences, gaps
from mmscore.scoring.evaluate import ScoreOptions, score_results
from support.predictions import choices, write_predictions

PAIRS = {"a": ["A"] * 12, "b": ["A"] * 4 + ["B"] * 8, "c": ["A"] * 10 + ["the first"] * 2}


def files(tmp_path, names):
    return [
        str(write_predictions(tmp_path / f"{n}.parquet", choices(*((p, "A") for p in PAIRS[n])), model=n))
        for n in names
    ]


def test_two_files_differ_as_mmscore_compare_says(tmp_path):
    paths = files(tmp_path, "ab")
    (found,) = differences(list(score_results(paths, ["own_choice"], ScoreOptions())))
    told = compare(*paths, recipe="own_choice").to_json()
    assert (found["a"], found["b"], found["rows"]["compared"]) == (0, 1, 12)
    for name, score in told["scores"].items():
        assert found["scores"][name] == score | {"p_holm": score["p"]}


@pytest.mark.slow
@pytest.mark.release
def test_several_pairs_are_adjusted_for(tmp_path):
    found = differences(list(score_results(files(tmp_path, "abc"), ["own_choice"], ScoreOptions())))
    assert [(one["a"], one["b"]) for one in found] == [(0, 1), (0, 2), (1, 2)]
    accuracies = [one["scores"]["accuracy"] for one in found]
    assert min(score["p_holm"] for score in accuracies) == 3 * min(score["p"] for score in accuracies)


def test_recipes_on_one_file_part_as_mmscore_explain_says(tmp_path):
    (path,) = files(tmp_path, "c")
    names = ["own_choice", "evalscope_general_vmcq"]
    found = gaps(list(score_results([path], names, ScoreOptions())))
    assert [(one["a"], one["b"]) for one in found] == [(0, 1)]
    assert found[0]["gap"] == explain(path, recipe=names).to_json()["gap"]


def test_files_without_a_row_in_common_are_not_compared(tmp_path):
    rows = choices(("A", "A"), ("B", "B"))
    one = write_predictions(tmp_path / "1.parquet", rows)
    other = write_predictions(tmp_path / "2.parquet", [{**row, "id": f"x{row['id']}"} for row in rows])
    assert differences(list(score_results([one, other], ["own_choice"], ScoreOptions()))) == []
