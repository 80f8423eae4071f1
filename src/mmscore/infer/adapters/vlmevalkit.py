"""Models that were written for VLMEvalKit: classes or objects with `generate_inner` or `chat_inner`.

A row becomes the framework's message: pieces in reading order, images as paths of files with the original bytes,
which are gone when the row is answered. Where the model's `use_custom_prompt` says so, its `build_prompt`
words the row from the line of the framework's table. A row with a history goes to `chat_inner`.

A class is opened with `model_path` (or `model`) from `--model`, and with the options of generation that its
parameters name. Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/inference.py:infer_data,
vlmeval/inference_mt.py:infer_data.
"""

import functools
import inspect
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pybase64
from msgspec.structs import replace

from mmconvert.core.command_output import divert_prints
from mmconvert.core.errors import Error, RowError, UsageError, show, take_first_line
from mmconvert.core.record import LETTERS, Record
from mmconvert.core.text.json import parse_json
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmconvert.images.loader import ImageLoader, decode_base64
from mmconvert.io.columns import take_headers
from mmconvert.kits.vlmevalkit.lmu_table import build_index_cell
from mmconvert.storage.temporary import build_temporary_prefix
from mmscore.infer.backend import Backend, Generation, ModelOptions, check_options
from mmscore.infer.message_model import IMAGE, TEXT, Message, MessageModel, store
from mmscore.infer.object_identity import identify_code
from mmscore.infer.thinking import split_thinking
from mmscore.llm.response_cache import Answer, failed

INNER = ("generate_inner", "chat_inner")
_MODEL = ("model_path", "model")
_SYNONYMS = {"max_new_tokens": "max_tokens"}
_NO_ANSWER = "Failed to obtain answer"
"""How texts of the framework begin that stand for a missing answer. Source: vlmeval/smp/file.py:INFER_FAIL_MSG."""

_CHAT_FAILED = "Chat Mode: Failed with all possible conversation turns."
_IMAGES = ImageLoader(())
_folder: ContextVar[Path] = ContextVar("_folder")
"""Where the images of the row available are stored."""


class KitModel:
    """Asks a model of the framework; see `mmscore.infer.backend.Backend`.

    Rows are asked one by one, those of a service (`is_api`) side by side as `--concurrency` says.
    """

    def __init__(self, named: str, given: Any, options: ModelOptions) -> None:
        """Open the model.

        Raises:
            UsageError: An option cannot be honoured, or the class needs values that nobody gave.
        """
        model_class = _find_class(given)
        passed = _choose_arguments(given, model_class, options)
        is_service = bool(getattr(model_class, "is_api", False))
        flags = ["--" + name.replace("_", "-") for name in passed]
        check_options(named, options, *flags, "--n", *(("--concurrency",) if is_service else ()))
        values = dict(passed.values())
        with divert_prints():
            self._model = _open_model(named, given, model_class, values)
        self.name = options.model
        self.batch_size = (
            options.service.concurrency if is_service and isinstance(options.service.concurrency, int) else 1
        )
        bound = {**given.keywords, "": given.args} if isinstance(given, functools.partial) else {}
        self.identity = f"vlmevalkit:{identify_code(model_class)}:{options.model}:{values}:{bound}"
        if hasattr(self._model, "set_dump_image"):
            self._model.set_dump_image(store_images)

    def answer(self, records: Sequence[Record]) -> list[Answer]:
        """Ask about each record; what the model raises is why a row has no answer."""
        with divert_prints(), ThreadPoolExecutor(max_workers=self.batch_size) as threads:
            return list((threads.map if len(records) > 1 else map)(self._answer_record, records))

    def _answer_record(self, record: Record) -> Answer:
        with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
            token = _folder.set(Path(folder))
            try:
                return self._read(record, self._request_response(record))
            except RowError as error:
                return failed(f"{error.field}: {error.message}")
            except Exception as error:
                return failed(f"{type(error).__name__}: {take_first_line(error)} ({_find_place(error)})")
            finally:
                _folder.reset(token)

    def _request_response(self, record: Record) -> Any:
        dataset = record.dataset or Path(record.source.file).stem
        turns = record.messages
        system, turns = (turns[:1], turns[1:]) if turns and turns[0].role == "system" else ((), turns)
        if system and not getattr(self._model, "is_api", False):
            raise RowError("system.unsupported", "messages", "the model has no place for a system turn. Leave it out.")
        asked = [{"type": TEXT, "value": part.text, "role": "system"} for turn in system for part in turn.content]
        if len(turns) != 1:
            return self._chat(record, dataset)
        if hasattr(self._model, "use_custom_prompt") and self._model.use_custom_prompt(dataset):
            message = self._model.build_prompt(build_table_row(record), dataset=dataset)
        else:
            message = build_messages(replace(record, messages=turns))[0]["content"]
        return self._generate([*asked, *message], dataset)

    def _generate(self, message: Message, dataset: str) -> Any:
        if hasattr(self._model, "generate"):
            return self._model.generate(message, dataset=dataset)
        return self._model.generate_inner(message, dataset=dataset)

    def _chat(self, record: Record, dataset: str) -> Any:
        if not hasattr(self._model, "chat_inner"):
            raise RowError(
                "history.unsupported", "messages", "the row has a history, and the model no chat_inner. Write it."
            )
        ask = getattr(self._model, "chat", None) or self._model.chat_inner
        return ask(build_messages(record), dataset=dataset)

    def _read(self, record: Record, reply: Any) -> Answer:
        if isinstance(reply, Mapping) and "prediction" in reply:
            reply = reply["prediction"]
        if isinstance(reply, tuple) and len(reply) == 3:
            code, text, log = reply
            if code != 0:
                return failed(f"code {code}: {log or text}")
            reply = text
        if reply is None:
            return failed("the model gave no answer")
        if not isinstance(reply, str):
            raise Error(f"row {record.id!r}: expected a text from the model {show(reply)}.")
        said_failed = (getattr(self._model, "fail_msg", None) or _NO_ANSWER, _NO_ANSWER, _CHAT_FAILED)
        if reply.startswith(said_failed):
            return failed(reply)
        thinking, text = split_thinking(reply)
        return Answer(text, thinking=thinking)


def build_messages(record: Record) -> list[dict[str, Any]]:
    """Give the turns of a row as the framework's chat history, images stored as files, or as the addresses they are.

    Returns:
        `{"role", "content"}` a turn; content is a message.
    """
    images = iter(record.images)

    def piece(kind: str, text: str) -> dict[str, Any]:
        if kind != IMAGE:
            return {"type": TEXT, "value": text}
        image = next(images)
        return {"type": IMAGE, "value": image.url if image.bytes is None else str(store(image, _folder.get()))}

    return [{"role": turn.role, "content": [piece(p.type, p.text) for p in turn.content]} for turn in record.messages]


def build_table_row(record: Record) -> Any:
    """Give the row of the framework's table that a record stands for, as a pandas Series.

    The index is a whole number where it is one; other cells are texts, `image` base64 or a list of it. Cells
    that are empty are left out.
    """
    import pandas as pd

    extra = dict(record.extra)
    headers = take_headers(extra)
    index = build_index_cell(record)
    images = [pybase64.b64encode(image.bytes).decode() for image in record.images if image.bytes is not None]
    names = [image.name or image.url for image in record.images]
    label = None if record.label is None else parse_json(record.label)
    cells = {
        "index": int(index) if index.isascii() and index.isdigit() and str(int(index)) == index else index,
        "question": record.question,
        "hint": record.hint,
        **dict(zip(LETTERS, record.options, strict=False)),
        "answer": label if isinstance(label, str | None) else record.label,
        "category": record.category,
        "l2-category": record.l2_category,
        "split": record.split,
        **extra,
        "image": images[0] if len(images) == 1 else images or None,
        "image_path": (names[0] if len(names) == 1 else names) if names and None not in names else None,
    }
    return pd.Series({headers.get(name, name): one for name, one in cells.items() if one is not None}, dtype="object")


def store_images(line: Any) -> list[str]:
    """Store the images of a line of the framework's table, and give their paths: the framework's `dump_image`.

    Raises:
        RowError: The line has no images, or a cell is none.
    """
    cell = line.get("image")
    if cell is None:
        raise RowError("image.missing", "image", "the row has no image.")
    texts = parse_list(cell) if isinstance(cell, str) and looks_like_list(cell) else cell
    texts = [texts] if isinstance(texts, str) else texts
    folder = _folder.get()
    return [str(store(_IMAGES.of_bytes(decode_base64(text), slot), folder)) for slot, text in enumerate(texts, 1)]


def _find_class(given: Any) -> Any:
    made = given.func if isinstance(given, functools.partial) else given
    return made if isinstance(made, type) else type(made)


def _choose_arguments(given: Any, model_class: Any, options: ModelOptions) -> dict[str, tuple[str, Any]]:
    """Choose what a class is opened with: option -> parameter and value; an object, which is open, takes nothing."""
    if not isinstance(given, type | functools.partial):
        return {}
    parameters = inspect.signature(given).parameters
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    passed: dict[str, tuple[str, Any]] = {}
    for name in Generation.__struct_fields__:
        value = getattr(options.generation, name)
        taken = next((known for known in (name, _SYNONYMS.get(name)) if known in parameters), None)
        if value not in (None, False, ()) and (taken or open_ended):
            passed[name] = (taken or name, list(value) if isinstance(value, tuple) else value)
    bound = given.keywords if isinstance(given, functools.partial) else {}
    path = next((name for name in _MODEL if name in parameters and name not in bound), None)
    if path and options.model != model_class.__name__:
        passed["model"] = (path, options.model)
    return passed


def _open_model(named: str, given: Any, model_class: Any, values: Mapping[str, Any]) -> Any:
    if not isinstance(given, type | functools.partial):
        return given
    make: Callable[..., Any] = given
    if not hasattr(model_class, "message_to_promptimg"):
        # A class that inherits nothing may still call what the framework's base class has.
        full = type(model_class.__name__, (model_class, MessageModel), {})
        make = functools.partial(full, *given.args, **given.keywords) if isinstance(given, functools.partial) else full
    try:
        inspect.signature(make).bind(**values)
    except TypeError as error:
        raise UsageError(
            f"backend {named!r}: {error}. Name an object that has its values: NAME = functools.partial(CLASS, ...)."
        ) from None
    return make(**values)


def _find_place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def adapt_model(named: str, given: object, options: ModelOptions) -> Backend | None:
    """Make a backend of a model of the framework; see `mmscore.infer.adapter.Adapter`."""
    if not any(callable(getattr(_find_class(given), name, None)) for name in INNER):
        return None
    return KitModel(named, given, options)


ADAPTER = adapt_model
