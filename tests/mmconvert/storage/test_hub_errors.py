from types import SimpleNamespace

import pytest

from mmconvert.storage.hub_errors import RETRIES, _read_pause


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0.0),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "soon"}, 0.0),
        ({"Retry-After": "99999"}, RETRIES.longest_pause),
        ({"ratelimit": '"api";r=0;t=55', "Retry-After": "7"}, 55.0),
    ],
)
def test_the_pause_is_that_of_the_rate_limit_else_that_of_retry_after(headers, seconds):
    assert _read_pause(SimpleNamespace(response=SimpleNamespace(headers=headers))) == min(
        seconds, RETRIES.longest_pause
    )
