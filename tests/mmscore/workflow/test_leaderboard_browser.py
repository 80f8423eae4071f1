"""The leaderboard in a real Chromium: every score is readable at any width, and names are text."""

from pathlib import Path

import pytest

from mmscore.core.estimates import Estimate
from mmscore.core.report import Counts, Entry, Report, json_text
from mmscore.workflow.leaderboard import LeaderboardOptions, write_leaderboard
from support.browser import opened
from support.layout import SCHEMES, find_problems

pytestmark = pytest.mark.slow

HOSTILE = "<script>window.hacked = true</script>"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board")
    counts = Counts(100, 100, 0, 0, 0, 0, 0, 0)
    for model, value in (("a", 0.5), (f"b {HOSTILE}", 0.75)):
        metrics = {"accuracy": Estimate(value, 100, 0.05, (value - 0.1, value + 0.1))}
        entries = tuple(
            Entry("own_choice", "1", "own", "asked", metrics, {}, counts, False, model, f"{name} {HOSTILE}", "s")
            for name in ("one", "two", "three")
        )
        (folder / f"{value}.json").write_text(json_text(Report(entries).to_json()))
    write_leaderboard(folder, folder / "space", LeaderboardOptions(title=f"Board {HOSTILE}"))
    return folder / "space" / "index.html"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_scores_are_readable_and_names_are_text(browser, page: Path, scheme: str) -> None:
    with opened(browser, page, viewport={"width": 1280, "height": 800}, color_scheme=scheme) as shown:
        assert shown.locator("h1").inner_text() == f"Board {HOSTILE}"
        assert shown.locator("tbody tr").count() == 2
        assert shown.locator("td.best").all_inner_texts() == ["75.0 % [65.0, 85.0]"] * 3
        assert shown.evaluate("window.hacked") is None
        assert find_problems(shown) == []


def test_on_a_telephone_the_table_scrolls_and_the_page_does_not(browser, page: Path) -> None:
    with opened(browser, page, viewport={"width": 360, "height": 800}) as shown:
        assert shown.evaluate("document.documentElement.scrollWidth") <= 360
        shown.locator("td.best").last.scroll_into_view_if_needed()
        box = shown.locator("td.best").last.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
