"""From ReForm-Eval's dataset file by likelihood to its numbers: our recipe, and the kit's own list of integers."""

import json
from base64 import b64encode
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from mmconvert.cli import program as mmconvert
from mmscore.cli import program as mmscore
from mmscore.kits.reform_eval.evaluation import evaluate
from mmscore.scoring.evaluate import score
from support.questions import COLOURS, make_image

QUESTION = "What colour is the image? Answer with a single word."
CONVERTED = (
    *("--format", "reform_eval", "--dataset", "Colours", "--transform", "duplicate:times=2"),
    *("--transform", "shuffle_options", "--prompt", "reform_eval:infer_method=likelihood"),
)


def call(program, *arguments: object) -> None:
    CliRunner().invoke(program, [str(part) for part in arguments], standalone_mode=False, catch_exceptions=False)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five questions, two copies each, the options of each copy in an order of its own; one reference is wrong."""
    folder = tmp_path_factory.mktemp("reform")
    items = [
        {
            "question_id": number,
            "image_id": b64encode(make_image(shown)).decode(),
            "question": QUESTION,
            "answer": answer,
            "answer_options": list(COLOURS),
        }
        for number, (shown, answer) in enumerate([*zip(COLOURS, COLOURS, strict=True), ("red", "blue")])
    ]
    (folder / "data.json").write_text(json.dumps({"version": "1", "data": items}))
    call(mmconvert, "convert", folder / "data.json", "-o", folder / "dataset", *CONVERTED)
    return folder / "dataset"


@pytest.mark.parametrize("reduction", ["sum", "mean", "token"])
@pytest.mark.slow
def test_a_likelihood_run_has_the_kits_numbers(trained_llava, dataset, tmp_path, reduction):
    predictions, listed = tmp_path / "p.parquet", tmp_path / "list.json"
    asked = ("--method", "likelihood", "--likelihood-reduction", reduction, "--quiet")
    call(mmscore, "predict", dataset, "-o", predictions, "--model", trained_llava, *asked)
    rows = pq.read_table(predictions).to_pylist()
    assert {row["method"] for row in rows} == {"likelihood"}
    for row in rows:
        scores = row["option_logprobs"]
        if reduction == "mean":
            scores = [total / count for total, count in zip(scores, row["option_tokens"], strict=True)]
        assert row["prediction"] == "ABCD"[scores.index(max(scores))]
        assert row["option_tokens"] == [len(option) for option in row["options"]]
    (entry,) = score(predictions).entries
    assert entry.recipe == "reform_singlechoice"
    assert entry.metrics["accuracy"].value == 0.8
    call(mmconvert, "export", predictions, "-o", listed, "--to", "reform_predictions", "--quiet")
    records = json.loads(listed.read_text())
    assert [record["prediction"] for record in records] == ["ABCD".index(row["prediction"]) for row in rows]
    numbers = evaluate(records, "SingleChoice", eval_stability=True, infer_method="likelihood").numbers
    assert {name: estimate.value for name, estimate in entry.metrics.items()} == pytest.approx(numbers)
    (again,) = score(listed).entries
    assert again.metrics["accuracy"].value == 0.8
