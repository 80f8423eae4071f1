"""The JSON Schemas of what the comparing commands print."""

from typing import Any

DIALECT = "https://json-schema.org/draft/2020-12/schema"
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
        "$schema": DIALECT,
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
    "why_no_p": {"type": ["string", "null"], "description": "why there is no test"},
    "p_bootstrap": NUMBER,
    "resamples": COUNT,
    "mcnemar": {**_MCNEMAR, "type": ["object", "null"]},
}
_NUMBER_DIFFERENCE = {
    "a": NUMBER,
    "b": NUMBER,
    "difference": {**NUMBER, "description": "b - a"},
    "unit": {"type": "string"},
    "ci95": {"type": ["array", "null"], "items": {"type": "number"}},
    "p": NUMBER,
    "test": {
        "type": ["string", "null"],
        "description": "where p comes from; null where a score of this name is tested",
    },
    "why_no_p": {"type": ["string", "null"], "description": "why a number that was to be tested has no p"},
    "resamples": COUNT,
}
COMPARE = document(
    "What mmscore compare --json prints",
    a=ENTRY,
    b=ENTRY,
    primary={"type": "string", "description": "the metric that decides: the first that the recipe reports"},
    others={**IDS, "description": "metrics that are compared with --all only"},
    remarks=IDS,
    rows=record(
        compared=COUNT,
        only_a=IDS,
        only_b=IDS,
        unscored=IDS,
        unlike={**IDS, "description": "compared rows whose references or options are others in each file"},
    ),
    metrics=mapping(record(**_NUMBER_DIFFERENCE)),
    scores=mapping(record(**_DIFFERENCE)),
    groups=mapping(mapping(mapping(record(**_DIFFERENCE, p_holm=NUMBER)))),
    group_metrics=mapping(mapping(mapping(record(**_NUMBER_DIFFERENCE, p_holm=NUMBER)))),
    seed=COUNT,
)
TEXT = {"type": "string"}
TEXT_OR_NULL = {"type": ["string", "null"]}
METRICS = mapping({"$ref": "report.json#/$defs/metric"})
_READING = record(
    status=TEXT,
    value=TEXT_OR_NULL,
    how=TEXT_OR_NULL,
    span={"type": ["array", "null"], "items": COUNT, "description": "start and end in the response, in characters"},
    score=NUMBER,
)
_PAIR = record(
    how_a=TEXT,
    how_b=TEXT,
    rows=COUNT,
    changed=COUNT,
    sum_a={"type": "number"},
    sum_b={"type": "number"},
    contribution={"type": "number", "description": "(sum_b - sum_a) over all rows that both scored"},
)
_COVERAGE = record(rows=COUNT, contribution={"type": "number"})
_GAP = record(
    difference={"type": "number", "description": "b - a, the sum of all contributions"},
    rows=COUNT,
    pairs={"type": "array", "items": _PAIR},
    only_a=_COVERAGE,
    only_b=_COVERAGE,
)
EXPLAIN = document(
    "What mmscore explain --json prints",
    predictions=TEXT,
    recipes={
        "type": "array",
        "items": record(
            recipe=TEXT,
            version=TEXT,
            parity=TEXT,
            reason=TEXT,
            score=TEXT,
            value=NUMBER,
            n=COUNT,
            metrics=METRICS,
            rules={"type": "array", "items": record(how=TEXT, rows=COUNT, total={"type": "number"})},
        ),
    },
    gap={**_GAP, "type": ["object", "null"]},
    rows_found={**COUNT, "description": "rows there are to show: all, or those that two recipes score differently"},
    rows={
        "type": "array",
        "items": record(
            id=TEXT_OR_NULL, reference=IDS, prediction=TEXT_OR_NULL, readings={"type": "array", "items": _READING}
        ),
    },
    messages=IDS,
)
RANKS = mapping({"type": "number"})
_STANDING = record(
    model=TEXT,
    scores={**RANKS, "description": "column -> mean of its datasets, in percent where numbers are shares"},
    ranks={**RANKS, "description": "column -> place, from 1; equal scores share the mean of theirs"},
    average_score={"type": "number"},
    average_rank={"type": "number"},
    missing={**IDS, "description": "datasets that another model has, or all should have"},
    place={"type": "number", "description": "in the order of the table, from 1; equal ones share the mean of theirs"},
)
RANK = document(
    "What mmscore rank --json prints",
    by=TEXT,
    tables={
        "type": "array",
        "items": record(
            method={"type": "string", "enum": ["generation", "likelihood"]},
            columns={
                "type": "array",
                "items": record(name=TEXT, datasets=IDS, size={"type": ["integer", "null"]}),
            },
            standings={"type": "array", "items": _STANDING},
        ),
    },
    cells={
        "type": "array",
        "items": record(
            model=TEXT,
            method=TEXT,
            dataset=TEXT,
            column=TEXT,
            metric=TEXT,
            score={"type": "number"},
            n=COUNT,
            unscored=COUNT,
            recipe=TEXT,
            predictions=TEXT,
            weight={"type": "number", "description": "in the mean of the column, against the others' weights"},
            partial={"type": "boolean", "description": "the number covers a part of the dataset only"},
        ),
    },
)
BUNDLE = document(
    "bundle.json, the manifest of what mmscore bundle writes",
    command={"type": "string", "description": "run in the folder it gives report.json"},
    request=record(
        predictions=IDS,
        recipes=IDS,
        answers=TEXT_OR_NULL,
        dataset=TEXT_OR_NULL,
        by=IDS,
        average=TEXT,
        format=TEXT_OR_NULL,
        recipe_options=TEXT_OR_NULL,
    ),
    recipes={"type": "array", "items": record(name=TEXT, parity=TEXT, chosen_because=TEXT)},
    versions=mapping(TEXT),
    files={"type": "array", "items": record(path=TEXT, bytes=COUNT, sha256=TEXT)},
)
SCHEMAS = {"compare.json": COMPARE, "explain.json": EXPLAIN, "rank.json": RANK, "bundle.json": BUNDLE}
