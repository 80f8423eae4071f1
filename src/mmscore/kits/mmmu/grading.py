"""Judge a file of final MMMU answers against the answer file, as the benchmark's own script does."""

from collections.abc import Mapping, Sequence

import msgspec

from mmconvert.core.errors import RowError, show, suggest_spelling
from mmconvert.kits.mmmu.subjects import SUBJECTS
from mmscore.metrics.mmmu_accuracy import is_right_choice, parse_subject
from mmscore.metrics.mmmu_open_match import mmmu_open_match
from mmscore.parsers.mmmu_open import mmmu_open

MULTIPLE_CHOICE = "multiple-choice"


class GradedAnswer(msgspec.Struct, frozen=True):
    """What the answer file says of one question.

    Attributes:
        kind: `multiple-choice`; anything else is an open question.
        gold: The reference, or several.
    """

    kind: str
    gold: str | Sequence[str]


def grade(predictions: Mapping[str, str | None], answers: Mapping[str, GradedAnswer]) -> dict[str, dict[str, bool]]:
    """Judge a file of final answers against the answer file, subject by subject.

    Args:
        predictions: A letter as it is, or an open answer to be read with `mmmu_open`, by question id.
        answers: The answer file by question id.

    Returns:
        Whether each predicted question is right, by subject in the scripts' order. Subjects that
        one side lacks, unknown subjects, and answers without a prediction are left out.

    Raises:
        RowError: A prediction has no answer, or the prediction of an open question is null.

    Parity: MMMU-Benchmark/MMMU@bb0b95a mmmu/main_eval_only.py. Letters are compared as given.

    Example:
        >>> answers = {"dev_Art_1": Answer("multiple-choice", "A"), "dev_Art_2": Answer("open", "42")}
        >>> grade({"dev_Art_1": "A", "dev_Art_2": "it is 42"}, answers)
        {'Art': {'dev_Art_1': True, 'dev_Art_2': True}}
    """
    known = {parse_subject(question) for question in answers}
    graded: dict[str, dict[str, bool]] = {subject: {} for subject in SUBJECTS if subject in known}
    for question, prediction in predictions.items():
        if (subject := parse_subject(question)) in graded:
            graded[subject][question] = _is_right(question, prediction, answers)
    return {subject: hits for subject, hits in graded.items() if hits}


def _is_right(question: str, prediction: str | None, answers: Mapping[str, GradedAnswer]) -> bool:
    if question not in answers:
        hint = suggest_spelling(question, answers)
        raise RowError(
            "answer.missing", "id", f"no answer for this question {show(question)}.{hint} Add it, or drop it."
        )
    answer = answers[question]
    if answer.kind == MULTIPLE_CHOICE:
        return is_right_choice(prediction, answer.gold)
    if prediction is None:
        raise RowError(
            "prediction.missing", "prediction", f"an open question needs a text {show(None)}. Give one, or ''."
        )
    return mmmu_open_match(answer.gold, mmmu_open(prediction))
