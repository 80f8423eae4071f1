"""A source that changes while it is read: nothing is published, and one sentence says so."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mmconvert.core.record import Record
from mmconvert.dataset.dataset import open_dataset
from mmconvert.pipeline import export, parts
from mmconvert.viewer import preview
from support.changes import ACTIONS, ROW, write_change
from support.datasets_on_disk import make_image, record, write_dataset
from support.predictions import write_predictions
from support.terminal import Shown, mmconvert
from support.workbooks import sheet, text_row, write_workbook

ROWS = 60
NAMES = [str(number) for number in range(ROWS)]


def write_jsonl(path: Path) -> Path:
    path.write_text("".join(json.dumps({"id": name, "prediction": "x"}) + "\n" for name in NAMES), encoding="utf-8")
    return path


def write_tsv(path: Path) -> Path:
    path.write_text("id\tprediction\n" + "".join(f"{name}\tx\n" for name in NAMES), encoding="utf-8")
    return path


def write_xlsx(path: Path) -> Path:
    head = ("index", "question", "answer", "prediction")
    return write_workbook(path, sheet(text_row(*head), *(text_row(name, "?", "x", "x") for name in NAMES)))


def write_parquet(path: Path) -> Path:
    return write_predictions(path, [{"id": name, "prediction": "x"} for name in NAMES])


WRITERS: dict[str, Callable[[Path], Path]] = {
    "jsonl": write_jsonl,
    "tsv": write_tsv,
    "xlsx": write_xlsx,
    "parquet": write_parquet,
}


def convert(source: Path, change: str, *more: object) -> Shown:
    return mmconvert("convert", source, "-o", source.parent / "out", "--transform", change, "--quiet", *more)


def assert_refused(ended: Shown, changed: Path | str, folder: Path) -> None:
    assert ended.code == 1
    assert f"{changed}: changed while it was read. Run again." in ended.err
    left = {path.name for path in folder.iterdir()}
    assert not [name for name in left if name.lstrip(".").startswith("out")]


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("action", ACTIONS)
def test_a_table_that_changes_is_not_published(kind: str, action: str, tmp_path: Path) -> None:
    source = WRITERS[kind](tmp_path / f"t.{kind}")
    assert_refused(convert(source, write_change(tmp_path, source, action)), source, tmp_path)


def test_a_table_that_stays_is_published(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "t.jsonl")
    assert convert(source, write_change(tmp_path, source, "pass")).code == 0
    assert open_dataset(tmp_path / "out").num_rows == ROWS


def test_the_other_files_of_a_run_may_not_change_either(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    first = write_jsonl(tmp_path / "in/a.jsonl")
    write_tsv(tmp_path / "in/b.tsv")
    change = write_change(tmp_path, first, "appended")
    ended = mmconvert("convert", tmp_path / "in/b.tsv", first, "-o", tmp_path / "out", "--transform", change, "--quiet")
    assert_refused(ended, first, tmp_path)


def write_talks(folder: Path) -> Path:
    (folder / "images").mkdir()
    rows = []
    for number in range(ROWS):
        (folder / f"images/{number}.png").write_bytes(make_image(number))
        content = [
            {"type": "image_url", "image_url": {"url": f"images/{number}.png"}},
            {"type": "text", "text": "Which colour?"},
        ]
        rows.append({"id": str(number), "messages": [{"role": "user", "content": content}], "answer": "a"})
    source = folder / "talks.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return source


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("read", [ROW - 1, ROW])
def test_an_image_that_was_read_and_changes_then_is_not_published(action: str, read: int, tmp_path: Path) -> None:
    source = write_talks(tmp_path)
    changed = tmp_path / f"images/{read}.png"
    assert_refused(convert(source, write_change(tmp_path, changed, action)), changed, tmp_path)


def test_an_image_that_changes_before_it_is_read_is_published_as_it_is_then(tmp_path: Path) -> None:
    source, later = write_talks(tmp_path), tmp_path / f"images/{ROW + 5}.png"
    data = make_image(200)
    assert convert(source, write_change(tmp_path, later, f"open(path, 'wb').write({data!r})")).code == 0
    images = [one.images[0].bytes for one in open_dataset(tmp_path / "out").records()]
    assert images[ROW + 5] == data


def test_an_image_that_changes_in_the_middle_of_its_reading_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, stat = write_talks(tmp_path), os.fstat
    place = tmp_path / "images/7.png"
    known = place.stat().st_ino
    seen = []

    def change(handle: int) -> os.stat_result:
        found = stat(handle)
        if found.st_ino == known and not seen:
            seen.append(handle)
            with place.open("ab") as file:
                file.write(b"more")
        return found

    monkeypatch.setattr(os, "fstat", change)
    assert_refused(convert(source, write_change(tmp_path, place, "pass"), "--workers", "1"), place, tmp_path)


@pytest.mark.slow
def test_what_worker_processes_read_is_looked_at_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_talks(tmp_path)
    monkeypatch.setattr(parts, "SMALL_FILE", 500)
    monkeypatch.setattr(parts, "PART_BYTES", 2_000)
    for action in ("rewritten in its size", "replaced"):
        changed = tmp_path / f"images/{ROW}.png"
        ended = convert(source, write_change(tmp_path, changed, action), "--workers", "3")
        assert_refused(ended, changed, tmp_path)
    ended = convert(source, write_change(tmp_path, source, "appended"), "--workers", "3")
    assert_refused(ended, source, tmp_path)


def test_a_file_that_a_format_reads_beside_may_not_change_either(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task.yaml").write_text("annotation_file: notes.json\n", encoding="utf-8")
    beside = tmp_path / "notes.json"
    beside.write_text(json.dumps([{"id": name, "text": f"Say {name}."} for name in NAMES]), encoding="utf-8")
    change = write_change(tmp_path, beside, "appended", row=None)
    assert_refused(convert(tmp_path / "task.yaml", change), beside, tmp_path)


@pytest.mark.release
def test_a_run_that_is_shared_does_not_keep_parts_of_a_former_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_talks(tmp_path)
    changed = tmp_path / f"images/{ROW}.png"
    monkeypatch.setattr(parts, "SMALL_FILE", 500)
    monkeypatch.setattr(parts, "PART_BYTES", 2_000)
    for action in ("rewritten in its size", "appended"):
        for subject in (changed, source):
            ended = convert(source, write_change(tmp_path, subject, action), "--share")
            assert ended.code == 1
            assert f"{subject}: changed while it was read. Run again." in ended.err
            assert not (tmp_path / "out").exists()
            write_again(subject)
    assert convert(source, write_change(tmp_path, source, "pass"), "--share").code == 0
    assert open_dataset(tmp_path / "out").num_rows == ROWS


def write_again(path: Path) -> None:
    data = path.read_bytes().removesuffix(b" ")
    path.write_bytes(data)


def test_a_dataset_that_is_exported_may_not_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_dataset(tmp_path / "set", {"test": map(record, range(ROWS))})
    [shard] = folder.rglob("*.parquet")
    iterate = export._Facts.__iter__

    def change(facts: export._Facts) -> Iterator[Record]:
        for one in iterate(facts):
            shard.write_bytes(shard.read_bytes())
            yield one

    monkeypatch.setattr(export._Facts, "__iter__", change)
    ended = mmconvert("export", folder, "-o", tmp_path / "out.tsv", "--to", "lmudata", "--quiet")
    assert_refused(ended, shard, tmp_path)


def test_a_page_of_a_file_that_changes_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_talks(tmp_path)
    find = preview.find_problems

    def change(*arguments: object) -> object:
        source.write_bytes(source.read_bytes())
        return find(*arguments)

    monkeypatch.setattr(preview, "find_problems", change)
    assert_refused(mmconvert("preview", source, "-o", tmp_path / "out.html", "--quiet"), source, tmp_path)


def test_rights_and_further_names_are_no_change(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "t.jsonl")
    action = "os.chmod(path, 0o600); os.link(path, path + '.more')"
    assert convert(source, write_change(tmp_path, source, action)).code == 0


def test_a_file_may_change_between_two_runs_of_a_process(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "t.jsonl")
    for number in range(2):
        with source.open("a") as file:
            file.write(json.dumps({"id": f"more{number}", "prediction": "x"}) + "\n")
        assert mmconvert("convert", source, "-o", tmp_path / f"out{number}", "--quiet").code == 0
    assert open_dataset(tmp_path / "out1").num_rows == ROWS + 2


def test_no_rejects_file_tells_of_a_file_that_was_read_in_two_states(tmp_path: Path) -> None:
    source = write_tsv(tmp_path / "t.tsv")
    with source.open("a") as file:
        file.write("bad\n")
    assert_refused(convert(source, write_change(tmp_path, source, "truncated")), source, tmp_path)
