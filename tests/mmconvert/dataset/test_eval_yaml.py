"""`eval.yaml` names each split as a task, or says which sample its form cannot describe."""

from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmconvert.core.record import Part, Record, Turn
from mmconvert.dataset.eval_yaml import build_eval_yaml
from support.datasets_on_disk import record, write_dataset

CHOICE = {"options": ("red", "blue"), "answer": "B"}


def question(number: int, **fields: object) -> Record:
    turn = Turn("user", (Part("text", "Which?"),))
    return replace(record(number), images=(), messages=(turn,), question="Which?", **fields)


def test_each_split_is_a_task(tmp_path: Path) -> None:
    choice = [question(n, **CHOICE) for n in range(3)]
    short = [question(n, answer="blue", options=()) for n in range(3, 5)]
    folder = write_dataset(tmp_path / "set", {"test": choice, "validation": short})
    page = yaml.safe_load(build_eval_yaml(folder, "colours"))
    assert (page["name"], page["evaluation_framework"]) == ("colours", "inspect-ai")
    assert page["tasks"] == [
        {
            "id": "default_test",
            "config": "default",
            "split": "test",
            "field_spec": {"id": "id", "input": "question", "target": "answer", "choices": "options"},
            "solvers": [{"name": "multiple_choice"}],
            "scorers": [{"name": "choice"}],
        },
        {
            "id": "default_validation",
            "config": "default",
            "split": "validation",
            "field_spec": {"id": "id", "input": "question", "target": "answer"},
            "solvers": [{"name": "generate"}],
            "scorers": [{"name": "includes"}],
        },
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([question(0, **CHOICE), record(1)], "sample '1' has "),
        ([question(0, **CHOICE), question(1, options=("a", "b"), answer=None)], "sample '1' has no answer"),
        ([question(0, **CHOICE), question(1, options=(), answer="x")], "some samples have options"),
    ],
)
def test_what_the_form_cannot_say_is_named(rows: list[Record], message: str, tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "set", {"test": rows})
    with pytest.raises(Error, match=message):
        build_eval_yaml(folder, "x")
