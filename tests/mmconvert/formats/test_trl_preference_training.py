"""TRL's DPOTrainer and GRPOTrainer take what we write, without mapping code."""

import json
from pathlib import Path
from typing import Any

import datasets
import pytest

from mmconvert.pipeline.convert import ReadOptions, WriteOptions, convert, read, write
from mmconvert.pipeline.inputs import Input
from mmconvert.plugins.format import Target
from support.records import image_bytes
from support.trainings import build_model, train_dpo

pytestmark = pytest.mark.slow
trl = pytest.importorskip("trl", reason="TRL is not installed")


def pairs(folder: Path) -> Path:
    """An image before, two images between texts, a text alone, a system turn: one pair each, twice."""
    for name, shade in (("a.png", 1), ("b.png", 90)):
        (folder / name).write_bytes(image_bytes("PNG", shade, (32, 32)))
    shown = [("<image>What is it?", ["a.png"]), ("Is <image> or <image> darker?", ["a.png", "b.png"]), ("2 + 2?", [])]
    system = {"role": "system", "content": "Be short."}
    rows: list[dict[str, Any]] = [
        {"messages": [system, *said(question)], "chosen": said("", "Red.")[1], "rejected": said("", "A dog.")[1],
         "images": images}
        for question, images in shown * 2
    ]  # fmt: skip
    (folder / "pairs.json").write_text(json.dumps(rows), encoding="utf-8")
    return folder / "pairs.json"


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def test_the_preference_view_trains_with_dpo(tmp_path: Path) -> None:
    convert([Input(pairs(tmp_path))], tmp_path / "data", ReadOptions(), WriteOptions(view="preference"))
    first, second = train_dpo(datasets.load_dataset(str(tmp_path / "data"), split="test"), tmp_path / "run")
    # Two equal models see no difference between the sides: the loss begins at ln 2.
    assert first == pytest.approx(0.693, abs=0.01)
    assert 0 < second < 5


def test_exported_pairs_train_with_dpo(tmp_path: Path) -> None:
    write(read(pairs(tmp_path)), Target(tmp_path / "t.parquet"), "trl")
    data = datasets.load_dataset("parquet", data_files=str(tmp_path / "t.parquet"), split="train")
    assert train_dpo(data, tmp_path / "run")[0] == pytest.approx(0.693, abs=0.01)


def test_the_prompt_view_trains_with_grpo(repository: Path, tmp_path: Path) -> None:
    source = Input(repository / "src/mmconvert/testing/demo/files/vmcq/colours.tsv")
    convert([source], tmp_path / "data", ReadOptions(), WriteOptions(view="prompt"))
    data = datasets.load_dataset(str(tmp_path / "data"), split="test")
    processor, model = build_model()
    seen: list[dict[str, Any]] = []

    def reward(completions: list[Any], solution: list[str], **columns: Any) -> list[float]:
        seen.append({"solution": solution, **columns})
        return [float(len(str(completion))) for completion in completions]

    how = trl.GRPOConfig(
        str(tmp_path / "run"), max_steps=1, per_device_train_batch_size=2, num_generations=2, max_completion_length=4,
        report_to=[], logging_steps=1, save_strategy="no", use_cpu=True, bf16=False,
    )  # fmt: skip
    trainer = trl.GRPOTrainer(model, reward_funcs=reward, args=how, train_dataset=data, processing_class=processor)
    trainer.train()
    assert seen
    assert set(seen[0]["solution"]) <= {*data["solution"]}
    assert {"id", "answers", "options", "task"} <= seen[0].keys()
