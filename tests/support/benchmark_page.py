"""docs/by-benchmark.md: its tables follow from the formats and recipes; the prose before them is written by hand."""

from pathlib import Path

import msgspec

from mmconvert.benchmarks.catalogue import list_benchmarks
from mmconvert.kits.vlmevalkit.datasets import TASKS, is_circular
from mmconvert.plugins.registry import find_plugins
from mmscore.core.recipe import Facts
from mmscore.core.select_recipe import choose_recipe

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/by-benchmark.md"

BEGIN = "## I have results"
_WHY = """\
The two tables are written by `scripts/docs` from the formats and recipes. The recipe is the one that `mmscore` selects
without `--recipe`."""


class Results(msgspec.Struct, frozen=True):
    """Results of one benchmark, as one framework writes them.

    Attributes:
        benchmark: The benchmark's name.
        framework: Who wrote the results.
        command: What scores them.
        recipe: What is selected without `--recipe`.
    """

    benchmark: str
    framework: str
    command: str
    recipe: str


class Questions(msgspec.Struct, frozen=True):
    """Questions of one benchmark, as one place publishes them.

    Attributes:
        benchmark: The benchmark's name.
        source: Where the questions come from.
        format: Format that reads them.
        command: What converts them.
    """

    benchmark: str
    source: str
    format: str
    command: str


VLMEVALKIT = {
    "A-Bench": "A-Bench_VAL", "A-OKVQA": "A-OKVQA", "AesBench": "AesBench_VAL", "AI2D": "AI2D_TEST", "AMBER": "AMBER",
    "BLINK": "BLINK", "CCBench": "CCBench", "ChartQA": "ChartQA_TEST", "COCO captions": "COCO_VAL",
    "DocVQA": "DocVQA_VAL", "GQA": "GQA_TestDev_Balanced", "HallusionBench": "HallusionBench",
    "InfoVQA": "InfoVQA_VAL", "LLaVA-Bench": "LLaVABench", "MathVista": "MathVista_MINI", "MM-Vet": "MMVet",
    "MMBench": "MMBench_DEV_EN", "MME": "MME", "MMMB": "MMMB_en", "MMMU": "MMMU_DEV_VAL", "MMStar": "MMStar",
    "MMT-Bench": "MMT-Bench_VAL", "MMVP": "MMVP", "OCRBench": "OCRBench", "OCRVQA": "OCRVQA_TEST", "POPE": "POPE",
    "Q-Bench": "Q-Bench1_VAL", "RealWorldQA": "RealWorldQA", "ScienceQA": "ScienceQA_TEST",
    "SEED-Bench": "SEEDBench_IMG", "TextVQA": "TextVQA_VAL", "VCR": "VCR_EN_EASY_ALL", "VizWiz": "VizWiz",
    "VSR": "VSR-zeroshot",
}  # fmt: skip
"""Benchmark -> one of VLMEvalKit's names for it."""

LMMS_EVAL = {
    "ChartQA": "chartqa", "DocVQA": "docvqa_val", "IconQA": "iconqa_val", "InfoVQA": "infovqa_val",
    "MMBench": "mmbench_en_dev_static", "MME": "mme", "MMMU": "mmmu_val", "OCRBench": "ocrbench", "POPE": "pope",
    "TextVQA": "textvqa_val", "VQAv2": "vqav2_val",
}  # fmt: skip
"""Benchmark -> lmms-eval's task."""

LLAVA = {
    "GQA": "testdev_balanced_questions.json", "MME": "MME_FOLDER", "POPE": "coco_pope_random.json",
    "ScienceQA": "problems.json", "SEED-Bench": "SEED-Bench.json", "TextVQA": "TextVQA_0.5.1_val.json",
}  # fmt: skip
"""Benchmark, as LLaVA's answers to it are called -> the questions that have its references."""

REFORM_EVAL = {
    "captions": "caption", "conversations": "multiple_choice", "key information": "kie", "OCR": "ocr",
    "single choice": "multiple_choice",
}  # fmt: skip
"""Formulation of ReForm-Eval -> task of its rows."""


def page(current: str) -> str:
    """Bring the page up to date.

    Args:
        current: The page as it stands.
    """
    prose = current.partition(f"\n{BEGIN}\n")[0].rstrip("\n")
    results = sorted(list_results(), key=lambda one: (one.benchmark.lower(), one.framework.lower()))
    questions = sorted(list_questions(), key=lambda one: (one.benchmark.lower(), one.source.lower()))
    lines = [
        prose,
        "",
        BEGIN,
        "",
        _WHY,
        "",
        "| benchmark | results from | type | recipe |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {one.benchmark} | {one.framework} | `{one.command}` | [`{one.recipe}`](recipes.md#{one.recipe}) |"
        for one in results
    ]
    lines += ["", "## I have questions", "", "| benchmark | source | type | format |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {one.benchmark} | {one.source} | `{one.command}` | [`{one.format}`](formats.md#{one.format}) |"
        for one in questions
    ]
    return "\n".join([*lines, ""])


def list_results() -> list[Results]:
    """List what scores the results of each benchmark, by framework."""
    found = [_of_vlmevalkit(benchmark, name) for benchmark, name in VLMEVALKIT.items()]
    for benchmark, task in LMMS_EVAL.items():
        command = f"mmscore TIME_samples_{task}.jsonl"
        found.append(Results(benchmark, "lmms-eval", command, _choose("lmms_eval_samples", task)))
    for benchmark, key in LLAVA.items():
        task = {"ScienceQA": "multiple_choice", "SEED-Bench": "multiple_choice"}.get(benchmark, "vqa")
        recipe = _choose("llava_answers", benchmark, task)
        found.append(Results(benchmark, "LLaVA", f"mmscore answers/MODEL.jsonl --answers {key}", recipe))
    for formulation, task in REFORM_EVAL.items():
        rounds = formulation == "conversations"
        recipe = _choose("reform_predictions", "", task, grouped=rounds, rounds=rounds)
        command = "mmscore DATASET_FORMULATION_METHOD_MODEL.json"
        found.append(Results(f"ReForm-Eval, {formulation}", "ReForm-Eval", command, recipe))
    for kind, task in (("vmcq", "multiple_choice"), ("vqa", "vqa")):
        recipe = _choose("evalscope_reviews", f"general_{kind}", task)
        command = f"mmscore reviews/MODEL/general_{kind}_SUBSET.jsonl"
        found.append(Results(f"General-{kind.upper()} (your own data)", "EvalScope", command, recipe))
    swift = _choose("ms_swift_results", "", "vqa")
    found.append(Results("your own data", "ms-swift", "mmscore infer_result.jsonl", swift))
    other = _choose("vlmevalkit_predictions", "", "yes_no")
    found += _list_own_rules({one.recipe for one in found})
    return [
        *found,
        Results("other yes/no questions", "VLMEvalKit", "mmscore MODEL_BENCHMARK.xlsx", other),
        Results("MMBench", "the submission workbook", "mmscore FILE.xlsx --recipe mmbench_circular --answers DATASET",
                "mmbench_circular"),
        Results("MME", "MME's own scripts", "mmscore RESULT_FOLDER", _choose("mme_results", "MME", "yes_no")),
        Results("POPE", "POPE's own scripts", "mmscore ANSWERS.json --answers coco_pope_random.json",
                _choose("pope", "POPE", "yes_no")),
        Results("MathVista", "MathVista's own scripts", "mmscore output_MODEL.json", _choose("mathvista", "MathVista")),
        Results("MMMU", "MMMU's own scripts", "mmscore OUTPUT_FOLDER",
                _choose("mmmu_outputs", "MMMU", "multiple_choice")),
        Results("MMMU-Pro", "MMMU-Pro's own scripts", "mmscore MODEL_SETTING_MODE.jsonl",
                _choose("mmmu_pro_outputs", "MMMU-Pro", "multiple_choice")),
        Results("HallusionBench", "HallusionBench's own scripts", "mmscore RESULTS.json",
                _choose("hallusionbench", "HallusionBench", "yes_no")),
        Results("MultiTrust (32 tasks)", "MMTrustEval", "mmscore LOG_FOLDER/*.json --model MODEL", "mmtrust_task"),
        Results("your own", "a table with ids and predictions", "mmscore FILE --recipe own_choice", "own_choice"),
        Results("your own", "the same, with free answers", "mmscore FILE --recipe own_short_answer",
                "own_short_answer"),
    ]  # fmt: skip


def list_questions() -> list[Questions]:
    """List what converts the questions of each benchmark, by source."""
    found = [
        Questions(benchmark, "VLMEvalKit (LMUData TSV)", "lmudata",
                  f"mmconvert convert {name}.tsv -o DIR --prompt vlmevalkit")
        for benchmark, name in VLMEVALKIT.items()
    ]  # fmt: skip
    hub = {"MMBench": "lmms-lab/MMBench_EN", "POPE": "lmms-lab/POPE", "MME": "lmms-lab/MME",
           "ChartQA": "lmms-lab/ChartQA", "OCRBench": "echo840/OCRBench"}  # fmt: skip
    found += [
        Questions(benchmark, "the Hub", "hub_vqa", f"mmconvert convert {repo} -o DIR --dataset {VLMEVALKIT[benchmark]}")
        for benchmark, repo in hub.items()
    ]
    return [
        *found,
        Questions("MMBench", "MMBench (TSV)", "mmbench",
                  "mmconvert convert MMBench_DEV_EN.tsv -o DIR --prompt mmbench"),
        Questions("MMMU", "the Hub, or its parquet files", "mmmu",
                  "mmconvert convert FILE.parquet -o DIR --prompt mmmu"),
        Questions("MMMU-Pro", "the Hub, or its parquet files", "mmmu",
                  "mmconvert convert FILE.parquet -o DIR --prompt mmmu_pro"),
        Questions("MathVista", "MathVista (testmini.json)", "mathvista", "mmconvert convert testmini.json -o DIR"),
        Questions("GQA", "GQA", "gqa", "mmconvert convert testdev_balanced_questions.json -o DIR --image-root IMAGES"),
        Questions("TextVQA", "TextVQA", "textvqa",
                  "mmconvert convert TextVQA_0.5.1_val.json -o DIR --image-root IMAGES"),
        Questions("ScienceQA", "ScienceQA", "scienceqa", "mmconvert convert problems.json -o DIR --image-root IMAGES"),
        Questions("SEED-Bench", "SEED-Bench", "seed_bench",
                  "mmconvert convert SEED-Bench.json -o DIR --image-root IMAGES"),
        Questions("MM-Vet", "MM-Vet", "mm_vet", "mmconvert convert mm-vet.json -o DIR --image-root IMAGES"),
        Questions("LLaVA-Bench", "LLaVA-Bench", "llava_bench",
                  "mmconvert convert questions.jsonl -o DIR --image-root IMAGES"),
        Questions("HallusionBench", "HallusionBench", "hallusionbench",
                  "mmconvert convert HallusionBench.json -o DIR --image-root IMAGES"),
        Questions("MME", "MME (folder of texts)", "mme_results", "mmconvert convert FOLDER -o DIR --image-root IMAGES"),
        Questions("POPE", "POPE", "pope", "mmconvert convert coco_pope_random.json -o DIR --image-root IMAGES"),
        Questions("ReForm-Eval", "ReForm-Eval", "reform_eval",
                  "mmconvert convert FILE.json -o DIR --format reform_eval --prompt reform_eval"),
        Questions("MultiTrust", "MMTrustEval", "mmtrust", "mmconvert convert samples.json -o DIR"),
        Questions("your own, multiple choice", "EvalScope General-VMCQ", "vmcq",
                  "mmconvert convert FILE.tsv -o DIR --prompt evalscope"),
        Questions("your own, chat messages", "EvalScope General-VQA", "openai_messages",
                  "mmconvert convert FILE.jsonl -o DIR"),
        Questions("your own, any table", "a spreadsheet or JSON Lines", "table",
                  "mmconvert convert FILE -o DIR --map question=COLUMN --map answer=COLUMN"),
    ]  # fmt: skip


def _list_own_rules(shown: set[str]) -> list[Results]:
    """List a benchmark of VLMEvalKit's for each recipe of a rule that one of its classes has for itself."""
    first: dict[str, str] = {}
    for one in list_benchmarks():
        if one.framework == "vlmevalkit" and one.recipe and one.recipe not in shown:
            first.setdefault(one.recipe, one.name)
    return [_of_vlmevalkit(name, name) for name in first.values()]


def _of_vlmevalkit(benchmark: str, name: str) -> Results:
    recipe = _choose("vlmevalkit_predictions", name, TASKS.get(name, "vqa"), circular=is_circular(name))
    return Results(benchmark, "VLMEvalKit", f"mmscore MODEL_{name}.xlsx", recipe)


def _choose(name: str, dataset: str, task: str = "vqa", *, circular: bool = False, grouped: bool = False,
            rounds: bool = False) -> str:  # fmt: skip
    """Choose the recipe of a file as `mmscore` does."""
    facts = Facts(
        datasets=frozenset((dataset,) if dataset else ()),
        tasks=frozenset((task,)),
        formats=frozenset((name,)),
        circular=circular,
        grouped=grouped,
        rounds=rounds,
    )
    return choose_recipe(facts).name


def find_absent_recipes() -> list[str]:
    """Find the recipes that no line of the page leads to."""
    shown = {one.recipe for one in list_results()}
    return [name for name in find_plugins("mmscore.recipes") if name not in shown]
