"""A few steps of TRL's trainers with a tiny model, on datasets as we write them, without mapping code."""

import copy
from pathlib import Path
from typing import Any

import datasets

from mmconvert.testing.demo.tiny_vlm import CHAT_TEMPLATE, build

_PLAIN: dict[str, Any] = {
    "max_length": None, "report_to": [], "logging_steps": 1, "save_strategy": "no", "use_cpu": True, "bf16": False,
    "max_steps": 2,
}  # fmt: skip


def build_model() -> tuple[Any, Any]:
    """Give an untrained processor and model, with a chat template."""
    processor, model = build()
    processor.chat_template = CHAT_TEMPLATE
    return processor, model


def train_sft(data: datasets.Dataset, folder: Path, collator: Any = None) -> list[float]:
    """Train with SFTTrainer for two steps and give the losses."""
    import trl

    processor, model = build_model()
    how = trl.SFTConfig(str(folder), per_device_train_batch_size=2, **_PLAIN)
    trainer = trl.SFTTrainer(
        model, how, train_dataset=data, processing_class=processor, data_collator=collator and collator(processor)
    )
    return _train(trainer)


def train_dpo(data: datasets.Dataset, folder: Path) -> list[float]:
    """Train with DPOTrainer for two steps and give the losses; the reference model is the model itself."""
    import trl

    processor, model = build_model()
    how = trl.DPOConfig(str(folder), per_device_train_batch_size=3, **_PLAIN)
    other = copy.deepcopy(model)
    return _train(trl.DPOTrainer(model, ref_model=other, args=how, train_dataset=data, processing_class=processor))


def _train(trainer: Any) -> list[float]:
    trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
