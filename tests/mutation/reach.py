"""Which tests run which lines: measured once, so that a mutant is run against the tests that could notice it."""

import ast
import hashlib
import itertools
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec
from coverage import CoverageData

from mutation.lanes import Lane, list_tracked
from mutation.mutants import ROOMS, Mutant

MOST_SECONDS = 30.0
"""Seconds of tests that a mutant is run against; those beyond start servers or models, and could only kill more."""
BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Lines = dict[str, dict[int, list[str]]]
"""File -> line -> tests that run it."""
SETTINGS = """[run]
source_dirs =
{}
data_file = {}
"""


class Reach(msgspec.Struct):
    """Tests of each line.

    Attributes:
        code: Digest of all sources.
        tests: Digest of each file of tests.
        seconds: Of each test that passes.
        lines: File -> line -> tests that run it. What runs when a module is imported has none.
    """

    code: str = ""
    tests: dict[str, str] = {}
    seconds: dict[str, float] = {}
    lines: Lines = {}

    def forget(self, files: Collection[str]) -> None:
        """Leave out the tests of some files."""
        self.seconds = {test: seconds for test, seconds in self.seconds.items() if test.partition("::")[0] not in files}
        for found in self.lines.values():
            for line, tests in found.items():
                found[line] = [test for test in tests if test in self.seconds]

    def add(self, seconds: Mapping[str, float], lines: Lines) -> None:
        """Add tests that were run."""
        self.seconds |= seconds
        for file, found in lines.items():
            known = self.lines.setdefault(file, {})
            for line, tests in found.items():
                known[line] = [*known.get(line, ()), *tests]

    def choose_tests(self, mutant: Mutant) -> list[str]:
        """Choose the tests of a mutant, quick ones first, up to MOST_SECONDS: those that run its statement.

        Where the statement runs when the module is imported, or in processes of their own, these are the tests that run
        anything of the file, else all of the room.
        """
        found = self.lines.get(mutant.change.file, {})
        lines = find_statement(mutant.code, mutant.line)
        tests = {test for line in lines for test in found.get(line, ())} or {
            test for tests in found.values() for test in tests
        }
        tests = tests or {test for test in self.seconds if test.startswith(f"tests/{mutant.change.room}/")}
        ordered = sorted(tests, key=lambda test: (self.seconds[test], test))
        ends = itertools.accumulate(self.seconds[test] for test in ordered)
        return [test for test, end in zip(ordered, ends, strict=True) if end <= MOST_SECONDS]


def find_statement(code: str, line: int) -> range:
    """Find the lines of the smallest statement around a line, or of its head where it has a body.

    Returns:
        Lines; none for what runs when the module is imported.
    """
    found, inside = range(0), False
    parts: list[ast.AST] = [*ast.parse(code).body]
    while around := next((part for part in parts if line in _list_lines(part)), None):
        parts = [part for name in BODIES for part in getattr(around, name, ())]
        end = min((_list_lines(part).start for part in parts), default=_list_lines(around).stop)
        found = range(_list_lines(around).start, max(end, line + 1))
        inside |= isinstance(around, FUNCTIONS) and line >= end
    return found if inside else range(0)


def _list_lines(part: ast.AST) -> range:
    """List the lines of a statement, a handler or a case."""
    first = part.pattern if isinstance(part, ast.match_case) else part
    last = part.body[-1] if isinstance(part, ast.match_case) else part
    return range(first.lineno, last.end_lineno + 1)


def measure_reach(root: Path, lane: Lane, file: Path, jobs: int) -> Reach:
    """Run the tests of all rooms and the golden cases, and read which lines each has run.

    What was measured before is kept: where the code is the same, new and changed files of tests alone are run.

    Args:
        root: Repository.
        lane: Its copy.
        file: Where the result is kept.
        jobs: Processes at the same time.
    """
    code, tests = _compute_digests(root)
    kept = msgspec.json.decode(file.read_bytes(), type=Reach) if file.is_file() else Reach()
    if kept.code != code:
        kept = Reach(code)
    changed = [name for name, digest in tests.items() if kept.tests.get(name) != digest]
    kept.forget({*changed, *(kept.tests.keys() - tests.keys())})
    if changed:
        kept.add(*_run_tests(lane, changed, jobs))
    kept.tests = tests
    file.write_bytes(msgspec.json.encode(kept))
    return kept


def _run_tests(lane: Lane, places: Sequence[str], jobs: int) -> tuple[dict[str, float], Lines]:
    """Run files of tests; gives the seconds of each test that passes, and the tests of each line."""
    settings, data, times = (lane.tree.parent / name for name in ("coverage.cfg", "coverage.db", "times.json"))
    times.unlink(missing_ok=True)
    sources = [f"  src/{room}" for room in ROOMS if (lane.tree / "src" / room).is_dir()]
    settings.write_text(SETTINGS.format("\n".join(sources), data), "utf-8")
    os.environ["MUTATION_TIMES"] = str(times)
    measured = ["--cov", f"--cov-config={settings}", "--cov-context=test", "--cov-report="]
    spread = ["-n", str(jobs), "--dist", "worksteal", "-p", "no:cacheprovider", "-p", "mutation.recorder"]
    ran = lane.run_pytest([*spread, *measured, *places], limit=3600)
    if not times.is_file():
        raise RuntimeError(f"the tests did not run to their end:\n{ran.output}")
    seconds = msgspec.json.decode(times.read_bytes(), type=dict[str, float])
    return seconds, _read_lines(lane.tree, data, seconds)


def _read_lines(tree: Path, data: Path, passed: Collection[str]) -> Lines:
    measured = CoverageData(str(data))
    measured.read()
    return {
        Path(name).relative_to(tree).as_posix(): {
            line: sorted({test for one in contexts if (test := one.rpartition("|")[0]) in passed})
            for line, contexts in measured.contexts_by_lineno(name).items()
        }
        for name in measured.measured_files()
    }


def _compute_digests(root: Path) -> tuple[str, dict[str, str]]:
    """Compute the digest of all code, and of each file of tests: of the rooms, their examples, golden cases."""
    places = ("tests/goldens/test_", *(f"{top}/{room}/" for top in ("tests", "src") for room in ROOMS))
    code, tests = hashlib.sha256(), {}
    for name in list_tracked(root):
        if name.endswith(".py") and name.startswith(("src/", *places)):
            text = (root / name).read_bytes()
            digest = hashlib.sha256(text).hexdigest()
            if name.startswith("src/"):
                code.update(f"{name} {digest}\n".encode())
            if name.startswith(places) and (Path(name).name.startswith("test_") or b">>>" in text):
                tests[name] = digest
    return code.hexdigest(), tests
