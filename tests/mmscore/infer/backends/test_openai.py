"""The openai backend: what it sends, what it reads, and how many rows are under way."""

import base64
import io
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import PIL.Image
import pytest
from msgspec.structs import replace

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import Image, Part, Record, Turn
from mmscore.infer.backend import Generation, ModelOptions, Service, _list_flags
from mmscore.infer.backends.openai import _OPTIONS, BACKEND
from support.chat_server import Said, chat_server, completion, refused, said, script
from support.questions import make_image, record
from support.records import KINDS, image_bytes

GREEDY = Generation()


def opened(
    url: str | tuple[str, ...],
    generation: Generation = GREEDY,
    *,
    more: dict[str, object] | None = None,
    **service: object,
):
    urls = (url,) if isinstance(url, str) else url
    return BACKEND(ModelOptions("loopback", generation, Service(base_url=urls, **service), **(more or {})))


def request_of(row: Record, generation: Generation = GREEDY, **options: object) -> dict[str, object]:
    """The one request that a row leads to."""
    with chat_server(script(said("x"))) as server:
        (answer,) = opened(server.url, generation, **options).answer([row])
    assert answer.text == "x"
    (request,) = server.asked
    return request


def answer_to(*answers: Said, generation: Generation = GREEDY):
    with chat_server(script(*answers)) as server:
        return opened(server.url, generation).answer([record(0, "?")])[0]


def turns(*texts: tuple[str, str]) -> tuple[Turn, ...]:
    return tuple(Turn(role, (Part("text", text),)) for role, text in texts)


# What is sent


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_travels_as_its_original_bytes(kind):
    data = image_bytes(kind)
    request = request_of(record(0, "Look: ", data, "What is it?"))
    (turn,) = request["messages"]
    before, shown, after = turn["content"]
    assert (before, after) == ({"type": "text", "text": "Look: "}, {"type": "text", "text": "What is it?"})
    head, _, payload = shown["image_url"]["url"].partition(",")
    assert (shown["type"], head) == ("image_url", f"data:image/{kind.lower()};base64")
    assert base64.b64decode(payload) == data


def test_a_kept_address_and_the_detail_are_passed_on():
    images = (
        Image(None, 1, detail="low", url="https://x.example/a?b=c"),
        Image(make_image("red"), 2, format="PNG", detail="high"),
    )
    row = replace(record(0, "?"), messages=(Turn("user", (Part("image"), Part("image"))),), images=images)
    first, second = request_of(row)["messages"][0]["content"]
    assert first["image_url"] == {"url": "https://x.example/a?b=c", "detail": "low"}
    assert second["image_url"]["detail"] == "high"


def test_system_turns_history_and_images_of_each_turn_keep_their_places():
    red, blue = make_image("red"), make_image("blue")
    row = replace(
        record(0, red, blue),
        messages=(
            *turns(("system", "Be brief.")),
            Turn("user", (Part("image"), Part("text", "colour?"))),
            *turns(("assistant", "red")),
            Turn("user", (Part("text", "and"), Part("image"))),
        ),
    )
    system, asked, replied, again = request_of(row)["messages"]
    assert (system, replied) == (
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "red"},
    )
    assert base64.b64decode(asked["content"][0]["image_url"]["url"].partition(",")[2]) == red
    assert base64.b64decode(again["content"][1]["image_url"]["url"].partition(",")[2]) == blue


def test_a_last_turn_of_the_assistant_is_continued():
    row = replace(record(0, "?"), messages=turns(("user", "1 + 1?"), ("assistant", "It is")))
    request = request_of(row, more={"continue_final_message": True})
    assert (request["continue_final_message"], request["add_generation_prompt"]) == (True, False)
    assert request["messages"][-1] == {"role": "assistant", "content": "It is"}
    assert "add_generation_prompt" not in request_of(record(0, "?"), more={"continue_final_message": True})


@pytest.mark.parametrize(
    ("generation", "sent"),
    [
        (Generation(), {"temperature": 0}),
        (Generation(do_sample=True), {}),
        (Generation(do_sample=True, top_p=0.5, seed=3), {"top_p": 0.5, "seed": 3}),
        (Generation(temperature=0.7, max_new_tokens=9), {"temperature": 0.7, "max_tokens": 9}),
        (Generation(stop=("\n", "END")), {"temperature": 0, "stop": ["\n", "END"]}),
    ],
)
def test_generation_options_have_the_names_of_the_protocol(generation, sent):
    request = request_of(record(0, "?"), generation)
    assert {name: value for name, value in request.items() if name not in ("model", "messages")} == sent


def test_copies_of_a_row_are_drawn_from_other_seeds():
    copy = replace(record(0, "?"), variant=2)
    assert request_of(copy, Generation(temperature=1, seed=5))["seed"] == 7
    assert "seed" not in request_of(copy, Generation(temperature=1))


def test_further_fields_are_sent_and_tell_answers_apart():
    request = request_of(record(0, "?"), extra_body='{"top_k": 20, "temperature": 0.5}')
    assert (request["top_k"], request["temperature"]) == (20, 0.5)
    plain, other = opened("http://127.0.0.1:1"), opened("http://127.0.0.1:1", extra_body='{"top_k": 20}')
    assert plain.identity != other.identity
    assert opened("http://127.0.0.1:2", concurrency=3, timeout=9).identity == plain.identity


SCHEMA = {"type": "object", "properties": {"answer": {"enum": ["A", "B"]}}, "required": ["answer"]}


def write_schema(folder: Path, value: object, name: str = "my answer.json") -> Path:
    (folder / name).write_text(value if isinstance(value, str) else json.dumps(value))
    return folder / name


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        (SCHEMA, {"name": "my_answer", "schema": SCHEMA, "strict": True}),
        ({"name": "x", "schema": SCHEMA, "strict": False}, {"name": "x", "schema": SCHEMA, "strict": False}),
        ({"schema": SCHEMA}, {"name": "my_answer", "schema": SCHEMA}),
    ],
)
def test_a_schema_is_sent_as_the_format_of_the_response(tmp_path, written, sent):
    request = request_of(record(0, "?"), json_schema=write_schema(tmp_path, written))
    assert request["response_format"] == {"type": "json_schema", "json_schema": sent}


def test_the_schema_is_part_of_the_identity_and_its_layout_is_not(tmp_path):
    plain, schema = opened("http://127.0.0.1:1").identity, write_schema(tmp_path, SCHEMA)
    identity = opened("http://127.0.0.1:1", json_schema=schema).identity
    write_schema(tmp_path, json.dumps(SCHEMA, indent=4))
    assert opened("http://127.0.0.1:1", json_schema=schema).identity == identity != plain
    write_schema(tmp_path, {**SCHEMA, "required": []})
    assert opened("http://127.0.0.1:1", json_schema=schema).identity != identity


@pytest.mark.parametrize(
    ("written", "message"),
    [("{", "is not JSON"), ("[]", "expected a schema"), ("{}", "expected a schema"), ('{"a": 1, "a": 2}', "twice")],
)
def test_a_file_that_is_no_schema_is_refused(tmp_path, written, message):
    with pytest.raises(UsageError, match=message):
        opened("http://127.0.0.1:1", json_schema=write_schema(tmp_path, written))


def test_a_schema_is_not_given_twice(tmp_path):
    schema = write_schema(tmp_path, SCHEMA)
    with pytest.raises(UsageError, match="response_format is what --json-schema sets too"):
        opened("http://127.0.0.1:1", json_schema=schema, extra_body='{"response_format": {}}')


def test_the_key_of_a_named_variable_is_sent(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-loopback")
    with chat_server(script(said("x"))) as server:
        opened(server.url, api_key_env="MY_KEY").answer([record(0, "?")])
    assert server.heads[0]["Authorization"] == "Bearer sk-loopback"


@pytest.mark.parametrize(
    ("generation", "service", "more", "message"),
    [
        (Generation(temperature=1, top_k=5), {}, {}, "no --top-k"),
        (Generation(num_beams=2), {}, {}, "no --num-beams"),
        (Generation(), {}, {"batch_size": 4, "dtype": "float16", "attn": "sdpa"}, "no --batch-size, --dtype, --attn"),
        (Generation(), {"extra_body": "{"}, {}, "--extra-body: is not JSON"),
        (Generation(), {"extra_body": '{"x": NaN}'}, {}, "NaN is not a JSON number"),
        (Generation(), {"extra_body": "[1]"}, {}, "--extra-body: expected an object"),
        (Generation(), {"extra_body": '{"n": 2, "stream": true}'}, {}, "n, stream cannot be set here"),
        (Generation(max_new_tokens=3), {"extra_body": '{"max_tokens": 2}'}, {}, "max_tokens is an option of its own"),
        (Generation(), {"base_url": "localhost:8000"}, {}, "expected http:// or https://"),
        (Generation(), {"api_key_env": "NOT_SET_ANYWHERE"}, {}, "NOT_SET_ANYWHERE is not set"),
    ],
)
def test_what_cannot_be_honoured_is_refused(generation, service, more, message):
    with pytest.raises(UsageError, match=message):
        opened(**{"url": "http://127.0.0.1:1", "more": more, "generation": generation} | _service(service))


def _service(service: dict[str, object]) -> dict[str, object]:
    return {("url" if name == "base_url" else name): value for name, value in service.items()}


@pytest.mark.parametrize("plugin", ["echo", "transformers"])
@pytest.mark.slow
def test_backends_without_a_service_refuse_its_options(plugin):
    from mmscore.infer.open import open_backend

    with pytest.raises(UsageError, match=rf"'{plugin}' has no --base-url, --concurrency"):
        open_backend(plugin, ModelOptions("answer", service=Service(base_url=("http://x",), concurrency=2)))


# Rows that cannot be sent


def test_a_row_that_cannot_be_sent_fails_by_name_and_alone():
    bad = {
        1: (record(1, b"no picture at all", "x"), "images: image 1: no PNG"),
        2: (record(2, make_image("red"), make_image("red", (200, 200))[:100], "x"), "images: image 2: "),
        3: (
            replace(record(3, make_image("red")), images=(Image(None, 1),)),
            "image 1 has neither bytes nor an address",
        ),
        4: (replace(record(4, "x"), messages=turns(("tool", "42"))), "messages: turn 1 is of the role 'tool'"),
    }
    rows = [bad[i][0] if i in bad else record(i, f"good {i}") for i in range(6)]
    with chat_server(lambda request: said(request["messages"][-1]["content"].upper())) as server:
        answers = opened(server.url).answer(rows)
    assert [answer.text for answer in answers] == ["GOOD 0", None, None, None, None, "GOOD 5"]
    for i, (_, message) in bad.items():
        assert message in answers[i].error
    assert len(server.asked) == 2


# What is read


def test_finish_reason_tokens_and_reasoning_are_kept():
    answer = answer_to(completion({"content": "4", "reasoning_content": "2 + 2"}, "length", 11, 5))
    assert (answer.text, answer.thinking, answer.finish_reason) == ("4", "2 + 2", "length")
    assert (answer.prompt_tokens, answer.completion_tokens) == (11, 5)


@pytest.mark.parametrize(
    ("text", "thinking", "reply"),
    [
        ("<think>4?</think>\n\n4", "4?", "4"),
        ("4?</think> 4", "4?", "4"),
        ("<think>never ends", "never ends", ""),
        ("it says <think>", None, "it says <think>"),
        ("", None, ""),
    ],
)
def test_a_reasoning_block_is_cut_from_the_reply(text, thinking, reply):
    answer = answer_to(said(text))
    assert (answer.thinking, answer.text) == (thinking, reply)


def test_a_stop_text_that_the_service_left_in_is_cut():
    answer = answer_to(said("yes\nbecause", "length"), generation=Generation(stop=("be", "\n")))
    assert (answer.text, answer.finish_reason) == ("yes", "stop")


def test_a_reply_without_text_is_a_failure():
    answer = answer_to(said(None, "content_filter"))
    assert (answer.status, answer.text) == ("failed", None)
    assert "content_filter" in answer.error


# Rows under way


def test_answers_stand_in_the_order_of_the_rows_whoever_is_first():
    def say(request):
        text = request["messages"][0]["content"]
        return Said(said(text).body, silent=0.05 if text in ("0", "3") else 0)

    with chat_server(say) as server:
        answers = opened(server.url, concurrency=4).answer([record(i, str(i)) for i in range(30)])
    assert [answer.text for answer in answers] == [str(i) for i in range(30)]
    assert 2 <= server.most_at_once <= 4


def test_one_slow_row_holds_up_no_other():
    freed = threading.Event()

    def say(request):
        text = request["messages"][0]["content"]
        if text == "0":
            freed.wait(20)
        return said(text)

    with chat_server(say) as server:
        stream = opened(server.url, concurrency=3).stream(iter([record(i, str(i)) for i in range(40)]))
        others = []
        while len(others) < 39:
            others += [position for position, _ in next(stream)]
        assert sorted(others) == list(range(1, 40))
        freed.set()
        assert [position for group in stream for position, _ in group] == [0]


def test_as_many_rows_are_under_way_as_the_server_has_room_for_where_nobody_says_how_many():
    room = threading.Semaphore(8)

    def say(request):
        with room:
            time.sleep(0.02)
        return said(request["messages"][0]["content"])

    with chat_server(say) as server:
        answers = opened(server.url).answer([record(i, str(i)) for i in range(400)])
    assert [answer.text for answer in answers] == [str(i) for i in range(400)]
    assert 3 <= server.most_at_once <= 40  # tests/mmscore/llm/test_concurrency.py has exact servers


def test_a_server_that_refuses_for_load_is_asked_less():
    under_way = threading.Semaphore(6)

    def say(request):
        if not under_way.acquire(blocking=False):
            return refused(429)
        try:
            time.sleep(0.02)
        finally:
            under_way.release()
        return said(request["messages"][0]["content"])

    with chat_server(say) as server:
        answers = opened(server.url).answer([record(i, str(i)) for i in range(200)])
    assert [answer.text for answer in answers] == [str(i) for i in range(200)]
    assert len(server.asked) < 260


def test_places_are_filled_at_once():
    """With one row in ten slow, the time is that of the rows shared out, not that of groups led by their slowest."""

    def say(request):
        number = int(request["messages"][0]["content"])
        return Said(said("x").body, silent=0.4 if number % 10 == 0 else 0.02)

    with chat_server(say) as server:
        start = time.monotonic()
        opened(server.url, concurrency=10).answer([record(i, str(i)) for i in range(100)])
        took = time.monotonic() - start
    assert server.most_at_once <= 10
    # Groups of ten would take 10 x 0.4 s = 4 s; the work shared out takes 5.8 s / 10.
    assert took < 2


def test_rows_are_drawn_only_as_places_become_free():
    drawn = 0

    def rows() -> Iterator[Record]:
        nonlocal drawn
        for number in range(50):
            drawn += 1
            yield record(number, str(number))

    given = 0
    with chat_server(script(said("x"))) as server:
        for group in opened(server.url, concurrency=4).stream(rows()):
            assert drawn <= given + 4
            given += len(group)
    assert given == 50


def test_what_every_row_would_meet_ends_the_run_and_earlier_answers_are_given_out():
    def say(request):
        return said("x") if request["messages"][0]["content"] != "5" else refused(401, "expired")

    with chat_server(say) as server:
        stream = opened(server.url, concurrency=1).stream(record(i, str(i)) for i in range(20))
        given = [next(stream)[0][0] for _ in range(5)]
        with pytest.raises(Error, match="rejects the key"):
            next(stream)
    assert given == [0, 1, 2, 3, 4]
    assert len(server.asked) == 6


def test_replies_under_way_are_kept_when_the_run_ends_and_no_row_is_asked_after_it():
    def say(request):
        text = request["messages"][0]["content"]
        return refused(403, "closed") if text == "1" else Said(said(text).body, silent=0.2)

    with chat_server(say) as server:
        stream = opened(server.url, concurrency=4).stream(record(i, str(i)) for i in range(20))
        given = []
        with pytest.raises(Error, match="403 closed"):  # noqa: PT012, the loop is what raises
            for group in stream:
                given += [position for position, _ in group]
    assert sorted(given) == [0, 2, 3]
    assert len(server.asked) == 4


def test_a_row_that_waits_for_its_next_try_is_not_asked_when_the_run_has_ended():
    def say(request):
        return refused(503) if request["messages"][0]["content"] == "0" else Said(refused(403).body, 403, silent=0.2)

    with chat_server(say) as server, pytest.raises(Error, match="rejects the key"):
        opened(server.url, concurrency=2).answer([record(i, str(i)) for i in range(5)])
    assert len(server.asked) == 2


def test_leaving_the_stream_early_hangs_up_and_leaves_no_complaint(capfd):
    with chat_server(lambda _: Said(said("x").body, silent=0.02)) as server:
        stream = opened(server.url, concurrency=4).stream(record(i, str(i)) for i in range(100))
        next(stream)
        stream.close()
        time.sleep(0.1)
        assert len(server.asked) <= 8
    assert capfd.readouterr().err == ""


# Several replies to a row

DRAWN = Generation(temperature=0.7, seed=10)


def replies_to(row: Record, count: int) -> list[Record]:
    return [row, *(replace(row, variant=number) for number in range(1, count))]


def several(*texts: str) -> Said:
    answer = json.loads(said(texts[0]).body)
    answer["choices"] = [
        {"index": i, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for i, text in enumerate(texts)
    ]
    return Said(json.dumps(answer).encode())


def drawn(url: str, n: int, **service: object):
    return opened(url, DRAWN, more={"n": n}, **service)


def test_several_replies_are_one_request():
    with chat_server(lambda request: several(*(f"response {i}" for i in range(request["n"])))) as server:
        answers = drawn(server.url, 3).answer([*replies_to(record(0, "a"), 3), *replies_to(record(1, "b"), 3)])
    assert [answer.text for answer in answers] == ["response 0", "response 1", "response 2"] * 2
    assert [(request["n"], request["seed"]) for request in server.asked] == [(3, 10), (3, 10)]
    assert [answer.prompt_tokens for answer in answers] == [7, None, None] * 2


def test_a_service_that_gives_one_whatever_is_asked_is_asked_again():
    with chat_server(lambda request: said(f"seed {request['seed']}")) as server:
        answers = drawn(server.url, 3).answer(replies_to(record(0, "a"), 3))
    assert [answer.text for answer in answers] == ["seed 10", "seed 11", "seed 12"]
    assert [request.get("n") for request in server.asked] == [3, 2, None]


def test_a_service_that_gives_more_than_was_asked_is_cut():
    with chat_server(script(several("a", "b", "c"))) as server:
        answers = drawn(server.url, 2).answer(replies_to(record(0, "?"), 2))
    assert [answer.text for answer in answers] == ["a", "b"]


def test_a_service_that_refuses_the_field_is_asked_for_one_after_the_other():
    def say(request):
        return refused(400, "n must be 1") if "n" in request else said("x")

    rows = [reply for number in range(20) for reply in replies_to(record(number, "?"), 3)]
    with chat_server(say) as server:
        answers = drawn(server.url, 3).answer(rows)
    assert {answer.text for answer in answers} == {"x"}
    assert [request.get("n") for request in server.asked] == [3] + [None] * 60


def test_a_row_that_is_refused_alone_too_says_nothing_about_the_field():
    def say(request):
        if request["messages"][-1]["content"] == "bad":
            return refused(400, "no such question")
        return several(*"abc"[: request["n"]])

    rows = [reply for number, text in enumerate(("bad", "good")) for reply in replies_to(record(number, text), 3)]
    with chat_server(say) as server:
        answers = drawn(server.url, 3).answer(rows)
    assert [answer.status for answer in answers] == ["failed"] * 3 + ["ok"] * 3
    assert [request.get("n") for request in server.asked] == [3, None, 3]


def test_replies_that_are_missing_are_asked_for_alone():
    row, other = record(0, "a"), record(1, "b")
    rows = [replace(row, variant=1), *replies_to(other, 3)[1:]]
    with chat_server(
        lambda request: several(*(f"{request['seed'] + i}" for i in range(request.get("n", 1))))
    ) as server:
        answers = drawn(server.url, 3, concurrency=1).answer(rows)
    assert [answer.text for answer in answers] == ["11", "11", "12"]
    assert [request.get("n") for request in server.asked] == [None, 2]


def test_a_choice_without_text_is_asked_for_again():
    body = json.loads(several("a", "b").body)
    body["choices"][0]["message"]["content"] = None
    with chat_server(script(Said(json.dumps(body).encode()), said("c"))) as server:
        answers = drawn(server.url, 2).answer(replies_to(record(0, "?"), 2))
    assert [answer.text for answer in answers] == ["b", "c"]
    assert [answer.prompt_tokens for answer in answers] == [7, 7]


def test_greedy_replies_are_not_asked_for_several_times():
    with pytest.raises(UsageError, match="--n: greedy responses are all the same"):
        opened("http://localhost:1/v1", more={"n": 2})


# Smaller images


@pytest.mark.parametrize("kind", KINDS)
def test_a_large_image_is_shrunk_for_the_request(kind):
    buffer = io.BytesIO()
    PIL.Image.new("RGB", (90, 40), "red").save(buffer, kind)
    request = request_of(record(0, buffer.getvalue(), "?"), more={"max_image_side": 30})
    head, _, payload = request["messages"][0]["content"][0]["image_url"]["url"].partition(",")
    with PIL.Image.open(io.BytesIO(base64.b64decode(payload))) as sent:
        assert (sent.size, sent.format) == ((30, 13), "JPEG" if kind == "JPEG" else "PNG")
    assert head == f"data:image/{'jpeg' if kind == 'JPEG' else 'png'};base64"


def test_a_small_image_keeps_its_bytes_and_a_broken_one_fails_its_row():
    data = make_image("red", (30, 20))
    request = request_of(record(0, data, "?"), more={"max_image_side": 30})
    assert base64.b64decode(request["messages"][0]["content"][0]["image_url"]["url"].partition(",")[2]) == data
    with chat_server(script(said("x"))) as server:
        (answer,) = opened(server.url, more={"max_image_side": 5}).answer([record(0, data[:60], "?")])
    assert answer.error.startswith("images: image 1 cannot be decoded")
    assert server.asked == []


def test_the_size_of_images_is_part_of_the_identity():
    sizes = [opened("http://localhost:1/v1", more={"max_image_side": side}).identity for side in (None, 5, 6)]
    assert len(set(sizes)) == 3


# Whether the server has the model


def test_an_unknown_model_is_named_with_those_of_the_server_at_the_first_row():
    with chat_server(lambda _: refused(404, "no such model"), models=["loopback-8b", "other"]) as server:
        message = r"no model \(got 'loopback'\) \(404 no such model\)\. Did you mean loopback-8b\? It has loopback-8b"
        with pytest.raises(Error, match=message):
            opened(server.url).answer([record(0, "row"), record(1, "another")])
    assert server.prompts() == ["row"]


def test_a_name_that_is_not_listed_but_known_is_asked():
    with chat_server(script(said("x")), models=["loopback:latest"]) as server:
        backend = opened(server.url)
        for text in ("row", "another"):
            assert [answer.text for answer in backend.answer([record(0, text)])] == ["x"]
    assert server.prompts() == ["row", "another"]


@pytest.mark.parametrize("models", [["loopback"], ["a list that is too long to be one " * 200_000]])
def test_a_listed_model_and_a_server_without_a_list_are_asked_nothing_more(models):
    with chat_server(script(said("x")), models=models) as server:
        opened(server.url).answer([record(0, "row")])
    assert server.prompts() == ["row"]


# Log-probabilities of tokens


def test_log_probabilities_are_asked_for_and_kept():
    body = json.loads(said("yes it is").body)
    listed = [{"token": "yes", "logprob": -0.5}, {"token": " it", "logprob": -1}, {"token": " is", "logprob": -0.25}]
    body["choices"][0]["logprobs"] = {"content": listed}
    with chat_server(script(Said(json.dumps(body).encode()))) as server:
        (answer,) = opened(server.url, more={"output_scores": True}).answer([record(0, "?")])
    assert answer.token_logprobs == (-0.5, -1.0, -0.25)
    assert server.asked[0]["logprobs"] is True


@pytest.mark.parametrize("logprobs", [None, {}, {"content": []}, {"content": [{"token": "a"}]}, [1]])
def test_a_service_without_log_probabilities_ends_the_run(logprobs):
    body = json.loads(said("yes").body)
    body["choices"][0]["logprobs"] = logprobs
    refused_run = pytest.raises(Error, match=r"returns no log-probabilities\. Leave --output-scores out")
    with chat_server(script(Said(json.dumps(body).encode()))) as server, refused_run:
        opened(server.url, more={"output_scores": True}).answer([record(0, "?")])


def test_the_options_that_it_honours_are_options_that_there_are():
    assert {*_OPTIONS} <= {*_list_flags(ModelOptions("m"))}
