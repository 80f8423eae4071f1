"""A dialog is replayed: the user's turns stand, the model's own replies stand between them."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from mmconvert.core.errors import RowError
from mmconvert.core.record import Part, Record, Turn
from mmscore.infer.backend import Generation
from mmscore.infer.predictions_file import is_interrupted
from mmscore.infer.protocol import Before, Reply, open_protocol
from support.asking import Says, asked, said, written
from support.questions import make_image, record

PROTOCOL = open_protocol("vlmevalkit")


def turns(*texts: str, system: str | None = None) -> tuple[Turn, ...]:
    spoken = tuple(Turn("assistant" if n % 2 else "user", (Part("text", text),)) for n, text in enumerate(texts))
    return spoken if system is None else (Turn("system", (Part("text", system),)), *spoken)


def dialog(name: str, rounds: int, **fields: object) -> list[Record]:
    """A dialog whose right answers are 'right K'."""
    rows = []
    for number in range(rounds):
        texts = [word for k in range(number) for word in (f"{name} asks {k}", f"right {k}")]
        last = replace(record(0, f"{name} asks {number}"), id=f"{name}{number}", sample=f"{name}{number}")
        rows.append(replace(last, messages=turns(*texts, f"{name} asks {number}"), group=name, round=number, **fields))
    return rows


def echo(asked_row: Record) -> str:
    return f"response to {said(asked_row)[-1]} after {len(asked_row.messages) - 1}"


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "p.parquet"


def predictions(output: Path) -> list[str | None]:
    return pq.read_table(output)["prediction"].to_pylist()


def test_each_round_hears_the_model_s_own_replies_and_the_file_keeps_its_order(tmp_path, output):
    rows = [*dialog("x", 3), *dialog("y", 1), record(9, "alone"), *dialog("z", 2)]
    backend = Says(echo)
    assert asked(written(tmp_path / "d", rows), output, backend, protocol=PROTOCOL).failed == 0
    heard = {row.id: said(row) for row in backend.asked}
    assert heard["x2"] == [
        *("x asks 0", "response to x asks 0 after 0"),
        *("x asks 1", "response to x asks 1 after 2"),
        "x asks 2",
    ]
    assert heard["9"] == ["alone"]
    rounds = [row.round or 0 for row in backend.asked]
    assert rounds == sorted(rounds)
    assert pq.read_table(output)["id"].to_pylist() == [row.id for row in rows]
    assert predictions(output)[2] == "response to x asks 2 after 4"


def test_images_stay_in_the_turns_that_show_them(tmp_path, output):
    first = replace(record(0, make_image("red"), "what?"), group="g", round=0)
    shown = (first.messages[0], *turns("and?", "right", "now?")[1:])
    second = replace(record(1, make_image("red"), "now?"), messages=shown, group="g", round=1)
    backend = Says(lambda row: "a ball")
    asked(written(tmp_path / "d", [first, second]), output, backend, protocol=PROTOCOL)
    last = backend.asked[-1]
    assert [[part.type for part in turn.content] for turn in last.messages] == [["image", "text"], ["text"], ["text"]]
    assert (said(last), len(last.images)) == (["what?", "a ball", "now?"], 1)


def test_copies_go_on_with_their_own_replies(tmp_path, output):
    rows = [replace(row, id=f"{row.id}#{copy}", variant=copy) for row in dialog("x", 2) for copy in range(3)]
    backend = Says(lambda row: f"copy {row.variant}")
    asked(written(tmp_path / "d", rows), output, backend, protocol=PROTOCOL)
    assert [said(row)[1] for row in backend.asked if row.round] == ["copy 0", "copy 1", "copy 2"]


def test_several_replies_a_row_are_as_many_dialogs(tmp_path, output):
    backend = Says(lambda row: f"{row.variant or 0}")
    folder = written(tmp_path / "d", dialog("x", 2))
    sampled = {"generation": Generation(temperature=1.0), "n": 3, "protocol": PROTOCOL}
    assert asked(folder, output, backend, **sampled).rows == 6
    assert sorted(said(row)[1] for row in backend.asked if row.round) == ["0", "1", "2"]
    assert predictions(output) == ["0", "1", "2"] * 2
    again = Says(echo)
    assert asked(folder, output, again, **sampled).reused == 6


def test_a_resumed_dialog_goes_on_where_it_failed(tmp_path, output):
    folder = written(tmp_path / "d", [*dialog("x", 3), *dialog("y", 2)])
    broken = Says(lambda row: None if row.id == "x1" else echo(row))
    assert asked(folder, output, broken, protocol=PROTOCOL).failed == 2
    assert predictions(output)[1:3] == [None, None]
    row = pq.read_table(output).to_pylist()[2]
    assert row["prediction_error"] == "round: round 1 of the conversation has no response, so this one waits."
    again = Says(echo)
    assert asked(folder, output, again, protocol=PROTOCOL).failed == 0
    assert [row.id for row in again.asked] == ["x1", "x2"]


def test_another_reply_asks_the_later_rounds_anew(tmp_path, output):
    folder = written(tmp_path / "d", dialog("x", 3))
    asked(folder, output, Says(echo), protocol=PROTOCOL)
    other = Says(echo)
    other.identity = "another"
    assert asked(folder, output, other, protocol=PROTOCOL).asked == 3


def test_one_that_shares_holds_the_same_dialogs(tmp_path, output):
    folder = written(tmp_path / "d", [*dialog("x", 3), *dialog("y", 2)])
    asked(folder, output, Says(echo), protocol=PROTOCOL)
    shared = tmp_path / "shared.parquet"
    summary = asked(folder, shared, Says(echo), protocol=PROTOCOL, share=True)
    assert (summary.asked, summary.reused) == (5, 0)
    assert shared.read_bytes() == output.read_bytes()


ORDERS: list[tuple[Sequence[str], str]] = [
    (["user", "user"], "turn 2 is of the role 'user', not 'assistant'"),
    (["assistant", "user"], "turn 1 is of the role 'assistant', not 'user'"),
    (["system", "user", "assistant"], "turn 3 is not the user's; a conversation ends with one"),
    (["system", "assistant"], "turn 2 is of the role 'assistant', not 'user'"),
    (["user", "system", "user"], "turn 2 is of the role 'system', not 'assistant'"),
    (["user", "tool", "user"], "turn 2 is of the role 'tool', not 'assistant'"),
]


@pytest.mark.parametrize(("roles", "message"), ORDERS)
def test_a_history_that_is_none_is_refused_with_the_place(tmp_path, output, roles, message):
    row = replace(record(0, "?"), messages=tuple(Turn(role, (Part("text", "t"),)) for role in roles))
    backend = Says(echo)
    assert asked(written(tmp_path / "d", [row, *dialog("x", 1)]), output, backend, protocol=PROTOCOL).failed == 1
    assert [row.id for row in backend.asked] == ["x0"]
    assert pq.read_table(output)["prediction_error"][0].as_py() == f"messages: {message}."


def test_a_system_turn_goes_first_and_examples_stay(tmp_path, output):
    texts = ("example?", "so", "first?", "right", "second?")
    rows = [
        replace(record(number, texts[-1]), group="g", round=number, messages=turns(*texts[:end], system="be brief"))
        for number, end in enumerate((3, 5))
    ]
    backend = Says(lambda row: "reply")
    asked(written(tmp_path / "d", rows), output, backend, protocol=PROTOCOL)
    assert said(backend.asked[-1]) == ["be brief", "example?", "so", "first?", "reply", "second?"]


def test_a_round_without_those_before_it_is_not_asked(tmp_path, output):
    rows = dialog("x", 3)[1:]
    backend = Says(echo)
    assert asked(written(tmp_path / "d", rows), output, backend, protocol=PROTOCOL).failed == 2
    short = replace(dialog("y", 2)[1], messages=turns("y asks 1"))
    folder = written(tmp_path / "e", [dialog("y", 2)[0], short])
    assert asked(folder, tmp_path / "q.parquet", backend, protocol=PROTOCOL).failed == 1
    error = pq.read_table(tmp_path / "q.parquet")["prediction_error"][1].as_py()
    assert error == "messages: there are 0 turns of the assistant before round 1."


@pytest.mark.parametrize(
    ("texts", "replies", "reason"),
    [
        (("a", "b"), (), ("history.order", "messages")),
        (("a",), ("x",), ("history.short", "messages")),
        (("a", "b", "c"), (None,), ("history.missing", "round")),
    ],
)
def test_a_history_that_is_none_is_refused_by_code_and_column(texts, replies, reason):
    before = Before(tuple((Reply((), text),) for text in replies), chosen=False)
    with pytest.raises(RowError) as refused:
        PROTOCOL.protocol.history(replace(record(0), messages=turns(*texts)), before, {})
    assert (refused.value.code, refused.value.field) == reason


def test_a_run_that_is_stopped_between_rounds_leaves_every_row_with_what_it_has(tmp_path, output):
    def say(row: Record) -> str:
        if row.id == "y1":
            raise KeyboardInterrupt
        return echo(row)

    folder = written(tmp_path / "d", [*dialog("x", 3), *dialog("y", 2)])
    with pytest.raises(KeyboardInterrupt):
        asked(folder, output, Says(say, batch_size=1), protocol=PROTOCOL)
    table = pq.read_table(output)
    assert table["prediction_status"].to_pylist() == ["ok", "ok", "skipped", "ok", "skipped"]
    assert is_interrupted(output)
    rest = Says(echo)
    assert asked(folder, output, rest, protocol=PROTOCOL).rows == 5
    assert [row.id for row in rest.asked] == ["y1", "x2"]
