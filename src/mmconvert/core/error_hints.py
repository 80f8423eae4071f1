"""What to do about a refused row, for every code of a refusal; a message that says it itself keeps its own words."""

import re

_STEPS = {
    "answer.missing": "Give the answer, or leave the row out.",
    "answer.not_an_option": "Correct the answer, or leave the row out.",
    "archive.": "Pack the sample again, or leave it out.",
    "box.count": "Give the row one box.",
    "box.": "Correct the box, or leave the row out.",
    "cell.": "Type the cell's value as plain text.",
    "dialog.answers": "Take the marker out of the answer.",
    "dialog.shape": "Get the whole file again, or leave the row out.",
    "dialog.replies": "Give one response for each question, as a JSON list.",
    "extra.type": "Write it as text, or leave the field out.",
    "field.json.": "Write the field as JSON, with double quotes, or as a list or object of its own.",
    "field.missing": "Give the field, or leave the row out.",
    "id.": "Give every row an id of its own.",
    "id.missing": "Give every row an id of its own, a text or a whole number without a point.",
    "id.number": "Make the cell a text, and type the id again.",
    "id.type": "Write it as text or as a whole number without a point, in pandas as type Int64.",
    "image.absent": "Give its image, or leave the row out.",
    "image.base64": "Encode the image's file again.",
    "image.data_url": "Write data:image/png;base64, and the encoded file.",
    "image.decode": "Fetch or save the image again.",
    "image.empty": "Give the image, or leave the row out.",
    "image.format": "Save the image as one of them.",
    "image.header": "Fetch or save the image again.",
    "image.missing": "Give the file, or its folder: --image-root DIR.",
    "image.path": "Put the image inside the image root, or name its folder: --image-root DIR.",
    "image.reference": "Name a row that has an image, or give the image itself.",
    "image.remote": "Convert it with --allow-remote, which fetches it.",
    "image.too_large": "Make the image smaller, or leave the row out.",
    "image.truncated": "Fetch the image again, or leave the row out.",
    "item.shape": "Correct the fields' names, or name the family's data set: --dataset NAME.",
    "json.depth": "Nest it less deeply, or leave the row out.",
    "json.number": "Write the number as a text in quotes, or leave the row out.",
    "json.size": "Write the row with fewer values, or leave it out.",
    "json.type": "Write the row as an object, in braces.",
    "json.": "Write one whole JSON object, with double quotes and without a trailing comma.",
    "list.depth": "Nest the list less deeply, or leave the row out.",
    "list.number": "Write the number as a text in quotes, or leave the row out.",
    "list.size": "Shorten the list, or leave the row out.",
    "list.": 'Write the list as JSON: ["a", "b"].',
    "media.unsupported": "Leave the row out.",
    "messages.field": "Give the field, or leave the row out.",
    "messages.images": "Give each image part its image.",
    "messages.missing": "Give the messages as a list, or leave the row out.",
    "messages.no_user": "Add one, or leave the row out.",
    "messages.role": "Use one of these words.",
    "messages.tool_calls": "Complete the call, or leave the row out.",
    "method.": "Correct the function.",
    "options.missing": "Give the options as a list, or leave the row out.",
    "options.count": "Correct the options, or leave the row out.",
    "placeholder.no_image": "Give each placeholder its image, or take it out of the text.",
    "placeholder.syntax": "Correct the placeholder, or take it out of the text.",
    "prediction.missing": "Run the model again, or leave the row out.",
    "preference.images": "Give each image of the prompt its counterpart, or leave the row out.",
    "preference.prompt": "End the prompt with a user's turn that both responses answer, or leave the row out.",
    "preference.missing": "Give both responses, or leave the row out.",
    "preference.": "Correct the pair, or leave the row out.",
    "question.missing": "Write the question, or leave the row out.",
    "ratings.count": "Give each text one rating.",
    "record.shape": "Convert the row's source again.",
    "remote.address": "Name a host of your own network by --allow-host NAME[:PORT], or leave the row out.",
    "remote.": "Fetch the image by hand, or leave the row out.",
    "row.too_large": "Give its images as files, or leave the row out.",
    "target.": "Leave the row out, or export to another format.",
    "text.encoding": "Save the file as UTF-8; from Windows: iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW.",
    "text.surrogate": "Write the whole character.",
    "text.too_large": "Cut the texts, or leave the row out.",
    "video.clip": "Correct start and end, or leave the row out.",
    "video.decode": "Save the video as H.264 in MP4, or leave the row out.",
    "video.missing": "Give the file, or its folder: --image-root DIR.",
    "video.path": "Put the video inside the image root, or name its folder: --image-root DIR.",
    "video.too_large": "Make the video smaller, take fewer frames, or leave the row out.",
    "video.": "Download the video, and give its path.",
    "view.": "Complete the row, or leave it out.",
}
"""Code of a refusal, or how codes begin -> what to do; of several that fit, the longest."""

_BY_LAST_WORD = {
    "content": "Write it so, or leave the row out.",
    "missing": "Give it, or leave the row out.",
    "part": "Write the part so, or leave the row out.",
    "range": "Give the option's place, counted from 0.",
    "type": "Write it so, or leave the row out.",
}
"""Last word of a code -> what to do, whatever field the code begins with; such a message says what was expected."""

_REST = "Correct it, or leave the row out."
"""For the codes of a user's own plug-ins."""

_SAID = re.compile(r"[.!?)] +[A-Z]\w*[^()]*$")
_SHOWN = re.compile(r"\(got .*\)(?=[.;, ]|$)", re.DOTALL)


def add_hint(code: str, field: str, message: str) -> str:
    """Give the message of a refused row with what to do about it.

    Args:
        code: Why it was refused.
        field: The field that it was refused for, "" for the row as a whole.
        message: What is wrong, in a sentence; what it quotes stands in brackets.

    Example:
        >>> add_hint("image.base64", "image", "this is not base64 (got '%').")
        "this is not base64 (got '%'). Encode the image's file again."
        >>> add_hint("id.missing", "id", "there is none. Number the rows.")
        'there is none. Number the rows.'
    """
    if says_what_to_do(message):
        return message
    codes = (f"field.{code}", code) if field else (code,)
    known = [word for word in _STEPS if any(code.startswith(word) for code in codes)]
    return f"{message} {_STEPS[max(known, key=len)] if known else _BY_LAST_WORD.get(code.rpartition('.')[2], _REST)}"


def says_what_to_do(message: str) -> bool:
    """Tell whether another sentence follows what is wrong.

    Example:
        >>> says_what_to_do("this is not base64 (got 'No. No')."), says_what_to_do("expected user. Did you mean it?")
        (False, True)
    """
    return _SAID.search(_SHOWN.sub("()", message)) is not None
