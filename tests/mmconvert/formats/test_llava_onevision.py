"""LLaVA-OneVision's mixture of LLaVA's files."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmconvert.core.record import Part
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read
from support.records import image_bytes

TEXT, IMAGE = (lambda text: Part("text", text)), Part("image")


def row(question: str = "Q", **more: Any) -> dict[str, Any]:
    return {"conversations": [{"from": "human", "value": question}, {"from": "gpt", "value": "A"}], **more}


def mixture(folder: Path, text: str, **rows: list[dict[str, Any]]) -> Path:
    """Write a mixture and the files that it names."""
    (folder / "a.png").write_bytes(image_bytes("PNG"))
    for name, data in rows.items():
        (folder / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
    file = folder / "mix.yaml"
    file.write_text(f"datasets:\n{text}", encoding="utf-8")
    return file


def entry(path: str, strategy: str | None = None) -> str:
    return f"  - json_path: '{path}'\n" + (f"    sampling_strategy: {strategy}\n" if strategy else "")


def test_all_files_are_one_input_whose_ids_name_them(tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text(json.dumps(row("L")) + "\n")
    text = entry("{x, y}.json", "all") + entry("lines.jsonl")
    file = mixture(
        tmp_path, text, x=[row("<image>\nQ", id="7", image="a.png")], y=[row("<image><image>", image=["a.png"] * 2)]
    )
    assert guess(file)[0] == "llava_onevision"
    records = read(file)
    first, second, third = records
    assert [one.id for one in (first, second, third)] == ["x-000000000", "y-000000000", "lines-000000000"]
    assert (first.sample, second.source.file, third.question) == ("7", "y.json", "L")
    assert first.messages[0].content == (IMAGE, TEXT("Q"))
    assert second.messages[0].content == (IMAGE, IMAGE)
    assert not records.warnings


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("first:2", [0, 1]),
        ("first:0", []),
        ("end:2", [5, 6]),
        ("end:0", []),
        ("first:30%", [0, 1, 2]),
        ("end:1%", [6]),
        ("first:99", [0, 1, 2, 3, 4, 5, 6]),
        ("end:200%", [0, 1, 2, 3, 4, 5, 6]),
        ("first", [0, 1, 2, 3, 4, 5, 6]),
        ("all", [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_a_strategy_takes_rows(strategy: str, expected: list[int], tmp_path: Path) -> None:
    data = [row(str(number)) for number in range(7)]
    file = mixture(tmp_path, entry("x.json", strategy) + entry("z.json"), x=data, z=[row("z")])
    records = read(file)
    assert [record.question for record in records] == [*map(str, expected), "z"]
    said = [f"x.json: {strategy} takes {len(expected)} of 7 rows"] if ":" in strategy else []
    assert [*records.warnings] == said


@given(st.integers(0, 12), st.booleans())
def test_what_is_random_is_seeded_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, asked: int, share: bool
) -> None:
    folder = tmp_path_factory.mktemp("mix")
    data = [row(str(number)) for number in range(10)]
    file = mixture(
        folder, entry("x.json", f"random:{asked}{'%' if share else ''}") + entry("z.json"), x=data, z=[row("z")]
    )
    first, again = read(file), read(file)
    taken = [int(record.question or "") for record in first if record.question != "z"]
    assert taken == sorted(set(taken))
    assert len(taken) == (-(-asked // 10) if share else min(asked, 10))
    assert [record.id for record in again] == [record.id for record in first]
    assert "drawn with the seed 0" in next(iter(first.warnings))


def test_random_rows_are_not_the_first_ones(tmp_path: Path) -> None:
    file = mixture(tmp_path, entry("x.json", "random:10%"), x=[row(str(number)) for number in range(100)])
    assert [record.question for record in read(file)] != [str(number) for number in range(10)]


def test_files_of_one_name_are_numbered_on(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.json").write_text(json.dumps([row(name), {}]))
    records = read(mixture(tmp_path, entry("{a,b}/x.json") + entry("b/x.json", "first:1")))
    assert [record.id for record in records] == ["x-000000000", "x-000000002", "x-000000004"]
    assert [(one.where.row, one.where.line) for one in records.rejects] == [(1, 1), (3, 1)]


def test_a_bad_row_names_its_own_file(tmp_path: Path) -> None:
    records = read(mixture(tmp_path, entry("x.json"), x=[row(), row("<image>Q"), row("Q", video="a.mp4")]))
    assert len(list(records)) == 1
    assert [(one.code, one.where.file, one.where.row) for one in records.rejects] == [
        ("placeholder.count", "x.json", 1),
        ("media.unsupported", "x.json", 2),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (entry("none.json"), "json_path: no such file beside it"),
        (entry("../x.json"), "json_path: no such file beside it"),
        (entry("/etc/passwd"), "json_path: no such file beside it"),
        (entry("x.json", "some:5"), "sampling_strategy: expected all, first:N"),
        (entry("x.json", "first:-5"), "sampling_strategy: expected all, first:N"),
        (entry("x.json", "5"), r"sampling_strategy: expected all, first:N.*got 5"),
        ("  - 5\n", r"datasets\[0\]: expected an object with 'json_path'"),
        ("  {}\n", "has no list 'datasets'"),
        ("  - [\n", "cannot be read as YAML"),
    ],
)
def test_a_mixture_that_cannot_be_read_is_refused(text: str, words: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "x.json").write_text(json.dumps([row()]))
    with pytest.raises(Error, match=words):
        list(read(mixture(folder, text, x=[row()]), "llava_onevision"))
