"""ReForm-Eval's own evaluation of a prediction list: plain records in, its numbers and its log lines out.

The recipes score the same through the project's columns, row by row and with uncertainty. Here the framework's own
types count: an answer may be 2 or "2", a likelihood prediction is the number of an option.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mmconvert.core.errors import Error, RowError, show, suggest_spelling
from mmconvert.core.record import LETTERS
from mmscore.metrics.coco_bleu import coco_bleu
from mmscore.metrics.coco_cider import coco_cider
from mmscore.metrics.coco_meteor import coco_meteor
from mmscore.metrics.coco_rouge_l import coco_rouge_l
from mmscore.metrics.reform_instability import reform_instability
from mmscore.metrics.reform_round_trend import reform_round_trend
from mmscore.metrics.reform_word_match import compare_ocr, match_kie
from mmscore.nlp import meteor
from mmscore.parsers.reform_choice import reform_choice

Record = Mapping[str, Any]
METHODS = ("generation", "likelihood")
SINGLE_CHOICE = "SingleChoice"


class JudgedChoice(msgspec.Struct, frozen=True):
    """What a prediction chose.

    Attributes:
        right: Whether it is the answer.
        index: Number of the option from 0, None where no rule fired.
    """

    right: bool
    index: int | None


def judge_choice(
    prediction: Any, answer: Any, options: Sequence[str] | None = None, method: str = "generation", marks: str = "all"
) -> JudgedChoice:
    """Judge one choice.

    Args:
        prediction: A text, or for `likelihood` the number of an option.
        answer: Number of the right option, or its text.
        options: Where given, a response that is an option's text word for word counts too; the framework's
            evaluation does without.
        method: `generation` or `likelihood`.
        marks: As for `reform_choice`.

    Raises:
        RowError: The prediction is not of the method's type, or the answer is no whole number.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 metrics/singlechoice.py:SingleChoiceMetric.

    Example:
        >>> judge_choice("(B) no", "1"), judge_choice("no", 1, ["yes", "no"]), judge_choice(0, 1, method="likelihood")
        (JudgedChoice(right=True, index=1), JudgedChoice(right=True, index=1), JudgedChoice(right=False, index=0))
    """
    if method not in METHODS:
        raise RowError("method", "infer_method", f"no method {method!r}. Known: {', '.join(METHODS)}.")
    index = _read_number(prediction) if method == "likelihood" else _find_index(prediction, options, marks)
    return JudgedChoice(index == _read_integer(answer), index) if index is not None else JudgedChoice(False, None)


def _read_number(prediction: Any) -> int:
    if isinstance(prediction, bool) or not isinstance(prediction, int):
        raise RowError("prediction.type", "prediction", f"likelihood gives the number of an option {show(prediction)}.")
    return prediction


def _find_index(prediction: Any, options: Sequence[str] | None, marks: str) -> int | None:
    if not isinstance(prediction, str):
        raise RowError("prediction.type", "prediction", f"generation gives a text {show(prediction)}.")
    letter = reform_choice(prediction, marks).value
    if letter is not None:
        return LETTERS.index(letter)
    return options.index(prediction) if options and prediction in options else None


def _read_integer(answer: Any) -> int:
    try:
        return int(answer)
    except (TypeError, ValueError, OverflowError):
        raise RowError("answer.type", "answer", f"expected the number of an option {show(answer)}.") from None


def find_chosen_text(index: int | None, record: Record) -> Any:
    """Give the text of the chosen option, or the prediction itself where there is no such option.

    Options are counted as Python does, -1 is the last.

    Example:
        >>> find_chosen_text(1, {"answer_options": ["yes", "no"], "prediction": "(B)"})
        'no'
        >>> find_chosen_text(7, {"answer_options": ["yes", "no"], "prediction": "(H)"})
        '(H)'
    """
    try:
        return record["answer_options"][index]
    except (KeyError, IndexError, TypeError):
        return record["prediction"]


class Evaluation(msgspec.Struct, frozen=True):
    """The outcome.

    Attributes:
        log: What the framework logs, line by line.
        numbers: The same numbers by name.
    """

    log: tuple[str, ...]
    numbers: Mapping[str, float]


class _Judged(msgspec.Struct, frozen=True):
    """One record: whether it is right, whether its form is, and what it said."""

    right: bool
    formed: bool
    said: Any


def _judge_choice_record(record: Record, method: str) -> _Judged:
    result = judge_choice(_read_field(record, "prediction"), _read_field(record, "answer"), method=method)
    return _Judged(result.right, result.index is not None, find_chosen_text(result.index, record))


def _judge_ocr_record(record: Record, method: str) -> _Judged:
    prediction, answer = (_read_text_or_texts(record, name) for name in ("prediction", "answer"))
    return _Judged(compare_ocr(prediction, answer).right, True, str(prediction))


def _judge_kie_record(record: Record, method: str) -> _Judged:
    prediction, answer = (_read_text_or_texts(record, name) for name in ("prediction", "answer"))
    if not isinstance(prediction, str) or not isinstance(answer, str):
        raise RowError(
            "answer.type", "answer", f"the framework evaluates texts only here {show(answer)}. Give one text."
        )
    return _Judged(match_kie(prediction, answer), True, prediction)


_WITHOUT = {
    "round_id": " Only conversations have rounds: leave multi_round_eval out.",
    "references": " Only captions have them: give the formulation of this dataset.",
}
"""What to do where a field is missing that datasets of one kind have."""


def _read_field(record: Record, name: str) -> Any:
    if name not in record:
        hint = _WITHOUT.get(name, "")
        raise RowError(f"{name}.missing", name, f"the record has no such field {show(dict(record))}.{hint}")
    return record[name]


def _read_text_or_texts(record: Record, name: str) -> str | list[str]:
    value = _read_field(record, name)
    if isinstance(value, str) or (isinstance(value, list) and all(isinstance(text, str) for text in value)):
        return value
    raise RowError(f"{name}.type", name, f"expected a text or a list of texts {show(value)}.")


GENERATION = "Generation"
_JUDGES: Mapping[str, Callable[[Record, str], _Judged]] = {
    SINGLE_CHOICE: _judge_choice_record,
    "OCROpenEnded": _judge_ocr_record,
    "KIEOpenEnded": _judge_kie_record,
}
FORMULATIONS = (*_JUDGES, GENERATION)


def evaluate(
    records: Sequence[Record],
    formulation: str,
    *,
    multi_round_eval: bool = False,
    eval_stability: bool = False,
    infer_method: str = "generation",
    open_stability: bool = False,
) -> Evaluation:
    """Evaluate a prediction list as `run_loader_eval.py` does.

    Args:
        records: The list, with the fields of the framework.
        formulation: One of `FORMULATIONS`.
        multi_round_eval: Whether to hold accuracy against the number of the round.
        eval_stability: Whether to measure how predictions for one sample differ.
        infer_method: `generation` or `likelihood`.
        open_stability: Measure stability of open answers too, by their texts, as `run_eval.py` does.

    Returns:
        Numbers and log lines; METEOR is among them where Java and its program are found.

    Raises:
        Error: The framework would break off: no records, samples in unequal numbers, stability of answers that
            are no choices, an unknown formulation.
        RowError: A record lacks a field, or a field is of another type.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 run_loader_eval.py:loader_eval.

    Example:
        >>> record = {"sample_id": 0, "answer": "1", "answer_options": ["yes", "no"], "prediction": "(B)"}
        >>> evaluate([record], "SingleChoice").log[1]
        'the evalueted SingleChoice result: 1.0'
    """
    if formulation not in FORMULATIONS:
        hint = suggest_spelling(formulation, FORMULATIONS)
        raise Error(f"no formulation {formulation!r}.{hint} Known: {', '.join(FORMULATIONS)}.")
    if not records:
        raise Error("there are no records. Give the predictions of the whole benchmark.")
    if formulation == GENERATION:
        numbers = _compute_caption_scores(records)
        return Evaluation(format_log_lines(formulation, numbers), numbers)
    judged = [_judge_record(number, record, formulation, infer_method) for number, record in enumerate(records)]
    said = _group_by_sample(records, judged)
    numbers = {
        "accuracy": sum(result.right for result in judged) / len(judged),
        "format_hit_rate": sum(result.formed for result in judged) / len(judged),
    }
    if eval_stability:
        if formulation != SINGLE_CHOICE and not open_stability:
            raise Error(f"{formulation}: only single choices have a stability. Leave it out.")
        numbers["instability"] = reform_instability(said.values())
    if multi_round_eval:
        trend = reform_round_trend(_group_by_round(records, judged))
        numbers |= {"corr": trend.correlation, "slope": trend.slope}
    return Evaluation(format_log_lines(formulation, numbers), numbers)


def _judge_record(number: int, record: Record, formulation: str, method: str) -> _Judged:
    with _name_record(number):
        return _JUDGES[formulation](record, method)


@contextlib.contextmanager
def _name_record(number: int) -> Iterator[None]:
    """Name record and field for errors that are raised inside."""
    try:
        yield
    except RowError as error:
        raise RowError(error.code, error.field, f"record {number}, {error.field}: {error.message}") from None


def format_log_lines(formulation: str, numbers: Mapping[str, float]) -> tuple[str, ...]:
    """Word numbers as the framework logs them, its spelling kept.

    Args:
        formulation: One of `FORMULATIONS`.
        numbers: By name, as in `Evaluation`.

    Returns:
        Its lines, in its order.

    Example:
        >>> format_log_lines("OCROpenEnded", {"accuracy": 0.5, "format_hit_rate": 1.0})[1:]
        ('the evalueted OCROpenEnded result: 0.5', 'the format hit rate is 1.0')
    """
    first = f"evaluating the predictions with the {formulation} metric"
    if formulation == GENERATION:
        return (first, *(f"the evalueted {formulation} {name} result: {value}" for name, value in numbers.items()))
    lines = [first, f"the evalueted {formulation} result: {numbers['accuracy']}"]
    lines.append(f"the format hit rate is {numbers['format_hit_rate']}")
    if "instability" in numbers:
        lines.append(f"the measured stability (entropy on predictions) across prompts: {numbers['instability']}")
    if "corr" in numbers:
        trend = f"corr(round, performance):{numbers['corr']}"
        lines.append(f"{trend}, slope of linear_model(round, performance):{numbers['slope']}")
    return tuple(lines)


def _group_by_sample(records: Sequence[Record], judged: Sequence[_Judged]) -> Mapping[Any, Sequence[Any]]:
    groups: dict[Any, list[Any]] = {}
    for number, (record, result) in enumerate(zip(records, judged, strict=True)):
        with _name_record(number):
            sample = _read_field(record, "sample_id")
            if isinstance(sample, list | dict):
                raise RowError("id.type", "sample_id", f"expected a text or a number {show(sample)}.")
        groups.setdefault(sample, []).append(result.said)
    if len({len(said) for said in groups.values()}) > 1:
        raise Error("sample_id: some samples occur more often than others, which the framework cannot average.")
    return groups


def _group_by_round(records: Sequence[Record], judged: Sequence[_Judged]) -> Mapping[float, Sequence[float]]:
    rounds: dict[float, list[float]] = {}
    for number, (record, result) in enumerate(zip(records, judged, strict=True)):
        with _name_record(number):
            turn = _read_field(record, "round_id")
            if isinstance(turn, bool) or not isinstance(turn, int | float):
                raise RowError("round.type", "round_id", f"expected the number of the round {show(turn)}.")
        rounds.setdefault(turn, []).append(float(result.right))
    return rounds


def _compute_caption_scores(records: Sequence[Record]) -> dict[str, float]:
    references, predictions = [], []
    for number, record in enumerate(records):
        with _name_record(number):
            listed, prediction = _read_field(record, "references"), _read_field(record, "prediction")
            if not isinstance(listed, list) or not listed or not all(isinstance(text, str) for text in listed):
                raise RowError("references.type", "references", f"expected a list of captions {show(listed)}.")
            if not isinstance(prediction, str):
                raise RowError("prediction.type", "prediction", f"expected a text {show(prediction)}.")
        references.append(listed)
        predictions.append(prediction)
    bleu = {f"bleu_{order}": value for order, value in enumerate(coco_bleu(predictions, references), 1)}
    rouge = [coco_rouge_l(*row) for row in zip(predictions, references, strict=True)]
    cider = float(coco_cider(predictions, references).mean())
    scores = {} if meteor.describe_missing() else {"meteor": coco_meteor(predictions, references)}
    return {**bleu, **scores, "rouge_l": sum(rouge) / len(rouge), "cider": cider}
