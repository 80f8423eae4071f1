"""Score a short answer as VLMEvalKit's VQA datasets do: by VQA score, ANLS, 5 % or equality."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from mmconvert.core.errors import RowError, show
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmscore.nlp.relaxed_match import compute_anls_distance, compute_similarity, is_relaxed_match
from mmscore.nlp.vqa_normalize import process_answer

Method = Literal["vqa_score", "anls", "relaxed_accuracy", "accuracy", "default"]
Aggregation = Literal["mean", "max", "anls"]

ENOUGH = 3
"""How many other references must agree for the full VQA score."""


class VqaRule(msgspec.Struct, frozen=True):
    """How a dataset of the framework is scored.

    Attributes:
        method: How a prediction is compared with each reference.
        aggregation: How the comparisons become one value: their mean, their maximum, or 1 minus
            the least distance.
    """

    method: Method
    aggregation: Aggregation


DEFAULT = VqaRule("vqa_score", "mean")

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:ImageVQADataset.evaluate
RULES = {
    "TextVQA": DEFAULT,
    "ChartQA": VqaRule("relaxed_accuracy", "max"),
    "OCRVQA": VqaRule("accuracy", "max"),
    "GQA": VqaRule("accuracy", "mean"),
    "DocVQA": VqaRule("anls", "anls"),
    "InfoVQA": VqaRule("anls", "anls"),
}
"""Rules by a part of the dataset's name, the first that is contained wins; any other name gets `DEFAULT`."""


class Matches(msgspec.Struct, frozen=True):
    """One prediction held against its references.

    Attributes:
        references: The references as compared.
        prediction: The prediction as compared.
        values: One value a reference, in order: a fraction 0-1, a truth value, or for `anls` a
            distance 0-1.
    """

    references: tuple[str, ...]
    prediction: str
    values: tuple[float, ...]


def vlmevalkit_vqa(prediction: str, references: Sequence[str], rule: VqaRule = DEFAULT) -> float:
    """Score one prediction.

    Args:
        prediction: The model's response.
        references: The references in source order, repeats kept; see `read_references`.
        rule: How the dataset is scored; see `choose_rule`.

    Returns:
        A fraction 0-1; NaN for a mean over no references.

    Raises:
        RowError: There are no references, and the rule needs one.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/vqa_eval.py:process_line,
    hit_calculate. Kept on purpose: the VQA score leaves one reference out, so that a single
    reference always scores 0.

    Example:
        >>> vlmevalkit_vqa("A cat.", ["cat", "cat", "cat", "cat"]), vlmevalkit_vqa("cat", ["cat"])
        (1.0, 0.0)
        >>> vlmevalkit_vqa("10.4", ["10"], choose_rule("ChartQA_TEST"))
        1.0
    """
    return reduce_matches(compare_references(prediction, references, rule.method).values, rule.aggregation)


def choose_rule(dataset: str) -> VqaRule:
    """Choose the rule by the dataset's name, as the framework does.

    Example:
        >>> choose_rule("DocVQA_VAL").method, choose_rule("my_own").method
        ('anls', 'vqa_score')
    """
    return next((rule for part, rule in RULES.items() if part in dataset), DEFAULT)


def read_references(cell: str) -> list[str]:
    """Read an answer cell: a list literal of texts, else one text.

    Args:
        cell: The answer as the framework's table holds it, turned into text.

    Returns:
        The references; the cell itself where it is not a list.

    Raises:
        RowError: The list holds something else than texts.

    Example:
        >>> read_references("['cat', 'a cat']"), read_references("(1,2)")
        (['cat', 'a cat'], ['(1,2)'])
    """
    if not looks_like_list(cell):
        return [cell]
    try:
        values = parse_list(cell)
    except RowError:
        return [cell]
    if not all(isinstance(value, str) for value in values):
        raise RowError("answer.type", "answer", f"every reference in the list must be a text {show(cell)}. Quote it.")
    return values


def compare_references(prediction: str, references: Sequence[str], method: Method) -> Matches:
    """Hold a prediction against each reference.

    Args:
        prediction: The model's response.
        references: The references.
        method: `vqa_score`: share of the other references that agree, 3 are enough; `anls`: edit
            distance; `relaxed_accuracy`: numbers within 5 %; `accuracy`: equality but for case;
            `default`: equality after `process_answer`.

    Returns:
        The compared texts and one value a reference.

    Example:
        >>> compare_references(" 42 ", ["42", "43"], "accuracy").values
        (1.0, 0.0)
    """
    if method == "anls":
        return Matches(tuple(references), prediction, tuple(compute_anls_distance(x, prediction) for x in references))
    if method in ("relaxed_accuracy", "accuracy"):
        stripped = prediction.strip()
        compare: Callable[[str, str], float] = is_relaxed_match if method == "relaxed_accuracy" else _score_equal
        return Matches(tuple(references), stripped, tuple(compare(x, stripped) for x in references))
    wanted = tuple(map(process_answer, references))
    answer = process_answer(prediction)
    same = [text == answer for text in wanted]
    if method == "vqa_score":
        return Matches(wanted, answer, tuple(min(1.0, (sum(same) - own) / ENOUGH) for own in same))
    return Matches(wanted, answer, tuple(same))


def _score_equal(target: str, prediction: str) -> float:
    return float(target.strip().lower() == prediction.strip().lower())


def reduce_matches(values: Sequence[float], aggregation: Aggregation) -> float:
    """Reduce the comparisons of one prediction to its score.

    Args:
        values: Values from `compare_references`.
        aggregation: `mean`, `max`, or `anls`: 1 minus the least, and 0 below one half.

    Returns:
        A fraction 0-1; NaN for a mean of nothing.

    Raises:
        RowError: There are no values, and the aggregation needs one.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/vqa_eval.py:hit_calculate.

    Example:
        >>> reduce_matches([0.3, 0.9], "anls"), reduce_matches([0.3, 0.9], "max")
        (0.7, 0.9)
    """
    return AGGREGATIONS[aggregation](values)


def _average(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _take_largest(values: Sequence[float]) -> float:
    return float(max(_require_values(values)))


def _compute_similarity(values: Sequence[float]) -> float:
    return compute_similarity(min(_require_values(values)))


def _require_values(values: Sequence[float]) -> Sequence[float]:
    if not values:
        raise RowError("answer.missing", "answer", "the list of references is empty. Give the row a reference.")
    return values


AGGREGATIONS: Mapping[Aggregation, Callable[[Sequence[float]], float]] = {
    "mean": _average,
    "max": _take_largest,
    "anls": _compute_similarity,
}

METRIC = vlmevalkit_vqa
