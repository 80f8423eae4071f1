"""`mmscore predict` from outside: exit codes, messages, and runs that are killed and go on."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mmconvert.dataset.dataset import DatasetWriter
from mmscore.core.predictions.run_metadata import RUN_METADATA
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import store_path
from support.questions import make_image, record

pytestmark = pytest.mark.slow

PROGRAM = [sys.executable, "-c", "from mmscore.cli import main; main()", "predict"]


def write(folder: Path, count: int) -> Path:
    with DatasetWriter(folder, overwrite=folder.exists()) as writer:
        writer.write([record(i, make_image("red"), f"question {i}", answer=str(i)) for i in range(count)])
    return folder


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return write(tmp_path / "dataset", 12)


def echo(dataset: Path, output: Path, model: str, *more: object) -> list[str]:
    return [str(part) for part in (dataset, "-o", output, "--backend", "echo", "--model", model, *more)]


def test_a_run_writes_the_predictions_and_says_what_it_did(predict, dataset, output):
    code, out, err = predict(*echo(dataset, output, "answer", "--json"))
    summary = json.loads(out)
    assert (code, err) == (0, "")
    assert summary.pop("seconds") >= 0
    assert (summary.pop("prompt_tokens"), summary.pop("completion_tokens")) == (0, 0)
    assert summary == {"rows": 12, "asked": 12, "reused": 0, "failed": 0, "output": str(output), "cost": None}
    assert pq.read_table(output)["prediction"].to_pylist() == [str(i) for i in range(12)]


def test_without_json_the_result_is_a_sentence(predict, dataset, output):
    code, out, _ = predict(*echo(dataset, output, "answer:fail=5"))
    assert code == 3
    first, *rest = out.splitlines()
    assert "12 samples, 12 requests sent, 0 from cache, 2 failed (see prediction_error" in first
    assert rest == [f"  cache:  {output}.answers.sqlite", f"  next:   mmscore {output}"]


def test_failed_rows_are_exit_3_until_they_are_answered(predict, dataset, output):
    code, out, _ = predict(*echo(dataset, output, "answer:fail=5", "--json"))
    assert (code, json.loads(out)["failed"]) == (3, 2)
    code, out, err = predict(*echo(dataset, output, "answer", "--json", "--resume"))
    assert (code, json.loads(out)["asked"], json.loads(out)["reused"]) == (0, 2, 10)
    assert "10 responses are cached, 2 failed samples are retried" in err


def test_an_output_that_stands_is_never_overwritten_unasked(predict, dataset, output):
    predict(*echo(dataset, output, "answer"))
    before = output.read_bytes()
    code, _, err = predict(*echo(dataset, output, "prompt"))
    assert code == 2
    assert "already exists. --resume runs only samples without a response, --restart runs all again" in err
    assert output.read_bytes() == before


def test_resume_on_a_finished_run_asks_nothing_and_restart_asks_all(predict, dataset, output):
    predict(*echo(dataset, output, "answer"))
    assert json.loads(predict(*echo(dataset, output, "answer", "--json", "--resume"))[1])["asked"] == 0
    assert json.loads(predict(*echo(dataset, output, "answer", "--json", "--restart"))[1])["asked"] == 12


def test_restart_with_a_mistyped_model_forgets_nothing(predict, dataset, output):
    predict(*echo(dataset, output, "answer"))
    assert predict(*echo(dataset, output, "answr", "--restart"))[0] == 2
    assert json.loads(predict(*echo(dataset, output, "answer", "--json", "--resume"))[1])["reused"] == 12


def test_resume_starts_where_there_is_nothing_to_go_on_with(predict, dataset, output):
    assert json.loads(predict(*echo(dataset, output, "answer", "--json", "--resume"))[1])["asked"] == 12


def test_a_changed_dataset_is_said_and_only_its_new_rows_are_asked(predict, dataset, output):
    predict(*echo(dataset, output, "answer"))
    write(dataset, 15)
    _, out, err = predict(*echo(dataset, output, "answer", "--json", "--resume"))
    assert (json.loads(out)["asked"], json.loads(out)["reused"]) == (3, 12)
    assert "the dataset has changed since" in err


def test_the_limit_and_the_system_text_are_honoured(predict, dataset, output):
    code, out, _ = predict(*echo(dataset, output, "answer", "--json", "--limit", 5, "--system", "Be brief."))
    assert (code, json.loads(out)["rows"]) == (0, 5)


def test_more_replies_are_rows_and_ask_only_what_is_new(predict, dataset, output):
    assert json.loads(predict(*echo(dataset, output, "answer", "--json"))[1])["asked"] == 12
    summary = json.loads(predict(*echo(dataset, output, "answer", "--n", "3", "--resume", "--json"))[1])
    assert (summary["rows"], summary["asked"], summary["reused"]) == (36, 24, 12)
    rows = pq.read_table(output, columns=["id", "sample", "variant", "prediction"]).to_pylist()
    assert [(row["sample"], row["variant"]) for row in rows] == [(str(i), n) for i in range(12) for n in range(3)]
    assert len({row["id"] for row in rows}) == 36
    assert [row["prediction"] for row in rows] == [row["sample"] for row in rows]


def test_without_interleaving_a_prompt_begins_with_its_image(predict, dataset, output):
    predict(*echo(dataset, output, "prompt", "--no-interleave", "--limit", "1"))
    assert pq.read_table(output)["prediction"].to_pylist() == ["<image>question 0"]


def test_options_can_come_from_a_file(predict, dataset, output, tmp_path):
    (tmp_path / "run.yaml").write_text("backend: echo\nmodel: answer\nbatch-size: 3\nlimit: 4\nstop: []\n")
    code, out, _ = predict(dataset, "-o", output, "--options", tmp_path / "run.yaml", "--limit", 2, "--json")
    assert (code, json.loads(out)["rows"]) == (0, 2)


def test_missing_folders_of_the_output_are_made(predict, dataset, tmp_path):
    assert predict(*echo(dataset, tmp_path / "a" / "b" / "p.parquet", "answer"))[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere", "-o", "p.parquet", "--model", "m"], 2, "nowhere: no such file or folder."),
        (["DATASET", "-o", "p.parquet", "--model", "./nomodel"], 2, "--model ./nomodel: no such folder."),
        (["DATASET", "-o", "p.parquet", "--model", "m", "--backend", "ecko"], 2, "Did you mean echo?"),
        (["DATASET", "-o", "p.parquet", "--model", "m", "--backend", "no.py@b"], 2, "no.py: no such file or folder."),
        (["DATASET", "-o", "p.parquet", "--model", "empty"], 1, "empty: cannot be loaded"),
        (["DATASET", "-o", "p.parquet"], 2, "Missing option '--model'"),
        (["DATASET", "--model", "m"], 2, "Missing option '-o'"),
        (["DATASET", "-o", "empty", "--model", "m"], 2, "is a folder. Name a file, such as empty/predictions.parquet"),
        (["DATASET", "-o", "p.parquet", "--model", "m", "--resume", "--restart"], 2, "exclude each other"),
        (["DATASET", "-o", "p.parquet", "--model", "m", "--batch-size", "0"], 2, "auto or a number from 1"),
        (["DATASET", "-o", "p.parquet", "--model", "m", "--top-p", "0.5"], 2, "only when sampling"),
        (["DATASET", "-o", "p.parquet", "--model", "m", "--temperature", "-1"], 2, "Invalid value for '--temperature'"),
        (["DATASET", "-o", "p.parquet", "--model", "m", "--bach-size", "1"], 2, "'--batch-size'"),
        (["DATASET", "-o", "p.parquet", "--model", "answer", "--backend", "echo", "--attn", "sdpa"], 2, "no --attn"),
        (["DATASET", "-o", "p.parquet", "--model", "m", "--method", "likelihood", "--n", "2"], 2, "generates nothing"),
        (["DATASET", "-o", "p.parquet", "--model", "m", "--method", "guess"], 2, "'generate', 'likelihood'"),
        (["DATASET", "-o", "p.parquet", "--model", "m", "--likelihood-reduction", "mean"], 2, "with --method likeli"),
        (
            ["DATASET", "-o", "p.parquet", "--model", "m", "--template", "raw", "--system", "s"],
            2,
            "--system has no place",
        ),
        (["DATASET", "-o", "p.parquet", "--model", "m", "--n", "2"], 2, "greedy responses are all the same"),
        (
            ["DATASET", "-o", "p.parquet", "--model", "a", "--backend", "echo", "--method", "likelihood"],
            2,
            "no --method",
        ),
        (["plain.parquet", "-o", "p.parquet", "--model", "answer", "--backend", "echo"], 1, "it lacks answer, answers"),
        (
            ["text.txt", "-o", "p.parquet", "--model", "answer", "--backend", "echo"],
            2,
            "mmconvert convert text.txt -o text",
        ),
    ],
)
def test_a_mistake_is_one_message_and_publishes_nothing(
    predict, dataset, tmp_path, monkeypatch, arguments, code, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").write_text("hello")
    pq.write_table(pq.read_table(dataset / "data" / "test-00000-of-00001.parquet").select(["id"]), "plain.parquet")
    got, out, err = predict(*[str(dataset) if part == "DATASET" else part for part in arguments])
    assert (got, out) == (code, "")
    assert message in err
    assert "Traceback" not in err
    assert not Path("p.parquet").exists()


@pytest.mark.parametrize("more", [(), ("--resume",), ("--restart",), ("--share",), ("--processes", "2")])
@pytest.mark.parametrize("place", ["one.parquet", "./one.parquet", "dataset/data/test-00000-of-00001.parquet"])
def test_the_dataset_is_never_the_output(predict, dataset, tmp_path, monkeypatch, place, more):
    monkeypatch.chdir(tmp_path)
    (shard,) = dataset.glob("data/*.parquet")
    shutil.copy(shard, "one.parquet")
    before = Path(place).read_bytes()
    given = "one.parquet" if "one" in place else "dataset"
    code, out, err = predict(*echo(given, place, "answer", *more))
    assert (code, out) == (2, "")
    assert "is read as well, and would be replaced. Name another file." in err
    assert Path(place).read_bytes() == before
    assert not store_path(Path(place)).exists()


def test_the_dataset_of_a_store_is_never_the_output(predict):
    url = "s3://bucket/one.parquet"
    code, _, err = predict(*echo(url, url, "answer", "--resume"))
    assert code == 2
    assert f"{url}: is read as well, and would be replaced. Name another file." in err


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *[(f"p{ending}", "p") for ending in ("", ".jsonl", ".CSV", ".tsv")],
        ("llama-3.2", "llama-3.2"),
        ("a.b.csv", "a.b"),
    ],
)
def test_the_output_is_named_as_the_parquet_file_that_it_is(predict, dataset, tmp_path, name, meant):
    code, _, err = predict(*echo(dataset, tmp_path / name, "answer"))
    assert code == 2
    assert (
        f"{name}: predictions are written as parquet. Use the extension .parquet, such as {tmp_path / meant}.parquet."
        in err
    )
    assert sorted(tmp_path.iterdir()) == [dataset]


@pytest.mark.parametrize("more", [("--model", "answr"), ("--dtype", "float16"), ("--protocol", "none")])
def test_a_mistake_leaves_no_folder_of_the_output(predict, dataset, tmp_path, more):
    (tmp_path / "there").mkdir()
    for output in (tmp_path / "new" / "deep" / "p.parquet", tmp_path / "there" / "new" / "p.parquet"):
        assert predict(*echo(dataset, output, "answer", *more))[0] == 2
    assert sorted(tmp_path.iterdir()) == [dataset, tmp_path / "there"]
    assert not list((tmp_path / "there").iterdir())


def test_a_store_that_is_none_is_refused_and_left_alone(predict, dataset, output):
    store_path(output).write_text("my notes")
    code, _, err = predict(*echo(dataset, output, "answer"))
    assert code == 1
    assert "is not a store of answers" in err
    assert store_path(output).read_text() == "my notes"


def test_a_second_run_on_the_same_output_is_refused_by_name(predict, dataset, output):
    with hold(store_path(output)):
        second = subprocess.run([*PROGRAM, *echo(dataset, output, "answer")], capture_output=True, text=True)
    assert second.returncode == 1
    assert f"in use by process {os.getpid()} on " in second.stderr
    assert predict(*echo(dataset, output, "answer"))[0] == 0


def test_help_needs_no_model_library():
    code = (
        "import sys, click\nfrom mmscore.cli import program\n"
        "program.main(['predict', '-h'], standalone_mode=False)\n"
        "sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    assert "--max-new-tokens" in done.stdout


def test_a_run_loads_no_library_that_takes_time(dataset, output):
    code = (
        "import sys\nfrom mmscore.cli import program\n"
        f"program.main(['predict', {str(dataset)!r}, '-o', {str(output)!r}, '--backend', 'echo', '--model', 'answer'], "
        "standalone_mode=False)\n"
        "sys.exit(', '.join({'torch', 'transformers', 'pandas', 'datasets'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, output.exists()) == (0, True), done.stderr


# Runs that end early

BATCH = 4


def started(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def asked(log: Path) -> list[str]:
    return log.read_text().split() if log.exists() else []


def stored(output: Path) -> set[str]:
    """Ids of the rows whose answers are in the store; the answers repeat the prompts, which hold them."""
    if not store_path(output).exists():
        return set()
    with sqlite3.connect(store_path(output)) as db:
        tables = db.execute("SELECT name FROM sqlite_master").fetchall()
        texts = db.execute("SELECT answer FROM answers WHERE status = 'ok'").fetchall() if tables else []
    db.close()
    return {json.loads(text)["text"].rpartition(" ")[2] for (text,) in texts}


def wait_for(log: Path, lines: int) -> None:
    while len(asked(log)) < lines:
        time.sleep(0.005)


def killed_again_and_again(predict, tmp_path: Path, output: Path, *, kills: int) -> None:
    rows = 20 * kills
    dataset, log = write(tmp_path / "dataset", rows), tmp_path / "asked.log"
    slow = echo(dataset, output, f"prompt:delay=0.003,batch={BATCH},log={log}", "--quiet")
    moments = random.Random(20261121)
    for _ in range(kills):
        before = stored(output)
        log.unlink(missing_ok=True)
        with started(*slow) as process:
            wait_for(log, moments.choice((0, 1, 1, 1)))
            time.sleep(moments.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
        now = asked(log)
        assert len(now) == len(set(now))
        assert before.isdisjoint(now)
        assert len(set(now) - stored(output)) <= BATCH
        assert not output.exists() or pq.read_table(output).num_rows == rows
    log.unlink(missing_ok=True)
    before = stored(output)
    code, out, _ = predict(*slow, "--json", "--resume")
    summary = json.loads(out)
    assert code == 0
    assert (summary["rows"], summary["reused"], summary["failed"]) == (rows, len(before), 0)
    assert sorted([*before, *asked(log)], key=int) == [str(i) for i in range(rows)]
    unbroken = tmp_path / "unbroken.parquet"
    predict(*echo(dataset, unbroken, f"prompt:batch={BATCH}"))
    assert output.read_bytes() == unbroken.read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir() if file.name.startswith((".", "predictions"))) == [
        "predictions.parquet",
        "predictions.parquet.answers.sqlite",
    ]


def test_a_run_killed_again_and_again_ends_like_an_unbroken_one(predict, tmp_path, output):
    killed_again_and_again(predict, tmp_path, output, kills=4)


@pytest.mark.release
def test_a_run_killed_two_hundred_times_ends_like_an_unbroken_one(predict, tmp_path, output):
    killed_again_and_again(predict, tmp_path, output, kills=200)


@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.release)])
def test_an_interrupted_run_says_so_and_goes_on_later(predict, tmp_path, dataset, output, how):
    log = tmp_path / "asked.log"
    slow = echo(dataset, output, f"prompt:delay=0.05,batch=2,log={log}")
    with started(*slow) as process:
        wait_for(log, 5)
        process.send_signal(how)
        out, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert (out, err.splitlines()[-1]) == ("", "mmscore: interrupted. Run the same command again to continue.")
    table = pq.read_table(output)
    statuses = table["prediction_status"].to_pylist()
    assert json.loads(table.schema.metadata[RUN_METADATA])["partial"] is True
    assert (len(statuses), set(statuses)) == (12, {"ok", "skipped"})
    assert statuses.count("ok") >= 4
    summary = json.loads(predict(*echo(dataset, output, "prompt", "--json"))[1])
    assert summary["reused"] >= 4
    assert summary["rows"] == summary["reused"] + summary["asked"] == 12
    assert set(pq.read_table(output)["prediction_status"].to_pylist()) == {"ok"}


def test_an_interrupted_run_leaves_a_whole_file_as_it_is(predict, tmp_path, dataset, output):
    predict(*echo(dataset, output, "text=first"))
    before = output.read_bytes()
    log = tmp_path / "asked.log"
    with started(*echo(dataset, output, f"prompt:delay=0.05,batch=2,log={log}"), "--resume") as process:
        wait_for(log, 5)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=10)
    assert process.returncode == 130
    assert output.read_bytes() == before


def test_a_full_disk_ends_the_run_with_a_message(dataset, output):
    command = f"ulimit -f 8; exec {sys.executable} -c 'from mmscore.cli import main; main()' predict "
    command += " ".join(echo(dataset, output, f"text={'x' * 20_000}", "--quiet"))
    done = subprocess.run(["bash", "-c", f"trap '' XFSZ; {command}"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert not output.exists()
