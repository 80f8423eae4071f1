"""A predictions file of ours says to the scorer what the run knew."""

import pytest
from click.testing import CliRunner

from mmscore.cli import program
from mmscore.scoring.evaluate import score


@pytest.fixture
def predicted(repository, tmp_path):
    from mmconvert.pipeline.convert import ReadOptions, WriteOptions, convert
    from mmconvert.pipeline.inputs import Input

    source = repository / "src/mmconvert/testing/demo/files/lmudata/Colours.tsv"
    convert([Input(source)], tmp_path / "dataset", ReadOptions(), WriteOptions())

    def run(*options):
        output = tmp_path / "p.parquet"
        arguments = ["predict", tmp_path / "dataset", "-o", output, "--backend", "echo", "--model", "answer", "--quiet"]
        CliRunner().invoke(program, [*map(str, arguments), *options], standalone_mode=False, catch_exceptions=False)
        (entry,) = score(output).entries
        return entry

    return run


def test_a_whole_run_is_scored_by_the_recipe_of_its_source(predicted):
    entry = predicted()
    assert (entry.recipe, entry.model, entry.partial) == ("vlmevalkit_mcq", "answer", False)
    assert entry.metrics["accuracy"].value == 1.0
    assert entry.counts.scored == entry.counts.total == 4


def test_a_limited_run_is_marked_partial(predicted):
    entry = predicted("--limit", "2")
    assert entry.partial
    assert entry.counts.total == 2


def test_several_replies_are_no_circular_copies(predicted):
    entry = predicted("--n", "3")
    assert (entry.recipe, entry.partial) == ("vlmevalkit_mcq", False)
    assert entry.counts.scored == entry.counts.total == 12


def test_several_replies_are_scored_with_the_question_as_cluster(predicted, tmp_path):
    predicted("--n", "3")
    (entry,) = score(tmp_path / "p.parquet", "own_choice").entries
    numbers = {name: (entry.metrics[name].value, entry.metrics[name].n) for name in ("mean_accuracy", "pass@3")}
    assert numbers == {"mean_accuracy": (1.0, 4), "pass@3": (1.0, 4)}
