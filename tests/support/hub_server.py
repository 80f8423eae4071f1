"""A Hub on the loopback interface, good enough for the real client to push to and load from.

`huggingface_hub` and `datasets` read HF_ENDPOINT when they are imported, so client code belongs in a
subprocess with `HubServer.environment(home)`.
"""

import base64
import contextlib
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from support.hub_repo import Blob, RefusalError, Repo, sha256
from support.xet_store import XetStore

USER = "user"
TOKEN = "hf_loopback"
KINDS = ("datasets", "models", "spaces")
DATE = "2026-01-01T00:00:00.000Z"
HANG_UP, STALL = 0, -1


@dataclass(frozen=True)
class Reply:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    method: str
    path: list[str]
    query: dict[str, str]
    headers: Any
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Fault:
    """Answer `status` to `times` requests whose `METHOD /path` matches, after `spare` of them were let through.

    Status `HANG_UP` cuts the connection in the middle of the request, `STALL` never answers.
    """

    pattern: str
    status: int
    times: float
    spare: int = 0
    headers: dict[str, str] = field(default_factory=dict)

    def meets(self, line: str) -> bool:
        if self.times <= 0 or not re.search(self.pattern, line):
            return False
        self.spare, met = self.spare - 1, self.spare <= 0
        self.times -= met
        return met


def reply(value: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(json.dumps(value).encode(), status, {"Content-Type": "application/json", **headers})


@dataclass
class HubServer:
    """The state behind the URL: repositories by `datasets/user/name`, and every request that came."""

    url: str
    repos: dict[str, Repo] = field(default_factory=dict)
    stored: dict[str, bytes] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    served: int = 0
    """Bytes of files that were given out."""
    page_size: int = 1000
    xet: XetStore | None = None
    """Where files go that are uploaded by Xet; without, the client is told to do without it."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    ended: threading.Event = field(default_factory=threading.Event)

    def fail(self, pattern: str, status: int, times: float = float("inf"), spare: int = 0, **headers: str) -> None:
        self.faults.append(Fault(pattern, status, times, spare, headers))

    def dataset(self, repo_id: str) -> Repo:
        return self.repos[f"datasets/{repo_id}"]

    def environment(self, home: Path) -> dict[str, str]:
        """Give the environment of a subprocess that takes this server for the Hub."""
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))},
            "HF_ENDPOINT": self.url,
            "HF_TOKEN": TOKEN,
            "HF_HOME": str(home),
            # With Xet the client asks for a token of a storage service and takes no other way.
            "HF_HUB_DISABLE_XET": "0" if self.xet else "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_UPDATE_CHECK": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
        }

    def answer(self, call: Call) -> Reply:
        match call.method.replace("HEAD", "GET"), call.path:
            case "GET", ["api", "whoami-v2"]:
                self._check_token(call)
                return reply({"name": USER, "type": "user", "orgs": [], "auth": {"type": "access_token"}})
            case "POST", ["api", "validate-yaml"]:
                return reply({"errors": [], "warnings": []})
            case (("POST" | "DELETE"), ["api", "repos", ("create" | "delete") as verb]):
                return self._create(call) if verb == "create" else self._delete(call)
            case method, ["api", kind, owner, name, *rest] if kind in KINDS:
                return self._api(method, self._repo(call, f"{kind}/{owner}/{name}"), rest, call)
            case "PUT", ["lfs", oid]:
                if sha256(call.body) != oid:
                    raise RefusalError(400, "BadRequest", "the bytes have another sha256")
                self.stored[oid] = call.body
                return Reply()
            case "POST", [*prefix, name, "info", "lfs", "objects", "batch"]:
                self._check_token(call)
                self._repo(call, "/".join([*(prefix if len(prefix) == 2 else ["models", *prefix]), name[:-4]]))
                return self._lfs_batch(call)
            case "GET", [kind, owner, name, "resolve", revision, *path] if kind in KINDS:
                return self._resolve(self._repo(call, f"{kind}/{owner}/{name}"), revision, "/".join(path), call)
            case "GET", [owner, name, "resolve", revision, *path]:
                return self._resolve(self._repo(call, f"models/{owner}/{name}"), revision, "/".join(path), call)
        raise RefusalError(404, "NotFound", f"no such endpoint: {call.method} {call.path}")

    def _api(self, method: str, repo: Repo, rest: list[str], call: Call) -> Reply:
        match method, rest:
            case "GET", []:
                return self._info(repo, "main")
            case "GET", ["revision", revision]:
                return self._info(repo, revision)
            case "GET", ["refs"]:
                return self._refs(repo)
            case "GET", ["discussions"]:
                return self._list_pull_requests(repo, call.path[1][:-1])
            case "GET", ["tree", revision, *path]:
                return self._list(repo, revision, "/".join(path), call)
            case "POST", ["paths-info", revision]:
                return self._paths_info(repo, revision, call)
        self._check_token(call)
        match method, rest:
            case "GET", ["xet-write-token", _] if self.xet:
                return reply({"accessToken": TOKEN, "exp": int(time.time()) + 3600, "casUrl": self.xet.url})
            case "POST", ["branch", branch]:
                if branch in repo.refs:
                    raise RefusalError(409, "Conflict", "Reference already exists")
                repo.refs[branch] = repo.oid(call.json().get("startingPoint") or "main")
                return reply({})
            case "POST", ["preupload", revision]:
                return self._preupload(repo, revision, call)
            case "POST", ["commit", revision]:
                return self._commit(repo, revision, call)
        raise RefusalError(404, "NotFound", f"no such endpoint: {method} {rest}")

    def _check_token(self, call: Call) -> None:
        if call.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise RefusalError(401, "", "Invalid credentials in Authorization header")

    def _repo(self, call: Call, key: str) -> Repo:
        repo = self.repos.get(key)
        if repo is None or (repo.private and call.headers.get("Authorization") != f"Bearer {TOKEN}"):
            raise RefusalError(404, "RepoNotFound", "Repository not found")
        return repo

    def _create(self, call: Call) -> Reply:
        self._check_token(call)
        wish = call.json()
        kind = f"{wish.get('type', 'model')}s"
        repo_id = f"{wish.get('organization') or USER}/{wish['name']}"
        key = f"{kind}/{repo_id}"
        if not repo_id.startswith(f"{USER}/"):
            raise RefusalError(
                403, "", f"You don't have the rights to create a {wish.get('type')} under this namespace"
            )
        url = f"{self.url}/{repo_id if kind == 'models' else key}"
        if key in self.repos:
            raise RefusalError(409, "Conflict", f"You already created this {wish.get('type')} repo", url=url)
        repo = self.repos[key] = Repo(repo_id, private=wish.get("visibility") == "private" or bool(wish.get("private")))
        repo.commit("main", {".gitattributes": Blob(b"*.parquet filter=lfs diff=lfs merge=lfs -text\n", False)}, "new")
        return reply({"url": url, "name": repo_id, "id": repo_id})

    def _delete(self, call: Call) -> Reply:
        self._check_token(call)
        wish = call.json()
        key = f"{wish.get('type', 'model')}s/{wish.get('organization') or USER}/{wish['name']}"
        self._repo(call, key)
        del self.repos[key]
        return reply({})

    def _info(self, repo: Repo, revision: str) -> Reply:
        oid = repo.oid(revision)
        info = {"id": repo.id, "author": USER, "sha": oid, "private": repo.private, "gated": False, "disabled": False}
        info |= {"lastModified": DATE, "createdAt": DATE, "downloads": 0, "likes": 0, "tags": []}
        return reply({**info, "siblings": [{"rfilename": path} for path in sorted(repo.trees[oid])]})

    def _refs(self, repo: Repo) -> Reply:
        branches, pulls = [], []
        for name, oid in repo.refs.items():
            pull = name.startswith("refs/pr/")
            ref = {"name": name, "ref": name if pull else f"refs/heads/{name}", "targetCommit": oid}
            (pulls if pull else branches).append(ref)
        return reply({"branches": branches, "tags": [], "converts": [], "pullRequests": pulls})

    def _list_pull_requests(self, repo: Repo, kind: str) -> Reply:
        """List those that are not merged."""
        about = {"status": "open", "isPullRequest": True, "author": {"name": USER}, "createdAt": DATE}
        about["repo"] = {"name": repo.id, "type": kind}
        numbers = [int(ref.removeprefix("refs/pr/")) for ref in repo.titles if repo.refs[ref] != repo.refs["main"]]
        found = [{**about, "num": number, "title": repo.titles[f"refs/pr/{number}"]} for number in numbers]
        return reply({"discussions": found, "count": len(found), "start": 0})

    def _list(self, repo: Repo, revision: str, folder: str, call: Call) -> Reply:
        recursive = call.query.get("recursive", "").lower() in ("1", "true")
        entries = repo.entries(revision, folder, recursive)
        first = int(call.query.get("cursor", 0))
        last = first + self.page_size
        path = "/".join(quote(part, safe="") for part in call.path)
        next_page = f'<{self.url}/{path}?{urlencode({**call.query, "cursor": last})}>; rel="next"'
        return reply(entries[first:last], **({"Link": next_page} if last < len(entries) else {}))

    def _paths_info(self, repo: Repo, revision: str, call: Call) -> Reply:
        as_json = "json" in (call.headers.get("Content-Type") or "")
        paths = call.json()["paths"] if as_json else parse_qs(call.body.decode()).get("paths", [])
        entries = [repo.entry(revision, path) for path in paths]
        return reply([entry for entry in entries if entry is not None])

    def _preupload(self, repo: Repo, revision: str, call: Call) -> Reply:
        tree = repo.tree(revision)
        wishes = call.json()["files"]
        if len(wishes) > 256:
            raise RefusalError(400, "BadRequest", "too many files")
        files = []
        for wish in wishes:
            lfs = wish["path"].endswith(".parquet") or b"\0" in base64.b64decode(wish["sample"])
            old = tree[wish["path"]].oid if wish["path"] in tree else None
            mode = "lfs" if lfs else "regular"
            files.append({"path": wish["path"], "uploadMode": mode, "shouldIgnore": False, "oid": old})
        return reply({"files": files})

    def _lfs_batch(self, call: Call) -> Reply:
        objects = []
        for item in call.json()["objects"]:
            upload = {"upload": {"href": f"{self.url}/lfs/{item['oid']}", "header": {}}}
            objects.append(item if item["oid"] in self.stored else {**item, "actions": upload})
        return reply({"transfer": "basic", "objects": objects})

    def _commit(self, repo: Repo, revision: str, call: Call) -> Reply:
        base = repo.oid(revision)
        lines = [json.loads(line) for line in call.body.splitlines()]
        header = next(line["value"] for line in lines if line["key"] == "header")
        if header.get("parentCommit", base) != base:
            raise RefusalError(412, "PreconditionFailed", "A commit has happened since. Please refresh and try again.")
        if self.xet is not None:
            self._take_from_xet([line["value"]["oid"] for line in lines if line["key"] == "lfsFile"])
        tree = repo.changed(base, lines, self.stored)
        answer: dict[str, Any] = {"success": True}
        if call.query.get("create_pr"):
            repo.pulls += 1
            revision = f"refs/pr/{repo.pulls}"
            repo.titles[revision] = header["summary"]
            place = "/".join(call.path[1:4]).removeprefix("models/")
            answer["pullRequestUrl"] = f"{self.url}/{place}/discussions/{repo.pulls}"
        oid = repo.commit(revision, tree, header["summary"])
        return reply({**answer, "commitOid": oid, "commitUrl": f"{self.url}/datasets/{repo.id}/commit/{oid}"})

    def _take_from_xet(self, wanted: list[str]) -> None:
        for oid in wanted:
            data = None if oid in self.stored or self.xet is None else self.xet.find(oid)
            if data is not None:
                self.stored[oid] = data

    def _resolve(self, repo: Repo, revision: str, path: str, call: Call) -> Reply:
        oid = repo.oid(revision)
        blob = repo.trees[oid].get(path)
        if blob is None:
            raise RefusalError(404, "EntryNotFound", f"{path} does not exist on {revision}")
        # The bytes come from here even for LFS: the client follows a redirect to the same host and
        # then misses X-Repo-Commit.
        headers = {"ETag": f'"{blob.oid}"', "X-Repo-Commit": oid, "Accept-Ranges": "bytes"}
        if blob.lfs:
            headers |= {"X-Linked-Size": str(len(blob.data)), "X-Linked-Etag": f'"{blob.oid}"'}
        wish = re.fullmatch(r"bytes=(\d+)-(\d*)", call.headers.get("Range") or "")
        if wish is None:
            return Reply(blob.data, 200, headers)
        first, last = int(wish[1]), min(int(wish[2] or len(blob.data)), len(blob.data) - 1)
        if first > last:
            raise RefusalError(416, "", "Requested range not satisfiable")
        return Reply(
            blob.data[first : last + 1], 206, {**headers, "Content-Range": f"bytes {first}-{last}/{len(blob.data)}"}
        )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    hub: HubServer

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        # Split before unquoting: a revision such as refs%2Fpr%2F1 is one segment.
        path = [unquote(part) for part in url.path.split("/") if part]
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        line = f"{self.command} {unquote(url.path)}"
        with self.hub.lock:
            self.hub.requests.append(line)
            fault = next((fault for fault in self.hub.faults if fault.meets(line)), None)
        if fault is not None and fault.status == STALL:
            self.hub.ended.wait()
        if fault is not None and fault.status in (HANG_UP, STALL):
            self.rfile.read(int(self.headers.get("Content-Length") or 0) // 2)
            self.close_connection = True
            return
        call = Call(self.command, path, query, self.headers, self._body())
        with self.hub.lock:
            answer = self._answer(call, fault)
        self._send(answer)

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - the names http.server looks for

    def _answer(self, call: Call, fault: Fault | None) -> Reply:
        try:
            if fault is None:
                return self.hub.answer(call)
            said = "Invalid credentials in Authorization header" * (fault.status == 401)
            raise RefusalError(fault.status, "", said, fault.headers)
        except RefusalError as refusal:
            headers = {"X-Error-Code": refusal.code, "X-Error-Message": refusal.message, **refusal.headers}
            headers = {name: value for name, value in headers.items() if value}
            return reply({"error": refusal.message, **refusal.body}, refusal.status, **headers)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _send(self, answer: Reply) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.hub.served += len(answer.body) * ("/resolve/" in self.path)
            self.wfile.write(answer.body)

    def log_message(self, *_: object) -> None:
        """Stay silent; `HubServer.requests` is the log."""


@contextlib.contextmanager
def hub_server() -> Iterator[HubServer]:
    """Serve an empty Hub on a free port until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    hub = HubServer(f"http://127.0.0.1:{server.server_address[1]}")
    server.RequestHandlerClass = type("Handler", (_Handler,), {"hub": hub})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.ended.set()
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
