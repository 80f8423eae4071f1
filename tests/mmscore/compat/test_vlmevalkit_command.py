"""The kit's run.py: its flags, its configuration file, and how it ends."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pybase64
import pytest
from click.testing import CliRunner

from mmconvert.core.errors import Error, UsageError
from mmscore.compat import vlmevalkit as kit
from mmscore.compat.vlmevalkit.__main__ import program, spread
from support.chat_server import ChatServer, chat_server, said
from support.questions import COLOURS, make_image
from support.terminal import mmscore

MODELS = """
class Says:
    def __init__(self, word="red", most=None):
        self.word = word

    def generate_inner(self, msgs, dataset=None):
        if self.word == "nothing":
            return None
        return self.word


class Service(Says):
    is_api = True
"""

BENCHES = """
from vlmeval.dataset import ImageBaseDataset
from vlmeval.smp import load


class Bench(ImageBaseDataset):
    NAMES = ("One", "Two")

    def __init__(self, dataset, share=1, **kwargs):
        self.share = share
        super().__init__(dataset, **kwargs)

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        print("evaluating")
        return {"hits": self.share * (data["prediction"] == data["answer"]).mean(), **judge_kwargs}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    (tmp_path / "LMUData").mkdir()
    images = [pybase64.b64encode(make_image(colour)).decode() for colour in COLOURS]
    columns = {"index": range(4), "image": images, "question": ["Which?"] * 4}
    for name in ("One", "Two"):
        kit.dump(pd.DataFrame({**columns, "answer": COLOURS}), tmp_path / f"LMUData/{name}.tsv")
    choices = {"A": ["red"] * 4, "B": ["green"] * 4, "answer": ["A", "B", "A", "B"]}
    kit.dump(pd.DataFrame({**columns, **choices}), tmp_path / "LMUData/Choices.tsv")
    (tmp_path / "models.py").write_text(MODELS)
    (tmp_path / "benches.py").write_text(BENCHES)


@pytest.fixture
def service() -> Iterator[ChatServer]:
    with chat_server(lambda body: said("A" if "judge" not in body["model"] else "B"), ["vlm", "judge"]) as server:
        yield server


def run(*arguments: object, code: int = 0) -> str:
    argv = spread([*map(str, arguments)])
    result = CliRunner().invoke(program, argv, standalone_mode=False, catch_exceptions=False)
    assert (result.return_value or 0) == code, result.output
    return result.stdout


def runs(*arguments: object, code: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(*arguments, "--json", code=code))["runs"]
    return found


def test_every_model_is_asked_about_every_benchmark():
    found = runs("--import", "benches.py", "--data", "One", "Two", "--model", "models.py@Says", "models.py@Service")
    assert [(one["model"], one["dataset"]) for one in found] == [
        ("Says", "One"),
        ("Says", "Two"),
        ("Service", "One"),
        ("Service", "Two"),
    ]
    assert [one["result"] for one in found] == [[{"hits": 0.25}]] * 4
    assert runs("--data", "benches.py@Bench", "--model", "models.py@Says", "--limit", 1)[1]["result"] == [{"hits": 1}]


def test_a_table_is_printed_for_people():
    shown = run("--data", "benches.py@Bench", "--model", "models.py@Says")
    assert "Says / Two: outputs/Says/Says_Two.xlsx\n hits\n 0.25\n" in shown


def test_what_a_benchmark_prints_is_seen_as_in_the_framework():
    run("--data", "benches.py@Bench", "--model", "models.py@Says", "--quiet", "--mode", "infer")
    command = [sys.executable, "-m", "mmscore.compat.vlmevalkit", "--data", "benches.py@Bench", "--mode", "eval"]
    done = subprocess.run([*command, "--model", "models.py@Says"], capture_output=True, text=True, check=True)
    assert "evaluating\n" in done.stdout


def test_a_table_is_fetched_from_the_hosts_that_are_named(tmp_path, monkeypatch):
    hosts = []

    def download(url, file_name=None, md5=None, open_url=None):
        hosts.append(open_url.keywords["hosts"])
        return tmp_path / "LMUData/One.tsv"

    monkeypatch.setattr("mmscore.compat.vlmevalkit.datasets.download_table", download)
    (tmp_path / "far.py").write_text(BENCHES + '    DATASET_URL = {"Far": "https://tables.internal/Far.tsv"}\n')
    arguments = ["--data", "Far=far.py@Bench", "--model", "models.py@Says", "--quiet"]
    with pytest.raises(UsageError, match="--allow-host goes with --allow-remote"):
        run(*arguments, "--allow-host", "tables.internal")
    run(*arguments, "--allow-remote", "--allow-host", "tables.internal", "--allow-host", "10.0.0.5:8443")
    assert hosts == [("tables.internal", "10.0.0.5:8443")]


def test_a_configuration_file_opens_classes_with_values(tmp_path):
    config = {
        "model": {"green": {"class": "models.py@Says", "word": "green"}},
        "data": {"half": {"class": "benches.py@Bench", "dataset": "One", "share": 0.5}, "Choices": {}},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    half, choices = runs("--config", "config.json", "--work-dir", "w")
    assert (half["model"], half["eval_file"], half["result"]) == ("green", "w/green/green_One.xlsx", [{"hits": 0.125}])
    assert choices["result"][0]["Overall"] == 0.5


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ([], "expected an object with model and data"),
        ({"models": {}}, "has no 'models'. Did you mean model?"),
        ({"model": {"m": {"class": "LLaVA"}}, "data": {"One": {}}}, "no class 'LLaVA' here"),
        ({"model": {"m": {"word": "x"}}, "data": {"One": {"class": "ImageMCQDataset", "dataset": "One"}}}, "no class"),
    ],
)
def test_a_configuration_that_says_nothing_known_is_refused(tmp_path, config, words):
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match=words):
        run("--config", "config.json")


def test_services_are_asked_with_the_flags_of_the_kit(service):
    flags = ("--max-tokens", 5, "--temperature", 0.5, "--top-p", 0.9, "--repetition-penalty", 1.1, "--timeout", 9)
    more = ("--api-nproc", 2, "--extra-body", '{"top_k": 3}', "--verbose", "--retry", 2, "--reuse-aux", "all")
    (done,) = runs("--data", "Choices", "--model", "vlm", "--base-url", service.url, *flags, *more)
    assert done["result"][0]["Overall"] == 0.5
    body = service.asked[0]
    asked = {name: body[name] for name in ("temperature", "top_p", "repetition_penalty", "top_k")}
    assert asked == {"temperature": 0.5, "top_p": 0.9, "repetition_penalty": 1.1, "top_k": 3}


def test_a_judge_reads_what_the_rules_cannot(service):
    arguments = ("--data", "Choices", "--model", "m", "--config", "config.json")
    Path("config.json").write_text(json.dumps({"model": {"m": {"class": "models.py@Says", "word": "who knows"}}}))
    arguments = ("--data", "Choices", "--config", "config.json")
    (alone,) = runs(*arguments)
    judge = ("--judge", "judge", "--judge-base-url", service.url, "--judge-api-nproc", 2)
    (judged,) = runs(*arguments, *judge, "--mode", "eval", "--judge-args", '{"max_tokens": 4}')
    assert (alone["result"][0]["Overall"], judged["result"][0]["Overall"]) == (0, 0.5)
    (ruled,) = runs(*arguments, "--judge", "exact_matching", "--mode", "eval")
    assert ruled["result"] == alone["result"]


def test_a_limit_where_nobody_is_asked_is_refused():
    arguments = ("--data", "benches.py@Bench", "--model", "models.py@Says")
    with pytest.raises(UsageError, match="--limit: has no effect with --mode eval, which scores all rows"):
        run(*arguments, "--mode", "eval", "--limit", 1)


def test_what_goes_to_evaluate_is_named():
    arguments = ("--data", "benches.py@Bench", "--model", "models.py@Says", "--judge", "j", "--nproc", 3)
    done = runs(*arguments, "--judge-args", '{"x": 1}')[0]
    assert done["result"] == [{"hits": 0.25, "model": "j", "nproc": 3, "x": 1}]


@pytest.mark.parametrize(
    ("flag", "instead"),
    [
        (("--key", "secret"), "OPENAI_API_KEY"),
        (("--judge-key", "secret"), "OPENAI_API_KEY"),
        (("--use-vllm",), "--base-url"),
        (("--use-verifier",), "--judge"),
        (("--keep-failed",), "Retry samples"),
        (("--thinker",), "--max-tokens"),
        (("--custom-prompt", "x"), "build_prompt"),
        (("--video-llm",), "Videos"),
        (("--local-media",), "sent"),
    ],
)
def test_a_flag_without_counterpart_says_what_to_do(flag, instead):
    with pytest.raises(UsageError, match=f"{flag[0]}: has no counterpart here.*{instead}"):
        run("--data", "One", "--model", "m", *flag)


def test_the_code_tells_how_it_ended(tmp_path):
    Path("config.json").write_text(json.dumps({"model": {"m": {"class": "models.py@Says", "word": "nothing"}}}))
    (failed,) = runs("--data", "benches.py@Bench", "--config", "config.json", "--mode", "infer", "--limit", 1, code=3)[
        :1
    ]
    assert failed["summary"]["failed"] == 1
    both = runs(
        "--import", "benches.py", "--data", "One", "Choices", "--model", "models.py@Says", "--judge", "j", code=3
    )
    assert [("error" in one) for one in both] == [False, True]
    with pytest.raises(UsageError, match="Give --data and --model"):
        run("--data", "One", "--import", "benches.py")
    with pytest.raises(UsageError, match=r"unknown benchmark 'Oe'\. Did you mean One\?"):
        run("--data", "Oe", "--model", "m")
    with pytest.raises(Error, match="no such folder"):
        run("--data", "Choices", "--model", tmp_path / "no-model")


def test_what_goes_wrong_in_the_users_code_ends_its_run_alone_and_names_the_line():
    Path("faulty.py").write_text(
        "from vlmeval.dataset import ImageBaseDataset\n"
        "class Unscored(ImageBaseDataset):\n"
        "    def evaluate(self, eval_file, **judge_kwargs):\n"
        "        return {'hits': 1 / 0}\n"
        "class Unasked(Unscored):\n"
        "    def build_prompt(self, line):\n"
        "        return super().build_prompt(line) if line['index'] else line['nothing']\n"
    )
    (failed,) = runs("--data", "One=faulty.py@Unscored", "--model", "models.py@Says", code=1)
    assert failed["error"].startswith("evaluate raised ZeroDivisionError: division by zero (faulty.py:4).")
    unasked = ("--data", "One=faulty.py@Unasked", "--model", "models.py@Says", "--mode", "infer")
    (asked,) = runs(*unasked, code=3)
    assert asked["refused"][0].startswith("row '0': build_prompt raised KeyError: 'nothing' (faulty.py:7).")
    assert (asked["summary"]["rows"], asked["summary"]["failed"]) == (3, 0)


def test_the_kits_own_workbook_is_scored_by_the_benchmarks_evaluate():
    run("--data", "benches.py@Bench", "--model", "models.py@Says", "--mode", "infer")
    arguments = ("--recipe", "benches.py@Bench", "--dataset", "One", "--json", "--quiet")
    scored = mmscore("score", "outputs/Says/Says_One.xlsx", *arguments)
    # What evaluate prints stays out of the result.
    assert scored.err == "evaluating\n"
    assert json.loads(scored.out)["entries"][0]["metrics"]["hits"]["value"] == 0.25
