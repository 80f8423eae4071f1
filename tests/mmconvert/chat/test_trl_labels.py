"""What TRL's SFTTrainer learns of a dataset: the labels of the reference with the project's collator, more without."""

from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset, Features, Image, List, Value
from trl import SFTConfig, SFTTrainer
from trl.chat_template_utils import get_training_chat_template
from trl.trainer.sft_trainer import DataCollatorForVisionLanguageModeling

from mmconvert.chat.collate import ChatCollator
from mmconvert.testing.demo.tiny_vlm import build
from support.tiny_processors import PROCESSORS, build_qwen2_vl
from support.training_rows import decode_learnt, make_random_row, make_row, reference, say

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:the chat template puts no special token")]

FEATURES = Features(
    {
        "id": Value("string"),
        "images": List(Image()),
        "messages": List(
            {"role": Value("string"), "content": List({"type": Value("string"), "text": Value("string")})}
        ),
    }
)


@pytest.mark.parametrize("name", PROCESSORS)
def test_a_trainer_with_the_collator_learns_what_the_reference_says(name: str, tmp_path: Path) -> None:
    processor = PROCESSORS[name]()
    data = Dataset.from_list([make_random_row(seed) for seed in range(8)], features=FEATURES)
    trainer = SFTTrainer(
        model=build()[1],
        processing_class=processor,
        data_collator=ChatCollator(processor),
        eval_dataset=data,
        train_dataset=data,
        args=SFTConfig(
            str(tmp_path), max_length=None, per_device_eval_batch_size=4, report_to="none", use_cpu=True, bf16=False
        ),
    )
    found = []
    for batch in trainer.get_eval_dataloader(data):
        for ids, labels, mask in zip(batch["input_ids"], batch["labels"], batch["attention_mask"].bool(), strict=True):
            found.append((ids[mask].tolist(), labels[mask].tolist()))
    assert found == [reference(processor, row) for row in data]


def test_without_it_prompts_or_a_line_break_are_learnt_too() -> None:
    processor = build_qwen2_vl()
    row = make_row(say("user", "What is this?", 1), say("assistant", "It is a dog."))
    assert decode_learnt(processor, ChatCollator(processor)([row])) == ["It is a dog.<|im_end|>"]

    def learn(**options: Any) -> str:
        return decode_learnt(processor, DataCollatorForVisionLanguageModeling(processor, **options)([dict(row)]))[0]

    assert "What is this?" in learn()
    template = get_training_chat_template(processor)
    assert learn(assistant_only_loss=True, chat_template=template) == "It is a dog.<|im_end|>\n"
