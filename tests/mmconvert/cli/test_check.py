"""`mmconvert check`: every problem, nothing written, the exit codes of convert."""

import base64
import json
import re
from pathlib import Path

import pytest

from support.records import image_bytes
from support.terminal import mmconvert

DEMO = Path(__file__).parents[3] / "src/mmconvert/testing/demo/files"

NO_PREDICTION = 'the row has no prediction ("" would be one). Run the model again, or leave the row out.'


def table(path: Path, *rows: str) -> Path:
    path.write_text("id\tprediction\n" + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def check(*arguments: object):
    return mmconvert("check", *arguments, "--format", "predictions")


def test_a_clean_file_ends_with_0() -> None:
    ended = mmconvert("check", DEMO / "lmudata/Colours.tsv", "--format", "lmudata")
    assert (ended.code, ended.out, ended.err) == (0, "", "4 rows would convert, none would be skipped.\n")


def test_every_problem_is_named_with_file_row_and_field(tmp_path: Path) -> None:
    ended = check(table(tmp_path / "a.tsv", "1\ta", "2\t", "\tb", "1\tc", "4\td\te"))
    assert ended.code == 3
    assert ended.out.splitlines() == [
        f"a.tsv:3 prediction: {NO_PREDICTION}",
        "a.tsv:4 id: the row has no id. Give every row an id of its own, a text or a whole number without a point.",
        "a.tsv:5 id: the id is in line 2 too (got '1'). Give every row an id of its own.",
        "a.tsv:6: expected 2 cells, found 3. Check for a stray tab or newline, or quote the cell.",
    ]
    assert ended.err == "1 row would convert; 4 would be skipped.\n"


@pytest.mark.parametrize(("rows", "message"), [([], "no row would convert"), (["1\t"], "no row would convert")])
def test_a_file_without_a_good_row_ends_with_1(rows: list[str], message: str, tmp_path: Path) -> None:
    ended = check(table(tmp_path / "a.tsv", *rows))
    assert (ended.code, message in ended.err) == (1, True)


def test_a_broken_file_does_not_hide_the_problems_of_the_next(tmp_path: Path) -> None:
    broken = table(tmp_path / "a.tsv", '"never closed')
    ended = check(broken, table(tmp_path / "b.tsv", "1\ta", "2\t"))
    assert ended.code == 1
    first, second = ended.out.splitlines()
    assert first.startswith("a.tsv:2: a quote opens here")
    assert second.startswith("b.tsv:3 prediction:")
    assert ended.err == "a whole file is invalid, and the conversion would fail.\n"


def test_images_are_decoded(tmp_path: Path) -> None:
    data = bytearray(image_bytes("PNG", 3, (40, 40)))
    data[60] ^= 0xFF
    row = f"1\tq\ta\tb\tA\t{base64.b64encode(bytes(data)).decode()}\n"
    (tmp_path / "a.tsv").write_text("index\tquestion\tA\tB\tanswer\timage\n" + row)
    ended = mmconvert("check", tmp_path / "a.tsv", "--format", "lmudata")
    assert ended.code == 1
    assert ended.out.startswith("a.tsv:2 image: the image cannot be decoded")


def test_programs_get_one_object(tmp_path: Path) -> None:
    ended = check(table(tmp_path / "a.tsv", "1\ta", "2\t"), "--json")
    assert json.loads(ended.out) == {
        "rows": 1,
        "problems": [f"a.tsv:3 prediction: {NO_PREDICTION}"],
        "warnings": [],
    }
    assert ended.err == ""


def test_nothing_is_written(tmp_path: Path) -> None:
    check(table(tmp_path / "a.tsv", "1\t"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.tsv"]


def said(role: str, content: object) -> dict[str, object]:
    return {"role": role, "content": content}


def shown(path: str) -> list[dict[str, object]]:
    return [{"type": "image_url", "image_url": {"url": path}}, {"type": "text", "text": "What?"}]


def dialog(image: str, key: object = "1", **turns: str) -> str:
    said = [{"from": role, "value": text} for role, text in turns.items()]
    return json.dumps({"id": key, "image": image, "conversations": said}) + ","


IMAGE = base64.b64encode(image_bytes("PNG")).decode()
BROKEN = {
    "chat.jsonl": [
        json.dumps({"id": "1", "messages": [said("user", "Hi?")], "answer": "yes"}),
        json.dumps({"id": {}, "messages": [said("usr", "Hi?")], "answer": {"a": 1}}),
        json.dumps({"messages": [said("user", shown("no.png"))], "answer": {}}),
        json.dumps({"messages": "Hi?", "answer": "x"}),
        json.dumps({"messages": [said("user", shown("../up.png"))], "answer": "x"}),
        '{"messages": [}',
        json.dumps({"messages": [said("user", 7)]}),
    ],
    "table.tsv": [
        "index\tquestion\tA\tB\tanswer\timage",
        f"1\tWhich?\tx\ty\tA\t{IMAGE}",
        "\t\tx\ty\tC\t%%%%",
        f"3\tWhich?\tx\ty\tC\t{IMAGE[:70]}",
        "4\tWhich?\tx\ty\tA\t99",
        f"1\tWhich?\tx\ty\tA\t{IMAGE}",
        "6\tWhich?\tx\ty",
    ],
    "train.json": [
        "[",
        dialog("a.png", human="<image>Q", gpt="A"),
        dialog("no.png", humn="<image>Q"),
        dialog("a.png", key=[]),
        dialog("a.png", human="Q"),
        "5",
        "]",
    ],
}  # fmt: skip
FOUND = {
    "chat.jsonl": [
        ("2 id", "expected a text or an integer"), ("2 messages[0].role", "expected system, user or assistant"),
        ("2 answer", "expected a text"), ("3 messages[0].content[0].image_url", "no such file under the image root"),
        ("3 answer", "expected a text"), ("4 messages", "bad JSON at character 1"),
        ("5 messages[0].content[0].image_url", "the path leaves the image root"), ("6", "bad JSON at character 15"),
        ("7 messages[0].content", "expected a text or a list of parts"),
    ],
    "table.tsv": [
        ("3 index", "the row has no index"), ("3 question", "the row has no question"), ("3 answer", "expected one of"),
        ("3 image", "this is not base64"), ("4 answer", "expected one of A, B"), ("4 image", "the PNG ends before"),
        ("5 image", "no row has this index"), ("6 id", "the id is in line 2 too"), ("7", "expected 6 cells, found"),
    ],
    "train.json": [
        ("3 conversations[0].from", "expected one of system, user, human"), ("3 image", "no such file"),
        ("4 id", "expected a text or an integer"), ("4 conversations", "expected a list of messages"),
        ("5 image", "the turns show 0 images"), ("6", "expected a JSON object"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_every_problem_of_every_row_is_named_with_its_line_its_field_and_what_to_do(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(image_bytes("PNG"))
    (tmp_path / name).write_text("\n".join(BROKEN[name]) + "\n")
    ended = mmconvert("check", tmp_path / name)
    assert ended.code == 3
    lines = ended.out.splitlines()
    assert sorted(line.partition(": ")[0].removeprefix(f"{name}:") for line in lines) == sorted(
        place for place, _ in FOUND[name]
    )
    for place, message in FOUND[name]:
        (line,) = [line for line in lines if line.startswith(f"{name}:{place}: {message}")]
        assert re.search(r"[.?)] (?=[A-Z])[^()]*[.?]$|--image-root \.$|\[\"a\", \"b\"\]\.$", line), line
    assert [int(re.split(r"[: ]", line)[1]) for line in lines] == sorted(
        int(re.split(r"[: ]", line)[1]) for line in lines
    )
    bad = len({place.split()[0] for place, _ in FOUND[name]})
    assert f"1 row would convert; {bad} would be skipped" in ended.err


def test_without_a_good_row_all_problems_are_named_too(tmp_path: Path) -> None:
    (tmp_path / "table.tsv").write_text("\n".join(BROKEN["table.tsv"][::2][:2]) + "\n")
    ended = mmconvert("check", tmp_path / "table.tsv")
    places = [line.partition(": ")[0] for line in ended.out.splitlines()]
    assert sorted(places) == [f"table.tsv:2 {field}" for field in ("answer", "image", "index", "question")]
    assert (ended.code, ended.err) == (1, "no row would convert.\n")


def test_several_images_of_one_message_and_of_one_cell_are_named_apart(tmp_path: Path) -> None:
    parts = [*shown("no.png")[:1], *shown("../up.png")]
    (tmp_path / "chat.jsonl").write_text(json.dumps({"messages": [said("system", "Hi"), said("user", parts)]}))
    ended = mmconvert("check", tmp_path / "chat.jsonl", "--format", "openai_messages")
    assert [line.partition(": ")[0] for line in ended.out.splitlines()] == [
        "chat.jsonl:1 messages[1].content[0].image_url",
        "chat.jsonl:1 messages[1].content[1].image_url",
    ]
    row = f"""1\tWhich?\tx\ty\tA\t['%%%%', '{IMAGE}', '{IMAGE[:70]}']"""
    (tmp_path / "table.tsv").write_text(f"{BROKEN['table.tsv'][0]}\n{row}\n")
    ended = mmconvert("check", tmp_path / "table.tsv")
    assert [line.partition(": ")[0] for line in ended.out.splitlines()] == [
        "table.tsv:2 image[0]",
        "table.tsv:2 image[2]",
    ]


def test_a_cell_that_may_have_swallowed_rows_is_remarked_on(tmp_path: Path) -> None:
    ended = check(table(tmp_path / "a.tsv", '1\t"a', "2\tb", '3\tc" d'))
    assert ended.code == 0
    (line,) = ended.out.splitlines()
    assert line.startswith("warning: a.tsv: line 2 prediction: tabs and line breaks are inside quotes;")
    assert ended.err == "1 row would convert, none would be skipped.\n"


def test_an_id_that_stands_twice_is_named_for_a_row_that_is_refused_too(tmp_path: Path) -> None:
    text = "".join(
        json.dumps({"id": key, "messages": [said("user", content)]}) + "\n"
        for key, content in [("7", shown("no.png")), ("8", "Hi?"), ("7", "Hi?"), ("9", 5), ("9", 5), ({}, "Hi?")]
    )
    text += json.dumps({"id": [], "other": "7", "messages": [said("user", "Hi?")]}) + "\n"
    (tmp_path / "a.jsonl").write_text(text)
    ended = mmconvert("check", tmp_path / "a.jsonl", "--format", "openai_messages")
    assert [line.rpartition(" (got")[0] for line in ended.out.splitlines() if " id:" in line] == [
        "a.jsonl:1 id: the id is in line 3 too",
        "a.jsonl:5 id: the id is in line 4 too",
        "a.jsonl:6 id: expected a text or an integer",
        "a.jsonl:7 id: expected a text or an integer",
    ]
    assert ended.err == "2 rows would convert; 5 would be skipped, for 7 problems.\n"
