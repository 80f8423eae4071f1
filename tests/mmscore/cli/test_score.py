import json
import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

import mmscore
import mmscore.cli
from mmconvert.dataset.dataset import DatasetWriter
from mmscore.cli import program
from support.predictions import choices, write_predictions
from support.questions import record


@pytest.fixture
def run(capfd):
    """Run `mmscore` in this process; give exit code, standard output and standard error."""

    def call(*arguments):
        from mmconvert.console.app import run as run_program

        with pytest.raises(SystemExit) as caught:
            run_program(program, [str(a) for a in arguments], program="mmscore")
        out, err = capfd.readouterr()
        return caught.value.code, out, err

    return call


@pytest.fixture
def good(tmp_path):
    return write_predictions(tmp_path / "good.parquet", choices(("A", "A"), ("B", "A"), category="c"))


def test_score_is_the_default_command_and_prints_a_table(run, good):
    code, out, err = run(good, "--recipe", "vlmevalkit_mcq")
    assert code == 0
    assert "50.0 %" in out
    assert "vlmevalkit_mcq@v3" in out
    assert err == ""


def test_json_is_one_object_on_standard_output(run, good):
    code, out, _ = run("score", good, "--recipe", "vlmevalkit_mcq@v2", "--json", "--quiet")
    assert code == 0
    (entry,) = json.loads(out)["entries"]
    assert (entry["recipe"], entry["version"], entry["metrics"]["accuracy"]["value"]) == ("vlmevalkit_mcq", "v2", 0.5)


def test_all_outputs_of_one_run_agree(run, good, tmp_path):
    code, out, _ = run(
        good, "--recipe", "vlmevalkit_mcq", "-o", tmp_path / "r.json", "--csv", tmp_path / "r.csv",
        "--rows", tmp_path / "r.parquet", "--json",
    )  # fmt: skip
    assert code == 0
    assert json.loads((tmp_path / "r.json").read_text()) == json.loads(out)
    assert (
        (tmp_path / "r.csv").read_text().splitlines()[1].startswith("good,,vlmevalkit_mcq,v3,accuracy,,,0.5,fraction,2")
    )
    rows = pq.read_table(tmp_path / "r.parquet").to_pylist()
    assert [row["scores"][0]["value"] for row in rows] == [1.0, 0.0]


def test_the_last_words_say_where_files_are_and_what_says_more(run, good, tmp_path):
    report, table = tmp_path / "report.json", tmp_path / "t.csv"
    _, _, err = run(good, "-o", report, "--csv", table)
    assert err.splitlines()[-3:] == [
        f"  report:  {report}",
        f"  table:   {table}",
        f"  next:    mmscore explain {good} --recipe own_choice",
    ]
    other = write_predictions(tmp_path / "other.parquet", choices(("A", "A"), ("B", "A")))
    _, _, err = run(good, other, "-o", report, "--recipe", "own_choice")
    assert err.endswith(f"  next:    mmscore compare {good} {other} --recipe own_choice\n")
    third = write_predictions(tmp_path / "third.parquet", choices(("B", "A"), ("B", "A")))
    _, _, err = run(good, other, third, "-o", report, "--recipe", "own_choice")
    assert err.endswith(f"  next:    mmscore {good} {other} {third} --recipe own_choice --html report.html\n")
    assert run(good, "-o", report, "--quiet")[2] == run(good)[2] == ""


def test_the_next_command_reads_the_files_as_this_one_did(run, good, tmp_path):
    options = ["--recipe", "vlmevalkit_mcq@v1", "--dataset", "Colours"]
    _, _, err = run(good, *options, "-o", tmp_path / "r.json")
    assert err.endswith(f"  next:    mmscore explain {good} --recipe vlmevalkit_mcq@v1 --dataset Colours\n")


def test_html_writes_a_page_that_lists_as_many_rows_as_wanted(run, good, tmp_path):
    page = tmp_path / "r.html"
    assert run(good, "--recipe", "vlmevalkit_mcq", "--html", page, "--html-rows", "1")[0] == 0
    assert "1 of 2 samples" in page.read_text(encoding="utf-8")
    code, _, err = run(good, "--recipe", "vlmevalkit_mcq", "--html", tmp_path / "no" / "r.html")
    assert (code, "no/r.html: cannot be written" in err) == (2, True)


def test_images_of_a_page_are_looked_for_before_anything_is_scored(run, good, tmp_path):
    page = ("--html", tmp_path / "r.html")
    for options, said in (([*page, "--html-pictures", "none"], "none: no such"), (["--html-pictures", good], "--html")):
        code, out, err = run(good, "--recipe", "vlmevalkit_mcq", *options)
        assert (code, out, said in err) == (2, "", True)


def test_rows_without_a_score_give_exit_code_3_unless_allowed(run, tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), (None, "A")))
    assert run(file, "--recipe", "vlmevalkit_mcq", "--json")[0] == 3
    assert run(file, "--recipe", "vlmevalkit_mcq", "--json", "--allow-rejects")[0] == 0


def test_unparsed_replies_are_no_failure(run, tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices(("hm", "A")))
    assert run(file, "--recipe", "vlmevalkit_mcq", "--json")[0] == 0


def test_too_many_failures_refuse_the_file_and_publish_nothing(run, tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), (None, "A")))
    outputs = ["-o", tmp_path / "r.json", "--rows", tmp_path / "r.parquet"]
    code, out, err = run(file, "--recipe", "vlmevalkit_mcq", "--max-failed", "0.4", *outputs)
    assert (code, out) == (1, "")
    assert "1 of 2 rows have no score (1 failed)" in err
    assert [p.name for p in tmp_path.iterdir()] == ["p.parquet"]
    assert run(file, "--recipe", "vlmevalkit_mcq", "--max-failed", "0.5", *outputs)[0] == 3


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["{tmp}/none.parquet"], 2, ["none.parquet: no such file"]),
        (["{good}", "--recipe", "vlmevalkit_mqc"], 2, ["unknown recipe 'vlmevalkit_mqc'", "vlmevalkit_mcq"]),
        (["{good}", "--recipe", "vlmevalkit_mcq@v7"], 2, ["no version 'v7'"]),
        (["{good}", "--recipe", "vlmevalkit_mcq", "--by", "categry"], 2, ["'categry'", "category"]),
        (["{chat}"], 2, ["no recipe fits", "task chat", "--recipe"]),
        (["{bad}", "--recipe", "vlmevalkit_mcq"], 1, ["bad.parquet: no column 'prediction'", "predicton"]),
        (["{cut}", "--recipe", "vlmevalkit_mcq"], 1, ["cut.parquet", "damaged"]),
        (["{good}", "--recipe", "vlmevalkit_mcq", "-o", "{tmp}/no/r.json"], 2, ["r.json: cannot be written"]),
        (["{good}", "--recipe", "vlmevalkit_mcq", "--max-failed", "2"], 2, ["--max-failed"]),
        (["score"], 2, ["PREDICTIONS"]),
    ],
)
def test_a_mistake_is_one_clear_message_and_no_traceback(run, good, tmp_path, arguments, code, words):
    bad = write_predictions(tmp_path / "bad.parquet", [{"id": "1", "predicton": "A"}])
    chat = write_predictions(tmp_path / "chat.parquet", [{"id": "1", "prediction": "A", "task": "chat"}])
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(good.read_bytes()[:-20])
    places = {"tmp": tmp_path, "good": good, "bad": bad, "cut": cut, "chat": chat}
    found, out, err = run(*(argument.format(**places) for argument in arguments))
    assert (found, out) == (code, "")
    assert "Traceback" not in err
    for word in words:
        assert word in err


def test_options_can_come_from_a_file(run, good, tmp_path):
    (tmp_path / "run.yaml").write_text("recipe: [vlmevalkit_mcq@v1]\njson: true\n")
    code, out, _ = run(good, "--options", tmp_path / "run.yaml")
    assert code == 0
    assert json.loads(out)["entries"][0]["version"] == "v1"


def test_text_from_a_file_cannot_drive_the_terminal(run, tmp_path):
    rows = choices(("A", "A"), ("A", "A"), model="m\x1b[31m[red]x")
    rows[0]["category"], rows[1]["category"] = "\x1b]0;title\x07", "[bold]b"
    _, out, _ = run(write_predictions(tmp_path / "p.parquet", rows), "--recipe", "vlmevalkit_mcq", "--by", "category")
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "[bold]b" in out


def test_the_official_mmmu_number(run, shared):
    code, out, _ = run(shared / "real" / "mmmu" / "llava1.5_13b", "--json", "--quiet")
    assert code == 0
    (entry,) = json.loads(out)["entries"]
    expected = json.loads((shared / "real" / "mmmu" / "expected.json").read_text())
    assert entry["recipe"] == "mmmu_val"
    assert entry["metrics"]["accuracy"]["value"] == expected["overall"] == 0.36666666666666664
    subjects = entry["groups"]["subject"]
    assert {name: m["accuracy"]["value"] for name, m in subjects.items()} == {
        name: subject["acc"] for name, subject in expected["subjects"].items()
    }
    domains = {line["name"].removeprefix("Overall-"): line["acc"] for line in entry["table"] if "-" in line["name"]}
    assert domains == expected["domains_rounded"]


def test_the_installed_command_gives_its_exit_code(tmp_path):
    command = [sys.executable, "-m", "mmscore", str(tmp_path / "none.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    assert done.returncode == 2
    assert "no such file" in done.stderr


def test_no_file_is_written_over_what_is_read_or_over_another(run, good, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = good.read_bytes()
    for flag in ("-o", "--csv", "--rows", "--html"):
        code, _, err = run(good, "--recipe", "vlmevalkit_mcq", flag, "./good.parquet")
        assert (code, err) == (
            2, "mmscore: ./good.parquet: is read as well, and would be replaced. Name another file.\n"
        )  # fmt: skip
    code, _, err = run(good, "--recipe", "vlmevalkit_mcq", "-o", "one", "--csv", "one")
    assert (code, err) == (2, "mmscore: one: is named for two files. Name another one.\n")
    assert (good.read_bytes(), sorted(p.name for p in tmp_path.iterdir())) == (before, ["good.parquet"])


def test_a_name_that_is_empty_is_not_the_current_folder(run, good, monkeypatch):
    monkeypatch.chdir(good.parent)
    code, _, err = run("score", "")
    assert (code, "variable of the command line" in err) == (2, True)


def test_a_number_of_one_row_has_no_interval(run, tmp_path):
    said = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), ("???", "A")))
    _, out, _ = run(said, "--recipe", "own_choice", "--json")
    number = json.loads(out)["entries"][0]["metrics"]["accuracy_if_unparsed_dropped"]
    assert (number["value"], number["n"], number["stderr"], number["ci95"]) == (1.0, 1, None, None)


def test_a_benchmark_that_is_named_is_in_the_signature(run, tmp_path):
    rows = [{"id": "1", "answer": "10", "answers": ["10"], "question": "How many?", "prediction": "10.4"}]
    said = write_predictions(tmp_path / "p.parquet", rows)
    signed = set()
    for dataset in ("ChartQA_TEST", "DocVQA_VAL"):
        _, out, _ = run(said, "--recipe", "vlmevalkit_vqa", "--dataset", dataset, "--json")
        signed.add(json.loads(out)["entries"][0]["signature"])
    assert len(signed) == 2


@pytest.mark.parametrize("recipe", ["vlmevalkit_mcq", "own_choice"])
def test_replies_to_one_question_are_one_cluster_by_every_recipe(run, tmp_path, recipe):
    rows = choices(*[("A" if n // 3 % 2 else "B", "A") for n in range(12)])
    for n, row in enumerate(rows):
        row |= {"sample": str(n // 3), "variant": n % 3}
    _, out, _ = run(write_predictions(tmp_path / "p.parquet", rows), "--recipe", recipe, "--json")
    number = json.loads(out)["entries"][0]["metrics"]["accuracy"]
    assert (number["value"], round(number["stderr"], 4)) == (0.5, 0.2887)


def test_a_recipe_of_ones_own_has_its_code_in_the_signature_and_not_its_place(run, good, tmp_path):
    signed = set()
    for worth in ("1.0", "0.5"):
        (tmp_path / "mine.py").write_text(
            "from dataclasses import replace\nfrom mmscore.recipes.own_choice import RECIPE as OWN\n"
            f"RECIPE = replace(OWN, metrics=lambda item, parsed, version: {{'accuracy': {worth}}})\n"
        )
        _, out, err = run(good, "--recipe", f"{tmp_path}/mine.py@RECIPE", "--json")
        (entry,) = json.loads(out)["entries"]
        assert entry["metrics"]["accuracy"]["value"] == float(worth), err
        assert str(tmp_path) not in entry["signature"]
        signed.add(entry["signature"])
    assert len(signed) == 2


def test_the_program_and_the_function_work_in_one_process(tmp_path, monkeypatch, capsys):
    """No module of the command line takes the place of a function of the same name."""
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), ("B", "A")))
    for command in ("score", "compare"):
        assert mmscore.score(file, "own_choice").entries[0].metrics["accuracy"].value == 0.5
        monkeypatch.setattr(sys, "argv", ["mmscore", command, *[str(file)] * (1 + (command == "compare"))])
        with pytest.raises(SystemExit) as ended:
            mmscore.cli.main()
        assert ended.value.code == 0
        assert "accuracy" in capsys.readouterr().out
    assert mmscore.compare(file, file, recipe="own_choice").pairing


@pytest.mark.parametrize(("recipe", "joined"), [("vlmevalkit_mcq", False), ("own_choice", False), ("own_choice", True)])
def test_a_small_parquet_file_is_scored_without_libraries_that_take_time_to_load(tmp_path, recipe, joined):
    rows = choices(("A", "A"), ("It is red", "A"), ("Cannot tell", "B"), question="Which?")
    file = write_predictions(tmp_path / "p.parquet", rows)
    more = ["--answers", str(tmp_path / "data")] if joined else []
    with DatasetWriter(tmp_path / "data") as writer:
        options = ("red", "green", "blue")
        writer.write(
            record(n, "Which?", answer=answer, task="multiple_choice", options=options)
            for n, answer in enumerate("AAB")
        )
    heavy = ("pandas", "scipy", "datasets", "PIL", "huggingface_hub", "httpx")
    code = (
        "import sys; from mmscore.cli import program; "
        f"given = ['score', {str(file)!r}, '--recipe', {recipe!r}, *{more!r}]; "
        "program.main(given, standalone_mode=False); "
        f"print('loaded', *(name for name in {heavy!r} if name in sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1].split() == ["loaded"]
