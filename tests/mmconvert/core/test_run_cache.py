"""A later run of the same process reads a user's files anew."""

import base64
import json
from pathlib import Path

import pytest

import mmconvert
from support.records import image_bytes


def made(table: Path, transform: str) -> mmconvert.Record:
    mmconvert.convert(table, table.parent / "out", transform=transform, overwrite=True, workers=1)
    return next(iter(mmconvert.open_dataset(table.parent / "out").records()))


def question(folder: Path) -> Path:
    image = base64.b64encode(image_bytes("PNG")).decode()
    (folder / "a.tsv").write_text(f"index\timage\tquestion\tanswer\n1\t{image}\tWhat?\tred\n", encoding="utf-8")
    return folder / "a.tsv"


def test_choices_that_changed_are_drawn_from(tmp_path: Path) -> None:
    table, choices = question(tmp_path), tmp_path / "choices.json"
    for words in (["red", "green", "blue"], ["teal", "pink", "brown"]):
        choices.write_text(json.dumps(words), encoding="utf-8")
        options = made(table, f"draw_distractors:choices={choices},count=2").options
        assert set(options) <= {"red", *words}


def test_a_function_that_was_edited_makes_the_image(tmp_path: Path) -> None:
    table, file = question(tmp_path), tmp_path / "make.py"
    seen = []
    for shade in (10, 2000):
        file.write_text(f"from PIL import Image\n\ndef f(text):\n    return Image.new('L', (4, 4), {shade} % 256)\n")
        seen.append(made(table, f"own_image:function={file}@f").images[0].sha256)
    assert seen[0] != seen[1]


def test_a_folder_is_the_one_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, seen = question(tmp_path), []
    for number in (1, 2):
        images = tmp_path / str(number) / "pics"
        images.mkdir(parents=True)
        (images / f"{number}.png").write_bytes(image_bytes("PNG", number))
        monkeypatch.chdir(images.parent)
        seen.append(made(table, "folder_image:source=pics").images[0].sha256)
    assert seen[0] != seen[1]
