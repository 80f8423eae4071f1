"""The kit's release on PyPI reads what we export, words it as we do, and scores our predictions with our numbers."""

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from mmconvert.cli import program as mmconvert
from mmconvert.dataset.dataset import open_dataset
from mmscore import score
from mmscore.compat import vlmevalkit as kit
from support.kit_environment import kit_python
from support.questions import COLOURS, make_image

pytestmark = pytest.mark.release

RELEASE = "ms-vlmeval==0.0.20"
NEEDS = ("pandas", "numpy", "pillow", "validators", "openpyxl", "xlsxwriter", "tabulate", "requests", "tqdm")
NEEDS_ALONE = (RELEASE, "huggingface_hub", "httpx2", "typing_extensions", "filelock", "sty")

KIT = """
import importlib.util, json, os, sys, types
from pathlib import Path

# The package imports hundreds of benchmarks and their dependencies; three of its modules are wanted.
root = Path(importlib.util.find_spec("vlmeval").submodule_search_locations[0])
for name, folder, names in (
    ("vlmeval", ".", {}),
    ("vlmeval.dataset", "dataset", {"SUPPORTED_DATASETS": [], "DATASET_TYPE": lambda name: "MCQ"}),
    ("vlmeval.dataset.utils", "dataset/utils", {"build_judge": None, "DEBUG_MESSAGE": ""}),
    ("vlmeval.vlm", "vlm", {}),
):
    module = types.ModuleType(name)
    module.__path__ = [str(root / folder)]
    module.__dict__.update(names)
    sys.modules[name] = module

from vlmeval.dataset.image_base import ImageBaseDataset
from vlmeval.dataset.image_mcq import ImageMCQDataset
from vlmeval.dataset.image_vqa import CustomVQADataset
from vlmeval.smp import load

found = {}


class Choices(ImageMCQDataset):
    DATASET_URL, DATASET_MD5 = {"Choices": ""}, {}

    def load_data(self, dataset):
        return load(os.path.join(os.environ["LMUData"], f"{dataset}.tsv"))


choices = Choices("Choices")
found["rows"] = json.loads(choices.data.to_json(orient="records"))
found["prompts"] = [choices.build_prompt(number)[-1]["value"] for number in range(len(choices))]
found["images"] = [[p["value"] for p in choices.build_prompt(n)[:-1]] for n in range(len(choices))]
os.environ["LMUData"] = "files"
files = Choices("Choices")
found["files"] = [[p["value"] for p in files.build_prompt(n)[:-1]] for n in range(len(files))]
os.environ["LMUData"] = "LMUData"
table = choices.evaluate("eval/m_Choices.xlsx", model="exact_matching", nproc=1)
found["scores"] = json.loads(table.to_json(orient="records"))

exec(compile(Path("custom_dataset.py").read_text(), "custom_dataset.py", "exec"))
custom = CustomVQADataset("custom_vqa")
found["custom_prompt"] = custom.build_prompt(0)[-1]["value"]
found["custom_scores"] = json.loads(custom.evaluate("eval/m_custom_vqa.xlsx").to_json(orient="records"))

namespace = {}
exec(compile(Path("model.py").read_text(), "model.py", "exec"), namespace)
model = namespace["TakesOne"]()
found["responses"] = [
    model.generate(["red.png", "One", "blue.png", "Two"], "D"),
    model.generate([{"type": "image", "value": "blue.png"}, {"type": "text", "value": "Three"}], "D"),
    model.generate("Four", "D"),
]
Path("framework.json").write_text(json.dumps(found))
"""

MODEL = """
from vlmeval.vlm.base import BaseModel


class TakesOne(BaseModel):
    INTERLEAVE = False

    def generate_inner(self, message, dataset=None):
        prompt, image = self.message_to_promptimg(message, dataset=dataset)
        return f"{dataset}: {prompt!r} {image}"
"""


@pytest.fixture(scope="module")
def kits_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kit_python(tmp_path_factory.mktemp("kit") / "venv", NEEDS, NEEDS_ALONE)


def made(folder: Path) -> None:
    """Export tables of ours, and predictions to them."""
    rows = [
        {
            "index": 10 + number,
            "image": [base64.b64encode(make_image(shown)).decode() for shown in (colour, *COLOURS[: number // 3])],
            "question": f'Which "colour"\tis {number}?',
            "hint": ("Look.", None)[number % 2],
            "A": "red",
            "B": "green",
            "C": ("blue", None)[number % 2],
            "answer": "AB"[number % 2],
            "category": ("warm", "cold")[number // 2],
            "l2-category": "perception",
            "split": ("dev", "val")[number % 2],
        }
        for number, colour in enumerate(COLOURS)
    ]
    kit.dump(pd.DataFrame(rows), folder / "source.tsv")
    shown = [
        {"index": n, "image": r["image"][0], "question": "Which?", "answer": c}
        for n, (r, c) in enumerate(zip(rows, COLOURS, strict=True))
    ]
    kit.dump(pd.DataFrame(shown), folder / "LMUData/custom_vqa.tsv")
    for arguments in (
        ["convert", "source.tsv", "-o", "data", "--dataset", "Choices", "--prompt", "vlmevalkit"],
        ["export", "data", "-o", "LMUData/Choices.tsv", "--to", "lmudata"],
        ["export", "data", "-o", "files/Choices.tsv", "--to", "lmudata", "--images", "files"],
    ):
        done = CliRunner().invoke(mmconvert, arguments, standalone_mode=False, catch_exceptions=False)
        assert (done.return_value or 0) == 0, done.output


def ours(replies: dict[str, list[str]], name: str) -> kit.Run:
    return kit.run(
        name, model="m", backend=lambda records: [replies[name][_place(r)] for r in records], work_dir="ours"
    )


def _place(record: Any) -> int:
    return record.source.row


def test_the_kit_reads_words_and_scores_what_we_write_as_we_do(
    tmp_path: Path, kits_python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from seeds.test_vlmevalkit import MONKEY_PATCHES  # the document's own

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in ("LMUData", "eval", "files"):
        (tmp_path / folder).mkdir()
    made(tmp_path)
    for name in ("load_data", "build_prompt", "evaluate"):
        monkeypatch.setattr(kit.CustomVQADataset, name, getattr(kit.CustomVQADataset, name))
    (tmp_path / "custom_dataset.py").write_text(MONKEY_PATCHES)
    (tmp_path / "model.py").write_text(MODEL)
    for colour in ("red", "blue"):
        (tmp_path / f"{colour}.png").write_bytes(make_image(colour))
    exec(compile(MONKEY_PATCHES, "custom_dataset.py", "exec"), {})
    replies = {"Choices": ["A", "The answer is B", "green", "none"], "custom_vqa": ["red", "x", "blue", "x"]}
    runs = {name: ours(replies, name) for name in replies}
    for name, done in runs.items():
        (tmp_path / "eval" / f"m_{name}.xlsx").write_bytes(done.eval_file.read_bytes())

    environment = {**os.environ, "PYTHONPATH": "", "PYTHONWARNINGS": "ignore"}
    ran = subprocess.run([kits_python, "-c", KIT], capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stderr
    found = json.loads((tmp_path / "kit.json").read_bytes())

    records = list(open_dataset("data").records())
    assert [row["index"] for row in found["rows"]] == [int(record.id) for record in records]
    for row, record in zip(found["rows"], records, strict=True):
        assert [row["question"], row["hint"], row["answer"]] == [record.question, record.hint, record.answer]
        assert [row.get(letter) for letter in "ABC"[: len(record.options)]] == list(record.options)
        assert [row["category"], row["l2-category"], row["split"]] == [
            record.category,
            record.l2_category,
            record.split,
        ]
        images = row["image"] if isinstance(row["image"], list) else [row["image"]]
        assert [base64.b64decode(image) for image in images] == [image.bytes for image in record.images]
    assert found["prompts"] == [record.messages[-1].content[-1].text for record in records]
    assert [len(paths) for paths in found["pictures"]] == [len(record.images) for record in records] == [1, 1, 1, 2]
    for paths, record in zip(found["files"], records, strict=True):
        assert [Path("files", path).read_bytes() for path in paths] == [image.bytes for image in record.images]

    entry = score(runs["Choices"].folder / "m_Choices.parquet", "vlmevalkit_mcq@v2").entries[0]
    # The kit goes through a set of the splits: their order is that of a run.
    scores = sorted(found["scores"], key=lambda row: row["split"])
    assert scores == json.loads(pd.DataFrame(list(entry.table)).sort_values("split").to_json(orient="records"))
    assert found["custom_prompt"] == kit.build_dataset("custom_vqa").build_prompt(0)[-1]["value"]
    assert found["custom_scores"] == list(runs["custom_vqa"].result) == [{"Overall": 0.5}]

    here: dict[str, Any] = {}
    exec(compile(MODEL, "model.py", "exec"), here)
    model = here["TakesOne"]()
    assert found["replies"] == [
        model.generate(["red.png", "One", "blue.png", "Two"], "D"),
        model.generate([{"type": "image", "value": "blue.png"}, {"type": "text", "value": "Three"}], "D"),
        model.generate("Four", "D"),
    ]
