"""Images that a function of the user's makes: what it gets, what it may give, and what its failures are."""

import hashlib

import pytest

from mmconvert.core.errors import RowError, UsageError
from mmconvert.plugins.transform import load_steps
from support.drawing import applied, asked, photo, pixels

METHODS = """
import io, pathlib
import PIL.Image

calls = []

def plain(sample):
    calls.append(sample)
    return PIL.Image.new("RGB", (4, 3), (sample.seed % 256, 1, 2))

class Attack:
    def run(self, sample):
        image = PIL.Image.open(sample.image_path).convert("RGB")
        image.putpixel((0, 0), (1, 2, 3))
        sample.image_path = str(pathlib.Path(sample.image_path).with_name("made.png"))
        image.save(sample.image_path)
        return sample

    def hash(self, text):
        return "attack-" + text[:3]

class Needs:
    def __init__(self, model):
        self.model = model

def as_bytes(sample):
    out = io.BytesIO()
    PIL.Image.new("RGB", (2, 2)).save(out, "WEBP")
    return out.getvalue()

def nothing(sample):
    return None

def missing(sample):
    return "/nowhere/x.png"

def fails(sample):
    raise KeyError("no such key")

def no_picture(sample):
    return b"nonsense"

class Rewrites:
    def run(self, sample):
        sample.text += "!"
        return sample

class Escapes:
    def run(self, sample):
        return plain(sample)

    def hash(self, text):
        return "../outside"

number = 7
"""


@pytest.fixture
def own(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(METHODS)
    return lambda name, more="": f"own_image:function={file}@{name}{more}"


def test_a_function_gets_a_sample_and_its_image_leads_the_text(own):
    made = applied(asked("What?", extra={"subset": "s"}, answers=("cat", "kitten"), answer="cat"), own("plain"), seed=3)
    assert [part.type for part in made.messages[0].content] == ["image", "text"]
    assert (made.images[0].width, made.images[0].height) == (4, 3)
    assert pixels(made.images[0]).getpixel((0, 0))[1:] == (1, 2)


def test_the_seed_hangs_on_the_text_and_the_runs_seed(own):
    drawn = {
        applied(asked(text), own("plain"), seed=seed).images[0].sha256
        for text, seed in (("What?", 0), ("Who?", 0), ("What?", 1), ("What?", 0))
    }
    assert len(drawn) == 3


def test_a_class_changes_the_samples_image(own, tmp_path):
    original = photo(5, 4, colour=(9, 9, 9))
    made = applied(asked(original, "What?"), own("Attack", f",folder={tmp_path}/made"))
    assert pixels(made.images[0]).getpixel((0, 0)) == (1, 2, 3)
    assert pixels(made.images[0]).getpixel((1, 0)) == (9, 9, 9)
    assert [(image.slot, image.bytes) for image in made.attachments] == [(2, original.bytes)]
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["attack-Wha.png"]


def test_without_a_hash_files_are_named_by_text_and_image(own, tmp_path):
    spec = own("plain", f",folder={tmp_path}/made")
    applied(asked("What?"), spec)
    assert [path.stem for path in (tmp_path / "made").iterdir()] == [hashlib.sha3_256(b"What?").hexdigest()]
    for colour in ((1, 1, 1), (2, 2, 2)):
        applied(asked(photo(3, 3, colour=colour), "What?"), spec)
    assert len(list((tmp_path / "made").iterdir())) == 3


def test_a_file_that_stands_is_used_without_a_call(own, tmp_path):
    spec = own("fails", f",folder={tmp_path}")
    (tmp_path / f"{hashlib.sha3_256(b'What?').hexdigest()}.png").write_bytes(photo(6, 6).bytes)
    assert applied(asked("What?"), spec).images[0].bytes == photo(6, 6).bytes


def test_bytes_of_any_image_stay_as_they_are(own):
    assert applied(asked("What?"), own("as_bytes")).images[0].format == "WEBP"


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("nothing", "method.result", "expected a path, bytes or a Pillow image"),
        ("missing", "method.result", "cannot be read"),
        ("fails", "method.failed", "KeyError: 'no such key'"),
        ("no_picture", "image.format", "no PNG"),
        ("Rewrites", "method.text", "changes the text"),
        ("Escapes", "method.hash", "plain file name"),
        ("Attack", "method.failed", "AttributeError"),
    ],
)
def test_what_goes_wrong_in_it_refuses_the_row(own, name, code, told):
    with pytest.raises(RowError, match=told) as error:
        applied(asked("What?"), own(name))
    assert error.value.code == code


@pytest.mark.parametrize(
    ("name", "told"),
    [("number", "is no function"), ("Needs", "without arguments"), ("plane", "Did you mean plain")],
)
def test_an_object_that_is_no_method_is_told_at_once(own, name, told):
    with pytest.raises(UsageError, match=told):
        load_steps([own(name)])


def test_a_name_without_a_file_is_told_at_once():
    with pytest.raises(UsageError, match=r"function=file\.py@NAME"):
        load_steps(["own_image:function=plain"])
