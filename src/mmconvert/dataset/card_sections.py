"""What a dataset card says to people, as Markdown: each part follows from the card's own YAML.

A part that tells of the whole repository is written again when cards are joined.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from mmconvert.core.record import describe_hf_feature
from mmconvert.dataset.manifest import DEFAULT_CONFIG, build_config_folder

BEGIN = "<!-- mmconvert: this part is written again by every push; write your own text outside it -->"
END = "<!-- /mmconvert -->"
REPO = "USER/REPO"
"""Stands for the repository's name until the card is published there."""
TRAINING = "sft"
"""Tag of datasets that are laid out for training."""
CATEGORIES = "Categories"

_SHOWN_CONFIGS, _SHOWN_VALUES, _VALUE_LENGTH = 10, 30, 60
Values = Mapping[str, Any]
"""The YAML of a card."""

MEANINGS = {
    "id": "Unique in the dataset; the source's id as text.",
    "sample": "The source's own id, equal for all copies of one question; made unique like the id if files share it.",
    "group": "Cluster for standard errors and joint scores: conversation, image, figure.",
    "variant": "Which copy this is: circular pass, duplicate, one of several responses.",
    "round": "Which round of a conversation.",
    "dataset": "Benchmark or task as its framework spells it.",
    "subset": "Part of the benchmark.",
    "images": "The images the prompt shows, in reading order; original bytes.",
    "messages": "The prompt as chat turns; one part of type `image` for each entry of `images`.",
    "prompt": "The chat turns before the completion; one part of type `image` for each entry of `images`.",
    "preference": "Two responses to the prompt: chosen and rejected turns, margin and scores if the source has them; "
    "null for other data. `images` holds the images of the prompt, of chosen, of rejected, in this order; "
    "`rejected_images` the positions in `attachments` of those that replace the prompt's on the rejected side.",
    "chosen": "The chosen response, as chat turns.",
    "rejected": "The rejected response, as chat turns.",
    "margin": "How much better the chosen response is; null if the source does not state it.",
    "score_chosen": "Score of the chosen response.",
    "score_rejected": "Score of the rejected response.",
    "solution": "The reference for reward functions: the letter for multiple choice, else the first reference.",
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
    "split": "Split as stated in the source row.",
    "image_info": "Slot, name, sha256, format and size of each entry of `images`; of a video's frame its time in "
    "seconds and the file it was taken from.",
    "attachments": "Images of the source that the prompt does not show.",
    "source": "Format, file and 0-based record number this row came from; `numbered` where its id is only "
    "that number, null where that is not known.",
    "extra": "JSON object of every source field that has no column.",
    "prediction": "The model's answer; null until there is one.",
    "prediction_status": "ok, failed or skipped; null before inference.",
    "prediction_error": "Why there is no prediction.",
    "method": "generate or likelihood.",
    "finish_reason": "Why the model stopped.",
    "thinking": "Reasoning block cut from the response.",
    "option_logprobs": "Summed natural log-probability of each present option.",
    "option_tokens": "Number of tokens of each present option.",
    "token_logprobs": "Natural log-probability of each token: of the response, or of the options one after the other.",
    "model": "The model that answered.",
    "prompt_tokens": "Tokens of the prompt.",
    "completion_tokens": "Tokens of the response.",
}
"""What each column holds, one sentence a column."""


def write_section(title: str, summary: str, parts: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Write the marked part of a card.

    Args:
        title: Its heading.
        summary: A paragraph below it.
        parts: Heading and lines of each further part, in order.
    """
    lines = [BEGIN, f"# {escape_markdown(title)}", "", summary, ""]
    for heading, text in parts:
        lines += [f"## {heading}", "", *text, ""]
    return "\n".join([*lines, END])


def renew_parts(text: str, values: Values) -> str:
    """Write the parts again that a section has and that follow from the card's YAML."""
    for heading, lines in PARTS.items():
        text = replace_part(text, heading, lines(values))
    return text


def find_part(text: str, heading: str) -> list[str]:
    """Give the lines of a part of a section; none where it has no such part."""
    found = _compile_part_pattern(heading).search(text)
    return found["lines"].strip("\n").splitlines() if found else []


def replace_part(text: str, heading: str, lines: Sequence[str]) -> str:
    """Exchange a part of a section, where it has such a part."""
    return _compile_part_pattern(heading).sub(lambda _: "\n".join([f"## {heading}", "", *lines, "", ""]), text)


def _compile_part_pattern(heading: str) -> re.Pattern[str]:
    return re.compile(rf"^## {re.escape(heading)}\n(?P<lines>.*?)(?=^## |^{END})", re.DOTALL | re.MULTILINE)


def escape_markdown(text: str) -> str:
    r"""Take the meaning that Markdown gives to characters from a text.

    Example:
        >>> escape_markdown("a*b|c")
        'a\\*b\\|c'
    """
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", text)


def list_splits(values: Values) -> list[str]:
    """List every split with its rows and bytes."""
    lines = ["| configuration | split | rows | bytes |", "| --- | --- | ---: | ---: |"]
    for info in values["dataset_info"]:
        name = escape_markdown(info["config_name"])
        for split in info["splits"]:
            counts = f"{split['num_examples']:,} | {split['num_bytes']:,}"
            lines.append(f"| {name} | {escape_markdown(split['name'])} | {counts} |")
    return lines


def describe_licence(values: Values) -> list[str]:
    """Say under which licence the data stand and where they come from, as far as somebody has said so."""
    licence, sources = values.get("license"), values.get("source_datasets")
    named = licence if isinstance(licence, list) else [licence] if licence else []
    places = [values["source_url"]] if values.get("source_url") else []
    places += sources if isinstance(sources, list) else []
    unknown = "not stated; the license of the source data applies."
    return [
        f"- Licence: {', '.join(f'`{one}`' for one in named) or unknown}",
        f"- Source: {', '.join(str(place) for place in places) or 'not stated.'}",
    ]


def count_categories(config: str, split: str, counts: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Count the rows of a split by task and category, the most frequent first; a long list is cut.

    Args:
        config: The configuration.
        split: The split.
        counts: Column -> value -> rows.
    """
    lines = [_build_category_heading(config, split), "", "| column | value | rows |", "| --- | --- | ---: |"]
    for column, values in counts.items():
        ranked = sorted(values.items(), key=lambda item: (-item[1], item[0]))
        for value, rows in ranked[:_SHOWN_VALUES]:
            cut = " ".join(value.split())
            shown = escape_markdown(cut if len(cut) <= _VALUE_LENGTH else f"{cut[:_VALUE_LENGTH]}...")
            lines.append(f"| {column} | {shown} | {rows:,} |")
        if left := ranked[_SHOWN_VALUES:]:
            lines.append(f"| {column} | ... {len(left):,} more values | {sum(rows for _, rows in left):,} |")
    return lines


def join_categories(ours: str, theirs: str, values: Values) -> list[str]:
    """Put the counts of two sections together: ours where both have a split, theirs while the split is there."""
    found = {**_group_by_split(theirs), **_group_by_split(ours)}
    names = [(info["config_name"], split["name"]) for info in values["dataset_info"] for split in info["splits"]]
    there = [_build_category_heading(*name) for name in names]
    return join_blocks(found[heading] for heading in there if heading in found)


def join_blocks(parts: Iterable[Sequence[str]]) -> list[str]:
    """Put blocks of lines one below the other, with an empty line in between."""
    return [line for part in parts for line in (*part, "")][:-1]


def _group_by_split(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in find_part(text, CATEGORIES):
        if line.startswith("### "):
            found[line] = []
        if found:
            [*_, last] = found.values()
            last.append(line)
    return {heading: "\n".join(lines).rstrip().splitlines() for heading, lines in found.items()}


def _build_category_heading(config: str, split: str) -> str:
    return f"### `{config}`, `{split}`"


def describe_columns(schema: pa.Schema) -> list[str]:
    """Explain every column."""
    lines = ["| column | type | meaning |", "| --- | --- | --- |"]
    for field in schema:
        kind = _format_type(describe_hf_feature(field.type))
        lines.append(f"| `{field.name}` | {kind} | {MEANINGS.get(field.name, '')} |")
    return lines


def _format_type(feature: dict[str, Any]) -> str:
    kind = feature.get("_type")
    if kind == "Value":
        return str(feature["dtype"])
    if kind == "Image":
        return "Image"
    if kind == "List":
        return f"List({_format_type(feature['feature'])})"
    return f"{{{', '.join(feature)}}}"


def describe_use(values: Values) -> list[str]:
    """Show how the dataset is loaded, asked about, scored and trained on."""
    infos = [info for info in values["dataset_info"] if info["splits"]][:_SHOWN_CONFIGS]
    alone = len(values["dataset_info"]) == 1
    loads = []
    for info in infos:
        config = "" if info["config_name"] == DEFAULT_CONFIG or alone else f', "{info["config_name"]}"'
        loads.append(f'rows = load_dataset("{REPO}"{config}, split="{info["splits"][0]["name"]}")')
    place = REPO if alone or not infos else f"hf://datasets/{REPO}/{build_config_folder(infos[0]['config_name'])}"
    return [
        "```python",
        "from datasets import load_dataset",
        "",
        *loads,
        *(_TRAINING if TRAINING in (values.get("tags") or ()) else ()),
        "```",
        "",
        *(line.format(place=place) for line in _list_commands(values)),
    ]


_TRAINING = (
    "",
    "import torch",
    "from trl import SFTConfig, SFTTrainer",
    "",
    # TRL's default, bfloat16, is refused where there is no GPU.
    'args = SFTConfig("output", max_length=None, bf16=torch.cuda.is_available())',
    'SFTTrainer(model="MODEL", train_dataset=rows, args=args).train()',
)


def _list_commands(values: Values) -> list[str]:
    if "model-index" in values:
        recipes = dict.fromkeys(metric.get("config") for _, _, metric in _list_metrics(values))
        return ["```", " ".join([f"mmscore {REPO}", *(f"--recipe {recipe}" for recipe in recipes if recipe)]), "```"]
    if TRAINING in (values.get("tags") or ()):
        return []
    asked = ["mmscore predict {place} -o predictions.parquet --model MODEL", "mmscore predictions.parquet"]
    return ["```", *asked, "mmconvert convert {place} -o train --view sft   # for TRL's SFTTrainer", "```"]


def list_results(values: Values) -> list[str]:
    """List the numbers of the card's model index."""
    lines = [
        "| model | dataset | recipe | metric | value | 95 % interval | rows | unparsed | without score |",
        "| --- | --- | --- | --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for model, result, metric in _list_metrics(values):
        about = _read_mapping(metric.get("args"))
        ends = about.get("ci95")
        interval = " to ".join(map(_format_number, ends)) if isinstance(ends, list) else ""
        dataset = _read_mapping(result.get("dataset")).get("name", "")
        value = f"{_format_number(metric.get('value'))} {about.get('unit', '')}".strip()
        names = [model.get("name", ""), dataset, metric.get("config", ""), metric.get("type", "")]
        cells = [*names, value, interval, *(about.get(count, "") for count in ("n", "unparsed", "unscored"))]
        lines.append(f"| {' | '.join(escape_markdown(str(cell)) for cell in cells)} |")
    return lines if len(lines) > 2 else ["Not scored yet."]


def _list_metrics(values: Values) -> list[tuple[Values, Values, Values]]:
    """List every number of the card's model index, with its model and its dataset; what has another shape is left."""
    return [
        (model, result, metric)
        for model in _list_mappings(values.get("model-index"))
        for result in _list_mappings(model.get("results"))
        for metric in _list_mappings(result.get("metrics"))
    ]


def _list_mappings(value: object) -> list[Values]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _read_mapping(value: object) -> Values:
    return value if isinstance(value, dict) else {}


def _format_number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) else str(value)


PARTS: Mapping[str, Callable[[Values], list[str]]] = {
    "Results": list_results,
    "Licence and source": describe_licence,
    "Splits": list_splits,
    "Use": describe_use,
}
"""Heading -> what writes the part from the card's YAML."""
