"""Plain conversations as columns and as records: two ways to the same."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.plain_chats import PlainImageLine, PlainLine, PlainSource, PlainTurn, build_batch, build_chats
from mmconvert.core.record import Image, estimate_memory, estimate_weight, to_arrow
from mmconvert.core.text.placeholders import format_turn

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TURNS = st.builds(PlainTurn, st.sampled_from(["system", "user", "assistant"]), TEXTS)
UNSET_OR_TEXT = st.one_of(st.just(msgspec.UNSET), TEXTS)
PLAIN = (st.lists(TURNS, min_size=1, max_size=4), UNSET_OR_TEXT, UNSET_OR_TEXT)
LINES = st.one_of(st.builds(PlainLine, *PLAIN), st.builds(PlainImageLine, *PLAIN, TEXTS))
SOURCES = st.builds(PlainSource, TEXTS, TEXTS, *[st.one_of(st.none(), TEXTS)] * 3, TEXTS, st.booleans())


@given(st.lists(LINES, min_size=1, max_size=5), st.integers(0, 9), SOURCES)
def test_columns_and_sizes_are_those_of_the_records(lines, first_row, source):
    chats = build_chats(lines, first_row, source, load)
    records = [chat.to_record() for chat in chats]
    expected, found = to_arrow(records), build_batch(chats)
    assert found.equals(expected, check_metadata=True)
    # Row groups end by the bytes of their columns.
    assert found.nbytes == expected.nbytes
    assert build_batch([chats[0], *records[1:]]).equals(expected)
    assert [(chat.weight, chat.memory) for chat in chats] == [
        (estimate_weight(record), estimate_memory(record)) for record in records
    ]
    asked = [[turn for turn in record.messages if turn.role == "user"] for record in records]
    assert [record.question for record in records] == [
        format_turn(turns[-1], record.images if turns[-1] is record.messages[0] else ()) if turns else None
        for turns, record in zip(asked, records, strict=True)
    ]
    assert [record.source.row for record in records] == [*range(first_row, first_row + len(lines))]


def load(path: str) -> Image:
    return Image(path.encode(), 1, path, "0" * 64, "PNG", 3, 2)


@given(st.lists(LINES, min_size=1, max_size=5), st.integers(0, 4))
def test_conversations_end_in_front_of_an_image_that_is_not_given(lines, most):
    given = iter(range(most))
    chats = build_chats(
        lines, 0, PlainSource("f", "f"), lambda path: load(path) if next(given, None) is not None else None
    )
    shown = [number for number, line in enumerate(lines) if isinstance(line, PlainImageLine)]
    assert len(chats) == (shown[most] if most < len(shown) else len(lines))
