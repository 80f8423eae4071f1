"""Find the JSON objects in a text that holds other things as well."""

from collections.abc import Iterator


def json_objects(text: str) -> Iterator[str]:
    r"""Find the objects in braces that stand in no other and in no string.

    A quotation mark opens a string outside of objects too.

    Example:
        >>> list(json_objects('x {"a": {"b": "}"}} [{}] "{}" {'))
        ['{"a": {"b": "}"}}', '{}']
    """
    depth, start, quoted, escaped = 0, 0, False, False
    for place, mark in enumerate(text):
        if quoted:
            quoted = escaped or mark != '"'
            escaped = not escaped and mark == "\\"
        elif mark == '"':
            quoted = True
        elif mark == "{":
            start = start if depth else place
            depth += 1
        elif mark == "}" and depth:
            depth -= 1
            if not depth:
                yield text[start : place + 1]
