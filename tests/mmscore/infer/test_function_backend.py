"""A function in a file of the user's answers rows, and what it gives is checked."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mmconvert.console.app import run
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import Part, Turn
from mmconvert.dataset.dataset import DatasetWriter
from mmscore.cli import program
from mmscore.infer.backend import Generation, ModelOptions
from mmscore.infer.open import open_backend
from mmscore.infer.options import PredictOptions
from mmscore.infer.session import predict_here
from mmscore.llm.response_cache import Answer
from support.questions import make_image, record

MINE = """
from mmscore.llm.response_cache import Answer

def longest_option(records):
    return [max(filter(None, r.options), key=len) if r.options else None for r in records]

def as_answers(records):
    return (Answer(r.id, finish_reason="stop") for r in records)

def thinks(records):
    return ["<think>Not (D), so no.</think> A" for _ in records]

def too_few(records):
    return ["A"]

def a_text(records):
    return "A"

def numbers(records):
    return [1 for _ in records]

class Opened:
    name = identity = "opened"
    batch_size = 2

    def __init__(self, options):
        self.word = options.model

    def answer(self, records):
        return [Answer(self.word) for _ in records]
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path / "mine.py"


@pytest.mark.parametrize(
    ("name", "predictions", "code"),
    [
        ("longest_option", ["blue", None, "blue"], 3),
        ("as_answers", ["0", "1", "2"], 0),
        ("Opened", ["mine", "mine", "mine"], 0),
    ],
)
def test_a_function_or_a_class_predicts(mine, tmp_path, capsys, name, predictions, code):
    records = [record(i, make_image("red"), f"{i}?", options=() if i == 1 else ("red", "blue")) for i in range(3)]
    with DatasetWriter(tmp_path / "d") as writer:
        writer.write(records)
    words = ["predict", tmp_path / "d", "-o", tmp_path / "p.parquet", "--backend", f"{mine}@{name}", "--model", "mine"]
    with pytest.raises(SystemExit) as ended:
        run(program, [*map(str, words), "--json"], program="mmscore")
    assert ended.value.code == code
    assert json.loads(capsys.readouterr().out)["asked"] == 3
    table = pq.read_table(tmp_path / "p.parquet")
    assert table["prediction"].to_pylist() == predictions
    if None in predictions:
        assert table["prediction_error"][1].as_py() == f"{mine}@longest_option gave no answer"


def test_the_example_of_the_page_works(tmp_path):
    page = (Path(__file__).resolve().parents[3] / "docs/predict.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "my.py").write_text(example)
    function, opened = (open_backend(f"{tmp_path / 'my.py'}@{name}", ModelOptions("m", batch_size=16))
                        for name in ("longest_option", "Careful"))  # fmt: skip
    records = [record(0, make_image("red"), "?", options=("red", "green")), record(1, "?")]
    assert [answer.text for answer in function.answer(records)] == ["green", None]
    assert [answer.error for answer in opened.answer(records)] == [None, "no picture"]
    assert (function.batch_size, opened.batch_size) == (16, 16)


def test_answers_and_texts_count_alike(mine):
    backend = open_backend(f"{mine}@as_answers", ModelOptions("m", batch_size=3))
    assert backend.answer([record(4, "?")]) == [Answer("4", finish_reason="stop")]
    assert (backend.name, backend.batch_size) == ("m", 3)


def test_the_reasoning_of_a_text_is_cut_off_and_kept(mine):
    (answer,) = open_backend(f"{mine}@thinks", ModelOptions("m")).answer([record(4, "?")])
    assert answer == Answer("A", thinking="Not (D), so no.")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("too_few", r"too_few: expected a list of 2 answers, one a record \(got 1\)"),
        ("a_text", r"a_text: expected a list of 2 answers, one a record \(got 'A'\)"),
        ("numbers", r"numbers: row '0': expected a text, an Answer or None \(got 1\)"),
    ],
)
def test_what_is_no_answer_ends_the_run(mine, name, message):
    with pytest.raises(Error, match=message):
        open_backend(f"{mine}@{name}", ModelOptions("m")).answer([record(0, "?"), record(1, "?")])


def test_options_that_a_function_never_sees_are_refused(mine):
    with pytest.raises(UsageError, match="has no --max-new-tokens"):
        open_backend(f"{mine}@as_answers", ModelOptions("m", generation=Generation(max_new_tokens=5)))


def test_a_function_that_was_changed_is_asked_again_and_the_same_one_is_not(tmp_path):
    with DatasetWriter(tmp_path / "d") as writer:
        writer.write([record(number, make_image("red"), f"{number}?") for number in range(2)])

    # An object is the same whatever it has learnt; a list would count by what is in it.
    class Seen:
        def __init__(self):
            self.texts = []

    seen = Seen()

    def build_function(text):
        def answer(records):
            seen.texts.append(text)
            return [text for _ in records]

        return answer

    options = PredictOptions(model="m", resume=True)
    for text in ("A", "A", "B"):
        predict_here(tmp_path / "d", tmp_path / "p.parquet", options, build_function(text), quiet=True)
        assert pq.read_table(tmp_path / "p.parquet")["prediction"].to_pylist() == [text, text]
    assert sorted({*seen.texts}) == ["A", "B"]
    assert seen.texts.count("A") == seen.texts.count("B")


@pytest.mark.parametrize(
    ("name", "better"),
    [("p.jsonl", "p.parquet"), ("p", "p.parquet"), ("model-2.5", "model-2.5.parquet"), ("p.v1.csv", "p.v1.parquet")],
)
def test_an_output_of_another_extension_is_refused_with_a_better_name(tmp_path, name, better):
    with DatasetWriter(tmp_path / "d") as writer:
        writer.write([record(0, "?")])
    with pytest.raises(UsageError, match=rf"such as \S*/{re.escape(better)}\."):
        predict_here(tmp_path / "d", tmp_path / name, PredictOptions(model="m"), len)


def test_rows_that_a_condition_leaves_out_are_not_asked_about(tmp_path, capsys):
    with DatasetWriter(tmp_path / "d") as writer:
        writer.write([record(number, f"{number}?", task="vqa" if number else "caption") for number in range(3)])
    options = PredictOptions(model="m", where="task = 'vqa'")
    predict_here(tmp_path / "d", tmp_path / "p.parquet", options, lambda records: ["A" for _ in records])
    assert pq.read_table(tmp_path / "p.parquet")["id"].to_pylist() == ["1", "2"]
    assert "2 of 3 rows match --where \"task = 'vqa'\"" in capsys.readouterr().err


def test_a_system_turn_of_the_user_takes_the_place_of_the_rows_own(tmp_path):
    own = (Turn("system", (Part("text", "Be long."),)), Turn("user", (Part("text", "Why?"),)))
    with DatasetWriter(tmp_path / "d") as writer:
        writer.write([record(0, messages=own), record(1, "Who?")])
    seen = []

    def answer(records):
        seen.extend(records)
        return ["A" for _ in records]

    predict_here(
        tmp_path / "d", tmp_path / "p.parquet", PredictOptions(model="m", system="Be brief."), answer, quiet=True
    )
    brief = Turn("system", (Part("text", "Be brief."),))
    assert [one.messages for one in sorted(seen, key=lambda one: one.id)] == [
        (brief, own[1]),
        (brief, Turn("user", (Part("text", "Who?"),))),
    ]
