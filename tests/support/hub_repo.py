"""A repository as the loopback Hub keeps it: commits that are whole trees, and refs that name them."""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


class RefusalError(Exception):
    """What the Hub answers instead: a status, its X-Error-Code, and a message."""

    def __init__(
        self, status: int, code: str, message: str, headers: Mapping[str, str] = MappingProxyType({}), **body: Any
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers, self.body = status, code, message, headers, body


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def git_oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@dataclass(frozen=True)
class Blob:
    data: bytes
    lfs: bool

    @property
    def oid(self) -> str:
        return sha256(self.data) if self.lfs else git_oid(self.data)

    def entry(self, path: str) -> dict[str, Any]:
        entry = {"type": "file", "path": path, "oid": self.oid, "size": len(self.data)}
        if self.lfs:
            entry["lfs"] = {"oid": self.oid, "size": len(self.data), "pointerSize": 128}
        return entry


def folder_entry(path: str) -> dict[str, Any]:
    return {"type": "directory", "path": path, "oid": git_oid(path.encode()), "size": 0}


@dataclass
class Repo:
    id: str
    private: bool = False
    refs: dict[str, str] = field(default_factory=dict)
    trees: dict[str, dict[str, Blob]] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    pulls: int = 0
    titles: dict[str, str] = field(default_factory=dict)
    """What the pull requests are called, by their refs."""

    def files(self, revision: str = "main") -> dict[str, bytes]:
        return {path: blob.data for path, blob in self.trees[self.refs[revision]].items()}

    def commit(self, ref: str, tree: dict[str, Blob], message: str) -> str:
        oid = git_oid(f"{self.id} {len(self.trees)}".encode())
        self.trees[oid] = tree
        self.refs[ref] = oid
        self.messages.append(message)
        return oid

    def put(self, path: str, data: bytes, ref: str = "main") -> str:
        """Commit one small file, as somebody else would."""
        return self.commit(ref, {**self.tree(ref), path: Blob(data, lfs=False)}, f"put {path}")

    def oid(self, revision: str) -> str:
        oid = self.refs.get(revision, revision)
        if oid not in self.trees:
            raise RefusalError(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return oid

    def tree(self, revision: str) -> dict[str, Blob]:
        return self.trees[self.oid(revision)]

    def entries(self, revision: str, folder: str, recursive: bool) -> list[dict[str, Any]]:
        tree = self.tree(revision)
        start = f"{folder}/" if folder else ""
        below = [path for path in tree if path.startswith(start)]
        if folder and not below:
            raise RefusalError(404, "EntryNotFound", f"{folder} does not exist on {revision}")
        found = {}
        for path in below:
            parts = path.removeprefix(start).split("/")
            for depth in range(1, len(parts) + 1 if recursive else 2):
                name = start + "/".join(parts[:depth])
                found[name] = tree[path].entry(path) if name == path else folder_entry(name)
        return [found[name] for name in sorted(found)]

    def entry(self, revision: str, path: str) -> dict[str, Any] | None:
        tree = self.tree(revision)
        if path in tree:
            return tree[path].entry(path)
        return folder_entry(path) if any(p.startswith(f"{path.rstrip('/')}/") for p in tree) else None

    def changed(self, base: str, lines: Iterable[dict[str, Any]], stored: dict[str, bytes]) -> dict[str, Blob]:
        """Apply the operations of a commit to the tree of a base commit."""
        tree = dict(self.trees[base])
        for key, value in ((line["key"], line["value"]) for line in lines):
            match key:
                case "file":
                    tree[value["path"]] = Blob(base64.b64decode(value["content"]), lfs=False)
                case "lfsFile":
                    if value["oid"] not in stored:
                        raise RefusalError(400, "BadRequest", f"LFS object {value['oid']} was not uploaded")
                    tree[value["path"]] = Blob(stored[value["oid"]], lfs=True)
                case "deletedFile":
                    if tree.pop(value["path"], None) is None:
                        raise RefusalError(404, "EntryNotFound", f"{value['path']} does not exist")
                case "deletedFolder":
                    tree = {p: blob for p, blob in tree.items() if not p.startswith(f"{value['path'].rstrip('/')}/")}
        return tree
