"""Options of a run as a file of runs gives them."""

import msgspec

from mmscore.infer.options import PredictOptions


def test_every_default_is_a_value_that_a_file_may_give() -> None:
    defaults = PredictOptions(model="m")
    assert msgspec.convert(msgspec.json.decode(msgspec.json.encode(defaults)), PredictOptions) == defaults
