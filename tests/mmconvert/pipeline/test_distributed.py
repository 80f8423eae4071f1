"""Processes that share one conversion write what one alone writes, whoever of them is killed."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mmconvert.core.errors import Error, UsageError
from mmconvert.dataset.verify import verify
from mmconvert.pipeline import distributed, parts
from mmconvert.pipeline.convert import ReadOptions, Summary, WriteOptions, convert
from mmconvert.pipeline.inputs import Input, plan_inputs
from mmconvert.storage.leases import Presence
from support import slow_parts

pytestmark = pytest.mark.slow

PARTS = 52
SHARED = WriteOptions(share=True)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of `PARTS` parts, with rows that repeat an id of another part and rows that are refused."""
    file = tmp_path / "in.jsonl"
    rows: list[Any] = [
        {"id": str(n % 180), "messages": [{"role": "user", "content": f"question {n:04d}" + "x" * 150}], "answer": "a"}
        for n in range(190)
    ]
    rows[40:40] = [{"messages": "none"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    monkeypatch.setattr(parts, "SMALL_FILE", slow_parts.PART_BYTES)
    monkeypatch.setattr(parts, "PART_BYTES", slow_parts.PART_BYTES)
    return file


@pytest.fixture
def alone(source: Path, tmp_path: Path) -> dict[str, bytes]:
    convert([Input(source)], tmp_path / "alone/d", ReadOptions(), WriteOptions())
    return contents(tmp_path / "alone")


def contents(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def started(source: Path, output: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, slow_parts.__file__, str(source), "-o", str(output), "--share", "--json", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, error = process.communicate(timeout=120)
    assert process.returncode == 3, error
    return json.loads(out)


def begun(output: Path) -> int:
    return len(list(output.parent.glob(f".{output.name}.share/parts/*.json")))


def wait_for(parts_done: int, output: Path) -> None:
    deadline = time.monotonic() + 60
    while begun(output) < parts_done and not output.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def shared(source: Path, output: Path, **how: Any) -> Summary:
    return convert([Input(source)], output, ReadOptions(**how), SHARED)


def someone(output: Path, plan_of: dict[str, Any] | None = None) -> Presence:
    """Somebody of this machine, alive, who shares the work on an output."""
    output.parent.mkdir(exist_ok=True)
    share = distributed.join(output, plan_of or {})
    [file] = output.parent.glob(f".{output.name}.share/members/*")
    assert share.stands
    return Presence.read(file.read_bytes())


def test_two_processes_write_what_one_writes(source, alone, tmp_path):
    output = tmp_path / "two/d"
    first, second = started(source, output), started(source, output)
    told = [ended(first), ended(second)]
    assert contents(output.parent) == alone
    assert verify(output) == []
    assert {one["rows_written"] for one in told} == {180}
    assert {one["rows_rejected"] for one in told} == {11}
    assert sorted("another process has written it" in str(one["warnings"]) for one in told) == [False, True]


def test_each_part_is_converted_once(source, tmp_path, monkeypatch):
    output = tmp_path / "two/d"
    process = started(source, output)
    wait_for(3, output)
    own = []
    monkeypatch.setattr(distributed, "convert_part", lambda part: own.append(part.index) or parts.convert_part(part))
    shared(source, output)
    ended(process)
    assert 0 < len(own) < 40
    # Parts with an id of an earlier one are converted again by whoever publishes.
    assert len(set(own)) == len(own)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.release)])
@pytest.mark.release
def test_one_that_is_killed_at_any_moment_is_followed(seed, source, alone, tmp_path):
    chance, output = random.Random(seed), tmp_path / "killed/d"
    first, second = started(source, output), started(source, output, "--workers", "2")
    wait_for(chance.randrange(1, 36), output)
    time.sleep(chance.random() * slow_parts.SECONDS)
    first.kill()
    ended(second)
    first.communicate()
    assert contents(output.parent) == alone


@pytest.mark.release
@pytest.mark.parametrize("seed", range(30))
def test_of_many_some_are_killed_and_some_come_late(seed, source, alone, tmp_path):
    chance, output = random.Random(seed), tmp_path / "many/d"
    processes = [started(source, output) for _ in range(4)]
    for victim in processes[:2]:
        wait_for(chance.randrange(1, PARTS), output)
        time.sleep(chance.random() * slow_parts.SECONDS)
        victim.kill()
        processes.append(started(source, output))
    for process in processes[2:]:
        assert ended(process)["rows_written"] == 180
    for victim in processes[:2]:
        victim.communicate()
    assert contents(output.parent) == alone
    assert verify(output) == []


@pytest.mark.release
def test_when_all_are_killed_a_new_one_goes_on(source, alone, tmp_path, monkeypatch):
    output = tmp_path / "killed/d"
    processes = [started(source, output), started(source, output)]
    wait_for(10, output)
    for process in processes:
        process.kill()
    for process in processes:
        process.communicate()
    done = begun(output)
    own = []
    monkeypatch.setattr(distributed, "convert_part", lambda part: own.append(part.index) or parts.convert_part(part))
    shared(source, output)
    assert len(own) == PARTS - done
    assert contents(output.parent) == alone


@pytest.mark.release
def test_a_machine_that_is_silent_is_followed_and_may_come_back(source, alone, tmp_path):
    output = tmp_path / "silent/d"
    with started(source, output) as process:
        wait_for(5, output)
        process.send_signal(19)
        [member] = output.parent.glob(".d.share/members/*")
        elsewhere = msgspec.structs.replace(Presence.read(member.read_bytes()), machine="elsewhere")
        member.write_bytes(elsewhere.encoded())
        os.utime(member, (0, 0))
        assert shared(source, output).rows_written == 180
        assert contents(output.parent) == alone
        process.send_signal(18)
        assert ended(process)["rows_written"] == 180
    assert contents(output.parent) == alone


def test_who_comes_late_finds_it_done(source, tmp_path):
    first = shared(source, tmp_path / "late/d")
    late = shared(source, tmp_path / "late/d")
    for name in ("format", "rows_read", "rows_written", "rows_rejected", "splits", "rejects", "output"):
        assert getattr(late, name) == getattr(first, name)
    with pytest.raises(UsageError, match="already exists"):
        shared(source, tmp_path / "late/d", task="caption")
    assert sorted(os.listdir(tmp_path / "late")) == ["d", "d.rejects.jsonl"]


OWN_WORDING = "from mmconvert.core.text.prompt_parts import put_images_first\n\n\ndef word(record):\n"


@pytest.mark.release
def test_a_step_of_ones_own_that_was_edited_is_another_one(source, tmp_path):
    step = tmp_path / "own.py"
    for word in ("red", "tan"):
        step.write_text(f"{OWN_WORDING}    return put_images_first({word!r}, ())\n")
        if word == "red":
            shared(source, tmp_path / "edited/d", prompt=f"{step}@word")
    with pytest.raises(UsageError, match="already exists"):
        shared(source, tmp_path / "edited/d", prompt=f"{step}@word")


@pytest.mark.release
def test_a_run_alone_is_refused_while_others_share_and_clears_up_after_them(source, alone, tmp_path):
    output = tmp_path / "mixed/d"
    member = someone(output)
    with pytest.raises(Error, match=rf"{member} shares it\. Give --share too"):
        convert([Input(source)], output, ReadOptions(), WriteOptions())
    [file] = output.parent.glob(".d.share/members/*")
    file.unlink()
    convert([Input(source)], output, ReadOptions(), WriteOptions())
    assert contents(output.parent) == alone


@pytest.mark.release
def test_those_who_want_something_else_are_refused_as_long_as_somebody_is_there(source, alone, tmp_path):
    output = tmp_path / "other/d"
    member = someone(output, {"view": "sft"})
    with pytest.raises(Error, match=rf"{member} converts something else into it \(other files, .*view"):
        shared(source, output)
    [file] = output.parent.glob(".d.share/members/*")
    file.unlink()
    shared(source, output)
    assert contents(output.parent) == alone


@pytest.mark.release
def test_a_file_that_is_refused_leaves_nothing_that_stands_in_the_way(source, alone, tmp_path):
    output = tmp_path / "bad/d"
    with pytest.raises(Error, match="--max-rows"):
        shared(source, output, max_rows=50)
    assert not output.exists()
    shared(source, output)
    assert contents(output.parent) == alone


@pytest.mark.parametrize("options", [["--overwrite"], ["--append"], ["--push", "user/repo"]])
def test_what_each_process_would_do_is_not_shared(options, source, tmp_path, capsys):
    from mmconvert.cli import program
    from mmconvert.console.app import run

    with pytest.raises(SystemExit) as told:
        run(program, ["convert", str(source), "-o", str(tmp_path / "d"), "--share", *options], program="mmconvert")
    assert (told.value.code, "exclude each other" in capsys.readouterr().err) == (2, True)


@pytest.mark.release
def test_several_files_and_splits_are_shared(source, tmp_path):
    (tmp_path / "more.jsonl").write_text(source.read_text(), encoding="utf-8")
    inputs = plan_inputs([f"train={source}", f"dev={tmp_path / 'more.jsonl'}"])
    convert(inputs, tmp_path / "one/d", ReadOptions(), WriteOptions(config="zh"))
    convert(inputs, tmp_path / "many/d", ReadOptions(), WriteOptions(config="zh", share=True, workers=3))
    assert contents(tmp_path / "one") == contents(tmp_path / "many")
