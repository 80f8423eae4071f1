import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mmconvert.core.errors import RowError
from mmconvert.core.record import Image, Part, Record, Source, Turn
from mmconvert.core.text.prompt_parts import Wording, put_images_first
from mmconvert.core.text.turns import (
    append_suffix,
    build_plain_prompt_parts,
    join_texts,
    list_last_turn_images,
    replace_prompt,
)
from support.records import records

IMAGES = [Image(bytes([n]), n) for n in range(5)]
TURNS = (
    Turn("user", (Part("image"), Part("text", "First?"))),
    Turn("assistant", (Part("text", "Yes."),)),
    Turn("user", (Part("image"), Part("text", "Second?"), Part("image"))),
    Turn("assistant", (Part("image"),)),
)
DIALOG = Record("1", "1", TURNS, "vqa", Source("f", "f", 0), images=(*IMAGES[1:4], IMAGES[1]), attachments=(IMAGES[4],))


def test_only_the_last_user_turn_changes() -> None:
    assert list_last_turn_images(DIALOG) == (IMAGES[2], IMAGES[3])
    changed = replace_prompt(DIALOG, Wording((Part("text", "New "), Part("image")), (4,)))
    assert [join_texts(turn) for turn in changed.messages] == ["First?", "Yes.", "New ", ""]
    assert changed.images == (IMAGES[1], IMAGES[4], IMAGES[1])
    assert changed.attachments == (IMAGES[2], IMAGES[3])


def test_an_image_that_the_record_has_not_is_refused() -> None:
    with pytest.raises(RowError, match="image 9"):
        replace_prompt(DIALOG, put_images_first("x", (9,)))


def test_a_record_without_turns_gets_one() -> None:
    bare = replace(DIALOG, messages=(), images=(), attachments=(IMAGES[1],))
    changed = replace_prompt(bare, put_images_first("x", (1,)))
    assert (changed.images, changed.attachments, len(changed.messages)) == ((IMAGES[1],), (), 1)


def test_a_suffix_follows_the_text_or_the_image_of_the_last_user_turn() -> None:
    assert append_suffix(DIALOG, "!").messages == (
        *TURNS[:2],
        Turn("user", (*TURNS[2].content, Part("text", "!"))),
        TURNS[3],
    )
    assert [
        join_texts(turn)
        for turn in append_suffix(replace_prompt(DIALOG, Wording((Part("text", "New"),))), "!").messages
    ] == [
        "First?",
        "Yes.",
        "New!",
        "",
    ]
    assert append_suffix(replace(DIALOG, messages=()), "!").messages == (Turn("user", (Part("text", "!"),)),)


@given(records())
def test_a_turn_keeps_one_part_for_each_image(record: Record) -> None:
    changed = replace_prompt(record, build_plain_prompt_parts(record))
    parts = [part for turn in changed.messages for part in turn.content]
    assert sum(part.type == "image" for part in parts) == len(changed.images)
    assert {i.slot for i in (*changed.images, *changed.attachments)} == {
        i.slot for i in (*record.images, *record.attachments)
    }
    assert replace_prompt(changed, build_plain_prompt_parts(changed)) == changed


@given(st.lists(st.sampled_from(["<image 1>", "<image 2>", "text", "<image 9>"]), max_size=6))
def test_plain_words_show_a_named_image_where_its_name_stands(pieces: list[str]) -> None:
    turn = Turn("user", (Part("image"), Part("image")))
    record = Record(
        "1", "1", (turn,), "vqa", Source("f", "f", 0), images=(IMAGES[1], IMAGES[2]), question="".join(pieces)
    )
    wording = build_plain_prompt_parts(record)
    named = [int(piece[7]) for piece in pieces if piece in ("<image 1>", "<image 2>")]
    assert list(wording.slots) == [slot for slot in (1, 2) if slot not in named] + named
