from types import SimpleNamespace

import pytest
from huggingface_hub.errors import HfHubHTTPError

from mmconvert.core.retries import RetryPolicy
from mmconvert.storage import hub_errors
from mmconvert.storage.hub_errors import RETRIES, _read_pause, load_hub_transport, retry


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


@pytest.mark.parametrize(
    ("status", "address", "sent"),
    [
        (503, "commit", 3),
        (429, "commit", 3),
        (500, "commit", 1),  # it may have been done
        (500, "preupload", 3),
        (404, "preupload", 1),
    ],
)
def test_what_may_have_been_done_is_not_asked_for_again(status, address, sent, monkeypatch):
    monkeypatch.setattr(hub_errors, "RETRIES", RetryPolicy(tries=3, first_wait=0.0, longest_pause=0.0))
    client = load_hub_transport()
    response = client.Response(status, request=client.Request("POST", f"https://hub.example/api/{address}/main"))
    asked = []

    def refuse():
        asked.append(address)
        raise HfHubHTTPError("refused", response=response)

    with pytest.raises(HfHubHTTPError):
        retry(refuse, once="/commit/")
    assert len(asked) == sent
