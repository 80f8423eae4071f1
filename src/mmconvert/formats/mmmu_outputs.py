"""Folder of MMMU's model outputs: one folder a subject, each with an `output.json`.

A row has `id`, `question_type`, `answer` (a letter, a text, or a list of texts), `response` and, for
multiple choice, `all_choices` and `index2ans`. The file `total_val_output.json` beside the folders
repeats the parsed answers and is passed over. Source: MMMU-Benchmark/MMMU@bb0b95a
mmmu/example_outputs, mmmu/main_parse_and_eval.py.

Kept: `question_type` and fields without a place in `extra`.
Refused: rows without a text as id, options without texts (`options.type`); a file that is no JSON list refuses
all.
Lost: `total_val_output.json`; questions and pictures are not in the files.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mmconvert.core.errors import Error, RowError, show
from mmconvert.core.record import LETTERS, Record, encode_json
from mmconvert.core.rows import Rejected, Row, Span, Where
from mmconvert.core.text.json import parse_json
from mmconvert.io.columns import keep_extra_fields
from mmconvert.kits.mmmu.subjects import parse_split
from mmconvert.plugins.format import Context, Format, Framework, Sample
from mmconvert.storage.folders import require_inside
from mmconvert.storage.source_files import read_source

OUTPUT = "output.json"
MULTIPLE_CHOICE = "multiple-choice"
DATASET = "MMMU"


def _list_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*/{OUTPUT}"))


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    for file in require_inside(path, _list_files(path)):
        name = f"{file.parent.name}/{file.name}"
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
    answers = _read_answers(answer)
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
        category=row.where.file.partition("/")[0],
        split=parse_split(key),
        dataset=context.dataset or DATASET,
        subset=context.subset,
        extra=keep_extra_fields(fields),
        prediction=response,
    )


def _read_answers(answer: Any) -> tuple[str, ...]:
    values = answer if isinstance(answer, list) else [] if answer is None else [answer]
    if not all(isinstance(value, str) for value in values):
        raise RowError("answer.type", "answer", f"expected a text or a list of texts {show(answer)}.")
    return tuple(values)


def _read_options(letters: Any, texts: Any) -> tuple[str | None, ...]:
    if not isinstance(letters, list) or not letters or not isinstance(texts, dict):
        message = f"expected the letters and, in index2ans, their texts {show(letters)}."
        raise RowError("options.type", "all_choices", message)
    if not all(letter in tuple(LETTERS) and isinstance(texts.get(letter), str) for letter in letters):
        raise RowError("options.type", "index2ans", f"expected a text for each of the letters {show(letters)}.")
    count = max(map(LETTERS.index, letters)) + 1
    return tuple(texts[letter] if letter in letters else None for letter in LETTERS[:count])


def _find_mismatch(sample: Sample) -> str | None:
    return None if sample.path.is_dir() and _list_files(sample.path) else f"no folder with {OUTPUT} in it"


FORMAT = Format(
    summary="Folder of MMMU model outputs, one output.json a subject",
    suffixes=("",),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    files=_list_files,
    framework=Framework("MMMU", results=True, knows=DATASET.__eq__),
)
