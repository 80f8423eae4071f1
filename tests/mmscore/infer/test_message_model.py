"""How a model class may be asked: texts, pieces, lists of them, and what counts as an image."""

from pathlib import Path

import pybase64
import pytest

from mmconvert.core.errors import RowError, UsageError
from mmscore.infer.message_model import MessageModel, ServiceModel, is_image
from support.questions import make_image
from support.web_server import reply, web_server

RED = make_image("red")


class Echoes(MessageModel):
    INTERLEAVE = True

    def generate_inner(self, message, dataset=None):
        self.read = [Path(piece["value"]).read_bytes() for piece in message if piece["type"] == "image"]
        return repr([(piece["type"], piece["value"]) for piece in message])


@pytest.fixture
def apple(tmp_path: Path) -> str:
    path = tmp_path / "apple.png"
    path.write_bytes(RED)
    return str(path)


def test_every_short_form_means_the_same_message(apple):
    long = Echoes().generate([{"type": "image", "value": apple}, {"type": "text", "value": "What?"}])
    assert long == repr([("image", apple), ("text", "What?")])
    assert Echoes().generate([apple, "What?"]) == long
    assert (
        Echoes().generate("What?") == Echoes().generate({"type": "text", "value": "What?"}) == repr([("text", "What?")])
    )


def test_a_data_url_becomes_a_file_and_an_address_stays_one():
    model = Echoes()
    url = f"data:image/png;base64,{pybase64.b64encode(RED).decode()}"
    model.generate([url, {"type": "image", "value": url}])
    assert model.read == [RED, RED]
    address = "https://example.org/apple.jpg"
    (piece,) = model.preproc_content([address])
    assert piece == {"type": "image", "value": address}


def test_an_address_is_fetched_where_the_class_says_so_and_from_hosts_that_it_names():
    class Fetches(Echoes):
        allow_remote = True

    with web_server({"/apple.png": reply(RED)}) as server:
        address = f"http://127.0.0.1:{server.port}/apple.png"
        model = Fetches()
        with pytest.raises(RowError, match=r"127\.0\.0\.1"):
            model.generate([{"type": "image", "value": address}])
        assert server.requests == []
        model.allow_host = (f"127.0.0.1:{server.port}",)
        model.generate([{"type": "image", "value": address}])
    assert model.read == [RED]


def test_a_file_that_is_no_image_is_a_text(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    assert not is_image(str(tmp_path / "notes.txt"))
    assert not is_image("a" * 5000 + ".png")
    assert not is_image("data: I mean numbers")


@pytest.mark.parametrize("wrong", [3, ["a", 3], [{"type": "text"}], [{"type": "audio", "value": "a.wav"}]])
def test_what_is_no_message_is_refused(wrong):
    with pytest.raises(UsageError):
        Echoes().generate(wrong)


def test_what_a_class_lacks_is_said():
    model = MessageModel()
    assert model.use_custom_prompt("any") is False
    for ask in (lambda: model.generate("a"), lambda: model.build_prompt({}, "any")):
        with pytest.raises(NotImplementedError, match="MessageModel"):
            ask()
    with pytest.raises(UsageError, match="no chat_inner"):
        model.chat([{"role": "user", "content": "a"}])
    with pytest.raises(UsageError, match="set_dump_image"):
        model.dump_image({})


def test_a_service_names_the_place_of_each_of_several_images():
    class Asks(ServiceModel):
        INTERLEAVE = False

    pieces = [
        {"type": "image", "value": "a.png"},
        {"type": "text", "value": "and"},
        {"type": "image", "value": "b.png"},
    ]
    assert Asks().message_to_promptimg(pieces) == ("<image>\nand\n<image>", "a.png")
    assert Asks().message_to_promptimg(pieces[:2]) == ("and", "a.png")


def test_a_service_that_never_answers_is_asked_as_often_as_the_framework_asks_it():
    class Busy(ServiceModel):
        asked = 0

        def generate_inner(self, message, **kwargs):
            self.asked += 1
            return 1, "", "busy"

    model = Busy(wait=0)
    assert model.generate("Which?").startswith("Failed to obtain answer via API. ")
    assert model.asked == 10
