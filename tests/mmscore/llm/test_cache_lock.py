"""One process alone, or several that share: who gets in, who is alive, and what stays behind."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from mmconvert.core.errors import Error
from mmscore.llm.cache_lock import Held, hold
from mmscore.llm.response_cache import Answer, AnswerStore, failed

ROWS = [f"row {i}" for i in range(6)]


def opened(held: Held) -> AnswerStore:
    return AnswerStore(held, fingerprint="f")


def test_those_who_share_get_in_together_and_nobody_else(tmp_path):
    with hold(tmp_path / "s", share=True) as one, hold(tmp_path / "s", share=True) as other:
        assert one.member != other.member
        with pytest.raises(Error, match=f"in use by process {os.getpid()}"), hold(tmp_path / "s"):
            pass
    with hold(tmp_path / "s") as alone:
        assert alone.member == ""
        with pytest.raises(Error, match="in use by"), hold(tmp_path / "s", share=True):
            pass
    assert list(tmp_path.iterdir()) == []


def test_turns_exclude_each_other(tmp_path):
    done = []
    with hold(tmp_path / "s", share=True) as one, hold(tmp_path / "s", share=True) as other:

        def second() -> None:
            with other.turn():
                done.append("second")

        with one.turn():
            thread = threading.Thread(target=second)
            thread.start()
            time.sleep(0.05)
            done.append("first")
        thread.join()
    assert done == ["first", "second"]


def test_a_row_is_claimed_by_one_of_them(tmp_path):
    with (
        hold(tmp_path / "s", share=True) as held,
        hold(tmp_path / "s", share=True) as too,
        opened(held) as one,
        opened(too) as other,
    ):
        assert one.claim(ROWS, 2) == ROWS[:2]
        assert other.claim(ROWS, 3) == ROWS[2:5]
        assert one.claim(ROWS, 9) == ROWS[5:]
        assert other.look_up_claims(ROWS) == (set(ROWS), set())


def test_answered_rows_are_not_claimed_and_failed_ones_not_in_this_session(tmp_path):
    with hold(tmp_path / "s", share=True) as held, opened(held) as one:
        one.claim(ROWS, 2)
        with hold(tmp_path / "s", share=True) as too, opened(too) as other:
            one.put([(ROWS[0], Answer("A")), (ROWS[1], failed("busy"))])
            assert other.look_up_claims(ROWS) == (set(), {ROWS[1]})
            assert other.claim(ROWS, 9) == ROWS[2:]
        # Whoever leaves in order gives up what it had claimed.
        assert one.claim(ROWS, 9) == ROWS[2:]
    with hold(tmp_path / "s", share=True) as held, opened(held) as later:
        assert later.claim(ROWS, 9) == ROWS[1:]


def test_alone_every_row_is_there_to_take(tmp_path):
    with hold(tmp_path / "s") as held, opened(held) as store:
        assert store.claim(ROWS, 2) == store.claim(ROWS, 2) == ROWS[:2]
        assert store.look_up_claims(ROWS) == (set(), set())


CLAIMS_AND_WAITS = """
    import pathlib, sys, time
    from mmscore.llm.response_cache import AnswerStore
    from mmscore.llm.cache_lock import hold
    with hold(pathlib.Path(sys.argv[1]), share=True) as held, AnswerStore(held, fingerprint="f") as store:
        store.claim(sys.argv[2:], 2)
        print("claimed", flush=True)
        time.sleep(60)
"""


def claimed_elsewhere(path: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", textwrap.dedent(CLAIMS_AND_WAITS), str(path), *ROWS]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "claimed\n"
    return process


def test_the_claims_of_a_process_that_was_killed_are_taken_over(tmp_path):
    with hold(tmp_path / "s", share=True) as held, opened(held) as store:
        process = claimed_elsewhere(tmp_path / "s")
        assert store.claim(ROWS, 1) == ROWS[2:3]
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert store.look_up_claims(ROWS)[0] == set(ROWS[2:3])
        assert store.claim(ROWS, 9) == [*ROWS[:2], *ROWS[3:]]
    assert [file.name for file in tmp_path.iterdir()] == ["s"]


def test_a_killed_process_keeps_nobody_out(tmp_path):
    process = claimed_elsewhere(tmp_path / "s")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with hold(tmp_path / "s") as held, opened(held):
        pass
    with hold(tmp_path / "s", share=True) as held, opened(held) as store:
        assert store.claim(ROWS, 9) == ROWS
    assert [file.name for file in tmp_path.iterdir()] == ["s"]


@pytest.mark.parametrize(("name", "share"), [("lock", False), ("lock", True), ("turn", True)])
def test_a_lock_that_is_a_link_is_refused_and_its_target_kept(tmp_path, name, share):
    victim = tmp_path / "id_rsa"
    victim.write_text("kept")
    (tmp_path / f"s.{name}").symlink_to(victim)
    with (
        pytest.raises(Error, match=r"symbolic link"),
        hold(tmp_path / "s", share=share) as held,
        AnswerStore(held, fingerprint="f"),
    ):
        pass
    assert victim.read_text() == "kept"
