"""The README.md of a converted dataset: YAML that `datasets` and the Hub read, then a page for people."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from mmconvert.core.errors import UsageError, show
from mmconvert.core.record import describe_hf_feature
from mmconvert.dataset.card_sections import (
    BEGIN,
    CATEGORIES,
    END,
    PARTS,
    REPO,
    TRAINING,
    count_categories,
    describe_columns,
    join_blocks,
    join_categories,
    renew_parts,
    replace_part,
    write_section,
)
from mmconvert.dataset.front_matter import FRONT, add_front_matter, read_front_matter, require_readable
from mmconvert.dataset.manifest import DEFAULT_CONFIG, build_config_folder

_TASKS = {
    "multiple_choice": "visual-question-answering",
    "yes_no": "visual-question-answering",
    "vqa": "visual-question-answering",
    "kie": "visual-question-answering",
    "caption": "image-to-text",
    "ocr": "image-to-text",
    "chat": "image-text-to-text",
}
"""Task of a record -> the Hub's name of it.

Source: huggingface/huggingface.js packages/tasks/src/pipelines.ts.
"""
_SIZES = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T")
_LICENCE = re.compile(r"[a-z0-9][a-z0-9.+-]*")
_URL = re.compile(r"https?://[^\s<>|`]+")
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


class SplitInfo(msgspec.Struct, frozen=True):
    """One split of a configuration.

    Attributes:
        name: Its name.
        rows: How many it has.
        bytes: Those of its parquet files.
        counts: Column -> value -> rows, of the columns `task`, `category` and `l2_category`.
    """

    name: str
    rows: int
    bytes: int
    counts: Mapping[str, Mapping[str, int]] = msgspec.field(default_factory=dict)


class Origin(msgspec.Struct, frozen=True):
    """What only people know of a dataset; nothing of it is ever guessed.

    Attributes:
        license: The licence, by the Hub's name of it; None where it is not stated.
        source: Address of where the data come from, or the Hub id of a dataset; None where it is not stated.
    """

    license: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        """Check the spelling.

        Raises:
            UsageError: The licence or the source cannot be written so.
        """
        if self.license is not None and not _LICENCE.fullmatch(self.license):
            message = f"--license: expected the Hub's name of a licence, as mit or cc-by-4.0 {show(self.license)}."
            raise UsageError(message)
        if self.source is not None and not (_URL.fullmatch(self.source) or _HUB_ID.fullmatch(self.source)):
            raise UsageError(f"--source: expected an address, or the Hub id of a dataset {show(self.source)}.")

    @property
    def values(self) -> dict[str, Any]:
        """Give the keys of a card's YAML that say it."""
        found: dict[str, Any] = {} if self.license is None else {"license": self.license}
        if self.source is not None:
            of_hub = _HUB_ID.fullmatch(self.source)
            found |= {"source_datasets": [self.source]} if of_hub else {"source_url": self.source}
        return found


def write_card(
    configs: Mapping[str, Sequence[SplitInfo]],
    *,
    schema: pa.Schema,
    title: str,
    source_format: str | None,
    training: bool = False,
    origin: Origin | None = None,
) -> str:
    """Write the README.md that makes a folder of shards load with no argument.

    Args:
        configs: Splits of each configuration, both in the order to show. Shards of `default` lie in
            `data/`, those of any other configuration in `<config>/`, named `<split>-*.parquet`.
        schema: Schema of every shard.
        title: Name of the dataset for people; line breaks become blanks.
        source_format: Name of the format it was converted from, None when there were several.
        training: Rows end with the assistant's turn, for TRL.
        origin: Licence and source.

    Returns:
        The text of README.md, ending in a newline.

    Example:
        >>> text = write_card({"default": [SplitInfo("test", 2, 99)]}, schema=pa.schema([("id", pa.string())]),
        ...             title="Demo", source_format="vmcq")
        >>> read_front_matter(text)["configs"][0]["data_files"]
        [{'split': 'test', 'path': 'data/test-*.parquet'}]
    """
    title = " ".join(title.split())
    tags = ["mmconvert", "vision-language", *([source_format] if source_format else []), *([TRAINING] * training)]
    values = {**(origin or Origin()).values, **build_yaml_values(configs, schema, title, tags), **_list_tasks(configs)}
    named = [(config, split) for config, splits in configs.items() for split in splits if split.counts]
    counted = join_blocks(count_categories(config, split.name, split.counts) for config, split in named)
    parts = [
        ("Licence and source", PARTS["Licence and source"](values)),
        ("Splits", PARTS["Splits"](values)),
        *([(CATEGORIES, counted)] if counted else []),
        ("Columns", describe_columns(schema)),
        ("Use", PARTS["Use"](values)),
    ]
    files = f" from `{source_format}` files" if source_format else ""
    summary = f"Converted{files} with mmconvert. Images are the source's own bytes, never re-encoded."
    return add_front_matter(values, write_section(title, summary, parts) + "\n")


def merge(ours: str, theirs: str) -> str:
    """Join a new card with the one that stands in the repository, so that both keep their data.

    Configurations, splits and front-matter keys (a licence, say) that only the old card has stay. The
    part between the marks is ours; the text around it is ours where we have any, else theirs.

    Args:
        ours: The card of the folder to publish.
        theirs: The card in the repository.

    Returns:
        The card to publish.

    Raises:
        Error: The YAML of the card in the repository cannot be read, and would be lost.
    """
    require_readable(theirs)
    new, old = read_front_matter(ours), read_front_matter(theirs)
    infos = _merge_infos(_group_by_config(new.get("dataset_info")), _group_by_config(old.get("dataset_info")))
    files = _merge_files(_group_by_config(new.get("configs")), _group_by_config(old.get("configs")))
    both = {name: [*_list(old.get(name)), *_list(new.get(name))] for name in ("tags", "task_categories")}
    lists = {name: list(dict.fromkeys(values)) for name, values in both.items() if values}
    values = {**old, **new, **lists, **_find_size_class(infos), "dataset_info": infos, "configs": files}
    before, text, after = _split_body(ours)
    if text and not (before + after).strip():
        old_before, old_text, old_after = _split_body(theirs)
        before, after = (old_before, old_after) if old_text else ("", f"\n{old_before}")
    counted = join_categories(text, _split_body(theirs)[1], values)
    return add_front_matter(values, before + renew_parts(replace_part(text, CATEGORIES, counted), values) + after)


def set_repo_name(text: str, repo_id: str, origin: Origin | None = None) -> str:
    """Put the repository's name, and what is now said of the origin, into a card."""
    values = {**read_front_matter(text), **(origin or Origin()).values}
    before, ours, after = _split_body(text)
    return add_front_matter(values, before + renew_parts(ours, values).replace(REPO, repo_id) + after)


def describe_features(schema: pa.Schema) -> list[dict[str, Any]]:
    """Spell a schema the way a card's `dataset_info.features` does.

    Parity: huggingface/datasets@5.2.0 src/datasets/features/features.py:Features._to_yaml_list, for
    the types our schemas use; written by hand because importing `datasets` is slow.

    Example:
        >>> describe_features(pa.schema([("id", pa.string()), ("options", pa.list_(pa.string()))]))
        [{'name': 'id', 'dtype': 'string'}, {'name': 'options', 'list': 'string'}]
    """
    return [{"name": field.name, **_describe_feature(describe_hf_feature(field.type))} for field in schema]


def build_yaml_values(
    configs: Mapping[str, Sequence[SplitInfo]], schema: pa.Schema, title: str, tags: Sequence[str]
) -> dict[str, Any]:
    """Give the YAML that tells `datasets` and the Hub where the shards lie and what they hold.

    Args:
        configs: As `write_card`.
        schema: As `write_card`.
        title: Name of the dataset for people.
        tags: Words to find it by.
    """
    features = describe_features(schema)
    # One configuration must be the default, or `load_dataset` asks for a name.
    default = DEFAULT_CONFIG if DEFAULT_CONFIG in configs else next(iter(configs), DEFAULT_CONFIG)
    infos = []
    files = []
    for config, splits in configs.items():
        size = sum(split.bytes for split in splits)
        counts = [{"name": split.name, "num_bytes": split.bytes, "num_examples": split.rows} for split in splits]
        info = {"config_name": config, "features": features, "splits": counts}
        infos.append({**info, "download_size": size, "dataset_size": size})
        paths = [{"split": split.name, "path": build_shard_glob(config, split.name)} for split in splits]
        files.append({"config_name": config, "data_files": paths, **({"default": True} if config == default else {})})
    size_class = _find_size_class(infos)
    return {"pretty_name": title, "tags": list(tags), **size_class, "dataset_info": infos, "configs": files}


def _find_size_class(infos: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Give the Hub's class of size.

    Source: https://huggingface.co/docs/hub/datasets-cards, `size_categories`.
    """
    rows = sum(split["num_examples"] for info in infos for split in info["splits"])
    place = sum(rows >= 10**power for power in range(3, 3 + len(_SIZES)))
    low, high = _SIZES[place - 1] if place else "", _SIZES[place] if place < len(_SIZES) else ""
    return {"size_categories": [f"{low}<n<{high}" if low and high else f"n<{high}" if high else f"n>{low}"]}


def find_hub_task(task: str | None) -> str:
    """Give the Hub's name of a record's task, of the most general one where there are several."""
    return _TASKS[task or "chat"]


def _list_tasks(configs: Mapping[str, Sequence[SplitInfo]]) -> dict[str, list[str]]:
    found = {task for splits in configs.values() for split in splits for task in split.counts.get("task", ())}
    names = [_TASKS[task] for task in _TASKS if task in found]
    return {"task_categories": list(dict.fromkeys(names))} if names else {}


def build_shard_glob(config: str, split: str) -> str:
    """Name the shards of a split inside the dataset's folder.

    Example:
        >>> build_shard_glob("default", "test"), build_shard_glob("zh", "dev")
        ('data/test-*.parquet', 'zh/dev-*.parquet')
    """
    return f"{build_config_folder(config)}/{split}-*.parquet"


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _read_count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _group_by_config(entries: object) -> dict[str, dict[str, Any]]:
    # `datasets` writes a bare mapping where there is one configuration.
    listed = [entries] if isinstance(entries, dict) else _list(entries)
    return {str(e.get("config_name", DEFAULT_CONFIG)): e for e in listed if isinstance(e, dict)}


def _join(new: object, old: object, key: str) -> list[dict[str, Any]]:
    """Join two lists of splits; the new entry of a split wins, a split that only the old list has stays."""
    entries = [e for e in [*_list(old), *_list(new)] if isinstance(e, dict) and key in e]
    return list({entry[key]: entry for entry in entries}.values())


def _merge_infos(new: dict[str, dict[str, Any]], old: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    merged = []
    for config in dict.fromkeys([*old, *new]):
        info = {"config_name": config, **old.get(config, {}), **new.get(config, {})}
        splits = _join(new.get(config, {}).get("splits"), old.get(config, {}).get("splits"), "name")
        splits = [
            {"name": str(split["name"]), **{key: _read_count(split.get(key)) for key in ("num_bytes", "num_examples")}}
            for split in splits
        ]
        size = sum(split["num_bytes"] for split in splits)
        if config in new:
            info |= {"download_size": size, "dataset_size": size}
        merged.append({**info, "splits": splits})
    return merged


def _merge_files(new: dict[str, dict[str, Any]], old: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    merged = []
    for config in dict.fromkeys([*old, *new]):
        entry = {**old.get(config, {}), **new.get(config, {}), "config_name": config}
        if config in new:
            entry["data_files"] = _join(new[config].get("data_files"), old.get(config, {}).get("data_files"), "split")
        merged.append(entry)
    flagged = [entry["config_name"] for entry in merged if entry.pop("default", False)]
    default = DEFAULT_CONFIG if DEFAULT_CONFIG in {**new, **old} else next(iter(flagged), None)
    return [{**entry, "default": True} if entry["config_name"] == default else entry for entry in merged]


def _split_body(text: str) -> tuple[str, str, str]:
    """Cut a card's body into the text before the marked part, that part, and the text after it."""
    body = FRONT.sub("", text, count=1)
    if BEGIN not in body or END not in body:
        return body, "", ""
    before, _, rest = body.partition(BEGIN)
    section, _, after = rest.partition(END)
    return before, BEGIN + section + END, after


def _describe_feature(feature: dict[str, Any]) -> dict[str, Any]:
    kind = feature.get("_type")
    if kind == "Value":
        return {"dtype": feature["dtype"]}
    if kind == "Image":
        return {"dtype": "image"}
    if kind == "List":
        item = _describe_feature(feature["feature"])
        # A list of plain values or of structs is written without the word in between.
        return {"list": item.get("dtype", item.get("struct", item))}
    return {"struct": [{"name": name, **_describe_feature(inner)} for name, inner in feature.items()]}
