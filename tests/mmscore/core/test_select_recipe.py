import json

import pytest

from mmconvert.benchmarks.catalogue import FRAMEWORKS, list_benchmarks, load_framework
from mmconvert.core.errors import UsageError
from mmconvert.kits.vlmevalkit.benchmarks import OWN_RULES, SHARED_RULES
from mmconvert.kits.vlmevalkit.datasets import NAMES, TASKS, parse_file_stem
from mmconvert.plugins.registry import find_plugins, load
from mmscore import score
from mmscore.core.recipe import OWN, Facts
from mmscore.core.select_recipe import choose_recipe, find_recipe
from mmscore.reporting.report_table import draw


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


@pytest.mark.parametrize(
    ("given", "recipe"),
    [
        ({"datasets": ["chartqa"]}, "lmms_chartqa"),
        ({"datasets": ["pope_adv"], "tasks": ["yes_no"]}, "lmms_pope"),
        ({"datasets": ["ChartQA"]}, "own_short_answer"),
        ({"datasets": ["chartqapro"]}, "own_short_answer"),
        ({"datasets": ["chartqa", "pope"]}, "own_short_answer"),
        ({"datasets": ["chartqa"], "formats": ["imagefolder"]}, "own_short_answer"),
        ({"datasets": ["pope"], "formats": ["hub_vqa", "lmudata"]}, "own_short_answer"),
        ({}, "own_short_answer"),
    ],
)
def test_a_dataset_of_the_hub_is_scored_as_the_benchmark_that_it_names(given, recipe):
    chosen = choose_recipe(_facts(**{"tasks": ["vqa"], "formats": ["hub_vqa"], **given}))
    assert chosen.name == recipe
    assert (chosen.reason == f"benchmark lmms_eval:{given.get('datasets', [''])[0]}") is recipe.startswith("lmms_")


def _parity(name, task, format):
    """The recipe of a framework that rows of a benchmark get; None where they get one of our own, or none."""
    try:
        choice = choose_recipe(_facts(datasets=[name], tasks=[task], formats=[format], columns=["answer"]))
    except UsageError:
        return None
    return None if choice.recipe.parity == OWN else choice.name


@pytest.mark.parametrize(("framework", "format"), [("vlmevalkit", "lmudata"), ("lmms_eval", "lmms_eval_samples")])
def test_the_recipe_that_results_get_is_the_one_of_the_catalogue(framework, format):
    for one in load_framework(framework):
        # The catalogue does not say whether rows are choices.
        tasks = [TASKS[one.name]] if one.name in TASKS else ["multiple_choice", "vqa"]
        found = {_parity(one.name, task, format) for task in tasks}
        assert one.recipe in found, one.key
        assert one.recipe or found == {None}, one.key


def test_the_catalogue_holds_the_image_benchmarks_that_the_framework_has():
    names = {name for one in load_framework("vlmevalkit") for name in one.spellings}
    assert names <= NAMES
    assert {one.name for one in load_framework("vlmevalkit") if one.name in SHARED_RULES and not one.recipe} == set()


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


KINDS = {"Y/N": "yes_no", "Caption": "caption", "MMERealWorld": "multiple_choice"}
"""Type of a class of VLMEvalKit -> task of its rows; those whose type names choices, or anything else, follow below."""

RESULTS = {
    "VLMEvalKit": ("vlmevalkit_predictions", "lmudata"),
    "lmms-eval": ("lmms_eval_samples",),
    "EvalScope": ("evalscope_reviews", "evalscope_predictions"),
    "ReForm-Eval": ("reform_predictions",),
    "MMTrustEval": ("mmtrust",),
}
REFORM = {"ocr": "ocr", "kie": "kie", "generation": "caption"}


def _task_of(entry):
    if entry["kit"] == "VLMEvalKit":
        kind = entry["type"] or ""
        return TASKS.get(entry["name"]) or ("multiple_choice" if "MCQ" in kind else KINDS.get(kind, "vqa"))
    if entry["kit"] == "ReForm-Eval":
        return REFORM.get(entry["recipe"].removeprefix("reform_"), "multiple_choice")
    return "multiple_choice" if (entry["recipe"] or "").endswith("vmcq") else "vqa"


def test_no_benchmark_of_any_kit_gets_the_recipe_of_another(shared):
    entries = json.loads((shared / "data/benchmarks.json").read_text())
    # Tables without public answers have no recipe there, and the rule of those that have.
    rules = {entry["scoring"]: entry["recipe"] for entry in entries if entry["kit"] == "VLMEvalKit" and entry["recipe"]}
    catalogued = {(FRAMEWORKS[one.framework], one.name): one.recipe for one in list_benchmarks()}
    wrong = []
    for entry in entries:
        # Recipes that came later are named in the catalogue.
        known = catalogued.get((entry["kit"], entry["name"])) or entry["recipe"]
        wanted = known or (rules.get(entry["scoring"]) if entry["kit"] == "VLMEvalKit" else None)
        rounds = wanted == "reform_multiround"
        for source in RESULTS[entry["kit"]]:
            facts = _facts(
                datasets=[entry["name"]], tasks=[_task_of(entry)], formats=[source], grouped=rounds, rounds=rounds
            )
            try:
                chosen = choose_recipe(facts)
                found = "own" if chosen.recipe.parity == OWN and chosen.instead else chosen.name
            except UsageError:
                found = "own"
            # What a judge said stands in the log.
            if found != {"mmtrust_judged": "mmtrust_task", None: "own"}.get(wanted, wanted):
                wrong.append((entry["kit"], entry["name"], source, wanted, found))
    assert not wrong
    known = {entry["name"] for entry in entries if entry["kit"] == "VLMEvalKit"}
    assert known <= NAMES
    assert known & set(TASKS) | SHARED_RULES | OWN_RULES == known


@pytest.mark.parametrize(
    ("source", "name", "task", "recipe"),
    [
        ("vlmevalkit_predictions", "XLRS-Bench-lite", "multiple_choice", "own_choice"),
        ("lmudata", "GMAI-MMBench_VAL", "multiple_choice", "own_choice"),
        ("vlmevalkit_predictions", "MME-Reasoning", "vqa", "own_short_answer"),
        ("vlmevalkit_predictions", "olmOCRBench", "vqa", "own_short_answer"),
        ("lmudata", "OCRBench_v2", "vqa", "own_short_answer"),
        ("lmms_eval_samples", "mme_cot_reason", "vqa", "own_short_answer"),
        ("lmms_eval_samples", "mmmu_val_group_img", "multiple_choice", "own_choice"),
        ("evalscope_reviews", "chartqa", "vqa", "own_short_answer"),
        ("evalscope_reviews", "real_world_qa", "multiple_choice", "own_choice"),
    ],
)
def test_a_rule_of_its_own_is_not_that_of_a_similar_name(source, name, task, recipe):
    chosen = choose_recipe(_facts(datasets=[name], tasks=[task], formats=[source]))
    assert chosen.name == recipe
    assert chosen.reason.startswith("no recipe reproduces ")
    assert chosen.reason.split("'s rule for ")[1].startswith(f"{name} yet")
    assert chosen.instead is not None
    assert chosen.instead.endswith(f" {name}")


@pytest.mark.parametrize(
    ("source", "name", "task", "recipe"),
    [
        ("vlmevalkit_predictions", "VizWiz", "vqa", "vlmevalkit_vqa"),
        ("vlmevalkit_predictions", "OCRBench_MINI", "vqa", "vlmevalkit_ocrbench"),
        ("vlmevalkit_predictions", "my own choices", "multiple_choice", "vlmevalkit_mcq"),
        ("lmms_eval_samples", "iconqa_test", "vqa", "lmms_docvqa"),
        ("lmms_eval_samples", "chartqa_lite", "vqa", "lmms_chartqa"),
        ("evalscope_reviews", "mm_star", "multiple_choice", "evalscope_general_vmcq"),
    ],
)
def test_a_rule_that_a_benchmark_shares_is_found(source, name, task, recipe):
    assert choose_recipe(_facts(datasets=[name], tasks=[task], formats=[source])).name == recipe


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("vlmevalkit_predictions", []),
        ("vlmevalkit_predictions", ["my own questions"]),
        ("lmms_eval_samples", []),
        ("evalscope_reviews", []),
        ("evalscope_predictions", ["gsm8k"]),
        ("reform_predictions", []),
        ("mmtrust", []),
    ],
)
def test_a_result_of_an_unknown_benchmark_is_refused_with_what_to_type(source, names):
    facts = _facts(datasets=names, tasks=["vqa"], formats=[source])
    with pytest.raises(UsageError, match=r"--dataset NAME.*--recipe"):
        choose_recipe(facts)


def test_what_the_log_says_of_itself_counts_where_another_name_is_unknown():
    facts = _facts(datasets=["my label"], logged=["chartqa"], tasks=["vqa"], formats=["lmms_eval_samples"])
    assert choose_recipe(facts).name == "lmms_chartqa"
    facts = _facts(datasets=["my label"], logged=["XLRS-Bench-lite"], tasks=["multiple_choice"], formats=["lmudata"])
    assert choose_recipe(facts).instead == "VLMEvalKit XLRS-Bench-lite"


def test_questions_and_answers_of_ones_own_need_no_name():
    assert choose_recipe(_facts(datasets=["mine"], tasks=["vqa"], formats=["lmudata"])).instead is None
    asked = _facts(datasets=["mine"], tasks=["vqa"], formats=["mmtrust"], asked=True)
    assert choose_recipe(asked).name == "own_short_answer"


def test_heading_json_and_signature_say_that_no_recipe_reproduces_the_rule(tmp_path):
    table = tmp_path / "llava_v1.5_7b_XLRS-Bench-lite.tsv"
    table.write_text(
        "index\tquestion\tA\tB\tanswer\tprediction\n1\tWhich?\tred\tblue\tA\tA\n2\tWhich?\tup\tdown\tB\tA\n"
    )
    assert parse_file_stem(table.stem) == ("llava_v1.5_7b", "XLRS-Bench-lite")
    report = score(table)
    (entry,) = report.to_json()["entries"]
    said = "no recipe reproduces VLMEvalKit's rule for XLRS-Bench-lite yet"
    assert said in draw(report, 200)
    assert entry["reason"].startswith(said)
    assert "|not-reproduced:VLMEvalKit XLRS-Bench-lite|" in entry["signature"]
    assert (entry["recipe"], entry["metrics"]["accuracy"]["value"]) == ("own_choice", 0.5)
    (asked,) = score(table, "own_choice").entries
    assert "not-reproduced" not in asked.signature
