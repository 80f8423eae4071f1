"""`<image k>` in texts: found, cut out, put back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import RowError
from mmconvert.core.record import Image, Part, Turn
from mmconvert.core.text.placeholders import format_turn, interleave, list_slots, parse_image_slot

IMAGES = {slot: Image(b"x", slot) for slot in range(1, 6)}
PIECES = st.lists(st.integers(1, 5) | st.text(st.sampled_from("ab<>image 1_\n"), min_size=1), max_size=8)


def written(pieces: list[int | str]) -> str:
    return "".join(f"<image {piece}>" if isinstance(piece, int) else piece for piece in pieces)


@given(PIECES)
def test_what_is_cut_can_be_put_back(pieces: list[int | str]) -> None:
    text = written(pieces)
    if any(not 1 <= slot <= 5 for slot in list_slots(text)):
        return
    parts, shown = interleave(text, IMAGES, "question")
    assert [image.slot for image in shown] == list_slots(text)
    assert sum(part.type == "image" for part in parts) == len(shown)
    assert all(part.text for part in parts if part.type == "text") or parts == (Part("text", ""),)
    assert list_slots(format_turn(Turn("user", parts), shown)) == list_slots(text)
    assert format_turn(Turn("user", parts), shown) == text.replace("<image_", "<image ") or "<image_" in text


def test_texts_and_images_stand_in_reading_order() -> None:
    parts, shown = interleave("<image 2> or <image_1><image 2>?", IMAGES, "question")
    assert [part.text if part.type == "text" else "*" for part in parts] == ["*", " or ", "*", "*", "?"]
    assert [image.slot for image in shown] == [2, 1, 2]


def test_a_text_without_placeholders_is_one_part() -> None:
    assert interleave("plain", IMAGES, "question") == ((Part("text", "plain"),), ())
    assert interleave("", IMAGES, "question") == ((Part("text", ""),), ())


@pytest.mark.parametrize("text", ["<image 0>", "<image 6>", "<image 999999>", "<image 06>"])
def test_a_placeholder_without_its_image_is_refused(text: str) -> None:
    with pytest.raises(RowError, match=f"{text} is in the text, but there is no image") as refused:
        interleave(f"a {text}", IMAGES, "question")
    assert (refused.value.code, refused.value.field) == ("placeholder.no_image", "question")


@pytest.mark.parametrize(
    "text", ["<image>", "<image1>", "<image  1>", "<Image 1>", "<image ١>", "<image -1>", "< image 1>"]
)
def test_nothing_else_is_a_placeholder(text: str) -> None:
    assert list_slots(text) == []
    assert interleave(text, IMAGES, "question") == ((Part("text", text),), ())


@pytest.mark.parametrize(
    ("column", "slot"),
    [
        ("image_1", 1),
        ("image_100", 100),
        ("image_101", None),
        ("image_0", None),
        ("image_01", None),
        ("image_path", None),
        ("image", None),
        ("image_1 ", None),
        ("image_٣", None),
        ("image_" + "9" * 500, None),
    ],
)
def test_the_columns_of_numbered_images(column: str, slot: int | None) -> None:
    assert parse_image_slot(column) == slot
