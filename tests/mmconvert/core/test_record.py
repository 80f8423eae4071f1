"""The crossing to Arrow and back loses nothing."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from mmconvert.core.record import SCHEMA, Part, Record, Source, Turn, canonical_json, from_arrow, prompt_text, to_arrow
from support.records import records


@settings(deadline=None, max_examples=80)
@given(st.lists(records(), max_size=4))
def test_records_come_back_from_arrow_as_they_were(originals: list[Record]) -> None:
    batch = to_arrow(originals)
    batch.validate(full=True)
    assert batch.schema.equals(SCHEMA, check_metadata=True)
    assert list(from_arrow(batch)) == originals


def test_pictures_may_be_missing_as_in_a_predictions_file() -> None:
    record = Record("1", "1", (Turn("user", (Part("text", "q"),)),), "vqa", Source("f", "f", 0), prediction="")
    batch = to_arrow([record]).drop_columns(["images", "image_info", "attachments"])
    assert list(from_arrow(batch)) == [record]


def test_image_parts_hold_an_empty_text_and_never_null() -> None:
    # With null, chat templates of the Qwen family print the word "None".
    record = Record("1", "1", (Turn("user", (Part("image"), Part("text", "q"))),), "vqa", Source("f", "f", 0))
    (message,) = to_arrow([record]).column("messages").to_pylist()[0]
    assert message["content"] == [{"type": "image", "text": ""}, {"type": "text", "text": "q"}]


def test_integers_of_any_size_survive_in_json() -> None:
    assert canonical_json([2**70, "ü"]) == f'[{2**70},"ü"]'


def test_null_columns_keep_their_type() -> None:
    record = Record("1", "1", (), "vqa", Source("f", "f", 0))
    batch = to_arrow([record])
    assert not any(pa.types.is_null(field.type) for field in batch.schema)
    assert batch.column("images").to_pylist() == [[]]


def test_prompt_text_is_the_last_user_turn() -> None:
    turns = (Turn("user", (Part("text", "old"),)), Turn("assistant", (Part("text", "a"),)))
    last = Turn("user", (Part("text", "see "), Part("image")))
    assert prompt_text(Record("1", "1", (*turns, last), "vqa", Source("f", "f", 0))) == "see <image>"
