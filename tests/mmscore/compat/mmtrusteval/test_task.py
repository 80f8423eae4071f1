"""MMTrustEval's `--cfg-options`: their values, and what they change in a task."""

from typing import Any

import pytest

from mmconvert.core.errors import UsageError
from mmscore.compat.mmtrusteval.task import merged, option_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-1.5", -1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("None", None),
        ("a b", "a b"),
        ("", ""),
        ("'7'", 7),
        ("a,b", ["a", "b"]),
        ("a,", ["a"]),
        ("[]", []),
        ("[1]", [1]),
        ("(1,)", (1,)),
        ("[(a,b),(c,1)]", [("a", "b"), ("c", 1)]),
        ("(a,b),(c,d)", [("a", "b"), ("c", "d")]),
        ("[1,2],3", [[1, 2], 3]),
    ],
)
def test_values_of_cfg_options(text: str, value: Any) -> None:
    assert option_value(text) == value


@pytest.mark.parametrize("option", ["x", "=1", "a=[1", "a=1]", "model_id.x=1", "evaluator_seq_cfgs.0=1"])
def test_cfg_options_that_cannot_be_read(option: str) -> None:
    with pytest.raises(UsageError, match="--cfg-options"):
        merged({"model_id": "m", "evaluator_seq_cfgs": []}, [option])


def test_a_dotted_key_keeps_its_siblings_and_makes_what_is_missing() -> None:
    values = {"dataset_cfg": {"force": False, "x": 1}, "method_cfg": None}
    assert merged(values, ["dataset_cfg.data_type_id=p", "method_cfg.shout.img_dir=d"]) == {
        "dataset_cfg": {"force": False, "x": 1, "data_type_id": "p"},
        "method_cfg": {"shout": {"img_dir": "d"}},
    }
    assert values == {"dataset_cfg": {"force": False, "x": 1}, "method_cfg": None}
