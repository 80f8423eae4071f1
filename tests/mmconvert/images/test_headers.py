"""Format, size and wholeness of images, read from their bytes."""

import pytest

from mmconvert.core.errors import RowError
from mmconvert.images.headers import probe
from mmconvert.images.verify import MAX_PIXELS, verify_decoded
from support.records import KINDS, image_bytes

PNG = image_bytes("PNG")


def code_of(function, *arguments) -> str:
    with pytest.raises(RowError) as caught:
        function(*arguments)
    return caught.value.code


@pytest.mark.parametrize("kind", KINDS)
def test_format_and_size_are_read_from_the_bytes(kind: str) -> None:
    data = image_bytes(kind, 7, (33, 20))
    assert probe(data) == (kind, 33, 20)
    verify_decoded(data)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_every_cut_is_found(kind: str) -> None:
    data = image_bytes(kind, 7, (33, 20))
    for length in range(16, len(data) - 2):
        code = code_of(probe, data[:length])
        assert code in ("image.truncated", "image.header"), length


def test_a_header_that_claims_too_many_pixels_is_refused_before_decoding() -> None:
    bomb = PNG[:16] + (20_000).to_bytes(4, "big") * 2 + PNG[24:]
    assert MAX_PIXELS < 20_000**2
    assert code_of(probe, bomb) == "image.too_large"


@pytest.mark.parametrize("data", [b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"%PDF-1.7", b"%!PS-Adobe", b"GIF90a"])
def test_other_kinds_are_refused(data: bytes) -> None:
    assert code_of(probe, data) == "image.format"


def test_a_gif_is_as_large_as_its_first_frame_makes_it() -> None:
    data = bytearray(image_bytes("GIF", 7, (33, 20)))
    frame = data.index(b"\x2c", 13)
    data[frame + 7 : frame + 9] = (60_000).to_bytes(2, "little")
    assert probe(bytes(data)) == ("GIF", 33, 60_000)
    data[frame + 5 : frame + 7] = (60_000).to_bytes(2, "little")
    assert code_of(probe, bytes(data)) == "image.too_large"
