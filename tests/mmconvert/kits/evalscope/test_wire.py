import base64

import pytest

from mmconvert.core.errors import RowError
from mmconvert.kits.evalscope.media import build_audio_part, build_image_part
from mmconvert.kits.evalscope.wire import build_data_url_resolver, build_wire_messages


@pytest.mark.parametrize("reference", ["http://x/a.png", "https://x/a.png", "data:image/gif;base64,AA=="])
def test_addresses_and_plain_data_urls_pass(tmp_path, reference):
    assert build_data_url_resolver(tmp_path)(reference) == reference


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
        build_data_url_resolver(tmp_path)(reference)


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
    assert build_data_url_resolver(tmp_path)(name) == expected


def test_parts_are_written_as_openai_spells_them():
    content = [{"type": "text", "text": "See", "refusal": True}, build_image_part("https://x/a.png", "low")]
    (message,) = build_wire_messages([{"role": "user", "content": content}], str)
    assert message["content"] == [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": "https://x/a.png", "detail": "low"}},
    ]
    with pytest.raises(RowError, match="audio"):
        build_wire_messages([{"role": "user", "content": [build_audio_part("a.wav", "wav")]}], str)
