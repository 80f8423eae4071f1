import pytest

from mmconvert.core.errors import RowError
from mmconvert.kits.evalscope.media import build_video_part, split_parts
from support.records import image_bytes

IMAGE = {"type": "image", "image": "a.png", "detail": "auto"}


def _text(text):
    return {"type": "text", "text": text}


def test_pieces_keep_their_white_space_and_blank_ones_vanish():
    row = {"image_1": "a.png"}
    assert split_parts(" see \n<image 1> \n <image_1>", row, "1.14.1") == [_text(" see \n"), IMAGE, IMAGE]
    assert split_parts("  ", row, "1.14.1") == []


@pytest.mark.parametrize("text", ["<image  1>", "<Image 1>", "<image1>", "<image-1>"])
def test_only_one_spelling_is_a_placeholder(text):
    assert split_parts(text, {"image_1": "a.png"}, "1.14.1") == [_text(text)]


def test_zeros_in_front_and_wide_digits_count():
    assert split_parts("<image 01><image 1>", {"image_1": "a.png"}, "1.10.0") == [IMAGE, IMAGE]


def test_what_is_missing_stops_1_3_and_is_dropped_since():
    for row in ({}, {"image_1": None}):
        with pytest.raises(RowError, match="the row has not"):
            split_parts("<image 1>?", row, "1.3.0")
        assert split_parts("<image 1>?", row, "1.10.0") == split_parts("<image 1>?", row, "1.14.1") == [_text("?")]
    for release in ("1.3.0", "1.10.0", "1.14.1"):
        assert split_parts("<image 0><image 101>?", {"image_0": "a", "image_101": "a"}, release) == [_text("?")]


@pytest.mark.parametrize("release", ["1.3.0", "1.10.0", "1.14.1"])
def test_the_hundredth_column_is_the_last(release):
    assert split_parts("<image 100>?", {"image_100": "a.png"}, release) == [IMAGE, _text("?")]
    assert split_parts("<image 101>?", {"image_101": "a.png"}, release) == [_text("?")]


def test_an_empty_reference_is_an_image_for_1_3_only():
    assert split_parts("<image 1>", {"image_1": ""}, "1.3.0") == [{**IMAGE, "image": ""}]
    assert split_parts("<image 1>", {"image_1": ""}, "1.14.1") == []


def test_lists_count_since_1_14_and_only_without_numbered_columns():
    row = {"images": ["", "a.png", None]}
    assert split_parts("<image 2>", row, "1.14.1") == [IMAGE]
    assert split_parts("<image 2>", row, "1.10.0") == []
    assert split_parts("<image 2>", {**row, "image_1": "b.png"}, "1.14.1") == []
    many = {"images": ["a.png"] * 150}
    assert split_parts("<image 150>", many, "1.14.1") == [IMAGE]


@pytest.mark.parametrize("images", ["a.png", 5, {"a": 1}, ["a.png", 7], [["a.png"]]])
def test_a_list_of_something_else_is_refused_even_where_it_is_not_shown(images):
    with pytest.raises(RowError):
        split_parts("<image 1>", {"images": images}, "1.14.1")


def test_objects_give_their_reference_or_their_bytes():
    assert split_parts("<image 1>", {"image_1": {"bytes": None, "path": "a.png"}}, "1.14.1") == [IMAGE]
    (part,) = split_parts("<image 1>", {"image_1": {"bytes": image_bytes("PNG"), "path": "a.jpg"}}, "1.14.1")
    assert part["image"].startswith("data:image/png;base64,")
    for value in ({"bytes": b"no picture"}, {"other": "a"}, {}, 5, float("nan")):
        with pytest.raises(RowError):
            split_parts("<image 1>", {"image_1": value}, "1.14.1")
    with pytest.raises(RowError):
        split_parts("<image 1>", {"image_1": {"path": "a.png"}}, "1.10.0")


def test_videos_have_a_format():
    assert build_video_part("a.MOV", {})["format"] == "mov"
    assert build_video_part("a.mkv", {})["format"] == "mp4"
    assert build_video_part("a.mov", {"format": "avi", "fps": 2})["format"] == "avi"
    assert build_video_part("a", {"fps": "2"})["fps"] == 2.0
    with pytest.raises(RowError, match="mp4, mpeg, mov, avi"):
        build_video_part("a.mp4", {}, "gif")
    assert split_parts("<video 1>", {"video_1": {"url": "a.mov"}}, "1.10.0")[0]["format"] == "mp4"
    assert split_parts("<video 1>", {"video_1": {"url": "a.mov"}}, "1.14.1")[0]["video"] == "a.mov"


def test_sounds_are_texts_before_1_14():
    row = {"audio_1": "a.mp3"}
    assert split_parts("<audio 1>", row, "1.14.1") == [{"type": "audio", "audio": "a.mp3", "format": "mp3"}]
    assert split_parts("<audio 1>", row, "1.10.0") == [_text("<audio 1>")]
