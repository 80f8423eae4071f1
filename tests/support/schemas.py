"""The schemas as language-neutral JSON: column, Arrow type, meaning; and the report's JSON Schema."""

import json
from typing import Any

import pyarrow as pa

from mmconvert.core.record import PREDICTION_SCHEMA, SCHEMA, SCHEMA_VERSION, describe_hf_feature
from mmconvert.dataset.card_sections import MEANINGS
from mmscore.core.report import JudgeAgreement, JudgeUsage
from mmscore.reporting.scored_rows import ROWS_SCHEMA
from support.comparison_schemas import DIALECT, SCHEMAS

BASE = "https://mmconvert.github.io/mmconvert/schemas/"
"""Where the site has the schemas; a reference to another one is a name beside it, which needs no network."""

ROWS_MEANINGS = {
    "id": "Id of the row that was scored.",
    "recipe": "Recipe that scored it, with its version.",
    "model": "Who answered.",
    "status": "scored, excluded, failed, judge_failed, missing or rejected.",
    "value": "What was read out of the answer.",
    "how": "The rule that read it.",
    "span": "Where in the answer, in characters.",
    "scores": "Scores of the row by name, intermediate ones included.",
    "judge_model": "Model that judged.",
    "judge_reply": "What it replied.",
    "judge_prompt_sha256": "Digest of what it was asked.",
    "tries": "How often it was asked.",
    "judge_votes": "What each of several judges said, where there are several.",
}
_NUMBER = {"type": ["number", "null"]}
_METRIC = {
    "type": "object",
    "required": ["value", "unit", "n", "stderr", "ci95", "higher_is_better"],
    "properties": {
        "value": _NUMBER,
        "unit": {"type": "string"},
        "n": {"type": "integer"},
        "stderr": _NUMBER,
        "ci95": {"type": ["array", "null"], "items": _NUMBER},
        "higher_is_better": {"type": ["boolean", "null"]},
    },
}
_COUNTS = ("total", "scored", "unparsed", "excluded", "failed", "judge_failed", "missing", "rejected")
_PARTS = ("blank", "failures")
"""Counts of rows that one of the others counts too."""
_METRICS = {"type": "object", "additionalProperties": {"$ref": "#/$defs/metric"}}
_ENTRY = {
    "type": "object",
    "required": ["recipe", "parity", "metrics", "groups", "counts", "partial", "model", "dataset", "signature"],
    "properties": {
        "recipe": {"type": "string"},
        "version": {"type": "string"},
        "parity": {"type": "string"},
        "reason": {"type": "string"},
        "metrics": _METRICS,
        "without_failures": _METRICS,
        "groups": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": _METRICS}},
        "counts": {
            "type": "object",
            "required": list(_COUNTS),
            "properties": {name: {"type": "integer", "minimum": 0} for name in (*_COUNTS, *_PARTS)},
        },
        "partial": {"type": "boolean"},
        "model": {"type": "string"},
        "method": {"type": ["string", "null"]},
        "dataset": {"type": ["string", "null"]},
        "signature": {"type": "string"},
        "fingerprint": {"type": "string"},
        "table": {"type": "array", "items": {"type": "object"}},
        "predictions": {"type": "string"},
        "messages": {"type": "array", "items": {"type": "string"}},
        "notes": {"type": "array", "items": {"type": "string"}},
        "judging": {
            "type": ["object", "null"],
            "required": ["agreement", "usage"],
            "properties": {
                "agreement": {"type": "array", "items": {"$ref": "#/$defs/agreement"}},
                "usage": {"type": "array", "items": {"$ref": "#/$defs/usage"}},
            },
        },
    },
}
_COUNT = {"type": "integer", "minimum": 0}
_AGREEMENT = {
    "type": "object",
    "required": list(JudgeAgreement.__struct_fields__),
    "properties": {
        "judges": {"type": "array", "items": {"type": "string"}},
        "n": _COUNT,
        "same": _COUNT,
        "kappa": _NUMBER,
        "ci95": {"type": ["array", "null"], "items": {"type": "number"}},
    },
}
_USAGE = {
    "type": "object",
    "required": list(JudgeUsage.__struct_fields__),
    "properties": {
        **{key: {"type": "string"} for key in ("judge", "model")},
        **dict.fromkeys(JudgeUsage.__struct_fields__[2:7], _COUNT),
        "cost": _NUMBER,
        **{key: {"type": ["string", "null"]} for key in ("currency", "prices_of", "priced_as")},
    },
}


def _table(title: str, schema: pa.Schema, meanings: dict[str, str]) -> dict[str, Any]:
    """Describe a row as JSON, bytes as base64; `arrow` and `huggingface` are annotations that validators ignore."""
    return {
        "$schema": DIALECT,
        "title": title,
        "schema_version": SCHEMA_VERSION,
        "type": "object",
        "properties": {
            field.name: {
                "description": meanings[field.name],
                **_describe_value(field.type),
                "arrow": str(field.type),
                "huggingface": describe_hf_feature(field.type),
            }
            for field in schema
        },
    }


def _describe_value(type: pa.DataType) -> dict[str, Any]:
    if pa.types.is_list(type):
        return {"type": ["array", "null"], "items": _describe_value(type.value_type)}
    if pa.types.is_struct(type):
        parts = {type.field(i).name: _describe_value(type.field(i).type) for i in range(type.num_fields)}
        return {"type": ["object", "null"], "properties": parts, "additionalProperties": False}
    if pa.types.is_map(type):
        return {"type": ["object", "null"], "additionalProperties": _describe_value(type.item_type)}
    if pa.types.is_binary(type):
        return {"type": ["string", "null"], "contentEncoding": "base64"}
    kinds = {pa.types.is_boolean: "boolean", pa.types.is_integer: "integer", pa.types.is_floating: "number"}
    kind = next((name for is_of_kind, name in kinds.items() if is_of_kind(type)), "string")
    return {"type": [kind, "null"]}


def page() -> str:
    """The text of docs/schema.md."""
    head = "| column | Arrow type | meaning |\n| --- | --- | --- |"
    rows = [f"| `{field.name}` | `{field.type}` | {MEANINGS[field.name]} |" for field in PREDICTION_SCHEMA]
    return f"""# Schema (version {SCHEMA_VERSION})

Written by `scripts/schemas`. All shards of all datasets have exactly these columns, in this order; nothing is inferred
from data. As JSON Schema (2020-12) a row is [record.json](../schemas/record.json), a report
[report.json](../schemas/report.json). Every schema is also in the wheel, in `mmconvert/schemas`.

{head}
{chr(10).join(rows[: len(SCHEMA)])}

A predictions file has these besides, and may lack `images`, `image_info` and `attachments`:

{head}
{chr(10).join(rows[len(SCHEMA) :])}

- `messages` holds exactly one part of type `image`, with an empty text, for each entry of `images`: chat templates and
  TRL's trainer read it as it is.
- `id` is unique; copies of one question (rotations, repeats) share `sample` and differ in `variant`.
- `label` is what the source wrote, because frameworks treat `"2"`, `2` and `["2"]` differently.
- An empty text is a value; null is none. `options[i]` belongs to letter i; a gap in the letters is a null.
"""


def documents() -> dict[str, str]:
    """File name -> text of every schema."""
    values = {
        "record.json": _table("Every dataset of mmconvert", SCHEMA, MEANINGS),
        "prediction.json": _table("Every predictions file of mmscore", PREDICTION_SCHEMA, MEANINGS),
        "rows.json": _table("What --rows writes, one row an id and recipe", ROWS_SCHEMA, ROWS_MEANINGS),
        "report.json": {
            "$schema": DIALECT,
            "title": "What mmscore --json prints",
            "type": "object",
            "required": ["schema_version", "entries"],
            "properties": {
                "schema_version": {"type": "integer"},
                "entries": {"type": "array", "items": {"$ref": "#/$defs/entry"}},
            },
            "$defs": {"metric": _METRIC, "entry": _ENTRY, "agreement": _AGREEMENT, "usage": _USAGE},
        },
        **SCHEMAS,
    }
    named = {name: {"$schema": value["$schema"], "$id": BASE + name, **value} for name, value in values.items()}
    return {name: json.dumps(value, indent=1, ensure_ascii=False) + "\n" for name, value in named.items()}
