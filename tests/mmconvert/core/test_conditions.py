"""Conditions: the same rows as SQLite keeps, the same of records as of columns, and errors that name the character."""

import sqlite3
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mmconvert.core.conditions import DEEPEST, LONGEST, parse_condition
from mmconvert.core.errors import UsageError
from mmconvert.core.record import Image, Part, Record, Source, Turn, from_arrow, to_arrow

_TEXT_COLUMNS, _NUMBER_COLUMNS = ("question", "answer", "hint"), ("variant", "round")
_WORDS = st.text("ab%_'", max_size=4)
_NUMBERS = st.integers(-3, 3)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_QUOTED = _WORDS.map(_quote)
_SIGNS = st.sampled_from(["=", "==", "!=", "<>", "<", "<=", ">", ">="])
_NOT = st.sampled_from(["", "not "])
_TESTS = st.one_of(
    st.builds("{} {} {}".format, st.sampled_from(_TEXT_COLUMNS), _SIGNS, st.one_of(_QUOTED, st.just("hint"))),
    st.builds("{} {} {}".format, st.sampled_from(_NUMBER_COLUMNS), _SIGNS, st.one_of(_NUMBERS, st.just("round"))),
    st.builds("{} {}in ({}, {})".format, st.sampled_from(_TEXT_COLUMNS), _NOT, _QUOTED, _QUOTED),
    st.builds("{} {}in ({})".format, st.sampled_from(_NUMBER_COLUMNS), _NOT, _NUMBERS),
    st.builds("{} {}between {} and {}".format, st.sampled_from(_NUMBER_COLUMNS), _NOT, _NUMBERS, _NUMBERS),
    st.builds("{} {}like {}".format, st.sampled_from(_TEXT_COLUMNS), _NOT, _QUOTED),
    st.builds("{} is {}null".format, st.sampled_from((*_TEXT_COLUMNS, *_NUMBER_COLUMNS)), _NOT),
)
_CONDITIONS = st.recursive(
    _TESTS,
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("{} OR {} and {}".format, inner, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=6,
)
_ROWS = st.lists(
    st.tuples(*[st.none() | _WORDS] * len(_TEXT_COLUMNS), *[st.none() | _NUMBERS] * len(_NUMBER_COLUMNS)), max_size=8
)
_COLUMNS = (*_TEXT_COLUMNS, *_NUMBER_COLUMNS)


def _make(number: int = 0, **fields: Any) -> Record:
    fields.setdefault("messages", ())
    return Record(str(number), str(number), task="vqa", source=Source("jsonl", "a.jsonl", number), **fields)


@given(_CONDITIONS, _ROWS)
@example("question like '%a%a%b'", [("aaab", None, None, None, None), ("ab", None, None, None, None)])
def test_keeps_the_rows_that_sqlite_keeps(text: str, rows: list[tuple[Any, ...]]) -> None:
    with sqlite3.connect(":memory:") as reference:
        reference.execute("pragma case_sensitive_like = on")
        reference.execute(f"create table t (number integer, {', '.join(_COLUMNS)})")
        numbered = [(number, *row) for number, row in enumerate(rows)]
        reference.executemany(f"insert into t values (?{', ?' * len(_COLUMNS)})", numbered)
        expected = [number for (number,) in reference.execute(f"select number from t where {text} order by 1")]
    condition = parse_condition(text)
    records = [_make(number, **dict(zip(_COLUMNS, row, strict=True))) for number, row in enumerate(rows)]
    assert [number for number, record in enumerate(records) if condition.matches(record)] == expected
    mask = condition.mask(to_arrow(records))
    assert [number for number, kept in enumerate(mask) if kept] == expected


def _picture(width: int, height: int, size: int = 10, **more: Any) -> Image:
    return Image(b"x" * size, 1, width=width, height=height, format="PNG", **more)


_SHOWN = {
    "small": _make(images=(_picture(100, 50), _picture(300, 300, 99))),
    "large": _make(images=(_picture(400, 100, 500, name="a.png"),)),
    "none": _make(),
    "url": _make(images=(Image(None, 1, url="https://example.org/a.png"),)),
}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("width >= 224", "large"),
        ("any(width) >= 224", "small large"),
        ("all(width) >= 224", "large"),
        ("not (width >= 224)", "small"),
        ("width >= 224 or len(images) = 0", "large none"),
        ("90 < width <= 100", ""),
        ("any(width) between 90 and 100", "small"),
        # One image has to lie in the range, not one above and another below.
        ("150 < any(width) < 250", ""),
        ("width = height", ""),
        ("any(aspect) = 4", "large"),
        ("pixels > 6000 and format in ('PNG', 'JPEG')", "large"),
        ("bytes < 100", "small"),
        ("bytes is null", "url"),
        ("name like '%.png'", "large"),
        ("len(images) = 2", "small"),
    ],
)
def test_a_test_about_images_holds_for_all_of_them_or_for_any(text: str, kept: str) -> None:
    condition = parse_condition(text)
    assert [name for name, record in _SHOWN.items() if condition.matches(record)] == kept.split()
    assert condition.mask(to_arrow([*_SHOWN.values()])).tolist() == [name in kept.split() for name in _SHOWN]


_EVERY_TEST = (
    "width {sign} 2", "any(height) {sign} 1.5", "all(pixels) between 2 and 6", "any(aspect) {sign} 1",
    "variant {sign} width", "2 {sign} any(width) {sign} any(height)", "bytes {sign} 3", "bytes is null",
    "name is not null", "format = 'PNG'", "any(name) like 'a%'", "name contains 'a'", "format in ('PNG', 'GIF')",
    "len(images) {sign} 2", "len(options) {sign} 1", "options contains 'ab'", "options contains ''",
    "answers is null", "len(messages) {sign} 1", "messages contains 'ä'", "messages contains ''", "messages is null",
    "messages is not null", "question contains ''", "question {sign} 'ä'", "question like '%'", "question like ''",
    "question like 'a%'", "question like '%ä'", "question like '%ab%'", "question like 'a_'", "question like 'a%b'",
    "question ilike 'Ä%'", "len(question) {sign} 2", "question is null", "question {sign} hint", "variant {sign} 1.5",
    "variant {sign} 9007199254740993", "1 {sign} variant {sign} round", "variant {sign} round {sign} 1",
    "variant between 0 and 1e9999", "variant in (1, 2.0, 99999999999999999999)", "source.row {sign} 1",
    "source.numbered = true", "source.numbered != false", "source.file like '%.jsonl'", "extra.n {sign} 1",
    "extra.n = 'a'", "len(extra.n) = 1", "extra.n is null", "1 {sign} 2", "'a' = 'b'", "task = '\ud800'",
    "question in ('a', '\ud800')", "question contains '\ud800'", "question between 'a' and '\ud800'",
)  # fmt: skip
_LETTERS = st.text("abÄä", max_size=3)
_IMAGES = st.lists(
    st.builds(
        Image,
        st.none() | st.binary(max_size=4),
        st.just(1),
        st.none() | _LETTERS,
        format=st.sampled_from(["", "PNG", "GIF"]),
        width=st.integers(0, 3),
        height=st.integers(0, 3),
    ),
    max_size=3,
)
_TURNS = st.lists(st.builds(Turn, st.just("user"), st.lists(st.builds(Part, st.just("text"), _LETTERS), max_size=2)))
_RECORDS = st.builds(
    Record,
    id=st.just("1"),
    sample=st.just("1"),
    task=st.just("vqa"),
    source=st.builds(Source, st.just("f"), _LETTERS, st.integers(0, 3), st.none() | st.booleans()),
    messages=_TURNS,
    images=_IMAGES,
    question=st.none() | _LETTERS,
    hint=st.none() | _LETTERS,
    options=st.lists(st.none() | _LETTERS, max_size=2),
    answers=st.lists(_LETTERS, max_size=2),
    variant=st.none() | st.integers(-3, 3),
    round=st.none() | st.integers(-3, 3),
    extra=st.dictionaries(st.just("n"), st.none() | st.integers(0, 2) | st.booleans() | _LETTERS, max_size=1),
)
_ANY_TEST = st.tuples(_NOT, st.sampled_from(_EVERY_TEST), _SIGNS).map(
    lambda drawn: f"{drawn[0]}({drawn[1].format(sign=drawn[2])})"
)


@given(
    text=st.lists(_ANY_TEST, min_size=1, max_size=3).flatmap(
        lambda tests: st.sampled_from([" and ", " or "]).map(lambda word: word.join(tests))
    ),
    records=st.lists(_RECORDS, min_size=1, max_size=6),
    cut=st.integers(0, 2),
)
def test_columns_keep_the_rows_that_records_do(text: str, records: list[Record], cut: int) -> None:
    condition = parse_condition(text)
    found = condition.mask(to_arrow(records).slice(cut))
    assert found.tolist() == [condition.matches(record) for record in records[cut:]]


@pytest.mark.parametrize("text", _EVERY_TEST)
def test_columns_keep_the_rows_that_records_do_of_every_test(text: str) -> None:
    condition = parse_condition(text.format(sign="<="))
    batch = to_arrow([*_SHOWN.values(), _make(variant=1, round=2, question="ab", options=("ab",), extra={"n": 1})])
    assert condition.mask(batch).tolist() == [condition.matches(record) for record in from_arrow(batch)]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("extra.n > 1", [1]),
        ("extra.a.b = 'x'", [0]),
        ("extra.'odd key' = true", [0]),
        ("extra.n = true", []),
        ("extra.missing is null", [0, 1]),
        ("extra.tags contains 'cat'", [1]),
        ("options contains 'red'", [0]),
        ("len(options) = 2", [0]),
        ("messages contains 'dog'", [1]),
        ("len(messages) = 1 and len(question) = 3", [1]),
        ("question contains 'o' and question ilike 'DO_'", [1]),
        ("source.row = 1 and source.file = 'a.jsonl' and source.numbered = false", [1]),
    ],
)
def test_lists_turns_and_fields_inside_columns(text: str, kept: list[int]) -> None:
    turn = Turn("user", (Part("image"), Part("text", "a dog?")))
    records = [
        _make(0, options=("red", "reddish"), extra={"n": 1, "a": {"b": "x"}, "odd key": True}),
        _make(1, question="dog", messages=(turn,), extra={"n": 2, "a": "b", "tags": ["cat"]}),
    ]
    condition = parse_condition(text)
    assert [number for number, record in enumerate(records) if condition.matches(record)] == kept
    assert condition.mask(to_arrow(records)).tolist() == [number in kept for number in range(2)]


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", 1, "expected a column"),
        ("widht >= 224", 1, "Did you mean width?"),
        ("task = 'vqa' and tsak = 'x'", 18, "Did you mean task?"),
        ("answer > 3", 8, "answer is text and 3 is number"),
        ("task = 'vqa", 8, "a quote that is not closed"),
        ("task = 'a' task = 'b'", 12, "expected and, or"),
        ("variant in (1, question)", 16, "not the column question"),
        ("images = 3", 1, "len(images)"),
        ("options = 'a'", 1, "options contains 'text'"),
        ("len(width) = 3", 5, "has no length"),
        ("any(question) = 'a'", 5, "takes one of"),
        ("any(width) < height", 14, "Write two, with and"),
        ("variant < 1 or (round = 2", 26, "expected ')'"),
        ("read_text('/etc/passwd') = 'x'", 1, "no column 'read_text'"),
        ("variant = 1; drop table t", 12, "';' has no meaning"),
        ("variant = 1.2.3", 11, "'1' has no meaning"),
        (f"variant = {'9' * 5000}", 11, "has no meaning"),
        ("source.numbered < true", 17, "are compared by = and !="),
        ("(" * (DEEPEST + 1) + "variant = 1" + ")" * (DEEPEST + 1), DEEPEST + 1, "inside one another"),
        ("not " * (DEEPEST + 1) + "variant = 1", 4 * DEEPEST + 1, "inside one another"),
    ],
)
def test_an_error_names_the_character(text: str, place: int, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_condition(text)
    assert str(caught.value).startswith(f"--where: character {place}: ")
    assert said in str(caught.value)


def test_a_condition_is_bounded_in_length() -> None:
    with pytest.raises(UsageError, match="10,000 at most"):
        parse_condition("variant = 1 or " * LONGEST)


@given(st.text("()andornti='\"<>.,%_ 12width", max_size=40))
def test_any_other_text_is_refused_in_words(text: str) -> None:
    try:
        condition = parse_condition(text)
    except UsageError as error:
        said = str(error)
    else:
        said = f"--where: character: {condition.matches(_make())}"
    assert said.startswith("--where: character")


def test_a_pattern_with_many_wildcards_takes_no_time() -> None:
    condition = parse_condition("question like '" + "%a" * 300 + "%b'")
    assert not condition.matches(_make(question="a" * 20_000))
