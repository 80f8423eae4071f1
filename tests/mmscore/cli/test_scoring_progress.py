"""How far scoring, judging and predicting are: on stderr, in rows or verdicts, standard output left alone."""

import json
import re

import pytest

from mmconvert.core import progress
from support.chat_server import chat_server, said
from support.datasets_on_disk import record, write_dataset
from support.predictions import choices, write_predictions
from support.terminal import mmscore, on_a_terminal

SLOW = "import time\n\n\ndef slow(records):\n    time.sleep(0.05)\n    return ['A'] * len(records)\n"


@pytest.fixture(autouse=True)
def _every_step_is_told(monkeypatch):
    monkeypatch.setattr(progress, "_FIRST_LINE", 0.0)
    monkeypatch.setattr(progress, "_LAST_GAP", 0.0)


def test_scoring_counts_the_rows_of_each_file(tmp_path):
    files = [write_predictions(tmp_path / name, choices(("A", "A"), ("A", "B"))) for name in ("a.parquet", "b.parquet")]
    ended = mmscore(*files, "--recipe", "own_choice", "--json")
    counts = re.findall(r"^score: \d+%, (\d) of 2 rows", ended.err, re.MULTILINE)
    assert counts == ["0", "2", "0", "2"]
    assert len(json.loads(ended.out)["entries"]) == 2
    assert mmscore(*files, "--recipe", "own_choice", "--json", "--quiet").err == ""


def test_judging_counts_the_verdicts_of_every_judge(tmp_path):
    rows = [{"id": text, "question": "What?", "prediction": text, "answer": "cat"} for text in ("a cat", "a kitten")]
    file = write_predictions(tmp_path / "p.parquet", rows, task="vqa")
    with chat_server(lambda request: said('{"reason": "r", "verdict": "correct"}')) as server:
        asked = ["--judge", "own", "--judge-model", "m", "--judge-base-url", server.url, "--judge-repeats", 2]
        ended = mmscore("judge", file, "--recipe", "own_short_answer", *asked)
    counts = re.findall(r"^judge: \d+%, (\d) of 4 verdicts", ended.err, re.MULTILINE)
    assert (counts[0], counts[-1], sorted(counts)) == ("0", "4", counts)
    assert "verdicts" not in ended.out


def test_predicting_shows_a_bar_on_a_terminal(tmp_path):
    dataset = write_dataset(tmp_path / "d", {"test": map(record, range(20))})
    (tmp_path / "slow.py").write_text(SLOW)
    output = tmp_path / "p.parquet"
    backend = ["--model", "m", "--backend", f"{tmp_path}/slow.py@slow", "--batch-size", 1]
    ended = on_a_terminal("mmscore", "predict", dataset, "-o", output, *backend)
    assert ended.code == 0
    assert " of 20 rows, " in ended.err
    assert " rows/s, " in ended.err
    first, replies, following = ended.out.splitlines()
    assert first.startswith(f"{output}: 20 samples, 20 requests sent")
    assert (replies, following) == (
        f"  cache:  {output}.answers.sqlite",
        f"  next:   mmscore {output}",
    )
