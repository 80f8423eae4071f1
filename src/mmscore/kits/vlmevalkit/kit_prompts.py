"""VLMEvalKit's own judge prompts, read from a user's copy of it: a checkout, or the installed package `vlmeval`.

Each function below gives prompts by name with the slots that the judge of ours fills. Which function of the framework
builds a row's prompt: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset, utils/multiple_choice.py:
extract_answer_from_item, utils/yorn.py:YOrN_auxeval, utils/mathvista.py:MathVista_auxeval,
utils/mmvet.py:MMVet_auxeval, utils/logicvista.py:LogicVista_auxeval; image_vqa.py:LLaVABench.evaluate,
mmlongbenchdoc.py:MMLongBench_auxeval, simplevqa.py:SimpleVQA.get_scores, dynamath.py:DynaMath_auxeval.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmconvert.core.errors import Error, UsageError
from mmscore.core.judge import SYSTEM_PROMPT, KitPrompts
from mmscore.core.prompt_functions import (
    find_assigned_text,
    find_source,
    list_functions,
    mark_slot,
    read_assigned_texts,
    read_prompt,
    read_template,
)
from mmscore.core.recipe import Item
from mmscore.kits.vlmevalkit.judge_prompts import CANDIDATE, HAN
from mmscore.kits.vlmevalkit.rows import JUDGED_KIT, read_other_cells, require_cell

_DATASET = "vlmeval/dataset"
_UTILS = f"{_DATASET}/utils"
_OPTION_SLOTS = ("question", "options", "prediction")
_OPTION_LINE = "{key}. {value}\n"
ENGLISH, CHINESE, BLINK = "build_prompt", "build_prompt_cn", "build_prompt_blink"
_OWN_PROMPTS = re.compile("WeMath|LEGO")
"""Benchmarks with prompts that depend on more than the three slots."""

ANSWER_TYPE = "answer_type"
ANSWER_TYPES = ("multiple choice", "float")
"""Types of DynaMath's answers that a judge is asked for, in the order of the framework's prompts."""

CATEGORIES = ("conv", "detail", "complex")
"""Categories of LLaVA-Bench, each with a prompt of its own."""


def read_option_prompts(folder: Path) -> Mapping[str, str]:
    """Read what is asked about multiple-choice answers: English, Chinese, and BLINK's.

    Raises:
        Error: A function is not found, or does what is not followed.
    """
    path = find_source(folder, f"{_UTILS}/multiple_choice.py", ENGLISH, CHINESE)
    functions = list_functions(path)
    function = "build_option_str"  # older releases have it beside the prompts
    where = path if function in functions else find_source(folder, "vlmeval/smp/vlm.py", function)
    lines = read_prompt(where, function, [{mark_slot("key"): mark_slot("value")}], ("key", "value"))
    if lines.count(_OPTION_LINE) != 1:
        raise Error(f"{where} {function}: expected lines {_OPTION_LINE!r}. Give --judge-prompt a FILE.")
    options = lines.replace(_OPTION_LINE, mark_slot("options") + "\n")
    values = [mark_slot("question"), options, mark_slot("prediction")]
    names = (ENGLISH, CHINESE, *(name for name in (BLINK,) if name in functions))
    return {name: read_prompt(path, name, values, _OPTION_SLOTS) for name in names}


def _choose_option_prompt(item: Item, options: Mapping[str, Any]) -> str:
    if _OWN_PROMPTS.search(item.dataset or ""):
        raise UsageError(f"{item.dataset}: VLMEvalKit's prompt for it is not read. Give --judge-prompt a FILE.")
    if item.dataset == "BLINK":
        return BLINK
    return CHINESE if HAN.search(item.question or "") else ENGLISH


def read_yes_no_prompts(folder: Path) -> Mapping[str, str]:
    """Read what is asked about answers to yes/no questions; raises Error as `read_option_prompts`."""
    return _read_line_prompt(folder, f"{_UTILS}/yorn.py", "YOrN_match_prompt")


def read_mathvista_prompts(folder: Path) -> Mapping[str, str]:
    """Read what is asked for MathVista, examples included; raises Error as `read_option_prompts`."""
    return _read_line_prompt(folder, f"{_UTILS}/mathvista.py", "build_mathvista_gpt4_prompt")


def read_logicvista_prompts(folder: Path) -> Mapping[str, str]:
    """Read what is asked for LogicVista, examples included; raises Error as `read_option_prompts`."""
    return _read_line_prompt(folder, f"{_UTILS}/logicvista.py", "build_prompt_logicvista")


def read_mmlongbench_prompts(folder: Path) -> Mapping[str, str]:
    """Read what is asked for MMLongBench-Doc, examples included; raises Error as `read_option_prompts`."""
    return _read_line_prompt(folder, f"{_DATASET}/mmlongbenchdoc.py", "build_mmlongbench_gpt4_prompt")


def _read_line_prompt(folder: Path, module: str, function: str) -> Mapping[str, str]:
    slots = ("question", "prediction")
    path = find_source(folder, module, function)
    return {"": read_prompt(path, function, [{slot: mark_slot(slot) for slot in slots}], slots)}


def read_simplevqa_prompts(folder: Path) -> Mapping[str, str]:
    """Read what is asked for SimpleVQA; raises Error as `read_option_prompts`."""
    name, slots = "COMPARE_ANSWER_PROMPT", ("question", "reference", "prediction")
    path = find_source(folder, f"{_DATASET}/simplevqa.py", name)
    candidate = f"\n[{CANDIDATE}]：{mark_slot('prediction')}"
    values = {"question": mark_slot("question"), "answer": mark_slot("reference"), "candidates": candidate}
    return {"": read_template(path, name, values, slots)}


def read_mmvet_prompts(folder: Path) -> Mapping[str, str]:
    """Read what is asked for MM-Vet, whose last row is the slot; raises Error as `read_option_prompts`."""
    function, columns = "build_mmvet_gpt4_prompt", ("question", "answer", "prediction")
    path = find_source(folder, f"{_UTILS}/mmvet.py", function)
    prompt = read_prompt(path, function, [{name: mark_slot(name) for name in columns}], columns)
    row = "".join(f"{{{name}}} | " for name in columns)
    if prompt.count(row) != 1:
        raise Error(f"{path} {function}: expected a last row {row!r}. Give --judge-prompt a FILE.")
    return {"": prompt.replace(row, "{row}")}


def read_dynamath_prompts(folder: Path) -> Mapping[str, str]:
    """Read what is asked for DynaMath, by type of the answer, and the system turn; raises Error as the others."""
    function, slots = "DynaMath_auxeval", ("prediction",)
    path = find_source(folder, f"{_DATASET}/dynamath.py", function)
    instructions = read_assigned_texts(path, (function, "inst"), {}, slots)
    if len(instructions) < len(ANSWER_TYPES):
        raise Error(f"{path} {function}: expected an `inst` for each type of answer. Give --judge-prompt a FILE.")
    prompts = {}
    for kind, instruction in zip(ANSWER_TYPES, instructions, strict=False):
        values = {"pred": mark_slot("prediction"), "inst": instruction}
        (prompts[kind],) = read_assigned_texts(path, (function, "prompt"), values, slots)
    (system,) = read_assigned_texts(path, ("Dynamath", "evaluate", "model.system_prompt"), {}, ())
    return prompts | {SYSTEM_PROMPT: system}


def _choose_dynamath_prompt(item: Item, options: Mapping[str, Any]) -> str | None:
    kind = require_cell(read_other_cells(item), ANSWER_TYPE)
    return kind if kind in ANSWER_TYPES else None


def read_llavabench_prompts(folder: Path) -> Mapping[str, str]:
    """Read what is asked for LLaVA-Bench, by category, and the system turn; raises Error as `read_option_prompts`."""
    slots = ("caption", "question", "reference", "prediction")
    path = find_source(folder, f"{_UTILS}/llavabench.py", "build_prompt")
    line = {slot: mark_slot(slot) for slot in slots}
    line["gpt4_ans"] = line.pop("reference")
    prompts = {name: read_prompt(path, "build_prompt", [line | {"category": name}], slots) for name in CATEGORIES}
    names = ("LLaVABench", "evaluate", "system_prompt")
    image_vqa = find_source(folder, "vlmeval/dataset/image_vqa.py", ".".join(names))
    return prompts | {SYSTEM_PROMPT: find_assigned_text(image_vqa, names)}


OPTION_PROMPTS = KitPrompts(JUDGED_KIT, read_option_prompts, _choose_option_prompt)
YES_NO_PROMPTS = KitPrompts(JUDGED_KIT, read_yes_no_prompts)
MATHVISTA_PROMPTS = KitPrompts(JUDGED_KIT, read_mathvista_prompts)
DYNAMATH_PROMPTS = KitPrompts(JUDGED_KIT, read_dynamath_prompts, _choose_dynamath_prompt)
LOGICVISTA_PROMPTS = KitPrompts(JUDGED_KIT, read_logicvista_prompts)
MMLONGBENCH_PROMPTS = KitPrompts(JUDGED_KIT, read_mmlongbench_prompts)
SIMPLEVQA_PROMPTS = KitPrompts(JUDGED_KIT, read_simplevqa_prompts)
MMVET_PROMPTS = KitPrompts(JUDGED_KIT, read_mmvet_prompts)
LLAVABENCH_PROMPTS = KitPrompts(
    JUDGED_KIT, read_llavabench_prompts, lambda item, options: item.category or f"of no category, row {item.id}"
)
