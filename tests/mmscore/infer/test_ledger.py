"""What a row's answer is stored under."""

from pathlib import Path

import pytest

from mmscore.infer.ledger import Ledger
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import Answer, AnswerStore, failed
from support.questions import record


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        ((), "a862b2c206de42065ed809fffdb35d22c94cfea86ac7889ca6881e2c9620be6b"),
        (("options",), "bd59b085d5ed29580bdca2a3ed59751237f21d7c75c88271da1c838489f0cdac"),
    ],
)
def test_the_key_of_a_row_stays_what_it_is(tmp_path: Path, columns: tuple[str, ...], key: str) -> None:
    # Another one would lose what is stored: a run that is resumed would ask, and pay for, every row again.
    row = record(0, b"an image", "Which?", options=("yes", None, "no"))
    with hold(tmp_path / "store.sqlite") as held, AnswerStore(held, fingerprint="") as store:
        ledger = Ledger(store, ("model", {"temperature": 0}), lambda done: None, total=1, columns=columns)
        assert ledger.key(row) == key


def test_settings_that_had_an_answer_once_stay_proven_whatever_fails_later(tmp_path: Path) -> None:
    def open_ledger(store: AnswerStore, *settings: object) -> Ledger:
        ledger = Ledger(store, settings, lambda done: None, total=9, columns=())
        ledger.begin()
        return ledger

    with hold(tmp_path / "store.sqlite") as held, AnswerStore(held, fingerprint="") as store:
        first = open_ledger(store, "model")
        first.keep([("a", failed("busy"))])
        assert not first.answered
        first.keep([("b", Answer("yes"))])
        assert first.answered
        resumed = open_ledger(store, "model")
        resumed.keep([("c", failed("busy"))])
        assert resumed.answered
        assert not open_ledger(store, "another model").answered
