"""Show a text with an image of random pixels: MMTrustEval's unrelated-image-noise."""

from collections.abc import Iterator, Mapping
from typing import Any

import PIL.Image

from mmconvert.core.record import Record
from mmconvert.images.canvas import encode_png
from mmconvert.kits.mmtrusteval.methods import PARAMETERS, add_text_image, parse_size, sample_text
from mmconvert.plugins.transform import Setting, Transform


def noise_image(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Show a text with an image whose every channel of every pixel is drawn from 0 to 255.

    Args:
        record: The record.
        parameters: `size`, `folder`, `lazy`.
        setting: Seed of the draw, which depends on the text besides.

    Yields:
        The record with the image.

    Raises:
        RowError: There is no user turn.

    Parity: thu-ml/MMTrustEval@a067801 mmte/methods/unrelated_noise.py, which draws without a seed.
    """

    def make() -> bytes:
        width, height = parse_size(parameters["size"])
        pixels = setting.random(sample_text(record)).randbytes(3 * width * height)
        return encode_png(PIL.Image.frombytes("RGB", (width, height), pixels))

    yield add_text_image(record, make, parameters, setting)


TRANSFORM = Transform(
    summary="Show a text with an image of random pixels (MMTrustEval's unrelated-image-noise)",
    apply=noise_image,
    parameters={"size": str, **PARAMETERS},
    check=lambda parameters: parse_size(parameters["size"]),
)
