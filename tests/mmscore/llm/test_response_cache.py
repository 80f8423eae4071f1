"""The store of replies: what was put is there after any death of the process, and nobody else gets in."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import (
    STORE_VERSION,
    Answer,
    AnswerStore,
    build_answer_key,
    failed,
    read_progress,
    store_path,
)

FULL = Answer(
    text="A",
    finish_reason="stop",
    thinking="hm",
    prompt_tokens=3,
    completion_tokens=2,
    option_logprobs=(-0.25, -1.5),
    option_tokens=(1, 2),
    token_logprobs=(-0.1,),
)


def put(path: Path, answers: dict[str, Answer], **options: object) -> None:
    with hold(path) as held, AnswerStore(held, fingerprint="f", **options) as store:
        store.put(answers.items())


def get(path: Path, *keys: str) -> dict[str, Answer]:
    with hold(path) as held, AnswerStore(held, fingerprint="f") as store:
        return store.get(keys)


def test_an_answer_comes_back_as_it_was_put(tmp_path):
    answers = {"full": FULL, "empty": Answer(""), "failed": failed("no image"), "half": Answer("\ud83d \x00 \u2028")}
    put(tmp_path / "s", answers)
    assert get(tmp_path / "s", *answers, "unknown") == answers


def test_many_keys_are_looked_up_at_once(tmp_path):
    answers = {str(i): Answer(str(i)) for i in range(2_345)}
    put(tmp_path / "s", answers)
    assert get(tmp_path / "s", *answers) == answers


def test_an_answer_replaces_the_failure_of_the_same_key(tmp_path):
    put(tmp_path / "s", {"k": failed("busy")})
    put(tmp_path / "s", {"k": Answer("A")})
    assert get(tmp_path / "s", "k") == {"k": Answer("A")}


def test_restart_forgets(tmp_path):
    put(tmp_path / "s", {"k": Answer("A")})
    put(tmp_path / "s", {"other": Answer("B")}, restart=True)
    assert get(tmp_path / "s", "k", "other") == {"other": Answer("B")}


def test_a_failing_put_leaves_what_stood_and_stores_nothing_of_its_own(tmp_path):
    def broken():
        yield "new", Answer("B")
        raise RuntimeError("the caller broke")

    with hold(tmp_path / "s") as held, AnswerStore(held, fingerprint="f") as store:
        store.put([("old", Answer("A"))])
        with pytest.raises(RuntimeError):
            store.put(broken())
        assert store.get(["old", "new"]) == {"old": Answer("A")}
        store.put([("later", Answer("C"))])
        assert store.count() == {"ok": 2}


def test_the_header_tells_whether_the_input_changed(tmp_path):
    previous = []
    for fingerprint in ("one", "one", "two"):
        with hold(tmp_path / "s") as held, AnswerStore(held, fingerprint=fingerprint) as store:
            previous.append(store.previous_fingerprint)
    assert previous == ["", "one", "one"]


def test_every_commit_is_forced_to_the_disk(tmp_path):
    with hold(tmp_path / "s") as held, AnswerStore(held, fingerprint="f") as store:
        assert store._db.execute("PRAGMA synchronous").fetchone() == (2,)
        assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_an_answer_is_a_reply_or_a_failure_never_both():
    for fields in ({}, {"text": "timed out", "status": "failed"}, {"text": "A", "status": "skipped"}):
        with pytest.raises(ValueError, match="exactly when its status is 'ok'"):
            Answer(**fields)


# What stands at the place of the store


@pytest.mark.parametrize("content", [b"id,prediction\n1,A\n", b"SQLite format 3\x00" + b"\xff" * 200, b"x" * 5000])
def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path, content):
    (tmp_path / "s").write_bytes(content)
    with pytest.raises(Error, match="not a store of answers"):
        put(tmp_path / "s", {"k": FULL})
    assert (tmp_path / "s").read_bytes() == content


def test_restart_replaces_a_damaged_store(tmp_path):
    (tmp_path / "s").write_bytes(b"x" * 5000)
    put(tmp_path / "s", {"k": FULL}, restart=True)
    assert get(tmp_path / "s", "k") == {"k": FULL}


def test_a_database_of_another_program_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "s") as db:
        db.execute("CREATE TABLE precious (value TEXT)")
    db.close()
    with pytest.raises(Error, match="another program"):
        put(tmp_path / "s", {"k": FULL})


def test_a_store_of_a_newer_version_is_refused(tmp_path):
    put(tmp_path / "s", {"k": FULL})
    with sqlite3.connect(tmp_path / "s") as db:
        db.execute(f"PRAGMA user_version = {STORE_VERSION + 1}")
    db.close()
    with pytest.raises(Error, match=rf"version {STORE_VERSION + 1}; this program knows {STORE_VERSION}\. Upgrade"):
        get(tmp_path / "s", "k")


def test_a_folder_at_its_place_is_refused(tmp_path):
    (tmp_path / "s").mkdir()
    with pytest.raises(Error, match="is not a file"):
        put(tmp_path / "s", {"k": FULL})


def test_an_empty_file_is_a_new_store(tmp_path):
    (tmp_path / "s").touch()
    put(tmp_path / "s", {"k": FULL})
    assert get(tmp_path / "s", "k") == {"k": FULL}


# One process at a time


@pytest.mark.slow
def test_a_second_process_is_refused_and_told_who_holds_the_store(tmp_path):
    code = "import sys, pathlib; from mmscore.llm.cache_lock import hold\nwith hold(pathlib.Path(sys.argv[1])): pass"
    with hold(tmp_path / "s"):
        second = subprocess.run([sys.executable, "-c", code, tmp_path / "s"], capture_output=True, text=True)
    assert f"in use by process {os.getpid()} on " in second.stderr
    assert subprocess.run([sys.executable, "-c", code, tmp_path / "s"]).returncode == 0


def test_nothing_but_the_store_stays_behind(tmp_path):
    put(store_path(tmp_path / "p.parquet"), {"k": FULL})
    assert [file.name for file in tmp_path.iterdir()] == ["p.parquet.answers.sqlite"]


def test_a_killed_holder_keeps_nobody_out_and_its_answers_stand(tmp_path):
    code = """
        import pathlib, sys, time
        from mmscore.llm.response_cache import Answer, AnswerStore
        from mmscore.llm.cache_lock import hold
        with hold(pathlib.Path(sys.argv[1])) as held, AnswerStore(held, fingerprint="f") as store:
            for i in range(1_000_000):
                store.put([(f"{i}:{j}", Answer(str(i))) for j in range(3)])
                print(i, flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "s")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(20):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        acknowledged = 20 + len([line for line in process.stdout if line.endswith("\n")])
    keys = [f"{i}:{j}" for i in range(acknowledged) for j in range(3)]
    assert len(get(tmp_path / "s", *keys)) == len(keys)
    with hold(tmp_path / "s") as held, AnswerStore(held, fingerprint="f") as store:
        assert store.count()["ok"] % 3 == 0  # a batch is there whole or not at all


# Keys

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON, JSON)
def test_keys_are_equal_exactly_when_the_values_are(one, other):
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (build_answer_key(one) == build_answer_key(other)) == same


def test_parts_do_not_run_into_each_other():
    assert build_answer_key("ab", "c") != build_answer_key("a", "bc")
    assert build_answer_key("a") != build_answer_key(["a"])
    assert len(build_answer_key("\ud800")) == 64


def tamper(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM answers; END",
        "CREATE VIEW v AS SELECT * FROM answers",
        "CREATE TABLE other (x)",
        "CREATE INDEX i ON answers (length(answer))",
        "ALTER TABLE answers ADD COLUMN x TEXT DEFAULT 'y'",
    ],
)
def test_a_strangers_schema_is_refused_and_left_alone(tmp_path, statement):
    put(tmp_path / "s", {"k": Answer("A")})
    tamper(tmp_path / "s", statement)
    for share in (False, True):
        with (
            hold(tmp_path / "s", share=share) as held,
            pytest.raises(Error, match="which no store has"),
            AnswerStore(held, fingerprint="f"),
        ):
            pass


@pytest.mark.parametrize(
    "cell",
    [
        "'{'",
        "'[]'",
        "'{\"text\": 5}'",
        '\'{"text": "A", "prompt_tokens": "many"}\'',
        '\'{"text": "A", "token_logprobs": [null]}\'',
        '\'{"text": "A", "status": "failed"}\'',
        "x'00ff'",
        "CAST(x'7bff7d' AS TEXT)",
        "7",
        "'" + "[" * 100_000 + "'",
    ],
    ids=lambda cell: cell[:20],
)
@pytest.mark.parametrize("share", [False, True])
def test_a_damaged_cell_is_asked_again_and_costs_none_beside_it(tmp_path, cell, share):
    put(tmp_path / "s", {"bad": Answer("A"), "good": FULL, "failed": failed("busy")})
    tamper(tmp_path / "s", f"UPDATE answers SET answer = {cell} WHERE key = 'bad'")
    with hold(tmp_path / "s", share=share) as held, AnswerStore(held, fingerprint="f") as store:
        assert store.get(["bad", "good", "failed"]) == {"good": FULL, "failed": failed("busy")}
        assert store.claim(["bad"], 1) == ["bad"]
        store.put([("bad", Answer("B"))])
        assert store.get(["bad"]) == {"bad": Answer("B")}


def test_strange_names_of_processes_and_headers_are_nobodys(tmp_path):
    with hold(tmp_path / "s", share=True) as held, AnswerStore(held, fingerprint="f"):
        pass
    (tmp_path / "s.victim").write_text("kept")
    tamper(
        tmp_path / "s",
        "INSERT INTO members VALUES ('victim'), ('../x'), (x'00')",
        "INSERT INTO claims VALUES ('k', '../../etc/passwd'), ('l', x'00')",
        "UPDATE header SET value = x'00'",
    )
    with hold(tmp_path / "s", share=True) as held, AnswerStore(held, fingerprint="f") as store:
        assert store.previous_fingerprint == ""
        assert store.claim(["k", "l"], 2) == ["k", "l"]
    assert (tmp_path / "s.victim").read_text() == "kept"


@pytest.mark.slow
def test_a_refused_store_says_one_sentence(tmp_path, repository):
    put(tmp_path / "p.parquet.answers.sqlite", {"k": Answer("A")})
    tamper(tmp_path / "p.parquet.answers.sqlite", "CREATE VIEW v AS SELECT * FROM answers")
    files = repository / "src/mmconvert/testing/demo/files/vmcq/colours.tsv"
    subprocess.run([sys.executable, "-m", "mmconvert", "convert", files, "-o", tmp_path / "d", "--quiet"], check=True)
    command = [sys.executable, "-X", "dev", "-m", "mmscore", "predict", tmp_path / "d", "-o", tmp_path / "p.parquet"]
    done = subprocess.run(
        [*command, "--backend", "echo", "--model", "answer", "--quiet"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "which no store has" in done.stderr
    assert "Exception ignored" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("written", "run"),
    [
        ('{"model": "m"}', {"model": "m"}),
        ("[1]", {}),
        ("null", {}),
        (None, {}),
        (json.dumps({"m": "x" * 100_000}), {}),
    ],
)
def test_progress_counts_answers_and_failures_and_names_the_run(tmp_path, written, run):
    put(tmp_path / "s", {"a": Answer("A"), "b": Answer("B"), "c": failed("no image")})
    tamper(tmp_path / "s", "DELETE FROM header WHERE name = 'run'")
    if written is not None:
        tamper(tmp_path / "s", f"INSERT INTO header VALUES ('run', '{written}')")
    progress = read_progress(tmp_path / "s")
    assert (progress.ok, progress.failed, progress.run) == (2, 1, run)
