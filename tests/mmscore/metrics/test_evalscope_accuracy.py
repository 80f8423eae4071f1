import pytest

from mmscore.metrics.evalscope_accuracy import evalscope_accuracy, join_target


@pytest.mark.parametrize(
    ("extracted", "target", "old", "new"),
    [
        ("A", " a ", 1.0, 1.0),
        ("AB", ["A", "B"], 1.0, None),
        ("AB", "AB", 1.0, 1.0),
        ("A", "", 0.0, None),
        ("", "A", 0.0, 0.0),
        ("A", ["A"], 1.0, 1.0),
    ],
)
def test_the_two_generations(extracted, target, old, new):
    assert evalscope_accuracy(extracted, target, "1.10.0") == old
    assert evalscope_accuracy(extracted, target, "1.14.1") == new


def test_references_are_joined_as_the_release_does():
    assert join_target(["A ", "B", "A"], "1.3.0") == "A BA"
    assert join_target(["A ", "B", "A"], "1.14.1") == "A\nB"
