"""schemas/*.json say what the code says."""

from pathlib import Path

import datasets
import pytest

from mmconvert.core.record import PREDICTION_SCHEMA, SCHEMA, describe_hf_feature
from support.schemas import documents, page


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
