"""VLMEvalKit's prompt template, by the dataset class that reads the table: images first, then one text.

The framework's message is a list of `{"type": "image" or "text", "value": ...}`; `build_messages` gives it from a
raw row, `vlmevalkit` gives the same turn from a record.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mmconvert.core.errors import RowError, UsageError, show, suggest_spelling
from mmconvert.core.record import LETTERS, Part, Record
from mmconvert.core.text.literals import looks_like_list, parse_list
from mmconvert.core.text.prompt_parts import Wording
from mmconvert.core.text.turns import list_last_turn_images

Row = Mapping[str, Any]
Message = dict[str, Any]

# Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mcq.py, image_vqa.py, image_yorn.py,
# image_caption.py, image_shortqa.py, mmmu_pro classes of image_mcq.py: the lines a model reads
SELECT = "Please select the correct answer from the options above. \n"
ONE_WORD = "\nAnswer the question using a single word or phrase."
SAME_LANGUAGE = "\nAnswer the question using a word or phrase in the language of the question."
SHORT = "\nPlease directly provide a short answer to the question. "
YES_OR_NO = "\nPlease answer yes or no."
LETTER = "Answer directly with the option letter from the given choices. "
LAST_LINE = (
    "The last line of your response should be of the following format: 'Answer: $LETTER' (without quotes) "
    "where LETTER is one of the options. Think step by step before answering. "
)
CAPTION = (
    "Please describe this image in general. Directly provide the description, "
    'do not include prefix like "This image depicts". '
)
PRO_STEPS = f"Answer the following multiple-choice question. {LAST_LINE}"
PRO_VISION = "Answer the following multiple-choice question in the image. "

NUMBERED = "<image "
HERE = "<ImageHere>"
STEPS = "COT"
VISION = re.compile(r"_V(?:_|$)")
"""How the MMMU-Pro data sets with the question inside the image are named."""


def vlmevalkit(record: Record, dataset_class: str | None = None) -> Wording:
    """Word a question as VLMEvalKit does.

    Args:
        record: A question of one round.
        dataset_class: The framework's class, such as `ImageVQADataset`; None takes the one that the framework
            uses for a table of the user's own with such a task.

    Returns:
        The turn; the k of an image is its place in the record.

    Raises:
        UsageError: The class is unknown, or words conversations.
        RowError: The text names an image that the record does not have.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_base.py and its classes:build_prompt.
    """
    name = dataset_class or OWN_CLASS.get(record.task, "CustomVQADataset")
    if name == _CONVERSATIONS:
        raise UsageError(f"vlmevalkit's class {name} words whole conversations. Leave --prompt out: rows keep theirs.")
    row = {"question": record.question, "hint": record.hint, **dict(zip(LETTERS, record.options, strict=False))}
    if record.question is None and record.task == "caption":
        # A table of captions may lack the column: the framework's class asks its own question then.
        del row["question"]
    slots = [image.slot for image in list_last_turn_images(record)]
    turn = build_messages(name, record.dataset or "", row, slots)
    parts = tuple(Part("image") if x["type"] == "image" else Part("text", str(x["value"])) for x in turn)
    return Wording(parts, tuple(x["value"] for x in turn if x["type"] == "image"))


def build_messages(dataset_class: str, dataset: str, row: Row, images: Sequence[Any]) -> list[Message]:
    """Build the framework's message from a raw row.

    Args:
        dataset_class: The framework's class.
        dataset: The benchmark's name.
        row: Cells by column, typed as the framework reads them, None for missing.
        images: What stands for the row's images, in order (paths, for the framework).

    Returns:
        Pieces `{"type", "value"}` in reading order.

    Raises:
        UsageError: The class is unknown.
        RowError: A number stands where a text must be joined to, or an image is named that is not there.

    Example:
        >>> build_messages("CustomVQADataset", "mine", {"question": "Which?"}, ["1.png"])
        [{'type': 'image', 'value': '1.png'}, {'type': 'text', 'value': 'Which?'}]
    """
    if dataset_class not in CLASSES:
        hint = suggest_spelling(dataset_class, CLASSES)
        raise UsageError(f"vlmevalkit has no class {dataset_class!r}.{hint} Known: {', '.join(CLASSES)}.")
    return CLASSES[dataset_class](dataset, row, images)


def build_choice_text(row: Row, closing: str = SELECT, *, hint: bool = True) -> str:
    """Write question and options as the framework's multiple-choice classes do.

    Args:
        row: `question`, `hint` and one cell a letter.
        closing: Line behind the options; left out, like their heading, where there are none.
        hint: Whether a hint is shown.

    Returns:
        The text.

    Example:
        >>> print(build_choice_text({"question": "Which?", "A": "cat"}), end="")
        Question: Which?
        Options:
        A. cat
        Please select the correct answer from the options above.
    """
    options = [f"{letter}. {row[letter]}\n" for letter in LETTERS if row.get(letter) is not None]
    before = f"Hint: {row['hint']}\n" if hint and row.get("hint") is not None else ""
    listed = f"Options:\n{''.join(options)}{closing}" if options else ""
    return f"{before}Question: {_read_question(row)}\n{listed}"


def split_at_images(text: str, images: Sequence[Any]) -> list[Message]:
    """Put images where `<image d>` stands, as the framework does for MMMU.

    Args:
        text: The text.
        images: Images; d counts from 1, and 0 is the last one.

    Returns:
        Text and images in turn, empty texts kept, images that are not named left out; all
        images first where the text names none.

    Raises:
        RowError: What follows `<image ` is not one digit and `>`, or there is no such image.

    Example:
        >>> [piece["value"] for piece in split_at_images("Is <image 1> red?", ["a.png", "b.png"])]
        ['Is ', 'a.png', ' red?']
    """
    first, *rest = text.split(NUMBERED)
    if not rest:
        return _put_images_first(text, images)
    pieces = [_build_text(first)]
    for piece in rest:
        if not (piece[:1].isascii() and piece[:1].isdigit() and piece[1:2] == ">"):
            message = f"expected <image d> with one digit {show(NUMBERED + piece)}."
            raise RowError("placeholder.syntax", "question", message)
        place = int(piece[0]) - 1
        if not -len(images) <= place < len(images):
            message = f"the text names image {place + 1}, of {len(images)}. Give it, or take its name out."
            raise RowError("image.missing", "question", message)
        pieces += [_build_image(images[place]), _build_text(piece[2:])]
    return pieces


def build_conversation(row: Row, images: Sequence[Any]) -> list[Message]:
    """Build the turns of a conversation: questions and answers, `<ImageHere>` taking images in order.

    Args:
        row: `question` and `answer`, each a text or a list of texts; without an `answer` column the
            assistant's turns are empty.
        images: Images.

    Returns:
        `{"role", "content"}` of user and assistant in turn; content as in `build_messages`, empty texts left out.

    Raises:
        RowError: Questions and answers differ in number, an answer holds `<ImageHere>`, or the
            images run out.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_mt.py:ImageMTDataset.build_prompt.

    Example:
        >>> [turn["role"] for turn in build_conversation({"question": "['a', 'b']", "answer": "['c', 'd']"}, [])]
        ['user', 'assistant', 'user', 'assistant']
    """
    questions = _read_texts(row.get("question"))
    answers = _read_texts(row["answer"]) if "answer" in row else [""] * len(questions)
    if len(questions) != len(answers):
        raise RowError("rounds.count", "answer", f"{len(questions)} questions have {len(answers)} answers. Pair them.")
    left = iter(images)
    turns: list[Message] = []
    for question, answer in zip(questions, answers, strict=True):
        if HERE in answer:
            message = f"an answer cannot show an image {show(answer)}. Remove {HERE}."
            raise RowError("placeholder.role", "answer", message)
        turns.append({"role": "user", "content": _split_here(question, left)})
        turns.append({"role": "assistant", "content": [_build_text(answer)]})
    return turns


def _split_here(question: str, images: Any) -> list[Message]:
    first, *rest = question.split(HERE)
    pieces = [_build_text(first)] if first else []
    for text in rest:
        try:
            pieces.append(_build_image(next(images)))
        except StopIteration:
            message = "the conversation names more images than it has. Give each its image."
            raise RowError("image.missing", "question", message) from None
        if text:
            pieces.append(_build_text(text))
    return pieces


def _read_texts(cell: Any) -> list[str]:
    if not isinstance(cell, str):
        raise RowError("text.type", "question", f"expected a text or a list of texts {show(cell)}.")
    return [str(item) for item in parse_list(cell)] if looks_like_list(cell) else [cell]


def _build_image(value: Any) -> Message:
    return {"type": "image", "value": value}


def _build_text(value: Any) -> Message:
    return {"type": "text", "value": value}


def _put_images_first(text: Any, images: Sequence[Any]) -> list[Message]:
    return [*map(_build_image, images), _build_text(text)]


def _read_question(row: Row) -> Any:
    # The framework prints what pandas holds in an empty cell.
    return "nan" if row.get("question") is None else row["question"]


def _build_choice(dataset: str, row: Row, images: Sequence[Any]) -> list[Message]:
    return _put_images_first(build_choice_text(row), images)


def _build_text_choice(dataset: str, row: Row, images: Sequence[Any]) -> list[Message]:
    return [_build_text(build_choice_text(row))]


def _build_mmmu_pro(dataset: str, row: Row, images: Sequence[Any]) -> list[Message]:
    steps = STEPS in dataset
    if VISION.search(dataset):
        return _put_images_first(PRO_VISION + (LAST_LINE if steps else LETTER), images)
    return split_at_images(build_choice_text(row, PRO_STEPS if steps else LETTER, hint=False), images)


def _build_plain(dataset: str, row: Row, images: Sequence[Any]) -> list[Message]:
    return _put_images_first(_read_question(row), images)


def _append_suffix(suffix: str) -> Callable[[str, Row, Sequence[Any]], list[Message]]:
    def build(dataset: str, row: Row, images: Sequence[Any]) -> list[Message]:
        question = row.get("question")
        if not isinstance(question, str):
            raise RowError("text.type", "question", f"expected a text {show(question)}. Read the column as text.")
        return _put_images_first(question + suffix, images)

    return build


def _build_yes_no(dataset: str, row: Row, images: Sequence[Any]) -> list[Message]:
    return (_append_suffix(YES_OR_NO) if dataset in ASKING_YES_OR_NO else _build_plain)(dataset, row, images)


ASKING_YES_OR_NO = ("AMBER",)
_CONVERSATIONS = "ImageMTDataset"
OWN_CLASS = {
    "multiple_choice": "CustomMCQDataset",
    "yes_no": "ImageYORNDataset",
    "caption": "ImageCaptionDataset",
    "ocr": "OCRBench",
}
CLASSES: dict[str, Callable[[str, Row, Sequence[Any]], list[Message]]] = {
    "ImageMCQDataset": _build_choice,
    "CustomMCQDataset": _build_choice,
    "TextMCQDataset": _build_text_choice,
    "CustomTextMCQDataset": _build_text_choice,
    "MMMUDataset": lambda dataset, row, images: split_at_images(build_choice_text(row), images),
    "MMMUProDataset": _build_mmmu_pro,
    "ImageVQADataset": _append_suffix(ONE_WORD),
    "MTVQADataset": _append_suffix(SAME_LANGUAGE),
    "ImageShortQADataset": _append_suffix(SHORT),
    "ImageYORNDataset": _build_yes_no,
    "CustomVQADataset": _build_plain,
    "OCRBench": _build_plain,
    "ImageCaptionDataset": lambda dataset, row, images: _put_images_first(
        _read_question(row) if "question" in row else CAPTION, images
    ),
    _CONVERSATIONS: lambda dataset, row, images: build_conversation(row, images),
}
"""How each of the framework's classes words a row."""

WITHOUT_IMAGES = ("TextMCQDataset", "CustomTextMCQDataset")
"""Classes that show no image, whatever the table holds."""

PROMPT = vlmevalkit
