"""MMBench's loader, prompt and workbook."""

import base64
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mmconvert.core.errors import Error, UsageError
from mmconvert.pipeline.convert import read
from mmscore.compat.mmbench import MMBenchDataset, decode_base64_to_image, inference_prompt, save_results
from support.records import image_bytes

IMAGE = base64.b64encode(image_bytes("PNG")).decode()
COLUMNS = ("index", "question", "hint", "A", "B", "C", "D", "answer", "category", "l2-category", "image")


def table(folder: Path, *rows: dict[str, Any]) -> Path:
    whole = {"hint": None, "C": None, "D": None, "answer": "A", "category": "leaf", "l2-category": "branch"}
    frame = pd.DataFrame([{**whole, "image": IMAGE, **row} for row in rows])
    file = folder / "MMBench_DEV_EN.tsv"
    frame.to_csv(file, sep="\t", index=False, columns=[name for name in COLUMNS if name in frame])
    return file


def row(index: int, **cells: Any) -> dict[str, Any]:
    return {"index": index, "question": f"Question {index}?", "A": "cat", "B": "dog", **cells}


def test_a_sample_has_the_keys_and_values_of_the_document(tmp_path: Path) -> None:
    dataset = MMBenchDataset(table(tmp_path, row(3, D="None", C=7, hint="Look."), row(4, C=None)))
    first, second = dataset
    assert len(dataset) == 2
    image = first.pop("img")
    assert (image.format, image.size) == ("PNG", decode_base64_to_image(IMAGE).size)
    assert first == {
        "question": "Question 3?",
        "answer": "A",
        "options": "There are several options:\nA. cat\nB. dog\nC. 7.0\n",
        "category": "leaf",
        "l2-category": "branch",
        "options_dict": {"A": "cat", "B": "dog", "C": 7.0},
        "index": 3,
        "context": "Look.",
    }
    assert second["context"] is None
    assert inference_prompt(first) == "Look. Question 3? " + first["options"]
    assert inference_prompt(second) == "Question 4? " + second["options"]


def test_the_line_before_the_options_is_a_choice(tmp_path: Path) -> None:
    dataset = MMBenchDataset(table(tmp_path, row(1)), sys_prompt="Choose:")
    assert dataset[0]["options"] == "Choose:\nA. cat\nB. dog\n"
    assert dataset.load_from_df(0, "A") == "cat"
    assert dataset.load_from_df(0, "E") is None


def test_an_answer_is_nan_where_the_cell_is_empty_and_none_without_a_column(tmp_path: Path) -> None:
    file = table(tmp_path, row(1, answer=None))
    assert math.isnan(MMBenchDataset(file)[0]["answer"])
    file.write_text(file.read_text().replace("answer", "comment"))
    assert MMBenchDataset(file)[0]["answer"] is None


def test_an_image_cell_may_name_another_row(tmp_path: Path) -> None:
    file = table(tmp_path, row(1), row(1_000_001, image="1"))
    one, other = MMBenchDataset(file)
    assert one["img"].tobytes() == other["img"].tobytes()
    circle = MMBenchDataset(table(tmp_path, row(1, image="2"), row(2, image="1"), row(3)))
    with pytest.raises(Error, match="name each other's image"):
        circle[0]


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        MMBenchDataset(tmp_path / "missing.tsv")
    file = table(tmp_path, row(1, image="no picture"))
    with pytest.raises(Error, match=r"DEV_EN\.tsv row 0 image: this is not base64"):
        MMBenchDataset(file)[0]
    file.write_text(file.read_text().replace("l2-category", "L2-category"))
    with pytest.raises(Error, match=r"row 0 l2-category: .*Did you mean L2-category"):
        MMBenchDataset(file)[0]
    with pytest.raises(IndexError):
        MMBenchDataset(file)[1]
    (tmp_path / "empty.tsv").touch()
    with pytest.raises(UsageError, match="is not a table of text"):
        MMBenchDataset(tmp_path / "empty.tsv")
    with pytest.raises(UsageError, match="its folder does not exist"):
        save_results(table(tmp_path, row(1)), ["A"], tmp_path / "none" / "results.xlsx")


def test_a_data_loader_takes_it(tmp_path: Path) -> None:
    data = pytest.importorskip("torch.utils.data")
    batches = data.DataLoader(MMBenchDataset(table(tmp_path, row(1), row(2), row(3))), batch_size=2, collate_fn=list)
    assert [[sample["index"] for sample in batch] for batch in batches] == [[1, 2], [3]]


@pytest.mark.parametrize("predictions", [["B", "=A"], {1: "B", "2": "=A"}], ids=["in order", "by index"])
def test_replies_become_the_documents_workbook(tmp_path: Path, predictions: Any) -> None:
    dataset = MMBenchDataset(table(tmp_path, row(1, C="None"), row(2)))
    losses = save_results(dataset, predictions, tmp_path / "results.xlsx")
    assert {loss.field for loss in losses} == {"answer", "dataset", "images"}
    frame = pd.read_excel(tmp_path / "results.xlsx", keep_default_na=False)
    assert [*frame] == ["question", "A", "B", "C", "D", "prediction", "category", "l2_category", "index"]
    assert frame["prediction"].tolist() == ["B", "=A"]
    assert frame["C"].tolist() == ["None", ""]
    assert [record.prediction for record in read(tmp_path / "results.xlsx")] == ["B", "=A"]


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        (["B"], "expected 2, one a question"),
        ({1: "B"}, "question 2 has no response"),
        ({1: "B", 2: None}, "question 2 has no response"),
        ({1: "B", 2: "A", 3: "C"}, "no question has the index '3'"),
    ],
)
def test_replies_and_questions_must_fit(tmp_path: Path, predictions: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        save_results(table(tmp_path, row(1), row(2)), predictions, tmp_path / "results.xlsx")
    assert not (tmp_path / "results.xlsx").exists()
