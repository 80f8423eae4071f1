"""Rows of plain tables: a question, an answer or a prediction in columns with names that people use.

Shared by formats that no framework made, and that `--map FIELD=COLUMN` reaches.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from mmconvert.chat.conversations import list_elements, load_image
from mmconvert.chat.plain_answers import PLACES, describe_unclear_place, is_unclear_place, read_answers, read_place
from mmconvert.chat.plain_options import find_option_columns, is_option_column, read_plain_options
from mmconvert.chat.videos import ShownVideos, list_values
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import LETTERS, Image, Part, Record, Turn, encode_json
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import NO_SAMPLING
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmconvert.core.text.options import (
    build_plain_prompt,
    gather_lettered_options,
    list_letter_columns,
    require_several,
)
from mmconvert.core.text.placeholders import interleave, list_slots
from mmconvert.images.loader import ENDINGS
from mmconvert.images.other_root import find_other_root
from mmconvert.images.video import VIDEO_ENDINGS
from mmconvert.io.columns import keep_json_fields
from mmconvert.io.field_mapping import find_column, read_mapped
from mmconvert.plugins.format import Context

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "question_id", "sample_id", "uid", "qid", "index"),
    "image": (
        *("image", "images", "image_path", "image_paths", "image_file", "file_name", "filename"),
        *("img", "img_path"),
    ),
    "video": ("video", "videos", "video_path", "video_paths", "video_file"),
    "question": ("question", "prompt", "query", "instruction", "text", "problem"),
    "options": ("options", "choices"),
    "answer": ("answer", "answers", "gt", "gt_answer", "label", "target", "solution", "ground_truth"),
    "answer_index": ("answer_index", "correct_index", "correct_choice_idx"),
    "prediction": (*("prediction", "response", "output", "model_answer", "model_output", "model_prediction", "pred"),),
    "hint": ("hint",),
    "category": ("category",),
    "l2_category": ("l2_category", "l2-category"),
    "split": ("split",),
    "group": ("group",),
}
"""Field -> names of its column; the first one counts whatever else is there."""

FURTHER_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "id": ("idx", "pid", "data_id", "item_id", "example_id", "doc_id"),
    "image": (
        *("image_name", "imagename", "image_filename", "img_name", "img_filename", "img_file", "picture", "photo"),
        *("filepath", "file_path", "image_url", "image_urls", "img_url"),
    ),
    "video": ("video_name", "video_url", "clip", "clip_path", "clip_file", "clip_name"),
    "question": ("question_text", "user_prompt", "input"),
    "answer": (
        *(
            "answer_key",
            "gold",
            "gold_answer",
            "reference",
            "reference_answer",
            "correct_answer",
            "groundtruth",
            "expected",
        ),
        *("expected_answer", "labels", "caption", "captions"),
    ),
    "prediction": (
        *("predict", "predicted", "predicted_answer", "pred_answer", "answer_pred", "predictions", "outputs"),
        *("model_response", "model_pred", "generated_text", "generated_answer", "generated", "generation"),
        *("completion", "hypothesis", "llm_response", "vlm_response"),
    ),
}
"""Field -> names that are taken where a column has none of `SPELLINGS`."""

SCORES = ("clip",)
"""Columns of videos whose name others give to numbers, CLIP's scores: a number in them is no video."""

CAPTIONS = ("caption", "captions")
"""Columns of a reference that says itself what was asked: to describe the image."""

REFERENCE_BESIDE_ANSWER = "annotation"
"""Beside it `answer` is the model's. Source: QwenLM/Qwen-VL eval_mm/evaluate_vqa.py, and InternVL's copy."""

_IMAGE_ENDINGS = tuple(ENDINGS)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

CAPTION_PROMPT = "Describe the image."
Columns = Mapping[str, tuple[str, ...]]


SHARED_ID = "#shared id"
"""Field under which readers hand over ids that do not tell the rows of the file apart."""


def is_known_column(column: str) -> bool:
    """Tell whether a column has a name that is taken for a field."""
    names = {column, _fold_name(column)}
    known = (*SPELLINGS.values(), *FURTHER_SPELLINGS.values())
    if is_option_column(_fold_name(column)):
        return True
    return column in LETTERS or any(not names.isdisjoint(spellings) for spellings in known)


def _fold_name(name: str) -> str:
    """Spell a name as `SPELLINGS` does.

    Example:
        >>> _fold_name("questionId"), _fold_name("Model Answer"), _fold_name("GT")
        ('question_id', 'model_answer', 'gt')
    """
    return _HUMP.sub("_", name.strip()).lower().replace(" ", "_").replace("-", "_")


@lru_cache(4096)
def find_columns(names: tuple[str, ...], mapping: tuple[tuple[str, str], ...] = ()) -> tuple[Columns, Columns]:
    """Find each field's columns, and the columns of fields that have several."""
    found: dict[str, tuple[str, ...]] = {}
    for field, column in mapping:
        found[field] = (*found.get(field, ()), column)
    used = {find_column(names, column) for _, column in mapping}
    several: dict[str, tuple[str, ...]] = {}
    free = [name for name in names if name not in used]
    for field, spellings in SPELLINGS.items():
        there = _find_spelled(free, spellings) or _find_spelled(free, FURTHER_SPELLINGS.get(field, ()))
        if field in found or not there:
            continue
        if there[0] == field or len(there) == 1 or _fold_name(there[0]) == field:
            found[field] = (there[0],)
        else:
            several[field] = tuple(there)
    if "options" not in found and not any(len(field) == 1 for field in found) and not list_letter_columns(names):
        found |= find_option_columns({_fold_name(name): name for name in free})
    if "answer" in found:
        # What the user names goes before what has a usual name, and an answer in words before its place.
        mapped = {field for field, _ in mapping}
        for field in ["answer"] if mapped & {*PLACES} and "answer" not in mapped else {*PLACES} - mapped:
            found.pop(field, None)
    if (
        REFERENCE_BESIDE_ANSWER in free
        and found.get("answer") == ("answer",)
        and "prediction" not in {*found, *several}
    ):
        found |= {"answer": (REFERENCE_BESIDE_ANSWER,), "prediction": ("answer",)}
    return found, several


def _find_spelled(names: Sequence[str], spellings: Sequence[str]) -> list[str]:
    """Find the columns with names of a field, in the names' order; those in other letters where none is spelled so."""
    exact = [name for name in spellings if name in names]
    if exact or not spellings:
        return exact
    folded = {_fold_name(name): name for name in reversed(names)}
    return [folded[name] for name in spellings if name in folded]


def describe_columns(columns: Columns) -> str:
    """Say which column is taken for which field, as options to type.

    Example:
        >>> describe_columns({"image": ("file",), "question": ("text",)})
        '--map image=file --map question=text'
    """
    return " ".join(f"--map {field}={column}" for field, named in columns.items() for column in named)


def read_plain_row(row: Row, context: Context) -> Iterable[Record]:
    """Read one row.

    Args:
        row: The row; `SHARED_ID` in it is an id that other rows have too.
        context: Images, and the columns that the user named.

    Yields:
        One record.

    Raises:
        RowError: `question.missing`, `answer.not_an_option`, `<field>.type`, or the codes of images and options.
    """
    columns, _ = find_columns(tuple(row.fields), context.mapping)

    def read(field: str) -> Any:
        named = columns.get(field)
        value = None if named is None else read_mapped(row.fields, named[0])
        # NaN is what pandas writes for an empty cell among numbers.
        return None if isinstance(value, float) and math.isnan(value) else value

    def read_text(field: str) -> str | None:
        return _read_text(read(field), field, columns.get(field, (field,))[0])

    shared = _read_id(row.fields.get(SHARED_ID), "id")
    key = _read_id(read("id"), columns.get("id", ("id",))[0]) or context.numbered(row)
    prediction = read_text("prediction")
    images = _load_images(
        row.fields, columns.get("image", ()), context, needed=prediction is None and not context.for_scoring
    )
    question, hint, reply = read_text("question"), read_text("hint"), read_text("reply")
    options, letters = _read_options(row.fields, columns, read("options"))
    question, images = _show_videos(row.fields, columns.get("video", ()), question, images, context, prediction is None)
    if not context.for_scoring:
        require_several(options, columns.get("options", ("A",))[0])
    asked = next((field for field in ("answer", *PLACES) if field in columns), "answer")
    label, named = read(asked), columns.get(asked, (asked,))[0]
    if asked in PLACES:
        answers = read_place(label, named, PLACES[asked], options)
    else:
        answers = read_answers(label, named, options, context.for_scoring)
    known = prediction is not None or (answers and (images or "id" in columns or shared))
    if not (question and question.strip()) and not known and not (images and reply):
        name = columns.get("question", ("question",))[0]
        raise RowError("question.missing", name, "the row has no question. Give it one, or leave the row out.")
    turns, shown = _build_turns(question, hint, options, images, reply, context)
    taken = {named for all_named in columns.values() for named in all_named} | {*letters, SHARED_ID}
    taken -= {*columns.get("video", ())} - context.videos
    extra = {name: value for name, value in row.fields.items() if name not in taken}
    if "image" not in columns:
        _warn_of_media(extra, "video" not in columns, context)
    yield Record(
        id=key,
        sample=key,
        group=read_text("group") if shared is None else shared,
        messages=turns,
        task=context.task or _choose_task(question, options, answers, images),
        source=context.source(row),
        images=shown,
        question=question,
        hint=hint,
        options=options,
        answer=answers[0] if answers else None,
        answers=answers,
        label=None if label is None else encode_json(label),
        category=read_text("category"),
        l2_category=read_text("l2_category"),
        split=read_text("split"),
        dataset=context.dataset,
        subset=context.subset,
        extra=keep_json_fields(extra, context),
        prediction=prediction,
    )


def _read_id(value: Any, column: str) -> str | None:
    """Read an id; a number with a point is none, for it would not be the 12 of another table."""
    if isinstance(value, bool) or not (value is None or isinstance(value, str | int)):
        raise RowError("id.type", column, f"expected a text or an integer {show(value)}.")
    return None if value is None else str(value).strip() or None


def _read_text(value: Any, field: str, column: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RowError(f"{field}.type", column, f"expected a text {show(value)}.")
    return str(value)


def _load_images(fields: Mapping[str, Any], named: Sequence[str], context: Context, needed: bool) -> tuple[Image, ...]:
    """Load the images of a row; one that is missing refuses the row where it is needed."""
    images: list[Image] = []
    for column in named:
        value = read_mapped(fields, column)
        if isinstance(value, str) and looks_like_list(value):
            with in_field(column):
                value = parse_list(value)
        for place, item in list_elements(value, column):
            if item is None or item == "":
                continue
            try:
                with in_field(place):
                    images.append(load_image(item, len(images) + 1, context))
            except RowError as error:
                if needed or error.code not in ("image.missing", "image.remote"):
                    raise
                roots = context.images.roots if isinstance(item, str) else ()
                found = find_other_root(roots[0], item) if roots else None
                where = "" if found is None else f"; the folder that has it: --image-root={found}"
                context.warn(f"an image is missing; its row needs none and is kept without it{where}")
    return tuple(images)


def _warn_of_media(fields: Mapping[str, Any], videos: bool, context: Context) -> None:
    """Say of a column that is taken for nothing that it names images, or videos where the row has none."""
    for name, value in fields.items():
        end = value[-5:].lower() if isinstance(value, str) else ""
        if end.endswith(_IMAGE_ENDINGS):
            context.warn(f"the column {name!r} names images, which are not shown; to show them: --map image={name}")
        elif videos and end.endswith(VIDEO_ENDINGS):
            context.warn(f"the column {name!r} names videos, which are not shown; to show them: --map video={name}")


def _show_videos(
    fields: Mapping[str, Any],
    named: Sequence[str],
    question: str | None,
    images: tuple[Image, ...],
    context: Context,
    needed: bool,
) -> tuple[str | None, tuple[Image, ...]]:
    """Load frames where the question shows a video, else behind the images; one with a prediction may do without."""
    videos = [one for column in named for one in list_values(read_mapped(fields, column), column)]
    if videos and any(_fold_name(column) in SCORES for column in named):
        videos = [one for one in videos if not _is_number(one[1])]
    if not videos:
        return question, images
    if context.images.sampling is None:
        if not needed or context.for_scoring:
            return question, images
        raise RowError("media.unsupported", videos[0][0], NO_SAMPLING)
    shown = ShownVideos(videos, {image.slot: image for image in images}, context)
    try:
        question = question and shown.expand(question)
        shown.load_rest()
    except RowError as error:
        if needed or error.code not in ("video.missing", "video.remote"):
            raise
        context.warn("a video is missing; its row has a prediction and is kept without it")
        return question, images
    return question, tuple(shown.images.values())


def _is_number(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def _read_options(
    fields: Mapping[str, Any], columns: Columns, value: Any
) -> tuple[tuple[str | None, ...], Sequence[str]]:
    """Read the options and name the columns that hold one each."""
    mapped = {letter: named[0] for letter, named in columns.items() if len(letter) == 1}
    if value is not None and value != "":
        name = columns["options"][0]
        with in_field(name):
            return read_plain_options(value), ()
    letters = mapped or {letter: letter for letter in list_letter_columns(fields)}
    cells = (
        _read_text(read_mapped(fields, column), "options", column) or None for _, column in sorted(letters.items())
    )
    return gather_lettered_options(cells), [*letters.values()]


def find_unclear_place(rows: Iterable[Mapping[str, Any]], columns: Columns) -> str | None:
    """Say what to type where rows give an answer as a number of which nobody can tell the option; None elsewhere."""
    column = next(iter(columns.get("answer", ())), "")
    for fields in rows if column else ():
        try:
            options, _ = _read_options(fields, columns, read_mapped(fields, columns.get("options", ("options",))[0]))
            if options and is_unclear_place(read_mapped(fields, column), options):
                return describe_unclear_place(column)
        except RowError:
            continue
    return None


def _build_turns(
    question: str | None,
    hint: str | None,
    options: Sequence[str | None],
    images: tuple[Image, ...],
    reply: str | None,
    context: Context,
) -> tuple[tuple[Turn, ...], tuple[Image, ...]]:
    """Put images where placeholders name them, those that none names in front."""
    if not question and not images:
        return (), ()
    prompt = build_plain_prompt(question or CAPTION_PROMPT, hint, options)
    named = list_slots(prompt)
    first = tuple(image for image in images if image.slot not in named)
    parts, shown = interleave(prompt, {image.slot: image for image in images}, "question")
    user = Turn("user", (*(Part("image") for _ in first), *parts))
    turns = (user,) if reply is None else (user, Turn("assistant", (Part("text", reply),)))
    return turns, (*first, *shown)


def _choose_task(
    question: str | None, options: Sequence[str | None], answers: Sequence[str], images: Sequence[Image]
) -> str:
    if options:
        return "multiple_choice"
    if not question and images:
        return "caption"
    says = {answer.strip().lower().rstrip(".") for answer in answers}
    return "yes_no" if says and says <= {"yes", "no"} else "vqa"
