"""TRL trains on what `mmscore pairs` writes, and learns the responses that it names, without mapping code."""

from pathlib import Path

import datasets
import pytest

from mmconvert.api import export
from mmconvert.chat.collate import ChatCollator
from mmscore.api import pairs
from mmscore.infer.backend import Generation
from support.asking import Says, asked, written
from support.questions import make_image, record
from support.training_rows import decode_learnt
from support.trainings import build_model, train_dpo, train_sft

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:the chat template puts no special token")]
pytest.importorskip("trl", reason="TRL is not installed")

WORDS = [["green", "red", "Red."], ["blue", "sky", "blue"], ["5", "4", "four"], ["pink", "pink", "pink"]]
"""What is said to each question: of one image, of two images, of none, and never right."""


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A dataset, and the file of three responses to each of its questions."""
    folder = tmp_path_factory.mktemp("answered")
    red, blue = make_image("red", (32, 32)), make_image("blue", (40, 24))
    records = [
        record(0, red, "Which colour is it?", answer="red"),
        record(1, "Is", red, "or", blue, "the colour of the sky?", answer="blue"),
        record(2, "2 + 2?", answer="4"),
        record(3, blue, "Which colour is it?", answer="blue"),
    ]
    backend = Says(lambda row: WORDS[int(row.sample)][row.variant or 0])
    place = written(folder / "data", records)
    asked(place, folder / "answers.parquet", backend, generation=Generation(), n=3)
    return place, folder / "answers.parquet"


def keep(answered: tuple[Path, Path], folder: Path, **options: str) -> datasets.Dataset:
    place, answers = answered
    pairs(answers, folder / "kept", recipe="own_short_answer", answers=place, **options)
    return datasets.load_dataset(str(folder / "kept"), split="train")


def test_pairs_train_with_dpo(answered: tuple[Path, Path], tmp_path: Path) -> None:
    data = keep(answered, tmp_path)
    said = [(row["chosen"][0]["content"][0]["text"], row["rejected"][0]["content"][0]["text"]) for row in data]
    assert said == [("red", "green"), ("blue", "sky"), ("4", "5")]
    first, second = train_dpo(data, tmp_path / "run")
    # Two equal models see no difference between the sides: the loss begins at ln 2.
    assert first == pytest.approx(0.693, abs=0.01)
    # One step on all three pairs, and the chosen sides are likelier.
    assert second < first


def test_exported_pairs_train_with_dpo(answered: tuple[Path, Path], tmp_path: Path) -> None:
    keep(answered, tmp_path)
    export(tmp_path / "kept", tmp_path / "pairs.parquet", to="trl")
    data = datasets.load_dataset("parquet", data_files=str(tmp_path / "pairs.parquet"), split="train")
    assert train_dpo(data, tmp_path / "run")[0] == pytest.approx(0.693, abs=0.01)


def test_right_responses_are_what_sft_learns(answered: tuple[Path, Path], tmp_path: Path) -> None:
    data = keep(answered, tmp_path, keep="right")
    processor, _ = build_model()
    assert decode_learnt(processor, ChatCollator(processor)(list(data))) == ["red", "Red.", "blue", "4", "four"]
    losses = train_sft(data, tmp_path / "run", ChatCollator)
    assert len(losses) == 2
    # An untrained model takes each of the 261 tokens for equally likely: ln 261 is 5.56.
    assert losses == pytest.approx([5.56, 5.56], abs=0.2)
