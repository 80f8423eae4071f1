"""Score text recognition as VLMEvalKit's OCRBench does: a reference must be contained in the response."""

from collections.abc import Iterable, Sequence

from mmconvert.core.errors import RowError, show, suggest_spelling

MATHEMATICS = "Handwritten Mathematical Expression Recognition"

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/ocrbench.py, OCRBench_score
TEXT_RECOGNITION = (
    "Regular Text Recognition", "Irregular Text Recognition", "Artistic Text Recognition", "Handwriting Recognition",
    "Digit String Recognition", "Non-Semantic Text Recognition",
)  # fmt: skip
OTHERS = ("Scene Text-centric VQA", "Doc-oriented VQA", "Key Information Extraction", MATHEMATICS)


def vlmevalkit_ocrbench(prediction: str, references: Sequence[object], category: str) -> bool:
    r"""Tell whether any reference is contained in a response.

    Args:
        prediction: The model's response.
        references: The references, tried in order; an empty one is contained in every response.
        category: The question's category; for handwritten mathematics case counts and blanks do
            not, else case and outer blanks do not count.

    Returns:
        Whether the question counts as right.

    Raises:
        RowError: A reference that had to be tried is not a text.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_vqa.py:OCRBench.evaluate.

    Example:
        >>> vlmevalkit_ocrbench("It reads Exit 4.", ["exit 4"], "Regular Text Recognition")
        True
        >>> vlmevalkit_ocrbench("\\sqrt { x }", ["\\sqrt{x}"], MATHEMATICS)
        True
    """
    spelled = _remove_blanks if category == MATHEMATICS else _lower_text
    response = spelled(prediction)
    for reference in references:
        if not isinstance(reference, str):
            raise RowError("answer.type", "answer", f"every reference must be a text {show(reference)}. Quote it.")
        if spelled(reference) in response:
            return True
    return False


def _lower_text(text: str) -> str:
    return text.lower().strip().replace("\n", " ")


def _remove_blanks(text: str) -> str:
    return text.strip().replace("\n", " ").replace(" ", "")


def build_scoreboard(hits: Iterable[tuple[str, bool]]) -> dict[str, float]:
    """Count right answers by group, as the benchmark's score sheet does.

    Args:
        hits: Category of each question, and whether it is right.

    Returns:
        Right answers of `Text Recognition` (six categories), of the four other categories,
        `Final Score` (all of them; out of 1000 on the full benchmark) and `Final Score Norm`, a
        tenth of it.

    Raises:
        RowError: A right answer's category is none of the benchmark's.

    Example:
        >>> board = build_scoreboard([("Digit String Recognition", True), ("Doc-oriented VQA", False)])
        >>> board["Text Recognition"], board["Doc-oriented VQA"], board["Final Score Norm"]
        (1, 0, 0.1)
    """
    counts = dict.fromkeys((*TEXT_RECOGNITION, *OTHERS), 0)
    for category, right in hits:
        if right and category not in counts:
            hint = suggest_spelling(category, counts)
            raise RowError("category.unknown", "category", f"not a category of OCRBench {show(category)}.{hint}")
        if right:
            counts[category] += 1
    total = sum(counts.values())
    return {
        "Text Recognition": sum(counts[name] for name in TEXT_RECOGNITION),
        **{name: counts[name] for name in OTHERS},
        "Final Score": total,
        "Final Score Norm": total / 10,
    }


METRIC = vlmevalkit_ocrbench
