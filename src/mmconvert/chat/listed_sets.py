"""Data sets that LLaMA-Factory's `dataset_info.json` lists: where their files are, and which field is called how.

An entry names a file beside the list (`file_name`) or a place on a hub; `formatting` is alpaca (the default), sharegpt
or openai, `ranking` tells pairs of a preferred and a rejected response. `columns` says what the file calls each field;
a field that it does not list counts as absent. `tags` says what the turns call role and text, and each role. Source:
hiyouga/LLaMA-Factory@ff6d4d1 data/README.md, src/llamafactory/data/{parser,converter}.py.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from mmconvert.chat.dataset_info import INFO
from mmconvert.core.errors import Error, RowError, UsageError, show, suggest_spelling
from mmconvert.core.rows import MOST_ROW_BYTES, Rejected, Row
from mmconvert.core.text.json import parse_json
from mmconvert.storage.folders import find_listed_file
from mmconvert.storage.source_files import open_source

FILE, FORMATTING, RANKING, COLUMNS, TAGS = "file_name", "formatting", "ranking", "columns", "tags"
REMOTE = ("hf_hub_url", "ms_hub_url", "om_hub_url", "script_url", "cloud_file_name")
"""Keys of an entry whose file is somewhere else."""

MEDIA = ("system", "tools", "images", "videos", "audios")
FORMATS = {
    "alpaca": {"prompt": "instruction", "query": "input", "response": "output", "history": "history"},
    "sharegpt": {"messages": "conversations"},
}
"""Formatting -> the list's word for a field, and the name under which the format's reader finds it."""

KINDS = {"alpaca": "alpaca", "sharegpt": "sharegpt", "openai": "sharegpt"}
"""What `formatting` may say -> the kind that it is."""

KEYS = {"sharegpt": ("from", "value"), "openai": ("role", "content")}
"""Formatting of turns -> their keys of role and text where no tags say them."""

PAIR_FORMATS = {"alpaca": "alpaca_preference", "sharegpt": "sharegpt"}
ROLES = {
    "user_tag": "human",
    "assistant_tag": "gpt",
    "observation_tag": "observation",
    "function_tag": "function_call",
    "system_tag": "system",
}
_SIDES = ("chosen", "rejected")
_KNOWN = {*FORMATS["alpaca"].values(), *FORMATS["sharegpt"].values(), *MEDIA, *_SIDES}
_SHOWN = 20


class ListedSet(msgspec.Struct, frozen=True):
    """A data set of a list.

    Attributes:
        name: Its name there.
        path: Its file.
        format: The format that reads its rows.
        columns: The file's name of a field, and the format's.
        tags: The file's key of a turn, or its word for a role behind `=`, and the format's.
    """

    name: str
    path: Path
    format: str
    columns: tuple[tuple[str, str], ...]
    tags: tuple[tuple[str, str], ...]

    def rename(self, rows: Iterable[Row | Rejected]) -> Iterator[Row | Rejected]:
        """Give rows with the names that the format knows; fields of these names that the list leaves out are absent."""
        columns, tags = dict(self.columns), dict(self.tags)
        told = False
        for item in rows:
            if isinstance(item, Rejected):
                yield item
                continue
            named = {columns[old]: _rename_turns(value, tags) for old, value in item.fields.items() if old in columns}
            others = {name: value for name, value in item.fields.items() if name not in columns}
            lost = sorted(_KNOWN & others.keys())
            remarks = item.remarks
            if lost and not told:
                remarks = (*remarks, f"{INFO} does not list {', '.join(lost)} of {self.name}, which are left out")
                told = True
            kept = {name: value for name, value in others.items() if name not in _KNOWN}
            yield replace(item, fields={**named, **kept}, remarks=remarks)


def _rename_turns(value: Any, tags: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_rename_turn(turn, tags) if isinstance(turn, dict) else turn for turn in value]
    return _rename_turn(value, tags) if isinstance(value, dict) else value


def _rename_turn(turn: Mapping[str, Any], tags: Mapping[str, str]) -> Mapping[str, Any]:
    renamed = {tags.get(name, name): value for name, value in turn.items()}
    role = renamed.get("from")
    return {**renamed, "from": tags.get(f"={role}", role)} if "from" in renamed else turn


def find_info(path: Path) -> Path | None:
    """Give the list that a path is, or that lies in a folder; None where there is none.

    `datasets` writes files of the same name, which list nothing.
    """
    file = path / INFO if path.is_dir() else path
    if not file.name.endswith(INFO) or not file.is_file():
        return None
    entries = _read_entries(file)
    return file if entries else None


def choose_sets(file: Path, names: Sequence[str], *, every: bool = False) -> list[ListedSet]:
    """Choose data sets of a list.

    Args:
        file: The list.
        names: Those that are wanted; () for the only one that is here.
        every: Without a name all that are here are wanted.

    Raises:
        UsageError: There are several and none is named, or one that is named is not listed, or is on a hub.
        Error: An entry cannot be read.
    """
    entries = _read_entries(file)
    here = [name for name, entry in entries.items() if not any(entry.get(key) for key in REMOTE)]
    away = [name for name in entries if name not in here]
    for name in names:
        if name not in entries:
            raise UsageError(
                f"{file}: no data set {name!r}.{suggest_spelling(name, [*entries])} {_list_names(here, away)}"
            )
        if name in away:
            place = next(entries[name][key] for key in REMOTE if entries[name].get(key))
            raise UsageError(f"{file}: {name} is not on this machine {show(place)}. Download it, and give its files.")
    if not names and not here:
        raise UsageError(f"{file}: lists no data set that is on this machine. {_list_names(here, away)}")
    if not (names or every or len(here) == 1):
        message = f"{file}: lists {len(here)} data sets that are here. Name one: --subset NAME."
        raise UsageError(f"{message} {_list_names(here, away)}")
    return [_read_set(file, name, entries[name]) for name in names or here]


def _list_names(here: Sequence[str], away: Sequence[str]) -> str:
    def shorten(names: Sequence[str]) -> str:
        return ", ".join(names[:_SHOWN]) + (" ..." if len(names) > _SHOWN else "")

    return f"Here: {shorten(here) or 'none'}." + (f" On a hub: {shorten(away)}." if away else "")


def _read_entries(file: Path) -> Mapping[str, Mapping[str, Any]]:
    """Read the entries of a list; empty where the file is none."""
    with open_source(file) as source:
        raw = source.read(MOST_ROW_BYTES)
    try:
        found = parse_json(raw.removeprefix(b"\xef\xbb\xbf").decode())
    except (UnicodeDecodeError, RowError):
        return {}
    if not isinstance(found, dict) or not all(isinstance(entry, dict) for entry in found.values()):
        return {}
    return found if all({FILE, *REMOTE} & entry.keys() for entry in found.values()) else {}


def _read_set(file: Path, name: str, entry: Mapping[str, Any]) -> ListedSet:
    formatting, columns, tags = entry.get(FORMATTING, "alpaca"), entry.get(COLUMNS), entry.get(TAGS, {})
    kind = KINDS.get(formatting) if isinstance(formatting, str) else None
    if kind not in FORMATS:
        known = ", ".join(KINDS)
        raise UsageError(f"{file}: {name}.{FORMATTING}: cannot be read {show(formatting)}. Known: {known}.")
    for where, value in ((COLUMNS, columns or {}), (TAGS, tags)):
        if not isinstance(value, dict) or not all(isinstance(one, str | None) for one in value.values()):
            raise Error(f"{file}: {name}.{where}: expected an object of texts {show(value)}. Correct it.")
    if not isinstance(entry.get(FILE), str):
        raise Error(f"{file}: {name}.{FILE}: expected the name of a file {show(entry.get(FILE))}. Correct it.")
    ours = {**FORMATS[kind], **{field: field for field in (*MEDIA, *_SIDES)}}
    if columns is None:
        columns = {word: field for word, field in FORMATS[kind].items() if word != "history"}
    renamed = {column: ours[word] for word, column in columns.items() if column is not None and word in ours}
    return ListedSet(
        name,
        find_listed_file(file, f"{name}.{FILE}", entry[FILE]),
        PAIR_FORMATS[kind] if entry.get(RANKING) else kind,
        tuple(renamed.items()),
        tuple(_read_tags(tags, formatting).items()) if formatting in KEYS else (),
    )


def _read_tags(tags: Mapping[str, str | None], formatting: str) -> Mapping[str, str]:
    """Give the file's keys of a turn -> ours, and its words for roles, behind `=`, -> ours."""
    usual = KEYS[formatting]
    keys = (tags.get("role_tag") or usual[0], tags.get("content_tag") or usual[1])
    words = {f"={tags.get(tag) or ours}": ours for tag, ours in ROLES.items()}
    return {**dict(zip(keys, ("from", "value"), strict=True)), **words}
