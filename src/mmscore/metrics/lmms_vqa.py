"""Score a short answer as lmms-eval does for VQAv2 and TextVQA: how many of the other annotators agree."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from mmscore.nlp.vqa_normalize import DOT_BEFORE_NO_DIGIT, process_answer

ENOUGH = 3
"""How many others must agree for the full score."""


def lmms_vqa(prediction: str, references: Sequence[str]) -> float:
    """Score a TextVQA answer: each reference is left out in turn, three others that agree are enough.

    Args:
        prediction: The model's response.
        references: The references in source order, repeats kept.

    Returns:
        A fraction 0-1; 0 where there are no references, as in a test split.

    Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/textvqa/utils.py:textvqa_process_results.
    A single reference always scores 0.

    Example:
        >>> lmms_vqa("The cat's", ["cat 's"] * 4), lmms_vqa("cat", ["cat"])
        (1.0, 0.0)
    """
    answer = normalize_evalai_answer(prediction)
    same = [normalize_evalai_answer(reference) == answer for reference in references]
    return _average_agreement([sum(same) - own for own in same])


def lmms_vqav2(prediction: str, references: Sequence[Mapping[str, object] | str]) -> float:
    """Score a VQAv2 answer: as `lmms_vqa`, but texts are rewritten less, and equal objects vanish together.

    Args:
        prediction: The model's response.
        references: Objects with `answer` and a number of their own, or texts. A text is detected by
            an equal one by its place; an object is left out with all objects that are equal to it
            once their answers are rewritten.

    Returns:
        A fraction 0-1; 0 where there are no references.

    Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/vqav2/utils.py:vqav2_process_results.

    Example:
        >>> lmms_vqav2("Two", [{"answer": "2", "answer_id": n} for n in range(4)])
        1.0
        >>> lmms_vqav2("2", [{"answer": "2"}, {"answer": "two"}] * 2), lmms_vqav2("2", ["2", "two"] * 2)
        (0.0, 1.0)
    """
    answer = normalize_vqav2_answer(prediction)
    given = [one if isinstance(one, Mapping) else {"answer": one, "": n} for n, one in enumerate(references)]
    objects = [{**one, "answer": normalize_vqav2_answer(str(one["answer"]))} for one in given]
    same = [one["answer"] == answer for one in objects]
    return _average_agreement([sum(same[n] for n, other in enumerate(objects) if other != one) for one in objects])


def _average_agreement(agreeing: Sequence[int]) -> float:
    return fmean(min(1.0, count / ENOUGH) for count in agreeing) if agreeing else 0.0


def normalize_evalai_tokens(text: str) -> str:
    """Lower-case a text, drop commas and question marks, put a blank before `'s`.

    Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/_task_utils/vqa_eval_metric.py:
    EvalAIAnswerProcessor.word_tokenize.

    Example:
        >>> normalize_evalai_tokens("The dog's, right?")
        "the dog 's right"
    """
    return text.lower().replace(",", "").replace("?", "").replace("'s", " 's").strip()


def normalize_evalai_answer(text: str) -> str:
    """Rewrite a TextVQA answer for comparison.

    Parity: EvolvingLMMs-Lab/lmms-eval@75571cf lmms_eval/tasks/_task_utils/vqa_eval_metric.py:
    EvalAIAnswerProcessor.__call__.

    Example:
        >>> normalize_evalai_answer("The Two-dogs.")
        '2 dogs'
    """
    return process_answer(normalize_evalai_tokens(text), DOT_BEFORE_NO_DIGIT)


def normalize_vqav2_answer(text: str) -> str:
    """Rewrite a VQAv2 answer for comparison: as `normalize_evalai_answer`, without the first step.

    Example:
        >>> normalize_vqav2_answer(" 1,000 dogs? ")
        '1000 dogs'
    """
    return process_answer(text, DOT_BEFORE_NO_DIGIT)


METRIC = lmms_vqa
