"""Mutants are drawn by a seed, run in copies of the checkout, and what survives without a reason is named."""

import ast
import subprocess
from pathlib import Path

import msgspec
import pytest

pytestmark = pytest.mark.release

for package in ("mutmut", "pytest_cov", "resource"):
    pytest.importorskip(package, reason="needs scripts/setup --release, on Linux or macOS")

from mutation.campaign import (  # noqa: E402
    EXPLAINED,
    KILLED,
    SURVIVED,
    Result,
    count_outcomes,
    read_results,
    run_mutants,
)
from mutation.lanes import TIMED_OUT, Lane  # noqa: E402
from mutation.mutants import Change, draw_mutants  # noqa: E402
from mutation.reach import find_statement, measure_reach  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
FILE = "src/mmscore/parsers/half.py"
CODE = '''"""Halves."""

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from fractions import Fraction

LEAST = 2


def find_half(number: "Fraction | int") -> int:
    """Halve a number."""
    if number < LEAST:
        raise ValueError(f"{number} is too small: give 2 or more")
    return cast("int", number) // 2


def find_quarter(number: int) -> int:
    return number // 4
'''
TESTS = """
import pytest
from mmscore.parsers.half import find_half

def test_a_half():
    assert [find_half(number) for number in (2, 3, 9)] == [1, 1, 4]

def test_a_small_number():
    with pytest.raises(ValueError):
        find_half(1)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with one room."""
    root = tmp_path / "checkout"
    for name, text in {
        FILE: CODE,
        "tests/mmscore/parsers/test_half.py": TESTS,
        "src/mmscore/__init__.py": "",
        "src/mmscore/parsers/__init__.py": "",
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\n',
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    recorder = root / "tests/mutation/recorder.py"
    recorder.parent.mkdir(parents=True)
    recorder.write_bytes((ROOT / "tests/mutation/recorder.py").read_bytes())
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def list_changes(root: Path, seed: str = "1") -> list[Change]:
    return [mutant.change for mutant in draw_mutants(root, 1000, seed)]


def test_the_seed_decides_what_is_drawn(checkout: Path) -> None:
    drawn = list_changes(checkout)
    assert drawn == list_changes(checkout)
    assert drawn != list_changes(checkout, "2")
    assert {*drawn} == {*list_changes(checkout, "2")}
    assert drawn[:3] == [mutant.change for mutant in draw_mutants(checkout, 3, "1")]


def test_what_is_drawn_stays_where_other_functions_change(checkout: Path) -> None:
    before = list_changes(checkout)
    (checkout / FILE).write_text(CODE.replace("LEAST = 2", "# Least.\n\nLEAST = 2"), encoding="utf-8")
    assert list_changes(checkout) == before
    (checkout / FILE).write_text(f"{CODE}\n\ndef find_eighth(number):\n    return number // 8\n", encoding="utf-8")
    after = list_changes(checkout)
    assert [change for change in after if change.function != "find_eighth"] == before
    assert len(after) > len(before)


def test_every_mutant_compiles_and_is_another_program(checkout: Path) -> None:
    mutants = list(draw_mutants(checkout, 1000, "1"))
    assert len({mutant.code for mutant in mutants}) == len({mutant.change for mutant in mutants}) == len(mutants)
    assert all(ast.dump(ast.parse(mutant.code)) != ast.dump(ast.parse(CODE)) for mutant in mutants)


def test_what_no_test_should_notice_is_not_drawn(checkout: Path) -> None:
    found = list_changes(checkout)
    assert [(one.function, one.before, one.after) for one in found if one.function == "find_quarter"] != []
    changed = {one.before for one in found}
    assert changed == {
        "LEAST = 2",
        "if number < LEAST:",
        'return cast("int", number) // 2',
        "return number // 4",
    }


@pytest.mark.slow
def test_mutants_run_beside_the_checkout_and_each_gets_its_outcome(checkout: Path, tmp_path: Path) -> None:
    lanes = [Lane(checkout, tmp_path / f"lane-{number}") for number in range(2)]
    for lane in lanes:
        lane.copy()
    reach = measure_reach(checkout, lanes[0], tmp_path / "reach.json", 1)
    mutants = list(draw_mutants(checkout, 1000, "1"))
    run_mutants(mutants, reach, lanes, tmp_path / "results.jsonl", lambda _: None)
    outcomes = {change: one.outcome for change, one in read_results(tmp_path / "results.jsonl").items()}
    assert outcomes.keys() == {mutant.change for mutant in mutants}
    # Nobody tests the quarter; all else is tested.
    assert {change.function for change, outcome in outcomes.items() if outcome == SURVIVED} == {"find_quarter"}
    assert {change.function for change, outcome in outcomes.items() if outcome == KILLED} == {"", "find_half"}
    assert (checkout / FILE).read_text(encoding="utf-8") == CODE
    assert {(lane.tree / FILE).read_text(encoding="utf-8") for lane in lanes} == {CODE}


@pytest.mark.slow
def test_a_mutant_that_does_not_end_is_ended(checkout: Path, tmp_path: Path) -> None:
    lane = Lane(checkout, tmp_path / "lane")
    lane.copy()
    endless = CODE.replace("    if number < LEAST:", "    while True:\n        pass\n    if number < LEAST:")
    ran = lane.run_mutant(FILE, endless, ["tests/mmscore/parsers/test_half.py::test_a_half"], limit=3)
    assert ran.outcome == TIMED_OUT
    assert ran.seconds < 20


@pytest.mark.slow
def test_only_changed_tests_are_measured_again(checkout: Path, tmp_path: Path) -> None:
    lane, kept = Lane(checkout, tmp_path / "lane"), tmp_path / "reach.json"
    (quarter,) = (m for m in draw_mutants(checkout, 1000, "1") if m.change.after == "return number // 5")
    (half,) = (m for m in draw_mutants(checkout, 1000, "1") if m.change.after == "if number <= LEAST:")
    lane.copy()
    before = measure_reach(checkout, lane, kept, 1)
    place = "tests/mmscore/parsers/test_half.py"
    assert before.choose_tests(half) == sorted(before.seconds, key=lambda test: before.seconds[test])
    added = "from mmscore.parsers.half import find_quarter\n\ndef test_a_quarter():\n    assert find_quarter(8) == 2\n"
    (checkout / "tests/mmscore/parsers/test_quarter.py").write_text(added, encoding="utf-8")
    lane.copy()
    after = measure_reach(checkout, lane, kept, 1)
    assert after.choose_tests(quarter)[0] == "tests/mmscore/parsers/test_quarter.py::test_a_quarter"
    assert {test: after.seconds[test] for test in before.seconds} == before.seconds
    # Lines that moved keep their tests.
    (checkout / FILE).write_text(CODE.replace("LEAST = 2", "# Least.\nLEAST = 2"), encoding="utf-8")
    lane.copy()
    moved = measure_reach(checkout, lane, kept, 1)
    assert moved.lines[FILE] == {line + (line >= 8): tests for line, tests in after.lines[FILE].items()}
    (checkout / place).unlink()
    lane.copy()
    assert measure_reach(checkout, lane, kept, 1).seconds.keys() == after.seconds.keys() - before.seconds.keys()


def test_the_statement_of_a_line() -> None:
    code = "A = [\n  1,\n]\n\ndef f(\n  x=1,\n):\n  if x:\n    y = (\n      2)\n  else:\n    y = 3\n  return y\n"
    found = {line: [*find_statement(code, line)] for line in (2, 6, 8, 10, 12, 13)}
    assert found == {2: [], 6: [], 8: [8], 10: [9, 10], 12: [12], 13: [13]}


def test_a_line_that_was_cut_off_is_run_again(tmp_path: Path) -> None:
    result = Result(Change(FILE, "find_half", "a", "b"), KILLED, 1.0, 2)
    file = tmp_path / "results.jsonl"
    file.write_bytes(msgspec.json.encode(result) + b'\n{"change":{"file":')
    assert read_results(file) == {result.change: result}


def test_survivors_with_a_reason_are_counted_apart() -> None:
    changes = [Change(FILE, "f", "a", str(number)) for number in range(3)]
    results = [Result(change, SURVIVED, 1.0, 2) for change in changes[:2]] + [Result(changes[2], KILLED, 1.0, 2)]
    counts = count_outcomes(results, {changes[0]: "equal", changes[2]: "was not seen before"})
    assert counts["mmscore/parsers"] == {SURVIVED: 2, KILLED: 1, EXPLAINED: 1}
