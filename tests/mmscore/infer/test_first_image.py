"""A prompt for models of one image has the first one, where it stood."""

from mmconvert.core.record import Part, Record, Turn
from mmscore.infer.first_image import keep_first_image
from support.questions import make_image, record

RED, BLUE = make_image("red"), make_image("blue")


def show(row: Record) -> list[list[str | None]]:
    return [[part.text or part.type for part in turn.content] for turn in row.messages]


def test_the_first_image_stands_in_its_own_turn_and_in_no_other() -> None:
    texts = [Turn("user", (Part("text", "Hello"),)), Turn("assistant", (Part("text", "Hi"),))]
    asked = [Turn("user", (Part("text", "Is"), Part("image"), Part("text", "it?"))), Turn("user", (Part("image"),))]
    kept = keep_first_image(record(0, RED, BLUE, messages=(*texts, *asked)))
    assert show(kept) == [["Hello"], ["Hi"], ["image", "Is\nit?"], []]
    assert [image.bytes for image in kept.images] == [RED]


def test_a_prompt_of_texts_gets_no_image() -> None:
    kept = keep_first_image(record(0, "Is", "it?"))
    assert (show(kept), kept.images) == ([["Is\nit?"]], ())
