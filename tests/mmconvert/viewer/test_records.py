"""Records as items: every image matched to its part, every text there."""

from hypothesis import given

from mmconvert.core.record import Part, Preference, Record, Source, Turn, list_turns
from mmconvert.viewer.items import Text
from mmconvert.viewer.records import build_item, link_images
from mmconvert.viewer.thumbnails import Thumbnails
from support.records import checked, records


@given(records(pairs=True))
def test_messages_show_each_image_in_its_place(record: Record) -> None:
    item = build_item(record, Thumbnails(4))
    parts = [part for message in item.messages for part in message.parts]
    assert [part for part in parts if isinstance(part, int)] == list(range(len(record.images)))
    assert [part for part in parts if isinstance(part, str)] == [
        part.text for turn in list_turns(record) for part in turn.content if part.type == "text"
    ]
    assert len(item.images) == len(record.images) + len(record.attachments)
    assert [item.images[n].slot for n in item.others] == [None] * len(record.attachments)


def test_a_placeholder_stands_for_the_first_image_of_its_number() -> None:
    images = (checked("PNG", 1, 2), checked("PNG", 2, 1), checked("PNG", 1, 2))
    text = link_images("a <image 2> b <image_1> c <image 7>", images)
    assert isinstance(text, Text)
    assert [(text.text[s.start : s.end], s.image) for s in text.spans] == [
        ("<image 2>", 0),
        ("<image_1>", 1),
        ("<image 7>", None),
    ]


def test_right_options_are_told_and_gaps_left_out() -> None:
    record = Record("1", "1", (Turn("user", (Part("text", "?"),)),), "multiple_choice", Source("f", "f", 0))
    fields = build_item(
        Record(
            **{name: getattr(record, name) for name in ("id", "sample", "messages", "task", "source")},
            options=("x", None, "", "y"),
            answer="AC",
        ),
        Thumbnails(0),
    ).fields
    assert [(option.name, option.text, option.tone) for option in fields["Options"]] == [
        ("A", "x", "good"),
        ("C", "", "good"),
        ("D", "y", ""),
    ]
    unlabelled = build_item(record, Thumbnails(0))
    assert unlabelled.fields["Answer"] == []
    assert set(unlabelled.marks) == {"no image", "no answer"}


def test_both_sides_of_a_pair_are_shown_with_what_is_known_of_them() -> None:
    def turn(role: str, text: str) -> Turn:
        return Turn(role, (Part("text", text),))

    pair = Preference((turn("assistant", "Red."),), (turn("assistant", "Blue."),), margin=0.5, rejected_images=(0,))
    shown = Turn("user", (Part("image"), Part("text", "Which?")))
    one, other = checked("PNG", 1, 1), checked("PNG", 2, 2)
    record = Record("1", "1", (shown,), "chat", Source("f", "f", 0), (one,), attachments=(other,), preference=pair)
    item = build_item(record, Thumbnails(4))
    assert [(message.role, message.parts) for message in item.messages] == [
        ("user", (0, "Which?")),
        ("assistant (chosen)", ("Red.",)),
        ("assistant (rejected)", ("Blue.",)),
    ]
    assert (item.fields["Margin"], item.fields["Images of rejected"]) == ("0.5", "attachment 1")
    assert "Score of chosen" not in item.fields
    assert "pair" in item.marks
    assert "no answer" not in item.marks
