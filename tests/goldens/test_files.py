"""Golden cases that are whole files, or can be written as such, on the way of a user."""

from collections import Counter

import pytest

from goldens.files import FILES, WRITERS, find_recipe_name, score_files
from goldens.rules import COMMANDS
from goldens.run import list_families, read_family, spread
from mmconvert.plugins.registry import load_all

MOST = 2
"""Cases of a rule in the ordinary run, where the rule's own test runs more of them."""
MOST_FILES = 4
"""Cases of a rule of whole files in the ordinary run."""
FEWEST = 20
"""Cases by which the repository proves a recipe, at least."""


def _list_problems(family, cases):
    for place, case in cases:
        for outcome in score_files(family, case):
            if outcome.problem:
                yield f"{place} {outcome.problem}"
            elif outcome.recipe not in (None, find_recipe_name(family, case)):
                yield f"{place} scored by {outcome.recipe}"


def _read_rule(family, rule):
    return [(place, case) for place, case in read_family(family) if case["rule"] == rule]


@pytest.mark.parametrize(("family", "rule"), WRITERS)
@pytest.mark.slow
def test_files_give_the_frameworks_numbers(family, rule):
    def name_recipe(case):
        return find_recipe_name(family, case)

    most = MOST_FILES if family.startswith(FILES) else MOST
    assert list(_list_problems(family, spread(_read_rule(family, rule), most, name_recipe))) == []


@pytest.mark.parametrize(("family", "rule"), WRITERS)
@pytest.mark.release
def test_every_file_gives_the_frameworks_number(family, rule):
    assert list(_list_problems(family, _read_rule(family, rule))) == []


def test_every_whole_file_has_a_writer():
    held = {(family, case["rule"]) for family in list_families() for _, case in read_family(family)}
    assert {name for name in held if name[0].startswith(FILES)} <= WRITERS.keys()
    assert WRITERS.keys() <= held


def count_cases():
    """Count the repository's cases of each recipe: those of whole files, else those of its parser and metrics."""
    counts = Counter()
    for family in list_families():
        for _, case in read_family(family):
            words = COMMANDS.get((family, case["rule"]), "").split()
            if (family, case["rule"]) in WRITERS:
                counts[find_recipe_name(family, case)] += 1
            elif "--recipe" in words:
                counts[words[words.index("--recipe") + 1].partition("@")[0]] += 1
    return counts


def test_the_repository_proves_every_recipe():
    counts = count_cases()
    parity = [name for name, recipe in load_all("mmscore.recipes") if recipe.parity != "own"]
    assert {name: counts[name] for name in parity if counts[name] < FEWEST} == {}
