"""Instructions, examples and histories as ReForm-Eval's loader gives them."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mmconvert.chat.conversations import MESSAGES_EXTRA
from mmconvert.chat.training import read_messages_extra
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import Record
from mmconvert.core.text.turns import join_texts
from mmconvert.kits.reform_eval.families import FAMILIES
from mmconvert.kits.reform_eval.pools import load_pools, read_pools
from mmconvert.pipeline.convert import read
from mmconvert.plugins.transform import load_steps
from support.drawing import applied, asked, photo
from support.records import image_bytes

IMAGE = b64encode(image_bytes("PNG")).decode()
VQA = {"question_id": "q", "image_id": IMAGE, "question": "Red?", "answer": "no", "answer_options": ["yes", "no"]}


def records(data: Any, folder: Path, *specs: str, **facts: Any) -> list[Record]:
    (folder / "data.json").write_text(json.dumps({**facts, "data": data}))
    source = read(folder / "data.json", "reform_eval", transforms=specs)
    made = list(source)
    assert source.rejects == []
    return made


def test_copies_take_the_instructions_in_turn(tmp_path: Path) -> None:
    made = records([VQA], tmp_path, "duplicate:times=7", "random_instruct")
    pool = load_pools()[FAMILIES["VQA"].pool]
    assert [record.instruction for record in made] == [*pool.choose, *pool.choose[:2]]
    assert join_texts(made[0].messages[0]) == f"{pool.choose[0]} Red? Options: (A) yes; (B) no."
    (likely,) = records([VQA], tmp_path, "random_instruct:method=likelihood")
    assert likely.instruction == pool.answer[0]


def test_rows_take_them_in_turn_if_asked(tmp_path: Path) -> None:
    rows = [{**VQA, "question_id": str(n)} for n in range(3)]
    made = records(rows, tmp_path, "duplicate:times=2", "random_instruct:by=row")
    pool = load_pools()[FAMILIES["VQA"].pool].choose
    assert [record.instruction for record in made] == [pool[n // 2] for n in range(6)]


def test_a_template_asks_another_question_and_wordings_change_along(tmp_path: Path) -> None:
    match = {"img": IMAGE, "anno": "a {cat}", "gt": 1}
    made = records([match], tmp_path, "duplicate", "random_instruct", dataset_name="MSCOCO")
    pool = load_pools()[FAMILIES["ITM"].pool].choose
    assert [record.question for record in made] == [text.replace("{}", "a {cat}") for text in pool]
    assert {record.instruction for record in made} == {None}
    reading = {"question_id": "o", "image": IMAGE, "question": ["R?", "S?"], "answer_txt": "STOP"}
    made = records([reading], tmp_path, "duplicate:times=3", "random_instruct")
    assert [record.question for record in made] == ["R?", "S?", "R?"]


def test_a_file_may_bring_its_own_instructions(tmp_path: Path) -> None:
    item = {"question_id": 1, "image": IMAGE, "question": "Q", "answer": 0, "answer_options": ["a", "b"]}
    made = records([item], tmp_path, "duplicate:times=2", "random_instruct", instructs=["Look.", "See."])
    assert [record.instruction for record in made] == ["Look.", "See."]


def test_a_file_of_pools_replaces_our_words(tmp_path: Path) -> None:
    round_ = [{"from": "human", "value": "See?"}, {"from": "assistant", "value": "(A) yes"}]
    pools = [
        {
            "classes": [FAMILIES["VQA"].pool],
            "pools": [["instruction_list", "", ["Do."]], ["in_context_history", "", round_]],
        }
    ]
    (tmp_path / "pools.json").write_text(json.dumps(pools))
    file = tmp_path / "pools.json"
    (one,) = records([VQA], tmp_path, f"random_instruct:pools={file}", f"in_context_sample:pools={file}")
    assert [join_texts(turn) for turn in one.messages] == ["See?", "(A) yes", "Do. Red? Options: (A) yes; (B) no."]
    with pytest.raises(UsageError, match="no such file"):
        load_steps(["random_instruct:pools=nowhere.json"])
    (tmp_path / "bad.json").write_text('[{"classes": []}]')
    with pytest.raises(Error, match="element 0"):
        read_pools(tmp_path / "bad.json")
    with pytest.raises(UsageError, match="Did you mean variant"):
        load_steps(["random_instruct:by=variants"])


def remarks(data: Any, folder: Path, *specs: str, **facts: Any) -> dict[str, int]:
    (folder / "data.json").write_text(json.dumps({**facts, "data": data}))
    source = read(folder / "data.json", "reform_eval", transforms=specs)
    assert list(source)
    return dict(source.warnings)


def test_our_own_words_are_said_to_be_ours(tmp_path: Path) -> None:
    checkout = tmp_path / "kit"
    for name in ("VQA", "ITM"):
        module, _, made = FAMILIES[name].pool.partition(":")
        (checkout / module).parent.mkdir(parents=True, exist_ok=True)
        lists = "self.instruction_list = ['Do {}.']"
        history = "self.in_context_history = [{'from': 'human', 'value': 'See?'}, {'from': 'assistant', 'value': 'A'}]"
        (checkout / module).write_text(f"class {made}:\n  def __init__(self):\n    {lists}\n    {history}\n")
    theirs = (f"random_instruct:pools={checkout}", f"in_context_sample:pools={checkout}")
    built_in = "built in, not ReForm-Eval's"
    assert remarks([VQA], tmp_path) == {}
    assert remarks([VQA, {**VQA, "question_id": "r"}], tmp_path, "random_instruct", "in_context_sample") == {
        f"instructions: {built_in}": 2,
        f"one-shot example: {built_in}": 2,
    }
    assert remarks([VQA], tmp_path, *theirs) == {}
    match = {"img": IMAGE, "anno": "a cat", "gt": 1}
    asked_plainly = remarks([match], tmp_path, dataset_name="MSCOCO")
    assert [text.startswith(f"questions: {built_in}") for text in asked_plainly] == [True]
    assert remarks([match], tmp_path, "random_instruct", dataset_name="MSCOCO") == {f"instructions: {built_in}": 1}
    assert remarks([match], tmp_path, *theirs, dataset_name="MSCOCO") == {}
    (one,) = records([match], tmp_path, theirs[0], dataset_name="MSCOCO")
    assert one.question == "Do a cat."


def test_a_family_that_a_checkout_lacks_ends_the_run(tmp_path: Path) -> None:
    module, _, made = FAMILIES["ITM"].pool.partition(":")
    (tmp_path / module).parent.mkdir(parents=True)
    (tmp_path / module).write_text(f"class {made}:\n  def f(self):\n    self.instruction_list = ['Do.']\n")
    with pytest.raises(UsageError, match=r"holds no instruction_list of build/VQA/vqa_dataset\.py:VQA_SingleChoice"):
        records([VQA], tmp_path, f"random_instruct:pools={tmp_path}")


def test_an_example_goes_first_with_the_image(tmp_path: Path) -> None:
    (one,) = records([VQA], tmp_path, "in_context_sample:prefix=The answer is")
    example = load_pools()[FAMILIES["VQA"].pool].example
    assert [join_texts(turn) for turn in one.messages[:2]] == [
        example[0]["value"],
        f"The answer is {example[1]['value']}",
    ]
    assert [[part.type for part in turn.content] for turn in one.messages] == [["image", "text"], ["text"], ["text"]]
    assert len(one.images) == 1
    assert applied(asked(photo(2, 2), "Q"), "in_context_sample").messages == asked(photo(2, 2), "Q").messages


DIALOG = {
    "questions": ["is it DAY", "what colour?", "why"],
    "answers": ["yes", "no", "RED"],
    "dialogs": [
        {"image_id": 4, "image_base64": IMAGE, "dialog": [
            {"question": n, "answer": n, "answer_options": [2, 1, 0]} for n in range(3)
        ]}
    ],
}  # fmt: skip


def test_dialogs_get_capitals_then_options(tmp_path: Path) -> None:
    *_, last = records(DIALOG, tmp_path, "capitalize", "options_in_history:prefix=So:", "in_context_sample")
    example = load_pools()[FAMILIES["VisDial"].pool].example
    assert [join_texts(turn) for turn in last.messages[:-1]] == [
        *(turn["value"] for turn in example),
        "Is it day? Options: (A) Red; (B) No; (C) Yes.", "So: (C) Yes",
        "What colour? Options: (A) Red; (B) No; (C) Yes.", "So: (B) No",
    ]  # fmt: skip
    assert (last.question, last.options, last.answer) == ("Why?", ("Red", "No", "Yes"), "A")
    assert [[part.type for part in turn.content] for turn in last.messages][:3] == [
        ["image", "text"],
        ["text"],
        ["text"],
    ]


def test_a_round_looks_the_same_in_all_records_that_it_stands_before(tmp_path: Path) -> None:
    _, second, third = records(DIALOG, tmp_path, "options_in_history:mark=random")
    assert [join_texts(turn) for turn in second.messages[:2]] == [join_texts(turn) for turn in third.messages[:2]]
    assert applied(asked("Q"), "options_in_history", "capitalize").question == "Q?"


def test_the_loaders_call_in_one_line(tmp_path: Path) -> None:
    made = records(
        [VQA],
        tmp_path,
        "duplicate",
        "shuffle_options",
        "random_instruct",
        "option_mark:mark=lower",
        "in_context_sample",
    )
    assert len(made) == 5
    for record in made:
        assert [turn.role for turn in record.messages] == ["user", "assistant", "user"]
        shown = "; ".join(f"({mark}) {text}" for mark, text in zip("ab", record.options, strict=True))
        assert join_texts(record.messages[-1]) == f"{record.instruction} Red? Options: {shown}."
        assert record.options["AB".index(record.answer or "")] == "no"


def test_fields_of_messages_stay_with_their_messages_behind_an_example() -> None:
    choice = replace(asked(photo(2, 2), "Q"), options=("a", "b"), extra={MESSAGES_EXTRA: [{"name": "ann"}]})
    made = applied(choice, "in_context_sample")
    assert [dict(fields) for fields in read_messages_extra(made)] == [{}, {}, {"name": "ann"}]
