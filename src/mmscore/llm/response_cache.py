"""The store of responses: what a model or a judge has said is on the disk and is never asked again.

One SQLite file beside the output, in WAL mode with full synchronisation: `put` returns when the
answers would survive a power cut. A key is a digest of everything an answer depends on, so an edited
question finds no old answer, and neither order nor ids matter. Processes that share a store (see
`mmscore.llm.cache_lock`) claim the rows that they ask about, so that no row is asked by two of them.
"""

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from msgspec.structs import asdict

from mmconvert.core.errors import MAKE_ROOM, Error, is_no_room, show
from mmconvert.core.plugin_struct import PluginStruct
from mmscore.llm.cache_lock import Held

STORE_VERSION = 1
OK = "ok"
FAILED = "failed"

_APPLICATION_ID = 0x6D6D7361  # "mmsa", in the header of every store of ours
_TABLES = {
    "header": "(name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "answers": "(key TEXT PRIMARY KEY, status TEXT NOT NULL, answer TEXT NOT NULL)",
    "members": "(name TEXT PRIMARY KEY)",
    "claims": "(key TEXT PRIMARY KEY, owner TEXT NOT NULL)",
}
_LOOKUP_KEYS = 500  # SQLite takes at least 999 parameters a statement
_PATIENCE = 60.0  # seconds for which a process that shares waits for the others' transactions
_ROOM_BESIDE = 400  # bytes that key, index and log take beside an answer
_MAX_STEPS = 20_000  # hundred thousands of steps of SQLite that a look into a store may take
_MAX_RUN = 100_000  # characters that a run says of itself
_BATCH = "batch:"
"""What the name of a batch begins with in the header."""
_ASKED = ""  # owner of a claim whose row failed: nobody who shares asks it again


class Answer(PluginStruct, frozen=True):
    """A response, or the reason why there is none. A failure is a state, never a text.

    Attributes:
        text: The response, "" where the model said nothing; None only when there is no response.
        status: `ok`, `failed` or `skipped`.
        error: Why there is no response; None when all is well.
        finish_reason: `stop`, `length`, or the service's own word.
        thinking: The reasoning block that was cut from the response.
        prompt_tokens: Tokens of the prompt, images included.
        completion_tokens: Tokens that were generated, the end token included.
        option_logprobs: Summed natural log-probability of each present option.
        option_tokens: Tokens of each present option.
        token_logprobs: Natural log-probability of each token: of the response, or of the options in turn.
        passing: True of a failure that passes by itself, such as an overload; None of any other, and of a response.
        cached_tokens: Tokens of the prompt that the server had in its cache.
        batch: True of a response that came through a batch API, else None.
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
    passing: bool | None = None
    cached_tokens: int | None = None
    batch: bool | None = None

    def __post_init__(self) -> None:
        """Refuse an answer that is neither a response nor a failure.

        Raises:
            ValueError: `text` is None although the status is `ok`, or stands beside a failure.
        """
        if (self.text is None) == (self.status == OK):
            raise ValueError(f"an answer has a text exactly when its status is {OK!r}: {self}")


class NoRoomError(Error):
    """Answers could not be stored.

    Args:
        message: What happened, without a next step.
        bytes_an_answer: Room that one of them takes, in bytes.
    """

    def __init__(self, message: str, bytes_an_answer: int) -> None:
        super().__init__(f"{message} Answers stored before are kept.")
        self.bytes_an_answer = bytes_an_answer


def failed(error: str) -> Answer:
    """Make the answer of a row that got none.

    Example:
        >>> failed("image 1 is cut off").status
        'failed'
    """
    return Answer(status=FAILED, error=error)


def build_answer_key(*parts: object) -> str:
    """Digest everything an answer depends on.

    Args:
        parts: JSON values; the order of mapping keys does not matter, everything else does.

    Returns:
        64 hex digits.

    Example:
        >>> build_answer_key("model", {"a": 1, "b": 2}) == build_answer_key("model", {"b": 2, "a": 1})
        True
        >>> build_answer_key("model", "1") == build_answer_key("model", 1)
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


class AnswerStore:
    """Answers by key, on the disk. Use as a context manager.

    Attributes:
        path: The SQLite file.
        held: Who may open it.
        previous_fingerprint: What the last run said of its input; "" in a new store.
    """

    def __init__(
        self, held: Held, *, fingerprint: str | None, restart: bool = False, run: Mapping[str, Any] | None = None
    ) -> None:
        """Name the store; nothing is touched before `with`.

        Args:
            held: The store's place, see `mmscore.llm.cache_lock.hold`; the file is made when missing.
            fingerprint: Digest of the input as a whole, kept in the header to tell the user when it changed; None
                leaves what stands there.
            restart: Drop the answers that stand there.
            run: JSON values about the run, for those who watch its progress; None leaves those that stand there.
        """
        self._run = run
        self.path = held.path
        self.held = held
        self.previous_fingerprint = ""
        self._fingerprint = fingerprint
        self._restart = restart
        self._db: sqlite3.Connection

    def __enter__(self) -> "AnswerStore":
        """Open the file.

        Raises:
            Error: The file is no store, is damaged, or is of a newer version.
        """
        with _explain_errors(self.held), self.held.turn():
            if self._restart:
                # The database first: SQLite discards a log that has no database, never the other way round.
                for suffix in ("", "-wal", "-shm", "-journal"):
                    self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            with contextlib.ExitStack() as opening:
                self._db = _connect(self.held)
                opening.callback(self._db.close)
                row = self._db.execute("SELECT value FROM header WHERE name = 'fingerprint'").fetchone()
                with _open_transaction(self._db):
                    if self._fingerprint is not None:
                        text = self._fingerprint
                        self._db.execute("INSERT OR REPLACE INTO header VALUES ('fingerprint', ?)", (text,))
                    if self._run is not None:
                        text = json.dumps(self._run)
                        self._db.execute("INSERT OR REPLACE INTO header VALUES ('run', ?)", (text,))
                self.previous_fingerprint = row[0] if row and isinstance(row[0], str) else ""
                if self.shared:
                    self._join()
                opening.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Close the file; what this process had claimed is free again."""
        # A disk that is full keeps the claims; they are taken over from a process that is gone.
        with contextlib.suppress(sqlite3.Error):
            if self.shared:
                with _open_transaction(self._db):
                    self._bury([self.held.member])
        self._db.close()

    @property
    def shared(self) -> bool:
        """Whether other processes may have the store open."""
        return bool(self.held.member)

    def _join(self) -> None:
        """Enter this process among those that share; the first of them begins with no claims at all."""
        with _open_transaction(self._db):
            for name in ("members", "claims"):
                self._db.execute(f"CREATE TABLE IF NOT EXISTS {name} {_TABLES[name]}")
            members = [name for (name,) in self._db.execute("SELECT name FROM members")]
            gone = [name for name in members if not self.held.lives(name)]
            self._bury(gone)
            if len(gone) == len(members):
                self._db.execute("DELETE FROM claims")
            self._db.execute("INSERT INTO members VALUES (?)", (self.held.member,))

    def _bury(self, members: Iterable[str]) -> None:
        for name in members:
            self._db.execute("DELETE FROM claims WHERE owner = ?", (name,))
            self._db.execute("DELETE FROM members WHERE name = ?", (name,))

    def _select(self, columns: str, table: str, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(keys), _LOOKUP_KEYS):
            part = keys[start : start + _LOOKUP_KEYS]
            marks = ",".join("?" * len(part))
            yield from self._db.execute(f"SELECT {columns} FROM {table} WHERE key IN ({marks})", part)

    def get(self, keys: Sequence[str]) -> dict[str, Answer]:
        """Look answers up, failures included; a damaged one is removed, so that its row is asked again.

        Returns:
            The answers that are stored, by key; keys without one are left out.
        """
        with _explain_errors(self.held):
            found = {key: _decode(*cells) for key, *cells in self._select("key, status, answer", "answers", keys)}
            if damaged := [(key,) for key, answer in found.items() if answer is None]:
                with _open_transaction(self._db):
                    self._db.executemany("DELETE FROM answers WHERE key = ?", damaged)
        return {key: answer for key, answer in found.items() if answer is not None}

    def claim(self, keys: Sequence[str], most: int) -> list[str]:
        """Take rows to ask about; of a store that is not shared every row is there to take.

        Args:
            keys: Keys without an answer so far, in the order in which they are wanted.
            most: How many to take at most, from 1.

        Returns:
            Keys that nobody who is still there has claimed, or answered meanwhile.
        """
        if not self.shared:
            return list(keys[:most])
        with _explain_errors(self.held), _open_transaction(self._db):
            owners = dict(self._select("key, owner", "claims", keys))
            gone = {owner for owner in set(owners.values()) - {_ASKED} if not self.held.lives(owner)}
            self._bury(gone)
            done = {key for key, status in self._select("key, status", "answers", keys) if status == OK}
            free = [key for key in keys if key not in done and (key not in owners or owners[key] in gone)]
            taken = free[:most]
            self._db.executemany("INSERT OR REPLACE INTO claims VALUES (?, ?)", [(k, self.held.member) for k in taken])
        return taken

    def look_up_claims(self, keys: Sequence[str]) -> tuple[set[str], set[str]]:
        """Look up what others who share do with rows.

        Returns:
            Keys that somebody who is still there is asking about, and keys whose rows one of us asked in vain.
        """
        if not self.shared:
            return set(), set()
        with _explain_errors(self.held):
            owners = dict(self._select("key, owner", "claims", keys))
        alive = {owner: self.held.lives(owner) for owner in set(owners.values()) - {_ASKED}}
        return {k for k, o in owners.items() if alive.get(o)}, {k for k, o in owners.items() if o == _ASKED}

    def put(self, answers: Iterable[tuple[str, Answer]], *, ended: str | None = None) -> None:
        """Store answers in one transaction; they are on the disk when this returns.

        Args:
            answers: Keys and answers; an answer replaces an older one of the same key.
            ended: Name of a batch that `keep_batch` kept, to be forgotten in the same transaction.

        Raises:
            NoRoomError: The disk is full, or cannot be written for another reason; what was stored before stays.
        """
        rows = [(key, answer.status, _encode(answer)) for key, answer in answers]
        try:
            with _explain_errors(self.held), _open_transaction(self._db):
                self._write(rows)
                if ended is not None:
                    self._db.execute("DELETE FROM header WHERE name = ?", (_BATCH + ended,))
        except Error as error:
            if isinstance(error.__cause__, sqlite3.OperationalError):
                room = _ROOM_BESIDE + sum(len(text) for _, _, text in rows) // max(len(rows), 1)
                raise NoRoomError(f"{self.path}: cannot be written ({error.__cause__}).", room) from error
            raise

    def _write(self, rows: Sequence[tuple[str, str, str]]) -> None:
        self._db.executemany("INSERT OR REPLACE INTO answers (key, status, answer) VALUES (?, ?, ?)", rows)
        if self.shared:
            ended = [(_ASKED, key) for key, status, _ in rows if status != OK]
            self._db.executemany("UPDATE claims SET owner = ? WHERE key = ?", ended)
            self._db.executemany("DELETE FROM claims WHERE key = ?", [(k,) for k, status, _ in rows if status == OK])

    def keep_batch(self, name: str, value: Mapping[str, Any]) -> None:
        """Keep JSON values about a batch that is under way, in the place of those kept under this name."""
        with _explain_errors(self.held), _open_transaction(self._db):
            self._db.execute("INSERT OR REPLACE INTO header VALUES (?, ?)", (_BATCH + name, json.dumps(value)))

    def list_batches(self) -> dict[str, Any]:
        """Give what was kept about batches that are under way, by name, the first one first."""
        with _explain_errors(self.held):
            found = self._db.execute(
                "SELECT name, value FROM header WHERE substr(name, 1, ?) = ? ORDER BY rowid", (len(_BATCH), _BATCH)
            )
            return {name.removeprefix(_BATCH): json.loads(value) for name, value in found}

    def count(self) -> dict[str, int]:
        """Count the stored answers by status."""
        with _explain_errors(self.held):
            return dict(self._db.execute("SELECT status, count(*) FROM answers GROUP BY status"))


class StoreProgress(msgspec.Struct, frozen=True):
    """What a store says of its run.

    Attributes:
        ok: Answers.
        failed: Failures.
        run: What the run says of itself, such as its `rows`; {} where it says nothing.
    """

    ok: int
    failed: int
    run: Mapping[str, Any]


def read_progress(path: Path) -> StoreProgress:
    """Look into a store, also one that a run is writing to; nothing is changed, no file is made.

    Raises:
        Error: It is no store, is damaged, or cannot be read without its log.
    """
    # Where no log stands beside it nobody writes, and SQLite need not make one to read.
    has_log = path.with_name(f"{path.name}-wal").exists()
    uri = f"{path.resolve().as_uri()}?mode=ro{'' if has_log else '&immutable=1'}"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=1)) as db:
            db.text_factory = lambda data: data.decode(errors="replace")
            db.execute("PRAGMA trusted_schema = OFF")
            steps = iter(range(_MAX_STEPS))
            db.set_progress_handler(lambda: next(steps, None) is None, 100_000)
            tables = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
            if not tables or any(sql != f"CREATE TABLE {name} {_TABLES.get(name)}" for name, sql in tables):
                raise Error(f"{path}: is not a store of answers.")
            counts = dict(db.execute("SELECT status, count(*) FROM answers GROUP BY status"))
            row = db.execute("SELECT value FROM header WHERE name = 'run'").fetchone()
        run = json.loads(row[0]) if row and isinstance(row[0], str) and len(row[0]) < _MAX_RUN else {}
    except (sqlite3.Error, OSError, ValueError, RecursionError) as error:
        raise Error(f"{path}: cannot be read ({error}).") from error
    return StoreProgress(counts.get(OK, 0), counts.get(FAILED, 0), run if isinstance(run, dict) else {})


def _encode(answer: Answer) -> str:
    # ASCII escapes: a response may hold a lone surrogate, which SQLite's UTF-8 cannot.
    return json.dumps({name: value for name, value in asdict(answer).items() if value is not None})


def _decode(status: object, text: object) -> Answer | None:
    """Read an answer; None where what stands there is none that `_encode` could have written."""
    if not isinstance(text, str) or not text.isascii():
        return None
    try:
        values = json.loads(text)
        known = {name: values[name] for name in Answer.__struct_fields__ if name in values}
        answer = msgspec.convert(known, Answer)
    except (ValueError, TypeError, RecursionError):
        return None
    return answer if answer.status == status else None


def _connect(held: Held) -> sqlite3.Connection:
    path = held.path
    if path.exists() and not path.is_file():
        raise Error(f"{path}: is not a file, but the response cache goes there. Move it away or {held.other}.")
    with contextlib.ExitStack() as stack:
        db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
        stack.callback(db.close)
        # A damaged cell is to be found by whoever reads it, and not to end the query for those beside it.
        db.text_factory = lambda data: data.decode(errors="replace")
        db.execute("PRAGMA trusted_schema = OFF")
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        tables = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        if application != _APPLICATION_ID and (application or version or tables):
            raise Error(f"{path}: is a database of another program. Move it away or {held.other}.")
        if version > STORE_VERSION:
            raise Error(f"{path}: has version {version}; this program knows {STORE_VERSION}. Upgrade mmscore.")
        for name, sql in tables:
            # A trigger or a view would run with every statement, and a table made otherwise with some.
            if name not in _TABLES or sql != f"CREATE TABLE {name} {_TABLES[name]}":
                raise Error(f"{path}: holds {show(name)}, which no store has. Move it away or {held.other}.")
        # A file system without shared memory refuses WAL; the rollback journal it stays with is as safe.
        db.execute("PRAGMA journal_mode = WAL").fetchone()
        db.execute("PRAGMA synchronous = FULL")
        if not tables:
            _create(db)
        stack.pop_all()
    return db


def _create(db: sqlite3.Connection) -> None:
    with _open_transaction(db):
        for name in ("header", "answers"):
            db.execute(f"CREATE TABLE {name} {_TABLES[name]}")
        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {STORE_VERSION}")


@contextlib.contextmanager
def _open_transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        # On a full disk SQLite has rolled back by itself.
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _is_no_room(error: sqlite3.OperationalError | OSError) -> bool:
    """Tell a full disk; where a file cannot grow, SQLite may say no more than that the disk failed."""
    if isinstance(error, OSError):
        return is_no_room(error)
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


@contextlib.contextmanager
def _explain_errors(held: Held) -> Iterator[None]:
    path = held.path
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        advice = f" {MAKE_ROOM}" if _is_no_room(error) else ""
        raise Error(f"{path}: cannot be written or read ({error}). Answers stored before are kept.{advice}") from error
    except (sqlite3.DatabaseError, ValueError, TypeError) as error:
        raise Error(
            f"{path}: is not a store of answers, or is damaged ({error}). Move it away or {held.other}."
        ) from error
