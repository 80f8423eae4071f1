"""Pad an image to a white square: how ReForm-Eval shows images to Shikra."""

from collections.abc import Iterator, Mapping
from typing import Any

import PIL.Image

from mmconvert.core.record import Record
from mmconvert.images.canvas import check_pixels, decode_rgb, encode_png, find_shown_image, replace_image
from mmconvert.plugins.transform import Setting, Transform

WHITE = (255, 255, 255)


def pad_square(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Put an image into the middle of a white square as large as its longer side.

    Args:
        record: A record that shows the image.
        parameters: `slot`: which image.
        setting: Checks the new image.

    Yields:
        The record with the square as PNG, the source's own image attached; a square image stays as it is.
        Of an odd margin the larger half is below, or on the right.

    Raises:
        RowError: No such image, one that cannot be decoded, or a square with too many pixels.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 utils/preprocessors.py:ShikraProcessor.expand2square.
    """
    image = find_shown_image(record, parameters["slot"])
    side = max(image.width, image.height)
    if image.width == image.height and image.bytes is not None:
        yield record
        return
    check_pixels(side, side)
    decoded = decode_rgb(image)
    square = PIL.Image.new("RGB", (side, side), WHITE)
    square.paste(decoded, ((side - decoded.width) // 2, (side - decoded.height) // 2))
    yield replace_image(record, image, encode_png(square), setting.images, {"name": setting.name, "side": side})


TRANSFORM = Transform(
    summary="Pad an image to a white square (Shikra in ReForm-Eval)", apply=pad_square, parameters={"slot": 1}
)
