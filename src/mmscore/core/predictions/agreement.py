"""Whether two joined files ask the same: their questions and options, row by row."""

import re
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.core.arrow import build_column, build_scalar, from_numpy, to_numpy
from mmconvert.core.errors import Error
from mmscore.core.predictions.load import OPTIONS, Rows

MOST_UNLIKE = 0.02
"""Share of joined rows that may differ: published questions are corrected now and then, by a word in a few rows."""

QUESTION = "question"
_LEAST_CONTAINED = 8
"""Letters from which on a question counts as the same inside another: a prompt holds its question and more."""
_EXAMPLES = 2
_SHOWN = 90
_EXTENSION = re.compile(r"\.(?:png|jpe?g|webp|gif|bmp|tiff?)$", re.IGNORECASE)
_BLANKS = r"[\s\p{Z}]+"
_IMAGES = r"<image(?: ?\d+)?>"
_DIVIDER = "\x1f"

ANSWER_FORMS = (
    "Answer the question using a single word or phrase.",
    "Answer with the option's letter from the given choices directly.",
    "Please answer yes or no.",
)
"""Last sentences that say how to answer; with and without them a question is the same.
Source: haotian-liu/LLaVA@32cebc3 docs/Evaluation.md and its question files; MME's files."""

_ANSWER_FORM = f" ?(?:{'|'.join(re.escape(form.lower()) for form in ANSWER_FORMS)})$"


class Agreement(msgspec.Struct, frozen=True):
    """How far two joined files ask the same.

    Attributes:
        joined: Rows that have a partner.
        compared: Those of them whose questions, or options, both sides have.
        unlike: Those of the compared rows that differ.
        examples: The first few of these, to be shown.
    """

    joined: int
    compared: int = 0
    unlike: int = 0
    examples: tuple[str, ...] = ()


def compare_questions(predictions: Rows, references: Rows, partner: pa.Array) -> Agreement:
    """Compare what two files ask, for the rows that were joined.

    Questions are the same where one is the other, or holds it and it has 8 letters or more; options where they are the
    same texts in the same order. White space, case, the places of images and a last sentence of `ANSWER_FORMS` do not
    count. What a side does not say is no difference.

    Args:
        predictions: One file.
        references: The other.
        partner: For each row of the first its row number in the second, null for none.

    Raises:
        Error: A file is damaged.
    """
    joined = len(partner) - partner.null_count
    names = [name for name in (QUESTION, OPTIONS) if _has_texts(predictions, name) and _has_texts(references, name)]
    if not names:
        return Agreement(joined)
    asked = pa.Table.from_batches(references.read(names)).combine_chunks()
    compared = unlike = start = 0
    examples: list[str] = []
    for batch in predictions.read(["id", *names]):
        index = partner.slice(start, batch.num_rows)
        start += batch.num_rows
        batch, theirs = batch.filter(index.is_valid()), _take_rows(asked, to_numpy(index.drop_null()))
        known, differ = np.zeros((2, batch.num_rows), np.bool_)
        for name in names:
            ours, others = (_join_chunks(side.column(name)) for side in (batch, theirs))
            if not pc.any(pc.and_(ours.is_valid(), others.is_valid())).as_py():
                continue
            if ours.equals(others):
                known |= to_numpy(ours.is_valid())
                continue
            a, b = map(_read_texts, (ours, others))
            both = pc.and_(_has_text(a), _has_text(b))
            places = to_numpy(pc.indices_nonzero(pc.and_(both, pc.not_equal(a, b))))
            places = places[_find_unlike(a.take(places), b.take(places), contained=name == QUESTION)]
            for place in places[: _EXAMPLES - len(examples)] if len(examples) < _EXAMPLES else ():
                quoted = " against ".join(_quote(side[int(place)].as_py()) for side in (a, b))
                examples.append(f"{batch.column('id')[int(place)].as_py()}: {quoted}")
            known |= to_numpy(both)
            differ[places] = True
        compared += int(known.sum())
        unlike += int(differ.sum())
    return Agreement(joined, compared, unlike, tuple(examples))


class QuestionIndex:
    """Finds the row of a file that asks a question of a group, such as the questions about one image."""

    def __init__(self, rows: Rows) -> None:
        """Read the groups and questions of a file; the first of equal ones counts."""
        self._rows: dict[str, dict[str, int]] = {}
        for number, (group, question) in enumerate(_list_questions(rows)):
            if group and question:
                self._rows.setdefault(group, {}).setdefault(question, number)

    def find(self, group: str, question: str) -> int | None:
        """Give the row that asks the question, else the one whose question is the longest that it holds."""
        asked: Mapping[str, int] = self._rows.get(group, {})
        if question in asked:
            return asked[question]
        held = [text for text in asked if _is_contained(text, question)]
        return asked[max(held, key=len)] if held else None

    def find_among(self, texts: Sequence[str]) -> int | None:
        """Give the row whose group and question are both among some texts."""
        groups = [group for group in map(_name_group, texts) if group in self._rows]
        questions = _fold(build_column(texts, pa.string())).to_pylist() if groups else []
        found = (self.find(group, question) for group in groups for question in questions)
        return next((number for number in found if number is not None), None)


def find_by_question(predictions: Rows, references: Rows) -> tuple[pa.Array, pa.Array]:
    """Find the row number of each prediction's reference by group and question, and that of each refused row's.

    Groups that are names of images are the same with and without their extension; a prediction's id may be such a name.
    A refused row has no group and no question; whichever of its fields names a group, another one asks.

    Returns:
        A number a prediction, null for none; a number a refused row, null for none.
    """
    index = QuestionIndex(references)
    found = [index.find(group, text) for group, text in _list_questions(predictions)]
    refused = [index.find_among(refusal.texts) for refusal in predictions.rejected]
    return build_column(found, pa.int32()), build_column(refused, pa.int32())


def quote_question(rows: Rows, number: int) -> str:
    """Give the group and the question of a row, to be shown."""
    group, question = _list_questions(rows)[number]
    return f"{group} {_quote(question)}"


def _list_questions(rows: Rows) -> list[tuple[str, str]]:
    """Give the group, else the id, and the folded question of each row; "" for a row without one."""
    identity = rows.identity
    named = identity["group"] if "group" in identity.column_names else pa.nulls(len(rows), pa.string())
    groups = [_name_group(group or "") for group in pc.coalesce(named, identity["id"]).to_pylist()]
    questions = pa.Table.from_batches(rows.read([QUESTION]))[QUESTION].combine_chunks()
    return [*zip(groups, _fold(pc.fill_null(questions, build_scalar(""))).to_pylist(), strict=True)]


def _name_group(text: str) -> str:
    return _EXTENSION.sub("", text)


def _has_texts(rows: Rows, name: str) -> bool:
    """Tell whether a file has a column with our meaning of it; others may keep something else under its name."""
    try:
        return name in rows.names and all(True for _, _ in zip(rows.read([name]), range(1), strict=False))
    except Error:
        return False


def _take_rows(table: pa.Table, index: npt.NDArray[np.int32]) -> pa.Table:
    """Take rows of a table; those that stand together in it are not copied."""
    together = len(index) and index[-1] - index[0] == len(index) - 1 and (np.diff(index) == 1).all()
    return table.slice(int(index[0]), len(index)) if together else table.take(from_numpy(index))


def _join_chunks(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _read_texts(column: pa.Array) -> pa.Array:
    """Give a text a row: a question as it stands, options with a divider between them."""
    if not pa.types.is_list(column.type):
        return column
    lengths = pc.list_value_length(column)
    lengths = to_numpy(pc.fill_null(lengths, build_column([0], lengths.type)[0]))
    offsets = from_numpy(np.concatenate([[0], lengths.cumsum()]).astype(np.int32))
    lists = pa.ListArray.from_arrays(offsets, pc.fill_null(column.flatten(), build_scalar("")))
    texts = pc.binary_join(lists, build_scalar(_DIVIDER))
    return pc.utf8_rtrim(texts, _DIVIDER)


def _has_text(texts: pa.Array) -> pa.Array:
    return pc.fill_null(pc.greater(pc.binary_length(texts), build_scalar(0)), build_scalar(False))


def _find_unlike(a: pa.Array, b: pa.Array, *, contained: bool) -> npt.NDArray[np.int64]:
    """Find the places at which two columns of texts differ; `contained`: a text may hold the other."""
    places = np.arange(len(a))
    if contained:
        # Most prompts hold their question letter by letter, which is told faster than texts are folded.
        places = places[_find_apart(a, b)]
    one, other = _fold(a.take(places)), _fold(b.take(places))
    said = pc.and_(_has_text(one), _has_text(other))
    differ = to_numpy(pc.indices_nonzero(pc.and_(said, pc.not_equal(one, other))))
    if contained:
        differ = differ[_find_apart(one.take(differ), other.take(differ))]
    found: npt.NDArray[np.int64] = places[differ]
    return found


def _find_apart(a: pa.Array, b: pa.Array) -> npt.NDArray[np.bool_]:
    """Tell the rows in which neither text holds the other, or is too short to say so."""
    pairs = zip(a.to_pylist(), b.to_pylist(), strict=True)
    return np.array([not _is_contained(*sorted(pair, key=len)) for pair in pairs], np.bool_)


def _fold(texts: pa.Array) -> pa.Array:
    bare = pc.replace_substring_regex(pc.replace_substring_regex(texts, _IMAGES, " "), _BLANKS, " ")
    trimmed = pc.utf8_trim_whitespace(pc.replace_substring_regex(bare, f" ?{_DIVIDER} ?", _DIVIDER))
    return pc.replace_substring_regex(pc.utf8_lower(trimmed), _ANSWER_FORM, "")


def _is_contained(shorter: str, longer: str) -> bool:
    return len(shorter) >= _LEAST_CONTAINED and shorter in longer


def _quote(text: str) -> str:
    words: Sequence[str] = text.replace(_DIVIDER, " | ").split()
    line = " ".join(words)
    return f"{line[:_SHOWN]!r}{'...' if len(line) > _SHOWN else ''}"
