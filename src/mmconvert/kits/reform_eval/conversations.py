"""ReForm-Eval's conversations (VisDial): rounds in the order of their visits, each with the rounds before it.

Offline the history holds the right answers. Online it holds what the model said: a round can be read only
after `update_history` was given the answers to the one before it.
Source: FudanDISC/ReForm-Eval@df1cfa7 build/VisDial/visual_dialog_dataset.py.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from mmconvert.core.errors import Error, RowError
from mmconvert.core.record import Part, Record, Turn
from mmconvert.kits.reform_eval.conversation_text import Processor, build_labeled_question
from mmconvert.kits.reform_eval.setup import Setup

HISTORY = "history"
"""Field of `extra` with the rounds before a question: `question`, `answer_options`, `answer` (an index)."""


@dataclass(slots=True)
class Round:
    """One question of a conversation."""

    dialog: str
    number: int
    image: Any
    question: str
    options: list[str]
    answer: int
    heard: list[str] = field(default_factory=list)

    @property
    def key(self) -> str:
        """The sample's id."""
        return f"{self.dialog}_{self.number}"


def capitalize_text(text: str) -> str:
    """Write a text with a capital at its start alone.

    Example:
        >>> capitalize_text("is it NEW?")
        'Is it new?'
    """
    return text.capitalize()


def capitalize_question(text: str) -> str:
    """Write a question with a capital at its start and a question mark at its end.

    Example:
        >>> capitalize_question("is it new")
        'Is it new?'
    """
    text = text.capitalize()
    return text if text.endswith("?") else f"{text}?"


def read_earlier_rounds(record: Record) -> tuple[Mapping[str, Any], ...]:
    """Give the rounds before a record's question, () where `extra` holds none of this shape."""
    rounds = record.extra.get(HISTORY)
    if not isinstance(rounds, list) or not all(isinstance(one, Mapping) and _is_round(one) for one in rounds):
        return ()
    return tuple(rounds)


def _is_round(one: Mapping[str, Any]) -> bool:
    options = one.get("answer_options")
    if not isinstance(one.get("question"), str) or not isinstance(options, list):
        return False
    return all(isinstance(option, str) for option in options) and one.get("answer") in range(len(options))


def replace_history(messages: Sequence[Turn], said: Sequence[tuple[str, str]]) -> tuple[Turn, ...]:
    """Put other words into the rounds that stand right before the last turn.

    Args:
        messages: A conversation: whatever goes before, a user's and an assistant's turn a round, the question.
        said: Question and answer of each round; images stay where they are.

    Returns:
        The conversation.

    Example:
        >>> from mmconvert.core.record import Part
        >>> turns = [Turn(role, (Part("text", "?"),)) for role in ("user", "assistant", "user")]
        >>> [turn.content[0].text for turn in replace_history(turns, [("Red?", "Yes")])]
        ['Red?', 'Yes', '?']
    """
    texts = [text for pair in said for text in pair]
    start = len(messages) - 1 - len(texts)
    if not texts or start < 0:
        return tuple(messages)
    worded = [
        Turn(turn.role, (*(part for part in turn.content if part.type == "image"), Part("text", text)))
        for turn, text in zip(messages[start:-1], texts, strict=True)
    ]
    return (*messages[:start], *worded, messages[-1])


class Conversations(Sequence[dict[str, Any]]):
    """The rounds of all conversations; item i is copy i % d of round i // d."""

    def __init__(
        self,
        data: Mapping[str, Any],
        setup: Setup,
        instructions: Sequence[str],
        example: Sequence[Mapping[str, str]],
        rng: Random,
        has_image: Callable[[str], bool],
    ) -> None:
        """Read the conversations.

        Args:
            data: `questions`, `answers` and `dialogs`, whose rounds hold indices into the two.
            setup: The loader's arguments.
            instructions: Instructions to take in turn.
            example: Turns that go before every history.
            rng: Draws orders and marks.
            has_image: Whether the image file exists.

        Raises:
            Error: An image file is missing.
        """
        self._setup, self._instructions, self._example, self._rng = setup, instructions, example, rng
        self._writer = setup.processor or Processor("\n", mark=None, method=setup.inference_method)
        read = [_read_rounds(conversation, data, setup.capitalize) for conversation in data["dialogs"]]
        self._rounds = [one for rounds in read for one in rounds]
        self._dialogs = {rounds[0].dialog: rounds for rounds in read if rounds}
        self._history: dict[str, list[dict[str, str]]] = {}
        for conversation in data["dialogs"]:
            name = build_image_name(conversation["image_id"], str(setup.config.get("split")))
            if not has_image(name):
                raise Error(f"{name}: no such image file. The framework expects it beside the data.")
        for one in self._rounds:
            # Every round draws its marks here, even where the model's answers take its place later.
            turns = self._build_finished_round(one, one.answer)
            if not setup.online_multi_round:
                self._history.setdefault(one.dialog, []).extend(turns)
        if setup.online_multi_round:
            self._rounds.sort(key=lambda one: f"{one.number}_{one.dialog}")

    def __len__(self) -> int:
        """Count rounds times copies."""
        return len(self._rounds) * self._setup.data_duplication

    def __getitem__(self, index: Any) -> Any:
        """Visit a round.

        Raises:
            Error: Online, before the round before it was answered.
        """
        if not 0 <= index < len(self):
            raise IndexError(index)
        number, copy = divmod(index, self._setup.data_duplication)
        one, setup = self._rounds[number], self._setup
        before = self._history.get(one.dialog, [])[: 2 * one.number]
        if len(before) < 2 * one.number:
            raise Error(f"round {one.number} of conversation {one.dialog}: the round before it has no answer yet.")
        options, answer = list(one.options), one.answer
        if setup.shuffle_options:
            right = options[answer]
            self._rng.shuffle(options)
            answer = options.index(right)
        turn = copy if setup.random_instruct else number
        sample: dict[str, Any] = {
            "sample_id": one.key,
            "round_id": one.number,
            "image": one.image,
            "question": one.question,
            "answer": answer,
            "answer_options": options,
            "instruct": self._instructions[turn % len(self._instructions)],
            "history": [dict(said) for said in (*self._example, *before)],
        }
        if setup.processor is not None and setup.write is not None:
            sample["text"] = setup.write(sample, setup.processor, self._rng)
        return {**sample, "question_with_option": build_labeled_question(sample, setup.option_mark, self._rng)}

    def list_earlier_rounds(self, index: int) -> list[dict[str, Any]]:
        """Give the rounds before an item with their right answers, as `read_earlier_rounds` reads them."""
        asked = self._rounds[index // self._setup.data_duplication]
        return [
            {"question": one.question, "answer_options": one.options, "answer": one.answer}
            for one in self._dialogs[asked.dialog][: asked.number]
        ]

    def update_history(self, batches: Iterable[Iterable[tuple[str, str]]]) -> None:
        """Take in what the model answered.

        Args:
            batches: Pairs of sample id and answer text. A round is finished when all of its copies are
                answered; the answer given most often counts, the first one where several are as common.
        """
        rounds = {one.key: one for one in self._rounds}
        for batch in batches:
            for key, text in batch:
                one = rounds[key]
                one.heard.append(text)
                if len(one.heard) == self._setup.data_duplication:
                    said = Counter(one.heard).most_common(1)[0][0]
                    self._history.setdefault(one.dialog, []).extend(self._build_finished_round(one, said))

    def _build_finished_round(self, one: Round, answer: int | str) -> list[dict[str, str]]:
        if self._setup.inference_method == "likelihood":
            asked, said = one.question, one.options[answer] if isinstance(answer, int) else answer
        else:
            asked, said = self._setup.finish(one.question, one.options, answer, self._writer, self._rng)
        return [{"from": "human", "value": asked}, {"from": "assistant", "value": said}]


def build_image_name(image_id: int, split: str) -> str:
    """Name the image file of a conversation.

    Example:
        >>> build_image_name(7, "val")
        'VisualDialog_val_000000000007.jpg'
    """
    return f"{'' if 'COCO' in split else 'VisualDialog_'}{split}_{image_id:012d}.jpg"


def _read_rounds(conversation: Mapping[str, Any], data: Mapping[str, Any], capitalize: bool) -> list[Round]:
    question_text, option_text = (capitalize_question, capitalize_text) if capitalize else (str, str)
    try:
        return [
            Round(
                str(conversation["image_id"]),
                number,
                conversation["image_base64"],
                question_text(data["questions"][said["question"]]),
                [option_text(data["answers"][place]) for place in said["answer_options"]],
                said["answer_options"].index(said["answer"]),
            )
            for number, said in enumerate(conversation["dialog"])
        ]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise RowError(
            "dialog.shape", "dialogs", f"a conversation cannot be read: {error!r}. Check the file."
        ) from None
