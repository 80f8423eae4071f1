"""TDIUC as ReForm-Eval takes it: a list of questions and a list of annotations, put together by their ids.

The framework's own folder holds `TDIUC_val_ques.json` and `TDIUC_val_anns.json`, arrays with the images as base64;
TDIUC's holds `Questions/*_questions.json` and `Annotations/*_annotations.json`, objects whose images are
COCO's numbers. Source: FudanDISC/ReForm-Eval@df1cfa7 build/TDIUC/tdiuc_dataset.py, build/configs/TDIUC_*.yaml.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmconvert.core.rows import Rejected, Row
from mmconvert.io import json_array, json_object
from mmconvert.io.json_head import is_object

KEY, TYPE = "question_id", "question_type"
TASKS = {
    "color": "TDIUC_color", "counting": "TDIUC_counting", "object_presence": "TDIUC_detection",
    "positional_reasoning": "TDIUC_position", "scene_recognition": "TDIUC_scene", "sport_recognition": "TDIUC_sport",
    "utility_affordance": "TDIUC_utility",
}  # fmt: skip
"""Type of a question -> the framework's name for the questions of that type; it scores these only."""

_FOLDERS = ("", "Questions", "Annotations")
_QUESTIONS = re.compile(r".*_(?:ques|questions)\.json")
_ANNOTATIONS = re.compile(r".*_(?:anns|annotations)\.json")


def is_tdiuc(folder: Path) -> bool:
    """Tell a folder that has both lists from any other."""
    return bool(_list_files(folder, _QUESTIONS) and _list_files(folder, _ANNOTATIONS))


def read_rows(folder: Path) -> Iterator[Row | Rejected]:
    """Read the questions with their annotations, in the order of their ids.

    The framework sorts both lists and takes them pairwise, which is the same where they belong together; here a
    question without its annotation is refused.

    Args:
        folder: A folder with one list of each kind.

    Yields:
        A row for each question, the annotation's fields beside its own.

    Raises:
        Error: A list is missing, there are several, or one is damaged.
    """
    questions, annotations = (_find_only_file(folder, kind, what) for kind, what in _KINDS)
    found: dict[Any, Mapping[str, Any]] = {}
    for item in _list(annotations, "annotations"):
        if isinstance(item, Rejected):
            yield item
        else:
            found[_build_id_key(item.fields)] = item.fields
    keys = [_build_id_key(item.fields) for item in _list(questions, "questions") if isinstance(item, Row)]
    spare = len(found.keys() - {*keys})
    remarks = (f"{spare:,} annotations have no question and are left out",) if spare else ()
    items = _list(questions, "questions")
    # Images stand in the questions, so that a file in order is not held.
    for item in items if keys == sorted(keys) else sorted(items, key=_build_sort_key):
        joined = _join_annotation(item, found) if isinstance(item, Row) else item
        if isinstance(joined, Row) and remarks:
            joined, remarks = replace(joined, remarks=remarks), ()
        yield joined


_KINDS = ((_QUESTIONS, "questions (*_ques.json)"), (_ANNOTATIONS, "annotations (*_anns.json)"))


def _list_files(folder: Path, kind: re.Pattern[str]) -> list[Path]:
    places = [folder / name for name in _FOLDERS]
    return [path for place in places if place.is_dir() for path in sorted(place.iterdir()) if kind.fullmatch(path.name)]


def _find_only_file(folder: Path, kind: re.Pattern[str], what: str) -> Path:
    files = _list_files(folder, kind)
    if len(files) != 1:
        names = ", ".join(path.name for path in files) or "none"
        raise Error(f"{folder}: expected one list of {what}, found {names}. Keep those that belong together.")
    return files[0]


def _list(path: Path, name: str) -> Iterator[Row | Rejected]:
    return json_object.rows(path, (name,)) if is_object(path) else json_array.rows(path)


def _build_id_key(fields: Mapping[str, Any]) -> tuple[bool, Any]:
    """Give the id so that ids of different types can be distinguished and put in order."""
    value = fields.get(KEY)
    return (False, value) if isinstance(value, int) else (True, str(value))


def _build_sort_key(item: Row | Rejected) -> tuple[bool, Any]:
    return _build_id_key(item.fields) if isinstance(item, Row) else (True, "")


def _join_annotation(item: Row, found: Mapping[Any, Mapping[str, Any]]) -> Row | Rejected:
    annotation = found.get(_build_id_key(item.fields))
    if annotation is None:
        message = "no annotation has the question's id. Take both lists from one release."
        return Rejected(item.where, "answer.missing", message, KEY, str(item.fields.get(KEY)))
    return replace(item, fields={**annotation, **item.fields})
