"""Pages of the documentation that are to be followed are followed: their commands run and show what they say."""

import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from mmconvert.pipeline.convert import read
from mmconvert.testing.demo.tiny_vlm import train
from support import how_tos
from support.documents import follow, matches, reaching, steps
from support.terminal import mmconvert
from support.tiny_models import save_llava

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SOON = ("lmudata", "bad-input", "install")
"""Pages that are followed in every run: from a file to a number; the others wait for the release."""
SMOLVLM = "HuggingFaceTB/SmolVLM-256M-Instruct"
"""The model of pages, in whose place tests put an untrained one of their own."""


def _defer(pages: Iterable[str]) -> list[Any]:
    return [pytest.param(page, marks=() if page in SOON else pytest.mark.release) for page in pages]


def test_the_readme_can_be_followed(tmp_path):
    follow(ROOT / "README.md", tmp_path)


@pytest.mark.release
def test_the_tutorial_can_be_followed(tmp_path):
    follow(DOCS / "tutorial.md", tmp_path, words={SMOLVLM: str(save_llava(tmp_path / "llava"))})
    assert (tmp_path / "start/trained/checkpoint-2/model.safetensors").exists()


@pytest.mark.parametrize("page", _defer(how_tos.PAGES))
def test_a_how_to_can_be_followed(page, hub, tmp_path):
    how_tos.follow_how_to(page, hub, tmp_path)


@pytest.mark.parametrize("page", how_tos.PAGES)
def test_a_how_to_begins_with_the_demo_files(page):
    first = next(steps((DOCS / "howto" / f"{page}.md").read_text(encoding="utf-8")))
    assert first.command.startswith("mmconvert demo --files-only demo\n")


@pytest.mark.parametrize(
    "page", _defer(["bad-input", "dedupe", "faq", "install", "overlap", "why-frameworks-disagree"])
)
def test_what_an_explanation_shows_is_so(page, tmp_path):
    follow(DOCS / f"{page}.md", tmp_path)


@pytest.mark.release
def test_the_page_of_python_says_what_the_functions_give(tmp_path):
    follow(DOCS / "python.md", tmp_path)


@pytest.mark.release
def test_the_page_on_the_hub_can_be_followed(hub, tmp_path):
    follow(DOCS / "hub.md", tmp_path, reaching(hub, tmp_path), {"YOUR_NAME": "user"})
    assert [*hub.repos] == ["datasets/user/colours", "datasets/user/answers"]


@pytest.mark.release
def test_a_table_becomes_a_dataset_on_the_hub_and_a_trained_model(hub, tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    own = {"YOUR_NAME": "user", SMOLVLM: str(save_llava(tmp_path / "llava"))}
    follow(DOCS / "publish.md", tmp_path, reaching(hub, tmp_path), own)
    assert [*hub.repos] == ["datasets/user/colours", "datasets/user/colours-test"]
    assert (tmp_path / "trained/checkpoint-2/model.safetensors").exists()


@pytest.mark.release
def test_the_page_on_statistics_can_be_followed(tmp_path):
    own = {"YOUR_PROCESSOR": str(save_llava(tmp_path / "llava"))}
    follow(DOCS / "stats.md", tmp_path, words=own)


@pytest.mark.release
def test_the_page_on_training_can_be_followed(tmp_path, monkeypatch):
    records = [*read(ROOT / "src/mmconvert/testing/demo/files/lmudata/Colours.tsv")]
    # It has learnt enough to be right at times, and not enough to be right always: pairs need both.
    train(tmp_path / "half-trained", records, max_steps=40)
    shutil.copytree(ROOT / "examples", tmp_path / "page/examples")
    own = {"HuggingFaceTB/SmolVLM-256M-Instruct": str(tmp_path / "half-trained")}
    follow(DOCS / "training.md", tmp_path / "page", words=own)
    monkeypatch.chdir(tmp_path / "page")
    commands = re.findall(r"`mmconvert (export data .*?)`", (DOCS / "training.md").read_text(encoding="utf-8"))
    assert len(commands) == 6
    for command in commands:
        assert ": 4 rows as " in mmconvert(*command.split()).out


# The follower itself


def _page(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text)
    return page


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ("```console\n$ echo a\nb\n```", "the page says"),
        ("```console\n$ echo a; echo b\na\n```", "the page says"),
        ("```console\n$ false\n```", "ends with 1, not 0"),
        ("```console\n$ true  # exit code 3\n```", "ends with 0, not 3"),
        ("```bash\nexit 4\n```", "the shell ended"),
        ("```python\nassert 1 > 2\n```", "ends with 1, not 0"),
        ("```pycon\n>>> 1 + 1\n3\n```", "ends with 1, not 0"),
        ("```\necho a\n```", "no language"),
        ("```pyhton\n1\n```", "pyhton"),
    ],
)
def test_a_page_that_is_wrong_is_found(tmp_path, block, complaint):
    with pytest.raises(AssertionError, match=complaint):
        follow(_page(tmp_path, f"# Page\n\n{block}\n"), tmp_path)


def test_one_shell_runs_all_of_a_page(tmp_path):
    files = "```bash\nmkdir a\ncd a\nexport SAID=yes\n```\n\n"
    text = files + "```console\n$ echo $SAID \\\n    $(basename $PWD)\nyes a\n$ cat\n```\n"
    assert len(follow(_page(tmp_path, text), tmp_path)) == 3


def test_what_is_only_shown_is_no_step():
    assert list(steps("```text\npip install x\n```\n\n```yaml\na: 1\n```\n")) == []


def test_dots_stand_for_what_may_differ():
    assert matches("a ... d\n...\nend", "\na b c d\n1\n2\nend   \n\n")
    assert matches("...\nend", "end")
    assert not matches("a\nend", "a\n1\nend")
    assert not matches("a.c", "abc")
