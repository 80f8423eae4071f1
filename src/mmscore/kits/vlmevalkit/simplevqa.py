"""SimpleVQA's verdicts, and the rates that VLMEvalKit makes of them."""

NOT_ATTEMPTED = "未尝试"
VERDICTS = {"正确": "is_correct", "错误": "is_incorrect", NOT_ATTEMPTED: "is_not_attempted"}
"""What the judge says -> the rate that it counts for.

Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/simplevqa.py:mapper.
"""


def compute_rates(correct: float, attempted: float) -> dict[str, float]:
    """Compute the rates that follow from those of correct and of attempted answers.

    Args:
        correct: Share of all answers that are correct.
        attempted: Share of all answers that are correct or incorrect.

    Returns:
        `accuracy_given_attempted`, the share of correct ones among those attempted, and `f1`, its harmonic mean with
        `correct`; 0 where nothing is to be divided by.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/simplevqa.py:SimpleVQAEval.

    Example:
        >>> compute_rates(0.5, 0.5)
        {'accuracy_given_attempted': 1.0, 'f1': 0.6666666666666666}
    """
    given = correct / attempted if attempted > 0 else 0.0
    f1 = 2 * given * correct / (given + correct) if given + correct > 0 else 0.0
    return {"accuracy_given_attempted": given, "f1": f1}
