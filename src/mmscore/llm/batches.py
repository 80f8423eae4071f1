"""Questions that go to a server in batches, and come back when the server has time for them.

Questions are gathered until a round is full, sent as files of requests, and their responses stored under the keys of
ordinary questions. The store also keeps which batches are under way, before each is paid for: whoever is killed goes
on with them. A file holds requests of one model alone, and no more than OpenAI's API takes.
"""

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import msgspec
from msgspec.structs import asdict, replace

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.lazy import LazyModule
from mmconvert.core.retries import may_pass
from mmscore.llm.batch_server import COMPLETED, ENDED, Batch, BatchServer, RefusedError
from mmscore.llm.budget import estimate_most_tokens
from mmscore.llm.client import CHAT, Chat, gather_in_order
from mmscore.llm.response_cache import Answer, AnswerStore
from mmscore.llm.responses import Fault, describe_refusal, read_responses

if TYPE_CHECKING:  # takes time to load, and who has no judge does without
    import asyncio
else:
    asyncio = LazyModule("asyncio")

MOST_REQUESTS = 50_000
MOST_BYTES = 200_000_000
"""Most requests and bytes of a file. Source: OpenAI's API reference, "Create batch"."""

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
"""Seconds between two looks at a batch; they double."""
_LARGEST_LINE = 4 * 1024 * 1024
_OK = 200
_OF_ALL = frozenset((401, 403, 404, 405, 410))
"""Status codes that say nothing of the one request."""


class PostponedError(Exception):
    """A question goes with the next batch; there is no response yet."""


class OpenBatch(msgspec.Struct, frozen=True):
    """A batch under way, as the store keeps it.

    Attributes:
        url: Address of the chat completions that it was sent to.
        file: What the server calls the file of requests.
        batch: What it calls the batch; None where nobody knows whether it was started.
        keys: Keys of the questions.
    """

    url: str
    file: str
    batch: str | None
    keys: tuple[str, ...]


@dataclass(slots=True)
class _Spool:
    """A file of requests of one model that is being written."""

    file: BinaryIO
    keys: list[str] = field(default_factory=list)
    size: int = 0


class Batches:
    """Gathers questions for a server's batch API, and fetches what became of them.

    Attributes:
        store: Where responses are kept.
        lost: Key -> why a question that was sent in this run has no response; asking again may help.
    """

    def __init__(self, chat: Chat, store: AnswerStore, announce: Callable[[str], None]) -> None:
        """Join a server and a store, both open.

        Args:
            chat: The server.
            store: Where responses are kept.
            announce: Called with a line whenever a batch is sent or gets on.
        """
        self.lost: dict[str, Answer] = {}
        self._chat = chat
        self.store = store
        self._announce = announce
        self._server = BatchServer(chat)
        self._open = list_open(store, chat.endpoint.url)
        self._under_way = {key for one in self._open for key in one.keys}
        self._files = contextlib.ExitStack()
        self._spools: dict[str, list[_Spool]] = {}
        self._wanted: dict[str, int] = {}

    def take(
        self, key: str, messages: Sequence[Mapping[str, Any]], generation: Mapping[str, Any], *, model: str
    ) -> Answer:
        """Take a question for the next round, unless a batch that is under way has it.

        Args:
            key: Its key in the store.
            messages: Turns as the chat completions take them.
            generation: Further fields of the request.
            model: Whom to ask.

        Returns:
            Why there is no response, where it was sent in this run in vain.

        Raises:
            PostponedError: It was taken.
            CapReachedError: It could pass a cap.
        """
        if key in self.lost:
            return self.lost[key]
        if key in self._wanted:
            raise PostponedError
        most = 0
        if key not in self._under_way:
            spending = self._chat.spending
            most = estimate_most_tokens(messages, generation) if spending.counts_tokens else 0
            spending.begin_now(most)
            self._write(key, {"model": model, "messages": list(messages), **generation})
        self._wanted[key] = most
        raise PostponedError

    def _write(self, key: str, body: Mapping[str, Any]) -> None:
        line = json.dumps({"custom_id": key, "method": "POST", "url": f"/v1{CHAT}", "body": body}, allow_nan=False)
        data = line.encode() + b"\n"
        spools = self._spools.setdefault(body["model"], [])
        if not spools or len(spools[-1].keys) >= MOST_REQUESTS or spools[-1].size + len(data) > MOST_BYTES:
            file = self._files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  (closed when it is sent)
            spools.append(_Spool(cast(BinaryIO, file)))
        spool = spools[-1]
        spool.file.write(data)
        spool.keys.append(key)
        spool.size += len(data)

    async def send(self) -> dict[str, Answer]:
        """Send what was taken, and wait for it and for what is under way of it.

        Returns:
            Key -> response, or why there is none, of every question that was taken; none where none was.

        Raises:
            UsageError: The server has no batch API.
            Error: It cannot be reached or refuses; batches that were started go on, and the next run fetches them.
        """
        spools = [spool for several in self._spools.values() for spool in several]
        self._spools = {}
        with self._files:
            for spool in spools:
                await self._start(spool)
        needed = [one for one in self._open if not self._wanted.keys().isdisjoint(one.keys)]
        fetched = await gather_in_order(self._finish(one) for one in needed)
        self._open = [one for one in self._open if one not in needed]
        self._under_way.difference_update(key for one in needed for key in one.keys)
        answers = {key: answer for answers in fetched for key, answer in answers.items()}
        self._count(answers)
        self._wanted.clear()
        return answers

    async def _start(self, spool: _Spool) -> None:
        file = await self._server.upload(spool.file, spool.size)
        # Kept before the batch is started: who is killed in between finds it by its file.
        intended = OpenBatch(self._chat.endpoint.url, file, None, tuple(spool.keys))
        self.store.keep_batch(file, asdict(intended))
        self._open.append(await self._create(intended))

    async def _create(self, one: OpenBatch) -> OpenBatch:
        """Start the batch of an uploaded file, unless it was started before."""
        try:
            batch = await self._server.create(one.file)
        except (UsageError, RefusedError):
            self.store.put((), ended=one.file)
            raise
        self._announce(
            f"batch {batch.id}: {len(one.keys):,} requests sent to {self._chat.shown}. "
            "If this run is stopped, the same command fetches the responses."
        )
        return self._keep_started(one, batch)

    def _keep_started(self, one: OpenBatch, batch: Batch) -> OpenBatch:
        started = replace(one, batch=batch.id)
        self.store.keep_batch(one.file, asdict(started))
        return started

    async def _finish(self, one: OpenBatch) -> dict[str, Answer]:
        """Wait for the end of a batch, and store what it brought."""
        if one.batch is None:
            found = await self._server.find(one.file)
            one = await self._create(one) if found is None else self._keep_started(one, found)
        ended = await self._wait(one.batch or "")
        answers: dict[str, Answer] = {}
        why = "the API server has no such batch any more"
        if ended is not None:
            for name in (ended.output_file, ended.error_file):
                if name is not None:
                    await self._read(name, set(one.keys), answers)
            why = f"the batch {ended.status}" if ended.status != COMPLETED else "the batch's output lacks it"
            why = f"{why}: {ended.reason}" if ended.reason else why
        lost = Fault(why, again=True).build_answer()
        answers |= {key: lost for key in one.keys if key not in answers}
        # What passes by itself is no state of the row: the next run asks.
        self.store.put([pair for pair in answers.items() if not pair[1].passing], ended=one.file)
        self.lost |= {key: answer for key, answer in answers.items() if answer.passing}
        return answers

    async def _wait(self, name: str) -> Batch | None:
        pause, told = _FIRST_PAUSE, ""
        while (batch := await self._server.look(name)) is not None and batch.status not in ENDED:
            state = f"{batch.status}, {batch.done:,} of {batch.total:,} requests done" if batch.total else batch.status
            if state != told:
                self._announce(f"batch {name}: {state}")
            told = state
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        if batch is not None:
            self._announce(f"batch {name}: {batch.status}")
        return batch

    async def _read(self, name: str, keys: set[str], answers: dict[str, Answer]) -> None:
        """Add the responses of a file; of several to one question the first counts, and nobody else's does."""
        with tempfile.TemporaryFile() as file:
            await self._server.download(name, cast(BinaryIO, file))
            file.seek(0)
            while line := file.readline(_LARGEST_LINE):
                found = read_line(line, self._chat.endpoint.key)
                if found is not None and found[0] in keys:
                    answers.setdefault(*found)

    def _count(self, answers: Mapping[str, Answer]) -> None:
        spending = self._chat.spending
        for key, most in self._wanted.items():
            if answers[key].text is not None:
                spending.count(answers[key], most)
            spending.end(most)


def list_open(store: AnswerStore, url: str) -> list[OpenBatch]:
    """List the batches under way at a server.

    Raises:
        Error: What the store keeps about one is damaged.
    """
    try:
        kept = [msgspec.convert(value, OpenBatch) for value in store.list_batches().values()]
    except msgspec.ValidationError as error:
        raise Error(f"{store.path}: what it keeps about a batch is damaged ({error}). Move it away.") from None
    return [one for one in kept if one.url == url]


def refuse_open(batches: Iterable[OpenBatch]) -> None:
    """Refuse to ask one by one what batches under way are asking.

    Raises:
        UsageError: There are such batches.
    """
    if keys := [key for one in batches for key in one.keys]:
        raise UsageError(
            f"{len(keys):,} requests are under way in a batch. Fetch their responses with --judge-batch, or name "
            "another file with --judge-cache to send them again."
        )


def read_line(line: bytes, key: str | None = None) -> tuple[str, Answer] | None:
    """Read a line of the files of a batch: the response to a request, or why there is none.

    Args:
        line: JSON.
        key: Secret that the server knows, to be masked.

    Returns:
        The request's own id, and what became of it; None for what is no such line.

    Example:
        >>> read_line(b'{"custom_id": "a", "response": {"status_code": 400, "body": {"message": "no"}}}')[1].error
        'no response: 400 no'
    """
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    name = said.get("custom_id") if isinstance(said, dict) else None
    if not isinstance(name, str):
        return None
    response = said.get("response")
    if not isinstance(response, dict):
        # Never answered: expired or cancelled, as a rule.
        reason = describe_refusal(json.dumps({"error": said.get("error")}).encode(), key)
        return name, Fault(reason or "the batch has no response", again=True).build_answer()
    status, body = response.get("status_code"), json.dumps(response.get("body")).encode()
    if status == _OK:
        found = read_responses(body, key)
        return name, found.build_answer() if isinstance(found, Fault) else replace(found[0], batch=True)
    again = not isinstance(status, int) or may_pass(status) or status in _OF_ALL
    return name, Fault(f"{status} {describe_refusal(body, key)}".strip(), again=again).build_answer()
