"""Benchmarks are found by the names that their frameworks give them."""

import subprocess
import sys

import pytest

from mmconvert.benchmarks.catalogue import (
    FRAMEWORKS,
    BuiltByCode,
    HubFiles,
    JoinedTables,
    LocalTable,
    ModelScopeFiles,
    Source,
    TaskGroup,
    Url,
    UrlParts,
    describe_source,
    find_benchmark,
    is_benchmark,
    list_benchmarks,
    load_framework,
)
from mmconvert.core.errors import UsageError


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("MMBench_DEV_EN", "vlmevalkit:MMBench_DEV_EN"),
        ("POPE", "vlmevalkit:POPE"),
        ("vlmevalkit:POPE", "vlmevalkit:POPE"),
        ("lmms_eval:pope", "lmms_eval:pope"),
        ("lmms:chartqa", "lmms_eval:chartqa"),
        ("evalscope:mm_star", "evalscope:mm_star"),
        ("mm_star", "evalscope:mm_star"),
        ("pope_adv", "lmms_eval:pope_adv"),
        ("reform_eval:VQA v2", "reform_eval:VQA v2"),
        ("mmtrusteval:adv-clean", "mmtrusteval:adv-clean"),
        ("GMAI_mm_bench_VAL", "vlmevalkit:GMAI-MMBench_VAL"),
    ],
)
def test_a_name_means_one_benchmark(name: str, key: str) -> None:
    assert find_benchmark(name).key == key
    assert is_benchmark(name)


def test_a_name_of_several_frameworks_needs_a_prefix() -> None:
    with pytest.raises(UsageError, match="several frameworks") as caught:
        find_benchmark("chartqa")
    assert "lmms_eval:chartqa, evalscope:chartqa" in str(caught.value)
    assert is_benchmark("chartqa")


def test_another_case_of_another_framework_is_named_too() -> None:
    with pytest.raises(UsageError) as caught:
        find_benchmark("pope")
    assert "vlmevalkit:POPE" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mmbench_dev_cn_v11", "Did you mean vlmevalkit:MMBench_DEV_CN_V11?"),
        ("MMBench_DEV_EM", "Did you mean MMBench_DEV_EN"),
        ("evalscope:MMStar", "no benchmark of EvalScope has this name"),
        ("lmms:mmstarr", "Did you mean mmstar"),
        ("nothing like it", "mmconvert list benchmarks"),
        ("s3:POPE", "no benchmark of a framework"),
    ],
)
def test_an_unknown_name_is_met_with_the_nearest(name: str, said: str) -> None:
    assert not is_benchmark(name)
    with pytest.raises(UsageError, match=r".") as caught:
        find_benchmark(name)
    assert said in str(caught.value)


def test_every_benchmark_is_found_by_its_shortest_name() -> None:
    for one in list_benchmarks():
        assert find_benchmark(one.shortest_name) is one


def test_words_are_looked_for_in_name_place_and_recipe() -> None:
    assert [one.key for one in list_benchmarks(["lmms_eval", "CHARTQA", "lmms_chartqa"])] == [
        "lmms_eval:chartqa",
        "lmms_eval:chartqa_lite",
    ]
    with pytest.raises(UsageError, match="Did you mean MMStar"):
        list_benchmarks(["MMStarr"])


def test_three_hundred_image_benchmarks_and_more_are_known() -> None:
    images = [one for one in list_benchmarks() if one.modality == "image"]
    assert len(images) > 1500
    counts = {framework: len(load_framework(framework)) for framework in FRAMEWORKS}
    assert counts == {"vlmevalkit": 496, "lmms_eval": 859, "evalscope": 58, "reform_eval": 61, "mmtrusteval": 133}
    assert find_benchmark("mmmu_val").published


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (Url("https://example.org/a.tsv"), "https://example.org/a.tsv"),
        (UrlParts(("https://example.org/a", "https://example.org/b")), "https://example.org/a and 1 more"),
        (HubFiles("a/b"), "hf://datasets/a/b"),
        (HubFiles("a/b", "c", "test", "v1", ("x", "y")), "hf://datasets/a/b@v1 (c, test, x, ...)"),
        (ModelScopeFiles("a/b"), "https://modelscope.cn/datasets/a/b"),
        (LocalTable(), "$LMUData"),
        (JoinedTables(("A", "B")), "2 tables: A, B"),
        (TaskGroup(("a", "b", "c", "d")), "4 tasks: a, b, c, ..."),
        (BuiltByCode(), "built by the framework's code"),
    ],
)
def test_a_place_is_described(source: Source, text: str) -> None:
    assert describe_source(source) == text


@pytest.mark.slow
def test_help_reads_nothing_of_it() -> None:
    code = (
        "import sys\nfrom mmconvert.benchmarks import catalogue\nfrom mmconvert.cli import main\n"
        "catalogue.load_framework = None\nsys.argv = ['mmconvert', 'convert', '--help']\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
