"""LLaVA-OneVision's mixture: a YAML file whose `datasets` name LLaVA's files and how much of each is taken.

An entry has `json_path`, a JSON array or JSON Lines, looked for beside the mixture and in the working folder and
nowhere else; `a{b,c}.json` names several files. `sampling_strategy` is `all`, `first:N`, `end:N` or `random:N`, N a
number of rows or, with `%`, a share that is rounded up. What is random is drawn with a fixed seed, which a remark says,
and stands in the order of the file. A row has `image` (a path or a list, from the image root) and `conversations` with
`<image>`. All files together are one input; ids begin with the file's name. Source: LLaVA-VL/LLaVA-NeXT@df17966
llava/train/train.py.

Kept: `id` as `sample`, other fields in `extra`, those of a message in `extra.messages_extra`.
Refused: more or fewer `<image>` than images (`placeholder.count`), tool calls, videos (`media.unsupported`), another
`sampling_strategy`.
Lost: further keys of the mixture.
"""

import random
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from mmconvert.chat import conversations, mixtures
from mmconvert.core.errors import Error, show
from mmconvert.core.record import Record
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.core.text.image_markers import Markers
from mmconvert.io.yaml_files import read_yaml
from mmconvert.plugins.format import Context, Format, Sample
from mmconvert.storage.folders import find_listed_file

MARKERS = Markers(line_break=True)
KEYS = ("from", "value")
DATASETS, FILE, STRATEGY = "datasets", "json_path", "sampling_strategy"
SEED = 0

_BRACES = re.compile(r"([^{}]*)\{([^{}]*)\}([^{}]*)")


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    portions: list[mixtures.Portion] = []
    remarks: list[str] = []
    for entry in read_mixture(path):
        files = [find_listed_file(path, FILE, name) for name in expand_braces(entry[FILE].strip())]
        chosen, remark = _choose_rows(path, entry, files)
        portions.append(mixtures.Portion(tuple((file.stem, file) for file in files), chosen))
        remarks += [remark] if remark else []
    yield from mixtures.read_portions(portions, remarks)


def read_mixture(path: Path) -> list[dict[str, Any]]:
    """Read the entries of a mixture.

    Raises:
        Error: The file is none.
    """
    values = read_yaml(path)
    entries = values.get(DATASETS) if isinstance(values, dict) else None
    if not isinstance(entries, list) or not entries:
        raise Error(f"{path}: has no list {DATASETS!r} {show(values)}. Give a mixture, or a file of rows.")
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict) or not isinstance(entry.get(FILE), str):
            raise Error(f"{path}: {DATASETS}[{number}]: expected an object with {FILE!r} {show(entry)}. Correct it.")
    return entries


def expand_braces(name: str) -> list[str]:
    """Give the names that a name with one pair of braces stands for.

    Example:
        >>> expand_braces("a_{x,y}.json"), expand_braces("a.json")
        (['a_x.json', 'a_y.json'], ['a.json'])
    """
    match = _BRACES.fullmatch(name)
    return [f"{match[1]}{one.strip()}{match[3]}" for one in match[2].split(",")] if match else [name]


def _choose_rows(path: Path, entry: dict[str, Any], files: list[Path]) -> tuple[Collection[int] | None, str]:
    """Choose the rows of an entry, and say how many they are; None and "" for all."""
    strategy = entry.get(STRATEGY, "all")
    count = 0

    def count_rows() -> int:
        nonlocal count
        count = mixtures.count_records(files)
        return count

    found = mixtures.parse_strategy(strategy, count_rows)
    if found is None:
        message = f"{path}: {entry[FILE]}: {STRATEGY}: expected {mixtures.STRATEGIES} {show(strategy)}. Correct it."
        raise Error(message)
    kind, taken = found
    if kind == "all":
        return None, ""
    said = f"{entry[FILE]}: {strategy.strip()} takes {taken:,} of {count:,} rows"
    if kind == "random":
        draw = random.Random(f"{SEED} {entry[FILE]}")
        return frozenset(draw.sample(range(count), taken)), f"{said}, drawn with the seed {SEED}"
    return range(taken) if kind == "first" else range(count - taken, count), said


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    context = mixtures.take_name(fields, context)
    conversations.refuse_media(fields)
    turns, extras = conversations.read_marked_turns(fields.pop("conversations", None), "conversations", KEYS, MARKERS)
    images = conversations.load_shown_images(fields.pop("image", None), "image", turns, context)
    yield conversations.build_conversation_record(row, context, fields, turns, images, extras)


def _find_mismatch(sample: Sample) -> str | None:
    try:
        read_mixture(sample.path)
    except Error as error:
        return str(error).partition(": ")[2]
    return None


FORMAT = Format(
    summary="LLaVA-OneVision's mixture with the rows of its files",
    suffixes=(".yaml", ".yml"),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
)
