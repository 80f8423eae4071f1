import io

import pytest
from rich.console import Console

from mmscore.analysis.rank import compute_ranking, score_file
from mmscore.api import compare, explain
from mmscore.core.ranking import RankColumn
from mmscore.reporting import compare_table, explain_table, rank_table
from mmscore.reporting.console_table import build_plain_table, print_table
from mmscore.reporting.report_table import show
from mmscore.scoring.evaluate import score
from support.predictions import choices, write_predictions


@pytest.mark.parametrize(("width", "between"), [(100, "   "), (80, " ")])
def test_names_of_numbers_stay_whole_at_a_narrow_terminal(tmp_path, width, between):
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), ("?", "B")))
    shown = io.StringIO()
    show(score([file], ["own_choice"]), Console(file=shown, width=width), verbose=True)
    assert f"accuracy_if_unparsed_dropped{between}1.0000{between}1{between}" in shown.getvalue()


def printed(width, *names, title=None):
    table = build_plain_table(*names, first="model", title=title)
    table.add_row("a model of a long name", *(f"{n}.1234" for n in range(len(names))))
    shown = io.StringIO()
    print_table(Console(file=shown, width=width), table)
    return shown.getvalue()


@pytest.mark.parametrize("width", [40, 79, 200])
def test_no_column_is_lost_and_no_number_is_broken(width):
    names = [f"column_{n}" for n in range(9)]
    text = printed(width, *names, title="all of them")
    assert max(map(len, text.splitlines())) <= width
    headings = [line.split() for line in text.splitlines() if line.split()[:1] == ["model"]]
    assert [name for line in headings for name in line[1:]] == names
    assert all(f"{n}.1234" in text for n in range(9))
    assert text.count("a model of") == len(headings)
    assert text.count("all of them") == 1


def test_a_long_name_gives_way_to_numbers():
    text = printed(30, "accuracy", "f1")
    assert "0.1234" in text
    assert "1.1234" in text


def test_tables_of_compare_rank_and_explain_stay_whole_at_a_narrow_terminal(tmp_path):
    a, b = (
        str(write_predictions(tmp_path / f"{name}.parquet", choices((name, "A"), ("A", "B"), model=name, dataset="D")))
        for name in "AB"
    )
    cells = [score_file(path, lambda dataset, tasks: RankColumn("D", "D")) for path in (a, b)]
    for found, view, words in (
        (compare(a, b, recipe="own_choice"), compare_table, ["only B right", "exact McNemar", "-1.0000 to +0.0000"]),
        (compute_ranking(cells, "dataset"), rank_table, ["50.00 (1)", "0.00 (2)", "Gen-Avg-Score"]),
        (explain(a, recipe=["own_choice", "vlmevalkit_mcq"]), explain_table, ["rule in B", "of B - A", "+0.0000"]),
    ):
        shown = io.StringIO()
        view.show(found, Console(file=shown, width=60, highlight=False))
        assert [word for word in words if word not in shown.getvalue()] == []
