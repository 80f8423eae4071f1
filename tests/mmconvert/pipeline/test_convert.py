"""The pipeline: what is read, refused, counted, published, and what is left alone."""

import base64
import json
import os
import shutil
from pathlib import Path

import pytest
from datasets import load_dataset

import mmconvert
from mmconvert.core.errors import Error, UsageError
from mmconvert.dataset.dataset import open_dataset
from mmconvert.dataset.verify import verify
from mmconvert.pipeline.convert import ReadOptions, Summary, WriteOptions, convert, read, write
from mmconvert.pipeline.inputs import plan_inputs
from mmconvert.pipeline.parts import SMALL_FILE
from mmconvert.plugins.format import Target
from support.records import image_bytes


def table(path: Path, rows: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("id\tprediction\n" + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def converted(output: Path, *names: object, how: ReadOptions | None = None, **where: object) -> Summary:
    how = how or ReadOptions(format="predictions")
    return convert(plan_inputs(list(map(str, names))), output, how, WriteOptions(**where))  # type: ignore[arg-type]


def ids(folder: Path, split: str | None = None) -> list[str]:
    return [record.id for record in open_dataset(folder).records(split)]


def rejects(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


GOOD, BAD = ["1\ta", "2\tb"], ["x\t"]


def test_good_rows_go_on_and_bad_ones_are_written_down(tmp_path: Path) -> None:
    summary = converted(tmp_path / "out", table(tmp_path / "a.tsv", ["1\ta", "2\t", "3\tc\textra", "3\tc"]))
    assert ids(tmp_path / "out") == ["1", "3"]
    assert (summary.rows_read, summary.rows_written, summary.rows_rejected) == (4, 2, 2)
    assert summary.rejects == str(tmp_path / "out.rejects.jsonl")
    assert rejects(tmp_path / "out.rejects.jsonl") == [
        {
            "row": 1,
            "line": 3,
            "id": "2",
            "field": "prediction",
            "code": "prediction.missing",
            "message": 'the row has no prediction ("" would be one). Run the model again, or leave the row out.',
            "file": "a.tsv",
        },
        {
            "row": 2,
            "line": 4,
            "id": None,
            "field": "",
            "code": "table.cells",
            "message": "expected 2 cells, found 3. Check for a stray tab or newline, or quote the cell.",
            "file": "a.tsv",
        },
    ]


def test_an_id_counts_once_in_a_file(tmp_path: Path) -> None:
    summary = converted(tmp_path / "out", table(tmp_path / "a.tsv", ["1\ta", "1\tb", "2\tc"]))
    assert ids(tmp_path / "out") == ["1", "2"]
    (reject,) = rejects(tmp_path / "out.rejects.jsonl")
    assert (reject["row"], reject["line"], reject["id"], reject["code"]) == (1, 3, "1", "id.duplicate")
    assert summary.reasons == [
        "a.tsv:3 id: the id is also in an earlier row (got '1'). Give every row an id of its own."
    ]


def test_ids_of_several_files_do_not_collide(tmp_path: Path) -> None:
    table(tmp_path / "in/a.tsv", ["1\ta", "2\tb"])
    table(tmp_path / "in/b.tsv", ["1\tc", "3\td", "1\te", "a-1\tf"])
    table(tmp_path / "in/c.tsv", ["1\tg", "b-1\th"])
    summary = converted(tmp_path / "out", tmp_path / "in")
    records = list(open_dataset(tmp_path / "out").records())
    assert [(r.id, r.sample, r.subset) for r in records] == [
        ("1", "1", "a"),
        ("2", "2", "a"),
        ("b-1", "b-1", "b"),
        ("3", "3", "b"),
        ("a-1", "a-1", "b"),
        ("c-1", "c-1", "c"),
        ("c-b-1", "c-b-1", "c"),
    ]
    assert (summary.rows_written, summary.rows_rejected, summary.rows_read) == (7, 1, 8)
    assert [r["row"] for r in rejects(tmp_path / "out.rejects.jsonl")] == [2]
    assert any("name of its own in front (3 times)" in warning for warning in summary.warnings)


@pytest.mark.parametrize("longer", ["a", "b"])
def test_what_belongs_together_gets_the_same_words_in_front(longer: str, tmp_path: Path) -> None:
    image = base64.b64encode(image_bytes("PNG")).decode()
    for name in ("a", "b"):
        rounds = 3 if name == longer else 2
        said = [str([f"{name}{n}" for n in range(rounds)])] * 2
        row = "\t".join(["0", image, *said])
        (tmp_path / f"{name}.tsv").write_text(f"index\timage\tquestion\tanswer\n{row}\n", encoding="utf-8")
    converted(tmp_path / "out", tmp_path / "a.tsv", tmp_path / "b.tsv", how=ReadOptions(format="lmudata"))
    found = [(r.id, r.sample, r.group) for r in open_dataset(tmp_path / "out").records()]
    first, second = (3, 2) if longer == "a" else (2, 3)
    assert found == [
        *((f"0#{n}", f"0#{n}", "0") for n in range(first)),
        *((f"b-0#{n}", f"b-0#{n}", "b-0") for n in range(second)),
    ]


def test_copies_of_questions_of_two_files_are_not_mixed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        rows = [{"id": "1", "question": f"{name}?", "options": ["x", "y"], "answer": "A"}]
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    how = ReadOptions(format="vmcq", transforms=("circular",))
    converted(tmp_path / "out", tmp_path / "a.jsonl", tmp_path / "b.jsonl", how=how)
    found = [(r.id, r.sample, r.variant, r.group) for r in open_dataset(tmp_path / "out").records()]
    assert found == [("1#0", "1", 0, "1"), ("1#1", "1", 1, "1"), ("b-1#0", "b-1", 0, "b-1"), ("b-1#1", "b-1", 1, "b-1")]


def test_rows_that_the_view_refuses_do_not_count_for_a_limit(tmp_path: Path) -> None:
    rows = [{"id": str(n), "messages": [{"role": "user", "content": "hi"}]} for n in (0, 1, 1, 2, 3)]
    for row in rows[1:]:
        row["answer"] = "ho"
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    how = ReadOptions(format="openai_messages", limit=2)
    converted(tmp_path / "out", tmp_path / "a.jsonl", how=how, view="sft")
    assert ids(tmp_path / "out") == ["1", "2"]


def test_a_limit_leaves_the_row_behind_it_alone(tmp_path: Path) -> None:
    rows = [{"id": str(n), "messages": [{"role": "user", "content": "hi"}]} for n in range(2)]
    rows[1]["image_1"] = "https://example.com/a.png"  # which would be refused
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    summary = converted(tmp_path / "out", tmp_path / "a.jsonl", how=ReadOptions(format="openai_messages", limit=1))
    assert (summary.rows_read, summary.rows_written, summary.rows_rejected) == (1, 1, 0)


def test_refused_rows_never_go_into_an_input(tmp_path: Path, repository: Path) -> None:
    source = table(tmp_path / "in/a.tsv", [*GOOD, *BAD])
    converted(tmp_path / "own", source)
    [shard] = (tmp_path / "own/data").iterdir()
    shutil.copytree(repository / "src/mmconvert/testing/demo/files/mmmu_outputs", tmp_path / "kit")
    replies = next((tmp_path / "kit").rglob("*.json"))
    for name, wish in ((tmp_path / "in", source), (tmp_path / "own", shard), (tmp_path / "kit", replies)):
        before = {path: path.read_bytes() for path in name.rglob("*") if path.is_file()}
        with pytest.raises(UsageError, match=r"is the input itself|is inside the input"):
            converted(tmp_path / "out", name, rejects=wish, how=ReadOptions())
        assert {path: path.read_bytes() for path in name.rglob("*") if path.is_file()} == before


def test_a_split_without_rows_is_left_out(tmp_path: Path) -> None:
    good, bad = table(tmp_path / "a.tsv", GOOD), table(tmp_path / "b.tsv", BAD)
    summary = converted(tmp_path / "out", f"dev={good}", f"test={bad}")
    assert summary.splits == {"dev": 2, "test": 0}
    assert summary.warnings == ["split test has no rows and is left out: load_dataset opens no such"]
    assert {name: len(rows) for name, rows in load_dataset(str(tmp_path / "out")).items()} == {"dev": 2}
    summary = converted(tmp_path / "out", f"val={bad}", append=True, allow_empty=True)
    assert {name: len(rows) for name, rows in load_dataset(str(tmp_path / "out")).items()} == {"dev": 2}


def test_the_same_file_twice_is_refused_row_by_row(tmp_path: Path) -> None:
    file = table(tmp_path / "a.tsv", GOOD)
    assert converted(tmp_path / "out", file, file).rows_rejected == 2


def test_rows_without_ids_are_numbered_apart(tmp_path: Path) -> None:
    row = json.dumps({"messages": [{"role": "user", "content": "hi"}]})
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(f"{row}\n", encoding="utf-8")
    converted(tmp_path / "out", tmp_path / "a.jsonl", tmp_path / "b.jsonl", how=ReadOptions(format="openai_messages"))
    assert ids(tmp_path / "out") == ["a-000000000", "b-000000000"]


def test_ids_are_unique_in_the_dataset_and_not_only_in_a_split(tmp_path: Path) -> None:
    first, second = table(tmp_path / "a.tsv", GOOD), table(tmp_path / "b.tsv", [*GOOD, "3\tc"])
    summary = converted(tmp_path / "out", f"dev={first}", f"train={second}")
    assert summary.splits == {"dev": 2, "train": 3}
    assert ids(tmp_path / "out") == ["1", "2", "b-1", "b-2", "3"]
    converted(tmp_path / "out", f"test={second}", append=True)
    assert ids(tmp_path / "out", "test") == ["test-1", "test-2", "test-3"]
    assert [r.sample for r in open_dataset(tmp_path / "out").records("test")] == [
        "test-1",
        "test-2",
        "test-3",
    ]
    converted(tmp_path / "out", second, append=True, config="other")
    assert [r.id for r in open_dataset(tmp_path / "out", "other").records()] == ["1", "2", "3"]


def test_rows_without_ids_are_numbered_on_when_they_are_appended(tmp_path: Path) -> None:
    row = json.dumps({"messages": [{"role": "user", "content": "hi"}]})
    (tmp_path / "a.jsonl").write_text(f"{row}\n{row}\n", encoding="utf-8")
    how = ReadOptions(format="openai_messages")
    converted(tmp_path / "out", f"dev={tmp_path}/a.jsonl", how=how)
    summary = converted(tmp_path / "out", f"train={tmp_path}/a.jsonl", how=how, append=True)
    assert ids(tmp_path / "out") == ["000000000", "000000001", "train-000000000", "train-000000001"]
    assert summary.warnings == []


def test_the_manifest_tells_what_was_done(tmp_path: Path) -> None:
    converted(tmp_path / "out", table(tmp_path / "a.tsv", GOOD), how=ReadOptions(format="predictions", limit=1))
    manifest = json.loads((tmp_path / "out/.mmconvert/manifest.json").read_text())
    assert manifest["format"] == "predictions"
    assert manifest["input"][0]["name"] == "a.tsv"
    assert manifest["options"]["limit"] == 1


def test_a_limit_counts_records(tmp_path: Path) -> None:
    summary = converted(
        tmp_path / "out",
        table(tmp_path / "a.tsv", [*BAD, *GOOD, *BAD]),
        how=ReadOptions(format="predictions", limit=1),
    )
    assert (summary.rows_read, summary.rows_written, summary.rows_rejected) == (2, 1, 1)


@pytest.mark.parametrize("small", [SMALL_FILE, 10])
def test_more_rows_than_allowed_refuse_the_file(small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmconvert.pipeline.parts.SMALL_FILE", small)
    monkeypatch.setattr("mmconvert.pipeline.parts.PART_BYTES", 12)
    file = table(tmp_path / "a.tsv", [f"{n}\ta" for n in range(9)])
    with pytest.raises(Error, match=r"a.tsv: holds more than 8 rows. Raise --max-rows"):
        converted(tmp_path / "out", file, how=ReadOptions(format="predictions", max_rows=8))
    assert not (tmp_path / "out").exists()
    assert converted(tmp_path / "out", file, how=ReadOptions(format="predictions", max_rows=9)).rows_written == 9


@pytest.mark.parametrize("rows", [[], BAD])
def test_a_dataset_without_rows_needs_a_word(rows: list[str], tmp_path: Path) -> None:
    file = table(tmp_path / "a.tsv", rows)
    message = "no row could be converted; the first of 1 reasons: a.tsv:2" if rows else "a.tsv: holds no rows."
    with pytest.raises(Error, match=message):
        converted(tmp_path / "out", file)
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "out.rejects.jsonl").exists() == bool(rows)
    summary = converted(tmp_path / "out", file, allow_empty=True)
    assert (summary.rows_written, summary.rows_rejected, summary.splits) == (0, len(rows), {"test": 0})
    assert ids(tmp_path / "out") == []
    assert verify(tmp_path / "out") == []


def test_the_first_bad_row_stops_a_strict_run(tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"a.tsv:4 prediction: .* Stopped, because --on-bad fail was given."):
        converted(tmp_path / "out", table(tmp_path / "a.tsv", [*GOOD, *BAD, *BAD]), fail_on_bad=True)
    assert not (tmp_path / "out").exists()
    assert rejects(tmp_path / "out.rejects.jsonl")[0]["row"] == 2


def test_what_was_refused_before_a_file_broke_is_written_down(tmp_path: Path) -> None:
    first = table(tmp_path / "a.tsv", [*GOOD, *BAD])
    second = table(tmp_path / "b.tsv", [*BAD, '"never closed'])
    with pytest.raises(Error, match=r"b.tsv:3: a quote opens here"):
        converted(tmp_path / "out", first, second)
    assert [(r["file"], r["row"]) for r in rejects(tmp_path / "out.rejects.jsonl")] == [("a.tsv", 2), ("b.tsv", 0)]
    assert not (tmp_path / "out").exists()


def test_the_rejects_file_always_tells_of_the_dataset_beside_it(tmp_path: Path) -> None:
    good, mixed = table(tmp_path / "good.tsv", GOOD), table(tmp_path / "mixed.tsv", [*GOOD, *BAD])
    file = tmp_path / "out.rejects.jsonl"
    converted(tmp_path / "out", mixed)
    with pytest.raises(UsageError, match="already exists"):
        converted(tmp_path / "out", good)
    assert rejects(file)[0]["file"] == "mixed.tsv"
    assert converted(tmp_path / "out", good, overwrite=True).rejects is None
    assert not file.exists()


def test_appending_keeps_the_rejects_of_what_is_kept(tmp_path: Path) -> None:
    for name in ("a", "b"):
        table(tmp_path / f"{name}.tsv", [*GOOD, *BAD])
    converted(tmp_path / "out", f"dev={tmp_path}/a.tsv")
    converted(tmp_path / "out", f"train={tmp_path}/b.tsv", append=True)
    assert [r["file"] for r in rejects(tmp_path / "out.rejects.jsonl")] == ["a.tsv", "b.tsv"]
    table(tmp_path / "b.tsv", GOOD)
    assert converted(tmp_path / "out", f"x={tmp_path}/b.tsv", append=True).rejects is None
    assert len(rejects(tmp_path / "out.rejects.jsonl")) == 2


def test_rejects_go_where_they_are_wanted(tmp_path: Path) -> None:
    file = table(tmp_path / "a.tsv", [*GOOD, *BAD])
    summary = converted(tmp_path / "out", file, rejects=tmp_path / "new/bad.jsonl")
    assert summary.rejects == str(tmp_path / "new/bad.jsonl")
    assert len(rejects(tmp_path / "new/bad.jsonl")) == 1
    assert not (tmp_path / "out.rejects.jsonl").exists()


@pytest.mark.parametrize(
    ("place", "message"),
    [("a.tsv", "is the input itself"), ("out/bad.jsonl", "lies inside"), ("out", "lies inside"), ("in", "is a folder")],
)
def test_the_rejects_file_can_do_no_harm(place: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    file = table(tmp_path / "a.tsv", GOOD)
    before = file.read_bytes()
    with pytest.raises(UsageError, match=message):
        converted(tmp_path / "out", file, rejects=tmp_path / place)
    assert file.read_bytes() == before
    assert not (tmp_path / "out").exists()


def test_a_rejects_file_that_cannot_be_written_stops_the_publishing(tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file")
    with pytest.raises(Error, match="blocked"):
        converted(tmp_path / "out", table(tmp_path / "a.tsv", [*GOOD, *BAD]), rejects=tmp_path / "blocked/bad.jsonl")
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_one_clear_error_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "Error writing bytes to file. Detail: [errno 28] No space left on device")

    monkeypatch.setattr("mmconvert.dataset.shards.ShardWriter.write", full)
    with pytest.raises(Error, match=r"out: No space left on device. Nothing was written."):
        converted(tmp_path / "out", table(tmp_path / "a.tsv", GOOD))
    assert [p.name for p in tmp_path.iterdir()] == ["a.tsv"]


def test_a_dataset_may_replace_itself(tmp_path: Path) -> None:
    converted(tmp_path / "out", table(tmp_path / "a.tsv", GOOD))
    converted(tmp_path / "out", tmp_path / "out", how=ReadOptions(), overwrite=True)
    assert ids(tmp_path / "out") == ["1", "2"]
    assert verify(tmp_path / "out") == []


@pytest.mark.parametrize("name", ["a b.tsv", "daß [1]*.tsv", "中文\u202e.tsv", "-x.tsv", "a\nb.tsv"])
def test_odd_file_names_are_names(name: str, tmp_path: Path) -> None:
    converted(tmp_path / "out", table(tmp_path / name, GOOD))
    assert [r.source.file for r in open_dataset(tmp_path / "out").records()] == [name, name]


def test_reading_may_be_repeated(tmp_path: Path) -> None:
    records = read(table(tmp_path / "a.tsv", [*GOOD, *BAD]), "predictions")
    assert [[r.id for r in records], [r.id for r in records]] == [["1", "2"], ["1", "2"]]
    assert (records.rows_read, len(records.rejects)) == (3, 1)


def test_a_written_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    records = list(read(table(tmp_path / "a.tsv", GOOD), "predictions"))
    target = tmp_path / "back.jsonl"
    write(records, Target(target), "predictions")
    whole = target.read_bytes()

    def broken():
        yield records[0]
        raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        write(broken(), Target(target), "predictions")
    assert target.read_bytes() == whole
    assert sorted(os.listdir(tmp_path)) == ["a.tsv", "back.jsonl"]


def test_a_format_is_written_only_to_its_own_kinds_of_file(tmp_path: Path) -> None:
    records = list(read(table(tmp_path / "a.tsv", GOOD), "predictions"))
    with pytest.raises(UsageError, match=r"x.docx: format 'predictions' is written to .*\.tsv"):
        write(records, Target(tmp_path / "x.docx"), "predictions")
    with pytest.raises(UsageError, match="only read"):
        write(records, Target(tmp_path / "x.parquet"), "hub_vqa")
    with pytest.raises(UsageError, match=r"unknown format 'predictons'. Did you mean predictions"):
        write(records, Target(tmp_path / "x.tsv"), "predictons")


def test_a_pipe_is_not_replaced_by_refused_rows_nor_removed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "in.jsonl").write_text('{"messages": [{"role": "user", "content": "a"}], "answer": "x"}\n')
    with pytest.raises(UsageError, match="is a device or a pipe"):
        mmconvert.convert(tmp_path / "in.jsonl", tmp_path / "out", rejects=tmp_path / "pipe")
    with pytest.raises(UsageError, match="is a device or a pipe"):
        mmconvert.export(tmp_path / "in.jsonl", tmp_path / "pipe", to="openai_messages")
    assert (tmp_path / "pipe").is_fifo()
    assert not (tmp_path / "out").exists()
