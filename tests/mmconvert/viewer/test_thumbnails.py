"""Thumbnails: small, in any mode, without metadata, shared, and bounded together."""

import base64
import io
import threading
from random import Random

import PIL.Image
import pytest

from mmconvert.core.record import Image
from mmconvert.images.loader import ImageLoader
from mmconvert.viewer import thumbnails
from mmconvert.viewer.thumbnails import SIDES, Thumbnails
from support.records import KINDS, image_bytes

OLD = int(PIL.__version__.partition(".")[0]) < 12
YCBCR = pytest.param("YCbCr", marks=pytest.mark.skipif(OLD, reason="Pillow 11 cannot read such a TIFF that it wrote"))


def image(one_image: PIL.Image.Image, kind: str = "PNG", **options: object) -> Image:
    out = io.BytesIO()
    one_image.save(out, kind, **options)
    return ImageLoader(()).of_bytes(out.getvalue(), 1)


def shown(src: str | None) -> PIL.Image.Image:
    assert src is not None
    head, data = src.split(",")
    found = PIL.Image.open(io.BytesIO(base64.b64decode(data)))
    assert head == f"data:{PIL.Image.MIME[found.format]};base64"
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_becomes_a_small_webp(kind: str) -> None:
    one_image = Thumbnails(1).describe_image(ImageLoader(()).of_bytes(image_bytes(kind, 3, (2000, 500)), 1))
    assert shown(one_image.src).size == (1024, 256)
    assert one_image.facts.startswith(f"{kind} · 2000 × 500 · ")


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "PA", "RGB", "RGBA", "I", "I;16", "CMYK", "F", YCBCR])
def test_every_mode_is_shown_in_colour_or_grey(mode: str) -> None:
    new = PIL.Image.new("L", (20, 10)).convert("PA") if mode == "PA" else PIL.Image.new(mode, (20, 10))
    given = image(new, "TIFF" if mode in ("CMYK", "YCbCr", "F", "I", "PA") else "PNG")
    assert shown(Thumbnails(1).describe_image(given).src).size == (20, 10)


def test_sixteen_bit_grey_keeps_its_shades() -> None:
    steps = PIL.Image.new("I;16", (3, 1))
    for x, value in enumerate((0, 0x7FFF, 0xFFFF)):
        steps.putpixel((x, 0), value)
    seen = shown(Thumbnails(1).describe_image(image(steps.resize((90, 30), PIL.Image.Resampling.NEAREST))).src).convert(
        "L"
    )
    assert [round(seen.getpixel((x, 15)) / 64) for x in (15, 45, 75)] == [0, 2, 4]


@pytest.mark.parametrize(
    ("count", "mode", "kind"), [(1, "RGB", "WEBP"), (10_000, "RGB", "JPEG"), (10_000, "RGBA", "WEBP")]
)
def test_thousands_are_jpeg_where_nothing_is_transparent(count: int, mode: str, kind: str) -> None:
    given = image(PIL.Image.effect_noise((640, 480), 60).convert(mode))
    assert shown(Thumbnails(count).describe_image(given).src).format == kind


@pytest.mark.parametrize("count", [1, 10_000])
def test_an_image_is_turned_as_its_metadata_says_and_loses_it(count: int) -> None:
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    exif.get_ifd(0x8825)[1] = "N"
    told = {"exif": exif, "icc_profile": b"a profile", "comment": b"a place", "xmp": b"<x/>"}
    one_image = Thumbnails(count).describe_image(image(PIL.Image.new("RGB", (40, 20)), "JPEG", **told))
    assert shown(one_image.src).size == (20, 40)
    assert dict(shown(one_image.src).getexif()) == {}
    assert not {"exif", "icc_profile", "comment", "xmp"} & shown(one_image.src).info.keys()


@pytest.mark.parametrize("size", [(640, 480), (481, 1283), (64, 2000), (50, 20)])
def test_a_jpeg_is_decoded_no_smaller_than_it_is_shown(size: tuple[int, int]) -> None:
    made = Thumbnails(10_000)
    seen = shown(made.describe_image(image(PIL.Image.effect_noise(size, 60).convert("RGB"), "JPEG")).src)
    side = min(134, max(size))
    assert max(seen.size) == side
    assert abs(min(seen.size) - min(size) * side / max(size)) <= 1


def test_transparency_stays() -> None:
    assert shown(Thumbnails(1).describe_image(image(PIL.Image.new("RGBA", (9, 9), (1, 2, 3, 0)))).src).mode == "RGBA"


def noise(seed: int) -> Image:
    return image(PIL.Image.effect_noise((300 + seed, 300), 90).convert("RGB"))


def test_one_image_is_held_once() -> None:
    made = Thumbnails(2)
    one = noise(1)
    assert made.describe_image(one, 1).src is made.describe_image(one, 2).src


@pytest.mark.slow
def test_all_together_stay_within_the_room_and_shrink_before_they_end() -> None:
    made = Thumbnails(10, max_bytes=60_000)
    images = [made.describe_image(noise(n)) for n in range(30)]
    sizes = [max(shown(one.src).size) for one in images if one.src]
    assert sum(len(one.src) for one in images if one.src) <= 60_000
    assert len(sizes) >= 10
    assert min(sizes) == SIDES[0]
    assert images[-1].note == "the page has no room for more images"
    assert images[-1].facts.startswith("PNG · 329 × 300 · ")


def small_noise(seed: int) -> Image:
    pixels = Random(seed).randbytes(160 * 120 * 3)
    return image(PIL.Image.frombytes("RGB", (160, 120), pixels), "JPEG", quality=90)


def test_what_images_take_sets_the_size_of_the_next_ones_so_that_all_have_room() -> None:
    images = [small_noise(n) for n in range(260)]
    made = Thumbnails(len(images), max_bytes=len(images) * 9_000)
    for start in range(0, len(images), 20):
        made.prepare(images[start : start + 20])
    sides = [max(shown(made.describe_image(one).src).size) for one in images]
    early, late = sides[100:120], sides[160:180]
    assert min(late) > 0.95 * max(early)


def test_others_work_while_thumbnails_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    going_on = threading.Event()

    def shrink(data: bytes, side: int) -> PIL.Image.Image:
        assert going_on.wait(30)
        return PIL.Image.new("RGB", (9, 9))

    monkeypatch.setattr(thumbnails, "_shrink", shrink)
    images = [Image(b"x", 1, sha256=str(n), format="PNG", width=9, height=9) for n in range(8)]
    made = Thumbnails(len(images))
    with made.start(images):
        going_on.set()
    assert all(made.describe_image(one).src for one in images)


def test_nothing_is_decoded_when_the_room_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    shrunk: list[int] = []
    monkeypatch.setattr(thumbnails, "_shrink", lambda data, side: shrunk.append(side) or PIL.Image.new("RGB", (9, 9)))
    made = Thumbnails(300, max_bytes=0)
    images = [Image(b"x", 1, sha256=str(n), format="PNG", width=9, height=9) for n in range(300)]
    made.prepare(images[:100])
    notes = {made.describe_image(one).note for one in images}
    assert notes == {"the page has no room for more images"}
    assert len(shrunk) == 100


def test_what_cannot_be_shown_says_why() -> None:
    good = image_bytes("PNG", 1, (20, 20))
    damaged = Image(good.replace(b"IDATx", b"IDATy"), 1, sha256="d", format="PNG", width=20, height=20)
    one_image = Thumbnails(1).describe_image(damaged)
    assert (one_image.src, "cannot be decoded" in one_image.note) == (None, True)
    away = Thumbnails(1).describe_image(Image(None, 1, url="https://x.example/a.png"))
    assert (away.src, away.name) == (None, "https://x.example/a.png")
