"""Plain conversations as columns and as records: two ways to the same."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.plain_chats import PlainLine, PlainSource, PlainTurn, build_batch, build_chats
from mmconvert.core.record import estimate_memory, estimate_weight, to_arrow

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TURNS = st.builds(PlainTurn, st.sampled_from(["system", "user", "assistant"]), TEXTS)
UNSET_OR_TEXT = st.one_of(st.just(msgspec.UNSET), TEXTS)
LINES = st.builds(PlainLine, st.lists(TURNS, min_size=1, max_size=4), UNSET_OR_TEXT, UNSET_OR_TEXT)
SOURCES = st.builds(PlainSource, TEXTS, TEXTS, *[st.one_of(st.none(), TEXTS)] * 3, TEXTS, st.booleans())


@given(st.lists(LINES, min_size=1, max_size=5), st.integers(0, 9), SOURCES)
def test_columns_and_sizes_are_those_of_the_records(lines, first_row, source):
    chats = build_chats(lines, first_row, source)
    records = [chat.to_record() for chat in chats]
    expected, found = to_arrow(records), build_batch(chats)
    assert found.equals(expected, check_metadata=True)
    # Row groups end by the bytes of their columns.
    assert found.nbytes == expected.nbytes
    assert build_batch([chats[0], *records[1:]]).equals(expected)
    assert [(chat.weight, chat.memory) for chat in chats] == [
        (estimate_weight(record), estimate_memory(record)) for record in records
    ]
    assert [record.source.row for record in records] == [*range(first_row, first_row + len(lines))]
