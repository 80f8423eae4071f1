"""What decoders may take of memory and time: all of them together, and each image for itself."""

import io
import threading

import PIL.Image
import pytest
from PIL import _imaging

from mmconvert.core.errors import RowError
from mmconvert.images import verify
from support.unfolding import build_tiff


def encode(kind: str, mode: str = "RGB", side: int = 400, **options: object) -> bytes:
    out = io.BytesIO()
    PIL.Image.new(mode, (side, side)).save(out, kind, **options)
    return out.getvalue()


def test_an_image_whose_decoder_takes_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {kind: encode(kind) for kind in ("PNG", "JPEG", "WEBP", "BMP", "TIFF", "GIF")}
    monkeypatch.setattr(verify, "MOST_BYTES", 10 * 400 * 400)
    for kind, one in data.items():
        if kind != "WEBP":
            verify.verify_decoded(one)
    with pytest.raises(RowError, match="decoding the WEBP of 400 x 400 takes 2 MiB, over the limit of 1") as refused:
        verify.verify_decoded(data["WEBP"])
    assert refused.value.code == "image.too_large"


def test_a_large_progressive_jpeg_is_read_whole_at_fewer_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encode("JPEG", progressive=True)
    monkeypatch.setattr(verify, "MOST_BYTES", 8 * 400 * 400)
    verify.verify_decoded(data)
    with verify.open_image(data, reduce=True) as image:
        assert image.size == (50, 50)
    refused = pytest.raises(RowError, match="decoding the JPEG of 400 x 400 takes 1 MiB, over the limit")
    with refused, verify.open_image(data):
        pytest.fail("what a model or a transform is shown must not be shrunk in silence")
    with pytest.raises(RowError, match="truncated"):
        verify.verify_decoded(data[: len(data) // 2])


def test_a_jpeg_of_very_many_scans_is_refused() -> None:
    data = encode("JPEG", "L", side=1000, progressive=True)
    scan = data[data.rfind(b"\xff\xda") : -2]
    verify.verify_decoded(data[:-2] + scan * 50 + data[-2:])
    with pytest.raises(RowError, match=r"a JPEG of 1000 x 1000 in 20\d\d scans takes too long to decode"):
        verify.verify_decoded(data[:-2] + scan * 2000 + data[-2:])


def test_the_copies_that_are_made_of_an_image_count(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encode("PNG")
    monkeypatch.setattr(verify, "MOST_BYTES", 4 * 400 * 400)
    verify.verify_decoded(data)
    with pytest.raises(RowError, match="takes 1 MiB"), verify.open_image(data, copies=1):
        pytest.fail("the copy has no room")


@pytest.mark.parametrize("pages", [1, 2, 5000])
def test_no_page_but_the_first_of_a_tiff_is_looked_at(pages: int) -> None:
    data = build_tiff(8, 8, 1, bytes(64), pages=pages)
    with verify.open_image(data) as image:
        image.load()
        assert (image.size, image.n_frames) == ((8, 8), 1)
    verify.verify_decoded(data[:9] + data[9:] if pages == 1 else data)


def test_decoders_wait_for_each_other() -> None:
    budget = verify._Budget(10)
    most = [0, 0]

    def decode() -> None:
        with budget.reserve(6):
            most[0] += 1
            most[1] = max(most)
            threading.Event().wait(0.01)
            most[0] -= 1

    threads = [threading.Thread(target=decode) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert most == [0, 1]
    with budget.reserve(100):
        pass


def test_memory_of_a_giant_image_goes_back_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    data, before = encode("PNG"), _imaging.get_block_size()
    with verify.open_image(data):
        assert _imaging.get_block_size() == before
    monkeypatch.setattr(verify, "_GIANT", 4 * 400 * 400)
    with verify.open_image(data), verify.open_image(data):
        assert _imaging.get_block_size() > 32 << 20  # what malloc keeps at most
    assert _imaging.get_block_size() == before


def test_memory_that_runs_out_in_a_decoder_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(image: object) -> None:
        raise MemoryError

    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", fail)
    with pytest.raises(RowError, match="the image cannot be decoded: memory ran out"):
        verify.verify_decoded(encode("PNG"))
