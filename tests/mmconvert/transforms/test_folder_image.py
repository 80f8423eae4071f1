"""Images drawn from a folder: by seed and text, as they are or resized."""

import pytest

from mmconvert.core.errors import RowError, UsageError
from mmconvert.plugins.transform import load_steps
from support.drawing import applied, asked, photo


@pytest.fixture
def folder(tmp_path):
    source = tmp_path / "nature"
    source.mkdir()
    for number in range(5):
        (source / f"{number}.JPG").write_bytes(photo(4 + number, 3, colour=(number, 9, 9), kind="JPEG").bytes)
    (source / "notes.txt").write_text("no image")
    return source


def test_a_file_keeps_its_bytes(folder):
    made = applied(asked("What is it?"), f"folder_image:source={folder}")
    assert made.images[0].bytes in [path.read_bytes() for path in folder.glob("*.JPG")]
    assert (made.images[0].format, made.images[0].slot) == ("JPEG", 1)


def test_the_draw_hangs_on_text_and_seed(folder):
    spec = f"folder_image:source={folder}"
    drawn = [applied(asked(f"Text {n}"), spec, seed=seed).images[0].sha256 for seed in (0, 1) for n in range(20)]
    again = [applied(asked(f"Text {n}"), spec, seed=seed).images[0].sha256 for seed in (0, 1) for n in range(20)]
    assert drawn == again
    assert len(set(drawn)) == 5
    assert drawn[:20] != drawn[20:]


def test_a_size_makes_a_png_of_it(folder):
    made = applied(asked("What is it?"), f"folder_image:source={folder},size=7x2")
    assert (made.images[0].format, made.images[0].width, made.images[0].height) == ("PNG", 7, 2)


def test_a_file_that_is_no_image_refuses_the_row(tmp_path):
    (tmp_path / "a.png").write_bytes(b"nonsense")
    with pytest.raises(RowError):
        applied(asked("What is it?"), f"folder_image:source={tmp_path}")


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    (tmp_path / "outside.png").write_bytes(photo(3, 3).bytes)
    source = tmp_path / "source"
    source.mkdir()
    (source / "link.png").symlink_to(tmp_path / "outside.png")
    with pytest.raises(RowError) as error:
        applied(asked("What is it?"), f"folder_image:source={source}")
    assert error.value.code == "image.path"


@pytest.mark.parametrize("make", [True, False])
def test_a_folder_without_images_is_told_at_once(tmp_path, make):
    if make:
        (tmp_path / "source").mkdir()
    with pytest.raises(UsageError, match="source=DIR"):
        load_steps([f"folder_image:source={tmp_path}/source"])
