"""`mmscore leaderboard`: many reports as one page, its data, and the card of a Space."""

import csv
import json
from pathlib import Path

import pytest
import yaml

import mmscore
from mmconvert.core.errors import Error, UsageError
from mmscore.core.estimates import Estimate
from mmscore.core.report import Counts, Entry, Report, json_text
from mmscore.workflow.leaderboard import LeaderboardOptions, build_board, write_leaderboard

OPTIONS = LeaderboardOptions(title="Colours & <shapes>")


def build_entry(model: str, dataset: str, value: float, **changes: object) -> Entry:
    estimate = Estimate(value, 100, 0.05, (value - 0.1, value + 0.1))
    about = {"recipe": "own_choice", "version": "1", "parity": "own", "reason": "asked", "groups": {}, "signature": "s"}
    counts = Counts(100, 100, 0, 0, 0, 0, 0, 0)
    given = {"metrics": {"accuracy": estimate}, "counts": counts, "partial": False, "model": model, "dataset": dataset}
    return Entry(**{**about, **given, **changes})


def write(folder: Path, name: str, *entries: Entry) -> None:
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json_text(Report(entries).to_json()), encoding="utf-8")


def test_models_are_ordered_by_average_place_and_the_incomplete_come_last(tmp_path: Path) -> None:
    write(tmp_path / "in", "a/one/report.json", build_entry("a", "one", 0.5), build_entry("a", "two", 0.7))
    write(tmp_path / "in", "b.json", build_entry("<b>", "one", 0.6), build_entry("<b>", "two", 0.8))
    write(tmp_path / "in", "c/report.json", build_entry("c", "one", 0.9))
    (tmp_path / "in" / "summary.json").write_text('{"models": [], "rows": []}')
    board = write_leaderboard(tmp_path / "in", tmp_path / "out", OPTIONS)
    assert [(line.model, line.average_place) for line in board.lines] == [("<b>", 1.5), ("a", 2.5), ("c", 1.0)]
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "<h1>Colours &amp; &lt;shapes&gt;</h1>" in page
    assert "<b>" not in page
    assert page.count("<td>c *</td>") == 1
    assert "<td class=best>90.0 % [80.0, 100.0]</td>" in page
    with (tmp_path / "out" / "leaderboard.csv").open(newline="") as file:
        assert [row["two own_choice@1 accuracy"] for row in csv.DictReader(file)] == ["0.8", "0.7", ""]
    data = json.loads((tmp_path / "out" / "leaderboard.json").read_bytes())
    assert [model["complete"] for model in data["models"]] == [True, True, False]
    card = yaml.safe_load((tmp_path / "out" / "README.md").read_text().split("---")[1])
    assert (card["sdk"], card["app_file"], card["title"]) == ("static", "index.html", "Colours & <shapes>")


def test_a_metric_of_which_less_is_better_is_ranked_the_other_way_round() -> None:
    def build(model: str, value: float) -> Entry:
        return build_entry(model, "one", 0.0, metrics={"errors": Estimate(value, 10, higher_is_better=False)})

    board = build_board([("a.json", build("a", 0.2)), ("b.json", build("b", 0.1))], "t")
    assert [line.model for line in board.lines] == ["b", "a"]


def test_a_score_that_does_not_exist_has_no_place() -> None:
    entries = [build_entry("a", "one", float("nan")), build_entry("b", "one", 0.1)]
    board = build_board([(f"{entry.model}.json", entry) for entry in entries], "t")
    assert [(line.model, line.places) for line in board.lines] == [("b", [1.0]), ("a", [])]


def test_two_scores_of_one_model_are_refused_by_name(tmp_path: Path) -> None:
    for name in ("one.json", "two.json"):
        write(tmp_path, name, build_entry("a", "one", 0.5))
    with pytest.raises(Error, match=r"two.json: a has a score of one by own_choice@1 in .*one.json too"):
        write_leaderboard(tmp_path, tmp_path / "out", OPTIONS)
    assert not (tmp_path / "out").exists()


def test_a_folder_without_a_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no report with a score"):
        mmscore.leaderboard(tmp_path, tmp_path / "out")
    with pytest.raises(UsageError, match="is no folder"):
        mmscore.leaderboard(tmp_path / "missing", tmp_path / "out")
