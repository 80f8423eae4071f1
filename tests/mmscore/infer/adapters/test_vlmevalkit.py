"""Models of VLMEvalKit as backends: what they are asked, and what becomes of what they say."""

import functools
import io
import sys
from pathlib import Path

import pandas as pd
import PIL.Image
import pytest
from msgspec.structs import replace

from mmconvert.core.command_output import hold_output
from mmconvert.core.errors import UsageError
from mmconvert.core.record import Image, Part, Source, Turn
from mmscore.infer.adapter import adapt
from mmscore.infer.adapters.vlmevalkit import ADAPTER
from mmscore.infer.backend import Generation, ModelOptions, Service
from mmscore.infer.message_model import MessageModel, ServiceModel
from support.questions import make_image, record

OPTIONS = ModelOptions("mine")
RED, BLUE = make_image("red"), make_image("blue")


class Looks(MessageModel):
    """Keeps what it is asked, with the bytes of the images, and says the number of its pieces."""

    INTERLEAVE = True

    def __init__(self):
        super().__init__()
        self.asked = []

    def generate_inner(self, message, dataset=None):
        seen = [(p["type"], Path(p["value"]).read_bytes() if p["type"] == "image" else p["value"]) for p in message]
        self.asked.append((seen, dataset))
        return str(len(message))


class Plain:
    """Inherits nothing."""

    INTERLEAVE = False

    def generate_inner(self, msgs, dataset=None):
        prompt, image = self.message_to_promptimg(msgs, dataset=dataset)
        return f"{prompt}|{image and Path(image).suffix}"


def asked(model, *records, options=OPTIONS):
    return adapt("m.py@M", model, options).answer(list(records))


def test_a_message_keeps_the_order_and_the_bytes_and_its_files_go_away():
    model, paths = Looks(), []
    inner = model.generate_inner
    model.generate_inner = lambda message, dataset: (
        paths.extend(Path(p["value"]) for p in message if p["type"] == "image") or inner(message, dataset)
    )
    (answer,) = asked(model, record(1, "Is ", RED, " as ", BLUE, "?", source=Source("f", "mine.tsv", 0)))
    assert answer.text == "5"
    assert model.asked == [
        ([("text", "Is "), ("image", RED), ("text", " as "), ("image", BLUE), ("text", "?")], "mine")
    ]
    assert {path.suffix for path in paths} == {".png"}
    assert not any(path.exists() for path in paths)


def test_an_image_that_is_only_an_address_is_handed_on_as_one():
    class Tells(MessageModel):
        def generate_inner(self, message, dataset=None):
            return message[0]["value"]

    row = replace(record(1, RED, "a"), images=(Image(None, 1, url="https://example.org/a.png"),))
    assert asked(Tells(), row)[0].text == "https://example.org/a.png"


def test_the_benchmarks_name_goes_before_the_files():
    model = Looks()
    asked(model, record(1, "a", dataset="MMStar"))
    assert model.asked[0][1] == "MMStar"


def test_a_class_without_a_base_may_call_what_the_base_has():
    (answer,) = asked(Plain, record(1, RED, "a", BLUE, "b"))
    assert answer.text == "a\nb|.png"
    assert asked(Plain, record(1, "a"))[0].text == "a|None"


def test_blink_shows_its_images_in_a_row():
    sizes = []

    class Row(MessageModel):
        def generate_inner(self, message, dataset=None):
            _, path = self.message_to_promptimg(message, dataset)
            with PIL.Image.open(path) as made:
                sizes.append(made.size)
            return "A"

    asked(Row(), record(1, make_image("red", (24, 16)), make_image("blue", (8, 16)), "?", dataset="BLINK"))
    assert sizes == [(512 * 24 // 16 + 512 * 8 // 16, 512)]


class Worded(Looks):
    def use_custom_prompt(self, dataset):
        return dataset == "mine"

    def build_prompt(self, line, dataset=None):
        assert isinstance(line, pd.Series)
        self.line = line
        options = [f"{k}={line[k]}" for k in "ABCD" if k in line and not pd.isna(line[k])]
        text = f"{line['index']}:{line['question']}:{line['hint']}:{options}:{line['answer']}"
        shown_images = [{"type": "image", "value": path} for path in self.dump_image(line, dataset)]
        return [*shown_images, {"type": "text", "value": text}]


def test_a_prompt_of_its_own_is_made_from_the_line_of_the_kits_table():
    row = record(
        7,
        RED,
        BLUE,
        "worded by the dataset",
        dataset="mine",
        question="Which?",
        hint="look",
        options=("cat", None, "None"),
        answer="C",
        label='"C"',
        l2_category="fine",
        extra={"source": "web"},
    )
    model = Worded()
    asked(model, row, replace(row, dataset="other"))
    shown = [("image", RED), ("image", BLUE)]
    assert model.asked[0] == ([*shown, ("text", "7:Which?:look:['A=cat', 'C=None']:C")], "mine")
    assert model.asked[1] == ([*shown, ("text", "worded by the dataset")], "other")
    assert (model.line["l2-category"], model.line["source"], len(model.line["image"])) == ("fine", "web", 2)


def test_a_history_goes_to_chat_inner():
    class Chats(Looks):
        def chat_inner(self, message, dataset=None):
            self.history = [(turn["role"], [piece["type"] for piece in turn["content"]]) for turn in message]
            return f"{len(message)} {dataset}"

    turns = (
        Turn("user", (Part("image"), Part("text", "one"))),
        Turn("assistant", (Part("text", "two"),)),
        Turn("user", (Part("text", "three"),)),
    )
    row = replace(record(1, RED, "x", dataset="MMDU"), messages=turns)
    model = Chats()
    assert asked(model, row)[0].text == "3 MMDU"
    assert model.history == [("user", ["image", "text"]), ("assistant", ["text"]), ("user", ["text"])]
    (refused,) = asked(Looks(), row)
    assert refused.status == "failed"
    assert "no chat_inner" in refused.error


def test_a_chat_that_is_too_long_loses_its_first_turns_and_a_failure_is_raised():
    class Short(MessageModel):
        def chat_inner(self, message, dataset=None):
            if len(message) > self.most:
                raise RuntimeError("too long")
            return message[0]["content"][0]["value"]

    model, user, other = Short(), {"role": "user"}, {"role": "assistant"}
    history = [{**user, "content": "1"}, {**other, "content": "2"}, {**user, "content": "3"}]
    model.most = 2
    assert model.chat(history) == "3"
    model.most = 0
    with pytest.raises(RuntimeError, match="too long"):
        model.chat(history)


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (None, "gave no answer"),
        ((-1, "", "quota"), "code -1: quota"),
        ("Failed to obtain answer via API.", "Failed to obtain answer via API."),
        ("Chat Mode: Failed with all possible conversation turns.", "Chat Mode"),
        (7, "expected a text from the model (got 7)"),
        (ValueError("no memory\nat all"), r"ValueError: no memory"),
    ],
)
def test_a_failure_is_a_state(reply, error):
    class Fails(MessageModel):
        def generate_inner(self, message, dataset=None):
            if isinstance(reply, Exception):
                raise reply
            return reply

    good, bad = asked(Plain, record(1, "a"))[0], asked(Fails(), record(1, "a"))[0]
    assert (good.status, bad.status, bad.text) == ("ok", "failed", None)
    assert error in bad.error


def test_replies_of_services_are_taken_out_of_what_comes_with_them():
    class Records(MessageModel):
        def generate_inner(self, message, dataset=None):
            return {"prediction": "B", "extra_records": {"steps": 3}}

    class Codes(MessageModel):
        def generate_inner(self, message, dataset=None):
            return 0, "B", "fine"

    assert asked(Records(), record(1, "a"))[0].text == "B"
    assert asked(Codes(), record(1, "a"))[0].text == "B"


def test_the_reasoning_of_a_reply_is_cut_off_and_kept():
    class Thinks(MessageModel):
        def generate_inner(self, message, dataset=None):
            return "<think>Not (D).</think>A"

    (answer,) = asked(Thinks(), record(1, "a"))
    assert (answer.text, answer.thinking) == ("A", "Not (D).")


class Asks(ServiceModel):
    def __init__(self, model="default", max_tokens=9, **kwargs):
        self.opened = (model, max_tokens, kwargs)
        self.tries = 0
        super().__init__(retry=3, wait=0)

    def generate_inner(self, inputs, **kwargs):
        self.tries += 1
        texts = [piece["value"] for piece in inputs]
        return (0, f"{self.system_prompt}{texts}{kwargs}", "") if self.tries > 1 else (-1, "", "busy")


def test_a_service_is_tried_again_and_has_a_place_for_a_system_turn():
    row = record(1, "a", dataset="D")
    row = replace(row, messages=(Turn("system", (Part("text", "Be brief."),)), *row.messages))
    backend = adapt("m.py@M", Asks, replace(OPTIONS, service=Service(concurrency=4)))
    assert backend.batch_size == 4
    assert backend.answer([row])[0].text == "Be brief.\n['a']{'dataset': 'D'}"
    assert asked(Looks(), row)[0].error.startswith("messages: the model has no place for a system turn")
    broken = Asks()
    broken.tries = -9
    assert "Failed to obtain answer via API. (got 'busy')" in asked(broken, record(1, "a"))[0].error


def test_rows_of_a_service_are_asked_side_by_side_each_with_its_own_files():
    class Sees(Asks):
        def generate_inner(self, inputs, **kwargs):
            return 0, PIL.Image.open(io.BytesIO(Path(inputs[0]["value"]).read_bytes())).getpixel((0, 0)).__str__(), ""

    backend = adapt("m.py@M", Sees, replace(OPTIONS, service=Service(concurrency=3)))
    colours = [(shade, 0, 0) for shade in range(0, 250, 10)]
    answers = backend.answer([record(n, make_image(colour)) for n, colour in enumerate(colours)])
    assert [answer.text for answer in answers] == list(map(str, colours))


def test_what_a_model_prints_stands_where_print_puts_it_unless_a_command_holds_the_output(capsys):
    class Talks(Plain):
        def __init__(self):
            sys.stdout.write("loading\n")

        def generate_inner(self, msgs, dataset=None):
            sys.stdout.write("asked\n")
            return "A"

    asked(Talks, record(1, "a"), record(2, "b"))
    assert capsys.readouterr() == ("loading\nasked\nasked\n", "")
    with hold_output("mmscore"):
        asked(Talks, record(1, "a"), record(2, "b"))
    assert capsys.readouterr() == ("", "loading\nasked\nasked\n")


def opened(given, options):
    return adapt("m.py@M", given, options)._model.opened


def test_a_class_is_opened_with_the_options_that_its_parameters_name():
    wishes = ModelOptions("path/to", Generation(max_new_tokens=5, temperature=0.5))
    assert opened(Asks, wishes) == ("path/to", 5, {"temperature": 0.5})
    assert opened(Asks, ModelOptions("Asks")) == ("default", 9, {})
    bound = functools.partial(Asks, model="bound", top_k=3)
    assert opened(bound, wishes) == ("bound", 5, {"temperature": 0.5, "top_k": 3})


@pytest.mark.parametrize(
    "options",
    [
        replace(OPTIONS, generation=Generation(max_new_tokens=5)),
        replace(OPTIONS, dtype="float16"),
        replace(OPTIONS, method="likelihood"),
        replace(OPTIONS, service=Service(concurrency=2)),
    ],
)
def test_an_option_is_honoured_or_an_error(options):
    with pytest.raises(UsageError, match="has no --"):
        adapt("m.py@M", Plain, options)


def test_several_responses_a_row_are_honoured_by_any_class():
    assert adapt("m.py@M", Plain, replace(OPTIONS, n=3)).name == OPTIONS.model


def test_a_class_that_wants_more_says_how_to_give_it():
    class Wants(Plain):
        def __init__(self, root):
            self.root = root

    with pytest.raises(UsageError, match=r"'root'.*functools.partial"):
        adapt("m.py@M", Wants, OPTIONS)
    assert asked(functools.partial(Wants, "here"), record(1, "a"))[0].text == "a|None"
    assert asked(Wants("here"), record(1, "a")) != []


def test_two_settings_share_no_answers_and_other_things_are_not_taken():
    one, same, other = (adapt("m", functools.partial(Asks, top_k=k), OPTIONS).identity for k in (1, 1, 2))
    assert one == same != other
    assert ADAPTER("m", object(), OPTIONS) is None
    assert ADAPTER("m", lambda records: [], OPTIONS) is None
