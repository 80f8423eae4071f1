"""Small files share parts and shards, and give the rows, ids and reports that each alone gives."""

import base64
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mmconvert.core.errors import Error
from mmconvert.dataset.dataset import open_dataset
from mmconvert.dataset.verify import verify
from mmconvert.pipeline import parts
from mmconvert.pipeline.convert import ReadOptions, Records, Summary, WriteOptions, convert
from mmconvert.pipeline.inputs import Input, plan_inputs
from support import slow_parts
from support.datasets_on_disk import make_image

pytestmark = pytest.mark.slow


def message(text: str, **more: object) -> dict:
    return {"messages": [{"role": "user", "content": text}], "answer": "a", **more}


def written(path: Path, *rows: object) -> Path:
    path.parent.mkdir(exist_ok=True)
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def shards(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.glob("data/*.parquet"))}


def rows(folder: Path) -> list[dict[str, Any]]:
    return [row for batch in open_dataset(folder).batches(None) for row in batch.to_pylist()]


def converted(names: Sequence[object], output: Path, how: ReadOptions | None = None, **where: Any) -> Summary:
    return convert(plan_inputs([str(name) for name in names]), output, how or ReadOptions(), WriteOptions(**where))


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "SMALL_FILE", 1_000)
    monkeypatch.setattr(parts, "PART_BYTES", 1_000)


def each_alone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(parts, "plan_parts", lambda inputs, files, how: [parts.PartPlan([n]) for n in range(len(inputs))])


@pytest.fixture
def many(tmp_path: Path) -> list[Path]:
    """Sixty files, some of them with a row that is refused."""
    files = []
    for number in range(60):
        bad = ["{bad"] if number % 7 == 3 else []
        found = [message(f"question {number}-{row}") for row in range(number % 5 + 1)]
        files.append(written(tmp_path / f"in/f{number:02d}.jsonl", *bad, *found))
    return files


def test_their_rows_stand_in_one_shard_in_the_order_of_the_files(many: list[Path], tmp_path: Path) -> None:
    summary = converted(many, tmp_path / "out")
    assert list(shards(tmp_path / "out")) == ["test-00000-of-00001.parquet"]
    expected = [(f"f{n:02d}.jsonl", row + (n % 7 == 3)) for n in range(60) for row in range(n % 5 + 1)]
    records = list(open_dataset(tmp_path / "out").records())
    assert [(r.source.file, r.source.row) for r in records] == expected
    rejects = [json.loads(line) for line in (tmp_path / "out.rejects.jsonl").read_text().splitlines()]
    assert [(one["file"], one["line"]) for one in rejects] == [(f"f{n:02d}.jsonl", 1) for n in range(3, 60, 7)]
    assert (summary.rows_read, summary.rows_rejected) == (len(expected) + len(rejects), len(rejects))
    assert verify(tmp_path / "out") == []


@pytest.mark.parametrize("plain", [True, False])
def test_they_give_what_each_alone_gives_with_any_number_of_workers(
    plain: bool, many: list[Path], small_parts: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = ReadOptions() if plain else ReadOptions(prompt_suffix="Think.")
    summaries = [converted(many, tmp_path / f"out{workers}", how, workers=workers) for workers in (1, 2, 3)]
    assert 4 <= len(shards(tmp_path / "out1")) < 30
    assert shards(tmp_path / "out1") == shards(tmp_path / "out2") == shards(tmp_path / "out3")
    with monkeypatch.context() as patch:
        each_alone(patch)
        summaries.append(converted(many, tmp_path / "alone", how))
    assert len(shards(tmp_path / "alone")) == 60
    assert rows(tmp_path / "out1") == rows(tmp_path / "alone")
    assert len({(tmp_path / f"{name}.rejects.jsonl").read_text() for name in ("out1", "out2", "out3", "alone")}) == 1
    facts = [(s.format, s.rows_read, s.rows_written, s.rows_rejected, s.bytes, s.splits) for s in summaries]
    assert facts == facts[:1] * 4


def test_only_neighbours_of_one_split_and_format_share_a_part(tmp_path: Path) -> None:
    table = tmp_path / "c.tsv"
    table.write_text("id\tquestion\tprediction\n1\tq\tA\n", encoding="utf-8")
    chats = [written(tmp_path / f"{name}.jsonl", message(name)) for name in "abdef"]
    names = [*chats[:2], table, *chats[2:3], *(f"dev={file}" for file in chats[3:])]
    converted(names, tmp_path / "out")
    assert list(shards(tmp_path / "out")) == [
        "dev-00000-of-00001.parquet",
        *(f"test-{number:05d}-of-00003.parquet" for number in range(3)),
    ]
    assert [r.source.file for r in open_dataset(tmp_path / "out").records("test")] == [
        *("a.jsonl", "b.jsonl", "c.tsv", "d.jsonl")
    ]


def test_a_file_between_them_that_is_larger_is_cut_by_itself(small_parts: None, tmp_path: Path) -> None:
    small = [written(tmp_path / f"{name}.jsonl", message(name)) for name in "abcd"]
    large = written(tmp_path / "bb.jsonl", *(message(f"question {n}" + "x" * 80) for n in range(50)))
    inputs = [Input(file) for file in (*small[:2], large, *small[2:])]
    how = ReadOptions()
    plans = parts.plan_parts(inputs, [Records(source, how) for source in inputs], how)
    assert [list(plan.files) for plan in plans] == [[0, 1], [2], [3, 4]]
    assert [plan.cut is None for plan in plans] == [True, False, True]


def write_chats(chance: random.Random, folder: Path, name: str) -> Path:
    """Chats with ids that other files have too, be it with the words of a file in front."""
    found = [
        message(f"question {number}", id=f"{chance.choice(['', '', 'a-', 'b-', 'c-'])}{chance.randrange(4)}")
        for number in range(chance.randrange(4))
    ]
    return written(folder / f"{name}.jsonl", *(found or [message("one")]))


def write_dialogues(chance: random.Random, folder: Path, name: str) -> Path:
    """A table of dialogues: rounds of one have ids of their own, and belong together."""
    image, lines = base64.b64encode(make_image(1)).decode(), []
    for number in range(1 + chance.randrange(4)):
        said = [str([f"{name}{number}{turn}" for turn in range(1 + chance.randrange(3))])] * 2
        key = f"{chance.choice(['', '', 'a-', 'b-', 'c-'])}{chance.randrange(4)}{chance.choice(['', '', '#1'])}"
        lines.append("\t".join([key, image, *said]))
    file = folder / f"{name}.tsv"
    file.write_text("index\timage\tquestion\tanswer\n" + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


@pytest.mark.parametrize("seed", range(40))
def test_ids_that_clash_are_told_apart_as_between_files_alone(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    write, format = (write_chats, None) if seed % 2 else (write_dialogues, "lmudata")
    files = [write(chance, tmp_path, name) for name in "abcdefgh"]
    # Now and then one file is given twice.
    names = [*files, files[2]] if seed % 5 == 0 else files
    how = ReadOptions(format=format, limit=chance.choice([None, None, 2]))
    with monkeypatch.context() as patch:
        each_alone(patch)
        before = converted(names, tmp_path / "alone", how)
    after = converted(names, tmp_path / "out", how)
    assert len(shards(tmp_path / "out")) == 1
    assert rows(tmp_path / "out") == rows(tmp_path / "alone")
    assert (after.rows_rejected, after.warnings, after.rows_read) == (
        before.rows_rejected, before.warnings, before.rows_read
    )  # fmt: skip
    rejects = [tmp_path / f"{name}.rejects.jsonl" for name in ("out", "alone")]
    assert len({file.read_text() if file.exists() else "" for file in rejects}) == 1


def test_a_part_is_converted_again_once_however_many_of_its_files_clash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [written(tmp_path / f"f{n}.jsonl", *(message("q", id=str(row)) for row in range(3))) for n in range(30)]
    read = []
    monkeypatch.setattr(parts, "convert_part", lambda part, do=parts.convert_part: read.append(part.index) or do(part))
    converted(files, tmp_path / "out")
    assert read == [0, 0]
    ids = [record.id for record in open_dataset(tmp_path / "out").records()]
    assert ids == ["0", "1", "2", *(f"f{n}-{row}" for n in range(1, 30) for row in range(3))]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_broken_file_among_them_is_named_and_the_rejects_before_it_are_kept(
    workers: int, many: list[Path], small_parts: None, tmp_path: Path
) -> None:
    many[40].write_bytes(b"\xff\xfe{\x00}\x00")
    with pytest.raises(Error, match=r"in/f40\.jsonl: expected JSON Lines in UTF-8, but this is UTF-16"):
        converted(many, tmp_path / "out", ReadOptions(format="openai_messages"), workers=workers)
    assert not (tmp_path / "out").exists()
    rejects = [json.loads(line)["file"] for line in (tmp_path / "out.rejects.jsonl").read_text().splitlines()]
    assert rejects == [f"f{n:02d}.jsonl" for n in range(3, 40, 7)]


def test_the_first_bad_row_of_any_of_them_ends_a_strict_run(many: list[Path], tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"f03\.jsonl:1: .*--on-bad fail"):
        converted(many, tmp_path / "out", fail_on_bad=True)
    assert not (tmp_path / "out").exists()


def test_limits_are_those_of_each_file(many: list[Path], tmp_path: Path) -> None:
    summary = converted(many, tmp_path / "out", ReadOptions(limit=2))
    assert summary.rows_written == sum(min(2, n % 5 + 1) for n in range(60))
    assert len(shards(tmp_path / "out")) == 1
    with pytest.raises(Error, match=r"f24\.jsonl: holds more than 5 rows"):
        converted(many, tmp_path / "long", ReadOptions(max_rows=5))


def write_lists(folder: Path, count: int) -> list[Input]:
    """Short lists, each with two images of 3 kB."""
    folder.mkdir()
    inputs = []
    for number in range(count):
        for image in range(2):
            (folder / f"{number}-{image}.png").write_bytes(make_image(number + image) + bytes(3_000))
        turns = [{"from": "human", "value": "<image>\nq"}, {"from": "gpt", "value": "a"}]
        found = [{"id": f"{n}", "image": f"{number}-{n}.png", "conversations": turns} for n in range(2)]
        file = folder / f"{number:02d}.json"
        file.write_text(json.dumps(found), encoding="utf-8")
        inputs.append(Input(file))
    return inputs


def test_images_beside_short_lists_count_with_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = write_lists(tmp_path / "in", 20)
    images = sum(file.stat().st_size for file in (tmp_path / "in").glob("*.png"))
    monkeypatch.setattr(parts, "SMALL_FILE", images // 2)
    monkeypatch.setattr(parts, "PART_BYTES", images // 4)
    looked = []
    monkeypatch.setattr(
        parts, "estimate_bytes", lambda one, *rest, do=parts.estimate_bytes: looked.append(one) or do(one, *rest)
    )
    how = ReadOptions()
    plans = parts.plan_parts(inputs, [Records(source, how) for source in inputs], how)
    assert len(looked) == 4
    assert 4 < len(plans) < 10
    assert [number for plan in plans for number in plan.files] == list(range(20))


def test_lists_with_videos_are_parts_by_themselves(tmp_path: Path) -> None:
    inputs = write_lists(tmp_path / "in", 5)
    for how, count in ((ReadOptions(), 1), (ReadOptions(frames=2), 5), (ReadOptions(fps=1.0), 5)):
        files = [Records(source, how) for source in inputs]
        assert len(parts.plan_parts(inputs, files, how)) == count


def contents(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_shared_work_on_them_goes_on_where_one_was_killed(
    many: list[Path], small_parts: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(many[9], *(message("again", id="x") for _ in range(2)))
    written(many[50], message("and again", id="x"))
    converted(many, tmp_path / "alone/d")
    output = tmp_path / "shared/d"
    output.parent.mkdir()
    process = start_sharing(many, output)
    done = output.parent / ".d.share/parts"
    while not (done.is_dir() and len(list(done.iterdir())) > 2):
        assert process.poll() is None
    process.kill()
    process.communicate()
    assert not output.exists()
    converted(many, output, share=True)
    assert contents(output.parent) == contents(tmp_path / "alone")
    assert verify(output) == []


def start_sharing(files: Sequence[Path], output: Path) -> subprocess.Popen[str]:
    command = [sys.executable, slow_parts.__file__, *map(str, files), "-o", str(output), "--share", "--quiet"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
