"""A large dataset is written back by several processes: the file is, byte for byte, the one that one process writes."""

import io
import json
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmconvert.core.record import Image, Part, Preference, Record, Source, Turn
from mmconvert.dataset import shards
from mmconvert.dataset.dataset import DatasetWriter, open_dataset
from mmconvert.pipeline import export_parts
from mmconvert.pipeline.engines import Engine
from mmconvert.pipeline.export import Exported, ExportOptions, export_dataset
from mmconvert.pipeline.export_parts import can_split
from mmconvert.plugins.format import Format, Target
from mmconvert.plugins.registry import load_all
from mmconvert.storage.atomic import build_temporary_path
from support.records import records

FORMATS: dict[str, Format] = dict(load_all("mmconvert.formats"))
SPLITTABLE = sorted(name for name, plugin in FORMATS.items() if plugin.splittable)
WAYS = [
    (name, suffix, columns)
    for name in SPLITTABLE
    for suffix in (".json", ".jsonl")
    if suffix in FORMATS[name].suffixes and (name, suffix) not in {("llava", ".jsonl"), ("ms_swift", ".json")}
    for columns in (None, *FORMATS[name].columns)
]


def draw(shade: int) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.new("L", (2, 2), shade).save(buffer, "PNG")
    return buffer.getvalue()


def build_record(number: int, kind: str) -> Record:
    """A question with an image, or without, or what training formats leave out; ids are row numbers or names."""
    key = f"q{number}" if kind == "named" else f"{number:09d}"
    image = () if kind == "text" else (Image(draw(number % 3), 1, format="PNG", width=2, height=2),)
    parts = (*(Part("image") for _ in image), Part("text", f"question {number}?"))
    answers = () if kind == "unanswered" else ("yes",)
    system = (Turn("system", (Part("text", "Be brief."),)),) if kind == "named" else ()
    turns = (*system, Turn("user", parts))
    return Record(
        key, key, turns, "vqa", Source("made", "made.jsonl", number), images=image, answers=answers, question="?"
    )


def write(folder: Path, records: Sequence[Record]) -> None:
    with DatasetWriter(folder) as writer:
        writer.write(records)


def read_all(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def export(folder: Path, dataset: Path, name: str, suffix: str, columns: str | None, workers: int) -> Exported:
    folder.mkdir(exist_ok=True)
    options = ExportOptions(to=name, columns=columns, workers=workers)
    return export_dataset(dataset, str(folder / f"out{suffix}"), options, quiet=True)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "ROW_GROUP_BYTES", 1)
    monkeypatch.setattr(export_parts, "LEAST_BYTES", 0)
    monkeypatch.setattr(export_parts, "_PART_BYTES", 1)


KINDS = st.lists(st.sampled_from(["numbered", "named", "text", "unanswered"]), min_size=1, max_size=6)
ANY = st.one_of(
    KINDS.map(lambda kinds: [build_record(number, kind) for number, kind in enumerate(kinds)]),
    st.lists(records(), min_size=1, max_size=4, unique_by=lambda record: record.id),
)


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts one after the other here, for a process each would take seconds for every example."""
    monkeypatch.setattr("mmconvert.pipeline.export.ENGINE", Engine(lambda workers: nullcontext(map), lambda: 2))


def outcome(call: Callable[[], Exported]) -> object:
    try:
        done = call()
    except Error as error:
        return str(error).replace("/two/", "/one/")
    return done.losses, done.rows_read, done.rows_rejected


@pytest.mark.usefixtures("one_process")
@pytest.mark.parametrize(("name", "suffix", "columns"), WAYS)
@given(rows=ANY)
def test_parts_give_the_bytes_of_the_whole(name: str, suffix: str, columns: str | None, rows: list[Record]) -> None:
    with TemporaryDirectory() as folder:
        place = Path(folder)
        write(place / "dataset", rows)
        given = (place / "dataset", name, suffix, columns)
        one = outcome(lambda: export(place / "one", *given, workers=1))
        two = outcome(lambda: export(place / "two", *given, workers=2))
        assert two == one
        assert read_all(place / "two") == read_all(place / "one")


@pytest.mark.usefixtures("one_process")
def test_rows_behind_one_that_is_left_out_are_numbered_as_they_are_written(tmp_path: Path) -> None:
    write(tmp_path / "dataset", [build_record(number, "unanswered" if not number else "numbered") for number in (0, 1)])
    export(tmp_path / "out", tmp_path / "dataset", "llava", ".json", None, workers=2)
    (row,) = json.loads((tmp_path / "out" / "out.json").read_bytes())
    assert row["id"] == "000000001"


def test_a_dataset_with_pairs_is_written_by_one_process(tmp_path: Path) -> None:
    pair = Preference((Turn("assistant", (Part("text", "yes"),)),), (Turn("assistant", (Part("text", "no"),)),))
    write(tmp_path / "plain", [build_record(0, "text")])
    write(tmp_path / "pairs", [build_record(0, "text"), replace(build_record(1, "text"), answers=(), preference=pair)])
    target = Target(tmp_path / "out.jsonl")
    assert can_split(open_dataset(tmp_path / "plain"), target, FORMATS["trl"])
    assert not can_split(open_dataset(tmp_path / "pairs"), target, FORMATS["trl"])


def test_processes_write_what_one_process_writes(tmp_path: Path) -> None:
    write(tmp_path / "dataset", [build_record(number, "numbered") for number in range(40)])
    export(tmp_path / "one", tmp_path / "dataset", "llava", ".json", None, workers=1)
    export(tmp_path / "two", tmp_path / "dataset", "llava", ".json", None, workers=2)
    assert read_all(tmp_path / "two") == read_all(tmp_path / "one")
    assert len(read_all(tmp_path / "two")) == 4


def test_a_part_that_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    write(tmp_path / "dataset", [build_record(number, "numbered") for number in range(4)])
    export(tmp_path / "first", tmp_path / "dataset", "llava", ".json", None, workers=1)
    taken = sorted((tmp_path / "first" / "images").iterdir())[0].name
    (tmp_path / "out" / "images").mkdir(parents=True)
    (tmp_path / "out" / "images" / taken).write_bytes(b"another image")
    with pytest.raises(Error, match="another image exists there"):
        export(tmp_path / "out", tmp_path / "dataset", "llava", ".json", None, workers=2)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["images"]


def test_what_a_killed_export_left_is_removed_and_half_an_image_completed(tmp_path: Path) -> None:
    write(tmp_path / "dataset", [build_record(number, "numbered") for number in range(4)])
    export(tmp_path / "one", tmp_path / "dataset", "llava", ".json", None, workers=1)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    half = sorted((tmp_path / "two" / "images").iterdir())[0]
    half.write_bytes(half.read_bytes()[:20])
    left = build_temporary_path(tmp_path / "two" / "out.json")
    gone = left.name.replace(f".{os.getpid()}.new", ".99999999.part-3.new")
    left.with_name(gone).write_bytes(b"[")
    export(tmp_path / "two", tmp_path / "dataset", "llava", ".json", None, workers=2)
    assert read_all(tmp_path / "two") == read_all(tmp_path / "one")
