"""A table of anybody: one row a question, an answer or a prediction, in columns with names that people use.

It is taken where no framework's format fits and each field has one column. A field's own name counts before its other
spellings; of several other ones none is taken, and `--map FIELD=COLUMN` decides. `--map` also names columns that are
called otherwise, reaches into objects (`answer=meta.gold`) and gives one text to all rows (`split=:val`).

| field | columns |
| --- | --- |
| id | id, question_id, sample_id, uid, qid, index; without one rows are numbered |
| image | image, images, image_path, image_paths, image_file, file_name, filename, img, img_path |
| video | video, videos, video_path, video_paths, video_file, clip, clip_path; its frames, with `--frames` or `--fps` |
| question | question, prompt, query, instruction, text, problem |
| options | options, choices; or A, B, C, ..., option_a, option_b, ... or option_1, option_2, ... with an option each |
| answer | answer, answers, gt, gt_answer, label, target, solution, ground_truth |
| answer_index | answer_index, correct_index, correct_choice_idx: the place of the option, the first is 0 |
| answer_number | only by `--map`: the place of the option, the first is 1 |
| prediction | prediction, response, output, model_answer, model_output, model_prediction, pred |
| response | only by `--map`: what the assistant says, for training |

A JSON object holds a row under each id, or only its prediction: `{"q1": "yes", "q2": "no"}`. Where rows share an id, it
is none of theirs: all are numbered, and those with one id share a `group`.

An image is a path, a data URL, an address, base64, bytes, or an object with `bytes` and `path`; a list holds several.
Options are a list, also as text, an object with a text for each letter, objects of a letter and a text (`label` and
`text`), or one text, `A. cat; B. dog`, also in lines; a letter in front of each is taken off.
The answer to options is a letter (`B`, `(B)`, `B.`, `B) text`) or the exact text of one option; true and false name an
option of that word, or yes and no. Any other number is refused, for it may count from 0 or from 1: `--map
answer_index=COLUMN` counts from 0, `--map answer_number=COLUMN` from 1. A boolean without options is refused: write the
word that responses use.

Kept: other columns in `extra`.
Refused: rows without a question, a prediction, or an answer that an id or an image is there for; an answer that is no
option; values of other types.
Lost: nothing; an image that is not available is named in a warning where the row has a prediction.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.chat.plain_rows import (
    CAPTIONS,
    SHARED_ID,
    SPELLINGS,
    Columns,
    describe_columns,
    find_columns,
    find_unclear_place,
    is_known_column,
    read_plain_row,
)
from mmconvert.core.rows import DELIMITERS, Rejected, Row, Span
from mmconvert.io import json_array, json_head, json_object, jsonl, parquet, tables, xlsx
from mmconvert.io.field_mapping import CONSTANT
from mmconvert.plugins.format import Format, Sample

OTHERS = (
    "messages",
    "conversations",
    "conversation",
    "history",
    "chosen",
    "rejected",
    "chosen_messages",
    "images_info",
)
"""Columns of conversations, which other formats read."""

TRAINING = (("instruction", "output"), ("query", "response"), ("prompt", "completion"), ("input", "output"))
"""Columns in which trainers hold a question and the response to learn; nobody can tell it from a prediction."""

LISTS = ("data", "annotations", "questions", "samples", "examples", "items", "rows", "records", "results", "instances")
"""Members of an object that list its rows; what stands beside is about the file."""

_BESIDE = {"image", "video", "answer", "answer_index", "prediction", "options"}
"""Fields one of which makes a question of a text."""
_UNKNOWN = "COLUMN"
_ALIKE = 0.7
"""How alike two names are at least for one to be offered for the other, from 0 to 1."""


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    """Read a file with ids twice: whether each is one row's is known at its end."""
    rows = _open_rows(path)
    first = next((row for row in rows if isinstance(row, Row)), None)
    column = None if first is None else _find_id(tuple(first.fields))
    if column is None:
        return _open_rows(path)
    counts = Counter(str(row.fields.get(column)) for row in chain([first], rows) if isinstance(row, Row))
    del counts["None"]
    if max(counts.values(), default=1) == 1:
        return _open_rows(path)
    return (_share_id(row, column) if isinstance(row, Row) else row for row in _open_rows(path))


def _open_rows(path: Path) -> Iterator[Row | Rejected]:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return parquet.rows(path)
    if suffix == ".xlsx":
        return xlsx.rows(path, needed=is_known_column)
    if suffix == ".json":
        is_object = json_head.is_object(path)
        if is_object and (name := _find_list(json_object.head(path))) is not None:
            return json_object.rows(path, (name,))
        return json_object.read_keyed_rows(path, "id", "prediction") if is_object else json_array.rows(path)
    return tables.rows(path) if suffix in DELIMITERS else jsonl.rows(path)


def _find_id(names: tuple[str, ...]) -> str | None:
    return find_columns(names)[0].get("id", (None,))[0]


def _share_id(row: Row, column: str) -> Row:
    named = {SHARED_ID if name == column else name: value for name, value in row.fields.items()}
    return Row(named, row.where, row.remarks)


def _find_mismatch(sample: Sample) -> str | None:
    if clash := next((name for name in OTHERS if name in sample.columns), None):
        return f"a column {clash!r} of conversations, which are not read. Look at the formats that have it"
    if sample.suffix == ".json" and json_head.is_object(sample.path):
        keyed = _read_keyed_sample(sample)
        return _find_mismatch(keyed) if keyed is not None else "one object and not a row for each id. Put rows in [...]"
    columns, several = find_columns(sample.columns)
    if several:
        field, names = next(iter(several.items()))
        return f"several columns for {field}, {' and '.join(map(repr, names))}. Name one: --map {field}={names[0]}"
    asks, answers = (columns.get(field, ("",))[0] for field in ("question", "prediction"))
    if (asks, answers) in TRAINING and "answer" not in columns:
        return (
            f"a column {answers!r}, a prediction or a response to train on. Choose one: --map question={asks} and "
            f"--map prediction={answers} or --map response={answers}"
        )
    if (unclear := find_unclear_place(sample.rows, columns)) is not None:
        return unclear
    said = columns.keys() & {"prediction", "answer", "answer_index"}
    described = "image" in columns and columns.get("answer", ("",))[0].lower() in CAPTIONS
    if "question" not in columns and not ("id" in columns and said) and not described and len(said) < 2:
        close = {field: _suggest_column(field, sample, columns) for field in ("question", "prediction")}
        for field, column in close.items():
            if column != _UNKNOWN:
                return f"no column for the {field}. Name it: --map {field}={column}"
        unnamed = [field for field in ("question", "image", "answer") if field not in columns]
        maps = " ".join(f"--map {field}={_UNKNOWN}" for field in unnamed)
        return f"no column for the question or, with an id, the prediction. Name those that there are: {maps}"
    if "question" in columns and not columns.keys() & _BESIDE:
        column = _suggest_column("image", sample, columns)
        return f"nothing beside the question, no image, answer or prediction. Name one: --map image={column}"
    return None


def _suggest_column(field: str, sample: Sample, columns: Columns) -> str:
    """Give the column that is spelled most like one of a field's names, `_UNKNOWN` where none is."""
    taken = {name for named in columns.values() for name in named}
    free = [name for name in sample.columns if name not in taken]
    close = (match for word in SPELLINGS[field] for match in get_close_matches(word, free, 1, _ALIKE))
    return next(close, _UNKNOWN)


def _find_list(members: Mapping[str, Any]) -> str | None:
    """Name the member of an object that lists its rows, None where none does."""
    return next((name for name in LISTS if _is_listed(members.get(name))), None)


def _is_listed(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _read_keyed_sample(sample: Sample) -> Sample | None:
    """Give the head of the rows that one object holds, under their ids or in a list; None where it holds none."""
    if len(sample.rows) != 1 or not json_head.is_object(sample.path):
        return None
    if (listed := _find_list(sample.rows[0])) is not None:
        rows = tuple(sample.rows[0][listed])
        return replace(sample, suffix="", columns=tuple(dict.fromkeys(name for row in rows for name in row)), rows=rows)
    values = [*sample.rows[0].values()]
    if any(map(is_known_column, sample.columns)):
        return None
    if len(values) > 1 and all(isinstance(value, str) for value in values):
        return replace(sample, suffix="", columns=("id", "prediction"), rows=())
    if len(values) > 1 and all(isinstance(value, dict) for value in values):
        names = dict.fromkeys(name for value in values for name in value)
        return replace(sample, suffix="", columns=("id", *(name for name in names if name != "id")), rows=())
    return None


def _describe(sample: Sample, mapping: tuple[tuple[str, str], ...]) -> str:
    if sample.suffix == ".json":
        sample = _read_keyed_sample(sample) or sample
    columns, _ = find_columns(sample.columns, mapping)
    fields = {field: named for field, named in columns.items() if not named[0].startswith(CONSTANT)}
    return describe_columns(fields)


FORMAT = Format(
    summary="Any table of questions, answers or predictions; --map names its columns",
    suffixes=(".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx"),
    rows=_read_rows,
    records=read_plain_row,
    mismatch=_find_mismatch,
    describe=_describe,
    fallback=True,
    videos=True,
)
