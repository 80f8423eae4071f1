from collections import Counter

import pytest

from mmconvert.core.errors import UsageError
from mmscore.kits.reform_eval.benchmarks import BENCHMARKS, DIMENSIONS, FORMULATIONS, detect_benchmark, find_benchmark
from mmscore.kits.reform_eval.evaluation import FORMULATIONS as KNOWN
from mmscore.kits.reform_eval.ranking import SIZES, find_dimension


def test_there_are_61_datasets_in_eight_dimensions():
    assert len(BENCHMARKS) == 61
    assert [SIZES[name] for name in DIMENSIONS] == [9, 10, 15, 12, 3, 6, 4, 2]
    assert Counter(b.formulation for b in BENCHMARKS) == {
        "SingleChoice": 42,
        "OCROpenEnded": 14,
        "KIEOpenEnded": 1,
        "Generation": 4,
    }
    assert set(FORMULATIONS) == set(KNOWN)


def test_every_name_and_every_config_finds_its_own_dataset():
    for benchmark in BENCHMARKS:
        assert find_benchmark(benchmark.name) is benchmark
        assert find_benchmark(benchmark.config.upper()) is benchmark


@pytest.mark.parametrize(
    ("dataset", "tasks", "name"),
    [
        ("MSCOCO", {"caption"}, "MSCOCO"),
        ("FUNSD", {"kie"}, "FUNSD"),
        ("POIE", {"kie"}, "POIE"),
        ("CaptionSelection", {"multiple_choice"}, "Winoground"),
        ("MCV", {"multiple_choice"}, "MOCHEG"),
        ("VQA_gqa_val_v2.0", {"multiple_choice"}, "GQA"),
    ],
)
def test_a_file_says_which_dataset_it_is_for(dataset, tasks, name):
    assert detect_benchmark(dataset, tasks).name == name


@pytest.mark.parametrize(
    ("dataset", "task", "count"),
    [("MSCOCO", "multiple_choice", 6), ("OCR", "ocr", 3), ("VizWiz", "multiple_choice", 2)],
)
def test_a_name_that_several_datasets_share_is_refused_with_their_names(dataset, task, count):
    with pytest.raises(UsageError, match="is several datasets") as caught:
        detect_benchmark(dataset, {task})
    names = str(caught.value).partition("(")[2].partition(")")[0].split(", ")
    assert len(names) == count
    assert {find_benchmark(name).dataset_name for name in names} == {dataset}


def test_what_the_user_says_wins_over_the_file():
    assert find_dimension("VizWiz", "VizWiz", frozenset()).column == "Visually Grounded Reasoning"
    with pytest.raises(UsageError, match="Did you mean VizWiz"):
        find_dimension("VisWiz", None, frozenset())
