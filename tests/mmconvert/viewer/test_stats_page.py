"""The page of statistics in a real Chromium: it says nothing, asks for nothing, and shows texts as texts."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, expect

import mmconvert
from mmconvert.core.record import Part, Record, Source, Turn
from mmconvert.curation.tallies import Repeats
from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.images.loader import ImageLoader
from mmconvert.viewer.stats_page import write_stats_page
from mmconvert.viewer.stats_tables import Bar, build_stats_tables
from support.browser import opened
from support.layout import find_problems
from support.records import image_bytes

EVIL = "</script><img src=x onerror=alert(1)>\u202e\x1b[31m & a very long name of a category"


@pytest.fixture
def found(tmp_path: Path) -> mmconvert.DatasetStatistics:
    """Statistics of samples of all kinds, with a category that is an attack."""
    records = []
    for n in range(40):
        size = (40 + 60 * n, 30 + 40 * (n % 7))
        image = ImageLoader(()).of_bytes(image_bytes("PNG" if n % 3 else "JPEG", n, size), 1)
        turns = (Turn("user", (Part("image"), Part("text", "What is it? " * (n + 1)))),)
        about = {"category": EVIL if n % 2 else "plain", "options": ("a", "b"), "answer": "AB"[n % 2]}
        records.append(Record(str(n), str(n), turns, "multiple_choice", Source("f", "f", n), images=(image,), **about))
    with DatasetWriter(tmp_path / "set") as writer:
        writer.write(records[:30], "train")
        writer.write(records[30:], "test")
    return mmconvert.stats(tmp_path / "set")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_the_page_shows_tables_and_charts(browser: Browser, found, tmp_path, scheme, width):
    path = tmp_path / "page.html"
    write_stats_page(found, path)
    with opened(browser, path, color_scheme=scheme, viewport={"width": width, "height": 900}) as page:
        expect(page.locator("h1")).to_have_text("set")
        expect(page.locator(".lead")).to_contain_text("40 samples, 40 images")
        chart = page.locator("section.stats", has_text="Column category").locator("svg")
        expect(chart.locator("rect")).to_have_count(2)
        lengths = chart.locator("rect").evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
        assert lengths[0] == pytest.approx(lengths[1], abs=0.5)
        assert lengths[0] > 50
        expect(chart.locator("title").first).to_contain_text(
            "</script><img src=x onerror=alert(1)>\\u202e\\x1b[31m & a"
        )
        assert page.locator("img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert find_problems(page) == []


def test_a_notebook_shows_the_same_tables(found):
    shown = found._repr_html_()
    assert shown is not None
    titles = re.findall(r"<h2>(.*?)</h2>", shown)
    assert titles == [table.title for table in build_stats_tables(found)]
    assert "<img" not in shown
    assert "\u202e" not in shown


def test_rare_values_share_a_line_and_estimates_are_said(found):
    values = {f"v{n:02}": 100 - n for n in range(20)}
    many = replace(found, values={"subset": values}, repeats={"id": Repeats(9, 8, 1, 0, estimated=True)})
    tables = {table.title: table for table in build_stats_tables(many)}
    assert tables["Column subset"].bars[-1] == Bar("9 others", sum(range(81, 90)))
    assert len(tables["Column subset"].bars) == 12
    assert tables["Repeated"].rows == (("ids", "about 8", "about 1", "about 0"),)
    assert "8,388,608" in tables["Repeated"].note
