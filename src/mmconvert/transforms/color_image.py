"""Show a text with an image of one random colour: MMTrustEval's unrelated-image-color."""

from collections.abc import Iterator, Mapping
from typing import Any

import PIL.Image

from mmconvert.core.record import Record
from mmconvert.images.canvas import encode_png
from mmconvert.kits.mmtrusteval.methods import PARAMETERS, add_text_image, parse_size, sample_text
from mmconvert.plugins.transform import Setting, Transform


def color_image(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Show a text with an image of one colour, each of its channels drawn from 0 to 255.

    Args:
        record: The record.
        parameters: `size`, `folder`, `lazy`.
        setting: Seed of the draw, which depends on the text besides.

    Yields:
        The record with the image.

    Raises:
        RowError: There is no user turn.

    Parity: thu-ml/MMTrustEval@a067801 mmte/methods/unrelated_color.py, which draws without a seed.
    """

    def make() -> bytes:
        color = tuple(setting.random(sample_text(record)).randbytes(3))
        return encode_png(PIL.Image.new("RGB", parse_size(parameters["size"]), color))

    yield add_text_image(record, make, parameters, setting)


TRANSFORM = Transform(
    summary="Show a text with an image of one random colour (MMTrustEval's unrelated-image-color)",
    apply=color_image,
    parameters={"size": str, **PARAMETERS},
    check=lambda parameters: parse_size(parameters["size"]),
)
