"""The store of replies: what a model or a judge has said is on the disk and is never asked again.

One SQLite file beside the output, in WAL mode with full synchronisation: `put` returns when the
answers would survive a power cut. A key is a digest of everything an answer depends on, so an edited
question finds no old answer, and neither order nor ids matter. One process at a time may hold a
store; the operating system frees the lock of a process that was killed.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import socket
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any

from mmconvert.errors import Error

STORE_VERSION = 1
OK = "ok"
FAILED = "failed"

_APPLICATION_ID = 0x6D6D7361  # "mmsa", in the header of every store of ours
_LOOKUP_KEYS = 500  # SQLite takes at least 999 parameters a statement


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply, or the reason why there is none. A failure is a state, never a text.

    Attributes:
        text: The reply, "" where the model said nothing; None only when there is no reply.
        status: `ok`, `failed` or `skipped`.
        error: Why there is no reply; None when all is well.
        finish_reason: `stop`, `length`, or the service's own word.
        thinking: The reasoning block that was cut from the reply.
        prompt_tokens: Tokens of the prompt, pictures included.
        completion_tokens: Tokens that were generated, the end token included.
        option_logprobs: Summed natural log-probability of each present option.
        option_tokens: Tokens of each present option.
        token_logprobs: Natural log-probability of each generated token.
    """

    text: str | None = None
    status: str = OK
    error: str | None = None
    finish_reason: str | None = None
    thinking: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    option_logprobs: tuple[float, ...] | None = None
    option_tokens: tuple[int, ...] | None = None
    token_logprobs: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse an answer that is neither a reply nor a failure.

        Raises:
            ValueError: `text` is None although the status is `ok`, or stands beside a failure.
        """
        if (self.text is None) == (self.status == OK):
            raise ValueError(f"an answer has a text exactly when its status is {OK!r}: {self}")


def failed(error: str) -> Answer:
    """Make the answer of a row that got none.

    Example:
        >>> failed("picture 1 is cut off").status
        'failed'
    """
    return Answer(status=FAILED, error=error)


def answer_key(*parts: object) -> str:
    """Digest everything an answer depends on.

    Args:
        parts: JSON values; the order of mapping keys does not matter, everything else does.

    Returns:
        64 hex digits.

    Example:
        >>> answer_key("model", {"a": 1, "b": 2}) == answer_key("model", {"b": 2, "a": 1})
        True
        >>> answer_key("model", "1") == answer_key("model", 1)
        False
    """
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def store_path(output: Path) -> Path:
    """Name the store that stands beside an output file.

    Example:
        >>> store_path(Path("run/predictions.parquet")).name
        'predictions.parquet.answers.sqlite'
    """
    return output.with_name(output.name + ".answers.sqlite")


@dataclass(frozen=True, slots=True)
class Held:
    """A store that this process alone may open; made by `hold`."""

    path: Path


class AnswerStore:
    """Answers by key, on the disk. Use as a context manager.

    Attributes:
        path: The SQLite file.
        previous_fingerprint: What the last run said of its input; "" in a new store.
    """

    def __init__(self, held: Held, *, fingerprint: str, restart: bool = False) -> None:
        """Name the store; nothing is touched before `with`.

        Args:
            held: The store's place, see `hold`; the file is made when missing.
            fingerprint: Digest of the input as a whole, kept in the header to tell the user when it changed.
            restart: Drop the answers that stand there.
        """
        self.path = held.path
        self.previous_fingerprint = ""
        self._fingerprint = fingerprint
        self._restart = restart
        self._db: sqlite3.Connection

    def __enter__(self) -> "AnswerStore":
        """Open the file.

        Raises:
            Error: The file is no store, is damaged, or is of a newer version.
        """
        with _plain_errors(self.path):
            if self._restart:
                _drop(self.path)
            self._db = _connect(self.path)
            self.previous_fingerprint = self._swap_fingerprint()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._db.close()

    def _swap_fingerprint(self) -> str:
        row = self._db.execute("SELECT value FROM header WHERE name = 'fingerprint'").fetchone()
        with _transaction(self._db):
            self._db.execute("INSERT OR REPLACE INTO header VALUES ('fingerprint', ?)", (self._fingerprint,))
        return row[0] if row else ""

    def get(self, keys: Sequence[str]) -> dict[str, Answer]:
        """Look answers up, failures included.

        Returns:
            The answers that are stored, by key; keys without one are left out.
        """
        found = {}
        with _plain_errors(self.path):
            for start in range(0, len(keys), _LOOKUP_KEYS):
                part = keys[start : start + _LOOKUP_KEYS]
                marks = ",".join("?" * len(part))
                rows = self._db.execute(f"SELECT key, answer FROM answers WHERE key IN ({marks})", part)
                found.update({key: _decoded(answer) for key, answer in rows})
        return found

    def put(self, answers: Iterable[tuple[str, Answer]]) -> None:
        """Store answers in one transaction; they are on the disk when this returns.

        Args:
            answers: Keys and answers; an answer replaces an older one of the same key.

        Raises:
            Error: The disk is full or the file cannot be written; what was stored before stays.
        """
        rows = [(key, answer.status, _encoded(answer)) for key, answer in answers]
        with _plain_errors(self.path), _transaction(self._db):
            self._db.executemany("INSERT OR REPLACE INTO answers (key, status, answer) VALUES (?, ?, ?)", rows)

    def count(self) -> dict[str, int]:
        """Count the stored answers by status."""
        with _plain_errors(self.path):
            return dict(self._db.execute("SELECT status, count(*) FROM answers GROUP BY status"))


def _encoded(answer: Answer) -> str:
    # ASCII escapes: a reply may hold a lone surrogate, which SQLite's UTF-8 cannot.
    return json.dumps({name: value for name, value in asdict(answer).items() if value is not None})


def _decoded(text: str) -> Answer:
    values: dict[str, Any] = json.loads(text)
    known = {field.name for field in fields(Answer)}
    kept: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items() if k in known}
    return Answer(**kept)


def _connect(path: Path) -> sqlite3.Connection:
    if path.exists() and not path.is_file():
        raise Error(f"{path}: is no file; the answers are to stand there. Move it away or give another output.")
    with contextlib.ExitStack() as stack:
        db = sqlite3.connect(path, isolation_level=None)
        stack.callback(db.close)
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != _APPLICATION_ID and (application or version or tables):
            raise Error(f"{path}: is a database of another program. Move it away or give another output.")
        if version > STORE_VERSION:
            raise Error(f"{path}: has version {version}; this program knows {STORE_VERSION}. Upgrade mmscore.")
        # A file system without shared memory refuses WAL; the rollback journal it stays with is as safe.
        db.execute("PRAGMA journal_mode = WAL").fetchone()
        db.execute("PRAGMA synchronous = FULL")
        if not tables:
            _create(db)
        stack.pop_all()
    return db


def _create(db: sqlite3.Connection) -> None:
    with _transaction(db):
        db.execute("CREATE TABLE header (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        db.execute("CREATE TABLE answers (key TEXT PRIMARY KEY, status TEXT NOT NULL, answer TEXT NOT NULL)")
        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {STORE_VERSION}")


@contextlib.contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


@contextlib.contextmanager
def _plain_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        raise Error(f"{path}: cannot be written or read ({error}). Answers stored before are kept.") from error
    except (sqlite3.DatabaseError, ValueError, TypeError) as error:
        raise Error(
            f"{path}: is no store of answers, or is damaged ({error}). Move it away or give --restart."
        ) from error


def _drop(path: Path) -> None:
    # The database first: SQLite discards a log that has no database, never the other way round.
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


@contextlib.contextmanager
def hold(path: Path) -> Iterator[Held]:
    """Keep every other process away from a store while the context lasts.

    The lock is the operating system's: it ends with the process, however that ends.

    Args:
        path: The SQLite file of the store, existing or not.

    Raises:
        Error: Another process holds it, or the file system has no locks.
    """
    # A file of its own: closing any handle of the database would drop SQLite's own locks.
    lock = path.with_name(path.name + ".lock")
    handle = _locked_handle(path, lock)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
        yield Held(path)
    finally:
        # Removed while still held, so that nobody can be holding the file that disappears.
        lock.unlink(missing_ok=True)
        os.close(handle)


def _locked_handle(path: Path, lock: Path) -> int:
    while True:
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise Error(f"{lock}: cannot be made ({error.strerror}).") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _same_file(handle, lock):
                return handle
        except BlockingIOError:
            holder = _holder(os.pread(handle, 1000, 0))
            os.close(handle)
            raise Error(f"{path}: in use by {holder}. Wait for it, or give another output.") from None
        except OSError as error:
            os.close(handle)
            if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL):
                raise Error(f"{path}: its file system has no locks ({error.strerror}). Use a local folder.") from None
            raise
        # The former holder removed the file between our open and our lock: take the new one.
        os.close(handle)


def _same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _holder(text: bytes) -> str:
    try:
        said: Mapping[str, object] = json.loads(text)
        return f"process {said['pid']} on {said['host']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
