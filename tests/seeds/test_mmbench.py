"""MMBench's evaluation document, section by section: fields, loader, prompt, results."""

import base64
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from mmconvert.cli import program as mmconvert
from mmconvert.dataset.dataset import open_dataset
from mmscore import score
from mmscore.cli import program as mmscore
from mmscore.compat.mmbench import MMBenchDataset, inference_prompt, save_results
from support.questions import COLOURS, make_image

FIELDS = {"img", "question", "options", "category", "l2-category", "options_dict", "index", "context", "answer"}
"""First section: what a sample holds."""

RESULT = ["question", "A", "B", "C", "D", "prediction", "category", "l2_category", "index"]
"""Last section: the columns of the workbook."""

OWN_WORDING = """
from mmconvert.core.record import Part
from mmconvert.core.text.prompt_parts import Wording

def human(record):
    listed = ", ".join(f"{letter}. {text}" for letter, text in zip("ABCD", record.options))
    text = f"###Human: Question: {record.question}\\nThere are several options: {listed}\\n###Assistant:"
    return Wording((Part("image"), Part("text", text)), (1,))
"""
"""The document's example of a prompt of one's own."""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Four questions as the document has them: a hint, three options, a word and numbers that pandas takes."""
    rows: list[dict[str, Any]] = [
        {"A": "red", "B": "green", "C": "blue", "D": "yellow", "answer": "A", "hint": "Look at the whole."},
        {"A": "red", "B": "green", "C": "blue", "D": None, "answer": "B", "hint": None},
        {"A": "red", "B": "None", "C": "blue", "D": "yellow", "answer": "C", "hint": None},
        {"A": 1, "B": "2", "C": "3", "D": "4", "answer": "D", "hint": "N/A"},
    ]
    for number, row in enumerate(rows):
        row |= {"index": number + 10, "question": "Which category does this image belong to?"}
        row |= {"category": "image_style", "l2-category": "coarse_perception", "split": "dev"}
        row["image"] = base64.b64encode(make_image(COLOURS[number])).decode()
    file = tmp_path / "MMBench_DEV_EN.tsv"
    pd.DataFrame(rows).to_csv(file, sep="\t", index=False)
    return file


def run(program: Any, *arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(program, [*map(str, arguments)], standalone_mode=False, catch_exceptions=False)
    assert (result.return_value or 0) == code, result.output
    return result.stdout


def test_load_mmbench_gives_each_sample_its_fields(table: Path) -> None:
    dataset = MMBenchDataset(table, sys_prompt="There are several options:")
    assert len(dataset) == 4
    assert all(sample.keys() == FIELDS for sample in dataset)
    first, second, third, last = dataset
    assert (first["context"], second["context"], last["context"]) == ("Look at the whole.", None, None)
    assert first["options"] == "There are several options:\nA. red\nB. green\nC. blue\nD. yellow\n"
    assert (list(second["options_dict"]), list(third["options_dict"])) == (["A", "B", "C"], ["A", "C", "D"])
    assert [sample["index"] for sample in dataset] == [10, 11, 12, 13]
    assert [sample["answer"] for sample in dataset] == ["A", "B", "C", "D"]


def test_the_test_split_has_no_answer(table: Path) -> None:
    pd.read_csv(table, sep="\t").drop(columns="answer").to_csv(table, sep="\t", index=False)
    assert [sample["answer"] for sample in MMBenchDataset(table)] == [None] * 4


@pytest.fixture
def snippets(shared: Path) -> tuple[Any, str]:
    """The document's own loader and prompt: its code as it stands, but for a method indented by three blanks."""
    pytest.importorskip("torch")
    document = (shared / "seeds" / "mmbench_evaluation.md").read_text(encoding="utf-8")
    loader, prompt, *_ = re.findall(r"```python\n(.*?)```", document, re.DOTALL)
    names: dict[str, Any] = {}
    exec(loader.replace("\n   def load_from_df", "\n    def load_from_df"), names)
    return names["MMBenchDataset"], prompt


@pytest.mark.parametrize("exported", [False, True], ids=["the source", "our export"])
def test_the_documents_own_loader_gives_the_same(
    table: Path, tmp_path: Path, snippets: tuple[Any, str], exported: bool
) -> None:
    loader, prompt = snippets
    theirs, ours = loader(table), MMBenchDataset(table)
    if exported:
        (again := tmp_path / "again" / table.name).parent.mkdir()
        run(mmconvert, "convert", table, "-o", tmp_path / "d", "--quiet")
        run(mmconvert, "export", tmp_path / "d", "--to", "lmudata", "-o", again)
        theirs = loader(again)
    assert len(theirs) == len(ours)
    for place in range(len(theirs)):
        expected, found = theirs[place], ours[place]
        assert expected.keys() == found.keys()
        images = expected.pop("img"), found.pop("img")
        assert images[0].tobytes() == images[1].tobytes()
        assert expected == found
        said = {"data_sample": expected}
        exec(prompt, said)
        assert said["prompt"] == inference_prompt(found)


def test_the_inference_prompt_is_that_of_the_command(table: Path, tmp_path: Path) -> None:
    """`--read-as mmbench --prompt mmbench` words a row as loader and snippet do."""
    run(mmconvert, "convert", table, "-o", tmp_path / "d", "--read-as", "mmbench", "--prompt", "mmbench", "--quiet")
    rows = [row for batch in open_dataset(tmp_path / "d").batches(["messages"]) for row in batch.to_pylist()]
    asked = ["".join(part["text"] for part in row["messages"][-1]["content"]) for row in rows]
    assert asked == [inference_prompt(sample) for sample in MMBenchDataset(table)]


def test_a_line_of_ones_own_before_the_options(table: Path, tmp_path: Path) -> None:
    wording = ("--read-as", "mmbench", "--prompt", "mmbench:sys_prompt=Choose one:")
    run(mmconvert, "convert", table, "-o", tmp_path / "d", *wording, "--quiet")
    batch = next(iter(open_dataset(tmp_path / "d").batches(["messages"])))
    text = batch.to_pylist()[1]["messages"][-1]["content"][-1]["text"]
    assert text == inference_prompt(MMBenchDataset(table, sys_prompt="Choose one:")[1])


def test_custom_modifications_to_the_prompt(table: Path, tmp_path: Path) -> None:
    (tmp_path / "wording.py").write_text(OWN_WORDING)
    own = f"{tmp_path / 'wording.py'}@human"
    run(mmconvert, "convert", table, "-o", tmp_path / "d", "--prompt", own, "--quiet")
    batch = next(iter(open_dataset(tmp_path / "d").batches(["messages"])))
    assert batch.to_pylist()[0]["messages"][-1]["content"][-1]["text"] == (
        "###Human: Question: Which category does this image belong to?\n"
        "There are several options: A. red, B. green, C. blue, D. yellow\n###Assistant:"
    )


def test_how_to_save_results(table: Path, tmp_path: Path) -> None:
    dataset = MMBenchDataset(table)
    replies = [f"{sample['answer']}." for sample in dataset]
    save_results(dataset, replies, tmp_path / "results.xlsx")
    frame = pd.read_excel(tmp_path / "results.xlsx", keep_default_na=False)
    assert [*frame] == RESULT
    assert frame["D"].tolist() == ["yellow", "", "yellow", "4"]
    assert frame["prediction"].tolist() == replies


def test_the_same_workbook_by_commands_and_its_score(table: Path, tmp_path: Path) -> None:
    data, answers, book = (tmp_path / name for name in ("d", "answers.parquet", "results.xlsx"))
    run(mmconvert, "convert", table, "-o", data, "--quiet")
    run(mmscore, "predict", data, "-o", answers, "--backend", "echo", "--model", "answer", "--quiet")
    run(mmscore, "submit", answers, "--to", "mmbench", "-o", book, "--quiet")
    save_results(table, ["A", "B", "C", "D"], tmp_path / "by-hand.xlsx")
    assert pd.read_excel(book).equals(pd.read_excel(tmp_path / "by-hand.xlsx"))
    (entry,) = score(book, "mmbench_circular", answers=data).entries
    assert entry.metrics["circular_accuracy"].value == 1.0
