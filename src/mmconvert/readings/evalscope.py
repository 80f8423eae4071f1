"""EvalScope's way to read General-VQA and General-VMCQ files: loosely, until the first line it cannot read.

Repeated keys and NaN pass in JSON, a table's quotes follow Python's csv module, options may be any Python
literal, a placeholder without its image is dropped, a false answer is an empty one. A bad line stops
the whole file. Release 1.14.1.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mmconvert.core.errors import RowError
from mmconvert.core.rows import Rejected, Row, Where
from mmconvert.core.text.placeholders import parse_image_slot
from mmconvert.kits.evalscope.files import read_rows
from mmconvert.kits.evalscope.media import drop_unused_placeholders, gather_images
from mmconvert.kits.evalscope.messages import Message, sample_of
from mmconvert.kits.evalscope.release import LATEST
from mmconvert.kits.evalscope.wire import build_wire_messages
from mmconvert.prompts.evalscope import read_choice_sample


def evalscope(path: Path, rows: Iterable[Row | Rejected]) -> Iterator[Row | Rejected]:
    """Give the rows of a file as the framework reads them.

    Args:
        path: A .jsonl, .csv, .tsv or .parquet file.
        rows: Not used: the framework has its own idea of where a row ends.

    Yields:
        The rows with what the framework makes of their messages or options and images; `Rejected` for one at
        which it would stop, or that shows a video or a sound.

    Raises:
        UsageError: The framework does not read such a file.
        Error: The framework stops before the first row: a line is no JSON object, a cell is too long, the text
            is not UTF-8.

    Parity: modelscope/evalscope 1.14.1 evalscope/api/dataset/loader.py:LocalDataLoader,
    evalscope/benchmarks/general_vqa, general_vmcq: record_to_sample.
    """
    for number, fields in enumerate(read_rows(path)):
        where = Where(path.name, number)
        try:
            # Cells too many stand under None; the framework reads no field of that name.
            yield Row(_read({name: value for name, value in fields.items() if name is not None}), where)
        except RowError as error:
            yield Rejected.of(error, where)


def _read(fields: dict[str, Any]) -> dict[str, Any]:
    images = gather_images(fields)
    kept = {name: value for name, value in fields.items() if not _is_media(name)}
    kept |= {f"image_{slot}": reference for slot, reference in images.items()}
    return _read_choice(kept, fields) if "messages" not in fields and "question" in fields else _read_chat(kept, fields)


def _is_media(name: str) -> bool:
    return parse_image_slot(name) is not None or name == "images"


def _read_choice(kept: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    # The framework words the question when it reads the row, and refuses what it cannot word.
    sample = read_choice_sample(fields, LATEST)
    return {
        **kept,
        "question": drop_unused_placeholders(str(fields["question"]), fields, LATEST),
        "options": [drop_unused_placeholders(option, fields, LATEST) for option in sample.choices],
        "answer": sample.target,
    }


def _read_chat(kept: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    messages, answer = sample_of(fields, LATEST, place_media=drop_unused_placeholders)
    return {**kept, "messages": build_wire_messages(map(_move_reasoning, messages), str), "answer": answer}


def _move_reasoning(message: Message) -> Message:
    """Move reasoning out of the content, to the field that servers have for it."""
    content = message["content"]
    if isinstance(content, str) or all(part["type"] != "reasoning" for part in content):
        return message
    reasoning = "\n".join(part["reasoning"] for part in content if part["type"] == "reasoning")
    rest = [part for part in content if part["type"] != "reasoning"]
    return {**message, "content": rest, "reasoning_content": reasoning}


READING = evalscope
