"""A model that is asked with a message: a list of `{"type": "text" or "image", "value": text or path}`.

A class that says how it answers one (`generate_inner`) gets from here how it may be asked: with lists of
plain texts, with a history of turns, with one image and one text.
"""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from PIL import Image as PILImage

from mmconvert.core.errors import UsageError, show
from mmconvert.core.record import Image
from mmconvert.images.canvas import check_pixels
from mmconvert.images.loader import SUFFIXES, ImageLoader, is_data_url, read_declared_format
from mmconvert.images.verify import open_image
from mmconvert.storage.http import fetch
from mmconvert.storage.temporary import build_temporary_prefix

Message = list[dict[str, Any]]

TEXT, IMAGE = "text", "image"
_HEIGHT = 512
_IMAGES = ImageLoader(())
_ADDRESSES = ("http://", "https://")
_SUFFIXES = (*(f".{suffix}" for suffix in SUFFIXES.values()), ".jpeg", ".tif")


class MessageModel:
    """What a model class of a framework inherits.

    Attributes:
        INTERLEAVE: The model takes texts and images in any order; else `message_to_promptimg` is for it.
        IN_A_ROW: Datasets whose images become one for a model that takes one only; others lose all but the first.
        allowed_types: Types that a piece of a message may have.
        allow_remote: Images at addresses are fetched, from public hosts; else the model is given the address.
        allow_host: With allow_remote: hosts, `NAME[:PORT]`, that may be at private addresses.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/vlm/base.py:BaseModel. A chat that fails is raised, not a text.
    """

    INTERLEAVE = False
    IN_A_ROW: tuple[str, ...] = ("BLINK",)
    allowed_types: Sequence[str] = (TEXT, IMAGE)
    allow_remote = False
    allow_host: Sequence[str] = ()
    dump_image_func: Callable[[Any], list[str]] | None = None

    def __init__(self) -> None:
        self.dump_image_func = None

    def use_custom_prompt(self, dataset: str | None) -> bool:
        """Say whether `build_prompt` words the questions of a dataset; here it never does."""
        return False

    def build_prompt(self, line: Any, dataset: str | None = None) -> Message:
        """Word a row of a dataset's table; asked for where `use_custom_prompt` says so."""
        raise NotImplementedError(f"{type(self).__name__} uses a prompt of its own and has no build_prompt")

    def set_dump_image(self, dump_image_func: Callable[[Any], list[str]]) -> None:
        """Take the function that stores the images of a row and gives their paths."""
        self.dump_image_func = dump_image_func

    def dump_image(self, line: Any, dataset: str | None = None) -> list[str]:
        """Store the images of a row and give their paths.

        Raises:
            UsageError: Nobody said how.
        """
        if self.dump_image_func is None:
            raise UsageError("dump_image: no dataset is running. Call set_dump_image with its dump_image.")
        return self.dump_image_func(line)

    def generate_inner(self, message: Message, dataset: str | None = None) -> Any:
        """Answer a message; gives a text."""
        raise NotImplementedError(f"{type(self).__name__} has no generate_inner")

    def generate(self, message: Any, dataset: str | None = None) -> str:
        """Answer a text, a list of texts, a piece, or a message; see `preproc_content`."""
        response: str = self.generate_inner(self.preproc_content(message), dataset)
        return response

    def chat(self, messages: Sequence[Mapping[str, Any]], dataset: str | None = None) -> str:
        """Answer a history of turns, `{"role", "content"}` each, the last of them the user's.

        While the model raises, turns are taken off the front up to the next of the user, as too long a
        history may be the cause.

        Raises:
            UsageError: The class has no `chat_inner`, or the last turn is not the user's.
        """
        inner = getattr(self, "chat_inner", None)
        if inner is None:
            raise UsageError(f"{type(self).__name__} has no chat_inner, which answers a history of turns. Write it.")
        turns = [{**turn, "content": self.preproc_content(turn["content"])} for turn in messages]
        if not turns or turns[-1]["role"] != "user":
            raise UsageError("chat: expected a history whose last turn is the user's. Leave later turns out.")
        while True:
            try:
                response: str = inner(turns, dataset=dataset)
                return response
            except Exception:
                later = [place for place, turn in enumerate(turns) if place and turn["role"] == "user"]
                if not later:
                    raise
                turns = turns[later[0] :]

    def preproc_content(self, inputs: Any) -> Message:
        """Bring what a model may be asked with into the form of a message.

        A plain text in a list is an image where it is a data URL, the address of an image, or a file that
        stands there and is one.

        Raises:
            UsageError: It is neither text nor piece nor a list of one of them, or has a type that the model
                does not take.
        """
        items = [{"type": TEXT, "value": inputs}] if isinstance(inputs, str) else inputs
        items = [items] if isinstance(items, Mapping) else items
        if not isinstance(items, Sequence) or not all(isinstance(item, str | Mapping) for item in items):
            raise UsageError(f"expected a text, a list of texts, or a list of pieces {show(inputs)}.")
        message = [self._build_text_piece(item) if isinstance(item, str) else self._check_piece(item) for item in items]
        for piece in message:
            if piece["type"] not in self.allowed_types:
                known = ", ".join(self.allowed_types)
                raise UsageError(f"a piece of the type {piece['type']!r} is none that the model takes: {known}.")
        return message

    def _build_text_piece(self, text: str) -> dict[str, Any]:
        return (
            {"type": IMAGE, "value": self._store_reference(text)} if is_image(text) else {"type": TEXT, "value": text}
        )

    def _check_piece(self, piece: Mapping[str, Any]) -> dict[str, Any]:
        if "type" not in piece or "value" not in piece:
            raise UsageError(f"a piece of a message has a type and a value {show(piece)}.")
        value = piece["value"]
        local = piece["type"] == IMAGE and isinstance(value, str)
        return {**piece, "value": self._store_reference(value) if local else value}

    def _store_reference(self, reference: str) -> str:
        """Store a data URL, or what stands at an address, as a file."""
        if is_data_url(reference):
            return self._store_image(_IMAGES.of_reference(reference, 1))
        if self.allow_remote and reference.lower().startswith(_ADDRESSES):
            return self._store_image(_IMAGES.of_bytes(fetch(reference, hosts=self.allow_host), 1))
        return reference

    def _store_image(self, image: Image) -> str:
        folder = self.__dict__.get("_folder") or tempfile.TemporaryDirectory(prefix=build_temporary_prefix())
        self._folder = folder
        return str(store(image, Path(folder.name)))

    def message_to_promptimg(self, message: Message, dataset: str | None = None) -> tuple[str, str | None]:
        """Give the texts of a message, joined by line breaks, and the path of its first image, None without one."""
        prompt = "\n".join(str(piece["value"]) for piece in message if piece["type"] == TEXT)
        paths = [piece["value"] for piece in message if piece["type"] == IMAGE]
        if paths and dataset in self.IN_A_ROW:
            return prompt, join_side_by_side(paths)
        return prompt, paths[0] if paths else None


class ServiceModel(MessageModel):
    """What a class that asks a service inherits: `generate_inner` gives `(code, answer, log)`, code 0 for an answer.

    Attributes:
        retry: Most tries, from 1.
        fail_msg: How a text begins that says there is no answer; a backend makes a failure of it.
        system_prompt: The system turn; None for none.
        default_kwargs: Given to `generate_inner` by name.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/api/base.py:BaseAPI, without its wait before the first try.
    """

    INTERLEAVE = True
    is_api = True

    def __init__(
        self,
        retry: int = 10,
        wait: float = 1,
        system_prompt: str | None = None,
        verbose: bool = True,
        fail_msg: str = "Failed to obtain answer via API.",
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.retry, self.wait, self.verbose = retry, wait, verbose
        self.system_prompt, self.fail_msg, self.default_kwargs = system_prompt, fail_msg, kwargs

    def generate_inner(self, message: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """Ask once; gives `(code, answer, log)`."""
        raise NotImplementedError(f"{type(self).__name__} has no generate_inner")

    def chat_inner(self, inputs: Sequence[Mapping[str, Any]], **kwargs: Any) -> Any:
        """Ask once with a history of turns; gives `(code, answer, log)`."""
        kwargs.pop("dataset", None)
        return self.generate_inner(inputs, **kwargs)

    def generate(self, message: Any, **kwargs: Any) -> str:  # type: ignore[override]
        """Answer as `MessageModel.generate` does, trying again where there was no answer.

        Pieces of the role `system` become part of `system_prompt`. Where no try gave an answer, the text begins with
        `fail_msg`, by which callers tell.
        """
        pieces = self.preproc_content(message)
        system = "".join(f"{piece['value']}\n" for piece in pieces if piece.get("role") == "system")
        if system not in (self.system_prompt or ""):
            self.system_prompt = system if self.system_prompt is None else f"{self.system_prompt}\n{system}"
        return self._try_call(self.generate_inner, [p for p in pieces if p.get("role") != "system"], kwargs)

    def chat(self, messages: Sequence[Mapping[str, Any]], **kwargs: Any) -> str:  # type: ignore[override]
        """Answer a history of turns as `generate` answers a message."""
        turns = [{**turn, "content": self.preproc_content(turn["content"])} for turn in messages]
        return self._try_call(self.chat_inner, turns, kwargs)

    def _try_call(self, ask: Callable[..., Any], asked: Message, kwargs: Mapping[str, Any]) -> str:
        problem: object = None
        for number in range(self.retry):
            if number:
                time.sleep(self.wait)
            try:
                code, answer, log = ask(asked, **{**self.default_kwargs, **kwargs})
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
                continue
            if code == 0 and answer and self.fail_msg not in answer:
                return str(answer)
            problem = log or answer
        return f"{self.fail_msg} {show(problem)}"

    def message_to_promptimg(self, message: Message, dataset: str | None = None) -> tuple[str, str | None]:
        """Do as `MessageModel` does; where there are several images, `<image>` stands for each in the text."""
        paths = [piece["value"] for piece in message if piece["type"] == IMAGE]
        if len(paths) < 2:
            return super().message_to_promptimg(message)
        prompt = "\n".join(str(piece["value"]) if piece["type"] == TEXT else "<image>" for piece in message)
        return prompt, join_side_by_side(paths) if dataset in self.IN_A_ROW else paths[0]


def is_image(text: str) -> bool:
    """Tell an image from a text: a data URL, the address of an image, or an image's file that stands there.

    Example:
        >>> is_image("https://example.org/a/apple.jpg?x=1"), is_image("What is in apple.jpg"), is_image("no.png")
        (True, False, False)
    """
    if is_data_url(text):
        return read_declared_format(text) is not None
    if text.lower().startswith(_ADDRESSES):
        return urlsplit(text).path.lower().endswith(_SUFFIXES)
    return text.lower().endswith(_SUFFIXES) and "\n" not in text and os.path.isfile(text)


def store(image: Image, folder: Path) -> Path:
    """Write an image's own bytes to a file that is named by its content.

    Args:
        image: An image with bytes.
        folder: Where to; it is there.
    """
    data = image.bytes or b""
    path = folder / f"{hashlib.sha256(data).hexdigest()[:16]}.{SUFFIXES[image.format]}"
    if not path.exists():
        path.write_bytes(data)
    return path


def join_side_by_side(paths: Sequence[str]) -> str:
    """Put images side by side, each 512 pixels high, and give the path of the JPEG beside the first of them.

    Raises:
        RowError: An image cannot be decoded, or all of them together are too large.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/smp/vlm.py:concat_images_vlmeval.
    """
    images: list[PILImage.Image] = []
    total = 0
    for path in paths:
        with open_image(Path(path).read_bytes()) as image:
            width = int(_HEIGHT / image.height * image.width)
            total += width
            check_pixels(total, _HEIGHT)
            images.append(image.resize((width, _HEIGHT)))
    row = PILImage.new("RGB", (total, _HEIGHT))
    left = 0
    for resized in images:
        row.paste(resized, (left, 0))
        left += resized.width
    name = hashlib.sha256("\n".join(paths).encode()).hexdigest()[:16]
    written = Path(paths[0]).with_name(f"{name}.jpg")
    row.save(written)
    return str(written)
