"""Parts and engines: any number of workers writes the same bytes, and ids stay unique between parts."""

import base64
import json
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from mmconvert.core.errors import Error
from mmconvert.dataset.dataset import open_dataset
from mmconvert.dataset.verify import verify
from mmconvert.pipeline import parts
from mmconvert.pipeline.convert import ReadOptions, Records, Summary, WriteOptions, convert
from mmconvert.pipeline.engines.local import open_crew
from mmconvert.pipeline.inputs import Input
from support.datasets_on_disk import make_image

pytestmark = pytest.mark.slow


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "SMALL_FILE", 100)
    monkeypatch.setattr(parts, "SHORT_LIST", 100)
    monkeypatch.setattr(parts, "PART_BYTES", 400)


def lines(*rows: dict) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def message(text: str, **more: object) -> dict:
    return {"messages": [{"role": "user", "content": text}], "answer": "a", **more}


def converted(text: str, output: Path, **where: object) -> Summary:
    file = output.parent / "in.jsonl"
    file.write_text(text, encoding="utf-8")
    return convert([Input(file)], output, ReadOptions(), WriteOptions(**where))  # type: ignore[arg-type]


def shards(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.glob("data/*.parquet"))}


def test_the_bytes_do_not_depend_on_the_workers(small_parts: None, tmp_path: Path) -> None:
    text = lines(*(message(f"question {n}") for n in range(40))) + "{bad\n" + lines(message("last"))
    one = converted(text, tmp_path / "one")
    three = converted(text, tmp_path / "three", workers=3)
    assert len(shards(tmp_path / "one")) > 3
    assert shards(tmp_path / "one") == shards(tmp_path / "three")
    assert (one.rows_written, one.rows_rejected) == (three.rows_written, three.rows_rejected) == (41, 1)
    assert (tmp_path / "one.rejects.jsonl").read_text() == (tmp_path / "three.rejects.jsonl").read_text()
    assert verify(tmp_path / "three") == []
    assert [r.source.row for r in open_dataset(tmp_path / "one").records()] == [*range(40), 41]


TABLE_HEAD = "index\tquestion\timage\tA\tB\tanswer\n"


@pytest.mark.parametrize("head", ["\n", *(pytest.param(head, marks=pytest.mark.release) for head in ("", "\n\n"))])
def test_a_file_that_is_read_on_is_cut_where_others_cut_it(head: str, small_parts: None, tmp_path: Path) -> None:
    # Blank lines, refused rows and quoted line ends stand where a part begins or ends.
    cell = base64.b64encode(make_image(1)).decode()
    rows = []
    for number in range(60):
        rows.append(f'{number}\t"a ""long""\nquestion {number}"\t{cell}\tx\ty\tA\n')
        rows.append(["\n", "too\tfew\n", "", f"x{number}\tq\tno image\tx\ty\tB\n"][number % 4])
    file = tmp_path / "in.tsv"
    file.write_text(TABLE_HEAD + head + "".join(rows), encoding="utf-8")
    found = {}
    for workers in (1, 2):
        where = WriteOptions(workers=workers)
        convert([Input(file)], tmp_path / f"out{workers}", ReadOptions(format="lmudata"), where)
        rejects = (tmp_path / f"out{workers}.rejects.jsonl").read_text()
        found[workers] = shards(tmp_path / f"out{workers}"), rejects
    assert len(found[1][0]) > 3
    assert found[1] == found[2]


@pytest.mark.release
def test_lines_that_are_read_on_are_cut_where_others_cut_them(small_parts: None, tmp_path: Path) -> None:
    text = "\ufeff\n" + "".join(
        [lines(message(f"question {n}")), "\n", "{bad\n", ""][n % 3] + lines(message("x" * n)) for n in range(80)
    )
    one, two = (converted(text, tmp_path / name, workers=count) for name, count in (("one", 1), ("two", 2)))
    assert shards(tmp_path / "one") == shards(tmp_path / "two")
    assert len(shards(tmp_path / "one")) > 3
    assert (one.rows_written, one.rows_rejected) == (two.rows_written, two.rows_rejected)
    rejects = [(tmp_path / f"{name}.rejects.jsonl").read_text() for name in ("one", "two")]
    assert rejects[0] == rejects[1]


def test_an_array_is_cut_as_lines_are(small_parts: None, tmp_path: Path) -> None:
    rows = [message(f"question {n}") for n in range(40)]
    for workers in (1, 2):
        summary = converted(json.dumps([*rows, 7]), tmp_path / f"out{workers}", workers=workers)
        assert (summary.rows_written, summary.rows_rejected) == (40, 1)
    assert len(shards(tmp_path / "out1")) > 3
    assert shards(tmp_path / "out1") == shards(tmp_path / "out2")
    assert [record.id for record in open_dataset(tmp_path / "out1").records()] == [f"{n:09d}" for n in range(40)]


class TestImagesBesideAFile:
    """A short list of long files is work for several processes as one long file is."""

    COUNT = 80

    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        rows = []
        for number in range(self.COUNT):
            (tmp_path / f"{number}.png").write_bytes(make_image(number) + bytes(3_000))
            turns = [{"from": "human", "value": f"<image>\nquestion {number}"}, {"from": "gpt", "value": "answer"}]
            rows.append({"id": str(number), "image": f"{number}.png", "conversations": turns})
        file = tmp_path / "in.json"
        file.write_text(json.dumps(rows), encoding="utf-8")
        return file

    def test_its_bytes_are_estimated_by_the_first_rows(self, source: Path) -> None:
        own, images = source.stat().st_size, sum(file.stat().st_size for file in source.parent.glob("*.png"))
        assert parts.estimate_bytes(Input(source), ReadOptions(), own) == pytest.approx(images, rel=0.1)
        rows = json.loads(source.read_text())
        source.write_text(json.dumps(rows[:10]))
        images = sum((source.parent / f"{n}.png").stat().st_size for n in range(10))
        assert parts.estimate_bytes(Input(source), ReadOptions(), source.stat().st_size) == images

    @pytest.mark.parametrize("text", ["[", "[7]", '[{"id": 1}]', ""])
    def test_what_cannot_be_read_counts_with_its_own_bytes(self, text: str, tmp_path: Path) -> None:
        file = tmp_path / "in.json"
        file.write_text(text)
        assert parts.estimate_bytes(Input(file), ReadOptions(format="llava"), len(text)) == len(text)

    def test_it_is_cut_by_them(self, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        weight = parts.estimate_bytes(Input(source), ReadOptions(), source.stat().st_size)
        monkeypatch.setattr(parts, "PART_BYTES", weight // 4)
        monkeypatch.setattr(parts, "SHORT_LIST", source.stat().st_size - 1)
        for small, count in ((weight, 1), (weight - 1, 8)):
            monkeypatch.setattr(parts, "SMALL_FILE", small)
            for workers in (1, 2):
                where = WriteOptions(workers=workers, overwrite=True)
                convert([Input(source)], tmp_path / f"out{workers}", ReadOptions(), where)
            assert len(shards(tmp_path / "out1")) == count
            assert shards(tmp_path / "out1") == shards(tmp_path / "out2")
        assert [record.sample for record in open_dataset(tmp_path / "out1").records()] == [*map(str, range(self.COUNT))]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_id_that_an_earlier_part_has_is_refused_once(workers: int, small_parts: None, tmp_path: Path) -> None:
    rows = [message(f"question {n}", id=str(n)) for n in range(30)]
    text = lines(*rows, message("again", id="3"), message("new", id="x"))
    summary = converted(text, tmp_path / "out", workers=workers)
    records = list(open_dataset(tmp_path / "out").records())
    assert [r.id for r in records] == [*map(str, range(30)), "x"]
    assert next(r.question for r in records if r.id == "3") == "question 3"
    assert summary.rows_rejected == 1
    reject = json.loads((tmp_path / "out.rejects.jsonl").read_text())
    assert (reject["row"], reject["code"]) == (30, "id.duplicate")


def test_a_limit_keeps_the_file_whole(small_parts: None, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text(lines(*(message(f"question {n}") for n in range(40))), encoding="utf-8")
    summary = convert([Input(file)], tmp_path / "out", ReadOptions(limit=7), WriteOptions(workers=2))
    assert summary.rows_written == 7


def test_an_error_in_a_child_stops_the_run_and_publishes_nothing(small_parts: None, tmp_path: Path) -> None:
    text = lines(*(message(f"question {n}") for n in range(60))) + "{bad\n"
    with pytest.raises(Error, match=r"in\.jsonl:61: .*--on-bad fail"):
        converted(text, tmp_path / "out", workers=2, fail_on_bad=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.jsonl", "out.rejects.jsonl"]


def test_no_more_workers_are_asked_for_than_there_may_be_parts(small_parts: None, tmp_path: Path) -> None:
    small, large = tmp_path / "small.jsonl", tmp_path / "large.jsonl"
    small.write_text(lines(message("x")), encoding="utf-8")
    inputs = [Input(small), Input(large)]
    # A multiple of four, none larger than 400 bytes.
    for size, count in ((150, 4), (1440, 4), (1441, 8)):
        line = lines(message(""))
        large.write_text(lines(message("x" * (size - len(line)))), encoding="utf-8")
        for how, expected in ((ReadOptions(), 1 + count), (ReadOptions(limit=3), 2)):
            plans = parts.plan_parts(inputs, [Records(source, how) for source in inputs], how)
            assert parts.count_most_parts(inputs, plans) == expected


def test_every_part_is_a_little_smaller_than_the_one_before(small_parts: None, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    for size in (720, 1440, 1441, 5_000):
        file.write_text(lines({"q": "x"}) * (size // 11) + lines({"q": "x" * (size % 11)}), encoding="utf-8")
        how = ReadOptions(format="openai_messages")
        pattern = parts.FilePart(0, Input(file), None, tmp_path, how)
        [plan] = parts.plan_parts([Input(file)], [Records(Input(file), how)], how)
        spans = [part.span for part in parts.split_file(pattern, plan, read_on=False)]
        ends = [0, *(span.end for span in spans if span is not None)]
        sizes = [end - before for before, end in pairwise(ends)]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] <= 400
        assert 0.79 < sizes[-1] / sizes[0] < 0.95


EVERY_THIRD = """
from dataclasses import replace

from mmconvert.formats.openai_messages import FORMAT as MESSAGES

def rows(path, span):
    return (row for row in MESSAGES.rows(path, span) if row.where.row % 3 == 2)

FORMAT = replace(MESSAGES, rows=rows)
"""


@pytest.mark.release
def test_a_format_that_leaves_rows_out_is_cut_in_the_same_places(small_parts: None, tmp_path: Path) -> None:
    plugin = tmp_path / "every_third.py"
    plugin.write_text(EVERY_THIRD, encoding="utf-8")
    file = tmp_path / "in.jsonl"
    file.write_text(lines(*(message("x" * (n * 37 % 90), id=str(n)) for n in range(90))), encoding="utf-8")
    how = ReadOptions(format=f"{plugin}@FORMAT")
    for workers in (1, 2):
        convert([Input(file)], tmp_path / f"{workers}", how, WriteOptions(workers=workers))
    assert len(shards(tmp_path / "1")) > 10
    assert shards(tmp_path / "1") == shards(tmp_path / "2")


@pytest.mark.parametrize("workers", [1, 2, pytest.param(3, marks=pytest.mark.release)])
def test_a_refused_file_keeps_the_rejects_of_its_parts(workers: int, small_parts: None, tmp_path: Path) -> None:
    rows = [f"{number}\t{'bad' if number % 9 == 4 else 'q'}\tA\n" for number in range(90)]
    file = tmp_path / "in.tsv"
    file.write_text("id\tquestion\tprediction\n" + "".join(rows).replace("\tbad\t", "\t") + '"', encoding="utf-8")
    how, where = ReadOptions(format="predictions"), WriteOptions(workers=workers)
    with pytest.raises(Error, match=r"in\.tsv:92: a quote opens here"):
        convert([Input(file)], tmp_path / "out", how, where)
    lines = (tmp_path / "out.rejects.jsonl").read_text().splitlines()
    assert [json.loads(line)["row"] for line in lines] == list(range(4, 90, 9))


@pytest.mark.parametrize("workers", [1, 2, pytest.param(3, marks=pytest.mark.release)])
def test_the_first_bad_row_is_told_whichever_part_is_done_first(
    workers: int, small_parts: None, tmp_path: Path
) -> None:
    # The second part meets its bad row late, the third one at once.
    row = lines(message("x" * 20))
    rows, in_part = [row] * 40, -(-400 // len(row))
    rows[2 * in_part - 1] = rows[2 * in_part] = "{bad\n".rjust(len(row))
    with pytest.raises(Error, match=rf"in\.jsonl:{2 * in_part}: "):
        converted("".join(rows), tmp_path / "out", workers=workers, fail_on_bad=True)


@pytest.mark.parametrize("end", ["\r", pytest.param("", marks=pytest.mark.release)])
def test_a_line_of_an_empty_quoted_cell_is_no_row(end: str, small_parts: None, tmp_path: Path) -> None:
    file = tmp_path / "in.tsv"
    rows = [f"{number}\tq\ta{end}\n" + f'""{end}\n' * (number % 7 == 0) for number in range(60)]
    file.write_text(f"id\tquestion\tprediction{end}\n" + "".join(rows), encoding="utf-8", newline="")
    found = {}
    for workers in (1, 2):
        where = WriteOptions(workers=workers)
        convert([Input(file)], tmp_path / f"out{workers}", ReadOptions(format="predictions"), where)
        found[workers] = shards(tmp_path / f"out{workers}")
        assert [record.source.row for record in open_dataset(tmp_path / f"out{workers}").records()] == list(range(60))
    assert found[1] == found[2]


def double(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize("workers", [1, 2, pytest.param(9, marks=pytest.mark.release)])
def test_results_come_in_the_order_of_the_tasks(workers: int) -> None:
    with open_crew(workers) as run:
        assert list(run(double, range(7))) == [0, 2, 4, 6, 8, 10, 12]
        assert list(run(double, range(2))) == [0, 2]


def fails_from_three(number: int) -> int:
    time.sleep(0.2 if number == 3 else 0)
    if number >= 3:
        raise ValueError(number)
    return number


def two_numbers() -> Iterator[int]:
    yield from (1, 2)
    raise OSError("no more")


@pytest.mark.parametrize("workers", [1, 2, pytest.param(4, marks=pytest.mark.release)])
def test_the_first_error_comes_behind_the_results_before_it(workers: int) -> None:
    with open_crew(workers) as run:
        found = []
        with pytest.raises(ValueError, match="3"):
            found.extend(run(fails_from_three, range(8)))
    assert found in ([], [0, 1, 2])
    with open_crew(workers) as run:
        results = run(double, two_numbers())
        assert (next(results), next(results)) == (2, 4)
        with pytest.raises(OSError, match="no more"):
            next(results)
