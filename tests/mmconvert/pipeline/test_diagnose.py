"""Every problem of a row is named with its place, and none that mending another one made."""

import base64
import json
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.text.field_path import find_value, parse_field_path, replace_value
from mmconvert.pipeline.convert import Records, read
from mmconvert.pipeline.diagnose import MOST
from support.records import image_bytes
from support.workbooks import sheet, text_row, write_workbook

IMAGE = base64.b64encode(image_bytes("PNG")).decode()
ADDRESS = f"data:image/png;base64,{IMAGE}"
CUT = f"data:image/png;base64,{IMAGE[:60]}"

SHOWN = {"type": "image_url", "image_url": {"url": ADDRESS}}
TEXT = {"type": "text", "text": "What?"}
SAID = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": [SHOWN, SHOWN, TEXT]},
    {"role": "assistant", "content": "Two."},
    {"role": "user", "content": [SHOWN, TEXT]},
]
TURNS = [
    {"from": "human", "value": "<image><image>What?"},
    {"from": "gpt", "value": "Two."},
    {"from": "human", "value": "<image>And this?"},
    {"from": "gpt", "value": "One."},
]
ROUND = {"question": "Is it?", "answer_options": ["yes", "no"], "answer": 0}
ROWS: dict[str, dict[str, Any]] = {
    "openai_messages": {"id": "1", "messages": SAID, "answer": "x"},
    "trl": {"messages": [{"role": "user", "content": [{"type": "image"}, TEXT]}], "images": [ADDRESS]},
    "sharegpt": {"conversations": TURNS, "images": [ADDRESS] * 3},
    "vmcq": {"id": "1", "question": "<image 1>?", "options": ["x", "y", "z"], "answer": "B", "image_1": ADDRESS},
    "lmudata": {
        "index": "1", "question": "?", "A": "x", "B": "y", "answer": "A",
        "image": json.dumps([IMAGE] * 3), "image_path": "['a.png', 'b.png', 'c.png']",
    },
    "reform_eval": {"image_id": 1, "image_base64": IMAGE, "dialog": [ROUND] * 3},
    "reform_predictions": {"sample_id": "a", "answer": 0, "answer_options": ["x", "y"], "prediction": "x"},
}  # fmt: skip
DAMAGES: dict[str, dict[str, Any]] = {
    "openai_messages": {
        "id": {}, "answer": {}, "messages[0].role": "sys", "messages[1].content[0].image_url": {"url": CUT},
        "messages[1].content[1].image_url": {"url": "no.png"}, "messages[1].content[2]": {"type": "smell"},
        "messages[2].content": 7, "messages[3].content[0].image_url": 7,
    },
    "trl": {"messages[0].content[1]": 5, "images[0]": "../up.png"},
    "sharegpt": {
        "conversations[0].from": "humn", "conversations[1].value": 3, "conversations[3].from": [],
        "images[0]": "no.png", "images[1]": CUT, "images[2]": "http://127.0.0.1:9/a.png",
    },
    "vmcq": {"id": [], "question": "", "options[0]": {}, "options[2]": None, "answer": "Q", "image_1": CUT},
    "lmudata": {
        "index": None, "question": None, "answer": "Z", "image[0]": "%%%%", "image[2]": IMAGE[:60],
        "image_path[1]": "../up.png",
    },
    "reform_eval": {
        "image_id": None, "image_base64": "%%%%", "dialog[0].question": 5, "dialog[1].answer": 9,
        "dialog[2].answer_options[1]": None,
    },
    "reform_predictions": {"answer": 9, "prediction": None, "answer_options[1]": {}},
}  # fmt: skip
SUFFIXES = {"lmudata": ".tsv", "reform_eval": ".json", "reform_predictions": ".json", "sharegpt": ".json"}
DAMAGED = [(name, place) for name, damages in DAMAGES.items() for place in damages]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("problems")


def written(rows: list[dict[str, Any]], path: Path) -> Path:
    """Write rows as the suffix says."""
    if path.suffix == ".tsv":
        lines = [list(rows[0]), *([row[name] or "" for name in rows[0]] for row in rows)]
        cells = [['"' + cell.replace('"', '""') + '"' for cell in line] for line in lines]
        text = "".join("\t".join(line) + "\n" for line in cells)
    else:
        text = json.dumps(rows) if path.suffix == ".json" else "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(text)
    return path


def broken(row: dict[str, Any], damages: dict[str, Any]) -> dict[str, Any]:
    def damaged(fields: dict[str, Any], place: str) -> dict[str, Any]:
        column, way = parse_field_path(place, fields) or ("", ())
        return {**fields, column: replace_value(fields[column], way, damages[place])}

    return reduce(damaged, damages, row)


def problems(path: Path, name: str) -> Records:
    records = read(path, name, decode=True, every_problem=True)
    list(records)
    return records


def places(records: Records) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for reject in records.rejects:
        found.setdefault(reject.where.row, []).append(reject.field)
    return {row: sorted(fields) for row, fields in found.items()}


@pytest.mark.parametrize(("name", "place"), DAMAGED)
def test_one_damage_is_one_problem(name: str, place: str, tmp_path: Path) -> None:
    row = ROWS[name]
    path = written([row, broken(row, {place: DAMAGES[name][place]})], tmp_path / f"a{SUFFIXES.get(name, '.jsonl')}")
    assert places(problems(path, name)) == {1: [place]}


@pytest.mark.parametrize("name", ROWS)
@given(data=st.data())
def test_all_damages_are_named_at_their_places_and_nothing_else_is(
    name: str, data: st.DataObject, folder: Path
) -> None:
    chosen = data.draw(st.lists(st.sampled_from(sorted(DAMAGES[name])), unique=True, min_size=1))
    # Nobody knows which letters there are while the options cannot be read.
    unclear = {"answer", "dialog[2].answer"} if any("options" in place for place in chosen) else set()
    path = folder / f"{name}{SUFFIXES.get(name, '.jsonl')}"
    bad = broken(ROWS[name], {place: DAMAGES[name][place] for place in chosen})
    found = places(problems(written([ROWS[name], bad], path), name))[1]
    assert set(chosen) - unclear <= set(found) <= set(chosen)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name", ["openai_messages", "vmcq", "lmudata"])
def test_a_file_without_a_good_row_has_its_problems_named_too(name: str, tmp_path: Path) -> None:
    path = written([broken(ROWS[name], DAMAGES[name])], tmp_path / f"a{SUFFIXES.get(name, '.jsonl')}")
    found = places(problems(path, name))[0]
    assert set(DAMAGES[name]) - {"answer"} <= set(found) <= set(DAMAGES[name])


def test_options_that_were_mended_do_not_judge_the_answer(tmp_path: Path) -> None:
    row = ROWS["vmcq"]
    good = {**row, "options": ["x", "y"], "answer": "A"}
    path = written([good, {**row, "options": "[", "answer": "D", "image_1": CUT}], tmp_path / "a.jsonl")
    assert places(problems(path, "vmcq")) == {1: ["image_1", "options"]}


def test_a_question_that_was_mended_does_not_judge_the_images(tmp_path: Path) -> None:
    row = {name: value for name, value in ROWS["vmcq"].items() if name != "image_1"}
    path = written([ROWS["vmcq"], {**row, "question": "", "answer": "Q"}], tmp_path / "a.jsonl")
    assert places(problems(path, "vmcq")) == {1: ["answer", "question"]}


def test_every_cell_of_a_workbook_that_is_no_plain_value_is_named(tmp_path: Path) -> None:
    head = text_row("index", "question", "A", "B", "answer", "category", "l2-category", "prediction")
    good = text_row("1", "?", "x", "y", "A", "c", "l", "A")
    formula = "<c><f>1+1</f></c>"
    bad = text_row("2", "?", "x", "y", "Z", "c", "l")
    for text in ("?", "x"):
        bad = bad.replace(f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>', formula)
    records = problems(write_workbook(tmp_path / "a.xlsx", sheet(head, good, bad)), "mmbench")
    assert places(records) == {1: ["A", "question"]}
    assert {reject.field: reject.code for reject in records.rejects}["question"] == "cell.formula"
    assert records.rejects[0].id == "2"


def test_every_cell_of_a_table_that_is_not_utf8_is_named_with_what_else_is_wrong(tmp_path: Path) -> None:
    table = tmp_path / "a.tsv"
    good = b"1\tWhich?\thint\tyes\tno\tA\t" + IMAGE.encode() + b"\n"
    bad = b"2\tWhich\xff?\t\xffhint\tyes\tno\tQ\tno picture\n"
    table.write_bytes(b"index\tquestion\thint\tA\tB\tanswer\timage\n" + good + bad)
    records = problems(table, "lmudata")
    assert {problem.field: problem.code for problem in records.rejects} == {
        "question": "text.encoding",
        "hint": "text.encoding",
        "image": "image.base64",
        "answer": "answer.not_an_option",
    }
    assert records.rejects[0].id == "2"


@pytest.mark.parametrize("options", ['["<image 1>","<image 2>"]', '[{"image": "x"}]'])
def test_no_place_of_a_table_is_named_twice(options: str, tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    cells = [text.replace('"', '""').encode() for text in ("Which?", options, "B", CUT, "?" + ADDRESS)]
    row = b",".join(b'"%b"' % cell for cell in cells).replace(b"?data", b"\xffdata")
    table.write_bytes(b"question,options,answer,image_1,image_2\n" + row + b"\n")
    named = [problem.field for problem in problems(table, "vmcq").rejects]
    assert {"image_1", "image_2"} <= {*named}
    assert len(named) == len({*named})


def test_a_row_with_very_many_problems_has_the_first_named(tmp_path: Path) -> None:
    row = {"messages": [{"role": "usr", "content": "?"}] * (MOST + 50)}
    path = written([{"messages": [{"role": "user", "content": "?"}]}, row], tmp_path / "a.jsonl")
    rejects = problems(path, "openai_messages").rejects
    assert len(rejects) == MOST + 2
    assert str(rejects[-1]) == f"a.jsonl:2: more than {MOST} problems. Correct these, and check again."


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("messages[2].content[1].image_url", ("messages", [2, "content", 1, "image_url"])),
        ("a.b", ("a.b", [])),
        ("index", ("Index", [])),
    ],
)
def test_a_place_is_a_column_and_a_way(place: str, expected: tuple[str, list[object]]) -> None:
    assert parse_field_path(place, {"messages": [], "a.b": 1, "a": {}, "Index": 3}) == expected


@pytest.mark.parametrize("act", [lambda v, w: find_value(v, w), lambda v, w: replace_value(v, w, 1)])
@pytest.mark.parametrize(
    ("value", "way"), [([], [0]), ({}, ["a", "b"]), ("plain", [0]), (None, ["a"]), ([1], ["a"]), ("[1", [0])]
)
def test_a_place_that_is_not_there_is_no_place(act: Callable[..., Any], value: Any, way: list[Any]) -> None:
    with pytest.raises(LookupError):
        act(value, way)
