"""The README.md of a converted dataset: YAML that `datasets` and the Hub read, then a page for people."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import yaml

from mmconvert.manifest import DATA_FOLDER, DEFAULT_CONFIG
from mmconvert.record import hf_feature

BEGIN = "<!-- mmconvert: this part is written anew by every push; write your own text outside it -->"
END = "<!-- /mmconvert -->"

MEANINGS = {
    "id": "Unique in the dataset; the source's id as text.",
    "sample": "The source's own id, equal for all copies of one question.",
    "group": "Cluster for standard errors and joint scores: dialog, image, figure.",
    "variant": "Which copy this is: circular pass, duplicate, one of several replies.",
    "round": "Which round of a dialog.",
    "dataset": "Benchmark or task as its kit spells it.",
    "subset": "Part of the benchmark.",
    "images": "The pictures the prompt shows, in reading order; original bytes.",
    "messages": "The prompt as chat turns; one part of type `image` for each entry of `images`.",
    "prompt": "The chat turns before the completion; one part of type `image` for each entry of `images`.",
    "completion": "The assistant's turn to learn.",
    "task": "multiple_choice, yes_no, vqa, caption, ocr, kie or chat.",
    "question": "The question as in the source, placeholders such as `<image 1>` kept.",
    "hint": "Context that belongs to the question.",
    "instruction": "Instruction that belongs to the question.",
    "options": "`options[i]` belongs to letter i; null where the source has no such letter.",
    "answer": "The letter for multiple choice (several: sorted), else the text.",
    "answers": "All references in source order, repeats kept; empty when unlabelled.",
    "label": "The source's reference verbatim, as JSON.",
    "category": "Breakdown group.",
    "l2_category": "Finer or coarser breakdown group.",
    "split": "Split as the source's row says.",
    "image_info": "Slot, name, sha256, format and size of each entry of `images`.",
    "attachments": "Pictures of the source that the prompt does not show.",
    "source": "Format, file and 0-based record number this row came from.",
    "extra": "JSON object of every source field that has no column.",
    "prediction": "The model's answer; null until there is one.",
    "prediction_status": "ok, failed or skipped; null before inference.",
    "prediction_error": "Why there is no prediction.",
    "method": "generate or likelihood.",
    "finish_reason": "Why the model stopped.",
    "thinking": "Reasoning block cut from the reply.",
    "option_logprobs": "Summed natural log-probability of each present option.",
    "option_tokens": "Number of tokens of each present option.",
    "token_logprobs": "Natural log-probability of each token: of the reply, or of the options one after the other.",
    "model": "The model that answered.",
    "prompt_tokens": "Tokens of the prompt.",
    "completion_tokens": "Tokens of the reply.",
}
"""What each column holds, one sentence a column."""


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        """Write equal parts out each time: not every reader of cards follows YAML references."""
        return True


@dataclass(frozen=True, slots=True)
class SplitInfo:
    """One split of a configuration: its name, its rows and the bytes of its parquet files."""

    name: str
    rows: int
    bytes: int


def card(
    configs: Mapping[str, Sequence[SplitInfo]], *, schema: pa.Schema, title: str, source_format: str | None
) -> str:
    """Write the README.md that makes a folder of shards load with no argument.

    Args:
        configs: Splits of each configuration, both in the order to show. Shards of `default` lie in
            `data/`, those of any other configuration in `<config>/`, named `<split>-*.parquet`.
        schema: Schema of every shard.
        title: Name of the dataset for people; line breaks become blanks.
        source_format: Name of the format it was converted from, None when there were several.

    Returns:
        The text of README.md, ending in a newline.

    Example:
        >>> text = card({"default": [SplitInfo("test", 2, 99)]}, schema=pa.schema([("id", pa.string())]),
        ...             title="Demo", source_format="vmcq")
        >>> front_matter(text)["configs"][0]["data_files"]
        [{'split': 'test', 'path': 'data/test-*.parquet'}]
    """
    title = " ".join(title.split())
    body = [BEGIN, f"# {_plain(title)}", "", _summary(source_format), ""]
    body += ["## Splits", "", *_split_table(configs), ""]
    body += ["## Columns", "", *_column_table(schema), ""]
    body += ["## Use", "", *_usage(configs), END]
    return with_front_matter(_front_matter(configs, schema, title, source_format), "\n".join(body) + "\n")


def front_matter(text: str) -> dict[str, Any]:
    r"""Read the YAML block at the top of a card; a card without one, or with broken YAML, has nothing.

    Example:
        >>> front_matter("---\nlicense: mit\n---\n# Title")
        {'license': 'mit'}
        >>> front_matter("# Title")
        {}
    """
    found = _FRONT.match(text)
    if found is None:
        return {}
    try:
        values = yaml.safe_load(found["yaml"])
    except yaml.YAMLError:
        return {}
    return values if isinstance(values, dict) else {}


def with_front_matter(values: Mapping[str, Any], body: str) -> str:
    """Put a YAML block in front of a card's body, keys in the order given."""
    block = yaml.dump(dict(values), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000)
    return f"---\n{block}---\n{body}"


def merge(ours: str, theirs: str) -> str:
    """Join a new card with the one that stands in the repository, so that both keep their data.

    Configurations, splits and front-matter keys (a licence, say) that only the old card has stay. The
    part between the marks is ours; the text around it is ours where we have any, else theirs.

    Args:
        ours: The card of the folder to publish.
        theirs: The card in the repository.

    Returns:
        The card to publish.
    """
    new, old = front_matter(ours), front_matter(theirs)
    tags = list(dict.fromkeys([*_list(old.get("tags")), *_list(new.get("tags"))]))
    infos = _merged_infos(_by_config(new.get("dataset_info")), _by_config(old.get("dataset_info")))
    files = _merged_files(_by_config(new.get("configs")), _by_config(old.get("configs")))
    values = {**old, **new, "tags": tags, "dataset_info": infos, "configs": files}
    before, section, after = _parted(ours)
    if section and not (before + after).strip():
        old_before, old_section, old_after = _parted(theirs)
        before, after = (old_before, old_after) if old_section else ("", f"\n{old_before}")
    counts = {
        info["config_name"]: [SplitInfo(s["name"], s["num_examples"], s["num_bytes"]) for s in info["splits"]]
        for info in infos
    }
    table = "\n".join(["## Splits", "", *_split_table(counts), "", ""])
    section = re.sub(r"^## Splits\n.*?(?=^## )", lambda _: table, section, flags=re.DOTALL | re.MULTILINE)
    return with_front_matter(values, before + section + after)


def yaml_features(schema: pa.Schema) -> list[dict[str, Any]]:
    """Spell a schema the way a card's `dataset_info.features` does.

    Parity: huggingface/datasets@5.2.0 src/datasets/features/features.py:Features._to_yaml_list, for
    the types our schemas use; written by hand because importing `datasets` is slow.

    Example:
        >>> yaml_features(pa.schema([("id", pa.string()), ("options", pa.list_(pa.string()))]))
        [{'name': 'id', 'dtype': 'string'}, {'name': 'options', 'list': 'string'}]
    """
    return [{"name": field.name, **_yaml_feature(hf_feature(field.type))} for field in schema]


_FRONT = re.compile(r"\A---[ \t]*\r?\n(?P<yaml>.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


def _front_matter(
    configs: Mapping[str, Sequence[SplitInfo]], schema: pa.Schema, title: str, source_format: str | None
) -> dict[str, Any]:
    features = yaml_features(schema)
    # One configuration must be the default, or `load_dataset` asks for a name.
    default = DEFAULT_CONFIG if DEFAULT_CONFIG in configs else next(iter(configs), DEFAULT_CONFIG)
    infos = []
    files = []
    for config, splits in configs.items():
        size = sum(split.bytes for split in splits)
        counts = [{"name": split.name, "num_bytes": split.bytes, "num_examples": split.rows} for split in splits]
        info = {"config_name": config, "features": features, "splits": counts}
        infos.append({**info, "download_size": size, "dataset_size": size})
        paths = [{"split": split.name, "path": shard_glob(config, split.name)} for split in splits]
        files.append({"config_name": config, "data_files": paths, **({"default": True} if config == default else {})})
    tags = ["mmconvert", "vision-language", *([source_format] if source_format else [])]
    return {"pretty_name": title, "tags": tags, "dataset_info": infos, "configs": files}


def shard_glob(config: str, split: str) -> str:
    """Name the shards of a split inside the dataset's folder.

    Example:
        >>> shard_glob("default", "test"), shard_glob("zh", "dev")
        ('data/test-*.parquet', 'zh/dev-*.parquet')
    """
    folder = DATA_FOLDER if config == DEFAULT_CONFIG else config
    return f"{folder}/{split}-*.parquet"


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _by_config(entries: object) -> dict[str, dict[str, Any]]:
    # `datasets` writes a bare mapping where there is one configuration.
    listed = [entries] if isinstance(entries, dict) else _list(entries)
    return {str(e.get("config_name", DEFAULT_CONFIG)): e for e in listed if isinstance(e, dict)}


def _join(new: object, old: object, key: str) -> list[dict[str, Any]]:
    """Join two lists of splits; the new entry of a split wins, a split that only the old list has stays."""
    entries = [e for e in [*_list(old), *_list(new)] if isinstance(e, dict) and key in e]
    return list({entry[key]: entry for entry in entries}.values())


def _merged_infos(new: dict[str, dict[str, Any]], old: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    merged = []
    for config in dict.fromkeys([*old, *new]):
        info = {"config_name": config, **old.get(config, {}), **new.get(config, {})}
        splits = _join(new.get(config, {}).get("splits"), old.get(config, {}).get("splits"), "name")
        splits = [
            {"name": str(split["name"]), **{key: _count(split.get(key)) for key in ("num_bytes", "num_examples")}}
            for split in splits
        ]
        size = sum(split["num_bytes"] for split in splits)
        if config in new:
            info |= {"download_size": size, "dataset_size": size}
        merged.append({**info, "splits": splits})
    return merged


def _merged_files(new: dict[str, dict[str, Any]], old: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    merged = []
    for config in dict.fromkeys([*old, *new]):
        entry = {**old.get(config, {}), **new.get(config, {}), "config_name": config}
        if config in new:
            entry["data_files"] = _join(new[config].get("data_files"), old.get(config, {}).get("data_files"), "split")
        merged.append(entry)
    flagged = [entry["config_name"] for entry in merged if entry.pop("default", False)]
    default = DEFAULT_CONFIG if DEFAULT_CONFIG in {**new, **old} else next(iter(flagged), None)
    return [{**entry, "default": True} if entry["config_name"] == default else entry for entry in merged]


def _parted(text: str) -> tuple[str, str, str]:
    """Cut a card's body into the text before the marked part, that part, and the text after it."""
    body = _FRONT.sub("", text, count=1)
    if BEGIN not in body or END not in body:
        return body, "", ""
    before, _, rest = body.partition(BEGIN)
    section, _, after = rest.partition(END)
    return before, BEGIN + section + END, after


def _yaml_feature(feature: dict[str, Any]) -> dict[str, Any]:
    kind = feature.get("_type")
    if kind == "Value":
        return {"dtype": feature["dtype"]}
    if kind == "Image":
        return {"dtype": "image"}
    if kind == "List":
        item = _yaml_feature(feature["feature"])
        # A list of plain values or of structs is written without the word in between.
        return {"list": item.get("dtype", item.get("struct", item))}
    return {"struct": [{"name": name, **_yaml_feature(inner)} for name, inner in feature.items()]}


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", text)


def _summary(source_format: str | None) -> str:
    origin = f" from `{source_format}` files" if source_format else ""
    return (
        f"Converted{origin} with mmconvert. Pictures are the source's own bytes, never re-encoded. "
        "The licence is that of the source data."
    )


def _split_table(configs: Mapping[str, Sequence[SplitInfo]]) -> list[str]:
    lines = ["| configuration | split | rows | bytes |", "| --- | --- | ---: | ---: |"]
    for config, splits in configs.items():
        lines += [f"| {_plain(config)} | {_plain(s.name)} | {s.rows:,} | {s.bytes:,} |" for s in splits]
    return lines


def _column_table(schema: pa.Schema) -> list[str]:
    lines = ["| column | type | meaning |", "| --- | --- | --- |"]
    for field in schema:
        lines.append(f"| `{field.name}` | {_type_name(hf_feature(field.type))} | {MEANINGS.get(field.name, '')} |")
    return lines


def _type_name(feature: dict[str, Any]) -> str:
    kind = feature.get("_type")
    if kind == "Value":
        return str(feature["dtype"])
    if kind == "Image":
        return "Image"
    if kind == "List":
        return f"List({_type_name(feature['feature'])})"
    return f"{{{', '.join(feature)}}}"


def _usage(configs: Mapping[str, Sequence[SplitInfo]]) -> list[str]:
    config, splits = next(((c, s) for c, s in configs.items() if s), (DEFAULT_CONFIG, ()))
    name = "" if config == DEFAULT_CONFIG or len(configs) == 1 else f', "{config}"'
    split = splits[0].name if splits else "train"
    return [
        "```python",
        "from datasets import load_dataset",
        "",
        f'rows = load_dataset("USER/REPO"{name}, split="{split}")  # or the path of this folder',
        "```",
    ]
