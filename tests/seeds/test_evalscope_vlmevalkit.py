"""EvalScope's document on custom multimodal data: evaluation by its VLMEvalKit backend, with classes of the user's."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmconvert.core.errors import Error
from mmscore.compat.evalscope import run_task
from mmscore.compat.vlmevalkit import load
from support.chat_server import ChatServer
from support.evalscope_document import ANSWERS, IMAGES, QUESTIONS, make_folders, run_command, start_services

pytestmark = pytest.mark.slow

MCQ_TABLE = """\
----------  ----
split       none
Overall     1.0
Activities  1.0
Animals     1.0
Buildings   1.0
Cities      1.0
Vehicles    1.0
----------  ----
"""


CONFIG = """
eval_backend: VLMEvalKit
eval_config:
  model:
    - type: qwen-vl-chat
      name: CustomAPIModel
      api_base: {url}/chat/completions
      key: EMPTY
      temperature: 0.0
      img_size: -1
  data:
    - {data}
  mode: all
  limit: 10
  reuse: false
  work_dir: outputs
  nproc: 1
"""
CHOICES = (
    ("Animals", "A", "Dog", "Cat", "Tiger", "Elephant"),
    ("Buildings", "D", "School", "Hospital", "Park", "Museum"),
    ("Cities", "B", "New York", "Tokyo", "Shanghai", "Paris"),
    ("Vehicles", "C", "BMW", "Audi", "Tesla", "Mercedes"),
    ("Activities", "A", "Running", "Swimming", "Reading", "Singing"),
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_folders(tmp_path, monkeypatch)


@pytest.fixture
def service() -> Iterator[Callable[[Callable[[str], str]], ChatServer]]:
    with start_services() as start:
        yield start


class TestVLMEvalKitBackend:
    @pytest.fixture
    def choices(self, folder: Path) -> Path:
        """`custom_mcq.tsv` with absolute paths, as the document has it."""
        names = ["index", "category", "answer", "question", "A", "B", "C", "D", "image_path"]
        lines = [
            [str(n + 1), CHOICES[n][0], CHOICES[n][1], QUESTIONS[n], *CHOICES[n][2:], path]
            for n, path in enumerate(str(folder / "LMUData/images/custom_mcq" / name) for name in IMAGES)
        ]
        file = Path("LMUData/custom_mcq.tsv")
        file.write_text("\n".join("\t".join(line) for line in [names, *lines]) + "\n")
        return file

    @staticmethod
    def letter(question: str) -> str:
        return next(row[1] for row, text in zip(CHOICES, QUESTIONS, strict=True) if text in question)

    def test_choices(self, service: Any, choices: Path, capsys: pytest.CaptureFixture[str]) -> None:
        asked = service(self.letter)
        text = CONFIG.format(url=asked.url, data="custom_mcq")
        Path("config.yaml").write_text(text)
        result = run_task(task_cfg="config.yaml")
        assert capsys.readouterr().out == MCQ_TABLE
        line = {"split": "none", "Overall": "1.0", **dict.fromkeys(sorted(row[0] for row in CHOICES), "1.0")}
        assert result == {"qwen-vl-chat_custom_mcq_acc": line}
        assert asked.asked[0]["model"] == "qwen-vl-chat"
        assert {head["Authorization"] for head in asked.heads} == {"Bearer EMPTY"}
        assert Path("outputs/qwen-vl-chat/custom_mcq/predictions.parquet").is_file()
        answered = load("outputs/qwen-vl-chat/qwen-vl-chat_custom_mcq.xlsx")
        assert answered["prediction"].tolist() == [row[1] for row in CHOICES]
        assert load("outputs/qwen-vl-chat/qwen-vl-chat_custom_mcq_acc.csv")["Overall"].tolist() == [1.0]
        Path("config.json").write_text(json.dumps(yaml.safe_load(text)))
        assert run_task(task_cfg="config.json") == run_task(task_cfg=yaml.safe_load(text)) == result
        assert run_command("run", "config.yaml", module="mmscore").endswith(MCQ_TABLE)

    def test_replies_now_and_numbers_later(self, service: Any, choices: Path) -> None:
        asked = service(self.letter)
        task = yaml.safe_load(CONFIG.format(url=asked.url, data="custom_mcq"))
        task["eval_config"] |= {"mode": "eval", "work_dir": "later"}
        with pytest.raises(Error, match="there are no responses yet"):
            run_task(task)
        task["eval_config"]["mode"] = "infer"
        assert run_task(task) == {}
        assert [file.name for file in Path("later/qwen-vl-chat").glob("*.*")] == ["qwen-vl-chat_custom_mcq.xlsx"]
        assert len(asked.asked) == 5
        task["eval_config"]["mode"] = "eval"
        assert run_task(task)["qwen-vl-chat_custom_mcq_acc"]["Overall"] == "1.0"
        task["eval_config"] |= {"mode": "all", "reuse": True}
        assert run_task(task)["qwen-vl-chat_custom_mcq_acc"]["Overall"] == "1.0"
        assert len(asked.asked) == 5
        task["eval_config"]["reuse"] = False
        run_task(task)
        assert len(asked.asked) == 10


CUSTOM_DATASET = """
import os
import numpy as np
from vlmeval.dataset.image_base import ImageBaseDataset
from vlmeval.dataset.image_vqa import CustomVQADataset
from vlmeval.smp import load, dump, d2df

class CustomDataset:
    def load_data(self, dataset):
        data_path = os.path.join(os.path.expanduser("~/LMUData"), f'{dataset}.tsv')
        return load(data_path)

    def build_prompt(self, line):
        msgs = ImageBaseDataset.build_prompt(self, line)
        msgs[-1]['value'] += '\\nAnswer the question with one word or phrase.'
        return msgs

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        assert 'answer' in data and 'prediction' in data
        data['prediction'] = [str(x) for x in data['prediction']]
        data['answer'] = [str(x) for x in data['answer']]
        print(data)
        result = np.mean(data['answer'] == data['prediction'])
        ret = {'Overall': result}
        ret = d2df(ret).round(2)
        suffix = eval_file.split('.')[-1]
        result_file = eval_file.replace(f'.{suffix}', '_acc.csv')
        dump(ret, result_file)
        return ret

CustomVQADataset.load_data = CustomDataset.load_data
CustomVQADataset.build_prompt = CustomDataset.build_prompt
CustomVQADataset.evaluate = CustomDataset.evaluate
"""
SCRIPT = """
from custom_dataset import CustomDataset
from evalscope.run import run_task

print(run_task(task_cfg='config.yaml'))
"""


class TestCustomEvaluation:
    @pytest.fixture
    def answers(self, folder: Path) -> None:
        lines = [
            [str(n + 1), ANSWERS[n], QUESTIONS[n], str(folder / "LMUData/images/custom_mcq" / IMAGES[n])]
            for n in range(5)
        ]
        text = "\n".join("\t".join(line) for line in [["index", "answer", "question", "image_path"], *lines])
        Path("LMUData/custom_vqa.tsv").write_text(text + "\n")

    @staticmethod
    def reply(question: str) -> str:
        text, _, wish = question.partition("\n")
        return dict(zip(QUESTIONS, ANSWERS, strict=True))[text] if wish.endswith("word or phrase.") else "?"

    @pytest.mark.usefixtures("answers")
    def test_the_script(self, service: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(folder))
        asked = service(self.reply)
        Path("config.yaml").write_text(CONFIG.format(url=asked.url, data="custom_vqa"))
        Path("custom_dataset.py").write_text(CUSTOM_DATASET)
        Path("main.py").write_text(SCRIPT)
        shown = run_command("script", "main.py")
        assert shown.splitlines()[-1] == "{'qwen-vl-chat_custom_vqa_acc': {'Overall': '1.0'}}"
        written = Path("outputs/qwen-vl-chat/qwen-vl-chat_custom_vqa_acc.csv").read_text()
        assert written.split() == ['"Overall"', '"1.0"']
        assert len(asked.asked) == 5

    @pytest.mark.usefixtures("answers")
    def test_methods_put_into_the_class_and_what_they_raise(
        self, service: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from mmscore.compat.vlmevalkit import CustomVQADataset

        task = yaml.safe_load(CONFIG.format(url=service(lambda _: "Dog").url, data="custom_vqa"))
        monkeypatch.setattr(CustomVQADataset, "evaluate", lambda self, eval_file, **judge: {"Overall": 0.2, "n": 5})
        assert run_task(task) == {"qwen-vl-chat_custom_vqa_acc": {"Overall": "0.2", "n": "5"}}
        assert capsys.readouterr().out == "-------  ---\nOverall  0.2\nn        5\n-------  ---\n"
        task["eval_config"]["mode"] = "infer"
        assert run_task(task) == {}
        task["eval_config"] |= {"mode": "eval", "work_dir": "elsewhere"}
        with pytest.raises(Error, match="Run the model first"):
            run_task(task)

    @pytest.mark.usefixtures("answers")
    def test_without_a_class_our_own_rule_scores(self, service: Any) -> None:
        asked = service(lambda question: dict(zip(QUESTIONS, ANSWERS, strict=True))[question])
        task = yaml.safe_load(CONFIG.format(url=asked.url, data="custom_vqa"))
        assert run_task(task) == {"qwen-vl-chat_custom_vqa_acc": {"Overall": "1.0"}}
