"""Text of users and files, made fit to be shown."""


def escape_control(text: str) -> str:
    r"""Escape control and direction characters, so that data cannot drive the terminal.

    Example:
        >>> escape_control("a\x1b[31mb")
        'a\\x1b[31mb'
    """
    return "".join(c if c in "\n\t" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)
