import pytest

from mmconvert.core.errors import UsageError
from mmconvert.plugins.registry import find_plugins, load
from mmscore.core.recipe import Facts
from mmscore.core.select_recipe import choose_recipe, find_recipe


def _facts(**given):
    return Facts(**{name: value if isinstance(value, bool) else frozenset(value) for name, value in given.items()})


@pytest.mark.parametrize(
    ("facts", "recipe"),
    [
        ({"tasks": ["multiple_choice"], "formats": ["lmudata"]}, "vlmevalkit_mcq"),
        ({"tasks": ["multiple_choice"], "formats": ["lmudata"], "datasets": ["BLINK"]}, "vlmevalkit_mcq"),
        ({"tasks": ["multiple_choice"], "formats": ["lmudata"], "datasets": ["MMBench_DEV_EN"]}, "mmbench_circular"),
        ({"tasks": ["multiple_choice"], "formats": ["lmudata"], "circular": True}, "mmbench_circular"),
        ({"tasks": ["multiple_choice"], "formats": ["lmudata"], "grouped": True}, "mmbench_circular"),
        ({"tasks": ["multiple_choice"], "formats": ["lmudata"], "datasets": ["MMVP"]}, "vlmevalkit_mmvp"),
        ({"tasks": ["multiple_choice"], "formats": ["lmudata"], "datasets": ["MMT-Bench_VAL"]}, "vlmevalkit_mmt"),
        ({"tasks": ["vqa"], "formats": ["lmudata"], "datasets": ["DocVQA_VAL"]}, "vlmevalkit_vqa"),
        ({"tasks": ["vqa"], "formats": ["openai_messages"]}, "evalscope_general_vqa"),
        ({"tasks": ["multiple_choice"], "formats": ["vmcq"]}, "evalscope_general_vmcq"),
        ({"tasks": ["multiple_choice", "vqa"], "formats": ["mmmu_outputs"], "datasets": ["MMMU"]}, "mmmu_val"),
    ],
)
def test_the_recipe_follows_from_dataset_task_and_source(facts, recipe):
    chosen = choose_recipe(_facts(**facts))
    assert chosen.name == recipe
    assert chosen.reason


def test_nothing_known_is_a_usage_error_that_names_the_recipes():
    with pytest.raises(UsageError, match="vlmevalkit_mcq"):
        choose_recipe(_facts(tasks=["chat"]))


@pytest.mark.parametrize("name", find_plugins("mmscore.recipes"))
def test_every_recipe_is_well_formed(name):
    recipe = load("mmscore.recipes", name)
    assert recipe.summary
    assert recipe.parity
    assert recipe.versions
    assert recipe.default_for(_facts()) is None


def test_a_recipe_may_lie_in_a_folder_with_an_at(tmp_path):
    file = tmp_path / "a@b" / "mine.py"
    file.parent.mkdir()
    file.write_text("from mmscore.recipes.own_choice import RECIPE\n")
    version = next(iter(load("mmscore.recipes", "own_choice").versions))
    for name in (f"{file}@RECIPE", f"{file}@RECIPE@{version}"):
        assert (find_recipe(name).name, find_recipe(name).version) == (f"{file}@RECIPE", version)
    with pytest.raises(UsageError, match="has no version '@'"):
        find_recipe(f"{file}@RECIPE@@")
