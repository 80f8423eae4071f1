"""Run golden cases through the rule table."""

import json
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from goldens.comparison import difference
from goldens.rules import RULES, Whole, refusal_or


@dataclass
class Result:
    """What came out of one golden file."""

    name: str
    passed: int = 0
    total: int = 0
    missing_rules: set[str] = field(default_factory=set)
    without_rule: int = 0
    failures: list[str] = field(default_factory=list)


def cases(file: Path) -> Iterator[tuple[int, dict]]:
    """Read the JSON lines of a golden file with their line numbers."""
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, json.loads(line)


def family_of(file: Path) -> str:
    """Name the family: the file name up to the first dot."""
    return file.name.partition(".")[0]


def run_file(file: Path, rules: dict | None = None) -> Result:
    """Run every case of a file; cases without a rule are counted apart.

    Args:
        file: Golden file.
        rules: Rule table, `RULES` by default.
    """
    rules = RULES if rules is None else rules
    result = Result(file.name)
    for number, case in cases(file):
        result.total += 1
        rule = rules.get((family_of(file), case["rule"]))
        if rule is None:
            result.without_rule += 1
            result.missing_rules.add(case["rule"])
        elif reason := _failure_or_crash(family_of(file), rule, case, rules):
            result.failures.append(f"{file.name}:{number} {reason}")
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
