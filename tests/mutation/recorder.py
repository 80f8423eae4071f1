"""A pytest plug-in that writes which tests passed, and the seconds of each, to the file of MUTATION_TIMES."""

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

SECONDS: defaultdict[str, float] = defaultdict(float)
OTHERS: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    SECONDS[report.nodeid] += report.duration
    if not report.passed:
        OTHERS.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        passed = {test: seconds for test, seconds in SECONDS.items() if test not in OTHERS}
        Path(os.environ["MUTATION_TIMES"]).write_text(json.dumps(passed), "utf-8")
