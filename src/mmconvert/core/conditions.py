"""Conditions over the columns of records: `task = 'vqa' and len(images) = 1 and width >= 224`.

A parser of our own and no SQL engine: the language has columns, comparisons and nothing else, so that a condition from
anywhere reads no file, opens no connection and calls no function, and a light installation stays light. An engine such
as DuckDB is 69 MB, and has to be told of every door that it must keep shut.

    condition:  TEST, joined by and, or, not and brackets
    TEST:       VALUE OP VALUE (OP VALUE ...)    OP is = == != <> < <= > >=; 10 < width <= 300 is a chain
                VALUE [not] in (LITERAL, ...)    VALUE [not] between LOW and HIGH    VALUE is [not] null
                VALUE [not] like 'a%_'           ilike does not look at case
                VALUE [not] contains 'text'      part of a text or of a turn of `messages`, or an item of a list
    VALUE:      a number, 'text', true, false, a column, len(COLUMN), any(IMAGE COLUMN), all(IMAGE COLUMN)

Columns are those of `SCHEMA`; `extra.KEY` and `source.KEY` are fields inside. Of images there are `width`, `height`,
`pixels`, `aspect` (width / height), `bytes` (size), `format` and `name`: a test about them must hold for every image of
the row, or under `any(...)` for one of them.

As in SQL, a test about a missing value is neither true nor false, and only rows for which the condition is true stay;
so `answer != 'A'` leaves out rows without an answer. A test about images is so for a row without images.
"""

import functools
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mmconvert.core.arrow import build_scalar, to_numpy
from mmconvert.core.condition_fields import (
    ANY,
    BOOL,
    FIELDS,
    LIST,
    NUMBER,
    OF_IMAGES,
    TEXT,
    TURNS,
    Field,
    TurnTexts,
    build_extra_field,
    measure_field,
)  # fmt: skip
from mmconvert.core.condition_masks import (
    Columnar,
    build_literal,
    build_truths,
    compare_chain,
    count_items,
    find_text,
    hide_missing,
    is_one_of,
    join_images,
    lie_between,
    match_pattern,
    repeat_rows,
)  # fmt: skip
from mmconvert.core.errors import UsageError, suggest_spelling
from mmconvert.core.lazy import LazyModule
from mmconvert.core.record import Record

if TYPE_CHECKING:  # takes as long to load as pyarrow, and most runs have no condition
    import pyarrow.compute as pc
else:
    pc = LazyModule("pyarrow.compute")

LONGEST, DEEPEST = 10_000, 50
"""Most characters of a condition, and most brackets and `not` inside one another."""

Truth = bool | None
"""What a test says of a row: None where a value that it needs is missing."""

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<>": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,4})?)(?![\w.])|(?P<word>[A-Za-z_]\w*)"""
    r"""|(?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?P<sign><=|>=|<>|!=|==|[=<>(),.]))"""
)
_KEYWORDS = {
    "and", "or", "not", "in", "like", "ilike", "contains", "between", "is", "null", "true", "false",
    "len", "any", "all",
}  # fmt: skip


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


class _Value(NamedTuple):
    """A side of a test: a literal, or a place among the values of a row."""

    kind: str
    token: _Token
    place: int | None = None
    literal: Any = None
    per_image: bool = False
    quantifier: str = ""


_Row = Sequence[Any] | Mapping[int, Any]
"""The values of a row by their places."""


class _Test(NamedTuple):
    """A test of one row, and the same of all rows of a batch."""

    of_row: Callable[[_Row], Truth]
    of_columns: "Callable[[_Columns], pa.Array]"


class _Columns:
    """The values of a batch by their places, each read once."""

    def __init__(self, batch: pa.RecordBatch, fields: Sequence[Field]) -> None:
        self._batch, self._fields = batch, fields
        self._lists: dict[int, Sequence[Any]] = {}
        self._arrays: dict[int, pa.Array | None] = {}
        self.rows = batch.num_rows

    def list_values(self, place: int) -> Sequence[Any]:
        if place not in self._lists:
            self._lists[place] = self._fields[place].of_batch(self._batch)
        return self._lists[place]

    def find_array(self, place: int) -> pa.Array | None:
        """Give the values as Arrow has them, those of all images one behind the other; None where it cannot."""
        if place not in self._arrays:
            self._arrays[place] = self._fields[place].of_arrow(self._batch)
        return self._arrays[place]

    def count_images(self, place: int) -> Any:
        """Count the images of each row, for a value that each has."""
        return count_items(self._batch.column(self._fields[place].columns[0]))


class Condition(msgspec.Struct, frozen=True):
    """A condition that was read.

    Attributes:
        text: As the user wrote it.
        columns: Columns that it looks at.
    """

    text: str
    columns: frozenset[str]
    fields: tuple[Field, ...]
    test: _Test

    def matches(self, record: Record) -> bool:
        """Tell whether the condition is true of a record."""
        return self.test.of_row([field.of_record(record) for field in self.fields]) is True

    def mask(self, batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Tell of each row of a batch, which must have `columns`, whether the condition is true of it."""
        truths = self.test.of_columns(_Columns(batch, self.fields))
        return to_numpy(pc.fill_null(truths, build_scalar(False)))


def parse_condition(text: str, option: str = "--where") -> Condition:
    """Read a condition; nothing of it is run.

    Args:
        text: The condition, as the module says.
        option: What the user gave it by, for messages.

    Raises:
        UsageError: It cannot be read, names an unknown column, or compares what cannot be compared; the message names
            the character.

    Example:
        >>> sorted(parse_condition("task = 'vqa' and len(images) = 1").columns)
        ['image_info', 'task']
    """
    if len(text) > LONGEST:
        raise UsageError(f"{option}: holds {len(text):,} characters; a condition has {LONGEST:,} at most.")
    parser = _Parser(text, option)
    test = parser.parse()
    fields = tuple(parser.fields.values())
    return Condition(text, frozenset(name for field in fields for name in field.columns), fields, test)


class _Parser:
    """Reads tokens from left to right and builds one function of the values of a row."""

    def __init__(self, text: str, option: str) -> None:
        self._option = option
        self._tokens = list(self._split(text))
        self._place = self._depth = 0
        self.fields: dict[str, Field] = {}

    def parse(self) -> _Test:
        test = self._parse_or()
        if self._next.kind != "end":
            raise self._fail(self._next, f"expected and, or, or the end, not {self._next.text!r}.")
        return test

    def _split(self, text: str) -> Iterator[_Token]:
        start, end = 0, len(text.rstrip())
        while start < end:
            match = _TOKEN.match(text, start)
            if match is None:
                start += len(text[start:]) - len(text[start:].lstrip())
                quote = text[start] in "'\""
                what = "a quote that is not closed" if quote else f"{text[start]!r} has no meaning here"
                raise self._fail(_Token("", "", start), f"{what}. Write texts as 'text'.")
            kind = str(match.lastgroup)
            word = match[kind]
            if kind == "word" and word.lower() in _KEYWORDS:
                kind, word = "key", word.lower()
            yield _Token(kind, word, match.start(match.lastgroup or 0))
            start = match.end()
        yield _Token("end", "the end", end)

    def _fail(self, token: _Token, message: str) -> UsageError:
        return UsageError(f"{self._option}: character {token.start + 1}: {message}")

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self, *texts: str) -> _Token | None:
        """Take the next token if it is one of these words or signs."""
        token = self._next
        if token.kind in ("key", "sign") and token.text in texts:
            self._place += 1
            return token
        return None

    def _require(self, text: str) -> None:
        if self._take(text) is None:
            raise self._fail(self._next, f"expected {text!r}, not {self._next.text!r}.")

    def _parse_or(self) -> _Test:
        return self._parse_joined("or", self._parse_and, wins=True)

    def _parse_and(self) -> _Test:
        return self._parse_joined("and", self._parse_not, wins=False)

    def _parse_joined(self, word: str, parse: Callable[[], _Test], *, wins: bool) -> _Test:
        tests = [parse()]
        while self._take(word):
            tests.append(parse())
        if len(tests) == 1:
            return tests[0]
        join = pc.or_kleene if wins else pc.and_kleene
        return _Test(
            lambda row: _join((test.of_row(row) for test in tests), wins=wins),
            lambda columns: functools.reduce(join, (test.of_columns(columns) for test in tests)),
        )

    def _parse_not(self) -> _Test:
        if not (token := self._take("not", "(")):
            return self._parse_test()
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._fail(token, f"more than {DEEPEST} brackets and not inside one another.")
        if token.text == "(":
            test = self._parse_or()
            self._require(")")
        else:
            test = _negate(self._parse_not())
        self._depth -= 1
        return test

    def _parse_test(self) -> _Test:
        first = self._parse_value()
        if signs := self._take(*_OPERATORS):
            return self._parse_chain(first, signs)
        if self._take("is"):
            negated = self._take("not") is not None
            self._require("null")
            columnar = pc.is_valid if negated else pc.is_null
            return self._lift((first,), lambda row: (row[0] is None) is not negated, columnar, nulls=True)
        negated = self._take("not") is not None
        token = self._take("in", "between", "like", "ilike", "contains")
        if token is None:
            known = "=, <, in (...), like, contains, between or is null"
            raise self._fail(self._next, f"expected {known}, not {self._next.text!r}.")
        test = self._parse_word_test(first, token)
        return _negate(test) if negated else test

    def _parse_word_test(self, first: _Value, token: _Token) -> _Test:
        if token.text == "in":
            self._require("(")
            values = [self._parse_literal(first)]
            while self._take(","):
                values.append(self._parse_literal(first))
            self._require(")")
            return self._lift(
                (first,),
                lambda row: _join((_compare(operator.eq, row[0], one) for one in values), wins=True),
                is_one_of(values),
            )
        if token.text == "between":
            low = self._parse_literal(first)
            self._require("and")
            high = self._parse_literal(first)
            signs = (operator.le, operator.le)
            return self._lift((first,), lambda row: _chain((low, row[0], high), signs), lie_between(low, high))
        text = self._parse_pattern()
        if token.text == "contains":
            if first.kind not in (TEXT, LIST, TURNS, ANY):
                raise self._fail(first.token, f"{first.token.text} is no text or list; contains looks into these.")
            return self._lift((first,), lambda row: _contains(row[0], text), find_text(text))
        self._require_kind(first, TEXT)
        matches = _compile_like(text, ignore_case=token.text == "ilike")
        columnar = None if token.text == "ilike" else match_pattern(text)
        return self._lift((first,), lambda row: matches(row[0]) if isinstance(row[0], str) else None, columnar)

    def _parse_chain(self, first: _Value, sign: _Token) -> _Test:
        values, signs = [first], []
        token: _Token | None = sign
        while token is not None:
            value = self._parse_value()
            self._check_comparable(values[-1], value, token)
            values.append(value)
            signs.append(_OPERATORS[token.text])
            token = self._take(*_OPERATORS)
        return self._lift(values, lambda row: _chain(row, signs), compare_chain(signs))

    def _check_comparable(self, left: _Value, right: _Value, token: _Token) -> None:
        for value in (left, right):
            if value.kind in (LIST, TURNS):
                hint = f"Write {value.token.text} contains 'text', or len({value.token.text})."
                raise self._fail(value.token, f"{value.token.text} is a list. {hint}")
        kinds = {left.kind, right.kind} - {ANY}
        if len(kinds) > 1:
            said = f"{left.token.text} is {left.kind} and {right.token.text} is {right.kind}"
            raise self._fail(token, f"{said}; they cannot be compared.")
        if BOOL in kinds and token.text not in ("=", "==", "!=", "<>"):
            raise self._fail(token, f"true and false are compared by = and !=, not {token.text}.")

    def _require_kind(self, value: _Value, kind: str) -> None:
        if value.kind not in (kind, ANY):
            raise self._fail(value.token, f"expected a column of {kind}, {value.token.text} is {value.kind}.")

    def _parse_literal(self, beside: _Value) -> Any:
        value = self._parse_value()
        if value.place is not None:
            raise self._fail(value.token, f"expected a number or 'text', not the column {value.token.text}.")
        self._check_comparable(beside, value, value.token._replace(text="="))
        return value.literal

    def _parse_pattern(self) -> str:
        token = self._next
        if token.kind != "text":
            raise self._fail(token, f"expected 'text', not {token.text!r}.")
        self._place += 1
        return _unquote(token.text)

    def _parse_value(self) -> _Value:
        token = self._next
        self._place += 1
        if token.kind == "number":
            # Whole numbers stay whole: large ones are no floats.
            digits = token.text.removeprefix("-").removeprefix("+")
            return _Value(NUMBER, token, literal=int(token.text) if digits.isdigit() else float(token.text))
        if token.kind == "text":
            return _Value(TEXT, token, literal=_unquote(token.text))
        if token.kind == "key" and token.text in ("true", "false"):
            return _Value(BOOL, token, literal=token.text == "true")
        if token.kind == "key" and token.text in ("len", "any", "all"):
            return self._parse_call(token)
        if token.kind == "word":
            name, field = self._parse_column(token)
            return self._keep(token._replace(text=name), name, field)
        raise self._fail(token, f"expected a column, a number or 'text', not {token.text!r}.")

    def _parse_call(self, token: _Token) -> _Value:
        self._require("(")
        inside = self._next
        if inside.kind != "word":
            raise self._fail(inside, f"expected a column, not {inside.text!r}.")
        self._place += 1
        name, field = self._parse_column(inside, of_length=token.text == "len")
        self._require(")")
        shown = token._replace(text=f"{token.text}({name})")
        if token.text == "len":
            if field.kind not in (TEXT, LIST, TURNS, ANY):
                raise self._fail(inside, f"{name} has no length; it is {field.kind}.")
            return self._keep(shown, shown.text, measure_field(field))
        if not field.per_image:
            raise self._fail(inside, f"{token.text}(...) takes one of {', '.join(OF_IMAGES)}, not {name}.")
        return self._keep(shown, name, field)._replace(quantifier=token.text)

    def _parse_column(self, token: _Token, *, of_length: bool = False) -> tuple[str, Field]:
        """Take the rest of a column's name, whose first word is taken."""
        path: list[str] = []
        while self._take("."):
            part = self._next
            if part.kind not in ("word", "key", "text"):
                raise self._fail(part, f"expected a name behind the dot, not {part.text!r}.")
            self._place += 1
            path.append(_unquote(part.text) if part.kind == "text" else part.text)
        name = ".".join([token.text, *path])
        if token.text == "extra" and path:
            return name, build_extra_field(path)
        if name in FIELDS and (of_length or name != "images"):
            return name, FIELDS[name]
        if name in ("images", "attachments", "extra", "source"):
            hint = {"images": "len(images), or width", "attachments": "len(attachments)"}.get(name, f"{name}.KEY")
            raise self._fail(token, f"{name} itself is not compared. Write {hint}.")
        known = ", ".join([*FIELDS, "extra.KEY"])
        raise self._fail(token, f"no column {name!r}.{suggest_spelling(name, FIELDS)} Known: {known}.")

    def _keep(self, token: _Token, name: str, field: Field) -> _Value:
        self.fields.setdefault(name, field)
        place = list(self.fields).index(name)
        return _Value(field.kind, token, place, per_image=field.per_image)

    def _lift(
        self,
        values: Sequence[_Value],
        test: Callable[[Sequence[Any]], Truth],
        columnar: Columnar | None,
        *,
        nulls: bool = False,
    ) -> _Test:
        """Give a test of some values as one of whole rows; what holds for each image is asked of each.

        Args:
            values: What the test looks at.
            test: Of these values alone.
            columnar: The same of columns; None where they cannot say it.
            nulls: It is about missing values themselves; any other one is unknown where its first value is missing.
        """
        quantifiers = {value.quantifier or "all": value for value in values if value.per_image}
        if len(quantifiers) > 1:
            token = [*quantifiers.values()][1].token
            raise self._fail(token, "any(...) and a column of every image are in one comparison. Write two, with and.")
        lifted = _Lifted(values, test, columnar, nulls=nulls, wins="any" in quantifiers)
        return _Test(lifted.ask_images if quantifiers else lifted.ask_row, lifted.ask_columns)


class _Lifted:
    """A test of some values, asked of rows or columns."""

    def __init__(
        self,
        values: Sequence[_Value],
        test: Callable[[Sequence[Any]], Truth],
        columnar: Columnar | None,
        *,
        nulls: bool,
        wins: bool,
    ) -> None:
        self._values, self._test, self._columnar = values, test, columnar
        self._nulls, self._wins = nulls, wins
        self._sides = [(value.place, value.literal) for value in values]
        self._places = sorted({place for place, _ in self._sides if place is not None})
        self._image_place = next((value.place for value in values if value.per_image), None)

    def _ask(self, row: Sequence[Any]) -> Truth:
        return None if row[0] is None and not self._nulls else self._test(row)

    def ask_row(self, row: _Row) -> Truth:
        return self._ask([literal if place is None else row[place] for place, literal in self._sides])

    def ask_images(self, row: _Row) -> Truth:
        count = len(row[self._image_place])  # type: ignore[index]
        columns = [
            row[place] if place is not None and value.per_image else [literal if place is None else row[place]] * count
            for value, (place, literal) in zip(self._values, self._sides, strict=True)
        ]
        return _join(map(self._ask, zip(*columns, strict=True)), wins=self._wins) if count else None

    def ask_columns(self, columns: _Columns) -> pa.Array:
        """Ask columns, and where they cannot say it exactly row by row."""
        truths = self._ask_arrays(columns)
        if truths is not None:
            return truths
        ask = self.ask_row if self._image_place is None else self.ask_images
        if not self._places:
            return build_truths([ask(())] * columns.rows)
        rows = zip(*map(columns.list_values, self._places), strict=True)
        return build_truths([ask(dict(zip(self._places, row, strict=True))) for row in rows])

    def _ask_arrays(self, columns: _Columns) -> pa.Array | None:
        if self._columnar is None or not self._places:
            return None
        counts: Any = None if self._image_place is None else columns.count_images(self._image_place)
        sides = []
        for value, (place, literal) in zip(self._values, self._sides, strict=True):
            side = build_literal(literal) if place is None else columns.find_array(place)
            if side is None:
                return None
            single = place is not None and not value.per_image
            sides.append(repeat_rows(side, counts) if single and counts is not None else side)
        truths = self._columnar(*sides)
        if truths is None:
            return None
        truths = truths if self._nulls else hide_missing(truths, sides[0])
        return truths if counts is None else join_images(truths, counts, wins=self._wins)


def _join(truths: Iterator[Truth], *, wins: bool) -> Truth:
    """Join truths by or (`wins` is True) or by and (it is False), as SQL does."""
    unknown = False
    for truth in truths:
        if truth is wins:
            return wins
        unknown = unknown or truth is None
    return None if unknown else not wins


def _negate(test: _Test) -> _Test:
    def negated(row: _Row) -> Truth:
        truth = test.of_row(row)
        return None if truth is None else not truth

    return _Test(negated, lambda columns: pc.invert(test.of_columns(columns)))


def _compare(sign: Callable[[Any, Any], bool], left: Any, right: Any) -> Truth:
    """Compare two values; what is missing, or of another kind, is unknown."""
    for kind in (bool, str, (int, float)):
        if isinstance(left, kind) and isinstance(right, kind):
            return sign(left, right) if kind is bool or not isinstance(left, bool) | isinstance(right, bool) else None
    return None


def _chain(values: Sequence[Any], signs: Sequence[Callable[[Any, Any], bool]]) -> Truth:
    if len(signs) == 1:
        return _compare(signs[0], values[0], values[1])
    return _join(map(_compare, signs, values, values[1:]), wins=False)


def _contains(value: Any, text: str) -> Truth:
    if isinstance(value, str):
        return text in value
    if isinstance(value, TurnTexts):
        return any(text in one for one in value)
    return text in value if isinstance(value, list | tuple) else None


def _compile_like(pattern: str, *, ignore_case: bool) -> Callable[[str], bool]:
    """Compile a pattern of `like`: pieces between `%`, looked for one behind the other, so that no text takes long."""
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    texts = pattern.split("%")
    pieces = [re.compile("".join("." if c == "_" else re.escape(c) for c in text), flags) for text in texts]
    first, *middle = pieces
    if not middle:
        return lambda text: first.fullmatch(text) is not None
    *middle, last = middle
    length = len(texts[-1])

    def matches(text: str) -> bool:
        found = first.match(text)
        for piece in middle:
            found = piece.search(text, found.end()) if found else None
        start = len(text) - length
        return found is not None and found.end() <= start and last.match(text, start) is not None

    return matches


def _unquote(text: str) -> str:
    return text[1:-1].replace(text[0] * 2, text[0])
