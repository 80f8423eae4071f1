import pytest

from mmconvert.core.errors import RowError, UsageError
from mmconvert.core.record import Image, Record, Source
from mmconvert.prompts.lmms_mmmu import interleave_images, list_named_images, lmms_mmmu
from mmconvert.prompts.mmmu import build_mmmu_text, mmmu
from mmconvert.prompts.mmmu_pro import build_mmmu_pro_text, mmmu_pro


def _record(question, options=("cat", "dog"), task="multiple_choice", slots=(1, 2)):
    images = tuple(Image(b"", slot) for slot in slots)
    return Record("1", "1", (), task, Source("test", "f", 0), images, question, options)


def _shape(wording):
    return [part.text if part.type == "text" else part.type for part in wording.parts]


def test_mmmu_shows_the_first_image_and_keeps_the_placeholders():
    wording = mmmu(_record("Is <image 2> {like} <image 1>?"))
    assert wording.slots == (1,)
    assert _shape(wording) == [
        "image",
        (
            "Is <image 2> {like} <image 1>?\n(A) cat\n(B) dog\n\n"
            "Answer with the option's letter from the given choices directly."
        ),
    ]


def test_mmmu_without_its_first_image_is_text():
    assert _shape(mmmu(_record("How many?", (), "vqa", (2,)))) == [build_mmmu_text("How many?", None)]


def test_mmmu_pro_names_images_in_reading_order_with_repeats():
    wording = mmmu_pro(_record("<image 2>, <image\n1>, <image 2>"), script="transformers")
    assert wording.slots == (2, 1, 2)
    assert _shape(wording)[0].startswith("[image], [image], [image]\nA. cat\nB. dog\nAnswer with")
    assert _shape(wording)[1:] == ["image"] * 3


def test_mmmu_pro_explains_its_options():
    assert build_mmmu_pro_text("q", [], "cot")[0].endswith("Think step by step before answering.")
    with pytest.raises(UsageError, match="Did you mean direct"):
        build_mmmu_pro_text("q", [], "directly")
    with pytest.raises(UsageError, match="Known: gpt, transformers"):
        build_mmmu_pro_text("q", [], script="vllm")


def test_lmms_eval_takes_each_named_image_once_by_its_number():
    wording = lmms_mmmu(_record("<image 2> then <image 1> then <image 2>"))
    assert wording.slots == (1, 2)
    assert _shape(wording)[:2] == ["image", "image"]
    with pytest.raises(RowError, match="does not have"):
        list_named_images("<image 01>")


def test_interleaved_images_follow_their_numbers_not_the_text():
    wording = lmms_mmmu(_record("a <image 2> b <image 1> c <image 2> d", (), "vqa"), interleaved=True)
    assert wording.slots == (1, 2)
    assert _shape(wording) == ["a", "image", "b", "image", "d\n\nAnswer the question using a single word or phrase."]
    assert _shape(interleave_images("only text", ())) == ["only text"]
