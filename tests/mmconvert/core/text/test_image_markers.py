"""Markers for images in texts, and texts that only look like them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import RowError
from mmconvert.core.record import Part
from mmconvert.core.text.image_markers import (
    Markers,
    check_count,
    escape,
    join_with_markers,
    split_at_markers,
    unescape,
)
from support.dialogs import WORDS

PARTS = st.lists(st.one_of(st.just(Part("image")), WORDS.map(lambda text: Part("text", text))), min_size=1, max_size=6)
MARKERS = st.builds(Markers, st.sampled_from([("image",), ("image", "video", "audio")]), st.booleans())


def joined(parts: list[Part]) -> list[Part]:
    """Parts with neighbouring texts as one."""
    result: list[Part] = []
    for part in parts:
        if result and part.type == result[-1].type == "text":
            result[-1] = Part("text", result[-1].text + part.text)
        else:
            result.append(part)
    return result


@given(PARTS, MARKERS)
def test_parts_come_back_from_a_text(parts: list[Part], markers: Markers) -> None:
    assert list(split_at_markers(join_with_markers(parts, markers), markers)) == joined(parts)


@given(WORDS)
def test_an_escaped_text_has_no_marker_and_comes_back(text: str) -> None:
    assert "<image>" not in escape(text)
    assert unescape(escape(text)) == text


def test_a_marker_across_two_texts_is_no_image() -> None:
    text = join_with_markers([Part("text", "<ima"), Part("text", "ge>")], Markers())
    assert split_at_markers(text, Markers()) == (Part("text", "<image>"),)


def test_one_line_break_belongs_to_the_marker() -> None:
    markers = Markers(line_break=True)
    assert split_at_markers("<image>\n\nWhat?", markers) == (Part("image"), Part("text", "\nWhat?"))
    assert join_with_markers((Part("image"), Part("text", "\nWhat?")), markers) == "<image>\n\nWhat?"
    assert split_at_markers("What?\n<image>", markers) == (Part("text", "What?\n"), Part("image"))


def test_other_media_are_refused() -> None:
    with pytest.raises(RowError, match="<video>") as caught:
        split_at_markers("<video>What?", Markers(("image", "video")))
    assert caught.value.code == "media.unsupported"


def test_both_numbers_are_named_where_they_differ() -> None:
    check_count(2, 2, "images")
    with pytest.raises(RowError, match="show 2 images, but the row has 3") as caught:
        check_count(2, 3, "images")
    assert (caught.value.code, caught.value.field) == ("placeholder.count", "images")
