"""ReForm-Eval's prediction list: one JSON array of samples, each with the model's `prediction`.

A likelihood run predicts the index of an option, a generation run a text; a file holds one kind. Copies of
one sample repeat its `sample_id`, all samples equally often. What a file asks follows from its rows:
`answer_options` make it single choice, `references` captions, `answer` alone open questions. The name
`{dataset}_{formulation}_{method}_{model}_{model_name}.json` that the framework gives says the rest. Source:
FudanDISC/ReForm-Eval@df1cfa7 run_eval.py, run_loader_eval.py, metrics.

Kept: the file name's method and model, and fields without a place, in `extra`.
Refused: a sample with another number of copies (`sample.copies`), predictions of the other method
(`prediction.mixed`).
Lost: nothing; the list names no images.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmconvert.chat.file_names import read_model_name, require_text
from mmconvert.chat.losses import list_losses
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import LETTERS, Part, Record, Turn, encode_json
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.core.text.json import parse_json
from mmconvert.core.text.options import is_option, read_option_texts
from mmconvert.io import json_array
from mmconvert.io.columns import add_extra, keep_extra_fields, restore_integer
from mmconvert.io.write_delimited import write_json_array
from mmconvert.kits.reform_eval.conversations import HISTORY, read_earlier_rounds
from mmconvert.plugins.format import Context, Format, Framework, Loss, Target

NAME = re.compile(
    r"(?P<dataset>.+?)_(?P<formulation>SingleChoice|Generation|OCROpenEnded|KIEOpenEnded)"
    r"_(?P<method>generation|likelihood)_(?P<model>.+)"
)
SINGLE_CHOICE = "SingleChoice"
OPEN_TASKS = {"OCROpenEnded": "ocr", "KIEOpenEnded": "kie"}
ROLES = {"human": "user", "assistant": "assistant"}

# Facts of the whole file that a row carries to `_read_records`; no field of a source begins so.
_VARIANT, _KIND = "#variant", "#kind"
_LARGEST = 2**31 - 1
_INDEX = re.compile(r"-?[0-9]{1,9}", re.ASCII)


@dataclass(slots=True)
class _Survey:
    """What a file as a whole says about its rows."""

    copies: Counter[str] = field(default_factory=Counter)
    methods: Counter[str] = field(default_factory=Counter)
    choices: int = 0
    captions: int = 0

    @property
    def times(self) -> int:
        """How often most samples stand in the file; the larger number where two are as common."""
        times = Counter(self.copies.values())
        return max(times, key=lambda n: (times[n], n), default=1)

    @property
    def method(self) -> str:
        """How most rows were predicted, the first row's way where both are as common."""
        return max(self.methods, key=self.methods.__getitem__, default="generation")

    @property
    def kind(self) -> str:
        return "multiple_choice" if self.choices else "caption" if self.captions else "open"


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    name = NAME.fullmatch(path.stem)
    survey = _Survey(choices=name is not None and name["formulation"] == SINGLE_CHOICE)
    for item in json_array.rows(path):
        if isinstance(item, Row):
            _take_down(item.fields, survey)
    seen: Counter[str] = Counter()
    for item in json_array.rows(path):
        if isinstance(item, Rejected):
            yield item
            continue
        sample = _sample_text(item.fields.get("sample_id"))
        refusal = _check_row(item, sample, seen[sample], survey)
        variant = seen[sample] if survey.times > 1 else None
        seen[sample] += 1
        yield refusal or Row({**item.fields, _VARIANT: variant, _KIND: survey.kind}, item.where)


def _take_down(fields: Mapping[str, Any], survey: _Survey) -> None:
    if sample := _sample_text(fields.get("sample_id")):
        survey.copies[sample] += 1
    if method := _read_method(fields.get("prediction")):
        survey.methods[method] += 1
    survey.choices += fields.get("answer_options") is not None
    survey.captions += fields.get("references") is not None


def _check_row(row: Row, sample: str, before: int, survey: _Survey) -> Rejected | None:
    """Refuse a row that does not go with the rest of the file."""
    found, times = survey.copies[sample], survey.times
    if sample and (found < times or before >= times):
        message = f"the sample appears {found} times in the file, others {times} times. Leave it out, or complete it."
        return Rejected(row.where, "sample.copies", message, "sample_id", sample)
    method = _read_method(row.fields.get("prediction"))
    if method is not None and method != survey.method:
        message = f"a {method} prediction in a file of {survey.method} predictions. Give each its own file."
        return Rejected(row.where, "prediction.mixed", message, "prediction", sample or None)
    return None


def _sample_text(value: Any) -> str:
    return str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _read_method(prediction: Any) -> str | None:
    if isinstance(prediction, str):
        return "generation"
    return "likelihood" if isinstance(restore_integer(prediction), int) and not isinstance(prediction, bool) else None


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    variant, kind = fields.pop(_VARIANT, None), fields.pop(_KIND, "open")
    name = NAME.fullmatch(row.where.stem)
    key = fields.pop("sample_id", None)
    sample = _sample_text(key)
    if not sample:
        raise RowError("id.missing", "sample_id", f"expected a text or an integer {show(key)}.")
    lenient = context.for_scoring
    task, options, answer, answers, label = _read_reference(fields, kind, name["formulation"] if name else "", lenient)
    is_choice = task == "multiple_choice"
    prediction, method = _read_prediction(fields.pop("prediction", None), len(options) if is_choice else None, lenient)
    question = _read_text(fields, "question")
    turns = _build_turns(fields, question)
    round_ = restore_integer(fields.get("round_id"))
    if _is_count(round_):
        del fields["round_id"]
    else:
        round_ = None
    ending = f"_{round_}"
    extra: dict[str, Any] = {"infer_method": method, **({"model": name["model"]} if name else {})}
    if isinstance(key, int):
        extra["sample_id"] = key
    yield Record(
        id=sample if variant is None else f"{sample}#{variant}",
        sample=sample,
        messages=turns,
        task=context.task or task,
        source=context.source(row),
        question=question,
        instruction=_read_text(fields, "instruct"),
        options=options,
        answer=answer,
        answers=answers,
        label=label,
        variant=variant,
        round=round_,
        group=sample.removesuffix(ending) if round_ is not None and sample.endswith(ending) else None,
        dataset=context.dataset or (name["dataset"] if name else None),
        subset=context.subset,
        extra={**extra, **keep_extra_fields(fields)},
        prediction=prediction,
    )


def _read_reference(
    fields: dict[str, Any], kind: str, formulation: str, lenient: bool
) -> tuple[str, tuple[str | None, ...], str | None, tuple[str, ...], str]:
    """Take task, options, answer, references and label out of a row."""
    if kind == "caption":
        references = _read_texts(fields.pop("references", None), "references")
        return kind, (), None, references, encode_json(list(references))
    answer = fields.pop("answer", None)
    if answer is None:
        raise RowError("answer.missing", "answer", "the row has no answer.")
    if kind == "open" and isinstance(answer, str | list):
        answers = _read_texts([answer] if isinstance(answer, str) else answer, "answer")
        return OPEN_TASKS.get(formulation, "vqa"), (), answers[0], answers, encode_json(answer)
    value = fields.pop("answer_options", None)
    if not isinstance(value, list) and not (lenient and value is None):
        raise RowError("options.missing", "answer_options", f"expected a list of options {show(value)}.")
    with in_field("answer_options"):
        options = read_option_texts(value or [], least=0, most=None) if lenient else read_option_texts(value)
    letter = _read_index(answer, len(options), "answer", lenient)
    return "multiple_choice", options, letter, (letter,), encode_json(answer)


def _read_index(value: Any, count: int, field: str, lenient: bool) -> str:
    """Read the index of an option, a number or a number as text; give its letter, or a number that has none as text."""
    text = value.strip() if isinstance(value, str) else restore_integer(value)
    if isinstance(text, str) and _INDEX.fullmatch(text):
        text = int(text)
    if lenient and isinstance(value, bool | float):
        text = int(value)  # as the framework does
    elif isinstance(text, bool) or not isinstance(text, int):
        raise RowError(f"{field}.type", field, f"expected the index of an option {show(value)}.")
    if not lenient and not 0 <= text < count:
        raise RowError(f"{field}.range", field, f"there are {count} options, counted from 0 {show(value)}.")
    return LETTERS[text] if 0 <= text < len(LETTERS) else str(text)


def _read_prediction(value: Any, count: int | None, lenient: bool) -> tuple[str, str]:
    if value is None:
        raise RowError("prediction.missing", "prediction", 'the row has no prediction ("" would be one).')
    method = _read_method(value)
    if method is None or (not isinstance(value, str) and count is None):
        raise RowError("prediction.type", "prediction", f"expected a text, or the index of an option {show(value)}.")
    return (value if isinstance(value, str) else _read_index(value, count or 0, "prediction", lenient)), method


def _read_texts(value: Any, field: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(text, str) for text in value):
        raise RowError(f"{field}.type", field, f"expected a text or a list of texts {show(value)}.")
    return tuple(value)


def _read_text(fields: dict[str, Any], name: str) -> str | None:
    return fields.pop(name) if isinstance(fields.get(name), str) else None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def _build_turns(fields: dict[str, Any], question: str | None) -> tuple[Turn, ...]:
    """Lay out the conversation; `text`, the prompt in one piece, stays a field."""
    if question is None:
        return ()
    history = fields.get("history")
    if history and not isinstance(history, list):
        raise RowError("history.type", "history", f"expected a list of turns {show(history)}.")
    if history:
        del fields["history"]
    turns = []
    for number, turn in enumerate(history or ()):
        role, value = (turn.get("from"), turn.get("value")) if isinstance(turn, dict) else (None, None)
        if not isinstance(role, str) or role not in ROLES or not isinstance(value, str):
            raise RowError("history.type", f"history[{number}]", f"expected a turn of human or assistant {show(turn)}.")
        turns.append(Turn(ROLES[role], (Part("text", value),)))
    return (*turns, Turn("user", (Part("text", question),)))


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    losses: list[Loss] = []
    write_json_array((_build_fields(record, target, losses) for record in records), target.path)
    yield from dict.fromkeys(losses)


_HELD = ("options", "instruction", "round", "prediction", "sample")
_SAID_BY_NAME = ("infer_method", "method", "model")


def _infer_method(record: Record) -> str:
    """Say how the prediction was made: in the framework's own word, else in ours."""
    method = record.extra.get("infer_method") or record.extra.get("method")
    return "likelihood" if method == "likelihood" else "generation"


def _build_file_name(record: Record) -> str:
    formulation = next((name for name, task in OPEN_TASKS.items() if task == record.task), "Generation")
    formulation = "SingleChoice" if record.options else formulation
    dataset = require_text(record.dataset, "dataset")
    return f"{dataset}_{formulation}_{_infer_method(record)}_{read_model_name(record)}.json"


def _build_fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    extra = {name: value for name, value in record.extra.items() if name not in _SAID_BY_NAME}
    if read_earlier_rounds(record):
        extra.pop(HISTORY)  # the turns say it, with the model's answers where it was asked online
    method, key = _infer_method(record), extra.pop("sample_id", record.sample)
    answer, prediction = _build_answer_field(record, losses), record.prediction
    if prediction is None:
        losses.append(Loss(record.id, "prediction", "there is none yet, and the framework rejects such a row"))
    elif method == "likelihood" and is_option(prediction, record.options):
        prediction = LETTERS.index(prediction)  # type: ignore[assignment]
    if record.images:
        losses.append(Loss(record.id, "images", "the list has no field for it"))
    if record.sample != record.id and record.variant is None:
        losses.append(Loss(record.id, "id", "the list has one id for a sample", remark=True))
    name = NAME.fullmatch(Path(target.name or target.path.name).stem)
    losses += list_losses(record, _HELD, target, {"dataset": name["dataset"]} if name else None)
    fields = {
        "sample_id": key,
        "round_id": record.round,
        "question": record.question,
        **answer,
        "answer_options": list(record.options) or None,
        "instruct": record.instruction,
        "history": [
            {"from": "human" if turn.role == "user" else turn.role, "value": "".join(p.text for p in turn.content)}
            for turn in record.messages[:-1]
        ]
        or None,
    }
    fields = {name: value for name, value in fields.items() if value is not None}
    return {**add_extra(fields, extra, {"prediction"}, record, losses), "prediction": prediction}


def _build_answer_field(record: Record, losses: list[Loss]) -> dict[str, Any]:
    label = None if record.label is None else parse_json(record.label)
    if record.task == "caption":
        return {"references": list(record.answers)}
    if not record.options:
        return {"answer": label if label is not None else record.answer}
    if record.answer is None or None in record.options or not is_option(record.answer, record.options):
        losses.append(Loss(record.id, "answer", "the list needs one answer and options without a gap"))
        return {"answer": label}
    index = LETTERS.index(record.answer)
    return {"answer": label if str(label) == str(index) else index}


FORMAT = Format(
    summary="ReForm-Eval prediction list",
    suffixes=(".json",),
    rows=_read_rows,
    records=_read_records,
    mismatch=lambda sample: sample.find_missing(("sample_id", "prediction"), "field"),
    write=_write,
    file_name=_build_file_name,
    framework=Framework("ReForm-Eval", results=True, knows=bool),
)
