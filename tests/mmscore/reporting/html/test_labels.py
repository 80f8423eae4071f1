from mmscore.core.report import Counts, Entry
from mmscore.reporting.html.page import labels


def entry(model="m", recipe="r", dataset="d", file="f"):
    counts = Counts(1, 1, 0, 0, 0, 0, 0, 0)
    return Entry(recipe, "1", "own", "", {}, {}, counts, False, model, dataset, "", predictions=file)


def test_a_label_says_what_differs_and_no_more():
    assert labels([entry()]) == ["m"]
    assert labels([entry("a"), entry("b")]) == ["a", "b"]
    assert labels([entry(recipe="x"), entry(recipe="y")]) == ["x@1", "y@1"]
    assert labels([entry("a", "x"), entry("b", "y")]) == ["a · x@1", "b · y@1"]


def test_results_that_say_the_same_are_told_apart_by_their_file_or_number():
    assert labels([entry(file="1.parquet"), entry(file="2.parquet")]) == ["m · 1.parquet", "m · 2.parquet"]
    assert labels([entry(), entry()]) == ["m · f (1)", "m · f (2)"]
