"""An image cut to a box: the same pixels, black beyond the edge, bad boxes refused."""

import io

import PIL.Image
import pytest

from mmconvert.core.errors import RowError
from mmconvert.core.record import Image
from mmconvert.images.loader import ImageLoader
from support.drawing import applied, asked, pixels


def chequered() -> bytes:
    one_image = PIL.Image.new("RGB", (6, 5))
    one_image.putdata([(x * 40, y * 50, 7) for y in range(5) for x in range(6)])
    out = io.BytesIO()
    one_image.save(out, "PNG")
    return out.getvalue()


def cropped(box, spec="crop_box"):
    before = asked(ImageLoader(()).of_bytes(chequered(), 1), "Read it.", extra={"bbox": box})
    return applied(before, spec)


@pytest.mark.parametrize(
    ("box", "spec", "corners"),
    [
        ([1, 2, 3, 2], "crop_box", (1, 2, 4, 4)),
        ([1.9, 2.9, 2.2, 1.2], "crop_box", (1, 2, 4, 4)),
        ([1, 2, 4, 4], "crop_box:layout=xyxy", (1, 2, 4, 4)),
        ([[0, 0, 6, 5]], "crop_box", (0, 0, 6, 5)),
    ],
)
def test_the_part_has_the_pixels_of_the_image(box, spec, corners):
    made = cropped(box, spec)
    one_image = pixels(made.images[0])
    assert one_image.size == (corners[2] - corners[0], corners[3] - corners[1])
    assert [one_image.getpixel((x, y)) for y in range(one_image.height) for x in range(one_image.width)] == [
        (x * 40, y * 50, 7) for y in range(corners[1], corners[3]) for x in range(corners[0], corners[2])
    ]


def test_beyond_the_edge_it_is_black():
    one_image = pixels(cropped([4, 3, 4, 4]).images[0])
    assert one_image.size == (4, 4)
    assert [one_image.getpixel((x, y)) for x, y in ((1, 1), (2, 0), (0, 2))] == [(200, 200, 7), (0, 0, 0), (0, 0, 0)]


def test_the_whole_image_is_attached():
    made = cropped([1, 2, 3, 2])
    assert [image.bytes for image in made.attachments] == [chequered()]
    assert (made.images[0].width, made.images[0].height, made.images[0].format) == (3, 2, "PNG")
    assert made.extra["transforms"] == [{"name": "crop_box", "boxes": [[1, 2, 4, 4]], "slot": 1, "original_slot": 2}]


@pytest.mark.parametrize(
    ("box", "code"),
    [
        ([1, 1, 0.5, 2], "box.empty"),
        ([1, 1, 2, 0], "box.empty"),
        ([1, 1, 1e6, 1e6], "image.too_large"),
        ([9, 9, 2, 2], "box.outside"),
        ([[1, 1, 2, 2], [1, 1, 2, 2]], "box.count"),
        ([1, 1, -1, 2], "box.negative"),
        ([1, 1, float("nan"), 2], "box.number"),
    ],
)
def test_a_box_that_holds_nothing_refuses_the_row(box, code):
    with pytest.raises(RowError) as error:
        cropped(box)
    assert error.value.code == code


def test_an_image_of_which_only_the_address_is_known_refuses_the_row():
    before = asked(Image(None, 1, url="https://example.org/x.png", width=9, height=9), extra={"bbox": [1, 1, 2, 2]})
    with pytest.raises(RowError, match="only a URL"):
        applied(before, "crop_box")
