"""Whether JSON has the shape that a schema of schemas/ gives it; the few keywords that those schemas use."""

import json
from functools import cache
from typing import Any

from support.schemas import documents

_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def faults(value: Any, name: str) -> list[str]:
    """List where a value leaves its schema.

    Args:
        value: JSON values.
        name: File name of the schema.
    """
    return _faults(value, {"$ref": f"{name}#"}, name, "$")


@cache
def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(documents()[name])
    return schema


def _faults(value: Any, schema: dict[str, Any], name: str, place: str) -> list[str]:
    while "$ref" in schema:
        other, _, pointer = schema["$ref"].partition("#")
        name = other or name
        schema = _schema(name)
        for key in pointer.split("/")[1:]:
            schema = schema[key]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        return [f"{place}: {value!r} is no {' or '.join(kinds)}"]
    found = [f"{place}: {value!r} is none of {schema['enum']}"] if value not in schema.get("enum", [value]) else []
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            found += _faults(item, schema["items"], name, f"{place}[{number}]")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        found += [f"{place}: lacks {key}" for key in schema.get("required", ()) if key not in value]
        others = schema.get("additionalProperties", {})
        for key, item in value.items():
            if key not in known and others is False:
                found.append(f"{place}: has {key}")
            elif isinstance(inner := known.get(key, others), dict):
                found += _faults(item, inner, name, f"{place}.{key}")
    return found


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
