import time

import pytest

from mmscore.kits.evalscope.response import split_reasoning
from mmscore.parsers.evalscope_choice import evalscope_choice


@pytest.mark.parametrize(
    ("reply", "old", "new"),
    [
        ("ANSWER: B", "B", "B"),
        ("ANSWER: B\nANSWER: A", "B", "A"),
        ("**ANSWER: B**", "B", "B"),
        ("ANSWER: B, not C", None, "B"),
        ("ANSWER: AB", None, None),
        ("ANSWER: E", None, None),
        ("ANSWER: $\\boxed{B}$", None, "B"),
        ("The Cat Sat", "S", None),
        ("选A", "A", "A"),
        ("ANSWER: a", None, None),
        ("", None, None),
    ],
)
def test_the_two_generations(reply, old, new):
    assert evalscope_choice(reply, 4, "1.10.0").value == old
    assert evalscope_choice(reply, 4, "1.14.1").value == new


@pytest.mark.parametrize(
    ("reply", "old", "new"),
    [("答案：A，C", "AC", "AC"), ("答案：A、C", "A", "AC"), ("答案：**B**", "B", "B"), ("答案 ： c", None, None)],
)
def test_chinese_markers_and_several_labels(reply, old, new):
    assert evalscope_choice(reply, 4, "1.10.0", chinese=True, multiple=True).value == old
    assert evalscope_choice(reply, 4, "1.14.1", chinese=True, multiple=True).value == new


def test_labels_after_z_are_numbers():
    assert evalscope_choice("ANSWER: 2", 28, "1.10.0").value == "2"
    assert evalscope_choice("ANSWER: 2", 28).value == "2"
    assert evalscope_choice("answer: 2", 27).value is None


@pytest.mark.parametrize("version", ["1.10.0", "1.14.1"])
@pytest.mark.parametrize("filler", [" ", "A ", "\n ", "ANSWER: ", "$", "<think>"])
def test_long_runs_do_not_hang_the_search(version, filler):
    started = time.process_time()
    evalscope_choice("ANSWER:" + filler * 5_000 + "é", 4, version)
    split_reasoning("<think>" + filler * 5_000)
    assert time.process_time() - started < 2


def test_only_a_closed_block_is_cut():
    assert split_reasoning('a <think signature="s">x</think> b <think>y</think>')[0] == "a  b <think>y</think>"
    assert split_reasoning(" <think>x") == (" <think>x", None)
