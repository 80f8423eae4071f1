"""The images of samples: found by name, and the same whoever makes the thumbnails."""

from collections.abc import Iterator

import pytest

from mmconvert.core.record import Image
from mmconvert.viewer.thumbnails import Thumbnails
from mmscore.reporting.html.images import SampleImages, open_makers
from support.questions import make_image

SAMPLES = 300


def illustrated() -> Iterator[tuple[list[str], list[Image]]]:
    """Noise of many sizes, some of it twice, one image damaged."""
    for n in range(SAMPLES):
        data = make_image((n % 200, 0, 0), (30 + n % 200, 20))
        yield [str(n)], [Image(data[:-30] if n == 7 else data, 1, format="PNG", width=30 + n % 200, height=20)]


def find_all(count: int, workers: int, room: int) -> list[tuple[object, ...]]:
    with open_makers(count, workers) as makers:
        images = SampleImages(illustrated(), Thumbnails(SAMPLES, room), makers)
        return [images.find([str(n)]) for n in range(SAMPLES)]


@pytest.mark.parametrize("room", [1 << 20, 30_000], ids=["room for all", "room for some"])
def test_processes_make_what_threads_make(room: int) -> None:
    found = find_all(SAMPLES, 1, room)
    assert found == find_all(SAMPLES, 2, room) == find_all(10_000, 2, room)
    assert "cannot be decoded" in found[7][0].note
    assert all(one.src for (one,) in found[8:]) == (room > 30_000)
    assert all(found)


def test_the_first_name_counts_wherever_its_sample_stands() -> None:
    samples = [(["b"], make_image("red")), (["a", "b"], make_image("blue")), (["c"], make_image("green"))]
    given = ((names, [Image(data, 1, format="PNG", width=24, height=16)]) for names, data in samples)
    with open_makers(1) as makers:
        images = SampleImages(given, Thumbnails(3), makers)
        seen = {name: images.find(["none", name]) for name in "abc"}
        assert images.find(["a", "b"]) == seen["a"] != seen["b"] == images.find(["b", "a"])
        assert images.find(["none"]) == ()
        assert images.has_any()


def test_images_are_read_no_further_than_they_are_asked_for() -> None:
    read = []

    def samples() -> Iterator[tuple[list[str], list[Image]]]:
        for sample in illustrated():
            read.append(sample)
            yield sample

    with open_makers(1) as makers:
        images = SampleImages(samples(), Thumbnails(SAMPLES), makers)
        assert images.find(["0"])
        assert len(read) < SAMPLES
        assert images.find([str(SAMPLES - 1)])
        assert len(read) == SAMPLES
