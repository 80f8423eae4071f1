"""ReForm-Eval's preprocessors under its own names: objects that make a text of a sample.

Source: FudanDISC/ReForm-Eval@df1cfa7 utils/preprocessors.py.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import UsageError, show
from mmconvert.kits.reform_eval.conversation_text import (
    Processor,
    build_round,
    format_conversation,
    format_mmgpt,
    format_plain,
    format_question_answer,
)
from mmconvert.kits.reform_eval.setup import Finish, Write

_ROLES = ("Question", "Answer")


class SingleChoiceProcessor:
    r"""Question and `Answer:`, as BLIP-2 and its kin read it.

    Example:
        >>> proc = SingleChoiceProcessor(" ", "\n", alphabet_choice="upper")
        >>> proc({"question": "Red?", "answer_options": ["yes", "no"]})
        'Question: Red? Options: (A) yes; (B) no. Answer:'
    """

    write: Write = staticmethod(format_question_answer)

    def __init__(
        self,
        sep: str,
        sep2: str | None = None,
        roles: Sequence[str] = _ROLES,
        alphabet_choice: str | None = None,
        infer_method: str = "generation",
    ) -> None:
        """Take the framework's arguments.

        Args:
            sep: Ends the user's turns.
            sep2: Ends the assistant's.
            roles: Names of user and assistant.
            alphabet_choice: upper, lower or number; None draws the marks again each time.
            infer_method: generation or likelihood, which leaves out the options.

        Raises:
            UsageError: The marks are unknown.
        """
        self.settings = Processor(sep, sep2, _pair(roles), method=infer_method)
        self.response_prefix: str | None = None
        self.rng = Random()
        self.set_mark(alphabet_choice)

    @property
    def infer_method(self) -> str:
        """`generation` or `likelihood`."""
        return self.settings.method

    def set_mark(self, mark_choice: str | None = None) -> None:
        """Choose the marks of the options.

        Args:
            mark_choice: upper, lower, number; random or None draws them again each time.

        Raises:
            UsageError: It is none of them.
        """
        self.settings = replace(self.settings, mark=mark_choice)
        self.settings.choose_labels(Random(0))

    def process_qa(self, question: str, options: Sequence[Any] | None = None, answer: Any = None) -> tuple[str, str]:
        """Word a finished round; see `build_round`."""
        return build_round(question, options, answer, self.current, self.rng)

    @property
    def current(self) -> Processor:
        """The settings with the beginning of the response as it is now; the framework's datasets change it."""
        return replace(self.settings, response_prefix=self.response_prefix)

    def __call__(self, sample: Mapping[str, Any]) -> str:
        """Write a sample.

        Raises:
            UsageError: The style is unknown or lacks a separator.
            RowError: There are more options than marks.
        """
        return type(self).write(sample, self.current, self.rng)


class BaseProcessor(SingleChoiceProcessor):
    """Question and `Answer:` without options."""

    write: Write = staticmethod(lambda sample, settings, rng: format_plain(sample, settings))


class ConvSingleChoiceProcessor(SingleChoiceProcessor):
    r"""A dialogue in one of the framework's styles.

    Example:
        >>> proc = ConvSingleChoiceProcessor("\n", roles=["User", "Bot"], sep_style="one", response_prefix="It is")
        >>> proc.set_mark("upper")
        >>> proc({"question": "Red?", "answer_options": ["yes", "no"]})
        'User: Red? Options: (A) yes; (B) no.\nBot: It is'
    """

    write: Write = staticmethod(format_conversation)

    def __init__(
        self,
        sep: str,
        sep2: str | None = None,
        roles: Sequence[str] = _ROLES,
        system_msg: str | None = None,
        first_query_fn: Callable[[str], str] | None = None,
        init_conv: Sequence[Sequence[str]] | None = None,
        sep_style: str = "two",
        alphabet_choice: str | None = None,
        infer_method: str = "generation",
        response_prefix: str | None = None,
        *,
        system_message: str | None = None,
    ) -> None:
        """Take the framework's arguments.

        Args:
            sep: Ends a turn.
            sep2: Ends a turn of the assistant, in the styles that tell the two apart.
            roles: Names of user and assistant.
            system_msg: Text that goes first.
            first_query_fn: Changes the first message, to put the image's mark there.
            init_conv: Turns [role, text] before every dialogue.
            sep_style: one, two, llama_2, otter, llama_adapter2 or visualglm.
            alphabet_choice: As `SingleChoiceProcessor`.
            infer_method: As `SingleChoiceProcessor`; likelihood drops `response_prefix` too.
            response_prefix: How the response begins.
            system_message: `system_msg` as the framework's guide spells it.

        Raises:
            UsageError: The marks are unknown, or the system text is given twice.
        """
        if system_msg is not None and system_message is not None:
            raise UsageError("system_msg and system_message are one argument. Give it once.")
        super().__init__(sep, sep2, roles, alphabet_choice, infer_method)
        self.response_prefix = None if infer_method == "likelihood" else response_prefix
        self.settings = replace(
            self.settings,
            system=system_message if system_msg is None else system_msg,
            first_query=first_query_fn or str,
            opening=tuple(_pair(turn) for turn in init_conv or ()),
            style=sep_style,
        )


class MMGPTSingleChoiceProcessor(ConvSingleChoiceProcessor):
    """The dialogue of MultiModal-GPT, with its own system text."""

    write: Write = staticmethod(format_mmgpt)


def settings_of(preprocessor: Any, method: str) -> tuple[Processor, Write, Finish]:
    """Give what the loader needs to know of a preprocessor, one of these or the user's own.

    Args:
        preprocessor: Called with a sample; `response_prefix` and `process_qa` as in the framework where it has them.
        method: generation or likelihood.

    Returns:
        Settings, what writes a sample, and what words a finished round of a conversation.
    """
    if isinstance(preprocessor, SingleChoiceProcessor):
        return preprocessor.current, type(preprocessor).write, build_round
    settings = Processor("\n", method=method, response_prefix=getattr(preprocessor, "response_prefix", None))
    own = getattr(preprocessor, "process_qa", None)
    if own is None:
        return settings, lambda sample, _settings, _rng: preprocessor(sample), build_round
    return (
        settings,
        lambda sample, _settings, _rng: preprocessor(sample),
        lambda question, options, answer, _settings, _rng: own(question, options, answer),
    )


def _pair(texts: Sequence[str]) -> tuple[str, str]:
    if isinstance(texts, str) or len(texts) != 2:
        raise UsageError(f"expected two texts, as ['User', 'Bot'] {show(texts)}. Give both.")
    return texts[0], texts[1]
