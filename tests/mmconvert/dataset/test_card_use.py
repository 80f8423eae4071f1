"""What the card of a published dataset shows is run as it stands, with a small model."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.documents import reaching
from support.tiny_models import save_llava

pytestmark = pytest.mark.release

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def published(hub, repository, tmp_path, monkeypatch):
    """Publish a file's rows in a layout; give the blocks of the card's part "Use" by their languages."""
    for name, value in {**reaching(hub, tmp_path / "home"), "HF_DATASETS_OFFLINE": "0"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    monkeypatch.chdir(tmp_path)
    source = repository / "src/mmconvert/testing/demo/files/lmudata/Colours.tsv"
    model = save_llava(tmp_path / "llava")

    def made(repo, *layout):
        command = [sys.executable, "-m", "mmconvert", "convert", source, "-o", "made", *layout, "--quiet"]
        subprocess.run([*command, "--push", repo], check=True)
        card = hub.dataset(repo).files()["README.md"].decode()
        return {kind: code.replace("MODEL", str(model)) for kind, code in BLOCK.findall(card.partition("## Use\n")[2])}

    return made


def done(*command):
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_rows_are_loaded_asked_about_scored_and_laid_out_for_training(published, tmp_path):
    blocks = published("user/asked")
    assert done(sys.executable, "-c", blocks["python"] + "print(rows.num_rows)").split() == ["4"]
    short = blocks[""].replace("/llava\n", "/llava --max-new-tokens 4\n")
    assert "4 rows: 4 scored" in done("bash", "-ec", short)
    assert (tmp_path / "train/README.md").exists()


@pytest.mark.release
def test_a_model_is_trained(published, tmp_path):
    blocks = published("user/learnt", "--view", "sft", "--split", "train")
    assert "'train_loss'" in done(sys.executable, "-c", blocks["python"])
    assert [*(tmp_path / "output").glob("checkpoint-*/model.safetensors")]
