"""MMTrustEval's methods: what they draw, and their settings."""

from pathlib import Path
from typing import Any

import PIL.Image
import pytest

from mmconvert.core.errors import UsageError
from mmscore.compat.mmtrusteval import KitMethod, TxtSample


def test_methods_draw_into_their_folder(tmp_path: Path) -> None:
    sample = TxtSample("A cat.", 1, {"a": 1})
    color = KitMethod("unrelated-image-color", img_dir=str(tmp_path), img_size=[4, 6])
    made = color(sample)
    assert (made.text, made.target, made.extra) == ("A cat.", 1, {"a": 1})
    assert Path(made.image_path) == tmp_path / f"{color.hash('A cat.')}.png"
    with PIL.Image.open(made.image_path) as image:
        assert image.size == (6, 4)
    before = Path(made.image_path).read_bytes()
    KitMethod("unrelated-image-noise", str(tmp_path), img_size=(4, 6)).run(sample)
    assert Path(made.image_path).read_bytes() == before
    KitMethod("unrelated-image-noise", str(tmp_path), False, img_size=(4, 6)).run(sample)
    assert Path(made.image_path).read_bytes() != before
    KitMethod("related-image-txtembed", str(tmp_path / "t"), font_size=10, max_width=50, img_size=None).run(sample)
    KitMethod("unrelated-image-nature", str(tmp_path / "n"), nature_src_dir=str(tmp_path), img_size=[3, 3]).run(sample)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"img_size": [4, 6]}, "img_dir is missing"),
        ({"img_dir": "d"}, "img_size is missing"),
        ({"img_dir": "d", "img_size": "4x6"}, "expected height and width"),
        ({"img_dir": "d", "img_size": [4, 6], "font_size": 1}, "no setting 'font_size'"),
    ],
)
def test_what_is_wrong_in_a_methods_settings_is_named(settings: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        KitMethod("unrelated-image-color", **settings)
