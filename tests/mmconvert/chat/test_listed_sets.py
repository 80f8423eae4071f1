"""Data sets that a `dataset_info.json` lists."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmconvert.chat.listed_sets import find_info
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import Record
from mmconvert.pipeline.check import check_files
from mmconvert.pipeline.inputs import plan_inputs
from mmconvert.pipeline.inspect import inspect_files
from mmconvert.pipeline.read import FileOptions, ReadOptions, Records
from support.records import image_bytes

ALPACA = {"file_name": "a.json", "columns": {"prompt": "q", "response": "r", "images": "pics"}}
SHAREGPT = {
    "file_name": "s.jsonl",
    "formatting": "sharegpt",
    "columns": {"messages": "talk", "images": "pics"},
    "tags": {"role_tag": "who", "content_tag": "says", "user_tag": "me", "assistant_tag": "bot", "system_tag": "sys"},
}
PAIRS = {"file_name": "p.json", "ranking": True, "columns": {"prompt": "q", "chosen": "good", "rejected": "bad"}}
HUB = {"hf_hub_url": "someone/something"}
SAID = [
    {"who": "sys", "says": "Be brief."},
    {"who": "me", "says": "<image>Who?"},
    {"who": "bot", "says": "Me."},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "i.png").write_bytes(image_bytes("PNG"))
    (tmp_path / "a.json").write_text(json.dumps([{"q": "<image>Who?", "r": "Me.", "pics": ["i.png"], "output": "no"}]))
    (tmp_path / "s.jsonl").write_text(json.dumps({"talk": SAID, "pics": ["i.png"], "note": 7}))
    (tmp_path / "p.json").write_text(json.dumps([{"q": "Who?", "good": "Me.", "bad": "You."}]))
    return tmp_path


def write_list(folder: Path, **entries: Any) -> Path:
    path = folder / "dataset_info.json"
    path.write_text(json.dumps(entries))
    return path


def read_listed(path: Path, *names: str) -> tuple[list[Record], Records]:
    (source,) = plan_inputs([str(path)], subsets=names)
    records = Records(source, ReadOptions())
    return list(records), records


def test_the_only_data_set_that_is_here_is_read_as_the_list_says(folder: Path) -> None:
    path = write_list(folder, mine=ALPACA, other=HUB)
    for place in (path, folder):
        (row,), records = read_listed(place)
        assert ("".join(part.text for part in row.messages[1].content), len(row.images)) == ("Me.", 1)
        assert (records.format, row.subset, row.extra) == ("alpaca", "mine", {})
        assert [*records.warnings] == ["dataset_info.json does not list output of mine, which are left out"]


def test_tags_say_what_roles_and_texts_are_called(folder: Path) -> None:
    (row,), records = read_listed(write_list(folder, a=ALPACA, s=SHAREGPT), "s")
    assert [turn.role for turn in row.messages] == ["system", "user", "assistant"]
    assert (records.format, len(row.images), row.extra["note"]) == ("sharegpt", 1, 7)


def test_a_ranking_gives_pairs(folder: Path) -> None:
    (row,), _ = read_listed(write_list(folder, p=PAIRS, s=SHAREGPT), "p")
    assert row.preference is not None
    assert row.preference.rejected[0].content[0].text == "You."


def test_several_data_sets_are_asked_for_by_name_and_all_are_checked(folder: Path) -> None:
    path = write_list(folder, a=ALPACA, s=SHAREGPT, far=HUB)
    with pytest.raises(UsageError, match=r"--subset NAME\. Here: a, s\. On a hub: far\."):
        plan_inputs([str(path)])
    with pytest.raises(UsageError, match="Did you mean far"):
        plan_inputs([str(path)], subsets=("fra",))
    with pytest.raises(UsageError, match="far is not on this machine"):
        plan_inputs([str(path)], subsets=("far",))
    assert len(plan_inputs([str(path)], subsets=("a", "s"))) == 2
    assert [found.format for found in inspect_files(str(path), FileOptions())] == ["alpaca", "sharegpt"]
    assert check_files([str(path)], FileOptions(), quiet=True).rows == 2


def test_a_list_of_sets_on_a_hub_says_so(folder: Path) -> None:
    with pytest.raises(UsageError, match="lists no data set that is on this machine"):
        plan_inputs([str(write_list(folder, far=HUB))], every_set=True)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"file_name": "none.json"}, "no such file beside it"),
        ({"file_name": "../a.json"}, "no such file beside it"),
        ({**ALPACA, "formatting": "parquet"}, "formatting: cannot be read"),
        ({**ALPACA, "columns": ["q"]}, "columns: expected an object of texts"),
        ({"file_name": 3}, "expected the name of a file"),
    ],
)
def test_an_entry_that_cannot_be_read_is_named(folder: Path, entry: Any, message: str) -> None:
    with pytest.raises(Error, match=message):
        plan_inputs([str(write_list(folder, x=entry))])


def test_a_file_of_the_same_name_that_lists_nothing_is_none(folder: Path) -> None:
    (folder / "dataset_info.json").write_text('{"citation": "", "features": {"id": {}}}')
    assert find_info(folder) is None
