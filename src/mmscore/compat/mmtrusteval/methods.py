"""MMTrustEval's methods that draw: images of a text, of one colour, of noise, out of a folder.

The methods that run models (related-image-generated, adversarial-*) are a user's to register.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from mmconvert.core.errors import UsageError, show, suggest_spelling
from mmconvert.core.record import Part, Record, Source, Turn
from mmconvert.kits.mmtrusteval.methods import hash_text
from mmconvert.plugins.registry import load
from mmconvert.plugins.transform import Setting, Step, Transform
from mmscore.compat.mmtrusteval.classes import BaseMethod, ImageTxtSample
from mmscore.compat.mmtrusteval.registry import registry


class Drawing(msgspec.Struct, frozen=True):
    """A method as a transform: its name, and its parameters by the framework's names."""

    transform: str
    parameters: Mapping[str, str]


DRAWINGS = {
    "related-image-txtembed": Drawing(
        "text_image", {"img_size": "size", "font_size": "font_size", "max_width": "max_width", "font": "font"}
    ),
    "unrelated-image-color": Drawing("color_image", {"img_size": "size"}),
    "unrelated-image-noise": Drawing("noise_image", {"img_size": "size"}),
    "unrelated-image-nature": Drawing("folder_image", {"img_size": "size", "nature_src_dir": "source"}),
}
"""Method id -> what draws. Source: thu-ml/MMTrustEval@a067801 mmte/methods."""


class KitMethod(BaseMethod):
    """Gives a text an image. The draw depends on the seed and the text; the framework draws without a seed."""

    method_ids = tuple(DRAWINGS)

    def __init__(
        self, method_id: str, img_dir: str = "", lazy_mode: bool = True, *, seed: int = 0, **kwargs: Any
    ) -> None:
        """Read the settings.

        Args:
            method_id: The id.
            img_dir: Folder of the images.
            lazy_mode: Use an image that stands there.
            seed: Seed of the draws.
            kwargs: `img_size` (height, width), and what else the method has in the framework.

        Raises:
            UsageError: A setting is unknown, missing or wrong.
        """
        super().__init__(method_id, img_dir, lazy_mode)
        if not img_dir:
            raise UsageError(f"{method_id}: img_dir is missing. Name the folder of the images.")
        drawing = DRAWINGS[method_id]
        transform: Transform = load("mmconvert.transforms", drawing.transform)
        parameters = {**transform.parameters, "folder": str(img_dir), "lazy": lazy_mode}
        for name, value in kwargs.items():
            if name not in drawing.parameters:
                known = ", ".join(("img_dir", "lazy_mode", "seed", *drawing.parameters))
                raise UsageError(f"{method_id}: no setting {name!r}.{suggest_spelling(name, known)} Known: {known}.")
            parameters[drawing.parameters[name]] = _size(value) if name == "img_size" else value
        if missing := [name for name, key in drawing.parameters.items() if isinstance(parameters[key], type)]:
            raise UsageError(f"{method_id}: {missing[0]} is missing.")
        if transform.check is not None:
            transform.check(parameters)
        self._step = Step(transform, parameters, Setting(drawing.transform, seed))

    def run(self, data: Any, **kwargs: Any) -> ImageTxtSample:
        """Give the sample with the image that the text gets.

        Raises:
            RowError: The text cannot be drawn, or what stands in the folder is no image.
            Error: The folder cannot be written.
        """
        turn = Turn("user", (Part("text", data.text),))
        list(self._step(Record("0", "0", (turn,), "vqa", Source("", "", 0))))
        path = Path(self.img_dir) / f"{self.hash(data.text)}.png"
        return ImageTxtSample(str(path), data.text, data.target, data.extra)

    def hash(self, to_hash_str: str, **kwargs: Any) -> str:
        """Give the SHA3-256 of a text, which names its image's file."""
        return hash_text(to_hash_str)


def _size(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, list | tuple) or len(value) != 2 or not all(isinstance(n, int) for n in value):
        raise UsageError(f"img_size: expected height and width in pixels {show(value)}. Write [224, 224].")
    height, width = value
    return f"{width}x{height}"


registry.register("method", KitMethod, built_in=True)
