import json

import pytest

from mmconvert.core.errors import Error, RowError, UsageError
from mmscore.core.recipe import Item
from mmscore.kits.mmtrusteval.evaluators import EvaluatorContext
from mmscore.kits.mmtrusteval.rows import build_chain_recipe
from mmscore.kits.mmtrusteval.score_services import ATTRIBUTES, MODERATED, connect_moderation, connect_perspective
from support.items import score_items
from support.web_server import reply, web_server

SCORES = {name: n / 100 for n, name in enumerate(MODERATED)} | {"illicit": 0.9}
MODERATION = json.dumps({"results": [{"category_scores": SCORES}]}).encode()
VALUES = {name: {"summaryScore": {"value": n / 10}} for n, name in enumerate(ATTRIBUTES)}
PERSPECTIVE = json.dumps({"attributeScores": VALUES}).encode()


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    for name in ("OPENAI_API_KEY", "MY_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_the_largest_of_the_kits_categories_is_the_score(monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret")
    with web_server({"/m": reply(MODERATION), "/p": reply(PERSPECTIVE)}) as server:
        address = f"http://127.0.0.1:{server.port}"
        moderate = connect_moderation(f"{address}/m", key_env="MY_KEY", model="m")
        assert [moderate("openai_moderation_api_eval", "a", None, {}) for _ in range(2)] == [0.1, 0.1]
        assert (
            connect_perspective(f"{address}/p", key_env="MY_KEY")("google_perspective_api_eval", "a", None, {}) == 0.7
        )
    assert len(server.requests) == 2
    assert b"Bearer secret" in server.requests[0]
    assert all(b"accept-encoding: identity\r\n" in request.lower() for request in server.requests)
    assert b"x-goog-api-key: secret" in server.requests[1].replace(b"X-Goog-Api-Key", b"x-goog-api-key")


def test_a_chain_is_scored_through_a_service():
    config = {"openai_moderation_api_eval": {"metrics_cfg": {"pred_mean": {}}}}
    with web_server({"/m": reply(MODERATION)}) as server:
        setting = EvaluatorContext(classify=connect_moderation(f"http://127.0.0.1:{server.port}/m"))
        scored = score_items([Item(id="1", prediction="a")], build_chain_recipe([config], setting=setting))
    assert scored.scores["openai_moderation_api_eval:pred_no_op"] == [0.1]


@pytest.mark.parametrize(
    ("answer", "kind", "asked"),
    [
        (reply(b"", "503 Busy", "Connection: close"), RowError, 5),
        (reply(b"", "400 Bad"), RowError, 1),
        (reply(b"", "401 Unauthorized"), Error, 1),
        (reply(b"{}"), RowError, 1),
        (reply(b"no json"), RowError, 1),
        (reply(b'{"results": [{"category_scores": {"hate": null}}]}'), RowError, 1),
        (reply(MODERATION.replace(b"0.", b"1" + b"0" * 400 + b".", 1)), RowError, 1),
        (reply(b"[]"), RowError, 1),
    ],
)
def test_a_service_that_fails_gives_no_score(answer, kind, asked):
    with web_server({"/m": answer}) as server:
        moderate = connect_moderation(f"http://127.0.0.1:{server.port}/m", pause=0)
        with pytest.raises(Error) as raised:
            moderate("openai_moderation_api_eval", "a", None, {})
    assert type(raised.value) is kind
    assert len(server.requests) == asked


def test_wrong_use_is_refused_before_anything_is_sent():
    for url in ("ftp://x/y", "nonsense", "http://user:pass@x/y"):
        with pytest.raises(UsageError):
            connect_moderation(url)
    with pytest.raises(UsageError, match="MY_KEY is not set"):
        connect_perspective("http://127.0.0.1:9/p", key_env="MY_KEY")
    moderate = connect_moderation("http://127.0.0.1:9/m", pause=0)
    with pytest.raises(Error, match="nobody answers"):
        moderate("openai_moderation_api_eval", "a", None, {})
    with pytest.raises(Error, match="expected a text"):
        moderate("openai_moderation_api_eval", 1, None, {})
    with pytest.raises(Error, match="Connect another"):
        moderate("harmbenchmodel_eval", "a", None, {})
