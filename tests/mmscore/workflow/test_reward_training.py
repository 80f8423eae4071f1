"""A step of TRL's GRPOTrainer with a recipe as its reward function."""

from pathlib import Path

import datasets
import pytest

from mmconvert.pipeline.convert import ReadOptions, WriteOptions, convert
from mmconvert.pipeline.inputs import Input
from mmconvert.testing.demo.tiny_vlm import CHAT_TEMPLATE, build
from mmscore.api import reward

pytestmark = pytest.mark.slow
trl = pytest.importorskip("trl", reason="TRL is not installed")


def test_the_prompt_view_trains_with_the_score_of_a_recipe(repository: Path, tmp_path: Path) -> None:
    source = Input(repository / "src/mmconvert/testing/demo/files/vmcq/colours.tsv")
    convert([source], tmp_path / "data", ReadOptions(), WriteOptions(view="prompt"))
    data = datasets.load_dataset(str(tmp_path / "data"), split="test")
    processor, model = build()
    processor.chat_template = CHAT_TEMPLATE
    how = trl.GRPOConfig(
        str(tmp_path / "run"), max_steps=1, per_device_train_batch_size=2, num_generations=2, max_completion_length=4,
        report_to=[], logging_steps=1, save_strategy="no", use_cpu=True, bf16=False,
    )  # fmt: skip
    score = reward("vlmevalkit_mcq")
    trainer = trl.GRPOTrainer(model, reward_funcs=score, args=how, train_dataset=data, processing_class=processor)
    trainer.train()
    logged = [entry["rewards/vlmevalkit_mcq/mean"] for entry in trainer.state.log_history if "reward" in entry]
    assert len(logged) == 1
    assert 0 <= logged[0] <= 1
    row = data[0]
    columns = {name: [row[name]] * 2 for name in row if name != "prompt"}
    letters = [row["solution"], "ABCD".replace(row["solution"], "")[0]]
    assert score(completions=[[{"role": "assistant", "content": text}] for text in letters], **columns) == [1.0, 0.0]
