"""What both programs say of the mistakes that are made most: the whole message, word by word, and the exit code."""

import contextlib
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.chat_server import chat_server, find_closed_port, refused
from support.terminal import Shown, mmconvert, mmscore, shown

QUESTIONS = "id,question,A,B,answer\n1,Which?,x,y,A\n2,Which one?,x,y,B\n"
PREDICTIONS = '{"id": "1", "question": "Which?", "answer": "x", "prediction": "x"}\n'


@pytest.fixture(autouse=True)
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with questions, predictions, and a dataset made of the questions."""
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text(QUESTIONS)
    Path("p.jsonl").write_text(PREDICTIONS)
    assert mmconvert("convert", "x.csv", "-o", "data", "--quiet").code == 0
    return tmp_path


def usage(command: str, arguments: str, error: str) -> str:
    return f"Usage: {command} {arguments}\nTry '{command} --help' for help.\n\nError: {error}\n"


TO_TRAIN = """  dataset:  load_dataset('train')
  next:     train on it, in TRL: train_dataset=load_dataset('train')['test']
"""

MESSAGES = {
    "mmscore predict x.csv": (
        2,
        "mmscore: x.csv: is not a dataset. Convert it first: mmconvert convert x.csv -o x\n",
    ),
    "mmscore predict x.csv -o p.parquet --model m": (
        2,
        "mmscore: x.csv: is not a dataset. Convert it first: mmconvert convert x.csv -o x\n",
    ),
    "mmscore data": (
        1,
        (
            "mmscore: data: is a dataset without predictions. Run mmscore predict first: "
            "mmscore predict data -o predictions.parquet --model MODEL\n"
        ),
    ),
    "mmscore data/data/test-00000-of-00001.parquet": (
        1,
        (
            "mmscore: data/data/test-00000-of-00001.parquet: is a dataset without predictions. "
            "Run mmscore predict first: "
            "mmscore predict data/data/test-00000-of-00001.parquet -o predictions.parquet --model MODEL\n"
        ),
    ),
    "mmscore x.csv": (
        1,
        (
            "mmscore: x.csv: holds questions and answers but no predictions. Give it as --answers: "
            "mmscore PREDICTIONS --answers x.csv. If it holds predictions too, name the column that holds them: "
            "--map prediction=COLUMN.\n"
        ),
    ),
    "mmconvert convert x.csv -o out --to openai": (
        2,
        usage(
            "mmconvert convert",
            "[OPTIONS] INPUT...",
            "No such option '--to'. It is an option of mmconvert export. For example: "
            "mmconvert export mmbench -o again.tsv --to lmudata",
        ),
    ),
    "mmconvert export data -o out.jsonl --to openai": (
        2,
        (
            "mmconvert: unknown format 'openai'. "
            "Did you mean openai_finetune or openai_messages or openai_preference? List all: mmconvert list formats\n"
        ),
    ),
    "mmscore p.jsonl --recipe mmbench": (
        2,
        (
            "mmscore: unknown recipe 'mmbench'. Did you mean mmbench_circular or lmms_mmbench_static? "
            "List all: mmscore list recipes\n"
        ),
    ),
    "mmconvert push data user/demo": (
        2,
        (
            "mmconvert: user/demo: the Hub takes no push without a token. Run `hf auth login`, or set HF_TOKEN to a "
            "token that may write (https://huggingface.co/settings/tokens).\n"
        ),
    ),
    "mmconvert convert x.csv -o out --push user/demo": (
        2,
        (
            "mmconvert: user/demo: the Hub takes no push without a token. Run `hf auth login`, or set HF_TOKEN to a "
            "token that may write (https://huggingface.co/settings/tokens).\n"
        ),
    ),
    "mmscore p.jsonl --push user/demo": (
        2,
        (
            "mmscore: user/demo: the Hub takes no push without a token. Run `hf auth login`, or set HF_TOKEN to a "
            "token that may write (https://huggingface.co/settings/tokens).\n"
        ),
    ),
}


@pytest.mark.parametrize("line", MESSAGES)
def test_a_mistake_is_met_with_what_to_type(line: str, scene: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    before = sorted(scene.rglob("*"))
    program, *words = line.split()
    code, message = MESSAGES[line]
    assert shown(program, *words) == Shown(code, "", message)
    assert sorted(scene.rglob("*")) == before


def test_each_command_that_a_message_names_can_be_typed() -> None:
    """The commands that the messages above lead to, typed as they are written."""
    assert mmconvert("convert", "x.csv", "-o", "x", "--quiet").code == 0
    model = ("--model", "answer", "--backend", "echo", "--quiet")
    assert mmscore("predict", "data", "-o", "predictions.parquet", *model).code == 0
    assert mmscore("predictions.parquet", "--answers", "x.csv").code == 0
    assert mmconvert("list", "formats").code == mmscore("list", "recipes").code == 0


def test_a_file_of_a_run_without_a_response_is_scored_all_the_same() -> None:
    with chat_server(lambda _: refused(400)) as server:
        words = ("--model", "m", "--base-url", server.url, "--limit", "2", "--quiet")
        assert mmscore("predict", "data", "-o", "none.parquet", *words).code == 3
    scored = mmscore("none.parquet", "--quiet")
    assert (scored.code, scored.err) == (3, "")
    assert "0 of 2" in scored.out


def test_training_comes_after_a_conversion_to_training_rows() -> None:
    done = mmconvert("convert", "x.csv", "-o", "train", "--view", "sft")
    assert done.code == 0
    assert done.out.endswith(f"\n{TO_TRAIN}")
    done = mmconvert("convert", "x.csv", "-o", "eval")
    assert done.out.endswith("\n  next:     mmscore predict eval -o predictions.parquet --model MODEL\n")


def test_a_server_that_does_not_run_is_named_at_once(attempts: list[tuple[str, int]]) -> None:
    port = find_closed_port()
    url = f"http://127.0.0.1:{port}/v1"
    ended = mmscore("predict", "data", "-o", "p.parquet", "--model", "m", "--base-url", url, "--quiet")
    message = (
        f"mmscore: {url}/chat/completions: the API server cannot be reached (Connection refused). "
        "Start it or correct the base URL, and run the same command again.\n"
    )
    assert ended == Shown(1, "", message)
    assert attempts == [("127.0.0.1", port)]


# A disk without room


@contextlib.contextmanager
def limit_files(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size."""
    before, compiles = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    # A limit would cut compiled modules too, for every later run.
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = compiles


@contextlib.contextmanager
def mount_full(place: Path) -> Iterator[None]:
    """Mount a disk that is full."""
    size = ["-o", f"size={os.sysconf('SC_PAGE_SIZE')}"]
    if subprocess.run(["mount", "-t", "tmpfs", *size, "tmpfs", place], capture_output=True).returncode:
        pytest.skip("mounting is refused here; the limit on files stands in")
    try:
        with contextlib.suppress(OSError):
            (place / "full").write_bytes(bytes(1 << 20))
        yield
    finally:
        subprocess.run(["umount", place], check=True)


WRITERS = {
    "mmconvert convert x.csv -o disk/out": "disk/out: cannot be written ({}).",
    "mmconvert export data -o disk/out.jsonl --to openai_messages": "disk/out.jsonl: cannot be written ({}).",
    "mmconvert preview data -o disk/out.html": "disk/out.html: cannot be written ({}).",
    "mmscore p.jsonl -o disk/out.json": "disk/out.json: cannot be written ({}).",
    "mmscore p.jsonl --csv disk/out.csv": "disk/out.csv: cannot be written ({}).",
    "mmscore p.jsonl --rows disk/out.parquet": "disk/out.parquet: cannot be written ({}).",
    "mmscore p.jsonl --html disk/out.html": "disk/out.html: cannot be written ({}).",
}


@pytest.mark.parametrize("line", WRITERS)
@pytest.mark.parametrize("reason", ["File too large", "No space left on device"])
def test_a_full_disk_is_named_and_nothing_is_left(line: str, reason: str, scene: Path) -> None:
    (scene / "disk").mkdir()
    program, *words = line.split()
    assert shown(program, *words, "--quiet").code == 0  # what is loaded first is loaded
    shutil.rmtree(scene / "disk")
    (scene / "disk").mkdir()
    with limit_files(10) if reason == "File too large" else mount_full(scene / "disk"):
        ended = shown(program, *words, "--quiet")
        left = sorted(path.name for path in (scene / "disk").iterdir() if path.name != "full")
    message = f"{program}: {WRITERS[line].format(reason)} Free space there, or name another place.\n"
    assert ended == Shown(1, "", message)
    assert left == []


@pytest.mark.parametrize("full", [True, False])
def test_a_full_disk_ends_a_run_of_a_model(full: bool, scene: Path) -> None:
    (scene / "disk").mkdir()
    words = ("predict", "data", "-o", "disk/p.parquet", "--model", "answer", "--backend", "echo", "--quiet")
    with mount_full(scene / "disk") if full else limit_files(10):
        ended = mmscore(*words)
    reason = "database or disk is full" if full else "disk I/O error"
    message = (
        f"mmscore: disk/p.parquet.answers.sqlite: cannot be written or read ({reason}). "
        "Answers stored before are kept. Free space there, or name another place.\n"
    )
    assert ended == Shown(1, "", message)
    assert mmscore(*words).code == 0
