"""A converted dataset trains as it is: with TRL, and in a loop of one's own."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jinja2.sandbox
import pytest
import torch
from datasets import load_dataset
from transformers import AutoModelForImageTextToText, AutoProcessor

from mmconvert.chat.collate import IGNORED, ChatCollator
from mmconvert.cli import program
from mmconvert.console.app import run
from mmconvert.core.errors import Error
from support.questions import make_image
from support.tiny_models import save_idefics3, save_llava

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
VIEWS = ("sft", "prompt-completion")


def _image(folder: Path, name: str, colour: str) -> dict[str, Any]:
    (folder / name).write_bytes(make_image(colour))
    return {"type": "image_url", "image_url": {"url": name}}


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """An image, two of them between texts, a system turn, a text alone: one row each, twice."""
    folder = tmp_path_factory.mktemp("source")
    red, blue = _image(folder, "red.png", "red"), _image(folder, "blue.png", "blue")

    def text(words):
        return {"type": "text", "text": words}

    talks = [
        [{"role": "user", "content": [red, text("What colour?")]}],
        [{"role": "user", "content": [red, text("and"), blue, text("differ how?")]}],
        [{"role": "system", "content": "回答简短。"}, {"role": "user", "content": [blue, text("这是什么颜色？")]}],
        [{"role": "user", "content": "One word for the sky's colour."}],
    ]
    answers = ["Red.", "One is red.", "蓝色", "Blue."]
    rows = [
        {"id": str(n), "messages": t, "answer": a} for n, (t, a) in enumerate(zip(talks * 2, answers * 2, strict=True))
    ]
    (folder / "train.jsonl").write_text(
        "\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8"
    )
    return folder / "train.jsonl"


@pytest.fixture(scope="module")
def data(source, tmp_path_factory):
    """Convert to a view; the split is `train`."""

    def made(view: str) -> Path:
        output = tmp_path_factory.mktemp("data") / view
        with pytest.raises(SystemExit) as ended:
            run(
                program,
                ["convert", str(source), "-o", str(output), "--view", view, "--split", "train", "--quiet"],
                program="mmconvert",
            )
        assert ended.value.code == 0
        return output

    return {view: made(view) for view in VIEWS}


@pytest.fixture(scope="module")
def llava(tmp_path_factory) -> Path:
    return save_llava(tmp_path_factory.mktemp("model") / "llava")


def _losses(script: str, *arguments: object) -> list[float]:
    command = [sys.executable, str(EXAMPLES / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [float(found) for found in re.findall(r"loss'?:? '?(\d+\.\d+)", done.stdout)]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.release
def test_trl_trains_on_it_with_no_mapping_code(data, llava, tmp_path, view):
    losses = _losses("train_sft.py", data[view], llava, tmp_path / "out", 2)
    assert len(losses) >= 2
    assert AutoModelForImageTextToText.from_pretrained(tmp_path / "out" / "checkpoint-2")


@pytest.mark.release
def test_a_loop_over_a_streamed_dataset_learns(data, llava):
    losses = _losses("train_loop.py", data["sft"], llava, 4)
    assert len(losses) == 4


@pytest.mark.parametrize("save", [save_llava, save_idefics3])
@pytest.mark.filterwarnings("ignore:the chat template puts no special token")
def test_responses_are_learnt_and_prompts_and_images_are_not(data, tmp_path, save):
    processor = AutoProcessor.from_pretrained(save(tmp_path / "m"))
    for view, loss, whole in (
        ("sft", "assistant", False),
        ("prompt-completion", "assistant", False),
        ("sft", "all", True),
    ):
        rows = list(load_dataset(str(data[view]), split="train"))
        batch = ChatCollator(processor, loss=loss)(rows[:4])
        assert len(batch["labels"]) == 4
        for ids, labels, row in zip(batch["input_ids"], batch["labels"], rows, strict=False):
            learnt = processor.tokenizer.decode(labels[labels != IGNORED])
            turns = row["prompt"] if "prompt" in row else row["messages"][:-1]
            asked = [part["text"] for turn in turns for part in turn["content"] if part["text"]]
            reply = row["completion" if "completion" in row else "messages"][-1]["content"][0]["text"]
            assert reply in learnt
            assert {text in learnt for text in asked} == {whole}
            assert "<image>" not in learnt
            assert torch.equal(ids[labels != IGNORED], labels[labels != IGNORED])


def test_a_row_without_a_reply_and_one_with_other_images_are_named(data, llava):
    processor = AutoProcessor.from_pretrained(llava)
    row = next(iter(load_dataset(str(data["sft"]), split="train")))
    collate = ChatCollator(processor)
    with pytest.raises(Error, match="row '0': has no response to train on"):
        collate([{**row, "messages": row["messages"][:-1]}])
    with pytest.raises(Error, match="more images than its turns show"):
        collate([{**row, "images": row["images"] * 2}])
    with pytest.raises(Error, match="show more images than the row has"):
        collate([{**row, "images": []}])
    with pytest.raises(Error, match="only a URL"):
        collate([{**row, "images": [None] * len(row["images"])}])


# Chat templates


def _rendered(template: str, messages: list[dict[str, Any]]) -> str:
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = pytest.fail
    environment.filters["tojson"] = lambda value, **_: json.dumps(value, ensure_ascii=False)
    made = environment.from_string(template)
    return made.render(messages=messages, add_generation_prompt=False, bos_token="<s>", eos_token="</s>")


def _as_written(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages as somebody would write them in Python: an image's part has no text."""
    return [
        {**turn, "content": [{"type": "image"} if part["type"] == "image" else dict(part) for part in turn["content"]]}
        for turn in messages
    ]


@pytest.mark.parametrize("name", ["qwen2_5_vl", "qwen3_vl", "smolvlm", "idefics3", "llava_next", "gemma3"])
def test_chat_templates_render_what_was_read_as_what_was_written(data, name):
    trl = pytest.importorskip("trl")
    files = sorted((Path(trl.__file__).parent / "chat_templates").glob(f"{name}.jinja"))
    if not files:
        pytest.skip(f"this release of TRL has no template {name}")
    template = files[0].read_text(encoding="utf-8")
    for row in load_dataset(str(data["sft"]), split="train"):
        # gemma's template wants user and assistant in turn, its system turn first.
        assert _rendered(template, row["messages"]) == _rendered(template, _as_written(row["messages"]))
        assert "None" not in _rendered(template, row["messages"])
