"""The JSON Schemas of what the comparing commands print."""

from typing import Any

ENTRY = {"$ref": "report.json#/$defs/entry"}
NUMBER = {"type": ["number", "null"]}
COUNT = {"type": "integer", "minimum": 0}
IDS = {"type": "array", "items": {"type": "string"}}


def record(**properties: Any) -> dict[str, Any]:
    """Make the schema of an object with exactly these keys."""
    return {
        "type": "object",
        "required": list(properties),
        "properties": properties,
        "additionalProperties": False,
    }


def mapping(values: dict[str, Any]) -> dict[str, Any]:
    """Make the schema of an object with any keys."""
    return {"type": "object", "additionalProperties": values}


def document(title: str, **properties: Any) -> dict[str, Any]:
    """Make a whole schema file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **record(schema_version={"type": "integer"}, **properties),
    }


_MCNEMAR = record(only_a=COUNT, only_b=COUNT, both=COUNT, neither=COUNT, p={"type": "number"})
_DIFFERENCE = {
    "n": COUNT,
    "clusters": COUNT,
    "a": {"type": "number"},
    "b": {"type": "number"},
    "difference": {"type": "number", "description": "b - a"},
    "stderr": NUMBER,
    "ci95": {"type": ["array", "null"], "items": {"type": "number"}},
    "p": NUMBER,
    "test": {"type": ["string", "null"], "description": "where p comes from"},
    "p_bootstrap": NUMBER,
    "resamples": COUNT,
    "mcnemar": {**_MCNEMAR, "type": ["object", "null"]},
}
COMPARE = document(
    "What mmscore compare --json prints",
    a=ENTRY,
    b=ENTRY,
    rows=record(compared=COUNT, only_a=IDS, only_b=IDS, unscored=IDS),
    metrics=mapping(record(a=NUMBER, b=NUMBER, difference=NUMBER, unit={"type": "string"})),
    scores=mapping(record(**_DIFFERENCE)),
    groups=mapping(mapping(mapping(record(**_DIFFERENCE, p_holm=NUMBER)))),
    seed=COUNT,
)
SCHEMAS = {"compare.json": COMPARE}
