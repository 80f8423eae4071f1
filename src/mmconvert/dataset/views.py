"""How the rows of a dataset are laid out: for evaluation, or for training with TRL.

eval                the prompt in `messages`, the answer in columns of its own
sft                 `messages` ends with the assistant's answer
prompt-completion   `prompt` and `completion` in the place of `messages`
preference          `prompt`, `chosen` and `rejected` in the place of `messages` and `preference`: TRL's DPOTrainer
prompt              `prompt` without a response, the reference in `solution`: TRL's GRPOTrainer

Of preference pairs `sft` and `prompt-completion` hold the chosen response, `prompt` holds it as the reference.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from mmconvert.core.arrow import build_column
from mmconvert.core.errors import RowError
from mmconvert.core.plain_chats import build_batch
from mmconvert.core.record import (
    LETTERS,
    SCHEMA,
    SCORES,
    Part,
    Preference,
    Record,
    Turn,
    attach_features,
    count_images,
    keep_chosen,
    to_arrow,
)
from mmconvert.core.text.options import list_letters
from mmconvert.core.text.placeholders import list_slots
from mmconvert.core.text.prompt_parts import OPTION_NAMES, REPLY
from mmconvert.core.text.turns import find_begun_response, remove_begun_response

ViewName = Literal["eval", "sft", "prompt-completion", "preference", "prompt"]
EVAL: Final = "eval"
PREFERENCE: Final = "preference"


def asks_for_letters(record: Record) -> bool:
    """Tell whether the answer is one or more letters of options."""
    return record.task == "multiple_choice" and bool(record.options) and bool(record.answer)


def build_reference_response(record: Record) -> str | None:
    """Word the reference as a model should have said it.

    Returns:
        Name and text of each right option (the name alone where the option is an image), the first
        reference elsewhere, None for an unlabelled record. An option's name is its letter, or what the prompt
        shows in its place.

    Example:
        >>> from mmconvert.core.record import Source
        >>> where = Source("f", "f", 0)
        >>> asked = Record("1", "1", (), "multiple_choice", where, options=("a cat", "a dog"), answer="B")
        >>> build_reference_response(asked)
        'B. a dog'
        >>> build_reference_response(Record("1", "1", (), "caption", where, answers=("A dog runs.", "A running dog.")))
        'A dog runs.'
    """
    if asks_for_letters(record):
        return "\n".join(_format_choice(letter, record) for letter in record.answer or "")
    return record.answers[0] if record.answers else record.answer


def _format_choice(letter: str, record: Record) -> str:
    place = LETTERS.find(letter)
    text = record.options[place] if 0 <= place < len(record.options) else None
    letters = list_letters(record.options)
    names = record.extra.get(OPTION_NAMES)
    if names == "" and text and not list_slots(text):
        return text
    shown = dict(zip(letters, names if isinstance(names, str) else letters, strict=False))
    name = shown.get(letter, letter)
    return f"{name}. {text}" if text and not list_slots(text) else name


ANSWER_TURN = "the reference answer is written as the assistant's turn"
"""What is said of a row to which `list_sft_turns` adds a turn."""


def gains_answer_turn(record: Record) -> bool:
    """Tell whether `list_sft_turns` writes the answer as a turn; False where the assistant has the last word already.

    Example:
        >>> from mmconvert.core.record import Source
        >>> asked = Record("1", "1", (Turn("user", (Part("text", "Which?"),)),), "vqa", Source("f", "f", 0))
        >>> gains_answer_turn(asked)
        True
    """
    turns = record.messages if find_begun_response(record) is None else record.messages[:-1]
    return not (turns and turns[-1].role == "assistant")


def list_sft_turns(record: Record) -> tuple[Turn, ...]:
    """Give the turns to train on: the prompt and, where it does not end with one, the assistant's answer.

    A response that a prompt only begins is completed with the answer.

    Raises:
        RowError: `view.no_prompt`, `view.no_answer`: there is nothing to show or nothing to learn.
    """
    if not record.messages:
        raise RowError("view.no_prompt", "messages", "the row has no prompt to train on.")
    begun = find_begun_response(record)
    turns = record.messages if begun is None else record.messages[:-1]
    if not gains_answer_turn(record):
        return turns
    response = build_reference_response(record)
    if response is None:
        raise RowError("view.no_answer", "answer", "the row has neither an assistant's turn nor an answer to learn.")
    return (*turns, Turn("assistant", (Part("text", response if begun is None else f"{begun} {response}"),)))


def remove_response(record: Record) -> Record:
    """Take off the response that a training view put behind the prompt; a conversation keeps its own last words.

    Args:
        record: Any record; one whose last turn is not the reference's words stays as it is.

    Returns:
        The record as it was before `list_sft_turns`.
    """
    turns = record.messages
    own_words = record.task == "chat" and record.round is None
    if own_words or len(turns) < 2 or turns[-1].role != "assistant" or turns[-2].role == "assistant":
        return record
    begun, response = record.extra.get(REPLY), build_reference_response(record)
    if response is None or turns[-1].content != (Part("text", response if begun is None else f"{begun} {response}"),):
        return record
    start = () if begun is None else (Turn("assistant", (Part("text", str(begun)),)),)
    return replace(record, messages=(*turns[:-1], *start))


def split_prompt_completion(record: Record) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """Cut the turns to train on before the assistant's last words.

    Returns:
        Prompt and completion; the completion is the assistant's turns at the end, one as a rule.

    Raises:
        RowError: The codes of `list_sft_turns`, or `view.no_prompt`: the assistant alone speaks.
    """
    turns = list_sft_turns(record)
    cut = len(turns)
    while cut and turns[cut - 1].role == "assistant":
        cut -= 1
    if not cut:
        raise RowError("view.no_prompt", "messages", "there is no turn before the assistant's turn.")
    return turns[:cut], turns[cut:]


def _convert_to_sft(record: Record) -> Record:
    record = keep_chosen(record)
    return replace(record, messages=list_sft_turns(record))


def _convert_to_prompt_completion(record: Record) -> Record:
    record = keep_chosen(record)
    prompt, completion = split_prompt_completion(record)
    return replace(record, messages=(*prompt, *completion))


def is_tie(record: Record) -> bool:
    """Tell whether the two sides of a pair are alike: in what is said and shown, or in their scores."""
    pair = record.preference
    if pair is None:
        return False
    if pair.score_chosen is not None and pair.score_chosen == pair.score_rejected:
        return True
    start = count_images(record.messages)
    between = start + count_images(pair.chosen)
    shown = [tuple(image.sha256 for image in part) for part in (record.images[start:between], record.images[between:])]
    return pair.chosen == pair.rejected and shown[0] == shown[1] and not pair.rejected_images


def require_pair(record: Record) -> Preference:
    """Give a pair that trainers can take: images in the prompt alone, the same for both sides, which differ.

    Raises:
        RowError: `view.no_pair`: the row is none; `view.pair`: an image in a response, other images for the
            rejected side, two sides that are alike.
    """
    pair = record.preference
    if pair is None:
        raise RowError("view.no_pair", "preference", "the row holds no preference pair. Convert it with another view.")
    if count_images((*pair.chosen, *pair.rejected)):
        message = "an image is in a response, and trainers expect images in the prompt."
        raise RowError("view.pair", "preference", message)
    if pair.rejected_images:
        message = "the rejected side has other images, and trainers show both sides the same images."
        raise RowError("view.pair", "rejected_images", message)
    if is_tie(record):
        raise RowError("view.pair", "preference", "both sides are alike, in their words or in their scores.")
    return pair


def split_pair(record: Record) -> Record:
    """Give a pair as trainers take it: see `require_pair`, and one turn a side.

    Turns that both sides begin with become the end of the prompt.

    Raises:
        RowError: The codes of `require_pair`; `view.pair`: several turns in a response.
    """
    pair = require_pair(record)
    most = min(len(pair.chosen), len(pair.rejected)) - 1
    cut = next((n for n in range(most) if pair.chosen[n] != pair.rejected[n]), most)
    chosen, rejected = pair.chosen[cut:], pair.rejected[cut:]
    for name, turns in (("chosen", chosen), ("rejected", rejected)):
        if len(turns) != 1 or turns[0].role != "assistant":
            message = f"the response has {len(turns)} turns, of which trainers would learn the user's too."
            raise RowError("view.pair", name, f"{message} Give one turn of the assistant, or leave the row out.")
    prompt = (*record.messages, *pair.chosen[:cut])
    if not prompt:
        raise RowError("view.no_prompt", "messages", "the row has no prompt to train on.")
    return replace(record, messages=prompt, preference=replace(pair, chosen=chosen, rejected=rejected))


def _build_preference_batch(records: Sequence[Record]) -> pa.RecordBatch:
    batch = to_arrow(records)
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    pairs = columns["preference"]
    columns |= {"prompt": columns["messages"]}
    columns |= {name: pairs.field(name) for name in ("chosen", "rejected", *SCORES)}
    return pa.RecordBatch.from_arrays([columns[name] for name in PREFERENCE_SCHEMA.names], schema=PREFERENCE_SCHEMA)


def _replace_messages(*fields: pa.Field, left_out: str = "") -> pa.Schema:
    place = SCHEMA.get_field_index("messages")
    rest = [field for field in [*SCHEMA][place + 1 :] if field.name != left_out]
    return attach_features(pa.schema([*[*SCHEMA][:place], *fields, *rest]))


PREFERENCE_SCHEMA: pa.Schema = _replace_messages(
    *(pa.field(name, SCHEMA.field("messages").type) for name in ("prompt", "chosen", "rejected")),
    *(pa.field(name, pa.float64()) for name in SCORES),
    left_out="preference",
)
"""`SCHEMA` with `prompt`, `chosen`, `rejected` and the scores in the place of `messages` and `preference`."""

PROMPT_SCHEMA: pa.Schema = _replace_messages(
    pa.field("prompt", SCHEMA.field("messages").type), pa.field("solution", pa.string())
)
"""`SCHEMA` with `prompt` in the place of `messages`, and `solution`, which reward functions read."""


def find_solution(record: Record) -> str | None:
    """Give the reference that a reward function compares with: the letters of a choice, else the first reference.

    Example:
        >>> from mmconvert.core.record import Source
        >>> where = Source("f", "f", 0)
        >>> find_solution(Record("1", "1", (), "multiple_choice", where, options=("a cat", "a dog"), answer="B"))
        'B'
    """
    if asks_for_letters(record):
        return record.answer
    return record.answers[0] if record.answers else record.answer


def remove_last_response(record: Record) -> Record:
    """Give the prompt alone; a response that ends the turns becomes the reference where the record has none.

    Raises:
        RowError: `view.no_prompt`: there is nothing to ask.
    """
    record = remove_begun_response(keep_chosen(record))
    cut = len(record.messages)
    while cut and record.messages[cut - 1].role == "assistant":
        cut -= 1
    prompt, response = record.messages[:cut], record.messages[cut:]
    if not prompt:
        raise RowError("view.no_prompt", "messages", "the row has no prompt to give a model.")
    if not response:
        return record
    shown = count_images(prompt)
    images, rest = record.images[:shown], record.images[shown:]
    said = "\n".join("".join(part.text for part in turn.content) for turn in response)
    record = replace(record, messages=prompt, images=images, attachments=(*record.attachments, *rest))
    return record if find_solution(record) is not None else replace(record, answer=said, answers=(said,))


def _build_prompt_batch(records: Sequence[Record]) -> pa.RecordBatch:
    batch = to_arrow(records)
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    solutions = build_column([find_solution(record) for record in records], pa.string())
    columns |= {"prompt": columns["messages"], "solution": solutions}
    return pa.RecordBatch.from_arrays([columns[name] for name in PROMPT_SCHEMA.names], schema=PROMPT_SCHEMA)


PROMPT_COMPLETION_SCHEMA: pa.Schema = _replace_messages(
    *(pa.field(name, SCHEMA.field("messages").type) for name in ("prompt", "completion"))
)
"""`SCHEMA` with `prompt` and `completion` in the place of `messages`: TRL takes one or the other."""


def _build_split_batch(records: Sequence[Record]) -> pa.RecordBatch:
    pairs = [split_prompt_completion(record) for record in records]
    prompts = to_arrow([replace(record, messages=pair[0]) for record, pair in zip(records, pairs, strict=True)])
    bare = [replace(r, messages=pair[1], images=(), attachments=()) for r, pair in zip(records, pairs, strict=True)]
    columns = {name: prompts.column(name) for name in prompts.schema.names if name != "messages"}
    columns |= {"prompt": prompts.column("messages"), "completion": to_arrow(bare).column("messages")}
    schema = PROMPT_COMPLETION_SCHEMA
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


class View(msgspec.Struct, frozen=True):
    """One layout.

    Attributes:
        schema: Columns of every shard.
        of: Record as it is stored; raises RowError where the layout has nothing to store; None stores it as it is.
        batch: Stored records as one Arrow batch; where `of` is None, plain conversations too.
    """

    schema: pa.Schema
    of: Callable[[Record], Record] | None
    batch: Callable[[Sequence[Any]], pa.RecordBatch]


VIEWS = {
    EVAL: View(SCHEMA, None, build_batch),
    "sft": View(SCHEMA, _convert_to_sft, to_arrow),
    "prompt-completion": View(PROMPT_COMPLETION_SCHEMA, _convert_to_prompt_completion, _build_split_batch),
    PREFERENCE: View(PREFERENCE_SCHEMA, split_pair, _build_preference_batch),
    "prompt": View(PROMPT_SCHEMA, remove_last_response, _build_prompt_batch),
}
"""Layouts by the names of `ViewName`."""
