"""InternVL's meta file: a JSON object of data sets, each with `root`, `annotation` and `repeat_time`, and their rows.

`annotation` names a JSON Lines file, looked for beside the meta file and in the working folder and nowhere else; a row
has `image` (a path or a list, from `root`) and `conversations`. Each `<image>` of a `human` turn takes the next image;
one image without any stands in front of the first turn. `repeat_time` below 1 takes the first part of a set; of 2 and
more it gives each row as so many copies. All sets together are one input; ids begin with the set's name. Source:
OpenGVLab/InternVL@2410d1d internvl_chat/internvl/train/{internvl_chat_finetune,dataset}.py.

Kept: `id` as `sample`, other fields in `extra`, those of a message in `extra.messages_extra`.
Refused: more or fewer `<image>` than images (`placeholder.count`), tool calls, videos (`media.unsupported`), a
`repeat_time` that is not a number up to 1,000, or above 1 and not whole.
Lost: settings of the trainer: `data_augment`, `max_dynamic_patch`, `length` and others of a set.
"""

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from mmconvert.chat import conversations, mixtures
from mmconvert.core.errors import Error, RowError, show
from mmconvert.core.record import Record
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.core.text.image_markers import Markers
from mmconvert.core.text.json import parse_json
from mmconvert.images.loader import is_relative_path
from mmconvert.io.columns import restore_integer
from mmconvert.io.row_files import read_rows
from mmconvert.plugins.format import Context, Format, Sample
from mmconvert.plugins.transform import make_copies
from mmconvert.storage.folders import find_listed_file
from mmconvert.storage.source_files import read_source

MARKERS = Markers(("image", "video"), line_break=True)
KEYS = ("from", "value")
SHOWN_BY = ("user",)
ANNOTATION, ROOT, REPEAT = "annotation", "root", "repeat_time"
MOST_COPIES = 1_000
_ROOT, _COPIES = "#root", "#copies"  # facts of a set, handed on with each of its rows


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    portions: list[mixtures.Portion] = []
    remarks: list[str] = []
    for name, entry in _read_meta(path).items():
        file = find_listed_file(path, f"{name}.{ANNOTATION}", entry[ANNOTATION])
        times = _read_times(path, name, entry)
        chosen = None
        if times < 1:
            count = mixtures.count_records([file])
            chosen = range(int(count * times))
            remarks.append(f"{name}: {REPEAT} {times} takes the first {len(chosen):,} of {count:,} rows")
        facts = {_ROOT: entry.get(ROOT) or "", _COPIES: max(1, int(times))}
        portions.append(mixtures.Portion(((name, file),), chosen, facts))
    yield from mixtures.read_portions(portions, remarks)


def _read_meta(path: Path) -> Mapping[str, Mapping[str, Any]]:
    try:
        meta = parse_json(read_source(path).decode())
    except (UnicodeDecodeError, RowError) as error:
        raise Error(f"{path}: is not JSON ({error}). Correct it.") from None
    if not isinstance(meta, dict) or not meta:
        raise Error(f"{path}: expected an object of data sets {show(meta)}. Give a meta file, or the rows themselves.")
    for name, entry in meta.items():
        if not isinstance(entry, dict) or not isinstance(entry.get(ANNOTATION), str):
            raise Error(f"{path}: {name}: expected an object with {ANNOTATION!r} {show(entry)}. Correct it.")
        if not isinstance(entry.get(ROOT, ""), str | None):
            raise Error(f"{path}: {name}.{ROOT}: expected a text {show(entry[ROOT])}. Correct it.")
    return meta


def _read_times(path: Path, name: str, entry: Mapping[str, Any]) -> int | float:
    times = restore_integer(entry.get(REPEAT, 1))
    if isinstance(times, bool) or not isinstance(times, int | float) or not 0 <= times <= MOST_COPIES:
        raise Error(f"{path}: {name}.{REPEAT}: expected a number up to {MOST_COPIES:,} {show(times)}. Correct it.")
    if times > 1 and not isinstance(times, int):
        raise Error(f"{path}: {name}.{REPEAT}: InternVL takes whole numbers above 1 {show(times)}. Correct it.")
    return times


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    context = mixtures.take_name(fields, context)
    root, copies = fields.pop(_ROOT, ""), fields.pop(_COPIES, 1)
    conversations.refuse_media(fields)
    turns, extras = conversations.read_marked_turns(
        fields.pop("conversations", None), "conversations", KEYS, MARKERS, SHOWN_BY
    )
    value = fields.pop("image", None)
    if isinstance(value, str) and value and not conversations.count_image_parts(turns):
        turns = conversations.put_in_front(turns, "image", 1)
        context.warn("an image without <image> in any text comes before the first message, as InternVL puts it")
    value = [_join_root(root, item) for item in value] if isinstance(value, list) else _join_root(root, value)
    images = conversations.load_shown_images(value, "image", turns, context)
    record = conversations.build_conversation_record(row, context, fields, turns, images, extras)
    if copies > 1:
        context.warn(f"a row of a data set with a {REPEAT} above 1 gives that many copies")
    yield from make_copies(record, copies) if copies > 1 else [record]


def _join_root(root: str, value: Any) -> Any:
    return posixpath.join(root, value) if isinstance(value, str) and value and is_relative_path(value) else value


def _find_mismatch(sample: Sample) -> str | None:
    sets = [*sample.rows[0].values()] if len(sample.rows) == 1 else []
    if not sets or not all(isinstance(entry, dict) and isinstance(entry.get(ANNOTATION), str) for entry in sets):
        return f"no object of data sets with {ANNOTATION!r}"
    try:
        file = find_listed_file(sample.path, ANNOTATION, sets[0][ANNOTATION])
        heads = [item.fields for item in islice(read_rows(file), 1) if isinstance(item, Row)]
    except Error:  # said when the file is read
        return None
    return "its rows are preferences" if any({"chosen", "rejected"} <= head.keys() for head in heads) else None


FORMAT = Format(
    summary="InternVL's meta file with the rows of its data sets",
    suffixes=(".json",),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
)
