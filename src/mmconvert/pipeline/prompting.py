"""`--prompt NAME:k=v,...` and `--prompt-suffix TEXT`: the last user turn as a framework words it."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_args, get_origin, get_type_hints

from mmconvert.core.errors import UsageError, suggest_spelling
from mmconvert.core.record import Record
from mmconvert.core.text.prompt_parts import Wording
from mmconvert.core.text.turns import append_suffix, remove_begun_response, replace_prompt
from mmconvert.plugins.arguments import convert_arguments, parse_spec, refuse_unknown_arguments
from mmconvert.plugins.registry import load

Prompt = Callable[[Record], Wording]
"""What a file in `mmconvert/prompts` exports, but for its parameters: keywords with defaults."""


def load_prompt(spec: str) -> Prompt:
    """Load a prompt by what the user wrote.

    Args:
        spec: `NAME`, `NAME:k=v,...` or `file.py@NAME:k=v,...`.

    Returns:
        The prompt template with its parameters bound.

    Raises:
        UsageError: The name or a parameter is unknown, or has a wrong value.
    """
    name, values = parse_spec(spec)
    prompt: Callable[..., Wording] = load("mmconvert.prompts", name)
    if not callable(prompt):
        raise UsageError(f"{name}: is not a prompt. Name a function from a record to a Wording.")
    parameters = list(inspect.signature(prompt).parameters.values())[1:]
    defaults = {parameter.name: parameter.default for parameter in parameters}
    refuse_unknown_arguments(name, values, defaults)
    # None stands for "not given" in parameters that are texts.
    given = convert_arguments(name, values, {key: str if defaults[key] is None else defaults[key] for key in values})
    hints = get_type_hints(prompt)
    for key, value in given.items():
        words = _list_words(hints.get(key))
        if words and value not in words:
            hint = suggest_spelling(str(value), words)
            raise UsageError(f"{name}: {key} cannot be {value!r}.{hint} Known: {', '.join(words)}.")
    return partial(prompt, **given)


def build_prompt_step(prompt: str | None, suffix: str | None = None) -> Callable[[Record], Record]:
    r"""Give the step that words records again.

    Args:
        prompt: As for `load_prompt`; None keeps the prompt template that the format gave.
        suffix: Text put behind the last user turn as it is; None for none.

    Returns:
        A function from record to record, which may raise RowError; system turns, history and in-context
        turns stay.

    Raises:
        UsageError: As `load_prompt`.

    Example:
        >>> from mmconvert.core.record import Part, Source, Turn, join_prompt_text
        >>> turn = Turn("user", (Part("text", "Which?"),))
        >>> record = Record("1", "1", (turn,), "vqa", Source("f", "f", 0), question="Which?", options=("cat", "dog"))
        >>> join_prompt_text(build_prompt_step("mmbench", "Answer:")(record))
        'Which? There are several options:\nA. cat\nB. dog\nAnswer:'
    """
    word = None if prompt is None else load_prompt(prompt)

    def reword(record: Record) -> Record:
        if word is not None:
            record = remove_begun_response(record)
            record = replace_prompt(record, word(record))
        return append_suffix(record, suffix) if suffix else record

    return reword


def _list_words(hint: Any) -> tuple[str, ...]:
    """List the words of a Literal, also of one that may be None; () for any other type."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    return next((words for one in get_args(hint) if (words := _list_words(one))), ())
