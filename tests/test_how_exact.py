"""The page on exactness and the badges say what was measured, and what was measured is all that there is."""

import re
from pathlib import Path

import msgspec
import pytest

from mmconvert.plugins.registry import load_all
from support.exactness import Mutation, OpenSurvivor, Record, Room, count_noticed, read_record
from support.exactness_page import PAGE, SOURCES, SURVIVORS, find_source, is_equal, is_recipe, list_badges, page

pytestmark = pytest.mark.static

ROOT = Path(__file__).resolve().parents[1]
RECORD = read_record()


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(RECORD), "run scripts/how_exact"


def test_the_badges_are_up_to_date_and_the_readme_shows_each() -> None:
    shown = set(re.findall(r"\]\((docs/badges/\w+\.svg)\)", (ROOT / "README.md").read_text(encoding="utf-8")))
    drawn = list_badges(RECORD)
    assert shown == {file.relative_to(ROOT).as_posix() for file in drawn}
    for file, text in drawn.items():
        assert file.read_text(encoding="utf-8") == text, "run scripts/how_exact"


def test_every_recipe_of_a_framework_was_measured() -> None:
    parity = {name for name, recipe in load_all("mmscore.recipes") if recipe.parity != "own"}
    assert parity - RECORD.golden.keys() == set(), "run scripts/how_exact golden"
    assert {*filter(is_recipe, RECORD.golden)} <= parity


def test_notice_names_every_commit_of_the_page() -> None:
    notice = " ".join((ROOT / "NOTICE").read_text(encoding="utf-8").split())
    for source in SOURCES:
        between = " " if re.fullmatch(r"[\d.]+", source.release) else " @ "
        assert f"{source.repository}{between}{source.release}" in notice, source
    assert {find_source(name) for name in RECORD.golden} == {*SOURCES}


def test_a_case_that_disagrees_is_shown() -> None:
    name, golden = next((name, golden) for name, golden in RECORD.golden.items() if golden.cases)
    worse = Record(RECORD.version, RECORD.date, RECORD.machine, {name: type(golden)(golden.cases, 0, 0, 0)})
    assert f"| `{name}` | {golden.cases:,} | 0 | 0 | 0 |" in page(worse)
    (badge,) = (text for file, text in list_badges(worse).items() if file.stem == "golden")
    assert f"0 of {golden.cases:,} agree" in badge


@pytest.mark.parametrize(
    ("theirs", "ours", "equal"),
    [(0.36, 0.36, True), (0.80041, 0.8004095720, True), (963.6114445, 963.6124, False), (0.36, 0.360002, False)],
)
def test_numbers_are_equal_to_six_places(theirs: float, ours: float, equal: bool) -> None:
    assert is_equal(theirs, ours) == equal


def test_mutants_that_do_not_end_are_noticed_and_survivors_with_a_reason_are_not() -> None:
    mutation = Mutation("2026-01-01", "1", 5, {"a": Room(6, 1, 3, 2)}, [OpenSurvivor("f", "g", "a | b", "")])
    assert count_noticed(mutation) == (7, 10)
    record = Record("1", "2026-01-01", "", RECORD.golden, mutation=mutation)
    text = page(record)
    assert "7 of 10 mutants were noticed, 70.0%" in text
    assert "| `f` | `` g `` | `` a \\| b `` | *(removed or outside of functions)* |" in text


def test_every_listed_survivor_is_still_a_line_of_its_file() -> None:
    for entry in msgspec.json.decode(SURVIVORS.read_bytes()):
        change = entry["change"]
        text = (ROOT / change["file"]).read_text(encoding="utf-8")
        assert change["before"] in " ".join(line.strip() for line in text.splitlines()), change
        assert re.search(rf"\b(def|class) {change['function'].rpartition('.')[2]}\b", text), change
        assert len(entry["reason"].split()) > 2, change
