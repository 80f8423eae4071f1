"""Show a text with an image drawn from a folder: MMTrustEval's unrelated-image-nature."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import PIL.Image
from msgspec.structs import replace

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import Record
from mmconvert.core.run_cache import cache_for_run
from mmconvert.images.canvas import decode_rgb, encode_png
from mmconvert.images.loader import ENDINGS
from mmconvert.kits.mmtrusteval.methods import PARAMETERS, add_text_image, parse_size, sample_text
from mmconvert.plugins.transform import Setting, Transform


def folder_image(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Show a text with one of the images that lie in a folder (not below it).

    Args:
        record: The record.
        parameters: `source`, the folder to draw from; `size`, "" to leave the image as it is; `folder`, `lazy`.
        setting: Seed of the draw, which depends on the text and on the folder's file names besides.

    Yields:
        The record with the image; the file's own bytes unless a size is given.

    Raises:
        RowError: There is no user turn, or the file drawn is no image.
        Error: The folder holds no image any more.

    Parity: thu-ml/MMTrustEval@a067801 mmte/methods/unrelated_nature.py, which draws without a seed.
    """

    def make() -> bytes:
        source = Path(parameters["source"])
        name = setting.random(sample_text(record)).choice(list_names(source))
        image = replace(setting.images, roots=(source.resolve(),)).of_reference(name, 1)
        if not parameters["size"]:
            return image.bytes or b""
        return encode_png(decode_rgb(image).resize(parse_size(parameters["size"]), PIL.Image.Resampling.BICUBIC))

    yield add_text_image(record, make, parameters, setting)


@cache_for_run
def list_names(folder: Path) -> tuple[str, ...]:
    """List the names of a folder's images, sorted; looked up once.

    Raises:
        Error: There is none.
    """
    try:
        names = sorted(path.name for path in folder.iterdir() if path.suffix.lower() in ENDINGS)
    except OSError as error:
        raise Error(f"{folder}: cannot be listed: {error.strerror}. Give a folder of images: source=DIR.") from None
    if not names:
        raise Error(f"{folder}: holds no image ({', '.join(sorted(ENDINGS))}). Give another folder: source=DIR.")
    return tuple(names)


def _check(parameters: Mapping[str, Any]) -> None:
    if parameters["size"]:
        parse_size(parameters["size"])
    try:
        list_names(Path(parameters["source"]))
    except Error as error:
        raise UsageError(str(error)) from None


TRANSFORM = Transform(
    summary="Show a text with an image drawn from a folder (MMTrustEval's unrelated-image-nature)",
    apply=folder_image,
    parameters={"source": str, "size": "", **PARAMETERS},
    check=_check,
)
