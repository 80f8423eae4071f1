"""Progress: a bar on a terminal, lines now and then elsewhere, nothing when quiet; always on stderr."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mmconvert.core import progress as module
from mmconvert.core.progress import Done, Pace, show_progress
from support.terminal import on_a_terminal

SLOW = """
import time
from dataclasses import replace
from mmconvert.plugins.registry import load
FORMAT = load("mmconvert.formats", "openai_messages")
def records(row, context):
    time.sleep(0.012)
    return FORMAT.records(row, context)
SLOW = replace(FORMAT, records=records)
"""


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test turns."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("quiet", [False, True])
def test_a_log_gets_lines_more_rarely_the_longer_it_takes_and_a_quiet_run_none(clock, capsys, quiet):
    with show_progress("predict", quiet=quiet) as advance:
        for second in range(1, 1001):
            clock[0] = float(second)
            advance(Done(second, total=1000, note="1 failed" if second > 500 else ""))
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.splitlines()
    assert lines[:2] == (
        []
        if quiet
        else [
            "predict: 0%, 5 of 1,000 rows, 1 rows/s, 16 min 35 s left",
            "predict: 1%, 10 of 1,000 rows, 1 rows/s, 16 min 30 s left",
        ]
    )
    assert quiet or (lines[-1].endswith("left, 1 failed") and 20 < len(lines) < 60)
    assert all(line.isprintable() for line in lines)


def test_rows_that_stood_already_do_not_count_for_the_pace(clock):
    pace = Pace()
    pace.take(Done(900, total=1000, fresh=0))
    clock[0] = 10.0
    pace.take(Done(950, total=1000, fresh=50))
    assert str(pace) == "950 of 1,000 rows, 5 rows/s, 10 s left"


def test_a_share_of_the_work_gives_the_time_left_where_nobody_knows_the_rows(clock):
    pace = Pace()
    clock[0] = 2.0
    pace.take(Done(300, 40_000_000, share=0.25))
    assert str(pace) == "300 rows, 150 rows/s, 20 MB/s, 6 s left"
    clock[0] = 4.0
    pace.take(Done(600, 80_000_000))
    assert str(pace) == "600 rows, 150 rows/s, 20 MB/s"


def test_the_pace_is_that_of_the_last_half_minute(clock):
    pace = Pace()
    for second in range(1, 101):
        clock[0] = float(second)
        pace.take(Done(second if second <= 50 else 50 + 10 * (second - 50), total=10_000))
    assert ", 10 rows/s, " in str(pace)


def test_another_file_begins_anew(clock):
    pace = Pace("verdicts")
    clock[0] = 10.0
    pace.take(Done(100, total=100))
    pace.take(Done(0, total=50))
    clock[0] = 12.0
    pace.take(Done(4, total=50))
    assert str(pace) == "4 of 50 verdicts, 2 verdicts/s, 23 s left"


def test_another_round_does_not_count_the_work_of_the_one_before(clock):
    pace = Pace()
    clock[0] = 10.0
    pace.take(Done(100, total=100, fresh=100))
    pace.take(Done(50, total=100, fresh=100))
    clock[0] = 20.0
    pace.take(Done(60, total=100, fresh=110))
    assert str(pace) == "60 of 100 rows, 1 rows/s, 40 s left"


def slow_conversion(tmp_path: Path) -> list[str]:
    rows = [{"id": str(n), "messages": [{"role": "user", "content": f"q{n}?"}], "answer": "a"} for n in range(100)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "slow.py").write_text(SLOW)
    return ["convert", f"{tmp_path}/rows.jsonl", "-o", f"{tmp_path}/out", "--format", f"{tmp_path}/slow.py@SLOW"]


@pytest.mark.slow
def test_a_terminal_gets_a_bar_that_goes_away_and_standard_output_only_the_result(tmp_path):
    ended = on_a_terminal("mmconvert", *slow_conversion(tmp_path), "--json")
    assert ended.code == 0
    assert json.loads(ended.out)["rows_written"] == 100
    for words in ("convert ", "\N{BOX DRAWINGS HEAVY HORIZONTAL}", "%", " rows/s, ", " s left"):
        assert words in ended.err
    assert ended.err.endswith("\x1b[1A\x1b[2K")  # the line of the bar is cleared


@pytest.mark.parametrize(("more", "term"), [(["--quiet"], "xterm"), ([], "dumb")])
@pytest.mark.slow
def test_a_quiet_run_and_a_terminal_that_cannot_move_its_cursor_get_no_bar(tmp_path, more, term):
    ended = on_a_terminal("mmconvert", *slow_conversion(tmp_path), *more, term=term)
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.slow
def test_without_a_terminal_rich_is_not_loaded(tmp_path):
    arguments = slow_conversion(tmp_path)
    code = (
        "import sys\n"
        "from mmconvert.cli import program\n"
        f"program.main({arguments!r}, standalone_mode=False)\n"
        "print('rich' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ})
    assert (ended.stdout.splitlines()[-1], ended.stderr) == ("False", "")
