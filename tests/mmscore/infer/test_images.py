"""Images of a request: what their decoders take is bounded as it is where files are checked."""

import io
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import PIL.Image
import pytest
from msgspec.structs import replace

from mmconvert.core.errors import RowError
from mmconvert.core.record import Image, Record
from mmconvert.images import verify
from mmscore.infer.images import (
    MOST_OF_GROUP,
    MOST_OF_RECORD,
    count_decoded_bytes,
    count_fitting,
    decode_image,
    refuse_too_many_pixels,
    shrink_image,
)
from support.datasets_on_disk import record

SIDE = 400
RESIDENT = 1 << 20
"""Most kB that a process may hold."""

GIANTS = """
import io, sys
from concurrent.futures import ThreadPoolExecutor
import PIL.Image
from mmscore.infer.images import shrink_image

out = io.BytesIO()
PIL.Image.new("RGB", (12_000, 7_000)).save(out, "PNG", compress_level=1)
with ThreadPoolExecutor(4) as pool:
    for data in pool.map(lambda number: shrink_image(out.getvalue(), number, 64), range(4)):
        print(PIL.Image.open(io.BytesIO(data)).size)
"""
LAUNCHER = """
import json, resource, subprocess, sys
ended = subprocess.run([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps([ended.returncode, peak, ended.stdout + ended.stderr[-2000:]]))
"""
"""A small process between, because a child begins with what its parent held."""


def encode(kind: str, mode: str = "RGB", **options: object) -> bytes:
    out = io.BytesIO()
    PIL.Image.new(mode, (SIDE, SIDE)).save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize("shrinks", [False, True])
def test_an_image_whose_decoder_takes_too_much_fails_its_row(shrinks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "MOST_BYTES", 10 * SIDE * SIDE)
    data = encode("WEBP")
    with pytest.raises(RowError, match="image 2: decoding the WEBP of 400 x 400 takes 3 MiB, over the limit") as bad:
        shrink_image(data, 2, 10) if shrinks else decode_image(Image(data, 1), 2)
    assert (bad.value.code, bad.value.field) == ("image.too_large", "images")


def test_a_large_jpeg_is_refused_and_never_shown_smaller_than_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encode("JPEG", progressive=True)
    assert decode_image(Image(data, 1), 1).size == (SIDE, SIDE)
    monkeypatch.setattr(verify, "MOST_BYTES", 12 * SIDE * SIDE)
    with pytest.raises(RowError, match="image 1: decoding the JPEG"):
        decode_image(Image(data, 1), 1)


def test_an_image_of_more_pixels_than_are_read_fails_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PIL.Image, "MAX_IMAGE_PIXELS", SIDE * SIDE - 1)
    with pytest.raises(RowError, match=r"image 3 has more than 89,478,485 pixels"):
        decode_image(Image(encode("PNG"), 1), 3)


def test_requests_decode_one_after_the_other_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    most = [0, 0]
    convert = PIL.Image.Image.convert

    def watched(image: PIL.Image.Image, *args: object) -> PIL.Image.Image:
        most[0] += 1
        most[1] = max(most)
        made = convert(image, *args)
        most[0] -= 1
        return made

    monkeypatch.setattr(verify, "_BUDGET", verify._Budget(8 * SIDE * SIDE))
    monkeypatch.setattr(PIL.Image.Image, "convert", watched)
    image = Image(encode("PNG"), 1)
    with ThreadPoolExecutor(8) as pool:
        assert len({made.size for made in pool.map(lambda number: decode_image(image, number), range(16))}) == 1
    assert most == [0, 1]


@pytest.mark.release
def test_giant_images_of_several_requests_are_decoded_under_a_gibibyte() -> None:
    command = [sys.executable, "-c", LAUNCHER, GIANTS]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    code, resident, said = json.loads(ended.stdout)
    assert (code, said) == (0, "(64, 37)\n" * 4)
    assert resident < RESIDENT, f"{resident:,} kB"


def build_record(*sides: int) -> Record:
    images = tuple(Image(b"x", slot, "", "", "PNG", side, side) for slot, side in enumerate(sides, start=1))
    return replace(record(1), images=images)


def test_decoded_images_are_counted_as_they_are_shrunk():
    assert count_decoded_bytes(build_record(1000, 10)) == 3 * (1000**2 + 10**2)
    assert count_decoded_bytes(build_record(1000, 10), max_side=100) == 3 * (100**2 + 10**2)


@pytest.mark.parametrize(("width", "height"), [(1000, 200), (200, 1000)])
def test_the_longer_side_says_how_much_an_image_is_shrunk(width: int, height: int) -> None:
    one = replace(record(1), images=(Image(b"x", 1, "", "", "PNG", width, height),))
    assert count_decoded_bytes(one, max_side=100) == 3 * 100 * 20


def test_records_with_giant_images_go_in_smaller_groups():
    giant, small = build_record(9000), build_record(500)
    assert count_fitting([small] * 9, 8) == 8
    assert count_fitting([small] * 3, 8) == 3
    assert count_fitting([giant] * 9, 8) == MOST_OF_GROUP // (3 * 9000**2) == 1
    assert count_fitting([giant] * 9, 8, max_side=1000) == 8
    assert count_fitting([small, small, giant, giant], 8) == 3
    assert count_fitting([build_record(*[9000] * 4)] * 2, 8) == 1


def test_a_record_whose_images_do_not_fit_the_memory_is_refused():
    giants = build_record(*[9000] * 4)
    assert count_decoded_bytes(giants) > MOST_OF_RECORD
    with pytest.raises(RowError, match=r"the 4 images take 926 MiB decoded, over the limit of 768 .* --max-image-side"):
        refuse_too_many_pixels(giants)
    refuse_too_many_pixels(giants, max_side=2000)
    refuse_too_many_pixels(build_record(*[1920] * 40))
