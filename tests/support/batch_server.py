"""OpenAI's batch API on the loopback interface, beside chat completions, with the ways in which a batch goes wrong."""

import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.chat_server import Said, refused

UNDER_WAY = ("validating", "in_progress", "finalizing")
Say = Callable[[dict[str, Any]], Said]


@dataclass
class BatchState:
    """What tests see of the server, and what it shall do.

    A batch is `validating`, then `in_progress` and `finalizing`, one look each, unless `hold` keeps it there.
    """

    url: str
    say: Say
    end: str = "completed"
    """How batches end."""
    keep: Callable[[str], bool] = lambda prompt: True
    """Whether a request is executed before the end; the rest expires."""
    forget: Callable[[str], bool] = lambda prompt: False
    """Whether a request is in no output at all."""
    twist: Callable[[list[bytes]], list[bytes]] = lambda lines: lines
    """What the lines of the output become."""
    no_batches: int = 0
    """Status code in the place of a batch API."""
    answer_to_create: list[Said] = field(default_factory=list)
    """Said once each in the place of the response to a batch that is created all the same."""
    hold: threading.Event = field(default_factory=threading.Event)
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    looks: dict[str, int] = field(default_factory=dict)
    seen: threading.Event = field(default_factory=threading.Event)
    """Set at the first look at a batch."""
    single: list[dict[str, Any]] = field(default_factory=list)
    """Requests that came one by one."""
    lock: threading.RLock = field(default_factory=threading.RLock)

    def requests(self) -> list[list[dict[str, Any]]]:
        """Give the requests of each batch."""
        return [self._lines(batch) for batch in self.batches.values()]

    def prompts(self) -> list[str]:
        return [one["body"]["messages"][-1]["content"] for requests in self.requests() for one in requests]

    def _lines(self, batch: dict[str, Any]) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]

    def upload(self, content_type: str, data: bytes) -> Said:
        border = re.fullmatch(r"multipart/form-data; boundary=(\w+)", content_type)
        assert border is not None
        parts = [part.partition(b"\r\n\r\n") for part in data.split(b"--" + border[1].encode())[1:-1]]
        fields = {re.search(rb'name="(\w+)"', head)[1]: body.removesuffix(b"\r\n") for head, _, body in parts}
        assert fields[b"purpose"] == b"batch"
        name = f"file-{len(self.files)}"
        self.files[name] = fields[b"file"]
        return _json({"id": name, "object": "file", "purpose": "batch", "bytes": len(fields[b"file"])})

    def create(self, wish: dict[str, Any]) -> Said:
        assert wish["endpoint"] == "/v1/chat/completions"
        assert wish["completion_window"] == "24h"
        name = f"batch_{len(self.batches)}"
        self.batches[name] = {"id": name, "object": "batch", "input_file_id": wish["input_file_id"]}
        self.batches[name] |= {"status": UNDER_WAY[0], "output_file_id": None, "error_file_id": None}
        return self.answer_to_create.pop(0) if self.answer_to_create else _json(self.batches[name])

    def look(self, name: str) -> Said:
        if name not in self.batches:
            return refused(404, "no such batch")
        self.seen.set()
        batch = self.batches[name]
        looks = self.looks[name] = self.looks.get(name, -1) + 1
        if not self.hold.is_set():
            batch["status"] = UNDER_WAY[min(looks, 1)]
        elif looks < len(UNDER_WAY):
            batch["status"] = UNDER_WAY[looks]
        elif batch["status"] in UNDER_WAY:
            self._end(batch)
        return _json(batch)

    def _end(self, batch: dict[str, Any]) -> None:
        batch["status"] = self.end
        if self.end == "failed":
            batch["errors"] = {"object": "list", "data": [{"code": "model_not_found", "message": "no such model"}]}
            return
        good, bad = [], []
        for one in self._lines(batch):
            prompt, line = one["body"]["messages"][-1]["content"], {"id": "batch_req_1", "custom_id": one["custom_id"]}
            if self.forget(prompt):
                continue
            if not self.keep(prompt):
                error = {"code": f"batch_{self.end}", "message": f"This request was not executed: {self.end}."}
                bad.append({**line, "response": None, "error": error})
                continue
            answer = self.say(one["body"])
            response = {"status_code": answer.status, "request_id": "1", "body": json.loads(answer.body)}
            (good if answer.status == 200 else bad).append({**line, "response": response, "error": None})
        batch["request_counts"] = {"total": len(good) + len(bad), "completed": len(good), "failed": len(bad)}
        for kind, lines in (("output", self.twist([json.dumps(one).encode() for one in good])), ("error", bad)):
            if lines:
                batch[f"{kind}_file_id"] = name = f"file-{kind}-{batch['id']}"
                self.files[name] = b"\n".join(
                    one if isinstance(one, bytes) else json.dumps(one).encode() for one in lines
                )


def _json(value: Any) -> Said:
    return Said(json.dumps(value).encode())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    state: BatchState

    def do_GET(self) -> None:
        state, place = self.state, self.path.partition("?")[0].removeprefix("/v1/")
        with state.lock:
            if place == "models":
                self._send(_json({"data": [{"id": "loopback"}]}))
            elif place == "batches":
                self._send(_json({"object": "list", "data": [*state.batches.values()][::-1]}))
            elif found := re.fullmatch(r"files/([\w-]+)/content", place):
                self._send(Said(state.files[found[1]]))
            else:
                self._send(state.look(place.removeprefix("batches/")))

    def do_POST(self) -> None:
        state, place = self.state, self.path.removeprefix("/v1/")
        data = self.rfile.read(int(self.headers["Content-Length"]))
        with state.lock:
            if place == "chat/completions":
                state.single.append(json.loads(data))
                self._send(state.say(json.loads(data)))
            elif state.no_batches:
                self._send(refused(state.no_batches, "Not Found"))
            elif place == "files":
                self._send(state.upload(self.headers["Content-Type"], data))
            else:
                self._send(state.create(json.loads(data)))

    def _send(self, answer: Said) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Stay silent: clients that are killed are part of the tests."""


@contextlib.contextmanager
def batch_server(say: Say, **behaviour: Any) -> Iterator[BatchState]:
    """Serve `say(request)` one by one and in batches; batches end after a few looks unless `hold` is cleared."""
    server = _Server(("127.0.0.1", 0), _Handler)
    state = BatchState(f"http://127.0.0.1:{server.server_address[1]}/v1", say, **behaviour)
    state.hold.set()
    server.RequestHandlerClass = type("Handler", (_Handler,), {"state": state})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
