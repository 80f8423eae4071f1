"""Run golden cases through the rule table."""

import json
import lzma
import traceback
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from pathlib import Path

from goldens.comparison import difference
from goldens.rules import RULES, Whole, refusal_or

CASES = Path(__file__).parent / "cases"
"""The cases of the repository. Those that hold longer prose of a source stay in `../shared`; index.json counts them."""
PACKED = ".xz"
Case = tuple[str, dict]
"""A place to name, `FILE:LINE`, and a golden case."""


@dataclass
class Result:
    """What came out of some golden cases."""

    passed: int = 0
    total: int = 0
    missing_rules: set[str] = field(default_factory=set)
    without_rule: int = 0
    failures: list[str] = field(default_factory=list)


def family_of(file: Path) -> str:
    """Name the family: the file name up to the first dot."""
    return file.name.partition(".")[0]


def list_packed(folder: Path) -> list[Path]:
    """List the golden files of a folder."""
    return sorted(folder.glob(f"*{PACKED}"))


def list_files(family: str) -> list[Path]:
    """List the repository's files of a family: the cases that were moved here, and those made anew."""
    return sorted(CASES.glob(f"{family}.*"))


def list_families() -> list[str]:
    """List the families of the repository's cases."""
    return sorted({family_of(file) for file in list_packed(CASES)})


def count_outside() -> dict[str, int]:
    """Count by family the cases that the repository does not hold."""
    families = json.loads((CASES / "index.json").read_text("utf-8"))["families"]
    return {family: number for family, one in families.items() if (number := sum(one["outside"].values()))}


def read_lines(file: Path) -> Iterator[tuple[str, str]]:
    """Read the JSON lines of a golden file, with the place of each."""
    with lzma.open(file, "rt", encoding="utf-8") if file.suffix == PACKED else file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield f"{file.name}:{number}", line.strip()


def read_cases(file: Path) -> list[Case]:
    """Read the cases of a golden file."""
    return [(place, json.loads(line)) for place, line in read_lines(file)]


@cache
def read_family(family: str) -> list[Case]:
    """Read the repository's cases of a family, which several tests look at; nobody changes them."""
    return [case for file in list_files(family) for case in read_cases(file)]


def read_cases_outside(file: Path, family: str) -> list[Case]:
    """Read the cases of a file that the repository does not hold."""
    held = {line for own in list_files(family) for _, line in read_lines(own)}
    return [(place, json.loads(line)) for place, line in read_lines(file) if line not in held]


def spread(cases: Iterable[Case], most: int, kind: Callable[[dict], Hashable] = itemgetter("rule")) -> list[Case]:
    """Take so many cases of each kind at most, of each rule by default, evenly spread over the cases of the kind."""
    cases = list(cases)
    kinds = [kind(case) for _, case in cases]
    totals = Counter(kinds)
    seen: Counter[Hashable] = Counter()
    taken = []
    for (place, case), own in zip(cases, kinds, strict=True):
        number, total = seen[own], totals[own]
        seen[own] += 1
        if total <= most or number * most // total != (number - 1) * most // total:
            taken.append((place, case))
    return taken


def run_cases(family: str, cases: Iterable[Case], rules: dict | None = None) -> Result:
    """Run cases of a family; those without a rule are counted apart.

    Args:
        family: The cases' family.
        cases: Cases with their places.
        rules: Rule table, `RULES` by default.
    """
    rules = RULES if rules is None else rules
    result = Result()
    for place, case in cases:
        result.total += 1
        rule = rules.get((family, case["rule"]))
        if rule is None:
            result.without_rule += 1
            result.missing_rules.add(case["rule"])
        elif reason := _failure_or_crash(family, rule, case, rules):
            result.failures.append(f"{place} {reason}")
        else:
            result.passed += 1
    return result


def failure(family: str, rule: object, case: dict, rules: dict) -> str | None:
    """Tell why a case is missed, or None when it holds."""
    name = case["rule"]
    actual = _given(rule, case)
    reason = difference(case["expected"], actual, family, name)
    if reason and "expected_latest_libs" in case:
        reason = difference(case["expected_latest_libs"], actual, family, name)
    if not reason and "expected_v2" in case:
        older = rules.get((family, f"{name}@v2"))
        if older is None:
            return f"{name}@v2: no rule"
        reason = difference(case["expected_v2"], _given(older, case), family, f"{name}@v2")
    return reason


def _failure_or_crash(family: str, rule: object, case: dict, rules: dict) -> str | None:
    """Tell why a case is missed; a rule that crashes misses this case alone."""
    try:
        return failure(family, rule, case, rules)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{case['rule']}: crashed with {error!r} in {place.filename}:{place.lineno}"


def _given(rule: object, case: dict) -> object:
    return refusal_or(lambda: rule.run(case) if isinstance(rule, Whole) else rule(case["input"]))
