"""Questions for EvalScope, and tasks about them, as its users write them."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmscore.compat.evalscope import task_of
from support.questions import COLOURS, make_image

PROMPT = 'Be kind, style="plain", n=1:\n"so."\\'
"""Text that a parameter of a transform would end at, were it not quoted."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two subsets of questions, one of choices, one image, and a table in LMUData."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    for name in ("EVALSCOPE_API_KEY", "MODELSCOPE_SDK_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for place in ("vqa", "mcq", "LMUData"):
        Path(place).mkdir()
    Path("vqa/red.png").write_bytes(make_image("red"))
    for subset, rows in (("first", 4), ("second", 2)):
        write_vqa(f"vqa/{subset}.jsonl", rows)
    row = {"question": "<image 1> Which?", "options": ["red", "blue"], "image_1": "vqa/red.png", "answer": "A"}
    Path("mcq/default.jsonl").write_text(json.dumps(row) + "\n")
    Path("LMUData/mine.tsv").write_text("index\tquestion\tanswer\timage_path\n1\tWhich?\tred\tvqa/red.png\n")
    return tmp_path


def write_vqa(path: str, rows: int) -> None:
    image = {"type": "image_url", "image_url": {"url": "vqa/red.png"}}
    lines = [
        {
            "messages": [{"role": "user", "content": [{"type": "text", "text": f"Colour {n}?"}, image]}],
            "answer": COLOURS[n % 4],
        }
        for n in range(rows)
    ]
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines))


def task(**changes: Any) -> dict[str, Any]:
    given = {
        "model": "org/Demo 1b",
        "api_url": "http://127.0.0.1:9/v1",
        "eval_type": "openai_api",
        "datasets": ["general_vqa"],
        "dataset_args": {"general_vqa": {"local_path": "vqa", "subset_list": ["first"]}},
    }
    return {name: value for name, value in {**given, **changes}.items() if value is not None}


def model_of(**changes: Any) -> dict[str, Any]:
    (model,) = task_of(task(**changes))["models"]
    return model


def dataset_of(**arguments: Any) -> dict[str, Any]:
    given = {"local_path": "vqa", "subset_list": ["first"], **arguments}
    (dataset,) = task_of(task(dataset_args={"general_vqa": given}))["datasets"]
    return dataset


def backend_of(entry: dict[str, Any], **changes: Any) -> dict[str, Any]:
    entry = {"type": "m", "name": "CustomAPIModel", "api_base": "http://127.0.0.1:9/v1/chat/completions", **entry}
    return {"eval_backend": "VLMEvalKit", "eval_config": {"model": [entry], "data": ["mine"], **changes}}
