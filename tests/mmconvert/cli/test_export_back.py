"""`mmconvert export`: what a file says of ids, letters and further fields reads back, or is named as lost."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import mmconvert as mmconvert_api
from mmconvert.core.errors import RowError, UsageError
from mmconvert.core.record import Part, Turn
from mmconvert.core.text.turns import join_texts
from mmconvert.core.validation import check_record
from mmconvert.dataset.views import list_sft_turns
from mmconvert.pipeline.convert import read
from support.datasets_on_disk import make_image, record, write_dataset
from support.terminal import mmconvert

DEMO = Path(__file__).parents[3] / "src/mmconvert/testing/demo/files"
CHOICES = DEMO / "reform_eval/colours.json"
ANSWERED = DEMO / "reform_predictions/Colours_SingleChoice_generation_demo_demo-1b.json"

OTHER_USE = "the format has another use for the field"


@pytest.fixture(autouse=True)
def _in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def export(source: str | Path, file: str, to: str) -> set[tuple[str, str, str]]:
    """Export, and give the losses; the exit code must go with them."""
    ended = mmconvert("export", source, "-o", file, "--to", to, "--json")
    said = json.loads(ended.out)
    dropped = said["rows_rejected"] or not all(loss["remark"] for loss in said["losses"])
    assert ended.code == (3 if dropped else 0), ended.err
    return {(loss["id"], loss["field"], loss["message"]) for loss in said["losses"]}


def fields_lost(losses: set[tuple[str, str, str]]) -> set[tuple[str, str]]:
    return {(key, field) for key, field, _ in losses}


def rows_of(file: str) -> list[dict[str, Any]]:
    text = Path(file).read_text()
    if not file.endswith(".json"):
        return [json.loads(line) for line in text.splitlines()]
    whole = json.loads(text)
    rows: list[dict[str, Any]] = (
        whole if isinstance(whole, list) else whole.get("per_sample_results", whole.get("data"))
    )
    return rows


def jsonl(name: str, *rows: dict[str, Any]) -> str:
    Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return name


def chat(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "answer": "x", **more}


def table(name: str, *rows: dict[str, str]) -> str:
    lines = ["\t".join(rows[0]), *("\t".join(row.values()) for row in rows)]
    Path(name).write_text("\n".join(lines) + "\n")
    return name


@pytest.mark.parametrize(
    ("source", "file", "to"),
    [
        (CHOICES, "back.jsonl", "vmcq"),
        (CHOICES, "back.json", "mmtrust"),
        (ANSWERED, "demo-1b_vision_direct.jsonl", "mmmu_pro_outputs"),
        (ANSWERED, "demo-1b_Colours.jsonl", "vlmevalkit_predictions"),
    ],
)
def test_an_answer_is_the_same_letter_in_a_format_of_letters(source: Path, file: str, to: str) -> None:
    export(source, file, to)
    answers = [made.answer for made in read(source)]
    assert set(answers) <= set("ABCD")
    assert [made.answer for made in read(file, to)] == answers


@pytest.mark.parametrize("to", ["vmcq", "openai_messages"])
def test_a_field_of_the_source_does_not_take_the_place_of_the_id(to: str) -> None:
    picked = {"question": "Which?", "A": "a", "B": "b", "answer": "A", "image": b64encode(make_image(1)).decode()}
    source = table("lmu.tsv", {"index": "12", "id": "dev_X", **picked}, {"index": "13", "id": "dev_X", **picked})
    assert {("12", "id", OTHER_USE), ("13", "id", OTHER_USE)} <= export(source, "back.jsonl", to)
    assert [made.id for made in read("back.jsonl", to)] == ["12", "13"]


@pytest.mark.parametrize(
    ("to", "field", "value"),
    [
        ("mmtrust", "pred", 5),
        ("mmtrust", "label", "other"),
        ("mmmu_pro_outputs", "subject", "other"),
        ("reform_predictions", "prediction", 5),
        ("vlmevalkit_predictions", "index", "other"),
    ],
)
def test_a_field_of_the_source_does_not_replace_one_of_the_format(to: str, field: str, value: object) -> None:
    row = {"id": "a", "question": "Which?", "options": ["x", "y"], "answer": "B", "prediction": "B", "category": "own"}
    source = jsonl("p.jsonl", {**row, "extra": json.dumps({field: value})})
    file = "back.json" if to in ("mmtrust", "reform_predictions") else "m_vision_direct.jsonl"
    assert ("a", field, OTHER_USE) in export(source, file, to)
    (written,) = rows_of(file)
    assert written.get(field) != value


NUMBERED = ["q000000000", "000000001", "000000009"]
"""Ids that end like a row's number, are it, and are another row's."""


@pytest.mark.parametrize("to", ["vmcq", "openai_messages"])
def test_an_id_is_written_unless_it_is_the_number_of_the_row(to: str) -> None:
    asked = {"question": "Which?", "options": ["x", "y"], "answer": "A"}
    rows = [asked if to == "vmcq" else chat("Which?")] * len(NUMBERED)
    source = jsonl("ids.jsonl", *({**row, "id": key} for row, key in zip(rows, NUMBERED, strict=True)))
    export(source, "back.jsonl", to)
    assert [row.get("id") for row in rows_of("back.jsonl")] == ["q000000000", None, "000000009"]
    assert [made.id for made in read("back.jsonl", to)] == NUMBERED


@pytest.mark.parametrize("to", ["pope", "mmtrust"])
def test_an_id_that_a_format_cannot_say_is_a_loss_unless_it_is_the_number_of_the_row(to: str) -> None:
    source = jsonl("ids.jsonl", *(chat("Which?", id=key, answer="yes") for key in NUMBERED))
    losses = fields_lost(export(source, "back.json", to))
    assert {key for key, field in losses if field == "id"} == {"q000000000", "000000009"}


@pytest.mark.parametrize("to", ["sharegpt", "llava"])
def test_a_training_file_has_each_id_but_the_number_of_the_row(to: str) -> None:
    export(jsonl("ids.jsonl", *(chat("Which?", id=key) for key in NUMBERED)), "back.json", to)
    assert [row.get("id") for row in rows_of("back.json")] == ["q000000000", None, "000000009"]


@pytest.mark.parametrize("to", ["openai_messages", "sharegpt", "llava"])
def test_ids_of_rows_after_a_refused_one_are_written(to: str) -> None:
    source = jsonl("rows.jsonl", chat("0"), chat("1", answer={}), chat("2"))
    file = "back.jsonl" if to == "openai_messages" else "back.json"
    ended = mmconvert("export", source, "-o", file, "--to", to, "--json")
    assert (ended.code, json.loads(ended.out)["rows_rejected"]) == (3, 1)
    assert [row.get("id") for row in rows_of(file)] == [None, "000000002"]


@pytest.mark.parametrize("to", ["pope", "mmtrust"])
def test_ids_of_rows_after_a_refused_one_are_named_where_a_format_cannot_say_them(to: str) -> None:
    source = jsonl("rows.jsonl", chat("0", answer="yes"), chat("1", answer={}), chat("2", answer="yes"))
    losses = fields_lost(export(source, "back.json", to))
    assert [key for key, field in losses if field == "id"] == ["000000002"]


@pytest.mark.parametrize("to", ["sharegpt", "llava"])
def test_ids_of_rows_after_one_left_out_are_written(to: str) -> None:
    content = [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]
    remote = {"messages": [{"role": "user", "content": content}], "answer": "x"}
    export(jsonl("rows.jsonl", remote, chat("1")), "back.json", to)
    assert [row.get("id") for row in rows_of("back.json")] == ["000000001"]


@pytest.mark.parametrize("to", ["openai_messages", "sharegpt", "pope", "mmtrust"])
def test_ids_of_a_second_file_are_written_or_named(to: str) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        jsonl(name, chat(name, answer="yes"))
    assert mmconvert("convert", "a.jsonl", "b.jsonl", "-o", "ds", "--quiet").code == 0
    first, second = (made.id for made in read("ds"))
    file = "back.jsonl" if to == "openai_messages" else "back.json"
    losses = fields_lost(export("ds", file, to))
    if to in ("pope", "mmtrust"):
        assert {(first, "id"), (second, "id")} <= losses
    else:
        assert [row.get("id") for row in rows_of(file)] == [first, second]


def test_options_written_anew_are_the_ones_that_are_exported() -> None:
    row = {"id": "a", "question": "is it red", "options": '["yes it is", "no"]', "answer": "A"}
    source = jsonl("o.jsonl", row)
    assert mmconvert("convert", source, "-o", "ds", "--transform", "capitalize", "--quiet").code == 0
    export("ds", "back.jsonl", "vmcq")
    (made,) = read("ds")
    assert made.options == ("Yes it is", "No")
    assert [back.options for back in read("back.jsonl", "vmcq")] == [made.options]


def test_a_log_leaves_out_a_row_without_an_answer_of_the_model() -> None:
    answered = [replace(record(number), prediction="x") for number in (1, 3)]
    write_dataset(Path("ds"), {"test": [answered[0], record(2), answered[1]]})
    ended = mmconvert("export", "ds", "-o", "back.json", "--to", "mmtrust")
    assert (ended.code, ended.out) == (3, "back.json: 2 rows as mmtrust\n")
    assert "row 2 prediction: there is none; the row is left out" in ended.err
    assert [back.prediction for back in read("back.json", "mmtrust")] == ["x", "x"]


def test_an_empty_answer_is_lost_in_a_cell_and_kept_in_a_list_of_rows() -> None:
    source = jsonl("e.jsonl", chat("Which?", id="e", answer=""), chat("Which?", id="f"))
    assert fields_lost(export(source, "back.tsv", "openai_messages")) == {("e", "answer")}
    assert export(source, "back.jsonl", "openai_messages") == set()
    assert [made.answer for made in read("back.jsonl")] == ["", "x"]


def test_an_item_of_reform_eval_has_a_text_for_an_answer() -> None:
    asked = [{"type": "image_url", "image_url": {"url": "a.png"}}, {"type": "text", "text": "How many?"}]
    Path("a.png").write_bytes(make_image(1))
    messages = [{"role": "user", "content": asked}]
    source = jsonl("u.jsonl", {"messages": messages, "id": "a"}, {"messages": messages, "id": "b", "answer": 5})
    ended = mmconvert("export", source, "-o", "back.json", "--to", "reform_eval")
    assert (ended.code, ended.out) == (3, "back.json: 1 rows as reform_eval\n")
    assert "row a answer: an item has an answer; the row is left out" in ended.err
    assert [item["answer"] for item in rows_of("back.json")] == ["5"]
    assert [(made.id, made.answer) for made in read("back.json", "reform_eval")] == [("b", "5")]


def test_a_further_field_called_like_a_column_of_predictions_is_named_as_lost() -> None:
    row = {"question": "Is there a cat in the image?", "answer": "yes", "source": "web", "split": "val", "note": 1}
    source = jsonl("m_coco_pope_random.json", row)
    losses = export(source, "back.jsonl", "predictions")
    assert losses == {("000000000", "source", OTHER_USE), ("000000000", "split", OTHER_USE)}
    (written,) = rows_of("back.jsonl")
    assert (written["note"], "source" in written, "split" in written) == (1, False, False)


@pytest.mark.parametrize(("words", "lost"), [(("See ", " here"), True), (("", "See here"), False)])
def test_an_image_inside_the_text_is_named_for_a_sample(words: tuple[str, str], lost: bool) -> None:
    Path("a.png").write_bytes(make_image(1))
    before, after = ([{"type": "text", "text": text}] if text else [] for text in words)
    content = [*before, {"type": "image_url", "image_url": {"url": "a.png"}}, *after]
    source = jsonl("i.jsonl", {"messages": [{"role": "user", "content": content}], "answer": "x"})
    assert (("000000000", "messages") in fields_lost(export(source, "back.json", "mmtrust"))) is lost


@pytest.mark.parametrize(
    ("to", "file"),
    [
        ("llava", "back.json"),
        ("qwen_vl", "back.jsonl"),
        ("sharegpt", "back.json"),
        ("sharegpt", "back.jsonl"),
        ("ms_swift", "back.jsonl"),
        ("trl", "back.jsonl"),
    ],
)
def test_a_field_of_the_source_is_not_read_as_an_image_a_prompt_or_turns(to: str, file: str) -> None:
    turns = tuple(Turn(role, (Part("text", role),)) for role in ("user", "assistant"))
    words = dict.fromkeys(("image", "images", "system", "videos", "conversations", "prompt"), "other")
    given = replace(record(1), messages=turns, images=(), extra={**words, "note": 7})
    losses = export(write_dataset(Path("ds"), {"test": [given]}), file, to)
    (back,) = read(file, to)
    assert (back.messages, back.images, back.extra["note"]) == (turns, (), 7)
    kept = [name for name in words if ("1", name, OTHER_USE) not in losses]
    assert {name: back.extra.get(name) for name in kept} == dict.fromkeys(kept, "other")


def test_an_image_that_only_a_column_holds_is_kept_beside_those_of_parts() -> None:
    shown, hidden = (f"data:image/png;base64,{b64encode(make_image(n)).decode()}" for n in (1, 2))
    part = {"type": "image_url", "image_url": {"url": shown}}
    source = jsonl("in.jsonl", {"messages": [{"role": "user", "content": [part]}], "image_1": hidden, "answer": "x"})
    (given,) = read(source, "openai_messages")
    assert [[image.bytes for image in images] for images in (given.images, given.attachments)] == [
        [make_image(1)],
        [make_image(2)],
    ]
    assert export(source, "back.jsonl", "openai_messages") == set()
    (back,) = read("back.jsonl", "openai_messages")
    assert (back.images, back.attachments) == (given.images, given.attachments)


def test_what_is_no_choice_is_left_out_of_visual_multiple_choice() -> None:
    choice = replace(record(1), question="Which?", options=("x", "y"), task="multiple_choice")
    turns = (Turn("user", (Part("text", " "),)),)
    blank = replace(choice, id="2", sample="2", question=" ", messages=turns, images=())
    write_dataset(Path("ds"), {"test": [record(0), choice, blank]})
    assert fields_lost(export("ds", "back.jsonl", "vmcq")) == {("0", "options"), ("2", "question")}
    assert [made.id for made in read("back.jsonl", "vmcq")] == ["1"]


def test_a_kits_json_with_a_column_of_a_question_file_is_recognised() -> None:
    row = {"id": "7", "question": "Which?", "answer": "A", "prediction": "A", "method": "generation"}
    export(jsonl("p.jsonl", row), "m_MMBench.json", "vlmevalkit_predictions")
    (back,) = read("m_MMBench.json")
    assert (back.source.format, back.id, back.prediction) == ("vlmevalkit_predictions", "7", "A")


def test_a_label_that_is_a_plain_text_is_the_reference() -> None:
    source = table("p.tsv", {"id": "1", "question": "What?", "prediction": "red", "label": "red fox"})
    export(source, "back.jsonl", "openai_messages")
    assert rows_of("back.jsonl")[0]["answer"] == "red fox"
    export(source, "own.jsonl", "predictions")
    assert [made.label for made in read("own.jsonl")] == ['"red fox"'] == [made.label for made in read(source)]


def test_a_blank_id_is_none(tmp_path: Path) -> None:
    (given,) = read(jsonl("in.jsonl", chat("Which?", id="  ")))
    assert given.id == "000000000"
    with pytest.raises(RowError, match="has no id"):
        check_record(replace(record(1), id=" "))


def test_an_item_without_an_image_is_left_out_of_reform_eval() -> None:
    choice = replace(record(1), question="Which?", options=("x", "y"), task="multiple_choice", answer="A")
    bare = replace(choice, id="2", sample="2", images=(), messages=(Turn("user", (Part("text", "Which?"),)),))
    write_dataset(Path("ds"), {"test": [choice, bare]})
    assert ("2", "images") in fields_lost(export("ds", "back.json", "reform_eval"))
    assert [made.sample for made in read("back.json", "reform_eval")] == ["1"]


def test_a_cell_holds_the_one_text_of_a_list_and_no_other_list() -> None:
    source = jsonl("in.jsonl", chat("a", id="one") | {"answer": ["red"]}, chat("b", id="none") | {"answer": []})
    assert fields_lost(export(source, "back.tsv", "openai_messages")) == {("none", "answers")}
    assert next(made.answers for made in read("back.tsv", "openai_messages")) == ("red",)


def test_an_index_of_an_option_is_written_as_the_letter_that_the_prompt_asks_for() -> None:
    choice = replace(record(1), question="Which?", options=("x", "y"), task="multiple_choice", answer="B", label="1")
    write_dataset(Path("ds"), {"test": [choice]})
    export("ds", "back.jsonl", "openai_messages")
    assert rows_of("back.jsonl")[0]["answer"] == "B"


def test_what_a_prompt_calls_options_is_not_said_of_another_formats_prompt() -> None:
    asked = {"question": "Which?", "options": ["x", "y"], "answer": "B"}
    steps = {"prompt": "reform_eval:alphabet_choice=number,response_prefix=The answer is"}
    mmconvert_api.convert(jsonl("in.jsonl", asked), "a", **steps)
    mmconvert_api.export("a", "back.jsonl", to="vmcq")
    assert "options_named" not in rows_of("back.jsonl")[0]
    mmconvert_api.convert("back.jsonl", "b", view="sft")
    (learned,) = read("b")
    assert [(turn.role, join_texts(turn)) for turn in learned.messages][1:] == [("assistant", "B. y")]
    mmconvert_api.export("a", "t.jsonl", to="trl")
    (trained,) = read("t.jsonl", "trl")
    assert join_texts(list_sft_turns(trained)[-1]) == "The answer is 2. y"


def test_choices_that_visual_multiple_choice_refuses_are_left_out() -> None:
    choice = replace(record(1), question="Which?", options=("x", "y"), task="multiple_choice", answer="B", label='"B"')
    several = replace(choice, id="2", sample="2", answer="AB", label='"AB"')
    many = replace(choice, id="3", sample="3", options=tuple(map(str, range(27))))
    write_dataset(Path("ds"), {"test": [choice, several, many]})
    losses = fields_lost(export("ds", "back.jsonl", "vmcq"))
    assert {("2", "answer"), ("3", "options")} <= losses
    assert [made.id for made in read("back.jsonl", "vmcq")] == ["1"]


def test_rows_without_turns_are_left_out_of_messages() -> None:
    source = table("p.tsv", {"id": "1", "prediction": "red", "answer": "red"})
    assert ("1", "messages") in fields_lost(export(source, "back.jsonl", "openai_messages"))
    assert rows_of("back.jsonl") == []


def test_a_shard_of_the_dataset_is_not_replaced() -> None:
    (shard,) = (write_dataset(Path("ds"), {"test": [record(1)]}) / "data").iterdir()
    with pytest.raises(UsageError, match="lies in the dataset that is read"):
        mmconvert_api.export("ds", shard, to="trl")
