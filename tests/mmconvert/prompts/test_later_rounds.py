"""A wording of the last turn shows the images of that turn, not those of the rounds before."""

from collections.abc import Callable

import pytest

from mmconvert.core.record import Image, Part, Record, Source, Turn
from mmconvert.core.text.prompt_parts import Wording
from mmconvert.core.text.turns import replace_prompt
from mmconvert.prompts.evalscope import evalscope
from mmconvert.prompts.lmms_mmbench import lmms_mmbench
from mmconvert.prompts.mmbench import mmbench
from mmconvert.prompts.mmmu import mmmu
from mmconvert.prompts.reform_eval import reform_eval
from mmconvert.prompts.vlmevalkit import vlmevalkit
from support.records import image_bytes

BEFORE = (Turn("user", (Part("image"), Part("text", "What?"))), Turn("assistant", (Part("text", "A cat."),)))
IMAGE = Image(image_bytes("PNG"), 1, format="PNG", width=3, height=2)


@pytest.mark.parametrize("style", [vlmevalkit, mmbench, lmms_mmbench])
def test_images_of_earlier_turns_are_not_shown_again(style: Callable[[Record], Wording]) -> None:
    asked = Turn("user", (Part("text", "And now?"),))
    record = Record("1", "1", (*BEFORE, asked), "vqa", Source("f", "f", 0), images=(IMAGE,), question="And now?")
    worded = replace_prompt(record, style(record))
    assert worded.messages[:2] == BEFORE
    assert (worded.images, {part.type for part in worded.messages[2].content}) == ((IMAGE,), {"text"})


@pytest.mark.parametrize("style", [vlmevalkit, reform_eval, evalscope, mmmu])
def test_a_record_without_turns_shows_each_image_once(style: Callable[[Record], Wording]) -> None:
    record = Record("1", "1", (), "vqa", Source("f", "f", 0), images=(IMAGE,), question="Which?")
    worded = replace_prompt(record, style(record))
    assert sum(part.type == "image" for turn in worded.messages for part in turn.content) == len(worded.images) == 1


def test_mmmu_shows_no_image_of_an_earlier_round() -> None:
    asked = Turn("user", (Part("text", "And now?"),))
    record = Record("1", "1", (*BEFORE, asked), "vqa", Source("f", "f", 0), images=(IMAGE,), question="And now?")
    assert mmmu(record).slots == ()
