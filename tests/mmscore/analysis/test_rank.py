import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy.stats import rankdata

from mmconvert.core.errors import Error, UsageError
from mmscore.analysis.rank import compute_ranking, compute_shared_ranks, require_one_recipe, score_file
from mmscore.core.ranking import RankCell, RankColumn
from mmscore.reporting.rank_table import build_overview, list_gaps, list_shortfalls, to_csv, to_markdown
from support.json_shape import faults
from support.predictions import choices, write_predictions


def cell(model, dataset, column, score, method="generation", unscored=0):
    file = f"{model}-{dataset}-{method}"
    return RankCell(model, method, dataset, column, "accuracy", score, 10, unscored, "own_choice@1", file)


FULL = [
    cell("m1", "d1", "x", 80.0),
    cell("m1", "d2", "x", 60.0),
    cell("m1", "d3", "y", 10.0),
    cell("m2", "d1", "x", 70.0),
    cell("m2", "d2", "x", 70.0),
    cell("m2", "d3", "y", 30.0),
    cell("m3", "d1", "x", 0.0),
    cell("m3", "d2", "x", 0.0),
    cell("m3", "d3", "y", 20.0),
]


@given(st.lists(st.integers(0, 5).map(float), min_size=1))
def test_equal_scores_share_the_mean_of_their_places(scores):
    assert compute_shared_ranks(scores) == rankdata([-score for score in scores]).tolist()


def test_averages_are_those_of_columns_and_columns_those_of_their_datasets():
    (table,) = compute_ranking(FULL, "dimension").tables
    found = {standing.model: standing for standing in table.standings}
    assert found["m1"].scores == {"x": 70.0, "y": 10.0}
    assert found["m1"].ranks == {"x": 1.5, "y": 3.0}
    assert found["m2"].ranks == {"x": 1.5, "y": 1.0}
    assert (found["m1"].average_score, found["m1"].average_rank) == (40.0, 2.25)
    assert [standing.model for standing in table.standings] == ["m2", "m1", "m3"]


def test_methods_are_ranked_apart():
    ranking = compute_ranking([*FULL, cell("m3", "d1", "x", 99.0, "likelihood")], "dimension")
    assert [(table.method, len(table.standings)) for table in ranking.tables] == [("generation", 3), ("likelihood", 1)]
    assert ranking.tables[1].standings[0].average_rank == 1
    assert ranking.complete
    headings, lines = build_overview(ranking)
    assert headings == ["Model", "Gen-Avg-Rank", "Gen-Avg-Score", "Like-Avg-Rank", "Like-Avg-Score"]
    assert ["m3", "2.5", "10.00", "1.0", "99.00"] in lines
    assert ["m2", "1.2", "50.00", "-", "-"] in lines


def test_missing_datasets_are_named_and_no_rank_is_made_up():
    ranking = compute_ranking(
        [c for c in FULL if (c.model, c.dataset) not in {("m1", "d3"), ("m2", "d2")}], "dimension"
    )
    found = {standing.model: standing for standing in ranking.tables[0].standings}
    assert found["m1"].missing == ("d3",)
    assert found["m2"].missing == ("d2",)
    assert "y" not in found["m1"].ranks
    assert found["m1"].average_rank == found["m1"].ranks["x"] == 1.5
    assert not ranking.complete
    assert list_gaps(ranking) == ["m2 by generation lacks d2", "m1 by generation lacks d3"]


def test_rows_without_a_score_make_it_incomplete():
    assert not compute_ranking([cell("m1", "d1", "x", 1.0, unscored=2)], "dimension").complete


def test_a_part_of_a_dataset_makes_it_incomplete_and_is_named():
    ranking = compute_ranking([replace(FULL[0], partial=True), replace(FULL[3], unscored=2)], "dimension")
    assert not ranking.complete
    lines = ["m2-d1-generation: 2 rows have no score", "m1-d1-generation: covers a part of d1 only"]
    assert list_shortfalls(ranking) == lines
    assert to_markdown(ranking).endswith(f"Not all rows:\n\n- {lines[0]}\n- {lines[1]}\n")
    assert ranking.to_json()["cells"][0]["partial"]


@pytest.mark.parametrize("change", [{"recipe": "own_choice@2"}, {"metric": "f1"}])
def test_numbers_of_two_recipes_are_not_ranked_together(change):
    require_one_recipe(FULL)
    require_one_recipe([FULL[0], replace(FULL[3], **change, method="likelihood"), replace(FULL[4], **change)])
    with pytest.raises(UsageError, match=r"^d1: m1-d1-generation has accuracy of own_choice@1, m2-d1.*--recipe"):
        require_one_recipe([FULL[0], replace(FULL[3], **change)])


def test_columns_stand_in_the_order_given():
    (table,) = compute_ranking(FULL, "dimension", ("z", "y", "x")).tables
    assert list(table.datasets) == ["y", "x"]


@given(st.permutations(FULL))
def test_the_order_of_files_changes_no_number(cells):
    expected = {s.model: (s.average_rank, s.average_score) for s in compute_ranking(FULL, "d").tables[0].standings}
    assert {
        s.model: (s.average_rank, s.average_score) for s in compute_ranking(cells, "d").tables[0].standings
    } == expected


def test_two_files_for_one_place_are_refused():
    with pytest.raises(UsageError, match=r"m1-d1-generation and m1-d1-generation are both m1 on d1 by generation"):
        compute_ranking([FULL[0], FULL[0]], "dimension")


def test_markdown_and_csv_hold_every_number():
    ranking = compute_ranking([cell("a|b\nc", "d1", "x", 50.0), *FULL[3:5]], "dimension", sizes={"x": 9})
    text = to_markdown(ranking)
    assert "| a\\|b c | 2.0* | 50.00 |" in text
    assert "| Model | x (2/9) |" in text
    assert "- a\\|b c by generation lacks d2" in text
    assert to_csv(ranking).splitlines() == [
        "model,method,average_rank,average_score,x score,x rank,missing",
        "m2,generation,1.0,70.0,70.0,1.0,",
        '"a|b',
        'c",generation,2.0,50.0,50.0,2.0,d2',
    ]


def test_no_cell_runs_in_a_spreadsheet_and_the_json_keeps_every_text():
    ranking = compute_ranking([cell("=cmd()", "@d", "+x", -0.5), cell("m", "-1", "+x", 1.0)], "dimension")
    header, first, second = csv.reader(to_csv(ranking).splitlines())
    assert header[4:] == ["'+x score", "'+x rank", "missing"]
    assert first[:2] == ["m", "generation"]
    assert [second[0], second[3], second[-1]] == ["'=cmd()", "-0.5", "-1"]
    assert ranking.to_json()["tables"][0]["standings"][1]["model"] == "=cmd()"


def test_the_json_has_the_shape_that_the_schema_says():
    found = compute_ranking([*FULL, cell("m3", "d1", "x", 99.0, "likelihood")], "dimension", sizes={"x": 9}).to_json()
    assert faults(json.loads(json.dumps(found, allow_nan=False)), "rank.json") == []


def anywhere(dataset, tasks):
    return RankColumn(dataset or "unnamed", "x", "accuracy")


def test_a_file_is_measured_by_its_recipe(tmp_path):
    file = write_predictions(
        tmp_path / "p.parquet", choices(("A", "A"), ("B", "A"), (None, "A"), model="m", dataset="d")
    )
    found = score_file(str(file), anywhere)
    assert (found.model, found.dataset, found.score, found.n, found.unscored) == ("m", "d", 50.0, 2, 1)
    assert (found.method, found.recipe) == ("generation", "own_choice@1")


@pytest.mark.parametrize(
    ("columns", "method"),
    [({}, "generation"), ({"method": "generate"}, "generation"), ({"method": "likelihood"}, "likelihood"),
     ({"extra": '{"infer_method": "likelihood"}'}, "likelihood"), ({"extra": "{}"}, "generation")],
)  # fmt: skip
def test_the_method_is_what_the_file_says(tmp_path, columns, method):
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), **columns))
    assert score_file(str(file), anywhere, method_columns=("method", "extra.infer_method")).method == method


def test_what_cannot_be_ranked_is_refused(tmp_path):
    rows = choices(("A", "A"), ("A", "A"))
    for row, method, dataset in zip(rows, ("generate", "likelihood"), "de", strict=True):
        row |= {"method": method, "dataset": dataset}
    mixed = str(write_predictions(tmp_path / "p.parquet", rows))
    with pytest.raises(Error, match="dataset: holds d, e"):
        score_file(mixed, anywhere)
    mixed = str(write_predictions(tmp_path / "q.parquet", [{**row, "dataset": "d"} for row in rows]))
    with pytest.raises(Error, match="method: has predictions by generation and by likelihood"):
        score_file(mixed, anywhere)
    with pytest.raises(UsageError, match=r"gives no number 'acc'.*Found: accuracy"):
        score_file(str(write_predictions(tmp_path / "r.parquet", rows[:1])), anywhere, metric="acc")
