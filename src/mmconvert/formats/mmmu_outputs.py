"""MMMU's model outputs: a folder with a folder a subject, each with an `output.json`, or one of these alone.

A row has `id`, `question_type`, `answer` (a letter, a text, or a list of texts), `response` and, for
multiple choice, `all_choices` and `index2ans`. The file `total_val_output.json` beside the folders
repeats the parsed answers and is passed over. Source: MMMU-Benchmark/MMMU@bb0b95a
mmmu/example_outputs, mmmu/main_parse_and_eval.py.

Written is the folder that MMMU's script walks, or one list. In the folder a row stands under the subject that its id
names, else under its category; one of no subject of MMMU is left out there.

Kept: `question_type` and fields without a place in `extra`.
Refused: rows without a text as id, options without texts (`options.type`); a file that is no JSON list refuses
all.
Lost: `total_val_output.json`; questions and images are not in the files.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from mmconvert.chat.losses import list_losses
from mmconvert.core.errors import Error, RowError, show
from mmconvert.core.record import LETTERS, Record, encode_json
from mmconvert.core.rows import Rejected, Row, Span, Where
from mmconvert.core.text.json import parse_json
from mmconvert.io import json_head
from mmconvert.io.columns import add_extra, keep_extra_fields
from mmconvert.io.write_delimited import write_json_array
from mmconvert.kits.mmmu.subjects import (
    DATASET,
    DOMAIN_OF,
    MULTIPLE_CHOICE,
    SHORT_ANSWER,
    parse_split,
    parse_subject,
    read_answers,
)
from mmconvert.plugins.format import Context, Format, Framework, Loss, Sample, Target
from mmconvert.storage.folders import require_inside
from mmconvert.storage.source_files import read_source

OUTPUT = "output.json"
_SUFFIX = ".json"
_NEEDED = ("id", "question_type", "answer", "response")
_HEAD_ROWS = 8


def _list_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*/{OUTPUT}")) or [*filter(Path.is_file, [folder / OUTPUT])]


def _list_models(folder: Path) -> list[str]:
    """Name the folders of several models, each with its subjects."""
    return sorted({file.parent.parent.name for file in folder.glob(f"*/*/{OUTPUT}")})


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    if path.is_dir() and not _list_files(path):
        models = [str(path / name) for name in _list_models(path)]
        if not models:
            raise Error(f"{path}: has no {OUTPUT}. Give the folder of a model.")
        found = "is the folder above a model's" if len(models) == 1 else f"has the outputs of {len(models)} models"
        raise Error(f"{path}: {found}. Give {' or '.join(models)}.")
    for file in require_inside(path, _list_files(path)) if path.is_dir() else [path]:
        name = file.name if file == path else f"{file.parent.name}/{file.name}"
        try:
            values = parse_json(read_source(file).removeprefix(b"\xef\xbb\xbf").decode())
        except UnicodeDecodeError as error:
            raise Error(f"{file}: is not UTF-8 at byte {error.start + 1}. Save it as UTF-8.") from None
        except RowError as error:
            raise Error(f"{file}: {error.message} Repair the file, or leave its folder out.") from None
        if not isinstance(values, list):
            message = f"{file}: expected a JSON list of rows {show(values)}. Repair the file, or leave its folder out."
            raise Error(message)
        for number, value in enumerate(values):
            where = Where(name, number)
            if isinstance(value, dict):
                yield Row(value, where)
            else:
                yield Rejected(where, "json.type", f"expected a JSON object {show(value)}.")


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    key = fields.pop("id", None)
    if not isinstance(key, str) or not key.strip():
        raise RowError("id.missing", "id", f"expected a text {show(key)}.")
    response = fields.pop("response", None)
    if response is not None and not isinstance(response, str):
        raise RowError("response.type", "response", f"expected a text {show(response)}.")
    answer = fields.pop("answer", None)
    answers = read_answers(answer, "answer")
    # A list that is read alone has no folder that would say a subject.
    subject, folder = parse_subject(key.strip()), row.where.file.rpartition("/")[0] or None
    kind = fields.get("question_type")
    if kind == MULTIPLE_CHOICE:
        options = _read_options(fields.pop("all_choices", None), fields.pop("index2ans", None))
    else:
        options = ()
    yield Record(
        id=key.strip(),
        sample=key.strip(),
        messages=(),
        task=context.task or ("multiple_choice" if options else "vqa"),
        source=context.source(row),
        options=options,
        answer=answers[0] if answers else None,
        answers=answers,
        label=None if answer is None else encode_json(answer),
        category=subject if subject in DOMAIN_OF else folder,
        split=parse_split(key),
        dataset=context.dataset or DATASET,
        subset=context.subset,
        extra=keep_extra_fields(fields),
        prediction=response,
    )


def _read_options(letters: Any, texts: Any) -> tuple[str | None, ...]:
    if not isinstance(letters, list) or not letters or not isinstance(texts, dict):
        message = f"expected the letters and, in index2ans, their texts {show(letters)}."
        raise RowError("options.type", "all_choices", message)
    if not all(letter in tuple(LETTERS) and isinstance(texts.get(letter), str) for letter in letters):
        raise RowError("options.type", "index2ans", f"expected a text for each of the letters {show(letters)}.")
    count = max(map(LETTERS.index, letters)) + 1
    return tuple(texts[letter] if letter in letters else None for letter in LETTERS[:count])


_KEYS = ("id", "question_type", "answer", "all_choices", "index2ans", "response")


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    if not target.folder:
        write_json_array((_build_fields(record, None, target, losses) for record in records), target.path)
        yield from losses
        return
    subjects: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        subject = _find_subject(record)
        if subject is None:
            message = "neither it nor the id names a subject of MMMU; the row is left out"
            losses.append(Loss(record.id, "category", message, left_out=True))
        else:
            subjects.setdefault(subject, []).append(_build_fields(record, subject, target, losses))
    for subject, rows in subjects.items():
        (target.path / subject).mkdir()
        write_json_array(rows, target.path / subject / OUTPUT)
    yield from losses


def _find_subject(record: Record) -> str | None:
    """Name the folder in which MMMU's script looks for a row."""
    return next((name for name in (parse_subject(record.id), record.category) if name in DOMAIN_OF), None)


def _build_fields(record: Record, folder: str | None, target: Target, losses: list[Loss]) -> dict[str, Any]:
    if record.messages or record.question:
        losses.append(Loss(record.id, "messages", "the files hold no questions; MMMU finds them by the id"))
    if record.images:
        losses.append(Loss(record.id, "images", "the files hold no images"))
    if record.prediction is None:
        losses.append(Loss(record.id, "prediction", "there is none, and MMMU's script stops there"))
    if record.label is None:
        losses.append(
            Loss(record.id, "answer", "there is none, and MMMU's script stops there or counts the row as wrong")
        )
    subject = parse_subject(record.id)
    said = {
        "category": subject if subject in DOMAIN_OF else folder,
        "split": parse_split(record.id),
        "dataset": DATASET,
    }
    losses += list_losses(record, ("options", "prediction"), target, said)
    kind = record.extra.get("question_type")
    if not isinstance(kind, str) or (kind == MULTIPLE_CHOICE) != bool(record.options):
        kind = MULTIPLE_CHOICE if record.options else SHORT_ANSWER
    fields: dict[str, Any] = {"id": record.id, "question_type": kind, "answer": _build_answer(record)}
    if record.options:
        texts = {name: text for name, text in zip(LETTERS, record.options, strict=False) if text is not None}
        fields |= {"all_choices": list(texts), "index2ans": texts}
    fields["response"] = record.prediction
    return add_extra(fields, record.extra, _KEYS, record, losses)


def _build_answer(record: Record) -> Any:
    """Give the reference as the source wrote it where a reader takes the same from it, else the letter or the texts."""
    label = None if record.label is None else parse_json(record.label)
    wanted = record.answers or (() if record.answer is None else (record.answer,))
    try:
        if read_answers(label, "answer") == wanted:
            return label
    except RowError:
        pass
    return list(wanted) if len(wanted) != 1 else wanted[0]


def _find_mismatch(sample: Sample) -> str | None:
    single = sample.path / OUTPUT if sample.path.is_dir() else sample.path
    if single != sample.path and not single.is_file():
        return None if _list_files(sample.path) or _list_models(sample.path) else f"no folder with {OUTPUT} in it"
    head = [row.fields for row in islice(json_head.rows(single), _HEAD_ROWS) if isinstance(row, Row)]
    if any(name not in fields for fields in head for name in _NEEDED):
        return f"its rows do not all have {', '.join(_NEEDED)}"
    known = bool(head) and all(parse_subject(str(fields["id"])) in DOMAIN_OF for fields in head)
    return None if known else "the ids are not all MMMU's, such as validation_Art_1"


FORMAT = Format(
    summary="MMMU model outputs: a folder with an output.json a subject, or one of them",
    suffixes=("", _SUFFIX),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    writes_folder=True,
    files=_list_files,
    framework=Framework("MMMU", results=True, knows=DATASET.__eq__),
)
