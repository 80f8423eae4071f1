"""Show a text with an image that a function of the user's makes: generated and adversarial images.

MMTrustEval's related-image-generated and adversarial-* run models; here they stand in a file of the user's:

    class Attack:
        def run(self, sample):                # -> a path, the file's bytes, a Pillow image, or a sample
            return perturb(PIL.Image.open(sample.image_path))
        def hash(self, text):                 # optional: name of the image's file, without its ending
            return hashlib.sha3_256(text.encode()).hexdigest()

`--transform own_image:function=attack.py@Attack`. A plain function works as `run` does.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import PIL.Image

from mmconvert.core.errors import Error, RowError, UsageError, show
from mmconvert.core.record import Image, Record
from mmconvert.core.run_cache import cache_for_run
from mmconvert.core.text.turns import list_last_turn_images
from mmconvert.images.canvas import encode_png
from mmconvert.images.loader import SUFFIXES
from mmconvert.kits.mmtrusteval.methods import PARAMETERS, add_text_image, hash_text, sample_text
from mmconvert.plugins.registry import load
from mmconvert.plugins.transform import Setting, Transform
from mmconvert.storage.temporary import build_temporary_prefix


@dataclass(slots=True)
class TextImageRequest:
    """What the user's function gets; the names are those of MMTrustEval's samples.

    Attributes:
        text: The words of the last user turn.
        image_path: File of the first image of that turn, None where it has none; gone after the call.
        target: The reference: a text, a list of several, or None.
        extra: Fields of the source without a column.
        seed: A number that depends on the seed of the run and on the sample alone.
    """

    text: str
    image_path: str | None
    target: str | list[str] | None
    extra: dict[str, Any]
    seed: int


class Method(msgspec.Struct, frozen=True):
    """The user's function, and how it names the files of its images."""

    run: Callable[[TextImageRequest], Any]
    hash: Callable[[str], Any] | None


def own_image(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Show a text with an image that a function of the user's makes of it, or of the image it has.

    Args:
        record: The record.
        parameters: `function`, as `file.py@NAME` of a function or of a class with `run` and, if it likes, `hash`;
            `folder`, `lazy`. Without `hash` a file is named by the text, and by the sample's image if it has one.
        setting: The seed.

    Yields:
        The record with the image.

    Raises:
        RowError: There is no user turn, the function fails, or what it gives is no image.

    Parity: thu-ml/MMTrustEval@a067801 mmte/methods/base.py:BaseMethod, without its models.
    """
    method = _load_method(parameters["function"])
    text, images = sample_text(record), list_last_turn_images(record)
    image = images[0] if images else None
    if method.hash is not None:
        stem = _call(method.hash, text)
        # A file name of the user's must not leave the folder.
        if not isinstance(stem, str) or not 0 < len(stem) <= 200 or stem.startswith(".") or set(stem) & set("/\\\0"):
            raise RowError("method.hash", "", f"hash must give a plain file name {show(stem)}.")
    else:
        stem = hash_text(text if image is None else f"{text}\0{image.sha256}")
    seed = setting.random(stem).getrandbits(32)
    yield add_text_image(record, partial(_make_image, method, record, text, image, seed), parameters, setting, stem)


def _make_image(method: Method, record: Record, text: str, image: Image | None, seed: int) -> bytes:
    target = list(record.answers) if len(record.answers) > 1 else record.answer
    with TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
        path = None
        if image is not None:
            if image.bytes is None:
                raise RowError("image.remote", "", "an image that is only a URL cannot be changed. Download it.")
            path = Path(folder) / f"image.{SUFFIXES[image.format]}"
            path.write_bytes(image.bytes)
        sample = TextImageRequest(text, None if path is None else str(path), target, dict(record.extra), seed)
        return _read_image_file(_call(method.run, sample), text)


def _read_image_file(made: Any, text: str) -> bytes:
    """Turn what the function gave into the bytes of a file."""
    if hasattr(made, "image_path"):
        if getattr(made, "text", text) != text:
            raise RowError("method.text", "", "the function changes the text; an image function must keep it.")
        made = made.image_path
    if isinstance(made, PIL.Image.Image):
        return encode_png(made)
    if isinstance(made, str | Path):
        try:
            return Path(made).read_bytes()
        except (OSError, ValueError) as error:
            message = f"the function's image cannot be read: {error} {show(made)}."
            raise RowError("method.result", "", message) from None
    if isinstance(made, bytes):
        return made
    raise RowError("method.result", "", f"expected a path, bytes or a Pillow image from the function {show(made)}.")


def _call(function: Callable[[Any], Any], argument: Any) -> Any:
    try:
        return function(argument)
    except Error:
        raise
    except Exception as error:  # a function of the user's fails in its own way; the other rows go on
        message = f"the function failed ({type(error).__name__}: {str(error)[:200]})."
        raise RowError("method.failed", "", message) from error


@cache_for_run
def _load_method(name: str) -> Method:
    if "@" not in name:
        raise UsageError(f"own_image: name your function as function=file.py@NAME {show(name)}.")
    found = load("mmconvert.transforms", name)
    if isinstance(found, type):
        try:
            found = found()
        except TypeError as error:
            raise UsageError(f"{name}: cannot be made without arguments: {error}. Name an object of it.") from None
    run = getattr(found, "run", found)
    if not callable(run):
        raise UsageError(f"{name}: is no function and has no run(sample).")
    return Method(run, getattr(found, "hash", None))


TRANSFORM = Transform(
    summary="Show a text with an image that your own function makes (MMTrustEval's generated and adversarial ones)",
    apply=own_image,
    parameters={"function": str, **PARAMETERS},
    check=lambda parameters: _load_method(parameters["function"]),
)
