"""A model class as the kit's users write it, around a model that has learnt something."""

from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from mmscore.cli import program
from support.asking import written
from support.questions import colour_records

pytestmark = pytest.mark.slow

MODEL = """
import torch
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor
from vlmeval.vlm.base import BaseModel


class TinyLlava(BaseModel):
    INSTALL_REQ = False
    INTERLEAVE = True

    def __init__(self, model_path="tiny-llava", **kwargs):
        super().__init__()
        self.processor = AutoProcessor.from_pretrained(model_path)
        self.model = AutoModelForImageTextToText.from_pretrained(model_path)
        self.kwargs = {"do_sample": False, "max_new_tokens": 1} | kwargs

    def generate_inner(self, message, dataset=None):
        content = [
            {"type": "image", "image": Image.open(piece["value"]).convert("RGB")}
            if piece["type"] == "image"
            else {"type": "text", "text": piece["value"]}
            for piece in message
        ]
        inputs = self.processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )
        with torch.inference_mode():
            tokens = self.model.generate(**inputs, **self.kwargs)
        return self.processor.decode(tokens[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
"""


@pytest.mark.release
def test_a_class_around_a_model_says_what_the_model_has_learnt(tmp_path: Path, trained_llava: Path) -> None:
    (tmp_path / "tiny.py").write_text(MODEL)
    data = written(tmp_path / "data", colour_records())
    arguments = ["predict", str(data), "-o", str(tmp_path / "p.parquet"), "--backend", f"{tmp_path}/tiny.py@TinyLlava"]
    arguments += ["--model", str(trained_llava), "--max-new-tokens", "12", "--quiet"]
    done = CliRunner().invoke(program, arguments, standalone_mode=False, catch_exceptions=False)
    assert (done.return_value or 0) == 0
    said = pd.read_parquet(tmp_path / "p.parquet", columns=["prediction", "answer"])
    assert said["prediction"].tolist() == said["answer"].tolist()
