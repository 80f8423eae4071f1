"""The batch API of an OpenAI-compatible server: files of requests go up, and files of responses come down.

`POST /files` takes a JSONL file of requests, `POST /batches` starts it, `GET /batches/ID` says how far it is, and
`GET /files/ID/content` gives the responses. Source: OpenAI's API reference, Files and Batch.
"""

import json
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from mmconvert.core.errors import Error, UsageError, show
from mmconvert.core.lazy import LazyModule
from mmconvert.core.retries import RetryPolicy, may_pass, parse_retry_after
from mmscore.llm.client import CHAT, REFUSED_KEY, UNKNOWN, Chat
from mmscore.llm.responses import describe_refusal, hide_key

if TYPE_CHECKING:  # takes time to load, and who has no judge does without
    import asyncio

    import httpx2
else:
    asyncio = LazyModule("asyncio")

COMPLETED = "completed"
ENDED = (COMPLETED, "failed", "expired", "cancelled")
"""Statuses of a batch that will not change."""
_UNDER_WAY = ("validating", "in_progress", "finalizing", "cancelling")

WINDOW = "24h"
"""The only completion window that OpenAI's API has."""
_NOT_IMPLEMENTED = 501
_CHUNK = 1 << 18
_LONGEST_PAUSE = 60.0
_LISTED = 100
_MISSING = 404
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:=-]{0,255}")
"""What stands in an address may be no path."""


class RefusedError(Error):
    """The server takes no such request; sent again it would say the same."""


class Batch(msgspec.Struct, frozen=True):
    """A batch as the server describes it.

    Attributes:
        id: What the server calls it.
        status: One of `ENDED`, or how far it is.
        output_file: File of the responses; None while there is none.
        error_file: File of the requests that failed; None where there is none.
        done: Requests that have a response or failed.
        total: Requests in all, 0 while the server does not say.
        reason: Why the batch as a whole failed; "" where it did not.
    """

    id: str
    status: str
    output_file: str | None
    error_file: str | None
    done: int
    total: int
    reason: str


class BatchServer:
    """The batch API beside the chat completions of an endpoint."""

    def __init__(self, chat: Chat) -> None:
        """Take the endpoint; nothing is sent."""
        import httpx2

        self._chat = chat
        self._url = httpx2.URL(chat.endpoint.url)
        self._reached = False

    def _build_url(self, *parts: str, **query: int) -> str:
        path = "/".join([self._url.path.removesuffix(CHAT), *parts])
        return str(self._url.copy_with(path=path).copy_merge_params(query))

    async def upload(self, file: BinaryIO, size: int) -> str:
        """Send a file of requests.

        Args:
            file: JSON Lines, read from the beginning as often as it takes.
            size: Its bytes.

        Returns:
            What the server calls the file.

        Raises:
            UsageError: The server has no batch API.
            Error: It cannot be reached, or refuses the file.
        """
        border = secrets.token_hex(16)
        head = (
            f'--{border}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--{border}\r\n'
            'Content-Disposition: form-data; name="file"; filename="requests.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        ).encode()
        tail = f"\r\n--{border}--\r\n".encode()

        async def form() -> AsyncIterator[bytes]:
            yield head
            file.seek(0)
            while piece := file.read(_CHUNK):
                yield piece
            yield tail

        headers = {
            "Content-Type": f"multipart/form-data; boundary={border}",
            "Content-Length": str(len(head) + size + len(tail)),
        }
        said = await self._call("POST", self._build_url("files"), form, headers)
        return self._read_name(said, "id", "file")

    async def create(self, file: str) -> Batch:
        """Start a batch of an uploaded file, once: where it is unknown whether it was started, the server is asked.

        Raises:
            UsageError: The server has no batch API.
            RefusedError: It takes no such file.
            Error: It cannot be reached.
        """
        wish = {"input_file_id": file, "endpoint": f"/v1{CHAT}", "completion_window": WINDOW}
        content = json.dumps(wish).encode()
        url = self._build_url("batches")
        return self._read_batch(await self._call("POST", url, lambda: content, instead=lambda: self._find(file)))

    async def find(self, file: str) -> Batch | None:
        """Find the batch of an uploaded file among the newest; None where there is none, or the server lists none."""
        found = await self._find(file)
        return None if found is None else self._read_batch(found)

    async def _find(self, file: str) -> Any:
        said = await self._call("GET", self._build_url("batches", limit=_LISTED), lacking=True)
        listed = said.get("data") if isinstance(said, dict) else None
        same = (one for one in listed or () if isinstance(one, dict) and one.get("input_file_id") == file)
        return next(same, None)

    async def look(self, name: str) -> Batch | None:
        """Ask how far a batch is; None for one that the server does not have.

        Raises:
            Error: It cannot be reached, or answers with something else.
        """
        said = await self._call("GET", self._build_url("batches", name), lacking=True)
        return None if said is None else self._read_batch(said)

    async def download(self, file: str, into: BinaryIO) -> None:
        """Fetch a file; errors as `look`."""
        await self._call("GET", self._build_url("files", file, "content"), into=into)

    async def _call(
        self,
        method: str,
        url: str,
        build_content: "Callable[[], bytes | AsyncIterator[bytes] | None]" = lambda: None,
        headers: Mapping[str, str] | None = None,
        *,
        into: BinaryIO | None = None,
        lacking: bool = False,
        instead: Callable[[], Awaitable[Any]] | None = None,
    ) -> Any:
        """Send a request in several tries; give the JSON values that come back, None for a 404 where `lacking`.

        Before each further try `instead` says what the one before may have brought about.
        """
        import httpx2

        endpoint, reason = self._chat.endpoint, ""
        policy = RetryPolicy(endpoint.tries, endpoint.first_wait, _LONGEST_PAUSE)
        response: httpx2.Response | None = None
        for number in range(policy.tries):
            if number:
                pause = None if response is None else parse_retry_after(response.headers.get("retry-after", ""))
                wait = policy.compute_wait(number) if pause is None else min(pause, policy.longest_pause)
                await asyncio.sleep(wait)
                if instead is not None and (found := await instead()) is not None:
                    return found
            if into is not None:
                into.seek(0)
                into.truncate()
            try:
                response, data = await self._chat.send(method, url, build_content(), headers=headers, into=into)
                self._reached = True
            except httpx2.HTTPError as error:
                if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout) and not self._reached:
                    raise self._chat.build_unreachable(error) from None
                response, reason = None, hide_key(f"{type(error).__name__}: {error}", endpoint.key)[:200]
                continue
            if data is None:
                raise Error(f"{self._chat.shown}: a response of the batch API is too large. Send fewer requests.")
            if response.is_success:
                return None if into is not None else self._read_json(data)
            if lacking and response.status_code == _MISSING:
                return None
            reason = f"{response.status_code} {describe_refusal(data, endpoint.key)}".strip()
            if not may_pass(response.status_code):
                break
        raise self._build_refusal(method, response, reason)

    def _build_refusal(self, method: str, response: "httpx2.Response | None", reason: str) -> Error:
        shown, status = self._chat.shown, 0 if response is None else response.status_code
        if status in REFUSED_KEY:
            name = self._chat.endpoint.key_name
            return Error(f"{shown}: the API server rejects the key ({reason}). Export the right one as {name}.")
        if method == "POST" and (status in UNKNOWN or status == _NOT_IMPLEMENTED):
            return UsageError(f"{shown}: the API server has no batch API ({reason}). Leave --judge-batch out.")
        message = (
            f"{shown}: the batch API cannot be used ({reason}). "
            "Fix the problem and run the same command again; what was sent is fetched then."
        )
        return RefusedError(message) if status and not may_pass(status) else Error(message)

    def _read_json(self, data: bytes) -> Any:
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise self._build_strange(data.decode("utf-8", "replace")) from None

    def _build_strange(self, said: Any) -> Error:
        text = hide_key(str(said), self._chat.endpoint.key)
        return Error(f"{self._chat.shown}: answers with no batch {show(text)}. Leave --judge-batch out.")

    def _read_name(self, said: Any, field: str, what: str) -> str:
        name = said.get(field) if isinstance(said, dict) else None
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise self._build_strange(f"{what} without {field}")
        return name

    def _read_batch(self, said: Any) -> Batch:
        name = self._read_name(said, "id", "batch")
        # Some servers write it in capitals.
        status = self._read_name(said, "status", "batch").lower()
        if status not in (*ENDED, *_UNDER_WAY):
            raise self._build_strange(f"status {status}")
        files = [said.get(field) for field in ("output_file_id", "error_file_id")]
        output, errors = (one if isinstance(one, str) and _NAME.fullmatch(one) else None for one in files)
        counts = said.get("request_counts")
        numbers = [
            counts.get(field) if isinstance(counts, dict) else None for field in ("completed", "failed", "total")
        ]
        completed, failed, total = (one if type(one) is int and one >= 0 else 0 for one in numbers)
        reason = describe_errors(said.get("errors"), self._chat.endpoint.key)
        return Batch(name, status, output, errors, completed + failed, total, reason)


def describe_errors(errors: Any, key: str | None = None) -> str:
    """Give what a server says about a batch that failed, one line, without the key.

    Example:
        >>> describe_errors({"data": [{"code": "invalid", "message": "no such model", "line": 1}]})
        'no such model'
    """
    listed = errors.get("data") if isinstance(errors, dict) else None
    first = listed[0] if isinstance(listed, list) and listed else None
    return "" if first is None else describe_refusal(json.dumps({"error": first}).encode(), key)
