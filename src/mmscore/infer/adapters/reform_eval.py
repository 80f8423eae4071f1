"""Model interfaces of ReForm-Eval as backends.

An interface answers finished prompts, one image each: `raw_generate` and `raw_predict` one of them,
`raw_batch_generate` and `raw_batch_predict` several. Taken are an interface, a class of one, a pair of an
interface and its preprocessor, and a loader `get_NAME(model_config)` that gives such a pair.
Source: FudanDISC/ReForm-Eval@df1cfa7 models/interfaces/base_interface.py, run_eval.py.
"""

import importlib.util
import inspect
import operator
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from mmconvert.core.errors import Error, RowError, UsageError, show, take_first_line
from mmconvert.core.record import LETTERS, Record
from mmconvert.core.text.turns import join_texts
from mmscore.infer.backend import GENERATE, LIKELIHOOD, TOKEN, ModelOptions, check_options
from mmscore.infer.images import count_fitting, decode_image
from mmscore.infer.object_identity import identify_code
from mmscore.infer.thinking import split_thinking
from mmscore.llm.response_cache import Answer, failed

GENERATORS = ("raw_batch_generate", "raw_generate")
PREDICTORS = ("raw_batch_predict", "raw_predict")
HUMAN = {"user": "human", "assistant": "assistant"}
METHODS = {GENERATE: "generation", LIKELIHOOD: "likelihood"}
_Asked = tuple[Any, Any, list[str]]
"""Image, prompt and options of a row."""

_ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")
_HALF = {None: False, "float32": False, "float16": True}
_OPTIONS = ("--batch-size", "--dtype", "--max-new-tokens", "--temperature", "--method", "--likelihood-reduction")


def adapter(named: str, given: object, options: ModelOptions) -> "InterfaceBackend | None":
    """Make a backend of an interface of ReForm-Eval.

    Args:
        named: What the user calls it, for messages.
        given: An interface, a class of one, a pair (interface, preprocessor), or a loader of a pair, which has
            the one parameter `build_model_config`.
        options: The model and its settings; dtype float16 is the framework's `half`.

    Returns:
        The backend; None where `given` is none of these.

    Raises:
        UsageError: An option cannot be honoured.
        Error: A loader gives something else.
    """
    interface = given[0] if isinstance(given, tuple) and len(given) == 2 else given
    if not (is_loader(given) or _is_interface(interface)):
        return None
    check_options(named, options, *_OPTIONS)
    if options.dtype not in _HALF:
        raise UsageError(f"{named}: an interface has float32 and float16 {show(options.dtype)}. Choose one.")
    config = build_model_config(options)
    preprocessor = None
    if is_loader(given):
        loaded = given(config)  # type: ignore[operator]
        if not (isinstance(loaded, tuple) and len(loaded) == 2 and _is_interface(loaded[0])):
            raise Error(f"{named}: expected a pair (interface, preprocessor) {show(loaded)}. See ReForm-Eval's guide.")
        interface, preprocessor = loaded
    elif isinstance(given, tuple):
        preprocessor = given[1]
    if isinstance(interface, type):
        accepts = inspect.signature(interface).parameters
        keywords = {name: config[name] for name in ("device", "half", "inference_method") if name in accepts}
        interface = interface(config["model_name"], **keywords) if accepts else interface()
    return InterfaceBackend(named, interface, preprocessor, options)


def is_loader(given: object) -> bool:
    """Tell a loader of the framework, `get_NAME(model_config)`, from any other function."""
    return inspect.isroutine(given) and list(inspect.signature(given).parameters) == ["model_config"]


def build_model_config(options: ModelOptions, model_type: str | None = None) -> dict[str, Any]:
    """Give what a loader of the framework is called with.

    Args:
        options: The model and its settings.
        model_type: The framework's `--model_type`.

    Returns:
        `model_name`, `device`, `half`, `inference_method`; `model_type` where there is one.
    """
    config = {
        "device": _choose_device(),
        "half": _HALF.get(options.dtype, False),
        "inference_method": METHODS[options.method],
        "model_name": options.model,
    }
    return config if model_type is None else {**config, "model_type": model_type}


def _is_interface(given: object) -> bool:
    return any(callable(getattr(given, name, None)) for name in (*GENERATORS, *PREDICTORS))


def _choose_device() -> str:
    if importlib.util.find_spec("torch") is None:
        return "cpu"
    import torch

    if not torch.cuda.is_available():
        return "cpu"
    return f"cuda:{os.environ['LOCAL_RANK']}" if "LOCAL_RANK" in os.environ else "cuda"


def sample_of(record: Record) -> dict[str, Any]:
    """Give a record as the framework's preprocessors take a sample.

    Returns:
        `question` (a hint before it), `answer_options`, `instruct` and `history` where the record has them.

    Raises:
        RowError: The options have a gap, or there is no question.
    """
    if None in record.options:
        raise RowError("options.gap", "options", "ReForm-Eval marks options without a gap. Leave the row out.")
    if record.question is None:
        raise RowError("question.missing", "question", "the row has no question to word.")
    history = [{"from": HUMAN[t.role], "value": join_texts(t)} for t in record.messages[:-1] if t.role in HUMAN]
    sample = {
        "question": record.question if record.hint is None else f"{record.hint}\n{record.question}",
        "answer_options": list(record.options) or None,
        "instruct": record.instruction,
        "history": history or None,
    }
    return {name: value for name, value in sample.items() if value is not None}


def build_prompt(record: Record, preprocessor: Any) -> Any:
    """Write a row as an interface reads it.

    Args:
        record: The row.
        preprocessor: Called with a sample; None takes the row's one text as it is.

    Returns:
        What the preprocessor gives, a text as a rule.

    Raises:
        RowError: The row cannot be written.
    """
    if preprocessor is not None:
        return preprocessor(sample_of(record))
    if len(record.messages) != 1:
        message = f"without a preprocessor a row is one text, this one has {len(record.messages)} turns."
        raise RowError("messages.several", "messages", message)
    return join_texts(record.messages[0])


class InterfaceBackend:
    """An interface with its preprocessor; see `mmscore.infer.backend.Backend`."""

    def __init__(self, named: str, interface: Any, preprocessor: Any, options: ModelOptions) -> None:
        """Take an interface that is loaded.

        Args:
            named: What the user calls it, for messages.
            interface: Answers prompts.
            preprocessor: Called with a sample, gives its prompt; None sends the row's one text as it is.
            options: What it is asked with.

        Raises:
            UsageError: It cannot generate, or predict, or takes none of the settings that were given.
        """
        likely = options.method == LIKELIHOOD
        names = PREDICTORS if likely else GENERATORS
        self._call_name = next((name for name in names if callable(getattr(interface, name, None))), None)
        if self._call_name is None:
            raise UsageError(f"{named} has neither {' nor '.join(names)}. It cannot do --method {options.method}.")
        if options.likelihood_reduction == TOKEN:
            raise UsageError(
                f"{named}: an interface gives no log-probabilities. Take --likelihood-reduction sum or mean."
            )
        self._call: Callable[..., Any] = getattr(interface, self._call_name)
        # Give the settings that the user made; the interface has defaults for the others.
        generation = options.generation
        settings = {
            "temperature": generation.temperature,
            "max_new_tokens": generation.max_new_tokens,
            "likelihood_reduction": options.likelihood_reduction,
        }
        self._settings = {name: value for name, value in settings.items() if value is not None}
        self._check_settings(named)
        self._likely, self._preprocessor = likely, preprocessor
        self._named = named
        for name in ("eval", *(["half"] if _HALF[options.dtype] else [])):
            if callable(getattr(interface, name, None)):
                getattr(interface, name)()
        self.name = options.model
        self.batch_size = options.batch_size or 1
        code = [identify_code(part) for part in (interface, preprocessor) if part is not None]
        # Describe a preprocessor by the values it holds, so that another mark shares no answers.
        held = getattr(preprocessor, "__dict__", {})
        self.identity = ":".join(
            map(str, ("reform_eval", *code, options.model, options.dtype, _ADDRESS.sub("", repr(sorted(held.items())))))
        )

    def _check_settings(self, named: str) -> None:
        parameters = inspect.signature(self._call).parameters
        if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
            return
        if lost := [name for name in self._settings if name not in parameters]:
            raise UsageError(f"{named}: its {self._call_name} takes no {', '.join(lost)}. Leave it out.")

    def answer(self, records: Sequence[Record]) -> list[Answer]:
        """Answer records as one batch; where that fails, one by one, so that the row to blame fails alone."""
        return self.answer_prepared(self.prepare(records))

    def size(self, record: Record) -> float:
        """Take rows for alike: the framework's prompts of a dataset are."""
        return 1

    def together(self, records: Sequence[Record]) -> int:
        """Give the size of a batch, a smaller one where the images are large."""
        return count_fitting(records, self.batch_size)

    def prepare(self, records: Sequence[Record]) -> list[_Asked | Answer]:
        """Decode images and write prompts."""
        return [self._prepare_record(record) for record in records]

    def answer_prepared(self, prepared: Sequence[_Asked | Answer]) -> list[Answer]:
        """Ask the interface; see `answer`."""
        rows = [row for row in prepared if not isinstance(row, Answer)]
        answers = iter(self._answer_rows(rows) if rows else [])
        return [row if isinstance(row, Answer) else next(answers) for row in prepared]

    def _prepare_record(self, record: Record) -> _Asked | Answer:
        if len(record.images) != 1:
            more = " --no-interleave shows the first." if record.images else ""
            return failed(f"images: an interface takes one image per row, the row has {len(record.images)}.{more}")
        if self._likely and not record.options:
            return failed("options: there are none to choose from. Use --method generate.")
        try:
            return (
                decode_image(record.images[0], 1),
                build_prompt(record, self._preprocessor),
                list(map(str, record.options)),
            )
        except RowError as error:
            return failed(f"{error.field}: {error.message}")
        except Exception as error:  # the preprocessor is the user's
            return failed(f"the preprocessor raises {type(error).__name__}: {take_first_line(error)}")

    def _answer_rows(self, rows: Sequence[_Asked]) -> list[Answer]:
        try:
            outputs = self._call_interface(rows)
        except UsageError:
            raise
        except Exception as error:  # models of many makers: anything may come out of a bad row
            if len(rows) > 1:
                return [answer for row in rows for answer in self._answer_rows([row])]
            return [failed(f"{type(error).__name__}: {take_first_line(error)}")]
        if len(outputs) != len(rows):
            raise Error(f"{self._named}: {self._call_name} gave {len(outputs)} answers for {len(rows)} prompts.")
        return [self._read(output, row) for output, row in zip(outputs, rows, strict=True)]

    def _call_interface(self, rows: Sequence[_Asked]) -> Sequence[Any]:
        columns = [list(column) for column in zip(*rows, strict=True)][: 3 if self._likely else 2]
        if self._call_name in (GENERATORS[1], PREDICTORS[1]):
            return [self._call(*row, **self._settings) for row in zip(*columns, strict=True)]
        given = self._call(*columns, **self._settings)
        given = given.tolist() if hasattr(given, "tolist") else given
        # Some give the one answer of a batch of one as it is.
        return given if isinstance(given, list | tuple) else [given]

    def _read(self, output: Any, row: _Asked) -> Answer:
        if not self._likely:
            if isinstance(output, str):
                thinking, text = split_thinking(output)
                return Answer(text, thinking=thinking)
            raise Error(f"{self._named}: {self._call_name} must give texts {show(output)}.")
        try:
            place = operator.index(output.item() if hasattr(output, "item") else output)
        except TypeError:
            raise Error(f"{self._named}: {self._call_name} must give numbers of options {show(output)}.") from None
        if not 0 <= place < min(len(row[2]), len(LETTERS)):
            return failed(f"options: there are {len(row[2])}, the model chose number {place}, counted from 0.")
        return Answer(LETTERS[place])


ADAPTER = adapter
