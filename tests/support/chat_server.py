"""A chat completions service on the loopback interface that says what a test's function says."""

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Said:
    """One answer of the service: a body, or what happens in its place."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: bool = False
    """Reset the connection after the body so far; the head alone when there is none."""
    silent: float = 0.0
    """Seconds of silence before the head."""
    trickle: float = 0.0
    """Seconds between two bytes of the body."""
    headless: bool = False
    """Reset the connection before a single byte."""
    pause: float = 0.0
    """Seconds of silence between head and body."""
    after: bytes = b""
    """What is sent behind the body, as if it was the reply to another request."""


def completion(
    message: dict[str, Any], finish_reason: str, prompt_tokens: int, completion_tokens: int, status: int = 200
) -> Said:
    """Say one choice whose message has these fields."""
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "loopback",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}],
        "usage": {**usage, "total_tokens": sum(usage.values())},
    }
    return Said(json.dumps(body).encode(), status)


def said(text: str | None, finish_reason: str = "stop", *, status: int = 200, **headers: str) -> Said:
    """Say one choice, with as many tokens as words."""
    answer = completion({"content": text}, finish_reason, 7, len((text or "").split()), status)
    return replace(answer, headers=headers)


def refused(status: int, message: str = "no", **headers: str) -> Said:
    return Said(json.dumps({"error": {"message": message}}).encode(), status, headers)


@dataclass
class ChatServer:
    """What tests see of it: its address, and the requests that came, with their headers."""

    url: str
    asked: list[dict[str, Any]] = field(default_factory=list)
    heads: list[dict[str, str]] = field(default_factory=list)
    ports: set[int] = field(default_factory=set)
    """Where the connections came from, one port a connection."""
    most_at_once: int = 0
    at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def prompts(self) -> list[str]:
        return [request["messages"][-1]["content"] for request in self.asked]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_state: ChatServer
    say: Callable[[dict[str, Any]], Said]
    models: list[str]

    def do_GET(self) -> None:
        listed = {"object": "list", "data": [{"id": name} for name in self.models]}
        self._send(Said(json.dumps(listed).encode()) if self.path.endswith("/models") else refused(404))

    def do_POST(self) -> None:
        state = self.server_state
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with state.lock:
            state.asked.append(request)
            state.heads.append({**dict(self.headers), "path": self.path})
            state.ports.add(self.client_address[1])
            state.at_once += 1
            state.most_at_once = max(state.most_at_once, state.at_once)
        try:
            answer = type(self).say(request)
            time.sleep(answer.silent)
        finally:
            with state.lock:
                state.at_once -= 1
        with contextlib.suppress(OSError):
            self._send(answer)

    def _send(self, answer: Said) -> None:
        if answer.headless:
            self._reset()
            return
        length = len(answer.body) + (1 if answer.hang_up else 0)
        self.send_response(answer.status)
        for name, value in ({"Content-Length": str(length)} | answer.headers).items():
            self.send_header(name, value)
        self.end_headers()
        if answer.pause:
            self.wfile.flush()
            time.sleep(answer.pause)
        # Both in one piece: of two, the second could be late and meet the next question.
        body = answer.body + answer.after
        for piece in [body] if not answer.trickle else [bytes([byte]) for byte in body]:
            self.wfile.write(piece)
            time.sleep(answer.trickle)
        if answer.hang_up:
            self.wfile.flush()
            self._reset()

    def _reset(self) -> None:
        # No lingering: what is not read yet is lost, and the other side sees a reset.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Stay silent."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Stay silent: clients that hang up are part of the tests."""


@contextlib.contextmanager
def chat_server(say: Callable[[dict[str, Any]], Said], models: list[str] | None = None) -> Iterator[ChatServer]:
    """Serve `say(request)` at `<url>/chat/completions`, every call in a thread of its own."""
    server = _Server(("127.0.0.1", 0), _Handler)
    state = ChatServer(f"http://127.0.0.1:{server.server_address[1]}/v1")
    attributes = {"server_state": state, "say": staticmethod(say), "models": models or ["loopback"]}
    server.RequestHandlerClass = type("Handler", (_Handler,), attributes)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def find_closed_port() -> int:
    """Give a port of the loopback interface on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def script(*answers: Said) -> Callable[[dict[str, Any]], Said]:
    """Say the answers one after the other; the last for ever."""
    lock, rest = threading.Lock(), list(answers)

    def say(_: dict[str, Any]) -> Said:
        with lock:
            return rest.pop(0) if len(rest) > 1 else rest[0]

    return say
