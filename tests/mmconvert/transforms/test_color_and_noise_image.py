"""Images that have nothing to do with the text: one colour, or noise."""

import subprocess
import sys

import pytest

from mmconvert.core.errors import RowError, UsageError
from mmconvert.core.record import Part, Turn
from mmconvert.kits.mmtrusteval.methods import hash_text
from mmconvert.plugins.transform import load_steps
from support.drawing import applied, asked, photo, pixels

SPECS = ["color_image:size=5x3", "noise_image:size=5x3"]


def test_a_colour_fills_the_image_and_hangs_on_text_and_seed():
    made = applied(asked("What is it?"), "color_image:size=3x2", seed=1)
    one_image = pixels(made.images[0])
    assert one_image.size == (3, 2)
    assert {one_image.getpixel((x, y)) for x in range(3) for y in range(2)} == {(228, 219, 104)}
    others = [
        applied(asked(text), "color_image:size=3x2", seed=seed) for text, seed in (("What is it?", 2), ("Who?", 1))
    ]
    assert len({made.images[0].sha256, *(other.images[0].sha256 for other in others)}) == 3


def test_noise_differs_from_pixel_to_pixel():
    one_image = pixels(applied(asked("What is it?"), "noise_image:size=5x4").images[0])
    assert one_image.size == (5, 4)
    assert one_image.getpixel((0, 0)) == (153, 193, 237)
    assert len({one_image.getpixel((x, y)) for x in range(5) for y in range(4)}) == 20


@pytest.mark.parametrize("spec", SPECS)
def test_copies_of_one_text_have_one_image(spec):
    first, second = (applied(asked("What is it?", id_=id_), spec) for id_ in ("1", "2"))
    assert first.images[0].sha256 == second.images[0].sha256


@pytest.mark.parametrize("spec", SPECS)
def test_a_text_is_led_by_the_image(spec):
    made = applied(asked("What is it?", extra={"subset": "s"}, answer="cat", answers=("cat",)), spec)
    assert made.messages == (Turn("user", (Part("image"), Part("text", "What is it?"))),)
    assert [(image.slot, image.format, image.width, image.height) for image in made.images] == [(1, "PNG", 5, 3)]
    assert made.attachments == ()
    assert made.extra == {"subset": "s", "transforms": [{"name": spec.partition(":")[0], "slot": 1}]}
    assert (made.id, made.variant, made.question, made.answers) == ("7", None, "What is it?", ("cat",))


@pytest.mark.parametrize("spec", SPECS)
def test_images_of_the_turn_are_replaced_by_the_one_and_kept(spec):
    first, second = photo(9, 9, slot=1), photo(8, 8, slot=2)
    made = applied(asked("Are ", first, " and ", second, " and ", first, " alike?"), spec)
    assert made.messages == (
        Turn("user", (Part("text", "Are "), Part("image"), *(Part("text", t) for t in (" and ", " and ", " alike?")))),
    )
    assert [image.slot for image in made.images] == [1]
    assert [(image.slot, image.bytes) for image in made.attachments] == [(3, first.bytes), (4, second.bytes)]


@pytest.mark.parametrize("spec", SPECS)
def test_images_of_earlier_turns_stay(spec):
    shown = photo(9, 9, slot=1)
    before = asked(
        "What is it?",
        messages=(
            Turn("user", (Part("image"), Part("text", "Look."))),
            Turn("assistant", (Part("text", "Yes."),)),
            Turn("user", (Part("text", "What is it?"),)),
            Turn("assistant", (Part("text", "A cat."),)),
        ),
        images=(shown,),
    )
    made = applied(before, spec)
    assert [image.slot for image in made.images] == [1, 2]
    assert made.images[0] == shown
    assert [[part.type for part in turn.content] for turn in made.messages] == [
        ["image", "text"],
        ["text"],
        ["image", "text"],
        ["text"],
    ]


@pytest.mark.parametrize("spec", SPECS)
def test_a_row_without_a_question_is_refused(spec):
    with pytest.raises(RowError, match="no user turn"):
        applied(asked("x", messages=()), spec)


@pytest.mark.parametrize("name", ["color_image", "noise_image"])
@pytest.mark.parametrize(
    ("size", "told"), [("5", "WIDTHxHEIGHT"), ("0x5", "WIDTHxHEIGHT"), ("-1x5", "WIDTH"), ("99999x99999", "at most")]
)
def test_a_size_that_is_none_is_told_at_once(name, size, told):
    with pytest.raises(UsageError, match=told):
        load_steps([f"{name}:size={size}"])
    with pytest.raises(UsageError, match="'size' is missing"):
        load_steps([name])


def test_a_file_in_the_folder_is_used_again_unless_told_otherwise(tmp_path):
    spec = f"color_image:size=3x2,folder={tmp_path}/made"
    made = applied(asked("What is it?"), spec, seed=1)
    file = tmp_path / "made" / f"{hash_text('What is it?')}.png"
    assert file.read_bytes() == made.images[0].bytes
    assert made.extra["transforms"][0]["file"] == file.name
    file.write_bytes(photo(9, 9).bytes)
    assert applied(asked("What is it?"), spec, seed=2).images[0].bytes == photo(9, 9).bytes
    anew = applied(asked("What is it?"), f"{spec},lazy=false", seed=1)
    assert anew.images[0].bytes == made.images[0].bytes == file.read_bytes()
    assert [path.name for path in file.parent.iterdir()] == [file.name]


STOPS = """
import sys, time
from pathlib import Path
from mmconvert.images.loader import Pictures
from mmconvert.kits.mmtrusteval import methods

def stop(self, data):
    print(self.name, flush=True)
    time.sleep(60)

Path.write_bytes = stop
methods.read_or_make(Path(sys.argv[1]), "a.png", lambda: b"x", Pictures(()), lazy=True)
"""


def test_what_a_killed_run_left_in_the_folder_goes_with_the_next_one(tmp_path):
    folder = tmp_path / "made"
    process = subprocess.Popen([sys.executable, "-c", STOPS, str(folder)], stdout=subprocess.PIPE, text=True)
    left = process.stdout.readline().strip()
    process.kill()
    process.wait()
    assert [path.name for path in folder.iterdir()] == [left]
    applied(asked("What is it?"), f"color_image:size=3x2,folder={folder}")
    assert [path.suffix for path in folder.iterdir()] == [".png"]


def test_a_file_that_is_no_image_refuses_the_row(tmp_path):
    (tmp_path / f"{hash_text('What is it?')}.png").write_bytes(b"nonsense")
    with pytest.raises(RowError) as error:
        applied(asked("What is it?"), f"noise_image:size=3x2,folder={tmp_path}")
    assert error.value.code == "image.format"
