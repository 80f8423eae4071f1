"""Score yes/no questions as VLMEvalKit does: the reference must be the word that was read."""

UNKNOWN = "Unknown"
"""What the framework puts down for a response that it cannot read; no reference is it."""


def vlmevalkit_yes_no(reference: str, extracted: str | None, *, any_case: bool = False) -> bool:
    """Tell whether a response is right.

    Args:
        reference: The reference, as the table spells it.
        extracted: `Yes` or `No`, None for a response that could not be read.
        any_case: Whether the reference may be spelled in any case, as for AMBER.

    Returns:
        Whether reference and word are the same.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_yorn.py:ImageYORNDataset.evaluate.

    Example:
        >>> vlmevalkit_yes_no("Yes", "Yes"), vlmevalkit_yes_no("yes", "Yes"), vlmevalkit_yes_no("No", None)
        (True, False, False)
    """
    word = extracted or UNKNOWN
    return reference.lower() == word.lower() if any_case else reference == word


METRIC = vlmevalkit_yes_no
