"""Golden cases on the way of a user: files as the framework writes them, `mmscore.score`, the report's numbers.

Each writer lays out what one case describes, and says which of the report's numbers the case holds. It decides nothing:
beside the file it gives what a user must say, such as the name of a benchmark that the file does not have.
"""

import base64
import json
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd
import yaml

import mmconvert
import mmscore
from goldens.comparison import difference
from goldens.product import scripted_service, write_workbook
from mmconvert.benchmarks.catalogue import find_benchmark
from mmconvert.core.errors import Error
from mmconvert.core.record import LETTERS
from mmconvert.prompts.evalscope import build_choice_text
from mmscore.core.recipe import Facts
from mmscore.core.report import Entry
from mmscore.core.select_recipe import choose_recipe
from mmscore.nlp import meteor
from mmscore.scoring import bootstrap
from mmscore.scoring.judging.request import JudgeRequest
from support.questions import make_image


@dataclass(frozen=True)
class File:
    """A result file to score.

    Attributes:
        path: File or folder.
        wanted: The framework's numbers, or `{"error": ...}` where it breaks off.
        read: Takes the same numbers out of the report's entry.
        arguments: What a user must say besides, as keywords of `mmscore.score`.
        version: Version of the recipe that fits; None for the newest.
        rows: How many rows the framework counts; None where the case does not say.
        replies: What a judge model says, by the text of the question; none where no model is asked.
    """

    path: Path
    wanted: Any
    read: Callable[[Entry], Any]
    arguments: dict[str, Any] = field(default_factory=dict)
    version: str | None = None
    rows: int | None = None
    replies: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What came of a file: its recipe, None where the file is refused, and what is wrong, None where nothing is."""

    recipe: str | None
    problem: str | None


def score_files(family: str, case: dict) -> Iterator[Outcome]:
    """Write the files of a case one after the other, score each, and compare."""
    # Cases hold neither errors of numbers nor, as files, METEOR, for which Java starts.
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(bootstrap, "_MOST_ROWS", 0),
        patch.object(meteor, "describe_missing", lambda: "left out"),
    ):
        _, write = WRITERS[family, case["rule"]]
        for file in write(case, Path(folder)):
            yield _score_file(family, case["rule"], file)


def _score_file(family: str, rule: str, file: File) -> Outcome:
    fails = isinstance(file.wanted, dict) and "error" in file.wanted
    try:
        entry = _score(file)
        found = file.read(entry)
    except Error as refusal:
        return Outcome(None, None if fails else f"{file.path.name}: refused: {refusal}")
    if fails:
        if entry.recipe.startswith("own_"):
            # What lacks the framework's fields is read as a table of no framework, which the program says.
            return Outcome(None, None)
        # Rows that have no score are named by the report, and the command ends with another exit code than 0.
        gone = entry.counts.unscored or not found
        return Outcome(entry.recipe, None if gone else f"{file.path.name}: {file.wanted}, got {found!r}")
    problem = difference(file.wanted, found, family, rule)
    counted = {entry.counts.scored, *(metric.n for metric in entry.metrics.values())}
    if not problem and file.rows is not None and file.rows not in counted:
        problem = f"{file.rows} rows, got {entry.counts}"
    return Outcome(entry.recipe, problem and f"{file.path.name}: {problem}")


def _score(file: File) -> Entry:
    arguments = file.arguments
    if file.version:
        recipe = arguments.get("recipe") or mmscore.score(file.path, **arguments).entries[0].recipe
        arguments = {**arguments, "recipe": f"{recipe}@{file.version}"}
    with scripted_service(file.replies):
        return mmscore.score(file.path, **arguments).entries[0]


def _read_table(entry: Entry) -> list[dict]:
    return [dict(line) for line in entry.table]


def _read_line(entry: Entry) -> dict:
    return _read_table(entry)[0]


# VLMEvalKit: `{model}_{dataset}.xlsx`.

DATASETS = {
    "HallusionBench_table": "HallusionBench", "ocrbench_table": "OCRBench", "coco_table": "COCO_VAL",
}  # fmt: skip
"""Benchmarks whose cases do not name them."""
UNKNOWN = {"my_custom_mcq", "my_mmbench_like", "自定义集", "BLINK_circular", "SomeOtherVQA", "my_yesno"}
"""Names that are no benchmark of VLMEvalKit: the user says that the file's name ends with one."""
UNNAMED = {"default_yorn_table": "vlmevalkit_yorn", "vqa_table": "vlmevalkit_vqa"}
"""Rules of benchmarks that VLMEvalKit does not know: the user names the recipe."""
SPLITS = ("POPE_table", "HallusionBench_table")


def _write_table(case: dict, folder: Path) -> Iterator[File]:
    rule, given, expected = case["rule"], case["input"], case["expected"]
    dataset = given.get("dataset") or DATASETS.get(rule) or f"VCR_{given['language'].upper()}_EASY_ALL"
    path = folder / f"model_{dataset}.xlsx"
    write_workbook(_build_frame(given, folder), path)
    arguments = {"dataset": dataset} if dataset in UNKNOWN else {}
    if rule in UNNAMED and (rule == "default_yorn_table" or dataset in UNKNOWN):
        arguments["recipe"] = UNNAMED[rule]
    yield File(path, *_choose_numbers(rule, expected), arguments)
    if "expected_v2" in case:
        yield File(path, *_choose_numbers(rule, case["expected_v2"]), arguments, version="v2")


def _write_kit_table(case: dict, folder: Path) -> Iterator[File]:
    """Write the workbook of a benchmark whose name alone says the recipe; lines and columns stand in any order."""
    given, expected = case["input"], case["expected"]
    path = folder / f"model_{given['dataset']}.xlsx"
    frame = _build_frame({"dropped_rows": [], **given}, folder)
    write_workbook(frame, path)
    arguments = {"answers": _write_questions(frame, given, folder)} if "image_sizes" in given else {}
    yield File(path, expected, lambda entry: {"table": _read_table(entry)}, arguments)


def _write_questions(frame: pd.DataFrame, given: dict, folder: Path) -> Path:
    """Convert the table of questions with its images, of which the rule reads the sizes."""
    table = folder / f"{given['dataset']}.tsv"
    images = [base64.b64encode(make_image("white", tuple(size))).decode() for size in given["image_sizes"]]
    frame.drop(columns="prediction").assign(image=images).to_csv(table, sep="\t", index=False)
    mmconvert.convert(table, folder / "questions")
    return folder / "questions"


def _write_judged_table(case: dict, folder: Path) -> Iterator[File]:
    """Write a workbook as `_write_kit_table`; the user names the judge of the same name as the recipe."""
    for file in _write_kit_table(case, folder):
        recipe = _find_catalogued_recipe(case)
        judge = JudgeRequest(recipe, model="scripted", base_url="http://127.0.0.1:9/v1")
        yield replace(file, arguments={"judge": judge}, replies=case["input"]["judge_replies"])


def _find_catalogued_recipe(case: dict) -> str:
    recipe = find_benchmark(f"vlmevalkit:{case['input']['dataset']}").recipe
    if recipe is None:
        raise ValueError(f"the catalogue names no recipe for {case['input']['dataset']}")
    return recipe


def _find_choice_recipe(case: dict) -> str:
    """Name the recipe that VLMEvalKit's multiple choice has for a benchmark."""
    asked = Facts(
        frozenset([case["input"]["dataset"]]),
        formats=frozenset(["vlmevalkit_predictions"]),
        tasks=frozenset(["multiple_choice"]),
    )
    return choose_recipe(asked).name


def _build_frame(given: dict, folder: Path) -> pd.DataFrame:
    frame = pd.DataFrame(given["rows"], columns=given["columns"])
    if "predictions" not in given:
        return frame
    # The framework reads its questions from a table, and puts predictions beside them.
    questions = folder / "questions.tsv"
    frame.to_csv(questions, sep="\t", index=False)
    frame = pd.read_csv(questions, sep="\t")
    questions.unlink()
    frame["prediction"] = given["predictions"][: len(frame)]
    return frame.drop(index=given["dropped_rows"])


def _choose_numbers(rule: str, expected: dict) -> tuple[Any, Callable[[Entry], Any]]:
    """Give the numbers that a case holds of a table, and what reads them."""
    if "error" in expected:
        return expected, _read_table
    if rule == "mcq_table":
        return expected["acc"], lambda entry: sorted(_read_table(entry), key=lambda line: str(line.get("split", "")))
    if rule in ("ocrbench_table", "coco_table", "vcr_table"):
        return {name: value for name, value in expected.items() if name != "returned"}, _read_line
    if rule in SPLITS:
        return expected["score"], lambda entry: sorted(
            _read_table(entry), key=lambda line: (line["split"] != "Overall", line["split"])
        )
    return expected["score"], _read_table


# MMMU: a folder of outputs, one a subject.


def _write_mmmu_outputs(case: dict, folder: Path) -> Iterator[File]:
    expected = case["expected"]
    _write_subjects(case["input"]["outputs"], folder)
    wanted = expected if "error" in expected else expected["table"]
    yield File(folder, wanted, lambda entry: [[line["name"], line["num"], line["acc"]] for line in entry.table])


def _write_mmmu_final(case: dict, folder: Path) -> Iterator[File]:
    path, key = folder / "model_val.json", folder / "answer_dict_val.json"
    path.write_text(json.dumps(case["input"]["predictions"], indent=4), "utf-8")
    key.write_text(json.dumps(case["input"]["answers"], indent=4), "utf-8")

    def read(entry: Entry) -> dict:
        return {line["name"]: {"num": line["num"], "acc": line["acc"]} for line in entry.table}

    yield File(path, case["expected"], read, {"answers": key})


def _write_subjects(outputs: dict[str, list[dict]], folder: Path) -> None:
    for subject, rows in outputs.items():
        (folder / subject).mkdir()
        (folder / subject / "output.json").write_text(json.dumps(rows, indent=4), "utf-8")


# ReForm-Eval: `{dataset}_{formulation}_{method}_{model}_{model_name}.json`.

REFORM_DATASETS = {"SingleChoice": "VQA", "OCROpenEnded": "IC15", "KIEOpenEnded": "FUNSD", "Generation": "NoCaps"}
TREND = ("corr", "slope")
REFORM_NUMBERS = (
    "accuracy", "instability", "corr", "slope", "bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "cider",
)  # fmt: skip


def _write_reform_predictions(case: dict, folder: Path) -> Iterator[File]:
    given, expected = case["input"], case["expected"]
    formulation, rounds = given["formulation"], given["multi_round_eval"]
    if given["eval_stability"] and formulation != "SingleChoice":
        return  # The framework breaks off at its own flag.
    dataset = "VisDial" if rounds else REFORM_DATASETS[formulation]
    path = folder / f"{dataset}_{formulation}_{given['infer_method']}_model_model.json"
    path.write_text(json.dumps(given["records"]), "utf-8")
    wanted = expected
    if "error" not in expected:
        # A report has no trend of one round, of which the framework logs NaN and 0.
        single = len({record.get("round_id") for record in given["records"]}) == 1
        names = [name for name in REFORM_NUMBERS if not (single and name in TREND)]
        wanted = {name: expected[name] for name in names if name in expected}
    yield File(path, wanted, _read_numbers(wanted), {"recipe": "reform_multiround"} if rounds else {})


def _read_numbers(wanted: Iterable[str]) -> Callable[[Entry], dict]:
    """Read numbers by name, of all rows or of a table that has one line; one that is left out does not exist."""

    def read(entry: Entry) -> dict:
        found = dict(entry.table[0]) if len(entry.table) == 1 else {}
        found |= {name: metric.value for name, metric in entry.metrics.items()}
        return {name: found.get(name, math.nan) for name in wanted}

    return read


# MMTrustEval: a log, and the task file that made it.


def _write_mmtrust_log(case: dict, folder: Path) -> Iterator[File]:
    log = case["expected"].get("json")
    if not log or not log["total_results"] or _lacks_labels(case):
        return
    path, task, again = folder / "log.json", folder / "task.yaml", folder / "again.json"
    path.write_text(json.dumps(_decode(log), indent=4, ensure_ascii=False), "utf-8")
    task.write_text(yaml.safe_dump({"evaluator_seq_cfgs": case["input"]["evaluator_seq_cfgs"]}, sort_keys=False))

    def read(entry: Entry) -> dict:
        return json.loads(again.read_text("utf-8"))["total_results"]

    arguments = {"recipe": "mmtrust_task", "recipe_options": str(task), "log": str(again)}
    yield File(path, _decode(log)["total_results"], read, arguments)


def _lacks_labels(case: dict) -> bool:
    """Tell whether the framework left labels out of its log: it leaves a column out in which nothing is true."""
    targets = [row["target"] for row in case["input"]["responses"]]
    return not any(targets) and any(target is not None for target in targets)


def _decode(value: Any) -> Any:
    """Read the encoding of numbers that are not finite."""
    if isinstance(value, dict):
        return float(value["$f"]) if set(value) == {"$f"} else {name: _decode(one) for name, one in value.items()}
    return [_decode(one) for one in value] if isinstance(value, list) else value


def _write_judged_log(case: dict, folder: Path) -> Iterator[File]:
    """Write a log that holds what the chat model said; the recipe wants one to be named, and does not ask it."""
    for file in _write_as_given(case, folder):
        judge = JudgeRequest("mmtrust", model="none", base_url="http://127.0.0.1:9/v1")
        yield replace(file, arguments={**file.arguments, "judge": judge})


# EvalScope: a run's folder, `reviews/{model}/{benchmark}_{subset}.jsonl`, of each release.

EVALSCOPE = {"1.3.0": "1.3", "1.10.0": "1.10", "1.14.1": "1.14"}
"""Release -> version of our recipes."""
NEWEST = "1.14.1"
RIGHT, WRONG = "A", "B"


def _write_evalscope_run(case: dict, folder: Path) -> Iterator[File]:
    """Write runs whose responses give the scores of a report's case: choices that are right or wrong."""
    given = case["input"]
    values = [sample["value"] for samples in given["subsets"].values() for sample in samples]
    if given["aggregation"] != "mean" or not values or not all(value in ({"acc": 0}, {"acc": 1}) for value in values):
        return  # No response gives such a score.
    for release, expected in case["expected"].items():
        if "rows" not in expected:
            continue
        lines = [dict(zip(expected["columns"], row, strict=True)) for row in expected["rows"]]
        for subset, samples in given["subsets"].items():
            letters = [RIGHT if sample["value"]["acc"] else WRONG for sample in samples]
            reviews = [(f"ANSWER: {one}", RIGHT) for one in letters]
            path = _write_reviews(folder / release, f"general_vmcq_{subset}", reviews, 2)
            wanted = _keep_numbers(line for line in lines if line["Subset"] == subset)
            if wanted:  # A run has no line for a subset without samples.
                recipe = f"evalscope_general_vmcq@{EVALSCOPE[release]}"
                yield File(path, wanted, lambda entry: _keep_numbers(entry.table), {"recipe": recipe})


def _write_evalscope_choice(case: dict, folder: Path) -> Iterator[File]:
    """Write runs of one response each: its score is the run's."""
    given = case["input"]
    if given["multiple_correct"] or not isinstance(given["target"], str):
        return  # The prompt, which is not in the case, says that several letters may be right.
    if not 1 < given["n_choices"] <= len(LETTERS):
        return  # A prompt names its options by letters.
    yield from _write_single(case, folder, "general_vmcq", (given["response"], given["target"]), given["n_choices"])


def _write_evalscope_text(case: dict, folder: Path) -> Iterator[File]:
    given = case["input"]
    if given["pred"] is None or given["ref"] is None:
        return  # No file holds such a response.
    yield from _write_single(case, folder, "general_vqa", (given["pred"], given["ref"]), 0)


def _write_single(case: dict, folder: Path, benchmark: str, review: tuple[str, str], options: int) -> Iterator[File]:
    for release, expected in case["expected"].items():
        scores = expected.get("score", expected)
        if not scores or "error" in scores:
            continue  # The sample is left out, and no number is left.
        path = _write_reviews(folder / release, f"{benchmark}_default", [review], options)
        recipe = f"evalscope_{benchmark}@{EVALSCOPE[release]}"
        wanted = [round(score, 4) for score in scores.values()]
        yield File(path, wanted, lambda entry: [line["Score"] for line in entry.table], {"recipe": recipe})


def _write_reviews(run: Path, name: str, reviews: list[tuple[str, str]], options: int) -> Path:
    """Write responses and their references as a release of EvalScope does; the run's folder is named after it."""
    newest = run.name == NEWEST
    question = build_choice_text("Which one is it?", [f"opt{n}" for n in range(options)]) if options else "What is it?"
    file = run / "reviews" / "model" / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as lines:
        for index, (response, target) in enumerate(reviews):
            turns = [{"role": "user", "content": question}, {"role": "assistant", "content": response}]
            score = {"value": {}, "extracted_prediction": "", "prediction": response, "main_score_name": None}
            review = {
                "index": index,
                **({"target": [target], "messages": turns} if newest else {"input": question, "target": target}),
                "sample_score": {"score": score, "sample_id": index, "group_id": index},
            }
            lines.write(json.dumps(review) + "\n")
    return file


def _keep_numbers(lines: Iterable[Mapping[str, Any]]) -> list[dict]:
    """Keep what a review file alone says: categories are of a run's settings."""
    return [{name: line[name] for name in ("Metric", "Subset", "Num", "Score")} for line in lines]


# Result files that the case holds byte for byte.


def _write_as_given(case: dict, folder: Path) -> Iterator[File]:
    given, expected = case["input"], case["expected"]
    for name, text in given["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, str):
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
        else:
            write_workbook(pd.DataFrame(text[1:], columns=text[0], dtype=object), path)
    for name, source in given.get("convert", {}).items():
        mmconvert.convert(folder / source, folder / name)
    places = ("answers", "recipe_options")
    arguments = {k: str(folder / v) if k in places else v for k, v in given.get("args", {}).items()}
    wanted = expected if "error" in expected else expected.get("table") or _decode(expected["numbers"])
    read = _read_lines_like(expected["table"]) if "table" in expected else _read_numbers(wanted)
    yield File(folder / given["path"], wanted, read, arguments, rows=expected.get("rows"))


def _read_lines_like(wanted: list[dict]) -> Callable[[Entry], list[dict]]:
    """Read the columns of a table that the case holds; a case has no line over all subsets."""

    def read(entry: Entry) -> list[dict]:
        lines = [line for line in entry.table if line.get("Subset") != "OVERALL"]
        return [{name: line.get(name) for name in one} for line, one in zip(lines, wanted, strict=True)]

    return read


FILES = "files_"
"""What the names of the families begin with whose cases are whole files."""
YES_NO = ("MME", "POPE", "HallusionBench", "AMBER", "VSR")
WRITERS: dict[tuple[str, str], tuple[str | Callable[[dict], str], Callable[[dict, Path], Iterator[File]]]] = {
    **{("vlmeval_yorn", f"{name}_table"): (f"vlmevalkit_{name.lower()}", _write_table) for name in YES_NO},
    ("vlmeval_yorn", "default_yorn_table"): ("vlmevalkit_yorn", _write_table),
    ("vlmeval_mcq_eval", "mcq_table"): (_find_choice_recipe, _write_table),
    ("vlmeval_vqa", "vqa_table"): ("vlmevalkit_vqa", _write_table),
    ("vlmeval_ocrbench", "ocrbench_table"): ("vlmevalkit_ocrbench", _write_table),
    ("vlmeval_coco", "coco_table"): ("vlmevalkit_caption", _write_table),
    ("vlmeval_vcr", "vcr_table"): ("vlmevalkit_vcr", _write_table),
    ("mmmu_eval", "mmmu_parse_and_eval"): ("mmmu_val", _write_mmmu_outputs),
    ("mmmu_eval", "mmmu_eval_only"): ("mmmu_val", _write_mmmu_final),
    **{
        (f"reform_{name}", "loader_eval"): (f"reform_{name}", _write_reform_predictions)
        for name in ("singlechoice", "ocr", "kie", "generation")
    },
    ("reform_multiround", "loader_eval_multi_round"): ("reform_multiround", _write_reform_predictions),
    ("mmte_task", "task"): ("mmtrust_task", _write_mmtrust_log),
    ("evalscope_report", "evalscope_report"): ("evalscope_general_vmcq", _write_evalscope_run),
    ("evalscope_vmcq", "evalscope_vmcq:parse"): ("evalscope_general_vmcq", _write_evalscope_choice),
    ("evalscope_bleu_rouge", "evalscope_bleu_rouge"): ("evalscope_general_vqa", _write_evalscope_text),
    (f"{FILES}vlmevalkit", "table"): (_find_catalogued_recipe, _write_kit_table),
    (f"{FILES}vlmevalkit", "judged_table"): (_find_catalogued_recipe, _write_judged_table),
    (f"{FILES}benchmarks", "pope_file"): ("pope_official", _write_as_given),
    (f"{FILES}benchmarks", "mathvista_file"): ("mathvista_official", _write_as_given),
    **{
        (f"{FILES}benchmarks", name): (name, _write_as_given)
        for name in ("llava_textvqa", "llava_gqa", "llava_scienceqa", "llava_seed")
    },
    (f"{FILES}benchmarks", "mme_folder_file"): ("mme_official", _write_as_given),
    (f"{FILES}benchmarks", "mmmu_pro_file"): ("mmmu_pro", _write_as_given),
    **{
        (f"{FILES}lmms_eval", f"{name}_file"): (f"lmms_{name}", _write_as_given)
        for name in ("pope", "mme", "chartqa", "docvqa", "ocrbench")
    },
    **{
        (f"{FILES}evalscope", f"general_{name}_{kind}_file"): (f"evalscope_general_{name}", _write_as_given)
        for name in ("vqa", "vmcq")
        for kind in ("reviews", "predictions")
    },
    **{(f"{FILES}mmtrusteval", f"{name}_file"): (f"mmtrust_{name}", _write_as_given) for name in ("refusal", "yes_no")},
    (f"{FILES}mmtrusteval", "judged_file"): ("mmtrust_judged", _write_judged_log),
}
"""(family, rule) -> the recipe that gives the number, and what writes the files of a case."""


def find_recipe_name(family: str, case: dict) -> str:
    """Name the recipe that scores the files of a case."""
    recipe, _ = WRITERS[family, case["rule"]]
    return recipe if isinstance(recipe, str) else recipe(case)
