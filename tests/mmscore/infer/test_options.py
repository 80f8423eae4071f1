"""Options of a run as a file of runs gives them."""

import msgspec
import pytest

from mmscore.infer.options import PredictOptions


def test_every_default_is_a_value_that_a_file_may_give() -> None:
    defaults = PredictOptions(model="m")
    assert msgspec.convert(msgspec.json.decode(msgspec.json.encode(defaults)), PredictOptions) == defaults


@pytest.mark.parametrize("name", ["timeout", "max_cost"])
def test_seconds_and_costs_are_any_number_above_zero(name: str) -> None:
    assert getattr(msgspec.convert({"model": "m", name: 0.25}, PredictOptions), name) == 0.25
    for value in (0, -0.5):
        with pytest.raises(msgspec.ValidationError, match=rf"> 0.0.*{name}"):
            msgspec.convert({"model": "m", name: value}, PredictOptions)
