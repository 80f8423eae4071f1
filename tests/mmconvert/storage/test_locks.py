"""One output, one writer: who is refused, who follows a process that is gone, on this machine and another."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from mmconvert.core.errors import Error
from mmconvert.storage import leases
from mmconvert.storage.atomic import build_temporary_path
from mmconvert.storage.leases import SILENCE, Presence, find_owner, put_once
from mmconvert.storage.locks import occupied
from support.terminal import mmconvert, one_message

HOLDER = """
import sys, time
from pathlib import Path
from mmconvert.storage.locks import occupied
with occupied(Path(sys.argv[1])):
    print("here", flush=True)
    time.sleep(60)
"""

WRITERS = """
import sys, random, os, time
from pathlib import Path
from mmconvert.core.errors import Error
from mmconvert.storage.locks import occupied
place, times = Path(sys.argv[1]), int(sys.argv[2])
done = 0
while done < times:
    try:
        with occupied(place):
            inside = place.with_name("inside")
            with inside.open("x"):
                pass
            if random.random() < 0.1:
                inside.unlink()
                os.kill(os.getpid(), 9)
            inside.unlink()
            done += 1
    except Error as error:
        assert "is writing it" in str(error), error
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "out"


def holder(place: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(place)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "here\n"
    return process


def lock(place: Path) -> Path:
    return place.with_name(f".{place.name}.lock")


def left_by_another_machine(file: Path, seconds_ago: float) -> Presence:
    presence = msgspec.structs.replace(Presence.own(), host="elsewhere", machine="elsewhere boot")
    file.write_bytes(presence.encoded())
    os.utime(file, (time.time() - seconds_ago,) * 2)
    return presence


def test_the_second_is_told_who_the_first_is(place):
    with holder(place) as process:
        with (
            pytest.raises(Error, match=rf"out: process {process.pid} on \S+ since \d{{4}}-\S+ \S+ UTC is writing it\."),
            occupied(place),
        ):
            pass
        process.kill()
    assert lock(place).exists()
    with occupied(place) as held:
        held.check()
    assert os.listdir(place.parent) == []


def test_a_process_that_has_not_been_waited_for_is_gone_too(place):
    with holder(place) as process:
        os.kill(process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with occupied(place):
            pass


def test_a_later_process_of_the_same_number_is_another_one(place):
    lock(place).write_bytes(msgspec.structs.replace(Presence.own(), began="1").encoded())
    with occupied(place):
        pass


@pytest.mark.parametrize("content", [None, b""])
def test_a_process_elsewhere_is_there_as_long_as_it_touches_its_file(place, content):
    left_by_another_machine(lock(place), SILENCE / 2)
    if content is not None:
        lock(place).write_bytes(content)
    with pytest.raises(Error, match=r"is writing it"), occupied(place):
        pass
    os.utime(lock(place), (time.time() - SILENCE - 1,) * 2)
    with occupied(place) as held:
        assert find_owner(held.lock) == held.own
    assert os.listdir(place.parent) == []


def test_whoever_stood_still_for_too_long_publishes_nothing(place):
    with occupied(place) as slow:
        other = left_by_another_machine(lock(place), 0)
        with pytest.raises(Error, match=rf"{other} has taken over, nothing was changed"):
            slow.check()
    assert lock(place).exists()


def test_one_only_follows_and_an_heir_that_died_has_heirs(place):
    first = left_by_another_machine(lock(place), SILENCE + 1)
    heir = lock(place).with_name(f"{lock(place).name}.{first.token}")
    left_by_another_machine(heir, 0)
    with pytest.raises(Error, match="is writing it"), occupied(place):
        pass
    os.utime(heir, (time.time() - SILENCE - 1,) * 2)
    with occupied(place):
        assert {file.name for file in place.parent.iterdir()} == {lock(place).name}


def test_those_who_share_wait_for_each_other(place):
    order = []

    def second() -> None:
        with occupied(place, sharing=True):
            order.append("second")

    thread = threading.Thread(target=second)
    with occupied(place, sharing=True):
        thread.start()
        with pytest.raises(Error, match="is writing it"), occupied(place):
            pass
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_without_hard_links_one_only_makes_a_file(tmp_path, monkeypatch):
    def none(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", none)
    assert put_once(tmp_path / "a", b"1")
    assert not put_once(tmp_path / "a", b"2")
    assert (tmp_path / "a").read_bytes() == b"1"


@pytest.mark.slow
def test_never_two_inside_however_they_die(place):
    for _ in range(3):
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITERS, str(place), "30"], stderr=subprocess.PIPE)
            for _ in range(3)
        ]
        for writer in writers:
            _, error = writer.communicate(timeout=60)
            assert writer.returncode in (0, -9), error.decode()
    with occupied(place):
        pass
    assert os.listdir(place.parent) == []


def test_a_second_convert_or_export_is_told_who_writes(place, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"messages": [{"role": "user", "content": "q"}], "answer": "a"}\n')
    assert mmconvert("convert", tmp_path / "in.jsonl", "-o", place).code == 0
    exported = tmp_path / "again.jsonl"
    for output, *command in (
        (place, "convert", tmp_path / "in.jsonl", "--overwrite", "-o"),
        (exported, "export", place, "--to", "openai_messages", "-o"),
    ):
        with holder(output) as process:
            ended = mmconvert(*command, output)
            assert ended.code == 1
            assert f"{output}: process {process.pid} on " in one_message(ended)
            process.kill()
        assert mmconvert(*command, output).code == 0


@pytest.mark.parametrize("name", ["lock", "temporary"])
def test_links_at_the_names_of_locks_lead_nowhere(tmp_path, name):
    victim = tmp_path / "id_rsa"
    victim.write_text("kept")
    os.utime(victim, (1, 1))
    lock = tmp_path / ".out.lock"
    link = lock if name == "lock" else build_temporary_path(lock)
    link.symlink_to(victim)
    with occupied(tmp_path / "out"):
        assert not link.is_symlink()
    assert victim.read_text() == "kept"


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"host": "a"}'])
def test_a_file_without_a_whole_content_names_nobody(data: bytes) -> None:
    presence = Presence.read(data)
    assert (presence.host, presence.pid, presence.machine, presence.token) == ("", 0, "", "")
    assert str(presence) == "another process"


def test_where_no_processes_are_seen_a_touch_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "SEES_PROCESSES", False)
    gone = msgspec.structs.replace(Presence.own(), pid=2**22 + 1)
    file = tmp_path / "lock"
    file.write_bytes(gone.encoded())
    assert find_owner(file) == gone
    silent = time.time() - SILENCE - 1
    os.utime(file, (silent, silent))
    assert find_owner(file) is None


def test_a_file_is_touched_by_its_path_where_no_handle_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "supports_fd", frozenset())
    monkeypatch.setattr(leases, "_PULSE", 0.01)
    file = tmp_path / "lock"
    file.touch()
    os.utime(file, (0, 0))
    end = time.monotonic() + 30
    with leases.kept_alive(file):
        while file.stat().st_mtime == 0 and time.monotonic() < end:
            time.sleep(0.01)
    assert file.stat().st_mtime > 0
