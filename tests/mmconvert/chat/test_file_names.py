"""Names that come out of data are those of files on every system."""

import pytest

from mmconvert.chat import export_images
from mmconvert.chat.export_images import write_image_file
from mmconvert.chat.file_names import make_portable_name
from mmconvert.core.errors import Error
from mmconvert.core.record import Image
from mmconvert.plugins.format import Target


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MMBench_DEV_EN.tsv", "MMBench_DEV_EN.tsv"),
        ("CON", "_CON"),
        ("nul.tar.gz", "_nul.tar.gz"),
        ("COM1.tsv", "_COM1.tsv"),
        ("lpt² .tsv", "_lpt² .tsv"),
        ("auxiliary.tsv", "auxiliary.tsv"),
        ("com10.tsv", "com10.tsv"),
        ("a. . ", "a_"),
        ("...", "_"),
        ("a\0b|c", "a_b_c"),
        ("C:\\Windows\\x.tsv", "C__Windows_x.tsv"),
    ],
)
def test_a_name_is_one_on_every_system(name: str, expected: str) -> None:
    assert make_portable_name(name) == expected
    assert make_portable_name(expected) == expected


@pytest.mark.parametrize("name", ["sub/NUL.png", "a:b.png", "dots./a.png"])
def test_an_image_name_that_windows_does_not_take_is_refused_there(name: str, tmp_path, monkeypatch) -> None:
    image = Image(b"bytes", 1, name, "0" * 64, "PNG", 1, 1)
    target = Target(tmp_path / "out.json", images="original")
    assert write_image_file(image, target) == name
    assert (tmp_path / name).read_bytes() == b"bytes"
    monkeypatch.setattr(export_images, "_IS_WINDOWS", True)
    with pytest.raises(Error, match=r"cannot be a file's on Windows. Export with --images files."):
        write_image_file(image, target)
