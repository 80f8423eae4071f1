"""Rounds of conversations where several processes share them."""

from msgspec.structs import replace

from mmconvert.core.record import Part, Record, Turn, to_arrow
from mmscore.infer.conversations import RunConversations
from mmscore.infer.ledger import ELSEWHERE
from mmscore.infer.protocol import open_protocol
from mmscore.llm.response_cache import Answer
from support.questions import record


def build_round(group: str, number: int) -> Record:
    texts = [text for k in range(number) for text in (f"asks {k}", f"right {k}")] + [f"asks {number}"]
    turns = tuple(Turn("assistant" if n % 2 else "user", (Part("text", text),)) for n, text in enumerate(texts))
    return replace(record(number, "?"), messages=turns, group=group, round=number)


def test_a_conversation_waits_where_another_process_asks_and_the_others_go_on():
    first = to_arrow([build_round("far", 0), build_round("near", 0)])
    conversations = RunConversations(open_protocol("vlmevalkit"), [first], chosen=False)
    conversations.add_answers(first, [ELSEWHERE, Answer("own")])
    assert conversations.prepare(build_round("far", 1))[1] is ELSEWHERE
    going_on, reason = conversations.prepare(build_round("near", 1))
    assert reason is None
    assert [turn.content[0].text for turn in going_on.messages] == ["asks 0", "own", "asks 1"]
    assert conversations.prepare(build_round("far", 0))[1] is None
    assert conversations.prepare(record(2, "alone"))[1] is None
