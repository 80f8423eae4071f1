"""EvalScope itself reads the files that we export, and gives the same numbers to the same replies."""

import json
import shutil
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mmconvert.cli import program as mmconvert
from mmscore.compat.evalscope import TaskConfig, run_task
from support.chat_server import Said, chat_server, said
from support.kit_environment import kit_python

PACKAGES = (
    *("modelscope-hub", "colorlog", "datasets", "docstring-parser", "editdistance", "filetype", "httpx", "jieba"),
    *(
        "jsonlines",
        "jsonschema",
        "langdetect",
        "latex2sympy2_extended[antlr4_9_3]",
        "matplotlib",
        "more_itertools",
        "nltk",
    ),
    *("openai", "overrides", "pandas", "pillow", "plotly", "pydantic", "pylatexenc"),
    *("python-dotenv", "requests", "rich", "rouge-chinese", "rouge-score", "sacrebleu", "scikit-learn"),
    *("seaborn", "sympy", "tabulate", "tiktoken", "tqdm", "transformers", "word2number"),
    "zhconv",
)
"""What EvalScope imports for these benchmarks; by itself it would ask for torch with CUDA, too."""

KIT = """
import json
import sys
from evalscope.config import TaskConfig
from evalscope.run import run_task

result = run_task(TaskConfig(**json.loads(sys.argv[1])))
print(json.dumps({name: report.to_dict() for name, report in result.items()}, default=str))
"""
SAYS = (
    *("It is red.", "**ANSWER: B**", "The colour of the image is green, I think.", "ANSWER: C\nNo other.", "blue"),
    *("Answer: A", "None of them", "yellow yellow", "<think>B or C?</think> ANSWER: C"),
)


def reply(request: dict[str, Any]) -> Said:
    """Say something that hangs on the prompt alone."""
    text = json.dumps(request["messages"], sort_keys=True)
    return said(SAYS[sum(text.encode()) % len(SAYS)])


def converted(*arguments: object) -> None:
    result = CliRunner().invoke(mmconvert, [*map(str, arguments)], standalone_mode=False, catch_exceptions=False)
    # 3: an id of another format's has no place here.
    assert result.return_value in (None, 0, 3), result.output


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Datasets of other formats, exported as EvalScope's, in both endings."""
    folder = tmp_path_factory.mktemp("exported")
    with resources.as_file(resources.files("mmconvert.testing.demo") / "files") as examples:
        for source, kind, name in (("openai_messages", "openai_messages", "vqa"), ("lmudata", "vmcq", "vmcq")):
            shutil.copytree(examples / source, folder / source)
            file = next(path for path in (folder / source).iterdir() if path.is_file())
            converted("convert", file, "-o", folder / name, "--quiet")
            for ending in ("jsonl", "tsv"):
                converted("export", folder / name, "-o", folder / ending / f"{name}.{ending}", "--to", kind)
    return folder


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with what both releases need."""
    return kit_python(tmp_path_factory.mktemp("kit") / "venv", PACKAGES, ("modelscope",))


def release(python: Path, version: str, folder: Path) -> Path:
    """Install a release alone, into a folder for PYTHONPATH."""
    command = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, f"evalscope=={version}"]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def with_word_lists(folder: Path) -> Path:
    """Make a folder of NLTK's data: the kit would fetch it, ours has the same lists of words."""
    punkt = folder / "nltk_data/tokenizers/punkt_tab/english"
    with resources.as_file(resources.files("mmscore") / "data/punkt_english") as words:
        shutil.copytree(words, punkt)
    (punkt / "ortho_context.tab").touch()
    return folder / "nltk_data"


@pytest.mark.release
@pytest.mark.parametrize("version", ["1.3.0", "1.14.1"])
def test_evalscope_gives_our_numbers_to_our_files(
    version: str, python: Path, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {"PATH": "", "HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    env |= {
        "PYTHONPATH": str(release(python, version, tmp_path / version)),
        "NLTK_DATA": str(with_word_lists(tmp_path)),
    }
    monkeypatch.chdir(tmp_path)
    for ending in ("jsonl", "tsv"):
        task: dict[str, Any] = {
            "model": "demo-1b",
            "eval_type": "openai_api",
            "datasets": ["general_vqa", "general_vmcq"],
            "dataset_args": {
                f"general_{name}": {"local_path": str(exported / ending), "subset_list": [name]}
                for name in ("vqa", "vmcq")
            },
        }
        with chat_server(reply) as service:
            config = TaskConfig(**task, api_url=service.url, use_cache=f"ours-{ending}", evalscope_version=version)
            ours = run_task(config)
        shutil.copytree(f"ours-{ending}/predictions", f"kit-{ending}/predictions")
        # Nobody listens there: replies that the kit does not find would be errors.
        asked = {**task, "api_url": "http://127.0.0.1:9/v1", "api_key": "EMPTY"}
        asked |= {"use_cache": f"kit-{ending}", "rerun_review": True}
        done = subprocess.run(
            [python, "-c", KIT, json.dumps(asked)],
            capture_output=True,
            text=True,
            check=False,
            env=env,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        kit = json.loads(done.stdout.splitlines()[-1])
        assert kit.keys() == ours.keys()
        for name, report in ours.items():
            assert [known(metric) for metric in kit[name]["metrics"]] == [known(m) for m in report["metrics"]]
            assert report["metrics"][0]["num"] == 4


def known(metric: dict[str, Any]) -> list[Any]:
    """What both reports say of a metric: what it is, over how many rows, its value, and the same by subset."""
    (category,) = metric["categories"]
    subsets = [(one["name"], one["num"], one["score"]) for one in category["subsets"]]
    named = metric["identity"] if "identity" in metric else metric["name"]
    return [named, metric["num"], metric["score"], metric["macro_score"], list(category["name"]), subsets]
