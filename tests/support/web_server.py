"""A web server on the loopback interface, as badly behaved as a test asks for."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Handler = Callable[[socket.socket, bytes], None]


@dataclass
class WebServer:
    """What tests see of it: its port, and the heads of the requests it got."""

    port: int
    requests: list[bytes] = field(default_factory=list)


def reply(body: bytes = b"", status: str = "200 OK", *headers: str, length: int | None = None) -> Handler:
    """Answer with a body; `length` lies about how long it is."""
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers]
    return raw("\r\n".join([*head, "", ""]).encode() + body)


def redirect(to: str, status: str = "302 Found") -> Handler:
    return reply(b"", status, f"Location: {to}")


def raw(data: bytes) -> Handler:
    """Send exactly these bytes."""
    return lambda channel, _: channel.sendall(data)


@contextlib.contextmanager
def web_server(answers: dict[str, Handler], trust: ssl.SSLContext | None = None) -> Iterator[WebServer]:
    """Serve handlers by path; any other path is 404.

    Args:
        answers: Path -> what to do with the connection once the request's head was read.
        trust: Server side of TLS, None for plain http.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = WebServer(listener.getsockname()[1])

        def serve(channel: socket.socket) -> None:
            with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
                channel = stack.enter_context(channel)
                channel.settimeout(10)
                if trust is not None:
                    channel = stack.enter_context(trust.wrap_socket(channel, server_side=True))
                head = b""
                while b"\r\n\r\n" not in head:
                    piece = channel.recv(65536)
                    if not piece:
                        return
                    head += piece
                server.requests.append(head)
                path = head.split(b" ")[1].decode()
                answers.get(path, reply(b"", "404 Not Found"))(channel, head)

        def listen() -> None:
            with contextlib.suppress(OSError):
                while True:
                    channel, _ = listener.accept()
                    threading.Thread(target=serve, args=(channel,), daemon=True).start()

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)
