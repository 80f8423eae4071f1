"""Tell a reasoning block from the response that follows it."""

OPEN, CLOSE = "<think>", "</think>"


def split_thinking(text: str, *, opened: bool = False) -> tuple[str | None, str]:
    """Cut a reasoning block off the beginning of a response.

    Args:
        text: What the model generated.
        opened: The prompt itself ended with the opening tag, as some chat templates do.

    Returns:
        The reasoning without its tags, None where there is no block, and the response after it without
        leading white space; "" where the response ended inside the block.

    Example:
        >>> split_thinking("<think>4 or 5?</think> 4")
        ('4 or 5?', '4')
        >>> split_thinking("4 <think> 5</think>")
        (None, '4 <think> 5</think>')
        >>> split_thinking("still thin", opened=True)
        ('still thin', '')
    """
    start = text.lstrip()
    if start.startswith(OPEN):
        start = start.removeprefix(OPEN)
    elif not opened:
        return None, text
    thinking, _, response = start.partition(CLOSE)
    return thinking.strip(), response.lstrip()
