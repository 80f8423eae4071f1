"""Small files of ReForm-Eval's datasets, one for each way in which they ask, and the configurations that name them."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import yaml

from mmconvert.kits.reform_eval.loader import DATASETS
from mmscore.kits.reform_eval.benchmarks import Benchmark
from support.questions import picture

IMAGE = b64encode(picture("red")).decode()
SPLIT, VERSION = "val", "1.0"

VQA = {"image_id": IMAGE, "question": "Is there a cat in the image?", "answer": "maybe"}
VQA |= {"answer_options": ["yes", "no", "maybe"]}
CORE = {"image": IMAGE, "question": "Is it red?", "answer": 0, "answer_options": ["yes", "no"]}
GT = {"img": IMAGE, "gt": 1}
READING = {"image": IMAGE, "answer_txt": "OPEN", "bbox": [2, 2, 9, 7]}

ITEMS: dict[str, dict[str, Any]] = {
    "VQA": VQA,
    "KVQA": {**VQA, "context": "Cats are animals."},
    "VQRA": {**VQA, "rationale": "It is red."},
    "VQAR": {**VQA, "rationale": "It is red.", "rationale_options": ["It is red.", "It is blue."]},
    "MCV": {**VQA, "claim": "It is so.", "text_evidence": "It was so.", "instance_id": "c"},
    "CaptionSelection": VQA,
    "Core": CORE,
    "CLEVR": CORE,
    "VSR": {**CORE, "question": ["Which is so?", "What is so?"]},
    "MP3D": {**CORE, "questions": ["Which is so?", "What is so?"]},
    "ITM": {**GT, "anno": "a cat"},
    "ITS": {**GT, "anno": ["a cat", "a dog"]},
    "WikiHow": {**GT, "method": "Bake", "title": "Bread", "options": ["Mix", "Bake"]},
    "SNLI-VE": {**GT, "anno": "a cat sleeps"},
    "MEDIC": {**GT, "options": ["fire", "flood"]},
    "RefCOCO": {**GT, "options": ["left cat", "right cat"], "region": [[2, 2, 9, 7]]},
    "Classification": {"image": IMAGE, "question": "What is it?", "answer": 1, "options": ["cat", "dog", "cow"]},
    "OCR": {**READING, "question": ["What is written?", "Which word?"]},
    "KIE": {**READING, "question": "What is the total?"},
    "TextVQA": {"image_id": IMAGE, "question": "What is written?", "answer": ["open", "Open"]},
    "Caption": {"img": IMAGE, "annos": ["a red field", "all red"]},
    "TextCaps": {"img": IMAGE, "annos": ["a red field", "all red"]},
}
IN_FILE = {"ITM": "MSCOCO", "ITS": "MSCOCO", "WikiHow": "WikiHow", "MEDIC": "MEDIC", "RefCOCO": "RefCOCO"}
"""Families whose file names their dataset."""

CAPTIONS = {"MSCOCO": "mscoco", "NoCaps": "nocaps", "Flickr30K": "flickr30k", "TextCaps": "textcaps"}

TASKS = {
    "MulticlassIdentification_val": "mci",
    "GroundedObjIdentification_val": "goi",
    "MissingObjectSelection_val": "mos",
    "ObjectCounting_mscoco_val": "oc",
    "ImageTextMatching_val": "itm",
    "ImageTextSelection_val": "its",
    "Caption_MSCOCO_val": "caption",
    "ReferringExpression_val": "res",
    "TDIUC_sport": "sport_recognition",
    "TDIUC_scene": "scene_recognition",
    "TDIUC_color": "color",
    "TDIUC_utility": "utility_affordance",
    "TDIUC_position": "positional_reasoning",
    "TDIUC_detection": "object_presence",
    "TDIUC_counting": "counting",
}


def visdial(rounds: int = 3, dialogs: int = 2) -> dict[str, Any]:
    """A file of dialogs whose right answers change from round to round."""
    dialog = [{"question": n, "answer": n % 3, "answer_options": [0, 1, 2]} for n in range(rounds)]
    listed = [{"image_id": 287626 + n, "image_base64": IMAGE, "dialog": dialog} for n in range(dialogs)]
    data = {"questions": [f"is it {n}" for n in range(rounds)], "answers": ["yes", "no", "maybe"], "dialogs": listed}
    return {"version": VERSION, "split": SPLIT, "data": data}


def written(folder: Path, benchmark: Benchmark, count: int = 2) -> Path:
    """Write a benchmark's file and its configuration; give the configuration."""
    task = TASKS.get(benchmark.config, "gocr" if benchmark.config.startswith("GroundOCR") else None)
    config: dict[str, Any] = {"version": VERSION, "split": SPLIT, "instruct_kind": "single_choice"}
    if task or benchmark.config.startswith("OCR"):
        config["task"] = task or "ocr"
    places = _files(folder, benchmark, task, count)
    path = folder / f"{benchmark.config}.yaml"
    path.write_text(yaml.safe_dump({**config, "data_config": places}))
    return path


def _files(folder: Path, benchmark: Benchmark, task: str | None, count: int) -> dict[str, str]:
    if benchmark.dataset_name == "TDIUC":
        return _tdiuc(folder, task or "", count)
    if task == "oc":
        items = [{"Image_ID": IMAGE, "Question": "How many?", "Answer": n, "Resolved_COCO_category": "cat"}
                 for n in range(count)]  # fmt: skip
        lists = {"anns": items, "choice": {"choice": list(range(9))}}
        return {
            f"offline_huggingface_{name}": _json(folder / f"oc_{name}.json", value) for name, value in lists.items()
        }
    name = benchmark.dataset_name
    dataset = DATASETS.get((name, task)) or DATASETS[name, None]
    file = _file(dataset.family, name, count)
    key = "offline_huggingface_anns" if isinstance(file, list) else "offline_huggingface_data"
    return {key: _json(folder / f"{benchmark.config}.json", file)}


def _file(family: str, name: str, count: int) -> Any:
    if family == "VisDial":
        return visdial(dialogs=count)
    keys = {"MCV": "instance_id", "RefCOCO": "id", "Classification": "id"}
    items = [{keys.get(family, "question_id"): f"{name}_{n:03}", **ITEMS[family]} for n in range(count)]
    if family == "MCV":
        items = [{**item, "instance_id": f"{name}_{n:03}"} for n, item in enumerate(items)]
    if family == "Classification":
        return items
    named = CAPTIONS[name] if family in ("Caption", "TextCaps") else IN_FILE.get(family)
    facts = {"dataset_name": named} if named else {"version": VERSION, "split": SPLIT}
    facts |= {"instructs": ["Choose well."] * 5} if family == "CLEVR" else {}
    return {**facts, "data": items}


def _tdiuc(folder: Path, kind: str, count: int) -> dict[str, str]:
    questions = [{"question_id": n, "image_id": IMAGE, "question": "Which?"} for n in range(count)]
    facts = {"question_type": kind, "ans_source": "test", "answers": [{"answer": "red"}]}
    annotations = [{"question_id": n, **facts} for n in reversed(range(count))]
    choices = folder / "choice_list"
    choices.mkdir(exist_ok=True)
    _json(choices / f"{kind}.json", {"choice": ["red", "green", "blue", "white", "black"]})
    return {
        "offline_huggingface_question": _json(folder / "TDIUC_val_ques.json", questions),
        "offline_huggingface_anns": _json(folder / "TDIUC_val_anns.json", annotations),
        "offline_huggingface_choice": f"{choices}/",
    }


def _json(path: Path, value: Any) -> str:
    path.write_text(json.dumps(value))
    return str(path)
