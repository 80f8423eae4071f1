"""Lists in cells: what Python and JSON would read, and never more than that."""

import ast
import contextlib
import json
import time
import tracemalloc
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import RowError
from mmconvert.core.text.literals import MAX_SHORT, looks_like_list, parse_list, parse_short_literal

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
ITEMS = st.recursive(TEXTS | NUMBERS | st.booleans() | st.none(), lambda inner: st.lists(inner, max_size=4))


@given(st.lists(ITEMS))
def test_what_python_writes_is_read_back(values: list) -> None:
    assert parse_list(repr(values)) == values


@given(st.lists(ITEMS))
def test_what_json_writes_is_read_back(values: list) -> None:
    assert parse_list(json.dumps(values)) == values


@pytest.mark.parametrize(
    "text",
    [
        r"""['it\'s', "say \"x\"", 'a\\']""",
        r"""['\x41\u00e9\U0001F600\101\n\t\a']""",
        r"""[u'a', r'\d', R'\'', 'a\\qb']""",
        "['''a'b''c''', \"\"\"d\"e\"\"f\"\"\"]",
        "['a\\\nb']",
        "('a', 1, )",
        "[1_000, +2, -.5e3, 1., 0.25]",
        " [ True , None , False ] ",
        "[('a', ['b']), ()]",
        "[(2.5), ('a'), ('b',)]",
        r"['\N{LATIN SMALL LETTER E WITH ACUTE}']",
    ],
)
def test_a_literal_means_what_python_says(text: str) -> None:
    def lists(value: object) -> object:
        return [lists(item) for item in value] if isinstance(value, list | tuple) else value

    assert parse_list(text) == lists(ast.literal_eval(text.strip()))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "list.syntax"),
        ("a", "list.syntax"),
        ("'a'", "list.type"),
        ('{"a": 1}', "list.type"),
        ("5", "list.type"),
        ("[1, 2", "list.syntax"),
        ("[1 2]", "list.syntax"),
        ("'a', 'b'", "list.syntax"),
        ("['a'],", "list.syntax"),
        ("['a'](1)", "list.syntax"),
        ("['a', 007]", "list.syntax"),
        (r"['\x0']", "list.syntax"),
        ("['a' 'b']", "list.syntax"),
        ("[,]", "list.syntax"),
        ("(1, 2]", "list.syntax"),
        ("['a'] x", "list.syntax"),
        ("['a", "list.syntax"),
        ("['a\\']", "list.syntax"),
        ("['a', '''b']", "list.syntax"),
        ("[b'a']", "list.syntax"),
        ("[f'{x}']", "list.syntax"),
        ("[...]", "list.syntax"),
        ("[x for x in y]", "list.syntax"),
        ("[__import__('os').system('true')]", "list.syntax"),
        ("[1 + 1]", "list.syntax"),
        ("['a', NaN]", "list.syntax"),
        ("[٣]", "list.syntax"),
        (r"['\U00110000']", "list.syntax"),
        (r"['\ud800']", "text.surrogate"),
        (r"['\ud83d\ude00']", "text.surrogate"),
        ("[\"\\ud800\", 'b']", "text.surrogate"),
        ("['a', 1e999]", "list.number"),
        ("['a', " + "1" * 5000 + "]", "list.number"),
        ("[" * 17 + "'a'" + "]" * 17, "list.depth"),
        ("[" * 100_000, "list.depth"),
        ("['a'," + "1," * 10_000 + "]", "list.size"),
        ("[" + "'a'," * 9_999 + "'a']", "list.size"),  # the list itself is an item
    ],
)
def test_anything_else_is_refused(text: str, code: str) -> None:
    with pytest.raises(RowError) as refused:
        parse_list(text)
    assert refused.value.code == code
    assert len(str(refused.value)) < 250


def test_characters_that_end_a_line_in_python_are_kept() -> None:
    assert parse_list("['a\nb\r\nc\0d', '\\q\\777', '''e\r\n''']") == ["a\nb\r\nc\0d", "\\q\u01ff", "e\r\n"]


@pytest.mark.parametrize(
    "text",
    [
        "['a', 1" + "+1" * 300_000 + "]",
        "['a', " + "-" * 300_000 + "1]",
        "['a'" + "[0]" * 300_000 + "]",
        "['a', " + "()" * 300_000,
    ],
)
def test_a_text_that_would_be_a_deep_tree_is_refused_before_python_reads_it(text: str) -> None:
    with pytest.raises(RowError) as refused:
        parse_list(text)
    assert refused.value.code == "list.syntax"


@pytest.mark.parametrize("text", ["['" + r"\'" * 300_000 + "']", "['" + "\\\\" * 300_000, "['''" + "'" * 300_000])
def test_a_long_cell_takes_time_in_proportion(text: str) -> None:
    started = time.process_time()
    with contextlib.suppress(RowError):
        parse_list(text)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "text",
    [
        "[" + "'a', " * 200_000 + "]",
        "[" + "1," * 500_000 + "]",
        "[" * 1_000_000,
        "[" + "]" * 1_000_000,
        "it's " * 200_000,
        "['" + r"\n" * 500_000 + "']",
    ],
    ids=["strings", "numbers", "lists", "ends", "prose", "escapes"],
)
def test_a_long_cell_takes_memory_in_proportion(text: str) -> None:
    tracemalloc.start()
    try:
        with contextlib.suppress(RowError):
            parse_list(text)
        assert tracemalloc.get_traced_memory()[1] < 12 * len(text)
    finally:
        tracemalloc.stop()


@given(st.text(alphabet="[]()'\",\\ ab1u\n", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        values = parse_list(text)
    except RowError:
        return
    assert isinstance(values, list)


def test_only_brackets_at_both_ends_look_like_a_list() -> None:
    assert looks_like_list(" [1, 2]\n")
    assert not looks_like_list("(1, 2)")
    assert not looks_like_list("[1, 2")


def test_a_list_at_the_bounds_is_read() -> None:
    deepest = parse_list("[" * 16 + "'a'" + "]" * 16)
    for _ in range(15):
        (deepest,) = deepest
    assert deepest == ["a"]
    assert parse_list("[" + "'a'," * 9_998 + "'a']") == ["a"] * 9_999


@pytest.mark.parametrize("text", ["['New' 'York', (1, 2)]", r"['\d']", "{'a': [1]}", " 'x'", "[1 + 2j, b'c']", "{1}"])
def test_a_short_literal_is_what_python_reads(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = parse_short_literal(text)
        warnings.simplefilter("ignore")
        assert found == ast.literal_eval(text)


@pytest.mark.parametrize(
    "text", ["[true]", "open('x')", "", "[" * 9_000, "-" * 9_000 + "1", "'" + "a" * MAX_SHORT + "'", "[\0]", "{[]: 1}"]
)
def test_what_is_no_short_literal_is_refused(text: str) -> None:
    with pytest.raises(RowError, match="no short literal"):
        parse_short_literal(text)
