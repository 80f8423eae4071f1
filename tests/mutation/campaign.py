"""Runs mutants against the tests that reach them, some at the same time, and keeps what came of each."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue

import msgspec

from mutation.lanes import FAILED, PASSED, TIMED_OUT, Lane
from mutation.mutants import ROOMS, Change, Mutant
from mutation.reach import Reach

KILLED, SURVIVED, EXPLAINED = "killed", "survived", "explained"
NAMES = {FAILED: KILLED, PASSED: SURVIVED, TIMED_OUT: TIMED_OUT}
START = 30.0
"""Seconds that a run gets beside those of its tests."""
SLOWER = 4.0
"""How many times as long as measured the tests of a mutant may take."""


class Result(msgspec.Struct, frozen=True):
    """What came of a mutant.

    Attributes:
        change: What it is.
        outcome: KILLED, SURVIVED or TIMED_OUT.
        seconds: Of the run.
        tests: How many tests reach it.
    """

    change: Change
    outcome: str
    seconds: float
    tests: int


class Survivor(msgspec.Struct, frozen=True):
    """A mutant that no test can or should notice, and why."""

    change: Change
    reason: str


def read_results(file: Path) -> dict[Change, Result]:
    """Read the results of runs before; a line that was cut off by their end is left out."""
    found = {}
    for line in file.read_bytes().splitlines() if file.is_file() else ():
        try:
            result = msgspec.json.decode(line, type=Result)
        except msgspec.DecodeError:
            continue
        found[result.change] = result
    return found


def run_mutants(
    mutants: Iterable[Mutant], reach: Reach, lanes: list[Lane], file: Path, say: Callable[[Result], None]
) -> None:
    """Run mutants, as many at the same time as there are lanes, and add a line to the file for each.

    Args:
        mutants: Those to run.
        reach: Which tests to run.
        lanes: Copies of the checkout.
        file: JSON Lines of results.
        say: Called with each result.
    """
    free: SimpleQueue[Lane] = SimpleQueue()
    for lane in lanes:
        free.put(lane)

    def run(mutant: Mutant) -> Result:
        tests = reach.choose_tests(mutant)
        if not tests:
            return Result(mutant.change, SURVIVED, 0.0, 0)
        lane = free.get()
        try:
            limit = START + SLOWER * sum(reach.seconds[test] for test in tests)
            ran = lane.run_mutant(mutant.change.file, mutant.code, tests, limit)
        finally:
            free.put(lane)
        return Result(mutant.change, NAMES[ran.outcome], round(ran.seconds, 1), len(tests))

    with ThreadPoolExecutor(len(lanes)) as pool, file.open("ab") as kept:
        kept.write(b"\n")  # after a line that was cut off
        for done in as_completed([pool.submit(run, mutant) for mutant in mutants]):
            result = done.result()
            kept.write(msgspec.json.encode(result) + b"\n")
            kept.flush()
            say(result)


def read_survivors(file: Path) -> dict[Change, str]:
    """Read the list of survivors with their reasons."""
    return {one.change: one.reason for one in msgspec.json.decode(file.read_bytes(), type=list[Survivor])}


def count_outcomes(results: Iterable[Result], explained: Mapping[Change, str]) -> dict[str, Counter[str]]:
    """Count outcomes by room; survivors with a reason are counted as EXPLAINED beside."""
    counts: dict[str, Counter[str]] = {room: Counter() for room in ROOMS}
    for result in results:
        counts[result.change.room][result.outcome] += 1
        counts[result.change.room][EXPLAINED] += result.outcome == SURVIVED and result.change in explained
    return counts


def write_survivors(file: Path, survivors: Mapping[Change, str]) -> None:
    """Write the list of survivors, in order of files and functions."""
    ordered = sorted(survivors.items(), key=lambda one: msgspec.structs.astuple(one[0]))
    lines = [json.dumps({"change": msgspec.to_builtins(change), "reason": reason}) for change, reason in ordered]
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")
