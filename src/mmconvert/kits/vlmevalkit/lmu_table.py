"""The table that VLMEvalKit and MMBench share: one question a row, letters as columns.

The `image` cell is base64, a list of base64, or the `index` of another row (before or behind) whose
image it shares; `image_path` is a path or a list of paths inside an image root. Options may leave
gaps. `answer` is a letter where there are options, else a text or a list of texts.

Rotation k of question i, its options turned by k, has the index i + k * 1,000,000 (ten times more where an index is
that large), and `g_index` may name i. A row may hold a whole conversation: lists of questions and answers,
`<ImageHere>` for images.

Source: open-compass/VLMEvalKit@e8e78f0 vlmeval/dataset/{image_base,image_mt}.py, utils, vlmeval/tools.py, its guide.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import LETTERS, Image, Part, Record, Turn, encode_json
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmconvert.core.text.options import build_plain_prompt, gather_lettered_options, read_answer_letter
from mmconvert.core.text.placeholders import interleave, list_slots
from mmconvert.images.loader import decode_plain_base64, is_data_url
from mmconvert.io import tables
from mmconvert.io.columns import HEADERS, keep_extra_fields, respell
from mmconvert.kits.vlmevalkit.circular import FIRST_OFFSET
from mmconvert.kits.vlmevalkit.datasets import CHAT, find_lmudata_root, is_circular, may_have_rounds
from mmconvert.kits.vlmevalkit.videos import VIDEOS, show_table_videos, take_candidates, take_table_videos
from mmconvert.plugins.format import Context

REFERENCE_LENGTH = 64
"""An `image` cell of at most this many characters may name another row."""

WORDS = ("index", "question", "hint", "answer", "category", "l2-category", "split", "image", "image_path", "g_index")
"""The columns that have a meaning, beside the letters; case, `-` and `_` may differ."""

_BASE64 = re.compile(rb"[0-9]*[A-Za-z+/]")
"""How base64 begins that is neither a list nor a data URL, nor a number too long for a reference."""

_TAKEN = ("category", "l2-category", "split", "prediction")


def read_rows(path: Path, span: Span | None, required: Sequence[Sequence[str]]) -> Iterator[Row | Rejected]:
    """Read a TSV (or CSV), what rows say about each other settled.

    Args:
        path: The file.
        span: Bytes to read, None for all.
        required: Columns the table must have, each as a choice of names.

    Yields:
        Rows; an image in base64 is decoded, an `image` cell that names another row is replaced by that row's
        image, and a rotated copy of another row names it under `ROTATION_OF`.

    Raises:
        Error: A required column is missing, and the errors of `sources.tables.rows`.
    """
    names, spelled = respell(dict.fromkeys(tables.read_header(path)), WORDS)
    tables.require_columns(f"{path}:1", required, names)
    neighbours = _Neighbours(path, spelled, told=is_circular(path.stem) or "g_index" in names)
    for item in tables.rows(path, span, readers={spelled.get("image", "image"): _decode_cell}):
        if isinstance(item, Row):
            try:
                yield neighbours.resolve_row(item)
            except RowError as error:
                without = replace(item, fields={**item.fields, error.field.partition("[")[0]: None})
                yield replace(Rejected.of(error, item.where, read_index(item.fields)), row=without)
        else:
            yield item


def _decode_cell(cell: tables.Cell) -> bytes | None:
    """Decode a cell that holds one image as plain base64; any other is taken apart as a text."""
    return decode_plain_base64(cell) if len(cell) > REFERENCE_LENGTH and _BASE64.match(cell) else None


def is_result(columns: Iterable[str]) -> bool:
    """Tell by its columns whether a table holds the framework's predictions and no images.

    Example:
        >>> is_result(["index", "A", "prediction"]), is_result(["index", "image", "prediction"])
        (True, False)
        >>> is_result(["id", "index", "prediction"])
        False
    """
    names = respell(dict.fromkeys(columns), WORDS)[0].keys()
    own = "id" not in names or bool({"A", "l2-category"} & names)
    return {"index", "prediction"} <= names and "image" not in names and own


class TableSettings(msgspec.Struct, frozen=True):
    """What a format knows about its table beside the rows.

    Attributes:
        dataset: Benchmark name.
        task: Task of the rows; None takes multiple choice where there are options, else vqa.
        caption_prompt: The prompt of a caption task whose table has no questions.
        is_result: The rows hold predictions: they need no image (`image_path` without `image` is only kept) and no
            question.
        circular: Every row belongs to a rotated group; else the name, `g_index` and other rows tell.
    """

    dataset: str | None = None
    task: str | None = None
    caption_prompt: str = ""
    is_result: bool = False
    circular: bool = False


def build_record(row: Row, context: Context, how: TableSettings) -> Record:
    """Give a row its meaning.

    Args:
        row: A row, columns spelled as in the file; a prediction, if there is one, is a text.
        context: Images and warnings.
        how: What the table's format says.

    Returns:
        The record; columns without a place are in `extra`.

    Raises:
        RowError: The index, the question, the image or the answer is missing or wrong.
    """
    fields, headers = respell(row.fields, WORDS)
    if "answer" not in fields and "answers" in fields:  # as in VizWiz
        fields["answer"], headers["answer"] = fields.pop("answers"), "answers"
    base, name = fields.pop(ROTATION_OF, None), how.dataset or row.where.stem
    key = _read_text(fields.pop("index", None))
    if not key:
        raise RowError("id.missing", "index", "the row has no index. Give each row one of its own.")
    options = gather_lettered_options([fields.pop(letter, None) for letter in _list_letters(tuple(fields))])
    about_video = not how.is_result and any(column in fields for column in VIDEOS)
    options = options or (take_candidates(fields) if about_video else ())
    task = how.task or ("multiple_choice" if options else "vqa")
    head = _read_text(fields.get("g_index"))
    rotated = base is not None or how.circular or head is not None or is_circular(name)
    sample, variant = read_rotation(key, head, options) if rotated else (key, None)
    # What a row shares with others: its question, or the image of yes/no questions.
    group = head if variant is None else sample
    path = _read_text(fields.get("image_path"))
    images = _load_images(fields, context, name, how)
    videos = take_table_videos(fields, context) if about_video else ()
    if group is None and task == "yes_no":
        # Table 1 of the framework's guide leaves image_path of MME out; there equal images are one.
        group = path or "".join(image.sha256 for image in images)[:REFERENCE_LENGTH] or None
    question, hint, label = (fields.pop(name, None) for name in ("question", "hint", "answer"))
    if videos:
        question, images = show_table_videos(videos, question, images, context)
    answer, answers = _read_answers(label, options, task, context)
    asked = how.caption_prompt if question is None and task == "caption" else question or ""
    if asked.strip():
        parts, shown = _build_prompt(build_plain_prompt(asked, hint, options), images)
    elif not how.is_result:
        raise RowError("question.missing", "question", f"the row has no question {show(question)}.")
    else:
        parts, shown = (), ()
    slots = {image.slot for image in shown}
    category, l2_category, split, prediction = [fields.pop(name, None) for name in _TAKEN]
    extra = keep_extra_fields(fields)
    if headers:
        extra[HEADERS] = headers
    return Record(
        id=key,
        sample=sample,
        variant=variant,
        group=group,
        messages=(Turn("user", parts),) if parts else (),
        task=task,
        source=context.source(row),
        images=shown,
        question=question,
        hint=hint,
        options=options,
        answer=answer,
        answers=answers,
        label=None if label is None else encode_json(label),
        category=category,
        l2_category=l2_category,
        split=split,
        dataset=how.dataset,
        subset=context.subset,
        attachments=tuple(image for image in images if image.slot not in slots),
        extra=extra,
        prediction=prediction,
    )


@lru_cache
def _list_letters(columns: tuple[str, ...]) -> str:
    """Give the letters up to the last one that is a column; worked out once for the rows of a file."""
    return LETTERS[: max((LETTERS.index(name) + 1 for name in columns if name in tuple(LETTERS)), default=0)]


def _read_text(value: Any) -> str | None:
    return None if value is None else str(value).strip()


class _Neighbour(msgspec.Struct, frozen=True):
    """Where a row begins in the file, and what its rotated copies have in common with it."""

    offset: int
    fingerprint: int


class _Neighbours:
    """Settles what a row says by pointing to another: its image, and whose rotated copy it is."""

    def __init__(self, path: Path, spelled: Mapping[str, str], told: bool) -> None:
        self._index_column, self._image_column = (spelled.get(word, word) for word in ("index", "image"))
        # A table that tells its rotations by name or column need not be read twice for them.
        self._path, self._told = path, told
        self._found: dict[str, _Neighbour] | None = None

    def resolve_row(self, row: Row) -> Row:
        base = None if self._told else parse_base_index(_read_text(row.fields.get(self._index_column)))
        if (
            base is not None
            and base in self._build_index()
            and self._build_index()[base].fingerprint == compute_fingerprint(row.fields)
        ):
            row = replace(row, fields={**row.fields, ROTATION_OF: base})
        return self._add_image(row)

    def _add_image(self, row: Row) -> Row:
        name = self._image_column
        cell = row.fields.get(name)
        if cell is None or isinstance(cell, bytes) or (len(cell) > REFERENCE_LENGTH and "[" not in cell[:2]):
            return row
        if looks_like_list(cell):
            with in_field(name):
                items = parse_list(cell)
            if not any(isinstance(i, str | int) and len(str(i)) <= REFERENCE_LENGTH for i in items):
                return row
            for place, item in enumerate(items):
                with in_field(f"{name}[{place}]"):
                    items[place] = self._follow_reference(str(item), name) or item
            return replace(row, fields={**row.fields, name: encode_json(items)})
        with in_field(name):
            shared = self._follow_reference(cell, name)
        return row if shared is None else replace(row, fields={**row.fields, name: shared})

    def _follow_reference(self, cell: str, name: str) -> str | None:
        """Follow references from a cell; None where the cell names no row."""
        seen: set[str] = set()
        found: str | None = None
        while len(cell) <= REFERENCE_LENGTH and cell.strip() in self._build_index():
            key = cell.strip()
            if key in seen:
                raise RowError(
                    "image.reference", "", f"the rows that this cell names go round in a circle {show(key)}."
                )
            seen.add(key)
            target = tables.read_row(self._path, self._build_index()[key].offset)
            image = target.get(name)
            if image is None:
                raise RowError("image.reference", "", f"row {key!r} has no image to share.")
            cell = found = image
        return found

    def _build_index(self) -> dict[str, _Neighbour]:
        # Read once, and only for a table that points to other rows at all: they may stand behind.
        if self._found is None:
            self._found = {}
            for item in tables.rows(self._path):
                if isinstance(item, Row) and item.where.offset is not None:
                    key = _read_text(item.fields.get(self._index_column))
                    if key is not None:
                        self._found.setdefault(key, _Neighbour(item.where.offset, compute_fingerprint(item.fields)))
        return self._found


def _load_images(fields: dict[str, Any], context: Context, name: str, how: TableSettings) -> list[Image]:
    cell = fields.pop("image", None)
    if cell is None and how.is_result:
        return []
    paths = fields.pop("image_path", None)
    names = _list("image_path", paths) if paths is not None else []
    images: list[Image] = []
    if cell is None:
        if not names:
            if any(map(fields.get, VIDEOS)):
                return []
            raise RowError("image.absent", "image", "the row has no image. Leave it out, or give its image.")
        loader = replace(context.images, roots=(*context.images.roots, *_list_kit_roots(name)))
        for place, reference in _list_elements("image_path", paths, names):
            with in_field(place):
                images.append(loader.of_reference(reference, len(images) + 1))
        return images
    for place, written in _list_elements("image_path", paths, names):
        # The frameworks write the decoded image to this name below their root.
        if re.match(r"[~/\\]|[a-zA-Z]:", written) or "\\" in written or "\0" in written or ".." in written.split("/"):
            raise RowError("image.path", place, f"the name leaves the image root {show(written)}.")
    if isinstance(cell, bytes):
        with in_field("image"):
            return [context.images.of_bytes(cell, 1, *names[:1])]
    for slot, (place, text) in enumerate(_list_elements("image", cell, _list("image", cell)), 1):
        given = names[slot - 1] if slot <= len(names) else None
        with in_field(place):
            if text.strip().isdigit():
                message = f"no row has this index, and it is not an image {show(text)}. Name a row, or give the image."
                raise RowError("image.reference", "", message)
            of = context.images.of_reference if is_data_url(text) else context.images.of_base64
            image = of(text, slot)
        images.append(image if given is None else replace(image, name=given))
    return images


def _list_elements(field: str, cell: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Give each text of a cell with its place: the field, or `field[k]` where the cell is a list."""
    if texts and texts[0] is cell:
        return [(field, cell)]
    return [(f"{field}[{number}]", text) for number, text in enumerate(texts)]


def _list_kit_roots(name: str) -> list[Path]:
    """List the folders that the framework keeps a table's images in, those that are there."""
    folder = find_lmudata_root() / "images"
    return [root.resolve() for root in (folder / name, folder) if root.is_dir()]


def _list(field: str, cell: str) -> list[str]:
    if not looks_like_list(cell):
        return [cell]
    with in_field(field):
        items = parse_list(cell)
        if not items or not all(isinstance(item, str) and item for item in items):
            raise RowError("list.type", field, f"expected a list of texts {show(cell)}.")
    return items


def _read_answers(
    label: str | None, options: tuple[str | None, ...], task: str, context: Context
) -> tuple[str | None, tuple[str, ...]]:
    if label is None:
        return None, ()
    if options:
        try:
            with in_field("answer"):
                letter = read_answer_letter(label, options)
        except RowError:
            if not context.for_scoring:
                raise
            return label, (label,)
        if letter != label:
            context.warn("an answer letter was written in lower case or with white space")
        return letter, (letter,)
    answers: tuple[str, ...] = (label,)
    if looks_like_list(label):
        try:
            answers = tuple(str(item) for item in parse_list(label)) or (label,)
        except RowError:
            context.warn("an answer in brackets is not a list and stays a text")
    return (None if task == "caption" else answers[0]), answers


def _build_prompt(text: str, images: list[Image]) -> tuple[tuple[Part, ...], tuple[Image, ...]]:
    if images and list_slots(text):
        return interleave(text, {image.slot: image for image in images}, "question")
    return (*(Part("image") for _ in images), Part("text", text)), tuple(images)


ROTATION_OF = "#rotation_of"
"""What is added to a rotated copy of another row: that row's index. No column of a table begins so."""

_DIGITS = re.compile(r"[0-9]{1,15}")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,14}")


def parse_base_index(index: str | None) -> str | None:
    """Give the index that a row would have unrotated, if its number says that it is a rotation.

    Returns:
        The index; None for one below the first rotation, or that is not a number.

    Example:
        >>> parse_base_index("3000007"), parse_base_index("7"), parse_base_index("a7")
        ('7', None, None)
    """
    if index is None or not _NUMBER.fullmatch(index) or int(index) < FIRST_OFFSET:
        return None
    return str(int(index) % FIRST_OFFSET)


def compute_fingerprint(fields: Mapping[str, Any]) -> int:
    """Give a number that rotations of one question share: of its text and of its options in any order.

    The number holds for this process only.
    """
    options = sorted(str(fields[letter]) for letter in LETTERS if fields.get(letter) is not None)
    question = next((value for name, value in fields.items() if name.lower() == "question"), None)
    return hash((question, *options))


def mark_rotations(rows: Callable[[], Iterator[Row | Rejected]]) -> Iterator[Row | Rejected]:
    """Mark the rows of a small table that are rotated copies of another with its index, under `ROTATION_OF`.

    Args:
        rows: Makes the rows again each time; called twice for a table with such an index.
    """
    known: dict[str | None, int] | None = None
    for item in rows():
        if isinstance(item, Row) and (base := parse_base_index(read_index(item.fields))) is not None:
            known = known or {read_index(r.fields): compute_fingerprint(r.fields) for r in rows() if isinstance(r, Row)}
            if known.get(base) == compute_fingerprint(item.fields):
                item = replace(item, fields={**item.fields, ROTATION_OF: base})
        yield item


def read_index(fields: Mapping[str, Any]) -> str | None:
    """Give the index of a raw row as text; None where it has none.

    Example:
        >>> read_index({"Index": 7}), read_index({"question": "?"})
        ('7', None)
    """
    value = next((value for name, value in fields.items() if name.lower() == "index"), None)
    return None if value is None else str(value).strip()


def read_rotation(index: str, head: str | None, options: Sequence[str | None]) -> tuple[str, int | None]:
    """Tell question and rotation of a row.

    Args:
        index: The row's index.
        head: Index of the unrotated row (`g_index`); None to count in millions.
        options: The row's options: there are no more rotations than these.

    Returns:
        The unrotated row's index, leading zeros kept, and which rotation this is; (index, None) for an
        index that is not a number or does not go with `head`.

    Example:
        >>> read_rotation("2000007", None, "abcd"), read_rotation("00012", None, "ab"), read_rotation("x", None, "ab")
        (('7', 2), ('00012', 0), ('x', None))
        >>> read_rotation("20000007", "7", "abcd"), read_rotation("9", "7", "abcd")
        (('7', 2), ('9', None))
    """
    if not _DIGITS.fullmatch(index) or not (head is None or _DIGITS.fullmatch(head)):
        return index, None
    if head is None:
        turn, question = divmod(int(index), FIRST_OFFSET)
        return (str(question) if turn else index), turn
    distance, offset = int(index) - int(head), FIRST_OFFSET
    if distance == 0:
        return index, 0
    while distance > 0 and distance % offset == 0:
        if distance // offset < max(len(options), 2):
            return head, distance // offset
        offset *= 10
    return index, None


def build_index_cell(record: Record) -> str:
    """Number a record as the framework does, also a rotation that a transform of ours made (`7#2`)."""
    if record.variant is None:
        return record.id
    if record.variant and record.id.startswith(f"{record.sample}#") and _NUMBER.fullmatch(record.sample):
        return str(int(record.sample) + record.variant * FIRST_OFFSET)
    return record.id if record.variant else record.sample


def list_index_columns(record: Record) -> tuple[str, ...]:
    """Name the columns that the index of a row tells its reader: those of a rotation.

    Example:
        >>> from mmconvert.core.record import Source
        >>> list_index_columns(Record("7#1", "7", (), "vqa", Source("f", "f.tsv", 0), variant=1, group="7"))
        ('variant', 'group')
    """
    if record.variant is None or not _NUMBER.fullmatch(build_index_cell(record)):
        return ()
    return ("variant", "group") if record.group == record.sample else ("variant",)


MARKER = "<ImageHere>"


def split_rounds(record: Record, illustrated: bool = True) -> Iterator[Record]:
    """Give the rounds of a conversation, each with what was said before; a record that is no conversation stays one.

    A conversation is a list of texts as question, without options, that has as many answers as questions or
    names an image by `<ImageHere>`. Images are shown in their order over all rounds, those of a conversation
    without markers at its beginning. What the assistant said before is the reference, empty where there is none.

    Args:
        record: As `lmu_table.record` gives it; a prediction is a list with one response for each round.
        illustrated: The table holds images; else markers stay in the text.

    Yields:
        Records `<id>#0`, `<id>#1`, ...; `group` is the conversation's id, `round` counts from 0, `question` names
        images by `<image k>`, and the last round has the images that none shows as attachments.

    Raises:
        RowError: `dialog.answers`, `dialog.replies`: they do not go with the questions;
            `placeholder.no_image`.
    """
    questions = _read_questions(record)
    if not questions or not may_have_rounds(record.dataset):
        yield record
        return
    answers, responses = _read_round_answers(record, len(questions)), _read_round_responses(record, len(questions))
    images = sorted((*record.images, *record.attachments), key=lambda image: image.slot)
    marked = any(MARKER in question for question in questions)
    turns: list[Turn] = []
    shown = 0
    for number, question in enumerate(questions):
        if illustrated:
            turn, count = _build_turn(question, len(images) if not marked and number == 0 else 0)
        else:
            turn, count = Turn("user", (Part("text", question),)), 0
        shown += count
        if shown > len(images):
            raise RowError("placeholder.no_image", "question", f"{MARKER} appears there more than {len(images)} times.")
        turns.append(turn)
        named = iter(images[shown - question.count(MARKER) : shown] if illustrated else ())
        name = f"{record.id}#{number}"
        answer = answers[number] if answers else None
        yield replace(
            record,
            id=name,
            sample=name,
            group=record.id,
            round=number,
            messages=tuple(turns),
            task=CHAT,
            images=tuple(images[:shown]),
            attachments=tuple(images[shown:]) if number == len(questions) - 1 else (),
            question="".join(_list_named_slots(question, named)),
            answer=answer,
            answers=() if answer is None else (answer,),
            label=None if answer is None else encode_json(answer),
            prediction=responses[number] if responses else None,
        )
        turns.append(Turn("assistant", (Part("text", answer or ""),)))


def _list_named_slots(question: str, images: Iterator[Image]) -> Iterator[str]:
    """Name the images that a question shows by their slots; markers without one stay."""
    first, *rest = question.split(MARKER)
    yield first
    for text in rest:
        image = next(images, None)
        yield f"{MARKER if image is None else f'<image {image.slot}>'}{text}"


def _read_questions(record: Record) -> list[str]:
    """Read the questions of a conversation; [] for a record that is none."""
    text = record.question
    if text is None or record.options or not looks_like_list(text):
        return []
    try:
        items = parse_list(text)
    except RowError:
        return []
    if not items or not all(isinstance(item, str) for item in items):
        return []
    label = None if record.label is None else json.loads(record.label)
    listed = len(record.answers) == len(items) and isinstance(label, str) and looks_like_list(label)
    return items if listed or any(MARKER in item for item in items) else []


def _read_round_answers(record: Record, count: int) -> tuple[str, ...]:
    if record.label is None:
        return ()
    if len(record.answers) != count:
        raise RowError(
            "dialog.answers", "answer", f"there are {count} questions and {len(record.answers)} answers. Give as many."
        )
    if any(MARKER in answer for answer in record.answers):
        raise RowError("dialog.answers", "answer", f"an answer cannot show an image {show(record.label)}.")
    return record.answers


def _read_round_responses(record: Record, count: int) -> tuple[str, ...]:
    if record.prediction is None:
        return ()
    with in_field("prediction"):
        responses = parse_list(record.prediction)
    if len(responses) != count or not all(isinstance(response, str) for response in responses):
        raise RowError("dialog.replies", "prediction", f"expected {count} responses {show(record.prediction)}.")
    return tuple(responses)


def _build_turn(question: str, before: int) -> tuple[Turn, int]:
    """Word a user turn with some images before it; give how many images it shows."""
    first, *rest = question.split(MARKER)
    parts = [Part("image")] * before
    if first or not rest:
        parts.append(Part("text", first))
    for text in rest:
        parts += [Part("image"), Part("text", text)] if text else [Part("image")]
    return Turn("user", tuple(parts)), before + len(rest)
