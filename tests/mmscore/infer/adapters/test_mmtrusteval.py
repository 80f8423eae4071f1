"""Chat models of MMTrustEval as backends: messages, settings, replies and failures."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mmconvert.core.errors import UsageError
from mmconvert.core.record import Image, Part, Turn
from mmscore import predict, score
from mmscore.infer.adapter import adapt
from mmscore.infer.adapters.mmtrusteval import adapter
from mmscore.infer.backend import Generation, ModelOptions
from support.datasets_on_disk import write_dataset
from support.questions import make_image, record
from support.records import checked

CLASS = """
class Response:
    def __init__(self, content, finish_reason=None, logprobs=None):
        self.content, self.finish_reason, self.logprobs = content, finish_reason, logprobs

class Scripted:
    model_family = ["scripted-1b", "scripted-7b"]

    def __init__(self, model_id):
        self.model_id = model_id

    def chat(self, messages, **generation_kwargs):
        print("asked")
        content = messages[-1]["content"]
        return Response(f"{self.model_id}: {content if isinstance(content, str) else content['text']}")
"""


@dataclass
class Reply:
    content: Any
    finish_reason: str | None = None
    logprobs: Any = None


class Heard:
    """Keeps what it was asked and says what it is told to."""

    model_family = ("heard",)

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[list[dict[str, Any]], dict[str, Any]]] = []
        self.images: list[bytes] = []

    def chat(self, messages: list[dict[str, Any]], **settings: Any) -> Any:
        self.asked.append((messages, settings))
        contents = [message["content"] for message in messages if isinstance(message["content"], dict)]
        self.images += [Path(content["image_path"]).read_bytes() for content in contents]
        reply = self.replies.pop(0) if self.replies else Reply("ok")
        if isinstance(reply, Exception):
            raise reply
        return reply


def answer(model: Heard, *records: Any, **options: Any) -> list[Any]:
    backend = adapter("m", model, ModelOptions("heard", **options))
    assert backend is not None
    return backend.answer(records)


def test_turns_are_texts_or_a_text_with_an_image() -> None:
    shown = make_image("red")
    asked = record(1, "See ", shown, "this?")
    history = (Turn("system", (Part("text", "Be short."),)), Turn("user", (Part("text", "Hi"),)))
    history += (Turn("assistant", (Part("text", "Hello"),)),)
    model = Heard()
    answer(model, record(1, "x", shown, messages=(*history, *asked.messages), images=(checked("PNG", 3, 1),)))
    ((messages, settings),) = model.asked
    path = messages[-1]["content"].pop("image_path")
    assert messages == [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": {"text": "See this?"}},
    ]
    assert path.endswith(".png")
    assert not Path(path).exists()
    assert model.images == [checked("PNG", 3, 1).bytes]
    assert settings == {"max_new_tokens": 50, "do_sample": False}


def test_an_image_that_is_an_address_stays_one() -> None:
    model = Heard()
    model.chat = lambda messages, **_: Reply(messages[0]["content"]["image_path"])  # type: ignore[method-assign]
    row = record(1, "x", make_image("red"), images=(Image(None, 1, url="https://example.org/a.png"),))
    assert answer(model, row)[0].text == "https://example.org/a.png"


def test_settings_have_the_kits_names() -> None:
    model = Heard()
    generation = Generation(max_new_tokens=9, temperature=0.5, top_p=0.9, stop=("\n",))
    answer(model, record(1, "x"), generation=generation)
    settings = {"max_new_tokens": 9, "do_sample": True, "temperature": 0.5, "top_p": 0.9, "stop_sequences": ["\n"]}
    assert model.asked[0][1] == settings


@pytest.mark.parametrize(
    ("generation", "asked"),
    [
        (Generation(do_sample=True, top_k=5), {"do_sample": True, "top_k": 5}),
        (Generation(num_beams=3), {"do_sample": False, "num_beams": 3}),
    ],
)
def test_ways_to_search_and_to_draw_are_handed_on(generation: Generation, asked: dict[str, Any]) -> None:
    model = Heard()
    answer(model, record(1, "x"), generation=generation)
    assert model.asked[0][1] == {"max_new_tokens": 50, **asked}


def test_the_reasoning_of_a_reply_is_cut_off_and_kept() -> None:
    found = answer(Heard("<think>Hm.</think>Yes", Reply("<think>Hm")), record(1, "x"), record(2, "x"))
    assert [(one.text, one.thinking) for one in found] == [("Yes", "Hm."), ("", "Hm")]


def test_what_is_no_reply_is_a_state() -> None:
    replies = [ValueError("out of luck"), Reply("Error in generation: 503"), Reply(None), "plain", Reply("", "length")]
    found = answer(Heard(*replies), *(record(number, "x") for number in range(5)))
    assert [one.text for one in found] == [None, None, None, "plain", ""]
    assert found[0].error == "ValueError: out of luck"
    assert found[1].error == "response: Error in generation: 503"
    assert "expected a Response" in found[2].error
    assert found[4].finish_reason == "length"


def test_two_images_in_a_turn_are_refused_by_row() -> None:
    one, two = answer(Heard(), record(1, make_image("red"), make_image("blue"), "x"), record(2, "y"))
    assert "shows one image (got 2)" in one.error
    assert two.text == "ok"


def test_scores_are_numbers_or_the_row_fails() -> None:
    model = Heard(Reply("a", None, [-0.5, -1]), Reply("b"))
    one, two = answer(model, record(1, "x"), record(2, "y"), output_scores=True)
    assert one.token_logprobs == (-0.5, -1.0)
    assert "log-probability" in two.error
    assert model.asked[0][1]["output_scores"] is True


@pytest.mark.parametrize("option", [{"dtype": "float16"}, {"batch_size": 2}, {"method": "likelihood"}])
def test_an_option_that_chat_has_not_is_an_error(option: dict[str, Any]) -> None:
    (flag,) = option
    with pytest.raises(UsageError, match=f"has no --{flag.replace('_', '-')}"):
        adapter("m", Heard(), ModelOptions("heard", **option))


@pytest.mark.parametrize("given", [object(), type("Chatty", (), {"chat": lambda self: None}), len, "text"])
def test_other_objects_are_left_to_others(given: object) -> None:
    assert adapter("m", given, ModelOptions("m")) is None


def test_a_class_is_opened_by_the_models_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scripted.py").write_text(CLASS)
    data = write_dataset(tmp_path / "d", {"test": [record(1, "Is it?", answer="x"), record(2, "Was it?", answer="y")]})
    backend = f"{tmp_path / 'scripted.py'}@Scripted"
    summary = predict(data, tmp_path / "p.parquet", model="scripted-7b", backend=backend)
    assert (summary.rows, summary.failed) == (2, 0)
    assert capsys.readouterr().out == "asked\nasked\n"
    (entry,) = score(tmp_path / "p.parquet", "own_short_answer").entries
    assert entry.model == "scripted-7b"
    with pytest.raises(UsageError, match=r"no model 'scripted-8b'\. Did you mean scripted-"):
        predict(data, tmp_path / "q.parquet", model="scripted-8b", backend=backend)


def test_an_object_says_its_own_name(tmp_path: Path) -> None:
    data = write_dataset(tmp_path / "d", {"test": [record(1, "Is it?", answer="ok")]})
    model = Heard()
    model.model_id = "heard-2b"  # type: ignore[attr-defined]
    predict(data, tmp_path / "p.parquet", backend=model)
    (entry,) = score(tmp_path / "p.parquet", "own_short_answer").entries
    assert (entry.model, entry.metrics["accuracy"].value) == ("heard-2b", 1.0)


def test_its_settings_are_part_of_what_an_answer_depends_on() -> None:
    made = [adapt("m", Heard(), ModelOptions("heard", generation=Generation(max_new_tokens=n))) for n in (1, 2)]
    assert made[0].identity != made[1].identity
