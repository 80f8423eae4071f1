"""What to do about a refused row, where its message does not say so already."""

import re

from mmconvert.sources import Rejected

_STEPS = {
    "answer.": "Correct the answer, or leave the row out.",
    "box.": "Correct the box, or leave the row out.",
    "cell.": "Type the cell's value as plain text.",
    "field.json.": "Write the field as JSON, with double quotes, or as a list or object of its own.",
    "field.text.surrogate": "Write the whole character.",
    "id.": "Give every row an id of its own.",
    "image.absent": "Give its picture, or leave the row out.",
    "image.base64": "Encode the picture's file again.",
    "image.data_url": "Write data:image/png;base64, and the encoded file.",
    "image.decode": "Fetch or save the picture again.",
    "image.format": "Save the picture as one of them.",
    "image.missing": "Give the file, or its folder: --image-root DIR.",
    "image.path": "Put the picture inside the image root, or name its folder: --image-root DIR.",
    "image.reference": "Name a row that has a picture, or give the picture itself.",
    "image.too_large": "Make the picture smaller, or leave the row out.",
    "image.": "Fetch the picture again, or leave the row out.",
    "json.": "Write one whole JSON object, with double quotes and without a trailing comma.",
    "list.": 'Write the list as JSON: ["a", "b"].',
    "messages.role": "Use one of these words.",
    "messages.": "Correct the messages, or leave the row out.",
    "options.": "Correct the options, or leave the row out.",
    "placeholder.": "Give each placeholder its picture, or take it out of the text.",
    "prediction.": "Ask the model again, or leave the row out.",
    "question.": "Write the question, or leave the row out.",
    "remote.": "Fetch the picture by hand, or leave the row out.",
    "table.": "Give the row a cell for each column.",
    "text.": "Save the file as UTF-8.",
}
"""Code of a refusal, or how codes begin -> what to do."""

_REST = "Correct it, or leave the row out."
_SAID = re.compile(r"[.!?)] +[A-Z]\w*[^()]*$")
_SHOWN = re.compile(r"\(got .*\)(?=[.;, ]|$)", re.DOTALL)


def with_next_step(problem: Rejected) -> str:
    """Give the message of a refused row with what to do about it.

    Example:
        >>> from mmconvert.sources import Where
        >>> with_next_step(Rejected(Where("a.tsv", 0, 2), "image.base64", "this is not base64 (got '%').", "image"))
        "a.tsv:2 image: this is not base64 (got '%'). Encode the picture's file again."
        >>> with_next_step(Rejected(Where("a.tsv", 0, 2), "id.missing", "there is none. Number the rows.", "id"))
        'a.tsv:2 id: there is none. Number the rows.'
    """
    if _SAID.search(_SHOWN.sub("()", problem.message)):
        return str(problem)
    code = f"field.{problem.code}" if problem.field else problem.code
    step = next(
        (step for known, step in _STEPS.items() if code.startswith(known) or problem.code.startswith(known)), _REST
    )
    return f"{problem} {step}"
