"""What a prompt owes: a prompt template whose images the record has, or a refusal by name, the same everywhere."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mmconvert.core.errors import RowError, describe_error, show
from mmconvert.core.record import Part, Record
from mmconvert.core.text.prompt_parts import Wording
from mmconvert.core.text.turns import replace_prompt
from mmconvert.core.validation import check_record
from mmconvert.pipeline.prompting import Prompt, load_prompt
from mmconvert.plugins.arguments import parse_spec
from mmconvert.plugins.registry import load
from mmconvert.testing.elsewhere import collect_digests
from mmconvert.testing.examples import load_example_records, load_records
from mmconvert.testing.subject import Subject
from mmconvert.testing.values import ANSWERED, CHOICE, VALUES

_KINDS = (bool, int, float, str, type(None))


def load_subject(name: str, examples: Sequence[Path]) -> Subject:
    """Load what is to be checked.

    Args:
        name: The prompt, with parameters behind a colon.
        examples: Files whose records it should word.

    Raises:
        UsageError: There is no such prompt, or a parameter is wrong.
    """
    plugin = load("mmconvert.prompts", parse_spec(name)[0])
    if callable(plugin):
        load_prompt(name)
    return Subject(name, plugin, tuple(examples))


def _check_declaration(it: Subject) -> Iterator[str]:
    if not callable(it.plugin):
        yield f"the object is {show(it.plugin)}. Name a function from a record to a Wording."
        return
    parameters = list(inspect.signature(it.plugin).parameters.values())
    if not parameters or parameters[0].kind is inspect.Parameter.KEYWORD_ONLY:
        yield "the function takes no record. Let it be the first argument."
    for parameter in parameters[1:]:
        if type(parameter.default) not in _KINDS:
            yield (
                f"parameter {parameter.name!r} cannot be given as key=value. Give it a default that is a bool, an int, "
                "a float, a str or None."
            )


def _list_records(it: Subject) -> Iterator[Record]:
    for base in (ANSWERED, CHOICE):
        yield base
        yield from (replace(base, **{column: value}) for column, value in VALUES.items())
        yield replace(base, messages=(), images=(), question=None, options=(), task="vqa")
    yield from (*load_example_records(), *load_records(it.examples))


def _check_words_some(it: Subject) -> Iterator[str]:
    prompt, refusals = load_prompt(it.name), []
    for record in _list_records(it):
        try:
            prompt(record)
        except RowError as error:
            refusals.append(str(error))
        else:
            return
    yield f"no sample gets a prompt; the first error: {refusals[0]} Give a file with records that the prompt words."


def _check_words_or_refuses(it: Subject) -> Iterator[str]:
    prompt = load_prompt(it.name)
    for record in _list_records(it):
        found = list(find_faults(record, prompt))
        yield from (f"record {record.id} of {record.source.format}: {fault}" for fault in found)
        if found:
            return


def find_faults(record: Record, prompt: Prompt) -> Iterator[str]:
    """Word one record and name what is wrong with the prompt template.

    Args:
        record: Any record.
        prompt: As `mmconvert.pipeline.prompting.prompt_of` gives it.

    Yields:
        What is wrong; nothing for a record that is refused by `RowError`.
    """
    try:
        # A prompt of the user's own may give anything.
        wording: Any = prompt(record)
        again = prompt(record)
    except RowError:
        return
    except Exception as error:
        yield f"{describe_error(error)}. Raise RowError for a record that cannot be worded."
        return
    if not isinstance(wording, Wording):
        yield f"the result is {show(wording)}. Return a mmconvert.core.text.prompt_parts.Wording."
        return
    if wording != again:
        yield "a second run words it otherwise. Draw by the record's id, and keep no state."
    parts: Any = wording.parts
    if not isinstance(parts, tuple) or not all(isinstance(p, Part) and p.type in ("text", "image") for p in parts):
        yield f"parts is not a tuple of text and image parts {show(parts)}. Make them of mmconvert.core.record.Part."
        return
    shown = sum(part.type == "image" for part in parts)
    if shown != len(wording.slots):
        yield f"{shown} image parts and {len(wording.slots)} slots. Give each image part the k of its image."
        return
    try:
        check_record(replace_prompt(record, wording))
    except RowError as error:
        if error.code != "placeholder.no_image":
            yield f"the prompt cannot be stored: {error.field} {error}"


def _check_same_in_other_process(it: Subject) -> Iterator[str]:
    if len(collect_digests([("prompts", it.name)], it.examples)) > 1:
        yield "processes word records differently. Sort sets before going through them."


CHECKS: dict[str, Callable[[Subject], Iterator[str]]] = {
    "it is a function from a record to a prompt": _check_declaration,
    "some record is worded": _check_words_some,
    "a sample gets its prompt, or is rejected by name": _check_words_or_refuses,
    "a prompt is the same in every process": _check_same_in_other_process,
}
"""Promise -> check."""
