"""MMTrustEval's chat models: a class with `model_family` and `chat(messages, **generation_kwargs)`.

    class Mine(BaseChat):
        model_family = ["mine-7b"]

        def chat(self, messages, **generation_kwargs):
            return Response(self.model_id, "Yes", None, None)

`mmscore predict ... --backend file.py@Mine --model mine-7b`. A turn with an image is `{"text", "image_path"}`, the
path that of a file with the source's bytes. A response `Error in generation: ...`, which the framework's own models
give when
a service is out, is a row without an answer here.

Source: thu-ml/MMTrustEval@a067801 mmte/models/base.py, mmte/models/openai_chat.py.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from mmconvert.core.command_output import divert_prints
from mmconvert.core.errors import RowError, UsageError, show, suggest_spelling
from mmconvert.core.record import Image, Record, Turn
from mmconvert.core.text.turns import join_texts
from mmconvert.storage.temporary import build_temporary_prefix
from mmscore.infer.backend import Generation, ModelOptions, check_options
from mmscore.infer.message_model import store
from mmscore.infer.object_identity import identify_code
from mmscore.infer.thinking import split_thinking
from mmscore.llm.response_cache import Answer, failed

MAX_NEW_TOKENS = 50
"""What the framework's task runner asks for where nobody says it."""

OUTAGE = "Error in generation"
"""How the framework's models begin a response that is none."""

_HONOURED = (
    *("--max-new-tokens", "--do-sample", "--temperature", "--top-p", "--top-k", "--num-beams", "--stop"),
    *("--output-scores", "--n"),
)


def adapter(named: str, given: object, options: ModelOptions) -> "ChatBackend | None":
    """Open a chat model of the framework; None for an object that is none.

    Args:
        named: What the user calls it, for messages.
        given: A class, opened with the model's id, or an object of one.
        options: `model` is the model's id; the settings of a generation are handed to `chat`.

    Raises:
        UsageError: The class has no such model, or an option cannot be honoured.
    """
    kind = given if isinstance(given, type) else type(given)
    if not callable(getattr(kind, "chat", None)) or not hasattr(kind, "model_family"):
        return None
    check_options(named, options, *_HONOURED)
    model: Any = open_model(kind, options.model) if isinstance(given, type) else given
    name = str(getattr(model, "model_id", None) or options.model)
    return ChatBackend(model, name, build_generation_kwargs(options.generation, output_scores=options.output_scores))


def open_model(kind: Any, model_id: str) -> Any:
    """Make a model of a class.

    Raises:
        UsageError: The class has no model of the id.
    """
    family = list(kind.model_family)
    if model_id not in family:
        hint = suggest_spelling(model_id, family)
        raise UsageError(f"{kind.__name__}: has no model {model_id!r}.{hint} Known: {', '.join(map(str, family))}.")
    return kind(model_id)


def build_generation_kwargs(generation: Generation, *, output_scores: bool = False) -> dict[str, Any]:
    r"""Give the settings of a generation under the framework's names; those that nobody gave are left out.

    Example:
        >>> build_generation_kwargs(Generation(stop=("\n",)))
        {'max_new_tokens': 50, 'do_sample': False, 'stop_sequences': ['\n']}
    """
    given = asdict(generation)
    stop = list(given.pop("stop"))
    given |= {"max_new_tokens": generation.max_new_tokens or MAX_NEW_TOKENS, "do_sample": generation.sampling}
    given |= {"stop_sequences": stop or None, "output_scores": output_scores or None}
    return {name: value for name, value in given.items() if value is not None}


class ChatBackend:
    """Asks a chat model of the framework row by row; see `mmscore.infer.backend.Backend`."""

    batch_size = 1

    def __init__(self, model: Any, name: str, settings: Mapping[str, Any]) -> None:
        """Take a model.

        Args:
            model: Has `chat(messages, **generation_kwargs)`.
            name: Its id.
            settings: What `chat` is given beside the messages.
        """
        self.name = name
        # The file too: whoever edits the class wants its new answers.
        self.identity = f"mmtrusteval:{identify_code(model)}:{name}:{sorted(settings.items())}"
        self._model = model
        self._settings = dict(settings)

    def answer(self, records: Sequence[Record]) -> list[Answer]:
        """Ask about records, one after the other; what the model raises is that row's failure."""
        return [self._answer_record(record) for record in records]

    def _answer_record(self, record: Record) -> Answer:
        # Models of the framework print every response.
        with (
            tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder,
            divert_prints(),
        ):
            try:
                response = self._model.chat(build_messages(record, Path(folder)), **self._settings)
                return _read(response, scores=bool(self._settings.get("output_scores")))
            except RowError as error:
                return failed(f"{error.field}: {error.message}")
            except Exception as error:  # a model of the user's fails in its own way; the other rows go on
                return failed(f"{type(error).__name__}: {str(error)[:200]}")


def build_messages(record: Record, folder: Path) -> list[dict[str, Any]]:
    """Give the turns of a record as the framework's models take them.

    Args:
        record: The record.
        folder: Where files of its images are made.

    Raises:
        RowError: A turn shows several images; the framework's turns hold one.
    """
    images = iter(record.images)
    return [
        _build_message(turn, [next(images) for part in turn.content if part.type == "image"], folder)
        for turn in record.messages
    ]


def _build_message(turn: Turn, images: Sequence[Image], folder: Path) -> dict[str, Any]:
    if len(images) > 1:
        raise RowError("images.count", "images", f"a turn of MMTrustEval shows one image (got {len(images)}).")
    text = join_texts(turn)
    if not images:
        return {"role": turn.role, "content": text}
    return {"role": turn.role, "content": {"image_path": write_image(images[0], folder), "text": text}}


def write_image(image: Image, folder: Path) -> str:
    """Write an image's own bytes to a file; an image that is only an address stays one, as the framework takes it."""
    if image.bytes is None:
        return image.url or ""
    return str(store(image, folder))


def _read(response: Any, *, scores: bool) -> Answer:
    text = response if isinstance(response, str) else getattr(response, "content", None)
    if not isinstance(text, str):
        raise RowError("response.type", "response", f"expected a Response with a text {show(response)}.")
    if text.startswith(OUTAGE):
        raise RowError("response.outage", "response", text[:200])
    found = getattr(response, "logprobs", None)
    numbers = isinstance(found, Sequence) and all(isinstance(one, int | float) for one in found)
    if scores and not numbers:
        raise RowError("response.logprobs", "response", f"expected a log-probability a token {show(found)}.")
    finish = getattr(response, "finish_reason", None)
    thinking, reply = split_thinking(text)
    return Answer(
        reply,
        thinking=thinking,
        finish_reason=None if finish is None else str(finish),
        token_logprobs=tuple(map(float, found)) if scores and found is not None else None,
    )


ADAPTER = adapter
