"""The page in a real Chromium: what it shows is the report, and what it shows is text."""

import json
import re

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect

from mmscore.cli import program
from mmscore.reporting.html.page import PageOptions, write_report
from mmscore.scoring.evaluate import ScoreOptions, score_results
from support.browser import opened
from support.deferred import defer
from support.layout import SCHEMES, WIDTHS, find_keyboard_problems, find_problems, open_all
from support.predictions import choices, write_predictions

HOSTILE = '</script><script>window.hacked = true</script><img src=x onerror="window.hacked = true">\u202egnp.exe\x00'
LETTERS = "ABC"


def answers(model, skill):
    """Make responses to sixty questions; every fourth names the text of the option instead of its letter."""
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
    """Give a panel, unfolded."""
    found = page.locator(".panel", has=page.get_by_role("heading", name=title, exact=True))
    found.evaluate("(one) => { one.open = true; }")
    return found


def percent(value):
    return f"{value * 100:.1f} %"


def test_the_matrix_shows_score_interval_and_counts_of_the_json_report_and_marks_the_best(browser, models):
    path, entries = models
    with opened(browser, path) as page:
        cells = page.locator(".scores td").all()
        for cell, entry in zip(cells, entries, strict=True):
            metric = entry["metrics"]["accuracy"]
            low, high = (value * 100 for value in metric["ci95"])
            assert float(cell.locator("data").get_attribute("value")) == metric["value"]
            shown = cell.inner_text()
            assert shown.startswith(f"{percent(metric['value'])} ± {(high - low) / 2:.1f}")
            assert f"95 % {low:.1f} to {high:.1f}" in shown
            assert f"n 60 · {entry['counts']['unparsed']} unparsed" in shown
        assert [cell.locator(".tag").count() for cell in cells] == [0, 1]


def test_the_matrix_sorts_by_score_and_by_name(browser, models):
    with opened(browser, models[0]) as page:
        names = page.locator(".scores tbody th")
        before = names.all_inner_texts()
        page.locator(".scores thead button").last.click()
        assert names.all_inner_texts() == before[::-1]
        expect(page.locator(".scores th[aria-sort=descending]")).to_have_count(1)
        page.locator(".scores thead button").first.click()
        assert names.all_inner_texts() == before


def test_the_verdict_is_one_sentence(browser, models, recipes, tmp_path):
    with opened(browser, models[0]) as page:
        said = page.locator(".verdict").all_inner_texts()
        assert len(said) == 1
        assert re.search(r"is better than m1 .* \+20\.0 points, 95\s% \d+\.\d to \d+\.\d, p\s<\s0\.001\.$", said[0])
    with opened(browser, recipes[0]) as page:
        expect(page.locator(".verdict")).to_contain_text("Same responses of m1")
        expect(page.locator(".verdict")).to_contain_text("samples get another score.")
    same = [write_predictions(tmp_path / f"{n}.parquet", answers(n, 7)) for n in "ab"]
    write_report(tmp_path / "r.html", list(score_results(same, ["own_choice"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html") as page:
        expect(page.locator(".verdict")).to_have_text("No clear difference: b minus a 0.0 points, p = 1.0.")


def test_the_verdict_gives_the_difference_of_the_better_one(browser, files, tmp_path):
    write_report(tmp_path / "r.html", list(score_results(files[::-1], ["own_choice"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html") as page:
        (said,) = page.locator(".verdict").all_inner_texts()
        assert re.match(r"m2 .* is better than m1 .*: \+20\.0 points, 95\s% \d+\.\d to \d+\.\d, p\s<\s0\.001\.$", said)


def test_samples_that_one_recipe_alone_scores_are_part_of_the_verdict(browser, tmp_path):
    rows = choices(*[("A", "A")] * 4, *[("A", "D")] * 2)
    file = write_predictions(tmp_path / "p.parquet", rows, model="m")
    write_report(tmp_path / "r.html", list(score_results([file], ["own_choice", "vlmevalkit_mcq"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html") as page:
        expect(page.locator(".verdict")).to_contain_text(
            "−33.3 points; 0 of 4 samples get another score, 2 more have a score under one recipe only."
        )


def test_a_model_stands_with_its_options(browser, tmp_path):
    run = {"generation": {"max_new_tokens": 64, "temperature": 0.0, "do_sample": False}, "n": 2, "cost": 0.5}
    files = []
    for name in ("one", "two"):
        files.append(write_predictions(tmp_path / f"{name}.parquet", answers(name, 8)))
        table = pq.read_table(files[-1])
        pq.write_table(table.replace_schema_metadata({"mmscore.run": json.dumps(run)}), files[-1])
    told = "max new tokens 64 · temperature 0.0 · 2 responses a sample"
    write_report(tmp_path / "r.html", list(score_results(files, ["own_choice"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html") as page:
        assert page.locator(".scores tbody th .options").all_inner_texts() == [told, told]
        expect(page.locator(".panel", has_text="Runs and settings").locator(".gist")).to_have_text("cost 1")
    write_report(tmp_path / "r.html", list(score_results(files[:1], ["own_choice", "vlmevalkit_mcq"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html") as page:
        expect(page.locator(".scores thead .options")).to_have_text(told)


def test_the_report_is_saved_from_the_page_itself(browser, models, tmp_path):
    path, entries = models
    with opened(browser, path, accept_downloads=True) as page:
        for name in ("report.csv", "report.json"):
            with page.expect_download() as waiting:
                page.get_by_role("button", name=f"Save {name}").click(timeout=5_000)
            waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["entries"] == entries
    lines = (tmp_path / "report.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("model,dataset,recipe,version,metric,group")
    assert len(lines) == 1 + sum(
        len(one) for entry in entries for one in [entry["metrics"], *entry["groups"]["category"].values()]
    )


def test_samples_on_which_models_disagree_and_the_worst_categories_are_one_click_away(browser, models):
    with opened(browser, models[0]) as page:
        page.get_by_role("button", name="12 samples on which models disagree").click()
        assert status(page) == 12
        page.locator(".heat-map .link").first.click()
        assert status(page) == 30


@pytest.mark.release
def test_the_values_of_categories_are_those_of_the_json_report(browser, models):
    path, entries = models
    with opened(browser, path) as page:
        categories = panel(page, "Categories")
        open_all(page)
        lines = categories.locator(".more .sheet tbody tr")
        for name in ("accuracy", "accuracy_if_unparsed_guessed"):
            categories.get_by_label("metric").select_option(name)
            told = [float(one.locator("data").get_attribute("value")) for one in lines.all()]
            assert told == [group[name]["value"] for entry in entries for group in entry["groups"]["category"].values()]
        shown = categories.locator(".heat-map td .link").all_inner_texts()
        groups = [group for entry in entries for group in entry["groups"]["category"].values()]
        assert sorted(shown) == sorted(percent(group[name]["value"]) for group in groups)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_chart_has_a_name_a_table_and_the_colours_of_the_theme(browser, models, scheme):
    with opened(browser, models[0], color_scheme=scheme) as page:
        charts = page.locator(".canvas svg")
        expect(charts).to_have_count(2)
        open_all(page)
        expect(charts).to_have_count(7)
        for chart in page.locator(".panel", has=page.locator("svg")).all():
            assert all(one.get_attribute("aria-label") for one in chart.get_by_role("img").all())
            assert chart.locator("tbody tr").count() > 0
        ink = charts.first.locator("text").last.evaluate("(one) => getComputedStyle(one).fill")
        assert (sum(map(int, re.findall(r"\d+", ink)[:3])) > 3 * 128) == (scheme == "dark")


@pytest.mark.release
def test_models_are_compared_by_the_test_that_compare_makes(browser, models):
    with opened(browser, models[0]) as page:
        line = panel(page, "Model comparison").locator(".sheet tbody tr").last
        assert [cell.inner_text() for cell in line.locator("td").all()][::3] == ["+20.0 points", "12 : 0"]
        expect(line.locator("td").last).to_have_text("higher")


@pytest.mark.release
def test_a_count_of_the_confusion_matrix_shows_its_samples(browser, models):
    with opened(browser, models[0]) as page:
        panel(page, "Confusion matrix (rows: reference, columns: parsed answer)")
        cells = page.locator(".matrix tbody button")
        for cell in (cells.first, cells.nth(3), cells.last):
            number = int(cell.inner_text())
            cell.press("Enter")
            assert status(page) == number


@pytest.mark.release
def test_a_bar_shows_its_samples(browser, models):
    with opened(browser, models[0]) as page:
        open_all(page)
        panel(page, "Categories").locator("svg .live").first.click()
        assert status(page) == 30
        expect(page).to_have_url(re.compile("is.category="))


@pytest.mark.release
def test_the_rows_that_explain_a_gap_are_those_that_changed(browser, recipes):
    path, found = recipes
    with opened(browser, path) as page:
        gap = panel(page, "evalscope_general_vmcq@1.14 against own_choice@1")
        changed = gap.locator("tbody .link")
        numbers = [int(one.inner_text()) for one in changed.all()]
        changed.first.click()
        assert status(page) == numbers[0]
        gap.get_by_role("button", name="Show the samples on which recipes disagree").click()
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
        for place in ("h1", ".scores th[scope=row]", ".verdict", "#item"):
            text = page.locator(place).first.inner_text()
            if place != "h1":
                assert "<script>window.hacked" in text
                assert "RLO" in text
                assert "\u202e" not in text
        assert page.locator("img[src=x]").count() == 0


@pytest.mark.release
def test_the_page_prints_without_its_tools_and_with_what_is_folded(browser, models):
    with opened(browser, models[0]) as page:
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert not page.locator(".choices").first.is_visible()
        assert page.locator(".panel figcaption", has_text="Difference in accuracy").is_visible()
        assert page.locator(".panel .matrix").first.is_visible()
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert not page.locator(".panel .matrix").first.is_visible()


@pytest.mark.release
def test_a_printed_page_is_no_wider_than_its_paper(browser, files, tmp_path):
    recipes = ["own_choice", "vlmevalkit_mcq", "evalscope_general_vmcq"]
    write_report(tmp_path / "r.html", list(score_results(files, recipes, ScoreOptions())))
    with opened(browser, tmp_path / "r.html", viewport={"width": 720, "height": 1000}) as page:
        page.keyboard.press("j")
        page.emulate_media(media="print")
        assert page.evaluate("document.documentElement.scrollWidth") <= 720


@pytest.mark.release
def test_a_narrow_window_shows_the_result_of_a_sample(browser, tmp_path):
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
        assert float(page.locator(".scores data").get_attribute("value")) == entry["metrics"]["accuracy"]["value"]


def test_a_file_without_a_score_says_so(browser, tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices((None, "A"), (None, "B")))
    write_report(tmp_path / "r.html", list(score_results([file], ["own_choice"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html") as page:
        assert "no sample is scored" in page.locator(".scores").inner_text()
        titles = page.locator(".panel h2").all_text_contents()
        assert titles == ["Row status (scored, unparsed, failed, missing)", "Runs and settings"]
        assert status(page) == 2


@pytest.mark.release
def test_a_fraction_beside_a_percentage_is_drawn_on_one_scale(browser, tmp_path):
    rows = [{**row, "task": "yes_no", "options": None} for row in choices(*[("Yes", "Yes"), ("Yes", "No")] * 5)]
    file = write_predictions(tmp_path / "p.parquet", rows, model="m", dataset="Shapes")
    write_report(tmp_path / "r.html", list(score_results([file], ["vlmevalkit_yorn", "pope_official"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html") as page:
        chart = panel(page, "All metrics").locator("svg[aria-label=accuracy]")
        expect(chart).to_have_count(1)
        widths = chart.locator("[aria-label=bar]").evaluate(
            "mark => [...mark.children].map(bar => bar.getBBox().width)"
        )
        assert widths == [pytest.approx(widths[0])] * 2
        assert widths[0] > 50
        assert chart.locator("[aria-label=text] text").all_text_contents() == ["50.0", "50.0"]


@pytest.mark.release
def test_a_category_that_is_called_like_a_part_of_the_language_is_a_text(browser, tmp_path):
    rows = [{**row, "category": name} for name in ("constructor", "__proto__") for row in choices(("A", "A"))]
    rows = [{**row, "id": str(n)} for n, row in enumerate(rows)]
    file = write_predictions(tmp_path / "p.parquet", rows, model="m")
    write_report(tmp_path / "r.html", list(score_results([file], ["own_choice"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html") as page:
        expect(page.locator("#items td bdi.tag")).to_have_text(["correct", "correct"])


@pytest.mark.release
def test_a_pair_of_models_is_named_by_what_differs(browser, tmp_path):
    files = [
        write_predictions(tmp_path / f"{name}.parquet", choices(*[("A", "A"), (reply, "B")] * 5), model=name)
        for name, reply in (("one", "A"), ("two", "B"), ("three", "C"))
    ]
    write_report(tmp_path / "r.html", list(score_results(files, ["own_choice", "vlmevalkit_mcq"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html") as page:
        pairs = panel(page, "Model comparison").locator("table").last.locator("tbody th, tbody td:first-child")
        assert pairs.first.inner_text() == "two − one · own_choice@1"


@pytest.mark.release
def test_thousands_of_groups_stay_readable(browser, tmp_path):
    rows = [{**row, "category": f"group {n}"} for n, row in enumerate(choices(*[("A", "A")] * 2_000))]
    file = write_predictions(tmp_path / "p.parquet", rows)
    write_report(tmp_path / "r.html", list(score_results([file], ["own_choice"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html") as page:
        groups = panel(page, "Categories")
        assert "The 40 largest of 2,000 categories; the table has 300 lines of 2,000" in groups.text_content()
        assert groups.locator("tbody tr").count() == 300
        expect(groups.locator("svg .live")).to_have_count(40)


@pytest.mark.release
def test_everything_that_can_be_used_has_a_name_and_every_matrix_a_caption(browser, models):
    with opened(browser, models[0]) as page:
        open_all(page)
        named = "(all) => all.map((one) => one.ariaLabel || one.closest('label')?.textContent || one.textContent)"
        names = page.locator("#summary :is(button, select, summary, [role=img], [role=group])").evaluate_all(named)
        assert len(names) > 30
        assert all(name.strip() for name in names)
        assert page.locator("#summary table").count() == page.locator("#summary table > caption").count()


@pytest.fixture(scope="module")
def four_results(files):
    """Two models under two recipes, with long names and lines of every kind."""
    path = files[0].with_name("four.html")
    rows = [[{**row, "model": name} for row in answers(name, skill)] for name, skill in LONG_NAMES.items()]
    long = [write_predictions(path.with_name(f"long{n}.parquet"), one) for n, one in enumerate(rows)]
    found = list(score_results(long, ["own_choice", "vlmevalkit_mcq"], ScoreOptions()))
    write_report(path, found, PageOptions(command="mmscore a.parquet b.parquet --recipe own_choice --html four.html"))
    return path


LONG_NAMES = {"Qwen2.5-VL-7B-Instruct-AWQ": 9, "llava-v1.5-7b-hf": 7}
SOON = {(360, "dark"), (1280, "light")}
EVERY = [
    pytest.param(width, scheme, marks=() if (width, scheme) in SOON else pytest.mark.release)
    for width in WIDTHS
    for scheme in SCHEMES
]


@pytest.mark.parametrize(("width", "scheme"), EVERY)
def test_nothing_is_cut_or_hard_to_read(browser, four_results, width, scheme):
    with opened(browser, four_results, viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        assert find_problems(page) == []
        open_all(page)
        assert find_problems(page) == []
        page.evaluate("mm.openItem('3')")
        assert find_problems(page) == []
        page.evaluate("mm.closeItem(); mm.setView('gallery')")
        assert find_problems(page) == []


@pytest.mark.parametrize(("width", "count"), defer([(1920, 1), (360, 3), (360, 1), (1280, 1), (1280, 3), (1920, 3)], 1))
def test_few_results_leave_no_hole(browser, tmp_path, count, width):
    names = ["Qwen2.5-VL-7B-Instruct-AWQ", "llava-v1.5-7b-hf", "InternVL3-8B"][:count]
    some = [write_predictions(tmp_path / f"{n}.parquet", answers(name, 6 + n)) for n, name in enumerate(names)]
    write_report(tmp_path / "r.html", list(score_results(some, ["own_choice"], ScoreOptions())))
    with opened(browser, tmp_path / "r.html", viewport={"width": width, "height": 900}) as page:
        assert find_problems(page) == []
        columns = "(one) => getComputedStyle(one).gridTemplateColumns.split(' ').length"
        is_wide = width > 360
        assert page.locator(".headline .pair").evaluate(columns) == 1 + is_wide
        open_all(page)
        assert find_problems(page) == []


def test_the_tab_key_follows_the_page(browser, four_results):
    with opened(browser, four_results) as page:
        assert find_keyboard_problems(page) == []


def test_the_page_says_how_it_was_made(browser, four_results):
    with opened(browser, four_results) as page:
        facts = page.locator("#facts").inner_text()
        assert "Shapes" in facts
        assert all(name in facts for name in LONG_NAMES)
        assert "mmscore a.parquet b.parquet --recipe own_choice --html four.html" in facts
