"""MMTrustEval's dataset configuration: a YAML file that says where annotations and images are.

`annotation_file` names a JSON array or JSON Lines, looked for beside the configuration and in the working folder,
and nowhere else; `image_dir` is the folder of the images, inside the image roots. An annotation gives `text` (or
`query`, `question`, `prompt`), `image` (or `image_path`) and `target` (or `truth`, `label`, `answer`). The words are
the annotation's own; what a dataset class of the framework makes of them is for that class to say
(docs/kits/mmtrusteval.md).
Keys of ours say what the class would: `text`, a prompt template with `{fields}` of the annotation, and
the fields that `image`
and `target` are to be taken from. A configuration is of the dataset of the framework that it is named after. Source:
thu-ml/MMTrustEval@a067801 mmte/configs/datasets, mmte/datasets/vispr.py.

Kept: fields of an annotation without a place in `extra`.
Refused: a configuration without annotations, an annotation without text (`text.type`), an image that is missing.
Lost: further keys of the configuration.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mmconvert.core.errors import Error, RowError, in_field, show
from mmconvert.core.record import Record
from mmconvert.core.rows import Rejected, Row, Span
from mmconvert.io import json_array, jsonl
from mmconvert.io.columns import keep_extra_fields
from mmconvert.io.yaml_files import read_yaml
from mmconvert.kits.mmtrusteval.datasets import NAMES
from mmconvert.kits.mmtrusteval.samples import sample_record
from mmconvert.plugins.format import Context, Format, Sample
from mmconvert.storage.folders import find_listed_file

ANNOTATIONS, IMAGES = "annotation_file", "image_dir"
TEXT, IMAGE, TARGET = (
    ("text", "query", "question", "prompt"),
    ("image_path", "image"),
    ("target", "truth", "label", "answer"),
)
"""What an annotation calls its parts; the first that stands there counts."""

_PARTS = {"image": IMAGE, "target": TARGET}

OURS = ("text", "image", "target")
_FOLDER, _DATASET, _OPTIONS = "#image_dir", "#dataset", "#wishes"  # facts of the whole file, handed on with each row
_FIELD = re.compile(r"\{([^{}]+)\}")


def _read_rows(path: Path, span: Span | None) -> Iterator[Row | Rejected]:
    config = _read_config(path)
    file = find_listed_file(path, ANNOTATIONS, config[ANNOTATIONS])
    folder = config.get(IMAGES) or ""
    options = {name: config[name] for name in OURS if config.get(name) is not None}
    for name, value in {IMAGES: folder, **options}.items():
        if not isinstance(value, str):
            raise Error(f"{path}: {name}: expected a text {show(value)}. Correct it.")
    source = jsonl if file.suffix.lower() == ".jsonl" else json_array
    facts = {_FOLDER: folder, _DATASET: path.stem if path.stem in NAMES else None, _OPTIONS: options}
    for item in source.rows(file):
        yield Row({**item.fields, **facts}, item.where, item.remarks) if isinstance(item, Row) else item


def _read_config(path: Path) -> Mapping[str, Any]:
    values = read_yaml(path)
    if not isinstance(values, dict) or not isinstance(values.get(ANNOTATIONS), str) or not values[ANNOTATIONS]:
        raise Error(f"{path}: names no {ANNOTATIONS} {show(values)}. Give a file of samples, or of annotations.")
    return values


def _read_records(row: Row, context: Context) -> Iterable[Record]:
    fields = dict(row.fields)
    folder, dataset = fields.pop(_FOLDER, ""), fields.pop(_DATASET, None)
    options = fields.pop(_OPTIONS, {})
    text = _fill_prompt(options["text"], fields) if "text" in options else _take_first(fields, TEXT)
    name, label = (_take_first(fields, [options[k]] if k in options else names) for k, names in _PARTS.items())
    if not isinstance(text, str):
        raise RowError("text.type", TEXT[0], f"expected a text in one of {', '.join(TEXT)} {show(text)}.")
    image = None
    if name is not None:
        with in_field(IMAGE[1]):
            if not isinstance(name, str):
                raise RowError("image.type", "", f"expected a path {show(name)}.")
            image = context.images.of_reference(posixpath.join(folder, name), 1)
    extra = keep_extra_fields(fields)
    yield sample_record(row, context, text=text, image=image, label=label, extra=extra, dataset=dataset)


def _fill_prompt(prompt: str, fields: Mapping[str, Any]) -> str:
    def value(match: re.Match[str]) -> str:
        found = fields.get(match[1])
        if found is None:
            raise RowError(
                "text.field", match[1], "the prompt template shows it, but the annotation has none. Add it there."
            )
        return str(found)

    return _FIELD.sub(value, prompt)


def _take_first(fields: dict[str, Any], names: Iterable[str]) -> Any:
    """Take the first of several fields that has a value; the others stay."""
    found = next((name for name in names if fields.get(name) is not None), None)
    return None if found is None else fields.pop(found)


def _find_mismatch(sample: Sample) -> str | None:
    try:
        _read_config(sample.path)
    except Error as error:
        return str(error).partition(": ")[2]
    return None


FORMAT = Format(
    summary="MMTrustEval dataset configuration",
    suffixes=(".yaml", ".yml"),
    rows=_read_rows,
    records=_read_records,
    mismatch=_find_mismatch,
)
