"""Numbers of captions say in which unit they are."""

from mmscore.scoring.evaluate import score
from support.predictions import write_predictions


def test_cider_may_exceed_one_and_is_in_points(tmp_path):
    rows = [{"id": str(n), "prediction": text, "answers": [text]} for n, text in enumerate(("a cat", "two dogs"))]
    (entry,) = score(write_predictions(tmp_path / "p.parquet", rows), "vlmevalkit_caption").entries
    units = {name: estimate.unit for name, estimate in entry.metrics.items()}
    assert units.pop("cider") == "points"
    assert {*units.values()} == {"percent"}
