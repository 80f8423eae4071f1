import pytest
from hypothesis import assume, given

from mmconvert.errors import RowError
from mmconvert.record import Image, Part, Record, Source, Turn, to_arrow
from mmconvert.rewording import last_user_turn, reworded, suffixed
from mmconvert.wording import Wording
from support.records import records


def _text(text):
    return Part("text", text)


TURNS = (
    Turn("system", (_text("Be brief."),)),
    Turn("user", (Part("image"), _text("First?"))),
    Turn("assistant", (_text("Yes."),)),
    Turn("user", (_text("Then "), Part("image"))),
)
RECORD = Record(
    "1",
    "1",
    TURNS,
    "chat",
    Source("f", "f", 0),
    images=(Image(b"a", 1), Image(b"b", 2)),
    attachments=(Image(b"c", 3),),
)


def test_only_the_last_user_turn_changes():
    new = reworded(RECORD, Wording((Part("image"), _text("New?"), Part("image")), (3, 2)))
    assert new.messages == (*TURNS[:3], Turn("user", (Part("image"), _text("New?"), Part("image"))))
    assert [image.bytes for image in new.images] == [b"a", b"c", b"b"]
    assert new.attachments == ()


def test_a_picture_that_is_no_longer_shown_is_kept():
    new = reworded(RECORD, Wording((_text("New?"),)))
    assert [image.bytes for image in new.images] == [b"a"]
    assert [image.bytes for image in new.attachments] == [b"c", b"b"]


def test_a_picture_may_be_shown_twice():
    new = reworded(RECORD, Wording((Part("image"), Part("image")), (2, 2)))
    assert [image.slot for image in new.images] == [1, 2, 2]


def test_a_picture_that_is_not_there_is_refused():
    with pytest.raises(RowError, match="picture 7"):
        reworded(RECORD, Wording((Part("image"),), (7,)))


def test_turns_behind_the_last_question_stay():
    trained = Record("1", "1", TURNS[:3], "chat", Source("f", "f", 0), images=(Image(b"a", 1),))
    assert reworded(trained, Wording((_text("New?"),))).messages == (TURNS[0], Turn("user", (_text("New?"),)), TURNS[2])


def test_a_suffix_follows_the_text_or_the_picture():
    assert suffixed(RECORD, "!").messages[3].content == (_text("Then "), Part("image"), _text("!"))
    ended = reworded(RECORD, Wording((_text("New?"),)))
    assert suffixed(ended, "!").messages[3].content == (_text("New?!"),)


def test_nobody_asks():
    silent = Record("1", "1", TURNS[:1], "chat", Source("f", "f", 0))
    for change in (lambda: suffixed(silent, "!"), lambda: reworded(silent, Wording(()))):
        with pytest.raises(RowError):
            change()


@given(records())
def test_the_same_wording_changes_no_message(record):
    assume(any(turn.role == "user" for turn in record.messages))
    place, images = last_user_turn(record)
    slots = [image.slot for image in images]
    assume(
        len({(image.slot, image.sha256) for image in (*images, *record.attachments)})
        == len({*slots, *(i.slot for i in record.attachments)})
    )
    new = reworded(record, Wording(record.messages[place].content, tuple(slots)))
    assert (new.messages, new.images) == (record.messages, record.images)
    to_arrow([new])
