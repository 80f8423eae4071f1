"""`mmscore run --benchmark NAME`: from a name to a score, several frameworks' rules side by side, and the summary."""

import csv
import json
import shlex
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path

import pytest
import yaml

import support
from mmconvert.console.app import run as run_program
from mmscore.cli import program
from support.chat_server import Said, chat_server, find_closed_port, said

pytestmark = pytest.mark.slow

NAMES = ("MMStar", "AI2D_TEST", "BLINK")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three benchmarks of eight rows each in $LMUData."""
    with resources.as_file(resources.files("mmconvert.testing.demo") / "files/lmudata/Colours.tsv") as file:
        head, *rows = file.read_text(encoding="utf-8").splitlines(keepends=True)
    tables = tmp_path / "LMUData"
    tables.mkdir()
    more = [f"{int(row.partition(chr(9))[0]) + 100}\t{row.partition(chr(9))[2]}" for row in rows]
    for name in NAMES:
        (tables / f"{name}.tsv").write_text("".join([head, *rows, *more]), encoding="utf-8")
    monkeypatch.setenv("LMUData", str(tables))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run the command in this process; gives exit code, stdout, stderr."""

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            run_program(program, ["run", *arguments], program="mmscore")
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return call


def list_named(*names: str) -> list[str]:
    return [word for name in names for word in ("--benchmark", name)]


def read_summary(place: str = "runs") -> dict:
    return json.loads(Path(place, "summary.json").read_bytes())


def test_a_name_becomes_a_score(run):
    code, out, err = run(*list_named("MMStar", "AI2D_TEST"), "--model", "answer", "--backend", "echo", "-w", "runs")
    assert code == 0, err
    assert "100.0 %" in out
    assert "runs/summary.html" in err
    summary = read_summary()
    assert summary["models"] == ["answer"]
    found = [(row["benchmark"], row["recipe"], row["scores"]["answer"]["value"]) for row in summary["rows"]]
    assert found == [("MMStar", "vlmevalkit_mcq@v3", 1.0), ("AI2D_TEST", "vlmevalkit_mcq@v3", 1.0)]


def test_other_frameworks_rules_stand_side_by_side(run):
    models = ("--model", "answer", "--model", "text=B", "--backend", "echo")
    code, out, _ = run(*list_named("MMStar"), *models, "--also", "own,lmms", "-w", "runs", "--limit", "4")
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines() if line.startswith("  MMStar")] == [
        ["MMStar", "vlmevalkit_mcq@v3"],
        ["MMStar", "own_choice@1"],
    ]
    with Path("runs/summary.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["recipe"], row["answer"], row["text=B"]) for row in rows] == [
        ("vlmevalkit_mcq@v3", "1.0", "0.0"),
        ("own_choice@1", "1.0", "0.0"),
    ]
    assert "no recipe of lmms_eval is for this dataset" in Path("runs/answer/MMStar/log.txt").read_text()
    assert "<td>own_choice@1</td>" in Path("runs/summary.html").read_text()


def test_a_benchmark_that_fails_does_not_stop_the_others(run):
    Path("LMUData/BLINK.tsv").write_text("index\tquestion\n1\tWhich?\n")
    models = ("--model", "answer", "--backend", "echo")
    code, out, _ = run(*list_named("BLINK", "MMStar"), *models, "-w", "runs")
    assert code == 3
    assert "answer / BLINK: failed:" in out
    rows = read_summary()["rows"]
    assert [(row["benchmark"], row["recipe"], row["scores"]["answer"] is None) for row in rows] == [
        ("BLINK", None, True),
        ("MMStar", "vlmevalkit_mcq@v3", False),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "what shall be run? Give --benchmark NAME"),
        (["--benchmark", "MMStar"], "Give --model MODEL"),
        (["--benchmark", "MMStr", "--model", "m"], "Did you mean MMStar?"),
        (["--benchmark", "pope", "--model", "m"], "lmms_eval:pope, evalscope:pope, vlmevalkit:POPE"),
        (["--benchmark", "MMStar", "--model", "m", "--also", "vlmeval"], "--also vlmeval: is no framework's prefix"),
        (["--benchmark", "SEEDBench_IMG", "--model", "m"], "SEEDBench_IMG.tsv is missing"),
        (["task.yaml", "--benchmark", "MMStar"], "TASK names datasets and models itself"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_asked(run, arguments, message):
    Path("task.yaml").write_text("datasets: [a]\n")
    code, _, err = run(*arguments, "-w", "runs")
    assert code == 2
    assert message in err


def test_init_writes_a_task_file_that_runs(run):
    assert run("--init", "task.yaml", *list_named("MMStar"), "--model", "answer", "--backend", "echo")[0] == 0
    assert yaml.safe_load(Path("task.yaml").read_text())["datasets"][0]["recipes"] == ["vlmevalkit_mcq"]
    assert run("task.yaml", "--work-dir", "runs", "--quiet")[0] == 0
    assert read_summary()["rows"][0]["scores"]["answer"]["value"] == 1.0
    assert "exists. Name a new file" in run("--init", "task.yaml")[2]


def test_an_example_task_can_be_written_without_a_name(run):
    assert run("--init", "task.yaml")[0] == 0
    task = yaml.safe_load(Path("task.yaml").read_text())
    assert task["models"] == [{"model": "Qwen/Qwen2.5-VL-3B-Instruct"}]


def test_each_model_has_a_server_of_its_own_for_all_benchmarks(run):
    served = Path(support.__path__[0], "served.py")
    serve = shlex.join([sys.executable, str(served), "--model", "{model}", "--port", str(find_closed_port())])
    models = ("--model", "first", "--model", "second", "--serve", serve)
    code, out, err = run(*list_named("MMStar", "AI2D_TEST"), *models, "-w", "runs", "--limit", "2")
    assert code == 0, out + err
    for model in ("first", "second"):
        assert Path("runs", model, "server.log").read_text() == f"serving {model}\n"
        assert Path("runs", model, "AI2D_TEST", "predictions.parquet").is_file()
    again = run(*list_named("MMStar", "AI2D_TEST"), *models, "-w", "runs", "--limit", "2")
    assert (again[0], again[2].count("server: starting")) == (0, 0)


def test_a_server_that_does_not_start_fails_its_models_runs_alone(run):
    serve = shlex.join([sys.executable, "-c", "exit('no GPU')"])
    code, out, _ = run(*list_named("MMStar", "AI2D_TEST"), "--model", "m", "--serve", serve, "-w", "runs")
    assert (code, out.count("the server ended (exit code 1)"), out.count("no GPU")) == (1, 2, 2)


def test_a_command_that_is_no_program_is_refused_before_anything_is_run(run):
    code, _, err = run(*list_named("MMStar"), "--model", "m", "--serve", "no-such-program", "-w", "runs")
    assert (code, Path("runs").exists()) == (2, False)
    assert "--serve: there is no program" in err


def test_a_run_that_is_killed_twice_ends_with_the_same_summary():
    def answer(request: dict) -> Said:
        time.sleep(0.1)
        return said("A")

    command = [sys.executable, "-m", "mmscore", "run", *list_named(*NAMES), "--model", "loopback", "--quiet"]
    with chat_server(answer) as server:
        command += ["--base-url", server.url]
        subprocess.run([*command, "-w", "whole"], check=True, capture_output=True)
        asked = len(server.asked)
        for most in (1, 2):
            child = subprocess.Popen([*command, "-w", "killed"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while child.poll() is None and len(server.asked) < asked + 4 * most:
                time.sleep(0.01)
            child.send_signal(signal.SIGKILL)
            assert child.wait() == -signal.SIGKILL
        subprocess.run([*command, "-w", "killed"], check=True, capture_output=True)
    for kind in ("json", "csv", "html"):
        assert Path("killed", f"summary.{kind}").read_bytes() == Path("whole", f"summary.{kind}").read_bytes()
