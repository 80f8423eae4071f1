"""The pages that are generated say what the code says."""

import re
import tomllib
from pathlib import Path

import pytest

from mmconvert.benchmarks.catalogue import list_benchmarks
from mmconvert.plugins.registry import find_plugins
from support import benchmark_page, cli_page, llms_page, names_page, notebook_page, python_page, recipe_page
from support.format_page import BEGIN, NOTES, PAGE, notes, page

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
FORMATS = list(find_plugins("mmconvert.formats"))


def test_the_page_of_formats_is_up_to_date() -> None:
    current = PAGE.read_text(encoding="utf-8")
    assert page(current) == current, "run scripts/docs"


def test_the_page_of_recipes_is_up_to_date() -> None:
    current = recipe_page.PAGE.read_text(encoding="utf-8")
    assert recipe_page.page(current) == current, "run scripts/docs"


def test_the_page_of_commands_is_up_to_date() -> None:
    current = cli_page.PAGE.read_text(encoding="utf-8")
    assert cli_page.page(current) == current, "run scripts/docs"


def test_the_functions_of_the_python_page_are_those_that_there_are() -> None:
    current = python_page.PAGE.read_text(encoding="utf-8")
    assert python_page.page(current) == current, "run scripts/docs"


def test_the_page_of_benchmarks_is_up_to_date() -> None:
    current = benchmark_page.PAGE.read_text(encoding="utf-8")
    assert benchmark_page.page(current) == current, "run scripts/docs"


def test_the_page_on_installing_lists_every_extra_with_what_it_adds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", (ROOT / "docs/install.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(name for name, _ in rows) == sorted(project["optional-dependencies"])
    for name, adds in rows:
        packages = {re.split(r"[\[>=<]", needed)[0] for needed in project["optional-dependencies"][name]}
        assert name in ("docs", "dev", "release", "video") or all(package in adds for package in packages), name


def test_the_page_on_installing_gives_the_oldest_versions_of_the_metadata() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    oldest = dict(re.split(">=|,", need)[:2] for need in project["dependencies"])
    python = project["requires-python"].removeprefix(">=")
    table = page.partition("## Oldest versions")[2].partition("\n## ")[0]
    assert dict(re.findall(r"^\| ([\w-]+) \| ([\d.]+) \|", table, re.MULTILINE)) == {"Python": python, **oldest}
    assert f"mmconvert needs Python {python} or newer." in page


def test_the_notebook_shows_what_its_cells_give() -> None:
    current = notebook_page.PAGE.read_text(encoding="utf-8")
    assert notebook_page.hide_bytes(notebook_page.page(current)) == notebook_page.hide_bytes(current), (
        "run scripts/docs"
    )


def test_a_cell_that_fails_fails_the_notebook(tmp_path: Path) -> None:
    for number, (source, error) in enumerate({"1 / 0": ZeroDivisionError, "!false": AssertionError}.items()):
        notebook = {"cells": [{"cell_type": "code", "source": ["x = 1\n"]}, {"cell_type": "code", "source": [source]}]}
        with pytest.raises(error):
            notebook_page.run(notebook, tmp_path / str(number))


def test_llms_txt_is_up_to_date_and_lists_every_page() -> None:
    written = llms_page.PAGE.read_text(encoding="utf-8")
    assert written == llms_page.page(), "run scripts/docs"
    pages = {f"{path.relative_to(ROOT).with_suffix('')}.html" for path in (ROOT / "docs").rglob("*.md")}
    assert pages - set(re.findall(r"\]\((\S+)\)", written)) == {"docs/index.html"}


def test_a_line_of_the_page_of_benchmarks_leads_to_every_recipe_that_is_selected_by_itself() -> None:
    by_name = ["mmtrust_judged", "mmtrust_refusal", "mmtrust_yes_no", "own_trust_task"]
    assert benchmark_page.find_absent_recipes() == by_name


def test_the_page_of_names_is_up_to_date() -> None:
    assert names_page.PAGE.read_text(encoding="utf-8") == names_page.page(), "run scripts/docs"


@pytest.mark.parametrize("name", list(find_plugins(recipe_page.GROUP)))
def test_a_recipe_says_its_rule_whose_it_is_and_what_it_reads(name: str) -> None:
    block = recipe_page.block(name)
    for word in ("- **Parity:** ", "- **Version ", "Parity: "):
        assert word in block, f"the page says nothing of {word.strip('-*: ')} in {name}"


def test_a_format_that_is_new_gets_its_row_and_one_that_is_gone_loses_it() -> None:
    current = PAGE.read_text(encoding="utf-8")
    lines = current.splitlines(keepends=True)
    row = next(line for line in lines if line.startswith("| `vmcq`"))
    other = row.replace("`vmcq`", "`gone`")
    changed = page("".join(other if line == row else line for line in lines))
    assert "`gone`" not in changed
    assert "| `vmcq` ↔ | Visual multiple choice" in changed
    assert changed.count("### `vmcq`") == 1


def test_prose_stays_as_it_was_written() -> None:
    current = PAGE.read_text(encoding="utf-8")
    marked = current.replace("## Rules of all readers\n", "## Rules of all readers\n\nA word by hand.\n")
    changed = page(marked)
    assert changed == marked
    assert changed.index("A word by hand.") < changed.index(BEGIN)


def test_readme_counts_formats_and_recipes() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{len(FORMATS)} input formats · {len(find_plugins('mmscore.recipes'))} recipes of " in readme
    assert f"{len(list_benchmarks()):,} benchmarks by name" in readme


def test_the_policy_names_codes_that_there_are() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/mmconvert").rglob("*.py"))
    codes = re.findall(r"`([a-z]+)\.([a-z0-9_]+)`", (ROOT / "docs/bad-input.md").read_text(encoding="utf-8"))
    assert len(codes) > 30
    for kind, reason in codes:
        made = f'f"{kind}.{{' in source and f'"{reason}"' in source
        assert f'"{kind}.{reason}"' in source or made, f"{kind}.{reason}"


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_says_what_is_kept_refused_and_lost(name: str) -> None:
    said = notes(name)
    assert list(said) == list(NOTES), f"the docstring of {name} lacks one of {', '.join(NOTES)}"
    assert all(text.endswith(".") for text in said.values())


def test_every_screenshot_is_small_and_shown_where_its_page_is_described() -> None:
    shown = {
        name: path.name
        for path in sorted((ROOT / "docs").glob("*.md"))
        for name in re.findall(r"!\[[^\]]+\]\(_static/([\w-]+\.png)\)", path.read_text(encoding="utf-8"))
    }
    shots = sorted((ROOT / "docs/_static").glob("*.png"))
    assert sorted(shown) == [shot.name for shot in shots], "run scripts/screenshots"
    assert set(shown.values()) == {"report.md", "preview.md", "live-view.md", "overlap.md"}
    assert all(shot.stat().st_size < 150_000 for shot in shots)
