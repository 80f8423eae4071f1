"""Cases of a long list that every run takes; the others wait for `scripts/test --release`."""

from collections.abc import Iterable
from typing import Any

import pytest


def defer(cases: Iterable[Any], keep: int) -> list[Any]:
    """Mark all cases but some, evenly spread over the list and its first among them, as tests of a release.

    Args:
        cases: Values of `pytest.mark.parametrize`, in their order.
        keep: How many of them every run takes.

    Returns:
        All of them in the same order.
    """
    listed = list(cases)
    kept = {len(listed) * number // keep for number in range(min(keep, len(listed)))}
    return [case if place in kept else _mark(case) for place, case in enumerate(listed)]


def _mark(case: Any) -> Any:
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.release])
    return pytest.param(*(case if isinstance(case, tuple | list) else [case]), marks=pytest.mark.release)
