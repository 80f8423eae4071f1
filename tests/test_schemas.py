"""schemas/*.json say what the code says, and what the programs write fits them."""

import base64
import json
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource

from mmconvert.core.record import PREDICTION_SCHEMA, SCHEMA, describe_hf_feature
from support.predictions import choices, write_predictions
from support.schemas import documents, page
from support.terminal import Shown, mmconvert, mmscore

FILES = {name: json.loads(text) for name, text in documents().items()}
REGISTRY = Registry().with_resources((one["$id"], Resource.from_contents(one)) for one in FILES.values())
"""Knows the files of the folder and nothing else, so that a reference which needs the network fails."""


def validate(name: str, value: Any) -> None:
    Draft202012Validator(FILES[name], registry=REGISTRY).validate(value)


def list_rows(file: Path) -> list[dict[str, Any]]:
    """Read a parquet file as JSON has it, bytes as base64."""
    text = json.dumps(pq.read_table(file).to_pylist(), default=lambda data: base64.b64encode(data).decode())
    return json.loads(text)


def parse(shown: Shown) -> Any:
    assert shown.code in (0, 3), shown.err
    return json.loads(shown.out)


@pytest.mark.parametrize("name", documents())
def test_the_file_is_what_the_code_writes(name: str, repository: Path) -> None:
    assert (repository / "schemas" / name).read_text(encoding="utf-8") == documents()[name], "run scripts/schemas"


def test_the_page_is_what_the_code_writes(repository: Path) -> None:
    assert (repository / "docs/schema.md").read_text(encoding="utf-8") == page(), "run scripts/schemas"


@pytest.mark.parametrize("schema", [SCHEMA, PREDICTION_SCHEMA], ids=["record", "prediction"])
def test_the_metadata_is_what_datasets_writes(schema) -> None:
    features = datasets.Features.from_arrow_schema(schema)
    assert features.arrow_schema.equals(schema)
    assert features.arrow_schema.metadata == schema.metadata
    assert isinstance(features["images"].feature, datasets.Image)
    assert describe_hf_feature(schema.field("images").type) == {"feature": {"_type": "Image"}, "_type": "List"}


@pytest.mark.parametrize("name", FILES)
def test_the_file_is_a_schema_whose_references_need_no_network(name: str) -> None:
    Draft202012Validator.check_schema(FILES[name])
    resolver = REGISTRY.resolver(FILES[name]["$id"])
    for reference in find_references(FILES[name]):
        resolver.lookup(reference)


def find_references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [found for part in value.values() for found in find_references(part)]
    return [found for part in value for found in find_references(part)] if isinstance(value, list) else []


@pytest.fixture(scope="module")
def predicted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Predictions of two models that differ."""
    folder = tmp_path_factory.mktemp("predicted")
    a = choices(*[("A", "A")] * 4, *[("B", "A")] * 8, model="one")
    b = choices(("B", "A"), *[("A", "A")] * 11, model="two")
    for rows in (a, b):
        for number, row in enumerate(rows):
            row["category"] = "odd" if number % 2 else "even"
    return write_predictions(folder / "a.parquet", a), write_predictions(folder / "b.parquet", b)


def test_what_comparing_commands_print_fits(predicted: tuple[Path, Path], tmp_path: Path) -> None:
    files, by = predicted, ("--by", "category")
    recipe = ("--recipe", "vlmevalkit_mcq")
    validate("report.json", parse(mmscore("score", *files, *recipe, *by, "--json")))
    validate("report.json", parse(mmscore("score", files[0], "--recipe", "own_choice", "--json")))
    validate("compare.json", parse(mmscore("compare", *files, *recipe, *by, "--json")))
    validate("rank.json", parse(mmscore("rank", f"Pets37={files[0]}", f"Pets37={files[1]}", "--json")))
    explained = mmscore("explain", files[0], *recipe, "--recipe", "own_choice", "--json")
    validate("explain.json", parse(explained))
    assert mmscore("bundle", files[0], *recipe, "-o", tmp_path / "bundle").code in (0, 3)
    validate("bundle.json", json.loads((tmp_path / "bundle/bundle.json").read_text("utf-8")))


def test_rows_of_files_fit(predicted: tuple[Path, Path], tmp_path: Path) -> None:
    assert mmconvert("demo", "--files-only", tmp_path / "demo").code == 0
    for name in ("lmudata/Colours.tsv", "mmmu"):
        source = tmp_path / "demo/files" / name
        assert mmconvert("convert", source, "-o", tmp_path / "data", "--overwrite").code == 0
        answers = tmp_path / "answers.parquet"
        predict = mmscore(
            "predict", tmp_path / "data", "-o", answers, "--backend", "echo", "--model", "answer", "--restart"
        )
        assert predict.code == 0, predict.err
        for shard in (tmp_path / "data/data").glob("*.parquet"):
            for row in list_rows(shard):
                validate("record.json", row)
        for row in list_rows(answers):
            validate("prediction.json", row)
    scored = mmscore("score", answers, "--rows", tmp_path / "rows.parquet")
    assert scored.code in (0, 3), scored.err
    for row in list_rows(tmp_path / "rows.parquet"):
        validate("rows.json", row)


def test_a_row_of_another_shape_does_not_fit(tmp_path: Path) -> None:
    for row in ({"id": 1}, {"images": [{"bytes": None, "path": None, "more": 1}]}, {"options": "A"}):
        with pytest.raises(ValidationError):
            validate("record.json", row)
