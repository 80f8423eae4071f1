"""Boxes on images: the same pixels as ReForm-Eval's, the source's own image kept, bad boxes refused."""

import hashlib
import random

import PIL.Image
import pytest

from mmconvert.core.errors import RowError, UsageError
from mmconvert.images.boxes import Box
from mmconvert.plugins.transform import load_steps
from mmconvert.transforms.draw_boxes import draw_outline
from support.drawing import applied, as_text, asked, photo, pixels

THIN = """
............
............
..########..
..#......#..
..#......#..
..########..
............
............
"""
TWO = """
..########..
.##########.
.##########.
.###....###.
.###....###.
.##########.
.##########.
..########..
"""
THREE = """
...#######...
..#########..
.###########.
.###########.
.###########.
.#####.#####.
.#####.#####.
.#####.#####.
.###########.
.###########.
.###########.
..#########..
...#######...
"""


@pytest.mark.parametrize(
    ("size", "box", "width", "expected"),
    [((12, 8), [2, 2, 7, 3], 1, THIN), ((12, 8), [2, 1, 7, 5], 2, TWO), ((13, 13), [3, 2, 6, 8], 3, THREE)],
)
def test_the_outline_has_the_pixels_of_the_kits_library(size, box, width, expected):
    made = applied(asked(photo(*size), "Which?", extra={"bbox": box}), f"draw_boxes:width={width}")
    assert as_text(pixels(made.images[0])) == expected.split()


def test_what_lies_beyond_the_image_is_cut_off():
    made = applied(asked(photo(8, 7), "Which?", extra={"bbox": [-30, -20, 32, 26]}), "draw_boxes")
    assert as_text(pixels(made.images[0])) == ["#####..."] * 7


def test_any_box_at_any_width_has_the_pixels_of_opencv():
    """The digest was made with cv2.rectangle of OpenCV 4.8.1 (5.0.0 gives the same) on the same boxes."""
    draw, digest = random.Random(0), hashlib.sha256()
    for width in range(1, 16):
        for _ in range(100):
            x, y = draw.randint(-20, 60), draw.randint(-20, 60)
            w, h = draw.randint(0, 60), draw.randint(0, 60)
            one_image = PIL.Image.new("RGB", (44, 40))
            draw_outline(one_image, Box(x, y, x + w, y + h), width, (255, 128, 0))
            digest.update(one_image.tobytes())
    assert digest.hexdigest() == "52bc9d61dbf9eb5b09d2aaeeb084f7767fc19f6f479b38b7c13ec77b6e5a20a9"


def test_a_coordinate_far_away_costs_nothing_and_changes_nothing():
    near = applied(asked(photo(9, 9), extra={"bbox": [4, 4, 100, 100]}), "draw_boxes")
    far = applied(asked(photo(9, 9), extra={"bbox": [4, 4, 2.0**30, 2**30]}), "draw_boxes")
    assert near.images[0].sha256 == far.images[0].sha256


def test_boxes_take_the_colours_in_order():
    boxes = [[0, 0, 2, 2], [6, 0, 2, 2], [0, 6, 2, 2], [6, 6, 2, 2]]
    one_image = pixels(applied(asked(photo(9, 9), extra={"bbox": boxes}), "draw_boxes:width=1").images[0])
    assert [one_image.getpixel((box[0], box[1])) for box in boxes] == [
        (255, 0, 0),
        (0, 128, 0),
        (0, 0, 255),
        (255, 215, 0),
    ]
    own = applied(asked(photo(9, 9), extra={"bbox": boxes[0]}), "draw_boxes:width=1,colors=#010203")
    assert pixels(own.images[0]).getpixel((0, 0)) == (1, 2, 3)


def test_corners_may_stand_in_the_place_of_width_and_height():
    corners = applied(asked(photo(20, 20), extra={"region": [[2, 3, 9, 8]]}), "draw_boxes:field=region,layout=xyxy")
    sides = applied(asked(photo(20, 20), extra={"bbox": [2, 3, 7, 5]}), "draw_boxes")
    assert corners.images[0].sha256 == sides.images[0].sha256


def test_fractions_are_cut_off_after_the_sum():
    whole = applied(asked(photo(20, 20), extra={"bbox": [2, 3, 8, 5]}), "draw_boxes")
    parts = applied(asked(photo(20, 20), extra={"bbox": [2.6, 3.2, 7.9, 4.85]}), "draw_boxes")
    assert parts.images[0].sha256 == whole.images[0].sha256


@pytest.mark.parametrize("extra", [{"bbox": "[2, 3, 7, 5]"}, {"bbox": "[[2, 3, 7, 5]]"}, {"bbox": [[2, 3, 7, 5]]}])
def test_a_box_may_be_text_or_a_list_of_one(extra):
    expected = applied(asked(photo(20, 20), extra={"bbox": [2, 3, 7, 5]}), "draw_boxes")
    assert applied(asked(photo(20, 20), extra=extra), "draw_boxes").images[0].sha256 == expected.images[0].sha256


def test_a_box_may_lie_inside_another_field():
    assert applied(asked(photo(9, 9), extra={"meta": {"box": [1, 1, 2, 2]}}), "draw_boxes:field=meta.box").images


def test_the_drawn_image_is_a_png_and_the_sources_own_is_attached():
    original = photo(20, 10, kind="JPEG", colour=(9, 9, 9))
    before = asked(original, "Which?", extra={"bbox": [2, 3, 7, 5], "other": 1})
    made = applied(before, "draw_boxes")
    (drawn,), (kept,) = made.images, made.attachments
    assert (drawn.format, drawn.width, drawn.height, drawn.slot, drawn.name) == ("PNG", 20, 10, 1, None)
    assert (kept.bytes, kept.name, kept.slot) == (original.bytes, original.name, 2)
    assert made.messages == before.messages
    assert (made.id, made.sample, made.variant) == ("7", "7", None)
    assert made.extra == {
        "bbox": [2, 3, 7, 5],
        "other": 1,
        "transforms": [{"name": "draw_boxes", "boxes": [[2, 3, 9, 8]], "slot": 1, "original_slot": 2}],
    }


def test_pixels_outside_the_outline_stay_as_they_were():
    original = photo(40, 30, colour=(12, 34, 56))
    made = pixels(applied(asked(original, extra={"bbox": [10, 10, 9, 9]}), "draw_boxes:width=1").images[0])
    assert {made.getpixel((x, y)) for x in range(40) for y in range(30)} == {(12, 34, 56), (255, 0, 0)}


@pytest.mark.parametrize(
    ("mode", "colour", "kind"), [("L", 90, "PNG"), ("RGBA", (1, 2, 3, 0), "PNG"), ("P", 3, "GIF"), ("1", 1, "TIFF")]
)
def test_images_of_other_modes_become_rgb(mode, colour, kind):
    made = applied(asked(photo(9, 9, colour=colour, mode=mode, kind=kind), extra={"bbox": [1, 1, 5, 5]}), "draw_boxes")
    assert pixels(made.images[0]).getpixel((1, 1)) == (255, 0, 0)


def test_an_image_shown_twice_is_drawn_on_in_both_places():
    image, other = photo(9, 9, slot=1), photo(9, 9, slot=2, colour=(1, 1, 1))
    before = asked(image, "and", other, "and", image, extra={"bbox": [1, 1, 5, 5]})
    made = applied(before, "draw_boxes")
    assert made.images[0] == made.images[2] != image
    assert made.images[1] == other
    assert [kept.slot for kept in made.attachments] == [3]


def test_a_second_drawing_stands_on_the_first_and_keeps_both_images():
    before = asked(photo(30, 30), extra={"a": [1, 1, 5, 5], "b": [20, 20, 5, 5]})
    made = applied(before, "draw_boxes:field=a,width=1", "draw_boxes:field=b,width=1")
    one_image = pixels(made.images[0])
    assert [one_image.getpixel((1, 1)), one_image.getpixel((20, 20))] == [(255, 0, 0)] * 2
    assert [kept.slot for kept in made.attachments] == [2, 3]
    assert len(made.extra["transforms"]) == 2


@pytest.mark.parametrize(
    ("box", "code"),
    [
        ([float("nan"), 1, 2, 3], "box.number"),
        ([1, 1, float("inf"), 3], "box.number"),
        ([1, 1, 10**400, 3], "box.number"),
        ([1, 1, -2, 3], "box.negative"),
        ([-9, -9, 3, 3], "box.outside"),
        ([20, 0, 3, 3], "box.outside"),
        ([1, 1, 2], "box.type"),
        ([1, 1, 2, "3"], "box.type"),
        ([1, 1, 2, True], "box.type"),
        ([[1, 1, 2, 2], 5], "box.type"),
        ([], "box.type"),
        ("nonsense", "list.syntax"),
        ({"x": 1}, "box.type"),
        (None, "box.type"),
        ([[1, 1, 2, 2]] * 5, "box.count"),
    ],
)
def test_a_box_that_is_none_refuses_the_row(box, code):
    with pytest.raises(RowError) as error:
        applied(asked(photo(20, 20), extra={"bbox": box}), "draw_boxes")
    assert error.value.code == code


def test_a_missing_field_and_a_missing_image_refuse_the_row():
    with pytest.raises(RowError, match=r"no such field\. Did you mean bbx"):
        applied(asked(photo(9, 9), extra={"bbx": [1, 1, 2, 2]}), "draw_boxes")
    with pytest.raises(RowError, match=r"no image 3 \(its images: 1\)"):
        applied(asked(photo(9, 9), extra={"bbox": [1, 1, 2, 2]}), "draw_boxes:slot=3")
    with pytest.raises(RowError, match="its images: none"):
        applied(asked("Which?", extra={"bbox": [1, 1, 2, 2]}), "draw_boxes")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("draw_boxes:layout=xywy", "no box layout is called 'xywy'. Did you mean"),
        ("draw_boxes:width=0", "width must be 1 to 100"),
        ("draw_boxes:colors=red,rde", "no colour is called 'rde'"),
        ("draw_boxes:fields=x", "Did you mean field"),
    ],
)
def test_wrong_parameters_are_told_at_once(spec, told):
    with pytest.raises(UsageError, match=told):
        load_steps([spec])
