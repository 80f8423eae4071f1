import math
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmconvert.core.retries import LONGEST_WAIT, RetryPolicy, may_pass, parse_retry_after

CALENDAR = st.sampled_from(["Mon, 01 Jan", "31 Dec", "Fri, 30 Feb", "0 0"])
DATES = st.builds(
    "{} {} {:02}:00:00 {}{}".format,
    CALENDAR,
    st.one_of(st.integers(0, 10**4), st.integers(0, 10**30)),
    st.integers(0, 30),
    st.sampled_from(["GMT", "+", "-", ""]),
    st.one_of(st.just(""), st.integers(0, 10**30)),
)


@given(st.one_of(DATES, st.text(), st.floats().map(str), st.integers().map(str)))
@settings(max_examples=400, deadline=None)
def test_a_pause_is_a_number_of_seconds_or_none(text: str) -> None:
    seconds = parse_retry_after(text)
    assert seconds is None or (math.isfinite(seconds) and seconds >= 0)


def test_a_date_is_the_seconds_until_then() -> None:
    then = datetime.now(UTC) + timedelta(seconds=90)
    assert parse_retry_after(f" {format_datetime(then, usegmt=True)} ") == pytest.approx(90, abs=5)


@pytest.mark.parametrize("said", ["", "-1", "inf", "nan", "soon", "Fri, 01 Jan 1999 00:00:00 GMT"])
def test_what_makes_no_sense_is_no_pause(said: str) -> None:
    assert parse_retry_after(said) is None


def test_waits_double_to_a_bound_less_a_quarter_at_random() -> None:
    policy = RetryPolicy(tries=7, first_wait=0.5)
    bounds = [0.5, 1, 2, 4, LONGEST_WAIT, LONGEST_WAIT]
    waits = [policy.compute_wait(sent) for sent in range(1, policy.tries)]
    assert all(bound * 0.75 <= wait <= bound for wait, bound in zip(waits, bounds, strict=True))
    assert len({policy.compute_wait(1) for _ in range(9)}) == 9


@pytest.mark.parametrize(
    ("status", "again"), [(200, False), (307, False), (412, False), (429, True), (501, False), (529, True)]
)
def test_failures_that_pass_are_those_of_load_races_and_servers(status: int, again: bool) -> None:
    assert may_pass(status) == again
