"""Write questions and answers of conversations with a capital: ReForm-Eval's capitalize for VisDial."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from mmconvert.core.record import Record
from mmconvert.kits.reform_eval import conversations
from mmconvert.kits.reform_eval.restate import RAW_OPTIONS, restate_question
from mmconvert.plugins.transform import Setting, Transform


def capitalize(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Write the question, its options and the rounds before it with a capital each, the rest in small letters.

    Args:
        record: The record; a question that ends without a question mark gets one. One without a question
            stays as it is.
        parameters: None.
        setting: Not used.

    Yields:
        The record; bare rounds stand before it, so `options_in_history` goes after this step.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 build/VisDial/visual_dialog_dataset.py.
    """
    if record.question is None:
        yield record
        return
    before = [
        {
            **said,
            "question": conversations.capitalize_question(said["question"]),
            "answer_options": [conversations.capitalize_text(option) for option in said["answer_options"]],
        }
        for said in conversations.read_earlier_rounds(record)
    ]
    options = tuple(option and conversations.capitalize_text(option) for option in record.options)
    extra = {name: value for name, value in record.extra.items() if name not in RAW_OPTIONS}
    if before:
        extra[conversations.HISTORY] = before
    changed = replace(record, question=conversations.capitalize_question(record.question), options=options, extra=extra)
    said = [(one["question"], one["answer_options"][one["answer"]]) for one in before]
    yield restate_question(replace(changed, messages=conversations.replace_history(record.messages, said)))


TRANSFORM = Transform(
    "Write questions and options with a capital (ReForm-Eval's capitalize for conversations)", capitalize
)
