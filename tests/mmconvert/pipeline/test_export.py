"""A dataset written back: what the file needs of it is read, and no more."""

import hashlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from mmconvert.core.record import Image, Part, Record, Source, Turn
from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.images import loader
from mmconvert.pipeline.convert import read, write
from mmconvert.pipeline.export import ExportOptions, export_dataset
from mmconvert.plugins.format import Format, Target
from mmconvert.plugins.registry import load_all
from support.questions import make_image

FORMATS: dict[str, Format] = dict(load_all("mmconvert.formats"))
UNHASHED = [(name, suffix) for name, plugin in FORMATS.items() for suffix in plugin.unhashed]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    with DatasetWriter(tmp_path / "data") as writer:
        for n, colour in enumerate(("red", "green", "red")):
            image = Image(make_image(colour), 1, format="PNG", width=24, height=16)
            turns = (Turn("user", (Part("image"), Part("text", "Which?"))), Turn("assistant", (Part("text", "It."),)))
            source = Source("made", "made.jsonl", n)
            writer.write(
                [Record(str(n), str(n), turns, "vqa", source, images=(image,), question="?", answers=("It.",))]
            )
    return tmp_path / "data"


@pytest.mark.parametrize(("name", "suffix"), UNHASHED)
def test_a_file_without_digests_is_the_one_that_records_with_them_give(
    name: str, suffix: str, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hashed").mkdir()
    write(read(dataset), Target(tmp_path / f"hashed/out{suffix}"), name)
    hashed: list[bytes] = []
    sha256 = lambda data: hashed.append(data) or hashlib.sha256(data)  # noqa: E731
    monkeypatch.setattr(loader, "hashlib", SimpleNamespace(sha256=sha256))
    export_dataset(dataset, str(tmp_path / f"out{suffix}"), ExportOptions(to=name), quiet=True)
    assert (tmp_path / f"out{suffix}").read_bytes() == (tmp_path / f"hashed/out{suffix}").read_bytes()
    assert hashed == []


def test_a_file_with_digests_has_those_of_the_bytes(dataset: Path, tmp_path: Path) -> None:
    export_dataset(dataset, str(tmp_path / "out.json"), ExportOptions(to="llava"), quiet=True)
    for file in (tmp_path / "images").iterdir():
        assert file.stem == hashlib.sha256(file.read_bytes()).hexdigest()[:16]
