"""Put a system turn before prompts that have none: EvalScope's `system_prompt` of a data set."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from mmconvert.chat.conversations import MESSAGES_EXTRA
from mmconvert.core.record import Part, Record, Turn
from mmconvert.plugins.transform import Setting, Transform


def system_prompt(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Put a system turn first.

    Args:
        record: The record; one with a system turn of its own stays as it is.
        parameters: `text` of the turn; "" adds none.
        setting: Not used.

    Yields:
        The record.

    Parity: modelscope/evalscope 1.3.0 to 1.14.1
        evalscope/api/benchmark/adapters/default_data_adapter.py:process_sample_messages_input.
    """
    text = parameters["text"]
    if text and all(turn.role != "system" for turn in record.messages):
        record = replace(record, messages=(Turn("system", (Part("text", text),)), *record.messages))
        if isinstance(fields := record.extra.get(MESSAGES_EXTRA), list):
            record = replace(record, extra={**record.extra, MESSAGES_EXTRA: [{}, *fields]})
    yield record


TRANSFORM = Transform(
    summary="Put a system turn before prompts that have none (EvalScope's system_prompt)",
    apply=system_prompt,
    parameters={"text": ""},
)
