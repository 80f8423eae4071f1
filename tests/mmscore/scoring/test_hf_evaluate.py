"""Our metrics through `evaluate`, which must give the value of the function itself and reach no network."""

import json
import os
import subprocess
import sys
from math import nan

import pytest

from mmconvert.core.errors import RowError, UsageError
from mmconvert.plugins.registry import find_plugins, load

pytestmark = pytest.mark.slow

evaluate = pytest.importorskip("evaluate")
from mmscore.scoring import hf_evaluate  # noqa: E402  (needs the package above)

SAID = ["a red cat", "two", "blue", ""]
MANY = [["a red cat", "the cat"], ["2", "two"], ["red", "green"], ["x", "y"]]
ONE = [references[0] for references in MANY]
OTHER_INPUTS = {"mmmu_accuracy", "reform_instability", "reform_round_trend", "vlmevalkit_vcr"}
"""They average shares, groups and rounds, or look a text up in words: no predictions and references."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr("evaluate.config.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr("evaluate.config.HF_METRICS_CACHE", tmp_path / "metrics")


def through_evaluate(name, predictions, references, **options):
    metric = evaluate.load(hf_evaluate.__file__, name, keep_in_memory=True)
    return metric.compute(predictions=predictions, references=references, **options)


def average(values):
    return sum(map(float, values)) / len(values)


@pytest.mark.parametrize(
    ("name", "references"),
    [
        ("normalized_match", MANY),
        ("lmms_vqa", MANY),
        ("vlmevalkit_vqa", MANY),
        ("lmms_ocrbench", MANY),
        ("coco_rouge_l", MANY),
        ("reform_word_match", ONE),
    ],
)
def test_a_metric_of_one_row_is_averaged_over_the_rows(name, references):
    function = load("mmscore.metrics", name)
    wanted = average([function(*pair) for pair in zip(SAID, references, strict=True)])
    assert through_evaluate(name, SAID, references) == {name: pytest.approx(wanted, abs=1e-12)}


def test_a_metric_of_several_numbers_keeps_their_names():
    function = load("mmscore.metrics", "evalscope_bleu_rouge")
    rows = [function(*pair, "1.14.1") for pair in zip(SAID, ONE, strict=True)]
    found = through_evaluate("evalscope_bleu_rouge", SAID, ONE, version="1.14.1")
    assert found.keys() == {key for row in rows for key in row}
    assert found["Rouge-L-R"] == pytest.approx(average([row["Rouge-L-R"] for row in rows]))


def test_a_metric_of_all_rows_gets_all_rows():
    bleu, cider = load("mmscore.metrics", "coco_bleu"), load("mmscore.metrics", "coco_cider")
    found = through_evaluate("coco_bleu", SAID, MANY)
    assert list(found.values()) == bleu(SAID, MANY)
    assert list(found) == ["coco_bleu_1", "coco_bleu_2", "coco_bleu_3", "coco_bleu_4"]
    assert through_evaluate("coco_cider", SAID, MANY)["coco_cider"] == pytest.approx(average(cider(SAID, MANY)))


def test_labels_may_be_numbers_and_options_reach_the_function():
    assert through_evaluate("label_accuracy", [1, 0, 1], [1, 1, 1]) == {"label_accuracy": pytest.approx(2 / 3)}
    assert through_evaluate("label_accuracy", [1, 0, 1], [1, 1, 1], normalize=False) == {"label_accuracy": 2.0}
    rates = through_evaluate("precision_recall", ["a", "b"], ["a", "a"], average="macro", zero_division=0)
    assert rates == {"precision": 0.5, "recall": 0.25, "f1": pytest.approx(1 / 3)}


def test_an_option_may_give_each_row_its_own_value():
    categories = ["Handwritten Mathematical Expression Recognition", "Scene Text-centric VQA"]
    found = through_evaluate("vlmevalkit_ocrbench", ["a B", "A b"], [["aB"], ["a b"]], category=categories)
    assert found == {"vlmevalkit_ocrbench": 1.0}


def test_predictions_can_come_batch_after_batch():
    metric = evaluate.load(hf_evaluate.__file__, "normalized_match")
    for said, references in zip(SAID, MANY, strict=True):
        metric.add_batch(predictions=[said], references=[references])
    assert metric.compute() == {"normalized_match": 0.5}


def test_rows_that_a_metric_leaves_out_do_not_count():
    found = hf_evaluate.compute("evalscope_accuracy", ["A", ""], ["A", ""], version="1.14.1")
    single = [load("mmscore.metrics", "evalscope_accuracy")(*pair, "1.14.1") for pair in (("A", "A"), ("", ""))]
    kept = [value for value in single if value is not None]
    assert found["evalscope_accuracy"] == average(kept)


def test_over_no_rows_the_number_is_nan():
    assert hf_evaluate.compute("normalized_match", [], []) == {"normalized_match": pytest.approx(nan, nan_ok=True)}


@pytest.mark.parametrize("name", sorted(find_plugins("mmscore.metrics")))
def test_every_metric_is_adapted_or_says_why_not(name):
    if name not in OTHER_INPUTS:
        hf_evaluate.adapt_metric(name)
        return
    with pytest.raises(UsageError, match=f"Call mmscore.metrics.{name} itself"):
        hf_evaluate.adapt_metric(name)


def test_a_wrong_name_or_option_is_named():
    with pytest.raises(UsageError, match="Did you mean coco_cider"):
        through_evaluate("coco_cidr", SAID, MANY)
    with pytest.raises(UsageError, match="one of coco_bleu"):
        evaluate.load(hf_evaluate.__file__)
    with pytest.raises(UsageError, match=r"no option 'normalise'\. Did you mean normalize"):
        through_evaluate("label_accuracy", [1], [1], normalise=True)
    with pytest.raises(RowError):
        through_evaluate("precision_recall", ["a", "b"], [1, 2])


@pytest.mark.release
def test_it_loads_without_a_network(tmp_path):
    """In a process that may open no connection, and with a cache of its own."""
    code = (
        "import socket, json\n"
        "def refuse(*_, **__): raise OSError('no network here')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "import evaluate, mmscore.scoring.hf_evaluate as adapter\n"
        "metric = evaluate.load(adapter.__file__, 'normalized_match')\n"
        "print(json.dumps(metric.compute(predictions=['two'], references=[['2']])))\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "LMUData"))}
    environment |= {"HF_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"normalized_match": 1.0}


def test_nothing_else_imports_evaluate():
    code = "import sys, mmscore.cli.score, mmscore.scoring.evaluate; sys.exit('evaluate' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
