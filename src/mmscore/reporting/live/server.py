"""Serve the live view: on this machine alone, behind a token, reading only what `runs` found below the folder."""

import hmac
import http.server
import secrets
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from mmconvert.core.errors import Error, UsageError, build_missing_path_error
from mmconvert.storage.temporary import build_temporary_prefix
from mmconvert.viewer.encoding import encode_script_json
from mmscore.reporting.html.page import write_report
from mmscore.reporting.live.page import build_live_page
from mmscore.reporting.live.runs import Folder
from mmscore.scoring.evaluate import ScoreOptions, score_results

LOOPBACK = "127.0.0.1"
_MAX_COMPARED = 2
_KEPT_PAGES = 8
"""Pages of reports that are kept ready."""
_SECONDS = 30
"""After which a connection that says nothing is closed."""
_COMMON_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
# The page itself names its scripts by their hashes; this adds what no page can say of itself.
_OF_REPORTS = "connect-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


class ViewOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where the live view is served."""

    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0
    """Port of 127.0.0.1; 0 takes a free one."""


class LiveView:
    """A live view that is served by a thread of this process until `close`, or until the context ends.

    Attributes:
        url: Address of the page, with its token.
    """

    def __init__(self, folder: str | Path, options: ViewOptions | None = None) -> None:
        """Begin to serve.

        Args:
            folder: Folder whose runs are shown, those of folders below it too.
            options: Where.

        Raises:
            UsageError: There is no such folder, or the port is taken.
        """
        place = Path(folder)
        if not place.is_dir():
            raise build_missing_path_error(place) if not place.exists() else UsageError(f"{folder}: is not a folder.")
        port = (options or ViewOptions()).port
        self._token = secrets.token_urlsafe(24)
        self._pages = _ReportPages(Folder(place.resolve()))
        try:
            self._server = _Server((LOOPBACK, port), _Handler)
        except OSError as error:
            reason = error.strerror or error
            raise UsageError(
                f"--port {port}: cannot be used ({reason}). Fix: another port, or 0 for a free one."
            ) from None
        self._server.token, self._server.pages = self._token, self._pages
        self.url = f"http://{LOOPBACK}:{self._server.server_address[1]}/?token={self._token}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="live-view", daemon=True
        )
        self._thread.start()

    def __enter__(self) -> "LiveView":
        """Give the view."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """End the view."""
        self.close()

    def wait(self) -> None:
        """Wait until the view is closed, or until Ctrl-C."""
        while self._thread.is_alive():
            self._thread.join(timeout=1)

    def close(self) -> None:
        """Stop serving and remove temporary files."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._pages.close()


class _ReportPages:
    """Makes the report page of runs when it is asked for, one at a time, and keeps the last few."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._made: OrderedDict[tuple[object, ...], bytes] = OrderedDict()
        self._temporary = tempfile.TemporaryDirectory(prefix=build_temporary_prefix())

    def look(self) -> dict[str, Any]:
        with self._looking:
            return self.folder.look()

    def build(self, keys: Sequence[str]) -> bytes:
        """Give the page of one run, or of two side by side.

        Raises:
            Error: A run is unknown, or cannot be scored.
        """
        if not self.folder.runs:
            self.look()
        files = [self.folder.find_predictions(key) for key in keys]
        if not 1 <= len(files) <= _MAX_COMPARED or None in files:
            raise Error("There is no such run with predictions. Go back, and choose one of the list.")
        paths = [file for file in files if file is not None]
        with self._lock:
            stamps = [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in paths]
            stamp = (*stamps, *(tuple(self.folder.list_recipes(key)) for key in keys))
            if stamp not in self._made:
                self._made[stamp] = self._write(paths, keys)
            self._made.move_to_end(stamp)
            while len(self._made) > _KEPT_PAGES:
                self._made.popitem(last=False)
            return self._made[stamp]

    def _write(self, paths: Sequence[Path], keys: Sequence[str]) -> bytes:
        named = [
            name for name in self.folder.list_recipes(keys[0]) if all(name in self.folder.list_recipes(k) for k in keys)
        ]
        try:
            results = list(score_results(paths, named, ScoreOptions()))
        except UsageError:
            # A recipe that asks for a judge or options gives way to the one that fits the file.
            if not named:
                raise
            results = list(score_results(paths, [], ScoreOptions()))
        target = Path(self._temporary.name, "report.html")
        write_report(target, results)
        return target.read_bytes()

    def close(self) -> None:
        self._temporary.cleanup()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    token: str
    pages: _ReportPages


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server
    server_version = "mmscore"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = _SECONDS

    def do_GET(self) -> None:
        """Answer a request for the page, for the state, or for the report of runs; anything else is refused."""
        address = urlsplit(self.path)
        given = parse_qs(address.query, max_num_fields=8)
        if not self._is_own_host():
            self._send_text(403, "This view is for its own address on this machine alone.")
        elif not hmac.compare_digest(given.get("token", [""])[0].encode(), self.server.token.encode()):
            self._send_text(403, "The token is missing or wrong. Open the address that `mmscore view` printed.")
        elif address.path == "/":
            page, policy = build_live_page()
            self._send(200, "text/html; charset=utf-8", page, policy)
        elif address.path == "/state.json":
            self._send(200, "application/json", encode_script_json(self.server.pages.look()).encode(), _NOTHING)
        elif address.path == "/report":
            self._send_report(given.get("run", []))
        else:
            self._send_text(404, "There is nothing at this address.")

    do_HEAD = do_GET  # noqa: N815 - the library's name

    def _send_report(self, keys: Sequence[str]) -> None:
        try:
            page = self.server.pages.build(keys)
        except (Error, OSError) as error:
            self._send_text(409, f"This report cannot be made. {error}")
            return
        self._send(200, "text/html; charset=utf-8", page, _OF_REPORTS)

    def _is_own_host(self) -> bool:
        """Refuse other names for this machine: a page elsewhere could have its own name lead here."""
        port = self.server.server_address[1]
        return self.headers.get("Host", "") in (f"{LOOPBACK}:{port}", f"localhost:{port}")

    def _send_text(self, status: int, text: str) -> None:
        self._send(status, "text/plain; charset=utf-8", text.encode(errors="backslashreplace"), _NOTHING)

    def _send(self, status: int, kind: str, body: bytes, policy: str) -> None:
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(body)), "Content-Security-Policy": policy}
        for name, value in {**headers, **_COMMON_HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the address of each request holds the token."""
