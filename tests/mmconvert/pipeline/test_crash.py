"""A conversion that is killed or interrupted at any moment: the old dataset whole, nothing, or the new one whole."""

import base64
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import PIL.Image
import pytest

from mmconvert.core.errors import UsageError
from mmconvert.dataset.dataset import DatasetWriter, open_dataset
from mmconvert.dataset.verify import verify
from mmconvert.pipeline.convert import ReadOptions, WriteOptions, convert
from mmconvert.pipeline.inputs import plan_inputs

pytestmark = pytest.mark.slow

CRASHES = Path(__file__).parents[2] / "support/crashes.py"
PREDICTIONS = ReadOptions(format="predictions")


def table(path: Path, *ids: str) -> Path:
    path.write_text("id\tprediction\n" + "".join(f"{i}\ta\n" for i in ids) + "bad\t\n", encoding="utf-8")
    return path


def ids(folder: Path) -> dict[str, list[str]]:
    dataset = open_dataset(folder)
    return {split: [r.id for r in dataset.records(split)] for split in dataset.splits}


def hidden(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.startswith("."))


OLD, NEW = {"test": ["old"]}, {"test": ["new"]}


@pytest.mark.parametrize(
    ("before", "options", "after"),
    [
        (None, ["--quiet"], NEW),
        pytest.param(None, ["--share"], NEW, marks=pytest.mark.release),
        pytest.param(OLD, ["--overwrite"], NEW, marks=pytest.mark.release),
        pytest.param(OLD, ["--append", "--split", "dev"], {"test": ["old"], "dev": ["new"]}, marks=pytest.mark.release),
    ],
    ids=["nothing", "share", "overwrite", "append"],
)
def test_a_kill_before_any_step_leaves_something_whole(
    before: dict | None, options: list[str], after: dict, tmp_path: Path
) -> None:
    scene = tmp_path / "scene"
    scene.mkdir()
    if before:
        convert(plan_inputs([str(table(scene / "new.tsv", "old"))]), scene / "out", PREDICTIONS, WriteOptions())
    table(scene / "new.tsv", "new")
    arguments = [scene, tmp_path, "--format", "predictions", "--quiet", *options]
    ended = subprocess.run(
        [sys.executable, CRASHES, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=True
    )
    steps = json.loads(ended.stdout)
    assert sum(step.startswith("rename") and "part-" not in step for step in steps) == (2 if before else 1)
    states = []
    for number, step in enumerate(steps):
        place = tmp_path / str(number)
        found = ids(place / "out") if (place / "out").exists() else None
        assert found in (before, after) or (before and found is None), step
        if found is not None:
            assert verify(place / "out") == [], step
        if (place / "out.rejects.jsonl").exists():
            assert [json.loads(line)["row"] for line in (place / "out.rejects.jsonl").open()] in ([1], [1, 1]), step
        states.append(found)
        if "--share" in options:
            convert(plan_inputs([str(place / "new.tsv")]), place / "out", PREDICTIONS, WriteOptions(share=True))
            assert ids(place / "out") == after, step
            assert hidden(place) == [], step
        _next_run_is_clean(place, before, found, after)
    assert after in states
    if before:
        assert states.count(None) == 1, "one step lies between the two renames"


def _next_run_is_clean(place: Path, before: dict | None, found: dict | None, after: dict) -> None:
    if before and found is None:
        with pytest.raises(UsageError, match="already exists"):
            DatasetWriter(place / "out")
        assert ids(place / "out") == before
    how = WriteOptions(append=True) if before and found == before else WriteOptions(overwrite=True)
    source = f"again={place}/new.tsv" if how.append else str(place / "new.tsv")
    convert(plan_inputs([source]), place / "out", PREDICTIONS, how)
    assert ids(place / "out") == ({**before, "again": ["new"]} if how.append and before else NEW)
    assert verify(place / "out") == []
    assert hidden(place) == []


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of some megabytes; its conversion takes about a second."""
    chance = random.Random(5)
    file = tmp_path_factory.mktemp("large") / "large.tsv"
    with file.open("w", encoding="utf-8") as out:
        out.write("index\tquestion\tA\tB\tanswer\timage\n")
        for number in range(800):
            image = io.BytesIO()
            PIL.Image.frombytes("RGB", (60, 60), chance.randbytes(10_800)).save(image, "PNG", compress_level=0)
            out.write(f"{number}\tWhat?\tx\ty\tA\t{base64.b64encode(image.getvalue()).decode()}\n")
    return file


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "mmconvert", "convert", *map(str, arguments), "--format", "lmudata", "--quiet"]


@pytest.mark.release
def test_a_kill_at_any_moment_leaves_something_whole(large: Path, tmp_path: Path) -> None:
    old = large.with_name("old.tsv")
    old.write_text("".join(large.open(encoding="utf-8").readlines()[:4]), encoding="utf-8")
    started = time.monotonic()
    subprocess.run(command(large, "-o", tmp_path / "whole", "--verify", "decode"), check=True)
    seconds = time.monotonic() - started
    whole = ids(tmp_path / "whole")
    convert(plan_inputs([str(old)]), tmp_path / "old", ReadOptions(format="lmudata"), WriteOptions())
    short = ids(tmp_path / "old")
    chance = random.Random(11)
    killed = 0
    for turn in range(10):
        output = tmp_path / f"{turn}/out"
        output.parent.mkdir()
        if turn % 2:
            shutil.copytree(tmp_path / "old", output)
        # Early enough to hit a run on a machine that has become less busy; the last steps have a test above.
        moment = seconds * (0.15 + 0.6 * (turn + chance.random()) / 10)
        with subprocess.Popen(command(large, "-o", output, "--overwrite", "--verify", "decode")) as child:
            time.sleep(moment)
            child.kill()
        killed += child.returncode == -signal.SIGKILL
        before = short if turn % 2 else None
        found = ids(output) if output.exists() else None
        assert found in (None, before, whole), f"turn {turn}"
        if found is not None:
            assert verify(output) == []
        subprocess.run(command(old, "-o", output, "--overwrite"), check=True)
        assert ids(output) == short
        assert hidden(output.parent) == []
    assert killed >= 3


SLOW_FORMAT = """
import os, sys, time
from mmconvert.formats.predictions import FORMAT as PREDICTIONS
from dataclasses import replace

def rows(path, span):
    for number, row in enumerate(PREDICTIONS.rows(path, span)):
        yield row
        sys.stderr.write(f"row {{os.getpid()}}\\n")
        sys.stderr.flush()
        time.sleep({seconds})

FORMAT = replace(PREDICTIONS, rows=rows)
"""

IN_PARTS = {
    "spawn": """
from mmconvert.pipeline import parts
parts.SMALL_FILE, parts.PART_BYTES = 10, 20
from mmconvert.cli import main
main()
""",
    # What the program begins with is done before Arrow is loaded, as it is without this script.
    "fork": """
from mmconvert import cli
whole = cli.run_program
def in_parts(*arguments, **options):
    from mmconvert.pipeline import parts
    parts.SMALL_FILE, parts.PART_BYTES = 10, 20
    whole(*arguments, **options)
cli.run_program = in_parts
cli.main()
""",
}
"""By how workers begin: with several threads, as a program of the user's has them, or in ours, which has one."""


def write_slow(folder: Path, seconds: float) -> list[object]:
    """Give the options of a conversion that says `row` and its process at every row, and takes so long for it."""
    (folder / "slow.py").write_text(SLOW_FORMAT.format(seconds=seconds))
    file = table(folder / "in.tsv", *map(str, range(40)))
    return [file, "-o", folder / "out", "--format", f"{folder / 'slow.py'}@FORMAT"]


@pytest.fixture
def endless(tmp_path: Path) -> list[object]:
    """The options of a conversion whose processes each begin a row and are ended in it, however late they begin."""
    return write_slow(tmp_path, 3600)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("old", [False, True])
def test_an_interruption_leaves_the_place_as_it_was(
    sent: signal.Signals, old: bool, endless: list[object], tmp_path: Path
) -> None:
    if old:
        convert(plan_inputs([str(table(tmp_path / "old.tsv", "old"))]), tmp_path / "out", PREDICTIONS, WriteOptions())
    arguments = [sys.executable, "-m", "mmconvert", "convert", *map(str, endless), "--overwrite"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr.readline() == f"row {child.pid}\n"
        child.send_signal(sent)
        _, message = child.communicate(timeout=20)
    assert child.returncode == 130
    assert message.strip() == "mmconvert: interrupted. Run the same command again to continue."
    assert (tmp_path / "out").exists() == old
    assert not old or ids(tmp_path / "out") == OLD
    assert hidden(tmp_path) == []


def begun(child: subprocess.Popen) -> int:
    """Wait until a worker is at work and give its number."""
    while True:
        worker = int(child.stderr.readline().removeprefix("row "))
        if worker != child.pid:
            return worker


@pytest.mark.skipif(not Path("/proc/self/exe").exists(), reason="processes are watched through /proc")
@pytest.mark.parametrize(
    ("method", "sent"),
    [
        ("fork", signal.SIGKILL),
        ("fork", signal.SIGINT),
        ("fork", signal.SIGTERM),
        ("spawn", signal.SIGKILL),
        pytest.param("spawn", signal.SIGINT, marks=pytest.mark.release),
        pytest.param("spawn", signal.SIGTERM, marks=pytest.mark.release),
    ],
)
def test_workers_end_with_the_process_that_began_them(
    sent: signal.Signals, method: str, endless: list[object], tmp_path: Path
) -> None:
    arguments = [sys.executable, "-c", IN_PARTS[method], "convert", *map(str, endless), "--workers", "4"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, start_new_session=True) as child:
        workers = {begun(child)}
        while len(workers) < 3:
            workers.add(begun(child))
        for worker in workers:
            assert (b"spawn_main" in Path(f"/proc/{worker}/cmdline").read_bytes()) == (method == "spawn")
        started = time.monotonic()
        child.send_signal(sent)
        child.wait(timeout=10)
        assert child.returncode == (-9 if sent == signal.SIGKILL else 130)
        while any(Path(f"/proc/{worker}/exe").exists() for worker in workers):
            assert time.monotonic() - started < 10, "a worker outlives the run"
            time.sleep(0.05)
    assert not (tmp_path / "out").exists()
    if sent != signal.SIGKILL:
        assert hidden(tmp_path) == []


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.release)])
def test_a_worker_that_dies_ends_the_run_with_one_message(method: str, tmp_path: Path) -> None:
    slow = write_slow(tmp_path, 0.4)
    arguments = [sys.executable, "-c", IN_PARTS[method], "convert", *map(str, slow), "--workers", "2"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, start_new_session=True) as child:
        os.kill(begun(child), signal.SIGKILL)
        lines = child.stderr.read().splitlines()
    messages = [line for line in lines if not line.startswith("row ")]
    assert child.returncode == 1
    assert messages == ["mmconvert: a worker process died, perhaps because memory ran out. Run again with --workers 1."]
    assert hidden(tmp_path) == []


@pytest.fixture
def image_folder(tmp_path: Path) -> Path:
    """A list long enough for several parts, whose rows all show one image file of 150 kB."""
    (tmp_path / "in").mkdir()
    noise = random.Random(0).randbytes(224 * 224 * 3)
    PIL.Image.frombytes("RGB", (224, 224), noise).save(tmp_path / "in" / "noise.png")
    turns = [{"from": "human", "value": "<image>\nWhat is shown?"}, {"from": "gpt", "value": "Noise, nothing else."}]
    rows = [{"id": f"row-{number}", "image": "noise.png", "conversations": turns} for number in range(700)]
    (tmp_path / "in" / "llava.json").write_text(json.dumps(rows))
    return tmp_path / "in" / "llava.json"


def run_words(*words: object) -> list[str]:
    return [sys.executable, "-m", "mmconvert", *map(str, words)]


def kill_first_child(child: subprocess.Popen) -> None:
    """Kill the first process that a command starts, as soon as it is there."""
    while child.poll() is None:
        for tasks in Path(f"/proc/{child.pid}/task").glob("*/children"):
            for number in tasks.read_text().split():
                os.kill(int(number), signal.SIGKILL)
                return
        time.sleep(0.001)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are found through /proc")
def test_a_worker_that_is_killed_in_an_image_folder_leaves_nothing_and_the_next_run_is_whole(
    image_folder: Path, tmp_path: Path
) -> None:
    arguments = run_words("convert", image_folder, "--quiet", "-o")
    with subprocess.Popen([*arguments, str(tmp_path / "out"), "--workers", "2"], stderr=subprocess.PIPE) as child:
        kill_first_child(child)
        assert b"a worker process died" in child.stderr.read()
    assert child.returncode == 1
    assert hidden(tmp_path) == []
    assert not (tmp_path / "out").exists()
    subprocess.run([*arguments, str(tmp_path / "out"), "--workers", "2"], check=True)
    subprocess.run([*arguments, str(tmp_path / "one"), "--workers", "1"], check=True)
    assert read_shards(tmp_path / "out") == read_shards(tmp_path / "one")
    assert open_dataset(tmp_path / "out").num_rows == 700


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are found through /proc")
def test_a_worker_that_is_killed_in_an_export_leaves_no_file_and_the_next_run_is_whole(
    image_folder: Path, tmp_path: Path
) -> None:
    subprocess.run(run_words("convert", image_folder, "--quiet", "-o", tmp_path / "dataset"), check=True)
    (tmp_path / "out").mkdir()
    arguments = run_words("export", tmp_path / "dataset", "--to", "llava", "--quiet", "--workers", "2", "-o")
    with subprocess.Popen([*arguments, str(tmp_path / "out/llava.json")], stderr=subprocess.PIPE) as child:
        kill_first_child(child)
        assert b"a worker process died" in child.stderr.read()
    assert child.returncode == 1
    assert {path.name for path in (tmp_path / "out").iterdir()} <= {"images"}
    subprocess.run([*arguments, str(tmp_path / "out/llava.json")], check=True)
    assert [row["id"] for row in json.loads((tmp_path / "out/llava.json").read_bytes())] == [
        f"row-{number}" for number in range(700)
    ]


def read_shards(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))}
