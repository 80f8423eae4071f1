"""VLMEvalKit's development guide, section by section: tables, prompts, evaluation, models, chat."""

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pandas as pd
import PIL.Image
import pytest
from click.testing import CliRunner

from mmconvert.cli import program as mmconvert
from mmconvert.core.errors import UsageError
from mmconvert.dataset.dataset import open_dataset
from mmconvert.storage import http
from mmconvert.storage.http import Limits
from mmscore import predict
from mmscore.cli import program as mmscore
from mmscore.compat import vlmevalkit as kit
from mmscore.compat.vlmevalkit.__main__ import program as kit_program
from mmscore.compat.vlmevalkit.__main__ import spread
from support.deferred import defer
from support.questions import COLOURS, make_image
from support.web_server import reply, web_server

pytestmark = pytest.mark.slow

IMAGES = [base64.b64encode(make_image(colour)).decode() for colour in COLOURS]
OPTIONS = dict(zip("ABCD", COLOURS, strict=True))

EVERY = ("index", "image", "question")
CHOICES = ("options", "answer", "category")
FIELDS = {
    **dict.fromkeys(("MMBench_DEV_CN", "MMBench_DEV_EN"), (*EVERY, "hint", *CHOICES, "l2-category", "split")),
    **dict.fromkeys(
        ("MMBench_TEST_CN", "MMBench_TEST_EN"), (*EVERY, "hint", "options", "category", "l2-category", "split")
    ),
    **dict.fromkeys(("CCBench", "SEEDBench_IMG"), (*EVERY, *CHOICES)),
    # The framework pairs the questions of an image by image_path, which the document leaves out.
    "MME": (*EVERY, "answer", "category"),
    "CORE_MM": (*EVERY, "image_path", "category"),
    "MMVet": (*EVERY, "answer", "category"),
    "MMMU_DEV_VAL": (*EVERY, "image_path", *CHOICES, "l2-category", "split"),
    "COCO_VAL": ("index", "image", "answer"),
    **dict.fromkeys(("OCRVQA_TEST", "OCRVQA_TESTCORE", "TextVQA_VAL"), (*EVERY, "answer")),
    **{
        f"VCR_{tongue}_{level}_{size}": (*EVERY, "answer")
        for tongue in ("EN", "ZH")
        for level in ("EASY", "HARD")
        for size in ("ALL", "500", "100")
    },
}
"""Table 1: the columns of each benchmark."""

UNSCORED = {
    **{
        f"MMBench_TEST_{tongue}": f"to be submitted: mmscore submit outputs/right/right_MMBench_TEST_{tongue}.parquet"
        for tongue in ("CN", "EN")
    },
    "CORE_MM": "CORE_MM: no rule exists",
}
"""Benchmarks whose answers are not published, or that the framework never scored: asked, and why there is no score."""


def rows(name: str) -> list[dict[str, Any]]:
    """Make four questions with the columns that the document names."""
    made = []
    for number, (letter, colour) in enumerate(OPTIONS.items()):
        values = {
            "index": number + 1,
            "image": IMAGES[number],
            "image_path": f"{name}/{number}.png",
            "question": f"Which colour fills image {number}?",
            "hint": "Look at the whole.",
            "answer": letter if "options" in FIELDS[name] else colour,
            "category": ("rec", "ocr")[number % 2],
            "l2-category": "perception",
            "split": ("dev", "val")[number % 2],
        }
        if name == "MME":
            values |= {"answer": ("Yes", "No")[number % 2], "category": "color"}
            values |= {"image": IMAGES[number // 2]}
        if name == "COCO_VAL":
            values["answer"] = str([f"a {colour} image", colour])
        if name.startswith("VCR"):
            values["answer"] = str([colour])
        columns = [column for column in FIELDS[name] if column != "options"]
        made.append({**{c: values[c] for c in columns}, **(OPTIONS if "options" in FIELDS[name] else {})})
    return made


@pytest.fixture(autouse=True)
def lmudata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    (tmp_path / "LMUData").mkdir()
    return tmp_path / "LMUData"


@pytest.fixture
def colours(lmudata: Path) -> Path:
    """A table of the user's own."""
    columns = {"question": ["Which colour?"] * 4, "answer": COLOURS, "category": ["warm", "cold", "cold", "warm"]}
    table = lmudata / "Colours.tsv"
    kit.dump(pd.DataFrame({"index": range(4), "image": IMAGES, **columns}), table)
    return table


@pytest.fixture
def apple(tmp_path: Path) -> str:
    path = tmp_path / "assets/apple.jpg"
    path.parent.mkdir()
    PIL.Image.new("RGB", (24, 16), "red").save(path)
    return "assets/apple.jpg"


def run(program: Any, *arguments: object, code: int = 0) -> str:
    argv = spread([*map(str, arguments)])
    result = CliRunner().invoke(program, argv, standalone_mode=False, catch_exceptions=False)
    assert (result.return_value or 0) == code, result.output
    return result.stdout


# Section 1.1: the table


@pytest.mark.parametrize("name", defer(FIELDS, 8))
def test_a_table_of_each_benchmark_is_read_worded_and_scored(lmudata, name):
    table = rows(name)
    kit.dump(pd.DataFrame(table), lmudata / f"{name}.tsv")
    benchmark = kit.build_dataset(name)
    shown_images, text = benchmark.build_prompt(0)[:-1], benchmark.build_prompt(benchmark.data.iloc[0])[-1]
    assert [Path(piece["value"]).read_bytes() for piece in shown_images] == [base64.b64decode(table[0]["image"])]
    assert table[0].get("question", "Please describe this image") in text["value"]
    answers = [str(row.get("answer", "?")) for row in table]
    backend = lambda records: [_reply(name, answers[int(record.id) - 1]) for record in records]  # noqa: E731
    if name == "MMVet":
        with pytest.raises(UsageError, match=r"without a judge\. Fix: --judge MODEL --judge-base-url URL"):
            kit.run(name, model="right", backend=backend)
        return
    done = kit.run(name, model="right", backend=backend)
    assert done.eval_file == Path(f"outputs/right/right_{name}.xlsx")
    assert done.eval_file.is_file()
    if name in UNSCORED:
        assert UNSCORED[name] in done.note
        assert (done.complete, done.summary.failed, done.entry) == (True, 0, None)
        return
    assert done.entry.parity.startswith("VLMEvalKit")
    assert done.result
    if "options" in FIELDS[name]:
        assert {row["Overall"] for row in done.result} == {1.0}


def _reply(name: str, answer: str) -> str:
    return answer.strip("[]'").partition("'")[0] if answer.startswith("[") else answer


def test_the_folder_of_tables_is_that_of_the_environment_or_in_the_home(tmp_path, colours, monkeypatch):
    run(mmconvert, "convert", "Colours", "-o", "by_name", "--quiet")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("LMUData")
    assert kit.LMUDataRoot() == str(tmp_path / "LMUData")
    run(mmconvert, "convert", "Colours", "-o", "at_home", "--quiet")
    assert open_dataset("by_name").num_rows == open_dataset("at_home").num_rows == 4


def test_a_table_is_downloaded_from_dataset_url_and_checked(tmp_path, colours, monkeypatch):
    data = colours.read_bytes()
    colours.unlink()
    (tmp_path / "bench.py").write_text(
        "from vlmeval.dataset import ImageMCQDataset\n"
        "class Bench(ImageMCQDataset):\n"
        "    DATASET_URL = {'Colours': 'https://tables.example/Colours.tsv'}\n"
        f"    DATASET_MD5 = {{'Colours': '{hashlib.md5(data).hexdigest()}'}}\n"
        "    def evaluate(self, eval_file, **judge_kwargs):\n"
        "        return {'rows': len(self.data)}\n"
    )
    with pytest.raises(UsageError, match="--allow-remote"):
        run(kit_program, "--data", "bench.py@Bench", "--model", "m")
    with web_server({"/Colours.tsv": reply(data)}) as server:

        def at_loopback(url: str, limits: Limits, **_: Any) -> AbstractContextManager[Iterator[bytes]]:
            here = url.replace("https://tables.example", f"http://127.0.0.1:{server.port}")
            return http.open_url(here, limits, allowed=lambda address: True)

        monkeypatch.setattr("mmscore.compat.vlmevalkit.datasets.open_url", at_loopback)
        (tmp_path / "says.py").write_text(
            "class Red:\n    def generate_inner(self, msgs, dataset=None): return 'red'\n"
        )
        arguments = ("--data", "bench.py@Bench", "--model", "says.py@Red", "--json")
        shown = json.loads(run(kit_program, *arguments, "--allow-remote"))
        assert shown["runs"][0]["result"] == [{"rows": 4}]
    # It stands in $LMUData now.
    assert json.loads(run(kit_program, *arguments))["runs"][0]["result"] == [{"rows": 4}]


def test_images_go_to_base64_and_back(apple, tmp_path):
    text = kit.encode_image_file_to_base64(apple)
    kit.decode_base64_to_image_file(text, str(tmp_path / "again.jpg"))
    assert (tmp_path / "again.jpg").read_bytes() == Path(apple).read_bytes()
    image = kit.decode_base64_to_image(text)
    assert kit.decode_base64_to_image(kit.encode_image_to_base64(image)).size == image.size == (24, 16)


# Sections 1.2 and 1.3: a benchmark of one's own

BENCHMARK = """
from vlmeval.dataset.image_base import ImageBaseDataset
from vlmeval.smp import load


class Colours(ImageBaseDataset):
    TYPE = "VQA"
    DATASET_URL = {"Colours": ""}
    DATASET_MD5 = {"Colours": None}

    def build_prompt(self, line):
        if isinstance(line, int):
            line = self.data.iloc[line]
        (path,) = self.dump_image(line)
        prompt = line["question"] + " One word."
        return [dict(type="text", value="Here:"), dict(type="image", value=path), dict(type="text", value=prompt)]

    def evaluate(self, eval_file, **judge_kwargs):
        import pandas as pd

        data = load(eval_file)
        assert {"index", "question", "answer", "category", "prediction"} <= set(data.columns)
        hits = data["answer"] == data["prediction"]
        scores = {"split": ["all"], "Overall": [hits.mean()]}
        scores |= {name: [hits[data["category"] == name].mean()] for name in sorted(set(data["category"]))}
        scores |= {"judge": [str(judge_kwargs.get("model"))], "nproc": [judge_kwargs.get("nproc", 0)]}
        return pd.DataFrame(scores)
"""


def test_a_benchmark_of_ones_own_is_asked_interleaved_and_evaluated(tmp_path, colours):
    (tmp_path / "bench.py").write_text(BENCHMARK)
    (tmp_path / "model.py").write_text(MODEL)
    arguments = ("--data", "bench.py@Colours", "--model", "model.py@Looks", "--judge", "judge-1b", "--nproc", 4)
    (shown,) = json.loads(run(kit_program, *arguments, "--mode", "infer", "--json"))["runs"]
    assert (shown["eval_file"], shown["result"]) == ("outputs/Looks/Looks_Colours.xlsx", [])
    (shown,) = json.loads(run(kit_program, *arguments, "--mode", "eval", "--json"))["runs"]
    row = {"split": "all", "Overall": 1.0, "cold": 1.0, "warm": 1.0, "judge": "judge-1b", "nproc": 4}
    assert shown["result"] == [row]
    report = json.loads(Path("outputs/Looks/Looks_Colours_report.json").read_bytes())["entries"][0]
    assert (report["metrics"]["Overall"]["value"], report["table"]) == (1.0, [row])
    assert kit.load("outputs/Looks/Looks_Colours_acc.csv").to_dict("records") == [row]
    (asked, *_) = open_dataset("outputs/.datasets/Colours").records()
    assert [part.text or part.type for part in asked.messages[0].content] == [
        "Here:",
        "image",
        "Which colour? One word.",
    ]
    again = run(mmscore, "score", "outputs/Looks/Looks_Colours.parquet", "--recipe", "bench.py@Colours", "--json")
    assert json.loads(again)["entries"][0]["metrics"]["Overall"]["value"] == 1.0


MONKEY_PATCHES = """
import os

import numpy as np
from vlmeval.dataset.image_base import ImageBaseDataset
from vlmeval.dataset.image_vqa import CustomVQADataset
from vlmeval.smp import load, dump, d2df


class CustomDataset:
    def load_data(self, dataset):
        return load(os.path.join(os.path.expanduser("~/LMUData"), f"{dataset}.tsv"))

    def build_prompt(self, line):
        msgs = ImageBaseDataset.build_prompt(self, line)
        msgs[-1]["value"] += "\\nAnswer the question with one word or phrase."
        return msgs

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        assert "answer" in data and "prediction" in data
        data["prediction"] = [str(x) for x in data["prediction"]]
        data["answer"] = [str(x) for x in data["answer"]]
        print(data)
        ret = d2df({"Overall": np.mean(data["answer"] == data["prediction"])}).round(2)
        suffix = eval_file.split(".")[-1]
        dump(ret, eval_file.replace(f".{suffix}", "_acc.csv"))
        return ret


CustomVQADataset.load_data = CustomDataset.load_data
CustomVQADataset.build_prompt = CustomDataset.build_prompt
CustomVQADataset.evaluate = CustomDataset.evaluate
"""


@pytest.fixture
def own_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take methods that a test puts into the class out again."""
    for name in ("load_data", "build_prompt", "evaluate"):
        monkeypatch.setattr(kit.CustomVQADataset, name, getattr(kit.CustomVQADataset, name))


@pytest.mark.usefixtures("own_methods")
def test_methods_put_into_the_custom_class_are_the_ones_that_count(tmp_path, colours, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "custom_dataset.py").write_text(MONKEY_PATCHES)
    (tmp_path / "model.py").write_text(MODEL)
    colours.rename(colours.with_name("custom_vqa.tsv"))
    shown = run(kit_program, "--import", "custom_dataset.py", "--data", "custom_vqa", "--model", "model.py@Looks")
    assert "outputs/Looks/Looks_custom_vqa.xlsx" in shown
    assert kit.load("outputs/Looks/Looks_custom_vqa_acc.csv").to_dict("records") == [{"Overall": 1.0}]
    (asked, *_) = open_dataset("outputs/.datasets/custom_vqa").records()
    assert asked.messages[0].content[-1].text == "Which colour?\nAnswer the question with one word or phrase."


def test_the_class_itself_is_a_benchmark_too(tmp_path, colours, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "custom.py").write_text(MONKEY_PATCHES.partition("CustomVQADataset.load_data")[0])
    (tmp_path / "model.py").write_text(MODEL)
    (shown,) = json.loads(
        run(kit_program, "--data", "Colours=custom.py@CustomDataset", "--model", "model.py@Looks", "--json")
    )["runs"]
    assert shown["result"] == [{"Overall": 1.0}]
    with pytest.raises(UsageError, match="which table"):
        run(kit_program, "--data", "custom.py@CustomDataset", "--model", "model.py@Looks")


# Section 2.1: a model

MODEL = """
from PIL import Image
from vlmeval.vlm.base import BaseModel

NAMES = {(255, 0, 0): "red", (0, 128, 0): "green", (0, 0, 255): "blue", (255, 255, 0): "yellow"}


def colour(path):
    with Image.open(path) as image:
        return NAMES[image.convert("RGB").getpixel((3, 3))]


class Looks(BaseModel):
    INTERLEAVE = True

    def generate_inner(self, msgs, dataset=None):
        return ", ".join(colour(piece["value"]) for piece in msgs if piece["type"] == "image")


class TakesOne(BaseModel):
    INTERLEAVE = False

    def generate_inner(self, msgs, dataset=None):
        prompt, image_path = self.message_to_promptimg(msgs, dataset=dataset)
        return f"{dataset}: {prompt} {colour(image_path)}"


class Words(Looks):
    def use_custom_prompt(self, dataset):
        return dataset == "Colours"

    def build_prompt(self, line, dataset=None):
        assert self.use_custom_prompt(dataset)
        self.lines = [*getattr(self, "lines", []), line]
        paths = self.dump_image(line, dataset)
        return [*(dict(type="image", value=path) for path in paths), dict(type="text", value=line["question"])]

    def generate_inner(self, msgs, dataset=None):
        return super().generate_inner(msgs, dataset) if msgs[0]["type"] == "image" else "worded by the dataset"


class Chats(Looks):
    def chat_inner(self, message, dataset=None):
        assert message[-1]["role"] == "user" and len(message) % 2
        return f"{len(message)}: " + self.generate_inner(message[-1]["content"])
"""


def model_file(folder: Path) -> dict[str, Any]:
    """Write the models into a file and give the names in it."""
    (folder / "model.py").write_text(MODEL)
    found: dict[str, Any] = {}
    exec(compile(MODEL, "model.py", "exec"), found)
    return found


def predictions(tmp_path: Path, model: str, *options: object, data: str = "Colours") -> list[str]:
    run(mmconvert, "convert", data, "-o", "data", "--overwrite", "--quiet", "--dataset", data)
    run(mmscore, "predict", "data", "-o", "p.parquet", "--backend", model, "--model", "mine", "--quiet", *options)
    return pd.read_parquet("p.parquet", columns=["prediction"])["prediction"].tolist()


def asked_of_an_object(model: Any) -> list[str]:
    predict("data", "object.parquet", backend=model)
    return pd.read_parquet("object.parquet", columns=["prediction"])["prediction"].tolist()


@pytest.mark.usefixtures("colours")
def test_a_model_class_is_a_backend_and_an_object_of_it_too(tmp_path):
    found = model_file(tmp_path)
    assert predictions(tmp_path, "model.py@Looks") == list(COLOURS)
    done = asked_of_an_object(found["Looks"]())
    assert done == list(COLOURS)
    one = predictions(tmp_path, "model.py@TakesOne", "--restart")
    assert one == [f"Colours: Which colour? {colour}" for colour in COLOURS]


def test_a_message_is_pieces_or_a_list_of_texts(tmp_path, apple):
    (tmp_path / "red.png").write_bytes(make_image("red"))
    IMAGE_PTH = "red.png"  # noqa: N806 - as in the document
    IMAGE_URL = "https://raw.githubusercontent.com/open-compass/VLMEvalKit/main/assets/apple.jpg"  # noqa: N806
    model = model_file(tmp_path)["Looks"]()
    msg1 = [dict(type="image", value=IMAGE_PTH), dict(type="text", value="What is in this image?")]  # noqa: C408
    msg2 = [
        dict(type="image", value=IMAGE_URL),  # noqa: C408
        dict(type="image", value=IMAGE_URL),  # noqa: C408
        dict(type="text", value="How many apples are there in these images?"),  # noqa: C408
    ]
    assert model.generate(msg1) == "red"
    assert model.generate([IMAGE_PTH, "What is in this image?"]) == "red"
    # Nothing is fetched: the model is given the address.
    assert model.preproc_content([IMAGE_URL, IMAGE_URL, "How many apples are there in these images?"]) == msg2
    given: list[object] = []
    model.generate_inner = lambda message, dataset=None: given.append(message) or "2"  # type: ignore[method-assign]
    assert model.generate(msg2) == model.generate([IMAGE_URL, IMAGE_URL, msg2[2]["value"]]) == "2"
    assert given == [msg2, msg2]
    assert model.preproc_content(["no_such.jpg"])[0]["type"] == "text"


def test_a_model_without_interleave_takes_the_first_image_and_the_texts(tmp_path):
    for name in ("red", "blue"):
        (tmp_path / f"{name}.png").write_bytes(make_image(name))
    model = model_file(tmp_path)["TakesOne"]()
    assert model.generate(["red.png", "One", "blue.png", "Two"], dataset="D") == "D: One\nTwo red"


# Section 2.2: a prompt of the model's own


@pytest.mark.usefixtures("colours")
def test_a_model_may_word_the_questions_of_a_dataset(tmp_path, lmudata):
    model_file(tmp_path)
    assert predictions(tmp_path, "model.py@Words") == list(COLOURS)
    (lmudata / "Colours.tsv").rename(lmudata / "Others.tsv")
    assert predictions(tmp_path, "model.py@Words", "--restart", data="Others") == list(COLOURS)


# Section 2.3: chat


def test_a_history_of_turns_is_answered(tmp_path):
    (tmp_path / "blue.png").write_bytes(make_image("blue"))
    model = model_file(tmp_path)["Chats"]()
    msg1 = msg2 = msg3 = msg4 = ["said before"]
    message = [
        {"role": "user", "content": msg1},
        {"role": "assistant", "content": msg2},
        {"role": "user", "content": msg3},
        {"role": "assistant", "content": msg4},
        {"role": "user", "content": ["blue.png", "And now?"]},
    ]
    assert model.chat(message) == "5: blue"


def test_a_dialog_goes_on_with_the_models_own_replies(tmp_path, lmudata):
    model_file(tmp_path)
    questions = ["['<ImageHere>First?', '<ImageHere>Second?', '<ImageHere>Third?']"]
    images = [str(IMAGES[:3])]
    kit.dump(pd.DataFrame({"index": [1], "image": images, "question": questions}), lmudata / "MMDU.tsv")
    said = predictions(tmp_path, "model.py@Chats", "--protocol", "vlmevalkit", data="MMDU")
    assert said == ["red", "3: green", "5: blue"]
