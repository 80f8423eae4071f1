"""The crossing to Arrow and back loses nothing."""

import datetime
import json
from decimal import Decimal
from enum import StrEnum

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mmconvert.core.errors import RowError
from mmconvert.core.record import (
    SCHEMA,
    Image,
    Part,
    Preference,
    Record,
    Source,
    Turn,
    encode_json,
    estimate_memory,
    from_arrow,
    join_prompt_text,
    keep_chosen,
    remove_preference,
    to_arrow,
)
from mmconvert.core.validation import check_record
from support.records import records


@given(st.lists(records(pairs=True), max_size=4))
def test_records_come_back_from_arrow_as_they_were(originals: list[Record]) -> None:
    batch = to_arrow(originals)
    batch.validate(full=True)
    assert batch.schema.equals(SCHEMA, check_metadata=True)
    assert list(from_arrow(batch)) == originals


def test_images_may_be_missing_as_in_a_predictions_file() -> None:
    record = Record("1", "1", (Turn("user", (Part("text", "q"),)),), "vqa", Source("f", "f", 0), prediction="")
    batch = to_arrow([record]).drop_columns(["images", "image_info", "attachments"])
    assert list(from_arrow(batch)) == [record]


def test_image_parts_hold_an_empty_text_and_never_null() -> None:
    # With null, chat templates of the Qwen family print the word "None".
    record = Record("1", "1", (Turn("user", (Part("image"), Part("text", "q"))),), "vqa", Source("f", "f", 0))
    (message,) = to_arrow([record]).column("messages").to_pylist()[0]
    assert message["content"] == [{"type": "image", "text": ""}, {"type": "text", "text": "q"}]


def test_images_of_a_pair_follow_those_of_its_prompt() -> None:
    def turn(role: str) -> Turn:
        return Turn(role, (Part("image"), Part("text", role)))

    pair = Preference((turn("assistant"),), (turn("assistant"),), margin=0.5, rejected_images=(0,))
    images = tuple(Image(name.encode(), slot) for slot, name in enumerate("abc", 1))
    record = Record(
        "1", "1", (turn("user"),), "chat", Source("f", "f", 0), images, attachments=(Image(b"o", 4),), preference=pair
    )
    assert check_record(record) is record
    assert next(from_arrow(to_arrow([record]))) == record
    assert remove_preference(record) == replace(record, preference=None, images=images[:1])
    both = (*record.messages, *pair.chosen)
    assert keep_chosen(record) == replace(record, preference=None, messages=both, images=images[:2])
    assert keep_chosen(GOOD) is GOOD
    assert remove_preference(GOOD) is GOOD
    assert estimate_memory(record) == estimate_memory(replace(record, preference=None)) + 2 * len("assistant")


@pytest.mark.parametrize("places", [(1,), (-1,), (True,), (0, 0)])
def test_images_of_the_rejected_side_are_attached(places: tuple[int, ...]) -> None:
    shown = Turn("user", (Part("image"),))
    pair = Preference((REPLY,), (REPLY,), rejected_images=places)
    record = replace(GOOD, messages=(shown,), images=(Image(b"a", 1),), attachments=(Image(b"b", 2),), preference=pair)
    with pytest.raises(RowError) as caught:
        check_record(record)
    assert caught.value.code == "preference.images"


def test_a_column_of_pairs_is_null_where_there_is_none() -> None:
    pair = Preference((REPLY,), (REPLY,), score_chosen=2)
    batch = to_arrow([GOOD, replace(GOOD, preference=pair), GOOD])
    batch.validate(full=True)
    assert batch["preference"].is_valid().to_pylist() == [False, True, False]
    assert batch["preference"][1].as_py()["score_chosen"] == 2.0
    assert to_arrow([GOOD])["preference"].null_count == 1


def test_integers_of_any_size_survive_in_json() -> None:
    assert encode_json([2**70, "ü"]) == f'[{2**70},"ü"]'


def test_null_columns_keep_their_type() -> None:
    record = Record("1", "1", (), "vqa", Source("f", "f", 0))
    batch = to_arrow([record])
    assert not any(pa.types.is_null(field.type) for field in batch.schema)
    assert batch.column("images").to_pylist() == [[]]


def test_prompt_text_is_the_last_user_turn() -> None:
    turns = (Turn("user", (Part("text", "old"),)), Turn("assistant", (Part("text", "a"),)))
    last = Turn("user", (Part("text", "see "), Part("image")))
    assert join_prompt_text(Record("1", "1", (*turns, last), "vqa", Source("f", "f", 0))) == "see <image>"


REPLY = Turn("assistant", (Part("text", "r"),))
GOOD = Record("1", "1", (Turn("user", (Part("text", "q"),)),), "vqa", Source("f", "f.jsonl", 0))


@given(records(pairs=True))
def test_what_the_schema_allows_passes(record: Record) -> None:
    assert check_record(record) is record


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("id", None, "id.type"),
        ("sample", 7, "sample.type"),
        ("task", None, "task.type"),
        ("question", 7, "question.type"),
        ("question", ["a"], "question.type"),
        ("hint", b"bytes", "hint.type"),
        ("category", "\ud800", "text.surrogate"),
        ("label", {"a": 1}, "label.type"),
        ("prediction", 0.5, "prediction.type"),
        ("variant", 2**31, "variant.type"),
        ("round", True, "round.type"),
        ("options", ("a", 2), "options.type"),
        ("answers", (None,), "answers.type"),
        ("messages", (Turn("user", (Part("text", None),)),), "messages.type"),
        ("messages", (Turn(None, ()),), "messages.type"),
        ("messages", (Turn("user", (Part("image"),)),), "messages.images"),
        ("messages", (Turn("user", (Part("picture"),)),), "messages.part"),
        ("source", Source("f", "f", None), "source.type"),
        ("source", Source("f", None, 0), "source.type"),
        ("attachments", (Image(b"", 2**40),), "image.type"),
        ("attachments", (Image(b"", None),), "image.type"),
        ("attachments", (Image(b"", 1, name=5),), "image.type"),
        ("source", Source("f", "f", 0, "yes"), "source.type"),
        ("attachments", (Image(b"", 1, source_name=5),), "image.type"),
        ("attachments", (Image(b"", 1, time="1"),), "image.type"),
        ("attachments", (Image(b"", 1, time=-1.0),), "image.type"),
        ("attachments", (Image(b"", 1, time=float("nan")),), "image.type"),
        ("preference", "chosen", "preference.type"),
        ("preference", Preference((), (REPLY,)), "preference.missing"),
        ("preference", Preference((REPLY,), ()), "preference.missing"),
        ("preference", Preference((REPLY,), (Turn(None, ()),)), "rejected.type"),
        ("preference", Preference((Turn("assistant", (Part("text", 1),)),), (REPLY,)), "chosen.type"),
        ("preference", Preference((Turn("assistant", (Part("video"),)),), (REPLY,)), "messages.part"),
        ("preference", Preference((Turn("assistant", (Part("image"),)),), (REPLY,)), "messages.images"),
        ("preference", Preference((REPLY,), (REPLY,), margin="1"), "preference.type"),
        ("preference", Preference((REPLY,), (REPLY,), score_chosen=float("inf")), "preference.type"),
        ("preference", Preference((REPLY,), (REPLY,), score_rejected=True), "preference.type"),
        ("preference", Preference((REPLY,), (REPLY,), rejected_images=(0,)), "preference.images"),
        ("extra", {"a": 1, "blob": object()}, "extra.type"),
        ("extra", {"a": "\ud800"}, "extra.type"),
    ],
)
def test_what_arrow_cannot_take_is_named(field: str, value: object, code: str) -> None:
    with pytest.raises(RowError) as caught:
        check_record(replace(GOOD, **{field: value}))
    assert caught.value.code == code


def test_a_value_of_extra_is_named_by_its_field() -> None:
    with pytest.raises(RowError) as caught:
        check_record(replace(GOOD, extra={"fine": 1, "blob": object()}))
    assert caught.value.field == "blob"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("1.50"), "1.50"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (datetime.time(1, 2, 3), "01:02:03"),
        (datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC), "2026-01-02T00:00:00+00:00"),
        (datetime.timedelta(seconds=90), "0:01:30"),
        (b"hi", "aGk="),
        ([{"deep": Decimal("2")}, (b"", float("nan"))], [{"deep": "2"}, ["", None]]),
        ([datetime.date(2026, 1, 2), 1 << 70], ["2026-01-02", 1 << 70]),
    ],
)
def test_a_value_that_json_does_not_know_becomes_text(value: object, text: object) -> None:
    record = check_record(replace(GOOD, extra={"fine": 1, "odd": value}))
    assert json.loads(to_arrow([record])["extra"][0].as_py()) == {"fine": 1, "odd": text}


def test_a_kind_of_text_is_a_text() -> None:
    task = StrEnum("Task", {"VQA": "vqa"}).VQA
    assert to_arrow([check_record(replace(GOOD, task=task, question=task))])["question"].to_pylist() == ["vqa"]
    with pytest.raises(RowError, match="half a character"):
        check_record(replace(GOOD, task=task, question="\ud800"))


def test_texts_that_take_too_much_refuse_their_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmconvert.core.validation.MOST_TEXT_BYTES", 1000)
    where = Source("f", "f.jsonl", 0)
    good = Record("1", "1", (), "vqa", where, prediction="x" * 800, extra={"a": "y" * 900})
    assert check_record(good) is good
    for fields in ({"prediction": "x" * 1000}, {"question": "\U0001f600" + "x" * 250}, {"extra": {"a": "y" * 1000}}):
        with pytest.raises(RowError, match=r"the row's texts take 1,[0-9]+ bytes, over the limit of") as refused:
            check_record(Record("1", "1", (), "vqa", where, **fields))
        assert refused.value.code == "text.too_large"


def test_all_that_is_written_of_a_record_is_weighed() -> None:
    where = Source("f", "f.jsonl", 0)
    deep: list = []
    for _ in range(5000):
        deep = [deep, "x"]
    record = Record(
        "1", "1", (), "vqa", where, prediction="x" * 100, options=("y" * 10,), extra={"a": ["z" * 30, deep]}
    )
    assert estimate_memory(record) >= 100 + 10 + 30 + 5000
