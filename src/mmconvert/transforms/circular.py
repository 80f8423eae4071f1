"""Ask every multiple-choice question once for each rotation of its options: MMBench's circular evaluation."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from mmconvert.core.record import LETTERS, Record
from mmconvert.kits.reform_eval.restate import reorder_options
from mmconvert.kits.vlmevalkit.circular import can_rotate, present_options
from mmconvert.plugins.transform import Setting, Transform, make_copies


def circular(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Rotate the options of a question through all letters.

    Args:
        record: The question.
        parameters: None.
        setting: Not used.

    Yields:
        One copy a rotation, side by side, with the sample as their group; a question that means something
        else with its options moved (an option "A and B"), or has no answer, once and as it is.

    Raises:
        RowError: An option is missing before others, or there is only one.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/tools.py:CIRCULAR, but for the rows' order and numbers;
        `mmconvert.kits.vlmevalkit.circular` lays out the framework's table.
    """
    options = present_options(dict(zip(LETTERS, record.options, strict=False)))
    group = record.group or record.sample
    if not options or not can_rotate(options, record.answer):
        yield replace(record, group=group)
        return
    count = len(options)
    for turn, copy in enumerate(make_copies(replace(record, group=group), count)):
        yield reorder_options(copy, [(place + turn) % count for place in range(count)]) if turn else copy


TRANSFORM = Transform("One copy of a question for each rotation of its options (VLMEvalKit's CIRCULAR)", circular)
