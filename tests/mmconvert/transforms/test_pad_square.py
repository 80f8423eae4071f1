"""An image in the middle of a white square: its own pixels, the original attached."""

import io

import PIL.Image
import pytest

from mmconvert.core.errors import RowError
from mmconvert.core.record import Image, Record
from mmconvert.images.loader import ImageLoader
from support.drawing import applied, asked, pixels


def question(width: int, height: int) -> Record:
    out = io.BytesIO()
    PIL.Image.new("RGB", (width, height), (10, 20, 30)).save(out, "PNG")
    return asked(ImageLoader(()).of_bytes(out.getvalue(), 1), "What?")


@pytest.mark.parametrize(
    ("size", "rows", "columns"),
    [((4, 2), range(1, 3), range(4)), ((4, 1), range(1, 2), range(4)), ((1, 4), range(4), range(1, 2))],
)
def test_the_image_stands_in_the_middle_of_white(size: tuple[int, int], rows: range, columns: range) -> None:
    square = pixels(applied(question(*size), "pad_square").images[0])
    assert square.size == (4, 4)
    for y in range(4):
        for x in range(4):
            inside = y in rows and x in columns
            assert square.getpixel((x, y)) == ((10, 20, 30) if inside else (255, 255, 255))


def test_the_original_is_attached_and_a_square_one_stays() -> None:
    before = question(4, 2)
    made = applied(before, "pad_square")
    assert [image.bytes for image in made.attachments] == [before.images[0].bytes]
    assert made.extra["transforms"] == [{"name": "pad_square", "side": 4, "slot": 1, "original_slot": 2}]
    assert applied(question(3, 3), "pad_square") == question(3, 3)


def test_an_image_that_is_only_an_address_is_refused() -> None:
    with pytest.raises(RowError, match="Download it first"):
        applied(asked(Image(None, 1, url="https://example.org/a.png"), "What?"), "pad_square")
