"""The page in a real Chromium: what it shows is the report, and what it shows is text."""

import json
import re

import pytest
from playwright.sync_api import expect

from mmscore.cli import program
from mmscore.reporting.console_table import format_number
from mmscore.reporting.html.page import write_report
from mmscore.scoring.evaluate import ScoreOptions, score_results
from support.browser import opened
from support.predictions import choices, write_predictions

HOSTILE = '</script><script>window.hacked = true</script><img src=x onerror="window.hacked = true">\u202egnp.exe\x00'
LETTERS = "ABC"


def answers(model, skill):
    """Make replies to sixty questions; every fourth names the text of the option instead of its letter."""
    rows = []
    for n in range(60):
        right = LETTERS[n % 3]
        letter = right if n % 10 < skill else LETTERS[(n + 1) % 3]
        text = ("red", "green", "blue")[LETTERS.index(letter)]
        reply = "who knows" if n % 20 == 19 else text if n % 4 == 3 else f"It is ({letter})."
        row = choices((reply, right), model=model, category=("counting", HOSTILE)[n % 2], dataset="Shapes")[0]
        rows.append({**row, "id": str(n), "question": f"Question {n} {HOSTILE}"})
    return rows


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    return [
        write_predictions(folder / f"{n}.parquet", answers(f"m{n} {HOSTILE}", skill)) for n, skill in ((1, 7), (2, 9))
    ]


@pytest.fixture(scope="module")
def models(files):
    path = files[0].with_name("models.html")
    found = list(score_results(files, ["own_choice"], ScoreOptions()))
    write_report(path, found)
    return path, [result.entry.to_json() for result in found]


@pytest.fixture(scope="module")
def recipes(files):
    path = files[0].with_name("recipes.html")
    found = list(score_results(files[:1], ["own_choice", "evalscope_general_vmcq"], ScoreOptions()))
    write_report(path, found)
    return path, found


def status(page):
    return int(page.locator("#items [role=status]").inner_text().split()[0].replace(",", ""))


def panel(page, title):
    return page.locator(".panel", has=page.get_by_role("heading", name=title, exact=True))


def test_the_numbers_of_the_cards_are_those_of_the_json_report(browser, models):
    path, entries = models
    with opened(browser, path) as page:
        for card, entry in zip(page.locator(".card").all(), entries, strict=True):
            told = [(float(one.get_attribute("value")), one.inner_text()) for one in card.locator("data").all()]
            counts = entry["counts"]
            expected = [(m["value"], format_number(m["value"], m["unit"])) for m in entry["metrics"].values()]
            expected[1:1] = [(counts[name], str(counts[name])) for name in ("total", "scored", "unparsed")]
            assert told == expected
            interval = " to ".join(format_number(x, "fraction") for x in entry["metrics"]["accuracy"]["ci95"])
            assert f"95 % interval {interval}, 60 rows, fraction" in card.inner_text()


@pytest.mark.release
def test_the_numbers_of_groups_are_those_of_the_json_report(browser, models):
    path, entries = models
    with opened(browser, path) as page:
        table = panel(page, "By category").locator("tbody tr")
        told = [float(one.locator("data").get_attribute("value")) for one in table.all()]
        assert told == [
            group["accuracy"]["value"] for entry in entries for group in entry["groups"]["category"].values()
        ]
        panel(page, "By category").get_by_label("number").select_option("accuracy_if_unparsed_guessed")
        told = [float(one.locator("data").get_attribute("value")) for one in table.all()]
        name = "accuracy_if_unparsed_guessed"
        assert told == [group[name]["value"] for entry in entries for group in entry["groups"]["category"].values()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_chart_has_a_name_a_table_and_the_colours_of_the_theme(browser, models, scheme):
    with opened(browser, models[0], color_scheme=scheme) as page:
        charts = page.locator(".canvas svg")
        expect(charts).to_have_count(6)
        for chart in page.locator(".chart", has=page.locator("svg")).all():
            assert chart.get_by_role("img").get_attribute("aria-label")
            assert chart.locator(".numbers tbody tr").count() > 0
        ink = charts.first.locator("text").last.evaluate("(one) => getComputedStyle(one).fill")
        assert (sum(map(int, re.findall(r"\d+", ink)[:3])) > 3 * 128) == (scheme == "dark")


@pytest.mark.release
def test_models_are_held_against_each_other_with_the_test_that_compare_makes(browser, models):
    with opened(browser, models[0]) as page:
        line = panel(page, "Is the difference more than chance?").locator(".sheet tbody tr").last
        assert [cell.inner_text() for cell in line.locator("td").all()][::4] == ["+0.2000", "higher"]


@pytest.mark.release
def test_a_number_of_the_matrix_shows_its_rows(browser, models):
    with opened(browser, models[0]) as page:
        cells = page.locator(".matrix tbody button")
        for cell in (cells.first, cells.nth(3), cells.last):
            number = int(cell.inner_text())
            cell.press("Enter")
            assert status(page) == number


@pytest.mark.release
def test_a_bar_shows_its_rows(browser, models):
    with opened(browser, models[0]) as page:
        panel(page, "By category").locator("svg .live").first.click()
        assert status(page) == 30
        expect(page).to_have_url(re.compile("is.category=counting"))


@pytest.mark.release
def test_the_rows_that_explain_a_gap_are_those_that_changed(browser, recipes):
    path, found = recipes
    with opened(browser, path) as page:
        gap = panel(page, "evalscope_general_vmcq@1.14 against own_choice@1")
        changed = gap.locator("tbody .link")
        numbers = [int(one.inner_text()) for one in changed.all()]
        changed.first.click()
        assert status(page) == numbers[0]
        gap.get_by_role("button", name="Show the rows on which recipes disagree").click()
        values = [result.scored.scores[next(iter(result.scored.scores))] for result in found]
        assert status(page) == sum(numbers) == int((values[0] != values[1]).sum())


def test_filters_pass_the_rows_that_they_name(browser, models):
    path, entries = models
    with opened(browser, path) as page:
        for name, count in (("unparsed", 3), ("models disagree", 12)):
            page.locator("#items .chip", has_text=name).click()
            assert status(page) == count
            page.get_by_role("button", name="Clear filters").click()
        assert status(page) == entries[0]["counts"]["total"]


def test_hostile_text_is_shown_as_text(browser, models):
    with opened(browser, models[0], "item=3") as page:
        assert page.evaluate("window.hacked") is None
        for place in ("h1", ".card h2", ".legend", "#item"):
            text = page.locator(place).first.inner_text()
            if place != "h1":
                assert "<script>window.hacked" in text
                assert "RLO" in text
                assert "\u202e" not in text
        assert page.locator("img[src=x]").count() == 0


@pytest.mark.release
def test_the_page_prints_without_its_tools_and_says_which_number_a_chart_shows(browser, models):
    with opened(browser, models[0]) as page:
        page.emulate_media(media="print")
        assert not page.locator(".choices").first.is_visible()
        assert page.locator(".chart figcaption", has_text="accuracy by category").is_visible()


@pytest.mark.release
def test_a_printed_page_is_no_wider_than_its_paper(browser, files, tmp_path):
    recipes = ["own_choice", "vlmevalkit_mcq", "evalscope_general_vmcq"]
    write_report(tmp_path / "r.html", list(score_results(files, recipes, ScoreOptions())))
    with opened(browser, tmp_path / "r.html", viewport={"width": 720, "height": 1000}) as page:
        page.keyboard.press("j")
        page.emulate_media(media="print")
        assert page.evaluate("document.documentElement.scrollWidth") <= 720


@pytest.mark.release
def test_a_narrow_window_shows_a_result_beside_the_question(browser, tmp_path):
    rows = [{**row, "id": f"{row['id']}{'x' * 40}"} for row in answers("m", 7)]
    file = write_predictions(tmp_path / "p.parquet", rows)
    write_report(tmp_path / "r.html", list(score_results([file], ["own_choice"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html", viewport={"width": 390, "height": 844}) as page:
        box = page.locator("#items tbody tr").first.locator(".tag").bounding_box()
        assert box["x"] + box["width"] <= 390


def test_html_of_the_command_line_shows_what_json_says(browser, files, tmp_path, capsys):
    page_file, json_file = tmp_path / "r.html", tmp_path / "r.json"
    options = ["--recipe", "own_choice", "--html", str(page_file), "-o", str(json_file), "--quiet"]
    assert program.main(["score", str(files[0]), *options], standalone_mode=False) == 0
    (entry,) = json.loads(json_file.read_text())["entries"]
    with opened(browser, page_file) as page:
        assert float(page.locator(".large data").get_attribute("value")) == entry["metrics"]["accuracy"]["value"]


def test_a_file_without_a_score_says_so(browser, tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices((None, "A"), (None, "B")))
    write_report(tmp_path / "r.html", list(score_results([file], ["own_choice"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html") as page:
        assert "no row is scored" in page.locator(".card").inner_text()
        assert [one.inner_text() for one in page.locator(".panel h2").all()] == ["What became of the rows"]
        assert status(page) == 2


@pytest.mark.release
def test_a_fraction_beside_a_percentage_is_drawn_on_one_scale(browser, tmp_path):
    rows = [{**row, "task": "yes_no", "options": None} for row in choices(*[("Yes", "Yes"), ("Yes", "No")] * 5)]
    file = write_predictions(tmp_path / "p.parquet", rows, model="m", dataset="Shapes")
    write_report(tmp_path / "r.html", list(score_results([file], ["vlmevalkit_yorn", "pope_official"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html") as page:
        chart = panel(page, "Side by side").locator("svg[aria-label=accuracy]")
        expect(chart).to_have_count(1)
        widths = chart.locator("[aria-label=bar]").evaluate(
            "mark => [...mark.children].map(bar => bar.getBBox().width)"
        )
        assert widths == [pytest.approx(widths[0])] * 2
        assert widths[0] > 50
        assert chart.locator("[aria-label=text] text").all_text_contents() == ["50.00", "0.5000"]


@pytest.mark.release
def test_a_category_that_is_called_like_a_part_of_the_language_is_a_text(browser, tmp_path):
    rows = [{**row, "category": name} for name in ("constructor", "__proto__") for row in choices(("A", "A"))]
    rows = [{**row, "id": str(n)} for n, row in enumerate(rows)]
    file = write_predictions(tmp_path / "p.parquet", rows, model="m")
    write_report(tmp_path / "r.html", list(score_results([file], ["own_choice"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html") as page:
        expect(page.locator("#items td bdi.tag")).to_have_text(["right", "right"])


@pytest.mark.release
def test_a_pair_of_models_is_named_by_what_differs(browser, tmp_path):
    files = [
        write_predictions(tmp_path / f"{name}.parquet", choices(*[("A", "A"), (reply, "B")] * 5), model=name)
        for name, reply in (("one", "A"), ("two", "B"), ("three", "C"))
    ]
    write_report(tmp_path / "r.html", list(score_results(files, ["own_choice", "vlmevalkit_mcq"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html") as page:
        pairs = (
            panel(page, "Is the difference more than chance?")
            .locator("table")
            .last.locator("tbody th, tbody td:first-child")
        )
        assert pairs.first.inner_text() == "two − one · own_choice@1"


@pytest.mark.release
def test_thousands_of_groups_stay_readable(browser, tmp_path):
    rows = [{**row, "category": f"group {n}"} for n, row in enumerate(choices(*[("A", "A")] * 2_000))]
    file = write_predictions(tmp_path / "p.parquet", rows)
    write_report(tmp_path / "r.html", list(score_results([file], ["own_choice"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html") as page:
        groups = panel(page, "By category")
        assert "The 40 largest of 2,000 groups; the table has 300 lines of 2,000" in groups.inner_text()
        assert groups.locator("tbody tr").count() == 300
        expect(groups.locator("svg .live")).to_have_count(40)


@pytest.mark.release
def test_everything_that_can_be_used_has_a_name_and_every_matrix_a_caption(browser, models):
    with opened(browser, models[0]) as page:
        named = "(all) => all.map((one) => one.ariaLabel || one.closest('label')?.textContent || one.textContent)"
        names = page.locator("#summary :is(button, select, summary, [role=img], [role=region])").evaluate_all(named)
        assert len(names) > 30
        assert all(name.strip() for name in names)
        assert page.locator("#summary table").count() == page.locator("#summary table > caption").count()
