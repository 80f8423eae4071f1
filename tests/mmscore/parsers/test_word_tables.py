"""Tables of words are facts of a framework: a slip in a word is seen by no case that lacks it, so each is pinned whole.

A digest changes with the table. Whoever changes one names the framework's commit that it is from, in NOTICE.
"""

import hashlib
import importlib

import pytest

TABLES = [
    ("lmms_choice", "PRIORITY", "2ecdf8ebfcfdcd09"),
    ("lmms_choice", "HOW", "6ca7879351155aa0"),
    ("lmms_choice", "PHRASES", "2dd3642ec492141e"),
    ("mmtrust_agreement", "PHRASES", "07eda4772c9295c6"),
    ("mmtrust_refusal", "REFUSAL_PHRASES", "0b65abcbae548e0f"),
    ("mmtrust_yes_no", "YES_PHRASES", "e6862ff6edc7499b"),
    ("vlmevalkit_boxed_letter", "COMMANDS", "980ab7b1d58d7ab0"),
    ("vlmevalkit_boxed_letter", "PHRASES", "9f7b183eb40a53c0"),
]


@pytest.mark.parametrize(("name", "table", "digest"), TABLES)
def test_a_table_of_words_is_the_frameworks(name, table, digest):
    module = importlib.import_module(f"mmscore.parsers.{name}")
    assert hashlib.sha256(repr(getattr(module, table)).encode()).hexdigest()[:16] == digest
    assert module.PARSER("").value in (None, "answered", "no", "A", "")
