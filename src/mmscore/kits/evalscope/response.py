"""How EvalScope cuts a reasoning block out of a response before it reads the answer."""

from mmconvert.kits.evalscope.messages import CLOSING, OPENING


def split_reasoning(text: str) -> tuple[str, str | None]:
    r"""Cut the first closed reasoning block out of a response.

    Args:
        text: What the model wrote.

    Returns:
        The response without the block, stripped on both sides, and the block's text, stripped. A text
        without a closed block comes back untouched, with None.

    Parity: modelscope/evalscope 1.3.0 to 1.14.1, reading of a model output's reasoning part.

    Example:
        >>> split_reasoning("<think>B?</think>\nANSWER: A ")
        ('ANSWER: A', 'B?')
        >>> split_reasoning("<think>no end ")
        ('<think>no end ', None)
    """
    opening = OPENING.search(text)
    end = text.find(CLOSING, opening.end()) if opening else -1
    if opening is None or end < 0:
        return text, None
    rest = text[: opening.start()] + text[end + len(CLOSING) :]
    return rest.strip(), text[opening.end() : end].strip()
