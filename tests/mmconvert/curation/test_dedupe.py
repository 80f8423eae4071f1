"""Datasets without duplicates: which samples stay, in what order, and that nothing else changes."""

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

import mmconvert
from mmconvert.cli import program
from mmconvert.core.errors import Error, UsageError
from mmconvert.curation.text_keys import list_words
from mmconvert.dataset.dataset import open_dataset
from support.planted_leaks import CHANGES, KINDS, draw_size, encode, invent_words, write_rows


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, bytes | None, str]]:
    """Samples of which some are equal, and some near, to one before them."""
    draws = random.Random(11)
    found: list[tuple[str, bytes | None, str]] = []
    for number in range(12):
        picture = KINDS[list(KINDS)[number % 3]](draws, draw_size(draws))
        image, words = encode(picture, "PNG"), invent_words(draws, 12)
        question = " ".join(words)
        found += [
            (f"{number}", image, question),
            (f"{number}-loud", image, question.upper() + "?"),
            (f"{number}-small", CHANGES["half size"](picture), question),
            (f"{number}-asked", image, " ".join(invent_words(draws, 12))),
        ]
    draws.shuffle(found)
    return [*found, ("bare", None, "no image here"), ("bare-again", None, "No image here.")]


@pytest.fixture(scope="module")
def dataset(rows: list[tuple[str, bytes | None, str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dedupe")
    mmconvert.convert(write_rows(folder, "rows", rows), folder / "all", image_root=folder / "images")
    return folder / "all"


def read_ids(dataset: Path) -> list[str]:
    return [record.id for record in open_dataset(dataset).records()]


def find_slowly(rows: list[tuple[str, bytes | None, str]], by: str, *, near: bool = False) -> list[str]:
    """The ids that stay, by plain Python; near ones by how the rows were made."""
    seen, kept = set(), []
    for key, image, question in rows:
        shown: object = key.partition("-")[0] if near and image is not None else image
        asked = " ".join(list_words(question))
        mark = {"image": shown or key, "text": asked, "both": (shown, asked)}[by]
        if mark not in seen:
            kept.append(key)
        seen.add(mark)
    return kept


@pytest.mark.parametrize("by", ["image", "text", "both"])
@pytest.mark.parametrize("near", [False, True], ids=["exact", "near"])
def test_the_first_of_each_group_stays(
    by: str, near: bool, dataset: Path, rows: list[tuple[str, bytes | None, str]], tmp_path: Path
) -> None:
    done = mmconvert.dedupe(dataset, tmp_path / "out", by=by, near=near)
    kept = find_slowly(rows, by, near=near)
    assert read_ids(tmp_path / "out") == kept
    assert (done.rows_read, done.rows_kept) == (len(rows), len(kept))
    removed = {one["id"]: group["kept"]["id"] for group in done.groups for one in group["removed"]}
    assert set(removed) == {key for key, _, _ in rows} - set(kept)
    assert set(removed.values()) <= set(kept)
    assert mmconvert.verify(tmp_path / "out") == []


def test_what_stays_is_stored_as_it_was_and_every_run_gives_the_same_bytes(dataset: Path, tmp_path: Path) -> None:
    for name, workers in (("one", 1), ("two", 2)):
        mmconvert.dedupe(dataset, tmp_path / name, near=True, workers=workers)
    shards = [[file.read_bytes() for file in (tmp_path / name / "data").iterdir()] for name in ("one", "two")]
    assert shards[0] == shards[1]
    before = {record.id: record for record in open_dataset(dataset).records()}
    assert all(record == before[record.id] for record in open_dataset(tmp_path / "one").records())
    manifest = json.loads((tmp_path / "one" / ".mmconvert" / "manifest.json").read_text())
    assert manifest["dedupe"] | {"rows_read": 0} == {
        "near": True, "by": "both", "distance": 22, "similarity": 0.7, "rows_read": 0,
    }  # fmt: skip


def test_distance_and_similarity_bound_what_is_near(dataset: Path, tmp_path: Path) -> None:
    strict = mmconvert.dedupe(dataset, tmp_path / "strict", near=True, by="image", distance=0)
    usual = mmconvert.dedupe(dataset, tmp_path / "usual", near=True, by="image")
    assert usual.rows_kept < strict.rows_kept


def test_a_flat_image_is_compared_by_its_bytes(tmp_path: Path) -> None:
    import PIL.Image

    blank = [encode(PIL.Image.new("RGB", (40, 40), (shade, 0, 0)), "PNG") for shade in (10, 11, 10)]
    file = write_rows(tmp_path, "flat", [(str(place), image, "what") for place, image in enumerate(blank)])
    mmconvert.convert(file, tmp_path / "all", image_root=tmp_path / "images")
    done = mmconvert.dedupe(tmp_path / "all", tmp_path / "out", near=True)
    assert read_ids(tmp_path / "out") == ["0", "1"]
    assert done.images == {"flat": 3}


def test_the_command_lists_groups_and_prints_json(dataset: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke(program, ["dedupe", str(dataset), "-o", str(tmp_path / "out")], standalone_mode=False)
    assert run.return_value == 0
    assert run.output.endswith("of 50 samples, 13 duplicates left out\n")
    arguments = ["dedupe", str(dataset), "-o", str(tmp_path / "other"), "--json"]
    run = CliRunner().invoke(program, arguments, standalone_mode=False)
    found = json.loads(run.output)
    assert (found["rows_removed"], len(found["groups"])) == (13, 13)


def test_places_that_cannot_be_written_are_refused(dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    with pytest.raises(UsageError, match="already exists"):
        mmconvert.dedupe(dataset, tmp_path / "there")
    with pytest.raises(UsageError, match="lies in the dataset that is read"):
        mmconvert.dedupe(dataset, dataset / "inside")
    with pytest.raises(UsageError, match="is not a converted dataset"):
        mmconvert.dedupe(next((dataset / "data").iterdir()), tmp_path / "out")
    with pytest.raises(Error, match="no such file or folder"):
        mmconvert.dedupe(tmp_path / "missing", tmp_path / "out")
