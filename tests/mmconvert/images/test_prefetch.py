"""Images are decoded ahead and side by side; what is read, refused and said does not change."""

import base64
import json
import threading
import warnings
from pathlib import Path

import pytest

from mmconvert.core.errors import Error
from mmconvert.core.record import Image
from mmconvert.images import prefetch
from mmconvert.images.prefetch import begin_ahead, decode_ahead
from mmconvert.images.verify import verify_decoded
from mmconvert.pipeline.convert import read
from support.records import image_bytes

PNG = image_bytes("PNG", 1, (20, 20))
# A fault that only a decoder sees: the structure of the file is whole.
DAMAGED = PNG.replace(b"IDATx", b"IDATy")


def line(data: bytes, **more: object) -> str:
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    content = [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": url}}]
    return json.dumps({"messages": [{"role": "user", "content": content}], **more}) + "\n"


def test_a_damaged_image_refuses_its_row_by_name_and_in_its_place(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text("".join([line(PNG)] * 9 + [line(DAMAGED), line(PNG), "{bad\n", line(DAMAGED), line(PNG)]))
    records = read(file, decode=True)
    assert [record.source.row for record in records] == [*range(9), 10, 13]
    assert [(r.where.row, r.code, r.field) for r in records.rejects] == [
        (9, "image.decode", "messages[0].content[1].image_url"),
        (11, "json.syntax", ""),
        (12, "image.decode", "messages[0].content[1].image_url"),
    ]
    assert records.rows_read == 14
    loose = read(file)
    assert len(list(loose)) == 13


def test_a_limit_stops_the_reading(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text(line(PNG) * 50)
    records = read(file, decode=True, limit=3)
    assert len(list(records)) == records.rows_read == 3


def test_an_error_of_the_source_comes_behind_the_rows_before_it() -> None:
    def items():
        yield from range(3)
        raise Error("the file ends in the middle")

    given = decode_ahead(items(), lambda item: (), lambda item: item)
    assert [next(given) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(Error, match="in the middle"):
        next(given)


def test_work_begins_as_far_ahead_as_there_is_room_and_always_for_one() -> None:
    begun: list[str] = []
    given = begin_ahead(["a", "bb", "ccc"], begun.append, lambda rows, held: held < 2)
    assert [(item, [*begun]) for item, _ in given] == [
        ("a", ["a", "bb"]),
        ("bb", ["a", "bb"]),
        ("ccc", ["a", "bb", "ccc"]),
    ]
    assert [item for item, _ in begin_ahead("abc", str, lambda rows, held: False)] == ["a", "b", "c"]


def test_images_are_decoded_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefetch, "count_usable_cores", lambda: 3)
    together = threading.Barrier(3, timeout=20)
    monkeypatch.setattr(prefetch, "verify_decoded", lambda data: together.wait())
    assert list(decode_ahead(range(6), lambda item: [Image(b"x", 1)], lambda item: item)) == [*range(6)]


def test_filters_of_warnings_are_as_before() -> None:
    before = warnings.filters[:]
    threads = [threading.Thread(target=verify_decoded, args=(PNG,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert warnings.filters == before


def test_an_image_that_stands_in_many_rows_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[bytes] = []
    monkeypatch.setattr(prefetch, "verify_decoded", decoded.append)
    monkeypatch.setattr(prefetch, "count_usable_cores", lambda: 1)
    items = [Image(b"a", 1, sha256="a"), Image(b"b", 1, sha256="b"), Image(b"c", 1)] * 5
    assert list(decode_ahead(items, lambda one: [one], lambda one: one)) == items
    assert sorted(decoded) == [b"a", b"b", *[b"c"] * 5]


@pytest.mark.parametrize(("room", "ahead"), [(3, 8), (1, 4)])
def test_fewer_rows_are_read_ahead_where_their_images_are_large(
    room: int, ahead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefetch, "verify_decoded", lambda data: None)
    monkeypatch.setattr(prefetch, "count_usable_cores", lambda: 2)
    monkeypatch.setattr(prefetch, "MOST_ROW_BYTES", room * 100)
    read: list[int] = []

    def items():
        for number in range(50):
            read.append(number)
            yield Image(bytes(25), number + 1)

    given = decode_ahead(items(), lambda one: [one], lambda one: one)
    next(given)
    assert len(read) == ahead + 1
