"""The demonstration's model: it learns what it is shown, says when it could not, and is the same every time."""

import pytest
import torch
from transformers import AutoModelForImageTextToText, AutoProcessor

from mmconvert.core.errors import Error
from mmconvert.testing.demo.tiny_vlm import train
from support.questions import make_image, record

pytestmark = pytest.mark.slow


def test_it_learns_text_and_several_images(tmp_path):
    records = [
        record(0, "Which letter is first?", answer="A"),
        record(1, make_image("red"), "then", make_image("blue"), "same?", answer="no"),
        record(2, make_image("red"), "then", make_image("red"), "same?", answer="yes"),
        record(3, make_image("red"), "A caption has no answer."),
        record(4, make_image("blue"), "Which colour?", answers=("bleu 蓝",)),
    ]
    assert train(tmp_path / "model", records) == 1.0
    processor = AutoProcessor.from_pretrained(tmp_path / "model")
    model = AutoModelForImageTextToText.from_pretrained(tmp_path / "model")
    prompt = processor(text="user: Which letter is first?\nassistant: ", return_tensors="pt")
    said = model.generate(**prompt, max_new_tokens=4)[0, prompt["input_ids"].shape[1] :]
    assert processor.decode(said) == "A</s>"


def test_records_that_contradict_each_other_are_reported(tmp_path):
    records = [record(i, make_image("red"), "Which?", answer=answer) for i, answer in enumerate("AB")]
    assert train(tmp_path / "model", records, max_steps=30) <= 0.5


def test_records_without_answers_are_refused(tmp_path):
    with pytest.raises(Error, match="none of the records has an answer"):
        train(tmp_path / "model", [record(0, make_image("red"), "x")])


def test_the_same_seed_gives_the_same_model_and_leaves_torch_as_it_was(tmp_path):
    records = [record(0, make_image("red"), "x", answer="A"), record(1, make_image("blue"), "x", answer="B")]
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        train(tmp_path / name, records, seed=seed, max_steps=3)
    weights = {name: (tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "same", "other")}
    assert weights["one"] == weights["same"] != weights["other"]
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
