"""A comparison and the bars of a report in a notebook: the verdict, both sides, nothing of a file as markup."""

import re
from pathlib import Path

import pytest

import mmscore
from support.predictions import choices, write_predictions

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Two models of 40 rows, of which the second has 20 more right."""
    answers = ["A", "B"] * 20
    rows = choices(*(("A", answer) for answer in answers), category=HOSTILE)
    better = choices(*((answer, answer) for answer in answers), category=HOSTILE)
    first = write_predictions(tmp_path / "first.parquet", rows, model="first")
    return first, write_predictions(tmp_path / "second.parquet", better, model=HOSTILE)


def find_cells(page: str) -> list[str]:
    return re.findall(r"<td>(.*?)</td>", page)


def test_a_comparison_shows_its_verdict_and_both_sides(files) -> None:
    comparison = mmscore.compare(*files, recipe="own_choice", by=("category",))
    page = comparison._repr_html_()
    found = comparison.scores["accuracy"]
    low, high = found.ci95
    verdict = f"accuracy: B is higher than A (B - A = +0.5000, 95 % interval +{low:.4f} to +{high:.4f}, p &lt; 0.001)."
    assert f"<b>{verdict}</b>" in page
    cells = find_cells(page)
    assert {"0.5000", "1.0000", "+0.5000", "20 : 0"} <= {*cells}
    assert re.findall(r'<rect width="([\d.]+)" height="12" fill="#', page)[:2] == ["80.0", "160.0"]
    assert "40 rows compared, own_choice@1 (own)" in page
    assert str(files[0]) in page
    assert "<summary>by category (1)</summary>" in page
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page


def test_at_a_terminal_a_report_is_a_line_an_entry_and_a_comparison_one(files) -> None:
    report, comparison = mmscore.score(list(files), "own_choice"), mmscore.compare(*files, recipe="own_choice")
    first, second = repr(report).splitlines()
    assert first.startswith("first  ")
    assert first.endswith("  n=40  unparsed=0")
    assert len(second) < 200
    assert repr(comparison) == (
        f"<Comparison of A 'first' and B {HOSTILE!r} by own_choice@1: "
        f"accuracy 0.5000 and 1.0000, B - A +0.5000, p {comparison.scores['accuracy'].p:.2g}>"
    )


def test_a_comparison_of_equal_files_says_that_nothing_differs(files) -> None:
    page = mmscore.compare(files[0], files[0], recipe="own_choice")._repr_html_()
    assert "<b>accuracy: no difference beyond chance (B - A = 0.0000, p = 1.0000).</b>" in page
    assert "accuracy: no row differs, so there is no interval." in page


def test_a_report_shows_a_bar_with_the_interval_of_each_share(files) -> None:
    report = mmscore.score(list(files), "own_choice")
    page = report._repr_html_()
    accuracy = report.entries[0].metrics["accuracy"]
    low, high = (160 * end for end in accuracy.ci95)
    first = page[page.index("<td>accuracy</td>") :]
    assert first.index("<title>0.5000 of 1</title>") < first.index("<td>40</td>")
    assert f'<line x1="{low:.1f}" x2="{high:.1f}"' in first
    assert page.count("<svg") == page.count("</svg>") >= 4
    assert HOSTILE not in page
