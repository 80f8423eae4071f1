"""ReForm-Eval's samples as records, and predictions as its result list."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import LETTERS, Image, Part, Record, Source, Turn, encode_json
from mmconvert.core.text.options import read_option_texts
from mmconvert.kits.reform_eval.conversations import HISTORY
from mmscore.compat.reform_eval.datasets import ReformDataset
from mmscore.infer.protocol import Before, Playing, Reply
from mmscore.kits.reform_eval.benchmarks import TASKS

OPEN = ("ocr", "kie")
_ROLES = {"human": "user", "assistant": "assistant"}
_COLUMNS = (
    "sample_id",
    "image",
    "question",
    "answer",
    "answer_options",
    "references",
    "instruct",
    "history",
    "round_id",
)


def records_of(dataset: ReformDataset) -> Iterator[Record]:
    """Give every sample as a record, worded as chat turns.

    The picture stands in the first turn; instruction, question and, where the model generates, options in the
    last. Fields without a column are in `extra`; a dialog's rounds before it, too.

    Args:
        dataset: Samples without `text`.

    Raises:
        RowError: A picture or an answer is wrong.
    """
    task = {formulation: task for task, formulation in TASKS.items()}[dataset.setup.formulation]
    for index in range(len(dataset)):
        try:
            sample, image = dataset.visit(index)
            record = _record(sample, image, index, dataset, task)
        except RowError as error:
            number = index // dataset.setup.data_duplication
            raise RowError(error.code, error.field, f"sample {number} {error.field}: {error.message}") from None
        if dataset.dialogs is not None:
            before = dataset.dialogs.list_earlier_rounds(index)
            record = replace(
                record,
                group=record.sample.removesuffix(f"_{record.round}"),
                extra={**record.extra, **({HISTORY: before} if before else {})},
            )
        yield record


def _record(sample: Mapping[str, Any], image: Image, index: int, dataset: ReformDataset, task: str) -> Record:
    setup = dataset.setup
    copies, key = setup.data_duplication, sample["sample_id"]
    variant = index % copies if copies > 1 else None
    with in_field("answer_options"):
        options = read_option_texts(sample["answer_options"]) if sample.get("answer_options") else ()
    answer, references = sample.get("answer"), tuple(sample.get("references") or ())
    answers = references or ((_letter(answer, len(options)),) if options else _texts(answer))
    extra = {name: value for name, value in sample.items() if name not in _COLUMNS}
    return Record(
        id=str(key) if variant is None else f"{key}#{variant}",
        sample=str(key),
        messages=_turns(sample, generates=setup.inference_method == "generation"),
        task="multiple_choice" if options else task if references or task in OPEN else "vqa",
        source=Source("reform_eval", setup.dataset_name, index // copies),
        images=(image,),
        question=sample["question"],
        instruction=sample.get("instruct"),
        options=options,
        answer=None if references else answers[0],
        answers=answers,
        label=encode_json(list(references) if references else answer),
        variant=variant,
        round=sample.get("round_id"),
        dataset=setup.dataset_name,
        extra={**extra, "sample_id": key} if isinstance(key, int) else extra,
    )


def _letter(answer: Any, count: int) -> str:
    if not 0 <= int(answer) < count:
        raise RowError("answer.range", "answer", f"there are {count} options, counted from 0 {show(answer)}.")
    return LETTERS[int(answer)]


def _texts(answer: Any) -> tuple[str, ...]:
    return tuple(map(str, answer)) if isinstance(answer, list) else (str(answer),)


def _turns(sample: Mapping[str, Any], *, generates: bool) -> tuple[Turn, ...]:
    asked = sample["question"]
    if generates and sample.get("answer_options"):
        asked = sample["question_with_option"]
    last = f"{sample['instruct']} {asked}" if sample.get("instruct") else asked
    said = [(_ROLES[turn["from"]], turn["value"]) for turn in sample.get("history") or ()]
    turns = [Turn(role, (Part("text", text),)) for role, text in (*said, ("user", last))]
    return (Turn(turns[0].role, (Part("image"), *turns[0].content)), *turns[1:])


def with_heard(records: Iterable[Record], playing: Playing, *, chosen: bool) -> Iterator[Record]:
    """Put into each round of dialogs what the model had said before it, as it was asked.

    Args:
        records: Rows with predictions; a dialog's rounds in their order.
        playing: The protocol of the run.
        chosen: Predictions are letters of options.

    Raises:
        RowError: A round before has no prediction.
    """
    said: dict[str, dict[int, list[Reply]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        rounds = said[record.group or record.id]
        number = record.round or 0
        before = Before(tuple(tuple(rounds[earlier]) for earlier in range(number)), chosen)
        rounds[number].append(Reply(record.options, record.prediction, record.variant or 0))
        yield replace(record, messages=playing.protocol.history(record, before, playing.parameters))


def listed(records: Iterable[Record], infer_method: str, prompt: Callable[[Record], Any] | None) -> Iterator[Record]:
    """Give rows as the result list holds them: fields of a sample alone, and how it was predicted.

    Args:
        records: Rows with predictions.
        infer_method: generation or likelihood.
        prompt: Writes the field `text`; None leaves it out.
    """
    for record in records:
        extra = {**record.extra, "infer_method": infer_method}
        if prompt is not None:
            text = prompt(record)
            # One of the kit's preprocessors gives more than the text.
            extra["text"] = text["raw_text"] if isinstance(text, Mapping) else text
        yield replace(record, extra=extra)
