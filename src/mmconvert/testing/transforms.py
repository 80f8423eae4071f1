"""What a transform owes: the same result everywhere, every picture kept, copies that are told apart."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mmconvert.core.errors import RowError, got, told
from mmconvert.core.record import Record, from_arrow, to_arrow
from mmconvert.plugins.arguments import parse_spec
from mmconvert.plugins.registry import load
from mmconvert.plugins.transform import Step, Transform, steps, transformed
from mmconvert.testing.elsewhere import digests
from mmconvert.testing.examples import example_records, records_of
from mmconvert.testing.subject import Subject
from mmconvert.testing.values import ANSWERED, CHOICE

_KINDS = (bool, int, float, str)


def subject(name: str, examples: Sequence[Path]) -> Subject:
    """Load what is to be checked.

    Args:
        name: The transform, with the parameters that it needs behind a colon.
        examples: Files whose records it should take.

    Raises:
        UsageError: There is no such transform, or a parameter is missing or wrong.
    """
    plugin = load("mmconvert.transforms", parse_spec(name)[0])
    if isinstance(plugin, Transform):
        steps([name])
    return Subject(name, plugin, tuple(examples))


def _declared(it: Subject) -> Iterator[str]:
    plugin = it.plugin
    if not isinstance(plugin, Transform):
        yield f"the object is {got(plugin)}. Name an object of mmconvert.plugins.transform.Transform."
        return
    if len(str(plugin.summary).splitlines()) != 1:
        yield f"summary is not one line {got(plugin.summary)}. Say in a line what the transform does."
    for key, default in plugin.parameters.items():
        if not key.isidentifier() or (default not in _KINDS and type(default) not in _KINDS):
            yield f"parameter {key!r} cannot be given as key=value {got(default)}. Use a bool, int, float or str."


def _records(it: Subject) -> Iterator[Record]:
    yield from (ANSWERED, CHOICE, *example_records(), *records_of(it.examples))


def _takes_some(it: Subject) -> Iterator[str]:
    chain, refusals = steps([it.name]), []
    for record in _records(it):
        try:
            if transformed(record, chain):
                return
        except RowError as error:
            refusals.append(str(error))
    why = f"the first refusal: {refusals[0]}" if refusals else "none was refused, all are dropped."
    yield f"no record passes; {why} Give a file with records that the transform takes."


def _keeps_records_whole(it: Subject) -> Iterator[str]:
    chain = steps([it.name])
    for record in _records(it):
        found = list(faults(record, chain))
        yield from (f"record {record.id} of {record.source.format}: {fault}" for fault in found)
        if found:
            return


def faults(record: Record, chain: Sequence[Step]) -> Iterator[str]:
    """Run steps on one record and name what is wrong with what comes out.

    Args:
        record: Any record.
        chain: As `mmconvert.plugins.transform.steps` gives them.

    Yields:
        What is wrong; nothing for a record that is refused by `RowError`.
    """
    try:
        made = transformed(record, chain)
        again = transformed(record, chain)
    except RowError:
        return
    except Exception as error:
        yield f"{told(error)}. Raise RowError for a record that cannot be taken."
        return
    if made != again:
        yield "a second run gives another result. Draw from Setting.random by the record's id, and keep no state."
    if len({one.id for one in made}) != len(made):
        yield "two results have the same id. Make them with mmconvert.plugins.transform.copies."
    for one in made:
        yield from _faults_of_one(record, one)


def _faults_of_one(record: Record, one: Record) -> Iterator[str]:
    parts = sum(part.type == "image" for turn in one.messages for part in turn.content)
    if parts != len(one.images):
        yield f"the prompt has {parts} places for pictures, images has {len(one.images)}. Keep them equal."
    if one.sample != record.sample:
        yield f"sample changed to {one.sample!r}. It names the source's question, whatever becomes of it."
    if one.id != record.id and not one.id.endswith(f"#{one.variant}"):
        yield f"the id changed to {one.id!r}. Leave it, or make numbered copies with mmconvert.transform.copies."
    taken = [image.slot for image in one.attachments if image not in record.attachments]
    if len({*taken}) != len(taken) or {*taken} & {image.slot for image in one.images}:
        yield "a picture that was put aside has the slot of another. Give it a free one."
    kept = {image.bytes for image in (*one.images, *one.attachments)}
    if not {image.bytes for image in (*record.images, *record.attachments)} <= kept:
        yield "a picture of the source is gone. Put what is not shown any more into attachments."
    if next(from_arrow(to_arrow([one]))).images != one.images:
        yield "stored and read again, the pictures are others. Make them with Setting.pictures."


def _hangs_on_the_record_alone(it: Subject) -> Iterator[str]:
    records = list(_records(it))
    forth = [_outcome(record, steps([it.name])) for record in records]
    chain = steps([it.name])
    back = [_outcome(record, chain) for record in reversed(records)][::-1]
    for record, first, second in zip(records, forth, back, strict=True):
        if first != second:
            yield (
                f"record {record.id} of {record.source.format}: the result hangs on the records before it. "
                "Keep no state, and draw from Setting.random."
            )
            return


def _outcome(record: Record, chain: Sequence[Step]) -> Any:
    try:
        return transformed(record, chain)
    except RowError as error:
        return error.code, error.message


def _same_elsewhere(it: Subject) -> Iterator[str]:
    if len(digests("transforms", [it.name], it.examples)) > 1:
        yield "processes give different results. Sort sets before going through them, and draw from Setting.random."


CHECKS: dict[str, Callable[[Subject], Iterator[str]]] = {
    "it says what it is and what it takes": _declared,
    "some record passes": _takes_some,
    "a record comes out whole, or is refused by name": _keeps_records_whole,
    "a result hangs on the record alone": _hangs_on_the_record_alone,
    "a result is the same in every process": _same_elsewhere,
}
"""Promise -> check."""
