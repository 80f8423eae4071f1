"""Small files of ReForm-Eval's datasets, one for each way in which they ask, and the configurations that name them."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmconvert.kits.reform_eval.loader import DATASETS
from mmscore.kits.reform_eval.benchmarks import Benchmark
from support.questions import make_image

IMAGE = b64encode(make_image("red")).decode()
VQA = {"image_id": IMAGE, "question": "Is there a cat in the image?", "answer": "maybe"}
VQA |= {"answer_options": ["yes", "no", "maybe"]}
CORE = {"image": IMAGE, "question": "Is it red?", "answer": 0, "answer_options": ["yes", "no"], "bbox": [2, 2, 9, 7]}
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


def visdial(rounds: int = 3, dialogs: int = 2) -> dict[str, Any]:
    """A file of dialogs whose right answers change from round to round."""
    dialog = [{"question": n, "answer": n % 3, "answer_options": [0, 1, 2]} for n in range(rounds)]
    listed = [{"image_id": 287626 + n, "image_base64": IMAGE, "dialog": dialog} for n in range(dialogs)]
    data = {"questions": [f"is it {n}" for n in range(rounds)], "answers": ["yes", "no", "maybe"], "dialogs": listed}
    return {"data": data}


def read_framework_config(benchmark: Benchmark) -> dict[str, Any]:
    """The framework's own configuration of a benchmark, with all its keys."""
    shared = Path(__file__).resolve().parents[3] / "shared/data/reform_eval_configs.json"
    if not shared.is_file():
        pytest.skip("no ../shared beside the checkout: the framework's configurations are there")
    return json.loads(shared.read_text())["files"][f"build/configs/{benchmark.config}.yaml"]


def written(folder: Path, benchmark: Benchmark, count: int = 2) -> Path:
    """Write a benchmark's file, and its configuration with the framework's own keys; give the configuration."""
    config = read_framework_config(benchmark)
    facts = {name: config[name] for name in ("version", "split") if name in config}
    places = config["data_config"]
    files = _files(benchmark, config.get("task"), count, facts)
    for name, value in files.items():
        key = _find_key(places, name, config.get("task_kind", ""))
        if name == "choice" and benchmark.dataset_name == "TDIUC":
            (folder / "choice_list").mkdir(exist_ok=True)
            _json(folder / f"choice_list/{config['task']}.json", value)
            places[key] = f"{folder}/choice_list/"
        else:
            stem = Path(places[key]).stem if len(files) > 1 else benchmark.config
            places[key] = _json(folder / f"{stem}.json", value)
    path = folder / f"{benchmark.config}.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def _find_key(places: dict[str, str], what: str, kind: str) -> str:
    keys = [key for key in places if key.startswith("offline_huggingface_") and key.endswith(what)]
    return next(key for key in keys if len(keys) == 1 or kind.lower().replace("or", "") in key.lower())


def _files(benchmark: Benchmark, task: str | None, count: int, facts: dict[str, str]) -> dict[str, Any]:
    if benchmark.dataset_name == "TDIUC":
        return _tdiuc(task or "", count)
    if task == "oc":
        items = [{"Image_ID": IMAGE, "Question": "How many?", "Answer": n, "Resolved_COCO_category": "cat"}
                 for n in range(count)]  # fmt: skip
        return {"anns": items, "choice": {"choice": list(range(9))}}
    name = benchmark.dataset_name
    dataset = DATASETS.get((name, task)) or DATASETS[name, None]
    file = _file(dataset.family, name, count)
    return {"anns": file} if isinstance(file, list) else {"data": {**facts, **file}}


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
    facts = {"dataset_name": named} if named else {}
    facts |= {"instructs": ["Choose well."] * 5} if family == "CLEVR" else {}
    return {**facts, "data": items}


def _tdiuc(kind: str, count: int) -> dict[str, Any]:
    questions = [{"question_id": n, "image_id": IMAGE, "question": "Which?"} for n in range(count)]
    facts = {"question_type": kind, "ans_source": "test", "answers": [{"answer": "red"}]}
    annotations = [{"question_id": n, **facts} for n in reversed(range(count))]
    choices = {"choice": ["red", "green", "blue", "white", "black"]}
    return {"question": questions, "anns": annotations, "choice": choices}


def _json(path: Path, value: Any) -> str:
    path.write_text(json.dumps(value))
    return str(path)
