"""Every protocol: what it says of itself, and what it does with any row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mmconvert.core.errors import RowError
from mmconvert.core.record import Part, Record, Turn
from mmconvert.plugins.registry import find_plugins
from mmscore.infer.protocol import GROUP, Before, Reply, open_protocol
from support.questions import make_image, record
from support.records import TEXT, records

PROTOCOLS = list(find_plugins(GROUP))
REPLIES = st.builds(Reply, st.lists(TEXT, max_size=3).map(tuple), st.sampled_from(["(A)", "(9)", "B", ""]) | TEXT)
ROUNDS = st.lists(st.lists(REPLIES, min_size=1, max_size=3).map(tuple), max_size=3).map(tuple)


def row(rounds: int) -> Record:
    """A round of a dialog that shows its image first and knows its history."""
    first = record(0, make_image("red"), "Q 0")
    texts = [word for number in range(rounds) for word in (f"A {number}", f"Q {number + 1}")]
    spoken = (Turn("user" if number % 2 else "assistant", (Part("text", text),)) for number, text in enumerate(texts))
    history = [{"question": f"Q {k}", "answer_options": ["x", "y"], "answer": 0} for k in range(rounds)]
    messages = (*first.messages, *spoken)
    return replace(first, messages=messages, group="g", round=rounds, extra={"history": history})


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_says_what_it_is(name: str) -> None:
    playing = open_protocol(name)
    assert playing.protocol.summary
    assert find_plugins(GROUP)[name].read_summary()
    assert not any(isinstance(default, type) for default in playing.parameters.values())


@pytest.mark.parametrize("name", PROTOCOLS)
@given(record=records())
def test_a_row_of_no_dialog_stays_as_it_is_or_is_refused_by_field(name: str, record: Record) -> None:
    playing = open_protocol(name)
    refused = None
    try:
        assert playing.protocol.history(record, Before((), chosen=False), playing.parameters) == record.messages
    except RowError as error:
        refused = error
    assert refused is None or refused.field


@pytest.mark.parametrize("name", PROTOCOLS)
@given(rounds=ROUNDS, chosen=st.booleans())
def test_whatever_was_said_goes_between_the_questions(name: str, rounds: tuple, chosen: bool) -> None:
    playing, asked = open_protocol(name), row(len(rounds))
    messages = playing.protocol.history(asked, Before(rounds, chosen), playing.parameters)
    assert messages[-1] == asked.messages[-1]
    assert [turn.role for turn in messages] == [turn.role for turn in asked.messages]
    assert [[part.type for part in turn.content] for turn in messages] == [
        [part.type for part in turn.content] for turn in asked.messages
    ]


@pytest.mark.parametrize("name", PROTOCOLS)
@given(rounds=ROUNDS.filter(bool), place=st.integers(0, 9), empty=st.booleans())
def test_a_round_that_lacks_a_reply_refuses_the_row(name: str, rounds: tuple, place: int, empty: bool) -> None:
    playing, number = open_protocol(name), place % len(rounds)
    lacking = () if empty else tuple(replace(reply, text=None) for reply in rounds[number])
    rounds = (*rounds[:number], lacking, *rounds[number + 1 :])
    with pytest.raises(RowError, match=f"round {number} of the conversation has no response"):
        playing.protocol.history(row(len(rounds)), Before(rounds, chosen=False), playing.parameters)
