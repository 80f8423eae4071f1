"""Asks any OpenAI-compatible API server: vLLM, SGLang, `transformers serve`, a hosted one.

`--base-url` is the service's address, with or without `/chat/completions`, `--model` the name of a
model there; the key comes from the environment. As many rows as `--concurrency` says, or as serve best, are under way
at any time: the next is drawn when a response is in the store, however long its neighbours take. Several addresses
share the rows; which of them answered leaves no trace in keys and predictions.

Images travel as data URLs of their original bytes, kept addresses as they are. Responses are greedy
(temperature 0) unless drawing was asked for; `--do-sample` alone sends no temperature and leaves the
draw to the service. Several responses to a row (`--n`) are asked for at once, and again where fewer come;
a service that refuses the field `n` is asked for one after the other. What has no name in the protocol
(`--top-k`, `--num-beams`) is refused rather than ignored by the service; `--extra-body` sends whatever
a service knows besides.
"""

import asyncio
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import pybase64
from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, UsageError, show, take_first_line
from mmconvert.core.record import Image, Record, Turn, encode_json
from mmconvert.images.loader import MIME_TYPES, probe
from mmscore.infer.backend import Generation, ModelOptions, Service, check_options, require_draws
from mmscore.infer.images import shrink_image
from mmscore.infer.json_schema import read_response_format
from mmscore.infer.thinking import CLOSE, OPEN, split_thinking
from mmscore.llm.budget import read_price
from mmscore.llm.client import API_KEY, Chat, Endpoint, build_chat_url, read_key
from mmscore.llm.response_cache import OK, Answer, failed

_OPTIONS = (
    *("--base-url", "--api-key-env", "--concurrency", "--timeout", "--max-calls", "--extra-body"),
    "--json-schema",
    *("--max-total-tokens", "--price", "--max-cost"),
    *("--max-new-tokens", "--do-sample", "--temperature", "--top-p", "--stop", "--seed", "--continue-final-message"),
    *("--n", "--max-image-side", "--output-scores"),
)
_WINDOW = 64
"""Rows that are read ahead together where nobody said how many are under way at once."""
_TIMEOUT = 120.0
_TIMEOUTS_A_ROW = 5
_FIXED = frozenset(("model", "messages", "stream", "n"))
_ROLES = frozenset(("system", "user", "assistant"))


class OpenAIBackend:
    """A service that is asked row by row; see `mmscore.infer.backend.Streaming`."""

    prompt_only = True

    def __init__(self, options: ModelOptions) -> None:
        """Read the options; nothing is sent yet.

        Raises:
            UsageError: There is no address or key, or an option cannot be honoured.
        """
        check_options("openai", options, *_OPTIONS)
        require_draws(options)
        extra = _read_extra_body(options.service.extra_body)
        self._endpoint = _build_endpoint(options.model, options.service)
        scores = {"logprobs": True} if options.output_scores else {}
        schema = options.service.json_schema
        shape = {} if schema is None else {"response_format": read_response_format(schema)}
        if shape.keys() & extra.keys():
            raise UsageError("--extra-body: response_format is what --json-schema sets too. Give it once.")
        self._request = {**_build_request(options.generation, extra), **scores, **shape, **extra}
        self._generation = options.generation
        self._max_side = options.max_image_side
        self._output_scores = options.output_scores
        self._n = options.n
        self._takes_n: bool | None = True if options.n == 1 else None  # None until it was tried
        self.name = options.model
        # Neither the address, which changes with every start of a server, nor the patience changes a response.
        settings = (encode_json(dict(sorted({**extra, **shape}.items()))), self._max_side, self._output_scores)
        self.identity = ":".join(map(str, ("openai", options.model, *settings)))
        servers = 1 + len(self._endpoint.more_urls)
        self.batch_size = (self._endpoint.concurrency or _WINDOW) * servers
        self.proven = False
        self._is_probed = False

    def answer(self, records: Sequence[Record]) -> list[Answer]:
        """Answer records side by side."""
        answers = dict(pair for group in self.stream(iter(records)) for pair in group)
        return [answers[position] for position in range(len(records))]

    def stream(self, records: Iterator[Record]) -> Generator[list[tuple[int, Answer]]]:
        """Answer records as they are drawn, in the order in which responses come.

        Raises:
            Error: No further row would be answered either; raised when what was under way has its responses.
        """
        rows = _group_records(records, self._n)
        first = next(rows, None)
        if first is None:
            return
        rows = chain([first], rows)
        under_way: dict[asyncio.Task[list[Answer]], int] = {}
        ended: BaseException | None = None
        with Chat(self._endpoint) as chat:
            try:
                if not self._is_probed:
                    chat.run(chat.note_models())
                    self._is_probed = True
                while done := chat.run(self._collect_finished(chat, rows if ended is None else iter(()), under_way)):
                    if came := [
                        pair for task, start in done if not task.exception() for pair in _place_answers(task, start)
                    ]:
                        yield came
                    ended = ended or next(filter(None, (task.exception() for task, _ in done)), None)
            finally:
                chat.run(_cancel_tasks(under_way))
        if ended is not None:
            raise ended

    async def _collect_finished(
        self, chat: Chat, rows: Iterator[tuple[int, list[Record]]], under_way: dict[asyncio.Task[list[Answer]], int]
    ) -> list[tuple[asyncio.Task[list[Answer]], int]]:
        """Fill the free places and wait for whoever is done first; nothing when nobody is under way."""
        places = 1 if self._takes_n is None else chat.most_at_once
        for start, responses in islice(rows, max(0, places - len(under_way))):
            under_way[asyncio.ensure_future(self._request_responses(chat, responses))] = start
        chat.replied = chat.replied or self.proven
        if not under_way:
            return []
        done, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
        return [(task, under_way.pop(task)) for task in done]

    async def _request_responses(self, chat: Chat, replies: Sequence[Record]) -> list[Answer]:
        """Ask for the responses to one row, together where the service takes that."""
        try:
            messages = _build_messages(replies[0], self._max_side)
        except RowError as error:
            return [failed(f"{error.field}: {error.message}")] * len(replies)
        answers: list[Answer] = []
        alone = self._takes_n is False
        while left := len(replies) - len(answers):
            several = {} if alone or left == 1 else {"n": left}
            fields = self._request | _build_row_fields(replies[len(answers)], self._generation) | several
            came = await chat.ask_several(messages, fields)
            refused = came[0].status != OK
            if refused and several and self._takes_n is None:
                alone = True  # it may be the field that is refused
                continue
            if self._output_scores and came[0].text and came[0].token_logprobs is None:
                raise Error("the API server returns no log-probabilities. Leave --output-scores out.")
            if refused:
                came *= left
            elif left > 1 and self._takes_n is None:
                self._takes_n = not alone
            answers += [_read(answer, self._generation.stop) for answer in came[:left]]
        return answers


def _group_records(records: Iterator[Record], n: int) -> Iterator[tuple[int, list[Record]]]:
    """Gather what is asked of one row, `n` responses or those of them that are missing, with the first one's number."""
    responses: list[Record] = []
    start = 0
    for number, record in enumerate(records):
        if responses and record.id != responses[0].id:
            yield start, responses
            responses = []
        start = start if responses else number
        responses = [*responses, record]
        if n == 1 or record.variant == n - 1:
            yield start, responses
            responses = []
    if responses:
        yield start, responses


def _place_answers(task: asyncio.Task[list[Answer]], start: int) -> Iterator[tuple[int, Answer]]:
    return enumerate(task.result(), start=start)


async def _cancel_tasks(under_way: Mapping[asyncio.Task[list[Answer]], int]) -> None:
    """Let go of questions whose responses nobody waits for any more."""
    for task in under_way:
        task.cancel()
    await asyncio.gather(*under_way, return_exceptions=True)


def _build_endpoint(model: str, service: Service) -> Endpoint:
    timeout = service.timeout or _TIMEOUT
    first, *more = dict.fromkeys(map(build_chat_url, service.base_url or (None,)))
    return Endpoint(
        first,
        model,
        read_key(service.api_key_env),
        service.api_key_env or API_KEY,
        concurrency=service.concurrency if isinstance(service.concurrency, int) else None,
        max_calls=service.max_calls,
        max_total_tokens=service.max_total_tokens,
        max_cost=service.max_cost,
        price=None if service.price is None else read_price(service.price, model),
        # A response comes as a whole: there is nothing but silence before it.
        silence_seconds=timeout,
        total_seconds=_TIMEOUTS_A_ROW * timeout,
        more_urls=tuple(more),
    )


def _read_extra_body(text: str | None) -> Mapping[str, Any]:
    try:
        fields = json.loads(text or "{}", parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--extra-body: is not JSON ({take_first_line(error)}) {show(text)}.") from None
    if not isinstance(fields, dict):
        raise UsageError(f'--extra-body: expected an object such as {{"top_k": 20}} {show(text)}.')
    if fixed := _FIXED & fields.keys():
        raise UsageError(f"--extra-body: {', '.join(sorted(fixed))} cannot be set here.")
    return fields


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _build_request(generation: Generation, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Name the generation options as the protocol does, and refuse those that `extra` sets too."""
    given = {
        "max_tokens": generation.max_new_tokens,
        "temperature": generation.temperature,
        "top_p": generation.top_p,
        "stop": list(generation.stop) or None,
        "seed": generation.seed,
    }
    request = {name: value for name, value in given.items() if value is not None}
    if twice := request.keys() & extra.keys():
        raise UsageError(f"--extra-body: {', '.join(sorted(twice))} is an option of its own too. Give it once.")
    return request if generation.sampling else {"temperature": 0, **request}


def _build_row_fields(record: Record, generation: Generation) -> dict[str, Any]:
    """Give the fields of the request that hang on the row."""
    own: dict[str, Any] = {}
    if generation.seed is not None and record.variant:
        # Copies of a row are drawn again, or they would all be the same.
        own["seed"] = generation.seed + record.variant
    if record.messages[-1].role == "assistant":
        own |= {"continue_final_message": True, "add_generation_prompt": False}
    return own


def _build_messages(record: Record, max_side: int | None) -> list[dict[str, Any]]:
    """Write the turns as the protocol does.

    Raises:
        RowError: A turn has a role that needs more than a text, or an image cannot be sent.
    """
    shown = iter(enumerate(record.images, start=1))
    return [_build_message(number, turn, shown, max_side) for number, turn in enumerate(record.messages, start=1)]


def _build_message(number: int, turn: Turn, shown: Iterator[tuple[int, Image]], max_side: int | None) -> dict[str, Any]:
    if turn.role not in _ROLES:
        raise RowError("media.unsupported", "messages", f"turn {number} is of the role {turn.role!r}.")
    parts = [
        _build_image(*next(shown), max_side) if part.type == "image" else {"type": "text", "text": part.text}
        for part in turn.content
    ]
    if len(parts) == 1 and turn.content[0].type == "text":
        # The plain form is the one that every service and every template knows.
        return {"role": turn.role, "content": turn.content[0].text}
    return {"role": turn.role, "content": parts}


def _build_image(number: int, image: Image, max_side: int | None) -> dict[str, Any]:
    if image.bytes is not None:
        data = image.bytes if max_side is None else shrink_image(image.bytes, number, max_side)
        try:
            kind, _, _ = probe(data)
        except RowError as error:
            raise RowError(error.code, "images", f"image {number}: {error.message}") from None
        url = f"data:{MIME_TYPES[kind]};base64,{pybase64.b64encode(data).decode()}"
    elif image.url:
        url = image.url
    else:
        raise RowError("image.missing", "images", f"image {number} has neither bytes nor an address.")
    detail = {} if image.detail is None else {"detail": image.detail}
    return {"type": "image_url", "image_url": {"url": url, **detail}}


def _read(answer: Answer, stop: Sequence[str]) -> Answer:
    """Cut stop texts, which some services leave in, and a reasoning block that the service left in the response."""
    if answer.text is None:
        return answer
    ends = [position for text in stop if (position := answer.text.find(text)) >= 0]
    text = answer.text[: min(ends, default=None)]
    if answer.thinking is None:
        # Many templates open the block in the prompt, so that the response holds its end only.
        opened = CLOSE in text and OPEN not in text.partition(CLOSE)[0]
        thinking, text = split_thinking(text, opened=opened)
        answer = replace(answer, thinking=thinking)
    return replace(answer, text=text, finish_reason="stop" if ends else answer.finish_reason)


BACKEND = OpenAIBackend
