import base64

import pytest

from mmconvert.core.errors import RowError
from mmconvert.kits.evalscope.media import audio_part, image_part
from mmconvert.kits.evalscope.wire import data_url_in, wire_messages


@pytest.mark.parametrize("reference", ["http://x/a.png", "https://x/a.png", "data:image/gif;base64,AA=="])
def test_addresses_and_plain_data_urls_pass(tmp_path, reference):
    assert data_url_in(tmp_path)(reference) == reference


@pytest.mark.parametrize(
    "reference",
    [
        "HTTP://x/a.png",
        "data:image/png,abc",
        "data:image/png;charset=utf-8;base64,AA==",
        "",
        "~/a.png",
        "a\0b",
        "file:///a",
    ],
)
def test_everything_else_is_a_path(tmp_path, reference):
    with pytest.raises(RowError, match="no such file"):
        data_url_in(tmp_path)(reference)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.png", "png"),
        ("a.PNG", "png"),
        ("a.jpg", "jpeg"),
        ("a.webp", "webp"),
        ("a.tiff", "tiff"),
        ("a", "png"),
        ("a.unknown", "png"),
    ],
)
def test_the_type_follows_from_the_name_and_the_bytes_stay(tmp_path, name, kind):
    (tmp_path / name).write_bytes(b"any bytes")
    expected = f"data:image/{kind};base64,{base64.b64encode(b'any bytes').decode()}"
    assert data_url_in(tmp_path)(name) == expected


def test_parts_are_written_as_openai_spells_them():
    content = [{"type": "text", "text": "See", "refusal": True}, image_part("https://x/a.png", "low")]
    (message,) = wire_messages([{"role": "user", "content": content}], str)
    assert message["content"] == [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": "https://x/a.png", "detail": "low"}},
    ]
    with pytest.raises(RowError, match="audio"):
        wire_messages([{"role": "user", "content": [audio_part("a.wav", "wav")]}], str)
