"""A text as an image: lines, sizes, characters that the font has not."""

from dataclasses import dataclass

import pytest

from mmconvert.core.errors import RowError, UsageError
from mmconvert.plugins.transform import load_steps
from mmconvert.transforms.text_image import TextLines, wrap_text
from support.drawing import applied, asked, pixels


@dataclass
class Monospaced:
    """A font of which every letter is ten pixels wide."""

    width: int = 10

    def getlength(self, text: str) -> float:
        return self.width * len(text)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one two", TextLines("one two", 1)),
        ("one two three", TextLines("one two\nthree", 2)),
        ("one two\n\nthree", TextLines("one two\n\nthree", 3)),
        ("a b", TextLines("a b", 1)),
        ("four five", TextLines("four\nfive", 2)),
        ("", TextLines("", 1)),
        ("\n", TextLines("", 2)),
        ("a  b", TextLines("a  b", 1)),
        # A first word that is too long breaks a line before it, which counts although it is blank.
        ("unbreakably long", TextLines("unbreakably\nlong", 3)),
        ("a unbreakably", TextLines("a\nunbreakably", 2)),
    ],
)
def test_lines_break_at_blanks_before_the_width_is_reached(text, lines):
    assert wrap_text(text, Monospaced(), 80) == lines


def test_the_image_is_as_high_as_its_lines_and_black_on_white():
    image = pixels(applied(asked("Which?\nThis."), "text_image:font_size=20,max_width=200").images[0])
    assert image.size == (200, 44)
    colours = {image.getpixel((x, y)) for x in range(200) for y in range(44)}
    assert {(0, 0, 0), (255, 255, 255)} <= colours
    assert all(r == g == b for r, g, b in colours)


def test_the_block_stands_in_the_middle():
    image = pixels(applied(asked("Which?"), "text_image:font_size=20,max_width=300").images[0])
    dark = [x for x in range(300) if any(image.getpixel((x, y))[0] < 128 for y in range(image.height))]
    assert abs((dark[0] + dark[-1]) / 2 - 150) < 5


def test_a_word_wider_than_the_image_widens_it():
    assert pixels(applied(asked("W" * 40), "text_image:font_size=20,max_width=100").images[0]).width > 400


def test_a_size_resizes_it():
    made = applied(asked("Which?"), "text_image:size=64x32")
    assert (made.images[0].width, made.images[0].height) == (64, 32)
    assert [part.type for part in made.messages[0].content] == ["image", "text"]


def test_the_same_text_gives_the_same_bytes_and_another_another():
    first, again, other = (applied(asked(text), "text_image").images[0].bytes for text in ("Which?", "Which?", "Who?"))
    assert first == again != other


def test_the_kits_defaults_are_ours():
    image = pixels(applied(asked("Which?"), "text_image").images[0])
    assert image.size == (1024, 100)


@pytest.mark.parametrize("text", ["Was für ein Tier?", "\u732b", "a\u200bb", "smile \U0001f600"])
def test_a_character_that_the_font_has_not_refuses_the_row(text):
    with pytest.raises(RowError, match=r"has no .* \(U\+") as error:
        applied(asked(text), "text_image")
    assert error.value.code == "font.character"


def test_tabs_and_carriage_returns_are_blanks_and_line_ends():
    texts = ("a b\nc", "a\tb\r\nc")
    assert len({applied(asked(text), "text_image").images[0].sha256 for text in texts}) == 1


def test_a_text_too_long_for_an_image_refuses_the_row():
    with pytest.raises(RowError) as error:
        applied(asked("\n" * 100_000), "text_image")
    assert error.value.code == "image.too_large"


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("text_image:font_size=0", "font_size must be"),
        ("text_image:max_width=0", "max_width must be"),
        ("text_image:font=/nowhere.ttf", "cannot be read as a font"),
        ("text_image:size=3", "WIDTHxHEIGHT"),
    ],
)
def test_wrong_parameters_are_told_at_once(spec, told):
    with pytest.raises(UsageError, match=told):
        load_steps([spec])
