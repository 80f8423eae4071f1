r"""Alpaca data as LLaMA-Factory and ms-swift read it: `instruction`, `input`, `output`, `system`, `history`, `images`.

The user says instruction, line break and input, or the one that is there; the pairs of `history` were said before.
`<image>` stands for the next of the row's `images`, one path or a list; images without one stand in front of the
first message, where ms-swift puts them (LLaMA-Factory refuses such rows). A row without `output` is a prompt that ends
with the user's turn. A file of `instruction` and `output` alone may as well hold a model's predictions: give
`--format alpaca`. Writing adds or replaces the file's entry in the dataset_info.json beside it. Source:
hiyouga/LLaMA-Factory@ff6d4d1 data/README.md, src/llamafactory/data/{parser,converter,mm_plugin}.py;
modelscope/ms-swift@3602360 swift/dataset/preprocessor/core.py.

Kept: `id` as `sample`, other fields in `extra`, several outputs too.
Refused: more `<image>` than images (`placeholder.count`), a history that is not a list of pairs (`history.type`),
sounds, videos without `--frames` (`media.unsupported`).
Lost: where the instruction ends and the input begins, the dataset_info.json beside the file, which is not read.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from mmconvert.chat import conversations, queries, training
from mmconvert.chat.dataset_info import add_to_dataset_info
from mmconvert.chat.export_images import write_image_path
from mmconvert.chat.videos import take_videos
from mmconvert.core.errors import RowError, UsageError, show
from mmconvert.core.record import Record, Turn
from mmconvert.core.rows import Row
from mmconvert.core.text.image_markers import Markers, join_with_markers
from mmconvert.io.row_files import read_rows
from mmconvert.io.write_delimited import write_rows
from mmconvert.plugins.format import Context, Format, Loss, Sample, Target

MARKERS = Markers(("image", "video", "audio"))
PROMPT, INPUT, RESPONSE = "instruction", "input", "output"
TELLING = (INPUT, "history", "system", "images")
"""Fields of which one at least tells training data from a model's predictions."""

OTHERS = (
    *("messages", "conversations", "conversation", "chosen", "rejected", "kto_tag", "query", "question", "response"),
    *("prediction", "answer", "answers", "label", "target", "ground_truth", "options", "choices"),
)
"""Fields of other forms, and of questions with their references."""

INFO = {
    "formatting": "alpaca",
    "columns": {
        "prompt": PROMPT,
        "query": INPUT,
        "response": RESPONSE,
        "system": "system",
        "history": "history",
        "images": "images",
    },
}


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    videos = take_videos(fields, context)
    query = (PROMPT, _join_prompt(fields.pop(PROMPT, None), fields.pop(INPUT, None)))
    turns = queries.take_exchange(fields, query, RESPONSE, MARKERS, context)
    turns, extras = conversations.take_system_turn(fields, turns, [])
    name, value = queries.take_images(fields)
    turns = conversations.show_unmarked_images(turns, len(conversations.as_list(value)), context)
    turns, images = conversations.load_shown_media(value, name, videos, turns, context)
    yield conversations.build_conversation_record(row, context, fields, turns, images, extras)


def _join_prompt(instruction: Any, more: Any) -> str:
    for name, value in ((PROMPT, instruction), (INPUT, more)):
        if value is not None and not isinstance(value, str):
            raise RowError("messages.content", name, f"expected a text {show(value)}.")
    if instruction is None and more is None:
        raise RowError(
            "messages.missing", PROMPT, "the row has no instruction and no input. Give one, or leave the row out."
        )
    return "\n".join(filter(None, (instruction, more)))


def _find_mismatch(sample: Sample) -> str | None:
    reason = sample.find_missing([PROMPT], "field") or sample.find_clash(OTHERS, "field")
    if reason is not None:
        return reason
    if not any(name in sample.columns for name in TELLING):
        if RESPONSE not in sample.columns:
            return f"no field {', '.join(map(repr, TELLING))} beside {PROMPT!r}"
        return f"{PROMPT} and {RESPONSE} alone may be predictions; --format alpaca reads them as training data"
    texts = [row.get(name) for row in sample.rows for name in (PROMPT, INPUT)]
    return None if all(text is None or isinstance(text, str) for text in texts) else f"{PROMPT} is not always a text"


def _write(records: Iterable[Record], target: Target) -> Iterator[Loss]:
    if target.path.suffix.lower() not in (".json", ".jsonl"):
        raise UsageError("the format is written to .json or .jsonl; tables and parquet are only read.")
    losses: list[Loss] = []
    rows = training.build_training_rows(records, losses, lambda record: _build_fields(record, target, losses))
    write_rows(lambda: rows, target)
    add_to_dataset_info(target, INFO)
    yield from dict.fromkeys(losses)


def _build_fields(record: Record, target: Target, losses: list[Loss]) -> dict[str, Any]:
    first = record.messages[0]
    system = _format_system(first) if first.role == "system" else ""
    turns = record.messages[1:] if first.role == "system" else record.messages
    training.require_alternation(turns)
    texts = [join_with_markers(turn.content, MARKERS) for turn in turns]
    if not texts[-1]:
        raise RowError("target.response", "messages", "the last response is empty, which Alpaca's form takes for none.")
    if first.role == "system" and not system:
        losses.append(Loss(record.id, "messages", "an empty system turn is dropped: the form takes it for none"))
    for more in training.read_messages_extra(record):
        losses += [Loss(record.id, name, "the format has no fields of single messages", remark=True) for name in more]
    fields: dict[str, Any] = {
        **training.build_source_id(record),
        PROMPT: texts[-2],
        INPUT: "",
        RESPONSE: texts[-1],
        "system": system,
        "history": [texts[at : at + 2] for at in range(0, len(texts) - 2, 2)],
        "images": [write_image_path(image, target) for image in record.images],
    }
    return training.add_extra_fields(fields, record, losses, (*fields, *OTHERS, "image"))


def _format_system(turn: Turn) -> str:
    if any(part.type == "image" for part in turn.content):
        raise RowError("target.role", "messages", "an image is in the system turn, where the format allows only text.")
    return "".join(part.text for part in turn.content)


FORMAT = Format(
    summary="Alpaca data of LLaMA-Factory and ms-swift with its dataset_info.json",
    suffixes=(".json", ".jsonl", ".csv", ".parquet"),
    rows=read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
    write=_write,
    cuttable=True,
    videos=True,
    images=("files", "original"),
)
