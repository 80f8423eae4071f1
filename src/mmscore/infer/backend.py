"""What answers a batch of records, and the options it is opened with.

A backend module exports `BACKEND`, a callable `(ModelOptions) -> Backend`. A backend of yours is named as
`--backend file.py@name`: a function from a batch of records to as many answers (a text, an `Answer`, None
for a row without one), or a class that is opened with the options:

    def blind(records: Sequence[Record]) -> list[str]:
        return ["A" for _ in records]

    class Blind:
        name = identity = "blind"
        batch_size = 8

        def __init__(self, options: ModelOptions) -> None: ...

        def answer(self, records: Sequence[Record]) -> list[Answer]:
            return [Answer("A") for _ in records]

One that also has `stream`, see `Streaming`, is given rows one by one instead, as it has places free.
"""

import hashlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec
from msgspec.structs import fields

from mmconvert.core.errors import UsageError
from mmconvert.core.plugin_struct import PluginStruct
from mmconvert.core.record import Record
from mmscore.llm.response_cache import Answer

GROUP = "mmscore.infer.backends"

METHODS = GENERATE, LIKELIHOOD = ("generate", "likelihood")
REDUCTIONS = SUM, MEAN, TOKEN = ("sum", "mean", "token")
"""The option with the highest summed, or mean, log-probability is taken; `token` sums too, and keeps each token's."""

TEMPLATES = CHAT, RAW = ("chat", "raw")


class Generation(PluginStruct, frozen=True):
    """How a response is generated. None leaves a value to the backend's and the model's own default.

    Attributes:
        max_new_tokens: Most tokens of a response, from 1.
        do_sample: Draw tokens instead of taking the likeliest; also on when `temperature` is above 0.
        temperature: Softness of the draw; 0 is greedy.
        top_p: Share of probability to draw from, above 0, at most 1.
        top_k: Number of tokens to draw from, from 1.
        num_beams: Beams of a beam search, from 1.
        stop: Texts that end a response and are cut from it.
        seed: Seed of the draws.
    """

    max_new_tokens: int | None = None
    do_sample: bool = False
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    num_beams: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None

    def __post_init__(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            UsageError: An option would have no effect, or excludes another.
        """
        if self.do_sample and self.temperature == 0:
            raise UsageError("--do-sample and --temperature 0 exclude each other: temperature 0 is greedy.")
        if "" in self.stop:
            raise UsageError("--stop: an empty text would end every response at once.")
        for name in ("top_p", "top_k", "seed"):
            if getattr(self, name) is not None and not self.sampling:
                flag = "--" + name.replace("_", "-")
                raise UsageError(f"{flag} has a meaning only when sampling. Add --do-sample or --temperature.")
        if self.sampling and (self.num_beams or 1) > 1:
            raise UsageError("--num-beams searches, --do-sample and --temperature draw. Give one of them.")

    @property
    def sampling(self) -> bool:
        """Whether tokens are drawn."""
        return self.do_sample or bool(self.temperature)


class Service(PluginStruct, frozen=True):
    """Which service is asked, and how, by backends that ask one. None leaves a value to the backend.

    Attributes:
        base_url: Addresses of the service; several share the rows, () leaves it to the backend.
        api_key_env: Environment variable that holds the key; the key itself is no option.
        concurrency: Rows under way at once at each address, from 1; `auto` finds out how many serve best.
        timeout: Seconds of silence after which a question is asked again, above 0.
        max_calls: Most calls in all, retries included, from 1.
        max_total_tokens: Most tokens of prompts and responses in all, from 1.
        price: What a million tokens cost, `PROMPT,COMPLETION`, in any currency, or a file with a table of prices.
        max_cost: Most that the run may cost, above 0.
        extra_body: Further fields of each request, as a JSON object.
        json_schema: File with a JSON schema of the responses.
    """

    base_url: tuple[str, ...] = ()
    api_key_env: str | None = None
    concurrency: int | Literal["auto"] | None = None
    timeout: float | None = None
    max_calls: int | None = None
    max_total_tokens: int | None = None
    price: str | None = None
    max_cost: float | None = None
    extra_body: str | None = None
    json_schema: Path | None = None

    def __post_init__(self) -> None:
        """Refuse a cap that nothing could reach.

        Raises:
            UsageError: There is a most cost and no price.
        """
        if self.max_cost is not None and self.price is None:
            raise UsageError("--max-cost: what do tokens cost? Add --price PROMPT,COMPLETION for a million of them.")

    def check_alone(self) -> None:
        """Refuse caps where several processes ask: each would count its own calls alone.

        Raises:
            UsageError: There is a cap.
        """
        if caps := [name for name in ("max_calls", "max_total_tokens", "max_cost") if getattr(self, name) is not None]:
            flags = ", ".join("--" + name.replace("_", "-") for name in caps)
            raise UsageError(f"{flags}: the limit applies to one process. Leave out --processes, --share and --engine.")


class ModelOptions(PluginStruct, frozen=True):
    """What a backend is opened with.

    Attributes:
        model: Folder, Hub id or name, as the user gave it.
        generation: How responses are generated.
        service: Which service is asked, and how.
        batch_size: Rows answered at once; None lets the backend choose.
        dtype: Number type of the weights; None lets the backend choose.
        attn: Attention implementation; None lets the backend choose.
        compile: Compile the step that generates a token, for long runs on a GPU.
        continue_final_message: A last turn of the assistant is the beginning of the response.
        method: `GENERATE` a response, or take the option of the highest `LIKELIHOOD`.
        likelihood_reduction: Which log-probability of an option counts, one of `REDUCTIONS`; None is `sum`.
        n: Responses a row, from 1. A row is handed over once a response, `variant` telling them apart; the
            first of them is the row as it stands.
        max_image_side: Images with a longer side are shrunk to it for the request, in pixels.
        output_scores: Answers hold the log-probability of each generated token.
        template: `chat` lets the model's chat template word the turns, `raw` sends the one turn's text as it is.
        quiet: No progress bars while loading.
    """

    model: str
    generation: Generation = Generation()
    service: Service = Service()
    batch_size: int | None = None
    dtype: str | None = None
    attn: str | None = None
    compile: bool = False
    continue_final_message: bool = False
    method: str = GENERATE
    likelihood_reduction: str | None = None
    n: int = 1
    max_image_side: int | None = None
    output_scores: bool = False
    template: str = CHAT
    quiet: bool = False

    def __post_init__(self) -> None:
        """Refuse options that have no meaning for the method.

        Raises:
            UsageError: There are some.
        """
        likely = self.method == LIKELIHOOD
        if self.likelihood_reduction and not likely:
            raise UsageError("--likelihood-reduction has a meaning only with --method likelihood.")
        if likely and self.compile:
            raise UsageError("--compile is for the steps of a response, --method likelihood has none. Leave one out.")
        if likely and (self.generation != Generation() or self.n > 1 or self.output_scores):
            raise UsageError("--method likelihood generates nothing. Leave out the options of responses, such as --n.")
        if self.output_scores and (self.generation.num_beams or 1) > 1:
            raise UsageError("--output-scores follows one path of tokens. Leave --num-beams out.")


class Backend(Protocol):
    """A model that is ready to answer.

    Attributes:
        name: The model's name for the `model` column.
        identity: Names backend, model and every setting that could change an answer: two runs share
            answers when it is equal.
        batch_size: Most rows to hand over at once; may shrink during a run.

    One whose answers depend on nothing of a row but turns and images, and options where it takes one, also has a
    true `prompt_only`: what it answered stands when another column of the row changes.
    """

    name: str
    identity: str
    batch_size: int

    def answer(self, records: Sequence[Record]) -> Sequence[Answer]:
        """Answer records.

        Returns:
            One answer a record, in the same order. A row that cannot be answered is an answer with
            status `failed`; an exception ends the run.
        """
        ...


@dataclass(slots=True)
class KnownBackend:
    """What is known of a backend that cannot be asked here, as one in another process; see `Backend`."""

    name: str
    identity: str
    batch_size: int = 1
    prompt_only: bool = False

    def answer(self, records: Sequence[Record]) -> Sequence[Answer]:
        """Refuse."""
        raise NotImplementedError


@runtime_checkable
class Streaming(Protocol):
    """A backend that takes rows one by one and answers them in the order in which it is done with them."""

    name: str
    identity: str
    batch_size: int

    def answer(self, records: Sequence[Record]) -> Sequence[Answer]:
        """Answer records; see `Backend`."""
        ...

    def stream(self, records: Iterator[Record]) -> Generator[Sequence[tuple[int, Answer]]]:
        """Answer records as they are drawn.

        Args:
            records: Rows to ask about, read from the disk as they are drawn: a row is to be drawn only
                when the answers given out so far leave a place free, for those are stored by then.

        Yields:
            Answers that came since the last time, each with the position of its record in `records`,
            from 0. Every record is answered once.
        """
        ...


@runtime_checkable
class Wary(Protocol):
    """A backend that ends a run in which every row is refused.

    Attributes:
        proven: Rows have answers under these settings, of this run or an earlier one; set by whoever asks.
    """

    proven: bool


@runtime_checkable
class Batching(Protocol):
    """A backend that knows how many rows fit its memory, and whose rows can be made ready in a thread."""

    name: str
    identity: str
    batch_size: int

    def answer(self, records: Sequence[Record]) -> Sequence[Answer]:
        """Answer records; see `Backend`."""
        ...

    def size(self, record: Record) -> float:
        """Guess how much of the memory a record takes, in a unit of the backend's own."""
        ...

    def together(self, records: Sequence[Record]) -> int:
        """Say how many of the first records go together, at least one.

        Args:
            records: Those without a response, the largest by `size` first; at least one.
        """
        ...

    def prepare(self, records: Sequence[Record]) -> Any:
        """Make records ready, in a thread of its own; never raises because of a record."""
        ...

    def answer_prepared(self, prepared: Any) -> Sequence[Answer]:
        """Answer the records that were made ready; see `Backend.answer`."""
        ...


def identify_file(plugin: str) -> str:
    """Name a `file.py@name` plug-in by its content, so that an edited file shares no answers.

    Returns:
        The plug-in's name; for a file the object's name and the file's digest.

    Example:
        >>> identify_file("echo")
        'echo'
    """
    file, _, name = plugin.rpartition("@")
    if not Path(file).is_file():
        return plugin
    return f"{name}:{hashlib.sha256(Path(file).read_bytes()).hexdigest()}"


def check_options(backend: str, options: ModelOptions, *flags: str) -> None:
    """Refuse every option that differs from its default and that a backend does not name.

    Args:
        backend: Name of the backend.
        options: What it is opened with.
        flags: Options that it honours, as they stand on the command line.

    Raises:
        UsageError: Another one was given.

    Example:
        >>> check_options("echo", ModelOptions("answer", batch_size=4), "--batch-size")
    """
    refuse(backend, {flag: value for flag, value in _list_flags(options).items() if flag not in flags})


def _list_flags(options: msgspec.Struct) -> dict[str, object]:
    values: dict[str, object] = {}
    for field in fields(options):
        value = getattr(options, field.name)
        if isinstance(value, msgspec.Struct):
            values |= _list_flags(value)
        elif field.name not in ("model", "quiet"):
            values["--" + field.name.replace("_", "-")] = None if value == field.default else value
    return values


def require_draws(options: ModelOptions) -> None:
    """Refuse several responses to a row that would all be the same.

    Raises:
        UsageError: More than one response is asked for, and none is drawn.
    """
    if options.n > 1 and not options.generation.sampling:
        raise UsageError("--n: greedy responses are all the same. Add --do-sample or --temperature.")


def refuse(backend: str, given: Mapping[str, object]) -> None:
    """Refuse options that a backend does not have: an option is honoured or an error.

    Args:
        backend: Name of the backend.
        given: Values by flag; None, False and () mean that the user did not give it.

    Raises:
        UsageError: At least one was given.

    Example:
        >>> refuse("echo", {"--dtype": None})
    """
    named = [flag for flag, value in given.items() if value not in (None, False, ())]
    if named:
        raise UsageError(f"backend {backend!r} has no {', '.join(named)}. Leave it out, or choose another backend.")
