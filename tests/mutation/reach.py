"""Which tests run which lines: measured once, so that a mutant is run against the tests that could notice it."""

import ast
import difflib
import hashlib
import itertools
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from mutation.lanes import Lane, list_tracked
from mutation.mutants import ROOMS, Mutant

MOST_SECONDS = 45.0
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
        sources: Text of each file that is mutated.
        tests: Digest of each file of tests.
        seconds: Of each test that passes.
        lines: File -> line -> tests that run it. What runs when a module is imported has none.
    """

    sources: dict[str, str] = {}
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
        """Choose the tests of a mutant, up to MOST_SECONDS: those that run its statement, then those of its own file.

        Where no test is seen to run the statement, as when a module is imported or in processes of their own, these are
        the tests that bear the file's name, then all that run anything of the file, else all of its room.
        """
        found = self.lines.get(mutant.change.file, {})
        own = f"/test_{Path(mutant.change.file).stem}.py::"
        room = {test for test in self.seconds if test.startswith(f"tests/{mutant.change.room}/")}
        lines = find_statement(mutant.code, mutant.line)
        tests = self._sort(test for line in lines for test in found.get(line, ()))
        ordered = [*tests, *self._sort(test for test in room if own in test)]
        if not tests:
            ordered += self._sort(test for tests in found.values() for test in tests)
        ordered = [*dict.fromkeys(ordered or self._sort(room))]
        ends = itertools.accumulate(self.seconds[test] for test in ordered)
        return [test for test, end in zip(ordered, ends, strict=True) if end <= MOST_SECONDS]

    def _sort(self, tests: Iterable[str]) -> list[str]:
        """Sort tests, the quickest first."""
        return sorted({*tests}, key=lambda test: (self.seconds[test], test))


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

    What was measured before is kept: only new and changed files of tests are run. Where the code changed, its other
    lines keep their tests.

    Args:
        root: Repository.
        lane: Its copy.
        file: Where the result is kept.
        jobs: Processes at the same time.
    """
    sources, tests = _read_files(root)
    kept = msgspec.json.decode(file.read_bytes(), type=Reach) if file.is_file() else Reach()
    for name, text in kept.sources.items():
        kept.lines[name] = _move_lines(kept.lines.get(name, {}), text, sources.get(name, ""))
    changed = [name for name, digest in tests.items() if kept.tests.get(name) != digest]
    kept.forget({*changed, *(kept.tests.keys() - tests.keys())})
    if changed:
        kept.add(*_run_tests(lane, changed, jobs))
    kept.sources, kept.tests = sources, tests
    file.write_bytes(msgspec.json.encode(kept))
    return kept


def _move_lines(found: dict[int, list[str]], old: str, new: str) -> dict[int, list[str]]:
    """Number the lines of a file as its new text has them; those that changed have no tests."""
    if old == new:
        return found
    blocks = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False).get_matching_blocks()
    places = {block.a + line: block.b + line for block in blocks for line in range(1, block.size + 1)}
    return {places[line]: tests for line, tests in found.items() if line in places}


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
    from coverage import CoverageData  # comes with scripts/setup --release

    measured = CoverageData(str(data))
    measured.read()
    return {
        Path(name).relative_to(tree).as_posix(): {
            line: sorted({test for one in contexts if (test := one.rpartition("|")[0]) in passed})
            for line, contexts in measured.contexts_by_lineno(name).items()
        }
        for name in measured.measured_files()
    }


def _read_files(root: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Read each file that is mutated, and the digest of each with tests: of rooms, their examples, golden cases."""
    sources, tests = {}, {}
    for name in list_tracked(root):
        room = "/".join(name.split("/")[1:3])
        if name.endswith(".py") and (room in ROOMS or name.startswith("tests/goldens/test_")):
            text = (root / name).read_text("utf-8")
            if name.startswith("src/"):
                sources[name] = text
            if Path(name).name.startswith("test_") or ">>>" in text:
                tests[name] = hashlib.sha256(text.encode()).hexdigest()
    return sources, tests
