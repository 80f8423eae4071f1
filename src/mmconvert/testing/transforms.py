"""What a transform owes: the same result everywhere, every image kept, copies that are distinguished."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mmconvert.core.errors import RowError, describe_error, show
from mmconvert.core.record import Record, count_images, from_arrow, list_turns, to_arrow
from mmconvert.plugins.arguments import parse_spec
from mmconvert.plugins.registry import load
from mmconvert.plugins.transform import Step, Transform, apply_steps, load_steps
from mmconvert.testing.elsewhere import collect_digests
from mmconvert.testing.examples import load_example_records, load_records
from mmconvert.testing.subject import Subject
from mmconvert.testing.values import ANSWERED, CHOICE

_KINDS = (bool, int, float, str)


def load_subject(name: str, examples: Sequence[Path]) -> Subject:
    """Load what is to be checked.

    Args:
        name: The transform, with the parameters that it needs behind a colon.
        examples: Files whose records it should take.

    Raises:
        UsageError: There is no such transform, or a parameter is missing or wrong.
    """
    plugin = load("mmconvert.transforms", parse_spec(name)[0])
    if isinstance(plugin, Transform):
        load_steps([name])
    return Subject(name, plugin, tuple(examples))


def _check_declaration(it: Subject) -> Iterator[str]:
    plugin = it.plugin
    if not isinstance(plugin, Transform):
        yield f"the object is {show(plugin)}. Name an object of mmconvert.plugins.transform.Transform."
        return
    if len(str(plugin.summary).splitlines()) != 1:
        yield f"summary is not one line {show(plugin.summary)}. Say in a line what the transform does."
    for key, default in plugin.parameters.items():
        if not key.isidentifier() or (default not in _KINDS and type(default) not in _KINDS):
            yield f"parameter {key!r} cannot be given as key=value {show(default)}. Use a bool, int, float or str."


def _list_records(it: Subject) -> Iterator[Record]:
    yield from (ANSWERED, CHOICE, *load_example_records(), *load_records(it.examples))


def _check_takes_some(it: Subject) -> Iterator[str]:
    chain, refusals = load_steps([it.name]), []
    for record in _list_records(it):
        try:
            if apply_steps(record, chain):
                return
        except RowError as error:
            refusals.append(str(error))
    why = f"the first error: {refusals[0]}" if refusals else "none was rejected, all are dropped."
    yield f"no record passes; {why} Give a file with records that the transform takes."


def _check_keeps_records_whole(it: Subject) -> Iterator[str]:
    chain = load_steps([it.name])
    for record in _list_records(it):
        found = list(find_faults(record, chain))
        yield from (f"record {record.id} of {record.source.format}: {fault}" for fault in found)
        if found:
            return


def find_faults(record: Record, chain: Sequence[Step]) -> Iterator[str]:
    """Run steps on one record and name what is wrong with what comes out.

    Args:
        record: Any record.
        chain: As `mmconvert.plugins.transform.steps` gives them.

    Yields:
        What is wrong; nothing for a record that is refused by `RowError`.
    """
    try:
        made = apply_steps(record, chain)
        again = apply_steps(record, chain)
    except RowError:
        return
    except Exception as error:
        yield f"{describe_error(error)}. Raise RowError for a record that cannot be taken."
        return
    if made != again:
        yield "a second run gives another result. Draw from Setting.random by the record's id, and keep no state."
    if len({one.id for one in made}) != len(made):
        yield "two results have the same id. Make them with mmconvert.plugins.transform.make_copies."
    for one in made:
        yield from _find_faults_of_record(record, one)


def _find_faults_of_record(record: Record, one: Record) -> Iterator[str]:
    parts = count_images(list_turns(one))
    if parts != len(one.images):
        yield f"the prompt has {parts} places for images, images has {len(one.images)}. Keep them equal."
    if one.sample != record.sample:
        yield f"sample changed to {one.sample!r}. It names the source's question, whatever becomes of it."
    if one.id != record.id and not one.id.endswith(f"#{one.variant}"):
        yield f"the id changed to {one.id!r}. Leave it, or use mmconvert.plugins.transform.make_copies."
    taken = [image.slot for image in one.attachments if image not in record.attachments]
    if len({*taken}) != len(taken) or {*taken} & {image.slot for image in one.images}:
        yield "an image that was put aside has the slot of another. Give it a free one."
    kept = {image.bytes for image in (*one.images, *one.attachments)}
    if not {image.bytes for image in (*record.images, *record.attachments)} <= kept:
        yield "an image of the source is gone. Put what is not shown any more into attachments."
    if next(from_arrow(to_arrow([one]))).images != one.images:
        yield "stored and read again, the images are others. Make them with Setting.images."


def _check_depends_on_record_only(it: Subject) -> Iterator[str]:
    records = list(_list_records(it))
    forth = [_compute_outcome(record, load_steps([it.name])) for record in records]
    chain = load_steps([it.name])
    back = [_compute_outcome(record, chain) for record in reversed(records)][::-1]
    for record, first, second in zip(records, forth, back, strict=True):
        if first != second:
            yield (
                f"record {record.id} of {record.source.format}: the result depends on the records before it. "
                "Keep no state, and draw from Setting.random."
            )
            return


def _compute_outcome(record: Record, chain: Sequence[Step]) -> Any:
    try:
        return apply_steps(record, chain)
    except RowError as error:
        return error.code, error.message


def _check_same_in_other_process(it: Subject) -> Iterator[str]:
    if len(collect_digests([("transforms", it.name)], it.examples)) > 1:
        yield "processes give different results. Sort sets before going through them, and draw from Setting.random."


CHECKS: dict[str, Callable[[Subject], Iterator[str]]] = {
    "it says what it is and what it takes": _check_declaration,
    "some record passes": _check_takes_some,
    "a sample comes out whole, or is rejected by name": _check_keeps_records_whole,
    "a result depends only on the record": _check_depends_on_record_only,
    "a result is the same in every process": _check_same_in_other_process,
}
"""Promise -> check."""
