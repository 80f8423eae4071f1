"""A user's mistake: one clear message, no traceback, the exit code of the contract, nothing left behind."""

import base64
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from support.records import image_bytes
from support.terminal import mmconvert, names_next_step, one_message

IMAGE = base64.b64encode(image_bytes("PNG")).decode()
HEADER = "index\tquestion\tA\tB\tanswer\timage\n"


@pytest.fixture(autouse=True)
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a good table, bad ones, and a dataset."""
    monkeypatch.chdir(tmp_path)
    good = f"1\tWhich?\tx\ty\tA\t{IMAGE}\n"
    files = {
        "questions.tsv": HEADER + good,
        "column.tsv": HEADER.replace("question", "qestion") + good,
        "missing.tsv": "index\tquestion\tanswer\n1\tq\tA\n",
        "twice.tsv": HEADER.replace("A\tB", "A\tA") + good,
        "picture.tsv": HEADER + f"1\tWhich?\tx\ty\tA\t{IMAGE[:40]}\n",
        "letter.tsv": HEADER + good + f"2\tWhich?\tx\ty\tE\t{IMAGE}\n",
        "empty.tsv": "",
        "header.tsv": HEADER,
        "utf16.tsv": (HEADER + good).encode("utf-16")[:-1],
        "path.jsonl": json.dumps({"question": "<image 1>?", "options": ["a", "b"], "answer": "A", "image_1": "no.png"}),
        "damaged.parquet": b"PAR1" + b"\0" * 64 + b"PAR1",
        "notes.txt": "hello",
        "plugin.py": "FORMAT = 1\n",
    }
    for name, text in files.items():
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert mmconvert("convert", "questions.tsv", "-o", "taken", "--format", "lmudata", "--quiet").code == 0
    return tmp_path


LMU = ["--format", "lmudata"]


def standing(folder: Path) -> dict[Path, int]:
    """What stands in a folder and since when, without what a run may leave: rejects, and Python's own cache."""
    may_appear = ("out.rejects.jsonl", "__pycache__")
    return {path: path.stat().st_mtime_ns for path in folder.iterdir() if path.name not in may_appear}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "Missing argument 'INPUT...'."),
        (["questions.tsv"], 2, "Missing option '-o' / '--output'."),
        (
            ["questions.tsv", "-o", "out", "--formt", "x"],
            2,
            "No such option '--formt'. (Did you mean one of: '--format', ",
        ),
        (["qestions.tsv", "-o", "out"], 2, "qestions.tsv: no such file or folder. Did you mean questions.tsv?"),
        (
            ["questions.tsv", "-o", "out", "--format", "lmudta"],
            2,
            "unknown format 'lmudta'. Did you mean lmudata? List all: mmconvert list formats",
        ),
        (["questions.tsv", "-o", "out", "--format", "nowhere.py@FORMAT"], 2, "nowhere.py: no such file or folder."),
        (
            ["questions.tsv", "-o", "out", "--format", "plugin.py@FORMT"],
            2,
            "plugin.py: has no 'FORMT'. Did you mean FORMAT?",
        ),
        (["questions.tsv", "-o", "out", "--format", "plugin.py@FORMAT"], 2, "plugin.py@FORMAT: is not a format"),
        (
            ["questions.tsv", "-o", "out", "--format", "plugin.py"],
            2,
            "plugin.py: the object in the file is missing",
        ),
        (["questions.tsv", "-o", "taken", *LMU], 2, "taken: already exists. Give --overwrite, or --append"),
        (["questions.tsv", "-o", "questions.tsv", *LMU], 2, "questions.tsv: is a file. Name a folder for the dataset."),
        (["questions.tsv", "-o", ".", *LMU, "--overwrite"], 1, ".: is not a dataset created by mmconvert"),
        (["questions.tsv", "-o", "notes.txt/out", *LMU], 1, "notes.txt/out: cannot be made: Not a directory."),
        (["questions.tsv", "-o", "/proc/out", *LMU], 1, "/proc/out: cannot be made: "),
        (
            ["questions.tsv", "-o", "out", *LMU, "--append", "--overwrite"],
            2,
            "--append and --overwrite exclude each other.",
        ),
        (["questions.tsv", "-o", "out", *LMU, "--split", "a-b"], 2, "'a-b' is not a split name."),
        (["questions.tsv", "-o", "out", *LMU, "--config-name", "../x"], 2, "'../x' is not a config name."),
        (["questions.tsv", "-o", "out", *LMU, "--subset", "a", "--subset", "b"], 2, "--subset picks files of a folder"),
        (["questions.tsv", "-o", "out", *LMU, "--image-root", "none"], 2, "Directory 'none' does not exist."),
        (["questions.tsv", "-o", "out", *LMU, "--rejects", "questions.tsv"], 2, "questions.tsv: is the input itself."),
        (["questions.tsv", "-o", "out", *LMU, "--limit", "-1"], 2, "Invalid value for '--limit'"),
        (["column.tsv", "-o", "out", *LMU], 1, "column.tsv:2 question: "),
        (
            ["missing.tsv", "-o", "out", *LMU],
            1,
            "missing.tsv:1 image or image_path or video_path or video: there is no such column. Found: ",
        ),
        (["twice.tsv", "-o", "out", *LMU], 1, "twice.tsv:1: the column 'A' appears twice. Rename one of them."),
        (["picture.tsv", "-o", "out", *LMU], 1, "picture.tsv:2 image: "),
        (
            ["letter.tsv", "-o", "out", *LMU, "--on-bad", "fail"],
            1,
            "letter.tsv:3 answer: expected one of A, B (got 'E').",
        ),
        (["empty.tsv", "-o", "out", *LMU], 1, "empty.tsv: the file is empty."),
        (["header.tsv", "-o", "out", *LMU], 1, "header.tsv: holds no rows. Give --allow-empty"),
        (["utf16.tsv", "-o", "out", *LMU], 1, "utf16.tsv: is no whole UTF-16 at byte "),
        (["damaged.parquet", "-o", "out"], 1, "damaged.parquet: is a damaged parquet file"),
        (["notes.txt", "-o", "out", *LMU], 1, "notes.txt:1"),
        (["path.jsonl", "-o", "out", "--format", "vmcq"], 1, "Give its folder: --image-root ."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_message(arguments: list[str], code: int, message: str, scene: Path) -> None:
    before = standing(scene)
    ended = mmconvert("convert", *arguments)
    said = one_message(ended)
    assert message in said
    assert names_next_step(said)
    assert ended.code == code
    assert standing(scene) == before


def test_a_bad_row_among_good_ones_is_refused_alone() -> None:
    ended = mmconvert("convert", "letter.tsv", "-o", "out", *LMU, "--quiet")
    assert (ended.code, ended.out, ended.err) == (3, "", "")
    assert json.loads(Path("out.rejects.jsonl").read_text())["code"] == "answer.not_an_option"


def test_a_file_of_no_format_says_what_would_make_it_fit_and_inspect_names_every_reason() -> None:
    Path("odd.jsonl").write_text('{"promt": "What?", "answer": "red"}\n')
    ended = mmconvert("convert", "odd.jsonl", "-o", "out")
    assert ended.code == 1
    message = one_message(ended)
    assert message.startswith("odd.jsonl: none of the formats of .jsonl files fits.")
    assert message.endswith("Name it: --map question=promt. Why the others do not fit: mmconvert inspect odd.jsonl")
    assert "\n  vmcq: no field 'question'" in one_message(mmconvert("inspect", "odd.jsonl"))
    assert mmconvert("convert", "odd.jsonl", "-o", "out", "--map", "question=promt").code == 0


def test_no_command_shows_the_commands_and_an_unknown_one_the_nearest() -> None:
    ended = mmconvert()
    assert (ended.code, ended.out) == (2, "")
    assert "convert       Convert files" in ended.err
    ended = mmconvert("convret", "questions.tsv")
    assert ended.code == 2
    assert one_message(ended) == "No such command 'convret'. Did you mean convert?"


def test_a_name_that_would_drive_the_terminal_is_escaped() -> None:
    ended = mmconvert("convert", "\x1b[31mred.tsv", "-o", "out")
    assert "\x1b" not in ended.err
    assert "\\x1b[31mred.tsv: no such file or folder." in ended.err


def test_a_full_disk_is_one_message_and_leaves_nothing(scene: Path) -> None:
    row = f"\tWhich?\tx\ty\tA\t{base64.b64encode(image_bytes('BMP', 1, (300, 300))).decode()}\n"
    Path("large.tsv").write_text(HEADER + "".join(f"{n}{row}" for n in range(20)))
    before = sorted(path.name for path in scene.iterdir())
    ended = subprocess.run(
        [sys.executable, "-m", "mmconvert", "convert", "large.tsv", "-o", "out", *LMU],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)),
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    advice = "Free space there, or name another place."
    assert ended.stderr == f"mmconvert: out: File too large. Nothing was written. {advice}\n"
    assert sorted(path.name for path in scene.iterdir()) == before


def test_a_real_process_shows_no_traceback_either() -> None:
    for arguments, code in ((["convert", "qestions.tsv", "-o", "out"], 2), (["convert", "empty.tsv", "-o", "out"], 1)):
        ended = subprocess.run(
            [sys.executable, "-m", "mmconvert", *arguments], capture_output=True, text=True, timeout=60
        )
        assert (ended.returncode, ended.stdout) == (code, "")
        assert len(ended.stderr.splitlines()) == 1
        assert ended.stderr.startswith("mmconvert: ")
