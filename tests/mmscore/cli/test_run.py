"""`mmscore run`: the plan is checked as a whole, runs stand apart, and a second run asks nothing again."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

import mmscore
from mmconvert.console.app import run as run_program
from mmscore.cli import program
from mmscore.core.predictions.run_metadata import RUN_METADATA
from support.asking import written
from support.chat_server import Said, chat_server, said
from support.questions import record

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[3]
FILES = ["log.txt", "predictions.parquet", "predictions.parquet.answers.sqlite", "report.csv", "report.json"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with resources.as_file(resources.files("mmconvert.testing.demo") / "files") as examples:
        for kind in ("lmudata", "vmcq"):
            shutil.copytree(examples / kind, tmp_path / "files" / kind)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run the command in this process; gives exit code, stdout, stderr."""

    def call(task: dict | str, *arguments: str) -> tuple[int, str, str]:
        Path("task.yaml").write_text(task if isinstance(task, str) else yaml.safe_dump(task))
        with pytest.raises(SystemExit) as ended:
            run_program(program, ["run", "task.yaml", "--quiet", *arguments], program="mmscore")
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return call


def task(**changes: object) -> dict:
    given = {
        "work-dir": "results",
        "datasets": ["files/lmudata/Colours.tsv", {"input": "files/vmcq/colours.tsv", "name": "quiz"}],
        "models": [{"model": "answer:log=asked.log", "backend": "echo", "name": "right"}],
        "recipes": ["own_choice"],
    }
    return {name: value for name, value in {**given, **changes}.items() if value is not None}


def asked() -> list[str]:
    log = Path("asked.log")
    return log.read_text().split() if log.exists() else []


def entries(place: str) -> list[dict]:
    return json.loads((Path("results") / place / "report.json").read_bytes())["entries"]


def test_the_example_of_the_page_runs(run, folder):
    page = (REPOSITORY / "docs/run.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    code, out, err = run(example, "--work-dir", "results")
    assert (code, err) == (0, "")
    for model in ("answer", "always-b"):
        for dataset in ("Colours", "colours-rotated"):
            assert sorted(file.name for file in Path("results", model, dataset).iterdir()) == FILES
    assert [entry["recipe"] for entry in entries("answer/Colours")] == ["own_choice", "vlmevalkit_mcq"]
    (rotated,) = entries("always-b/colours-rotated")
    assert (rotated["recipe"], rotated["groups"].keys() >= {"task"}) == ("own_choice", True)
    assert entries("answer/colours-rotated")[0]["metrics"]["accuracy"]["value"] == 1.0
    assert rotated["metrics"]["accuracy"]["value"] < 1.0
    assert "answer / Colours: 4 rows\n  own_choice@1: accuracy 1" in out
    wording = pq.read_table("results/.datasets/colours-rotated/data")["messages"][0].as_py()
    assert "Please select the correct answer from the options above." in wording[-1]["content"][-1]["text"]


def test_html_puts_all_models_on_a_page_for_each_dataset_with_its_images(run):
    models = [{"model": "answer", "backend": "echo"}, {"model": "text=B", "backend": "echo", "name": "always-b"}]
    assert run(task(models=models), "--html")[0] == 0
    for dataset in ("Colours", "quiz"):
        page = Path("results", f"{dataset}.html").read_text(encoding="utf-8")
        data = json.loads(re.search(r'id="mm-data">(.*?)</script>', page)[1])
        assert data["report"]["entries"] == entries(f"answer/{dataset}") + entries(f"always-b/{dataset}")
        assert "data:image/webp" in page


def test_the_next_command_ranks_the_models_on_datasets_without_a_name(capsys):
    models = [{"model": "answer", "backend": "echo"}, {"model": "text=B", "backend": "echo", "name": "always-b"}]
    Path("task.yaml").write_text(yaml.safe_dump(task(models=models)))
    with pytest.raises(SystemExit):
        run_program(program, ["run", "task.yaml"], program="mmscore")
    (following,) = re.findall("next: +mmscore (rank .*)", capsys.readouterr().err)
    with pytest.raises(SystemExit) as ended:
        run_program(program, following.split(), program="mmscore")
    assert ended.value.code == 0
    assert "100.00 (1)" in capsys.readouterr().out


def reported(*places: str) -> list[str]:
    return [entries(place)[0]["model"] for place in places]


def on_page(dataset: str) -> dict:
    page = Path("results", f"{dataset}.html").read_text(encoding="utf-8")
    return json.loads(re.search(r'id="mm-data">(.*?)</script>', page)[1])["report"]


def test_a_page_has_the_numbers_of_the_reports_where_a_judge_would_answer_now(run):
    requests = []

    def reply(request: dict) -> Said:
        requests.append(request)
        return said('{"reason": "r", "verdict": "correct"}')

    models = [{"model": "text=none of them", "backend": "echo", "name": "right"}]
    with chat_server(reply) as server:
        judged = {"judge": ["own"], "judge-base-url": server.url, "judge-model": ["j"], "judge-max-calls": 2}
        datasets = ["files/lmudata/Colours.tsv"]
        assert run(task(models=models, datasets=datasets, recipes=["own_short_answer"], score=judged), "--html")[0] == 3
    assert len(requests) == 2
    assert on_page("Colours")["entries"] == entries("right/Colours")


def test_a_model_s_name_is_that_of_its_reports_so_that_settings_of_one_model_are_told_apart(run, capsys):
    models = [{"model": "answer", "backend": "echo"}, {"name": "sys", "model": "answer", "backend": "echo", "n": 1}]
    given = task(models=models, datasets=["files/lmudata/Colours.tsv"])
    assert run(given, "--html")[0] == 0
    assert reported("answer/Colours", "sys/Colours") == ["answer", "sys"]
    assert "\nsys," in Path("results/sys/Colours/report.csv").read_text()
    assert [entry["model"] for entry in on_page("Colours")["entries"]] == ["answer", "sys"]
    places = [f"Colours=results/{name}/Colours/report.json" for name in ("answer", "sys")]
    with pytest.raises(SystemExit) as ended:
        run_program(program, ["rank", "--by", "dataset", *places], program="mmscore")
    assert (ended.value.code, "sys" in capsys.readouterr().out) == (0, True)
    assert run({**given, "score": {"model": "both"}})[0] == 0
    assert reported("answer/Colours", "sys/Colours") == ["both", "both"]


def test_a_model_without_a_name_of_its_own_keeps_its_whole_name_in_reports(run):
    Path("mine.py").write_text("def b(records):\n    return ['B' for _ in records]\n")
    assert run(task(models=[{"model": "org/mine", "backend": "mine.py@b"}]))[0] == 0
    assert reported("mine/Colours") == ["org/mine"]


def numbers(dataset: str = "Colours") -> list[str]:
    files = [f"right/{dataset}/report.json", f"right/{dataset}/report.csv", f"{dataset}.html"]
    return [file for file in files if Path("results", file).exists()]


def test_numbers_of_replies_that_are_gone_go_with_them(run):
    def limited(limit: int, **changes: object) -> dict:
        return task(datasets=[{"input": "files/lmudata/Colours.tsv", "limit": limit}], **changes)

    assert run(limited(3), "--html")[0] == 0
    assert len(numbers()) == 3
    assert run(limited(3, steps="predict"))[0] == 0
    assert len(numbers()) == 3  # the replies stand
    assert run(limited(2, steps="predict"))[0] == 0
    assert numbers() == []
    assert run(limited(2), "--html")[0] == 0
    code, out, _ = run(limited(2, score={"by": ["nosuch"]}), "--restart")
    assert (code, "no column 'nosuch'" in out) == (1, True)
    assert numbers() == []
    assert Path("results/right/Colours/predictions.parquet").exists()


def test_numbers_that_cannot_be_made_anew_do_not_stay(run):
    assert run(task(), "--html")[0] == 0
    assert run(task(score={"by": ["nosuch"]}))[0] == 1
    assert numbers() == ["Colours.html"]  # still the replies that stand
    assert run(task(score={"by": ["nosuch"]}), "--html")[0] == 1
    assert numbers() == []


def test_pages_need_numbers(run):
    code, out, err = run(task(steps="predict"), "--html")
    assert (code, out) == (2, "")
    assert "task.yaml steps: predict gives no numbers for the pages of --html. Leave one of them out." in err
    assert not Path("results").exists()


def test_a_page_that_fails_keeps_nothing_else_from_its_turn(run):
    assert run(task())[0] == 0
    shutil.rmtree("results/.datasets/Colours")
    code, out, err = run(task(steps="score"), "--html", "--json")
    assert (code, [one["status"] for one in json.loads(out)["runs"]]) == (3, ["ok", "ok"])
    assert err.startswith("mmscore: results/Colours.html: results/.datasets/Colours: no such file or folder.")
    assert (numbers("Colours")[2:], numbers("quiz")[2:]) == ([], ["quiz.html"])
    assert "no such file or folder" in Path("results/log.txt").read_text()


LOUD = """
from dataclasses import replace
from mmscore.recipes.own_choice import RECIPE
def b(records):
    print("asked")
    return ["A" for _ in records]
def parse(item, version):
    print("read by hand")
    return RECIPE.parse(item, version)
LOUD = replace(RECIPE, parse=parse)
"""


def test_what_plug_ins_print_goes_where_a_program_does_not_read_and_a_function_leaves_stdout_alone(run, capsys):
    Path("loud.py").write_text(LOUD)
    given = task(models=[{"model": "loud", "backend": "loud.py@b"}], recipes=["loud.py@LOUD"])
    code, out, err = run(given, "--json", "--html")
    assert (code, len(json.loads(out)["runs"])) == (0, 2)
    assert ("asked" in err, "read by hand" in err) == (True, True)
    (one, other) = mmscore.run(given, restart=True)
    said = capsys.readouterr()
    assert (one.status, other.status) == ("ok", "ok")
    assert ("asked" in said.out, "read by hand" in said.out, said.err) == (True, True, "")
    assert "read by hand" not in Path("results/loud/Colours/log.txt").read_text()


def test_the_log_says_the_numbers_and_what_the_judge_took(run):
    models = [{"model": "text=none of them", "backend": "echo", "name": "right"}]
    with chat_server(lambda request: said('{"reason": "r", "verdict": "correct"}')) as server:
        judged = {"judge": ["own"], "judge-base-url": server.url, "judge-model": ["j"]}
        assert run(task(models=models, recipes=["own_short_answer"], score=judged))[0] == 0
    log = Path("results/right/Colours/log.txt").read_text()
    assert "predictions.parquet: 4 rows, 4 asked" in log
    assert re.search(r"judge own@1 \(j\): 4 rows, .* 4 calls", log)
    assert re.search(r"own_short_answer@1 \(own\)\n(.*\n)+ *accuracy +1.0000", log)


def test_what_was_converted_is_told(capsys):
    Path("task.yaml").write_text(yaml.safe_dump(task()))
    with pytest.raises(SystemExit):
        run_program(program, ["run", "task.yaml"], program="mmscore")
    assert "Colours: 4 rows converted\n" in capsys.readouterr().err


def test_a_second_run_asks_nothing_again_and_writes_the_same(run):
    assert run(task())[0] == 0
    first = {str(f): f.read_bytes() for f in Path("results").rglob("*.*") if f.suffix in (".parquet", ".json", ".csv")}
    assert len(asked()) == 8
    assert run(task())[0] == 0
    assert len(asked()) == 8
    kept = {name: Path(name).read_bytes() for name in first if ".mmconvert" not in name}
    assert kept == {name: data for name, data in first.items() if name in kept}
    assert run(task(), "--restart")[0] == 0
    assert len(asked()) == 16


def test_a_model_is_not_even_opened_where_every_reply_stands(run):
    Path("mine.py").write_text("def b(records):\n    return ['B' for _ in records]\n")
    models = [{"model": "mine", "backend": "mine.py@b"}]
    assert run(task(models=models))[0] == 0
    assert run(task(models=models))[0] == 0
    log = Path("results/mine/quiz/log.txt").read_text()
    assert "predictions.parquet stands, 4 rows" in log
    Path("mine.py").write_text("def b(records):\n    return ['C'] * len(records)\n")
    assert run(task(models=models))[0] == 0
    assert set(pq.read_table("results/mine/quiz/predictions.parquet")["prediction"].to_pylist()) == {"C"}


def test_an_edited_protocol_asks_anew(run):
    proto = (
        "from mmconvert.core.record import Part, Turn\n"
        "from mmscore.infer.protocol import Protocol\n"
        "def history(record, before, parameters):\n"
        "    return (Turn('user', (*record.messages[-1].content, Part('text', 'TAG'))),)\n"
        "P = Protocol('Tags.', history)\n"
    )
    Path("proto.py").write_text(proto)
    models = [{**task()["models"][0], "protocol": "proto.py@P"}]
    for tag, count in (("TAG", 8), ("TAG", 8), ("OTHER", 16)):
        Path("proto.py").write_text(proto.replace("TAG", tag))
        assert run(task(models=models))[0] == 0
        assert len(asked()) == count


def test_rows_that_failed_are_asked_by_the_next_run(run):
    models = [{"model": "answer:log=asked.log,fail=4", "backend": "echo", "name": "right"}]
    code, out, _ = run(task(models=models), "--json")
    assert (code, [one["status"] for one in json.loads(out)["runs"]]) == (3, ["partial", "partial"])
    assert [one["failed"] for one in json.loads(out)["runs"]] == [1, 1]
    code, out, _ = run(task(), "--json")
    assert (code, [one["status"] for one in json.loads(out)["runs"]]) == (0, ["ok", "ok"])
    assert len(asked()) == 10


def test_what_fails_leaves_the_others_alone(run):
    Path("mine.py").write_text("def b(records):\n    return 1 / 0\n")
    Path("files/empty.tsv").write_text("index\tquestion\n")
    datasets = ["files/lmudata/Colours.tsv", {"input": "files/empty.tsv", "format": "lmudata"}]
    models = [{"model": "answr", "backend": "echo", "name": "typo"}, {"model": "bug", "backend": "mine.py@b"},
              {"model": "answer", "backend": "echo"}]  # fmt: skip
    code, out, err = run(task(datasets=datasets, models=models), "--json")
    runs = {(one["model"], one["dataset"]): one for one in json.loads(out)["runs"]}
    assert code == 3
    assert [key for key, one in runs.items() if one["status"] == "ok"] == [("answer", "Colours")]
    assert "Did you mean answer?" in runs["typo", "Colours"]["error"]
    assert runs["bug", "Colours"]["error"].startswith("ZeroDivisionError: division by zero. This is a bug")
    assert "return 1 / 0" in Path("results/bug/Colours/log.txt").read_text()
    assert len({runs[model, "empty"]["error"] for model in ("typo", "bug", "answer")}) == 1
    assert "Traceback" not in err
    code, out, _ = run(task(models=models[:1]))
    assert code == 1
    assert "typo / Colours: failed: --model (got 'answr')" in out


def test_a_file_with_refused_rows_is_scored_and_said(run):
    text = Path("files/lmudata/Colours.tsv").read_text()
    Path("files/bad.tsv").write_text(
        text + text.splitlines()[-1].replace(text.splitlines()[-1].split("\t")[1], "@@") + "\n"
    )
    code, out, _ = run(task(datasets=["files/bad.tsv"]), "--json")
    (one,) = json.loads(out)["runs"]
    assert (code, one["status"], one["error"]) == (3, "partial", None)
    assert one["scores"]


@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.release)])
def test_a_run_that_was_stopped_goes_on_where_it_was(run, how):
    models = [{"model": "answer:log=asked.log,delay=0.05,batch=1", "backend": "echo", "name": "right"}]
    Path("task.yaml").write_text(yaml.safe_dump(task(models=models)))
    command = [sys.executable, "-c", "from mmscore.cli import main; main()", "run", "task.yaml", "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + 60
        while len(asked()) < 6 and time.monotonic() < end:
            time.sleep(0.005)
        process.send_signal(how)
        _, err = process.communicate(timeout=30)
    assert process.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL)
    assert "Traceback" not in err
    before = asked()
    assert len(before) < 8
    code, out, _ = run(task(models=models), "--json")
    assert (code, [one["status"] for one in json.loads(out)["runs"]]) == (0, ["ok", "ok"])
    assert 8 <= len(asked()) <= 9
    assert asked()[: len(before)] == before


def test_a_limit_marks_the_numbers_as_partial(run):
    assert run(task(datasets=[{"input": "files/lmudata/Colours.tsv", "limit": 2}]))[0] == 0
    (entry,) = entries("right/Colours")
    assert (entry["partial"], entry["counts"]["total"]) == (True, 2)


def test_a_dataset_of_ours_is_asked_as_it_is(run, folder):
    written(folder / "ours", [record(i, f"question {i}", answer=str(i)) for i in range(3)])
    assert run(task(datasets=["ours"], recipes=["own_short_answer"]))[0] == 0
    assert not Path("results/.datasets").exists()
    about = json.loads(pq.read_schema("results/right/ours/predictions.parquet").metadata[RUN_METADATA])
    assert about["rows"] == 3


def test_without_recipes_the_one_that_fits_is_taken(run):
    assert run(task(recipes=None))[0] == 0
    assert entries("right/Colours")[0]["reason"] != "given by --recipe"


def test_the_plan_is_shown_and_nothing_done(run):
    code, out, _ = run(task(), "--dry-run")
    assert (code, out.splitlines()[0]) == (0, "2 runs in results:")
    assert "  right/quiz: echo answer:log=asked.log on files/vmcq/colours.tsv (converted first), own_choice" in out
    runs = json.loads(run(task(), "--dry-run", "--json")[1])["runs"]
    assert [one["folder"] for one in runs] == ["results/right/Colours", "results/right/quiz"]
    assert not Path("results").exists()


def model(**more: object) -> list[dict]:
    return [{"model": "answer", "backend": "echo", **more}]


def dataset(**more: object) -> list[dict]:
    return [{"input": "files/vmcq/colours.tsv", **more}]


MISTAKES = [
    ({"model": ["x"]}, "task.yaml: a task has no 'model'. Did you mean models?"),
    ({"datasets": dataset(promt="vlmevalkit")}, "datasets[0]: a dataset has no 'promt'. Did you mean prompt?"),
    ({"datasets": dataset(output="x")}, "task.yaml datasets[0]: a dataset has no 'output'."),
    ({"datasets": dataset(transform=["circlar"])}, "datasets[0]: unknown transform 'circlar'. Did you mean circular?"),
    ({"datasets": dataset(prompt="vlmevalkt")}, "datasets[0]: unknown prompt 'vlmevalkt'. Did you mean vlmevalkit?"),
    ({"models": model(backend="ecko")}, "models[0]: unknown backend 'ecko'. Did you mean echo?"),
    ({"models": model(backend="mine.py@b")}, "models[0]: mine.py: no such file or folder."),
    ({"datasets": dataset(verify="all")}, "task.yaml datasets[0]: Invalid value for '--verify'"),
    ({"datasets": dataset(limit=0)}, "task.yaml datasets[0] limit: expected a number from 1 (got 0)."),
    ({"datasets": dataset(recipes=["own_choise"])}, "recipes: unknown recipe 'own_choise'. Did you mean own_choice"),
    ({"datasets": dataset(name="../x")}, "task.yaml datasets[0]: '../x' cannot be a folder's name."),
    ({"datasets": ["nowhere.tsv"]}, "task.yaml datasets[0]: nowhere.tsv: no such file"),
    ({"datasets": [{"name": "x"}]}, "task.yaml datasets[0]: expected input: with a file"),
    ({"datasets": dataset() * 2}, "task.yaml datasets: several are called colours. Give each a name"),
    ({"datasets": "files"}, "task.yaml datasets: expected a list"),
    ({"models": []}, "task.yaml models: expected a list with at least one entry (got [])."),
    ({"models": model(temprature=1)}, "task.yaml models[0]: a model has no 'temprature'. Did you mean temperature?"),
    ({"models": model(temperature="hot")}, "task.yaml models[0]: Invalid value for '--temperature'"),
    ({"models": model(top_p=0.5)}, "task.yaml models[0]: --top-p has a meaning only when sampling"),
    *[({"models": model(**{"max-calls": 3}, **more)}, "models[0]: --max-calls: the limit applies to one process.")
      for more in ({"processes": 2}, {"engine": "ray"})],
    ({"models": model(protocol="vlmeval")}, "models[0]: unknown protocol 'vlmeval'. Did you mean vlmevalkit?"),
    ({"models": [{"backend": "echo"}]}, "task.yaml models[0]: Missing option '--model'."),
    ({"predict": {"max-tokens": 3}}, "task.yaml predict: predict has no 'max-tokens'. Did you mean"),
    ({"convert": {"limit": 3}}, "task.yaml convert: convert has no 'limit'."),
    ({"score": {"bye": ["x"]}}, "task.yaml score: score has no 'bye'. Did you mean by?"),
    *[({"score": {name: "x"}}, f"task.yaml score: score has no '{name}'.")
      for name in ("html", "html-pictures", "log", "model-card", "format")],
    ({"score": {"judge-model": ["j"]}}, "task.yaml score: --judge-model: no judge is named."),
    *[({"score": {"judge": judge, **more}, "recipes": recipes}, f"task.yaml score: {message}")
      for recipes in (["own_short_answer"], None)
      for judge, more, message in (
        (["nojudge"], {}, "unknown judge 'nojudge'."),
        (["own"], {"judge-aggregation": "meann"}, "no aggregation 'meann'. Did you mean mean?"),
        (["own"], {"judge-generation": '{"bad'}, "--judge-generation: is not JSON"),
        (["own@9"], {"judge-strategy": "rule"}, "judge 'own' has no version '9'."),
        (["own"], {"judge-prompt": "nowhere.txt"}, "nowhere.txt: no such file or folder."),
      )],
    ({"score": {"judge": ["own"]}, "recipes": ["reform_ocr"]}, "task.yaml score: judge 'own' does not fit recipe"),
    ({"recipes": ["vlmevalkit_mmvet"]}, "task.yaml score: recipe 'vlmevalkit_mmvet' has no scores without a judge."),
    ({"score": {"answers": "nowhere"}}, "task.yaml score: nowhere: no such file or folder."),
    ({"score": {"answers": "-"}}, "task.yaml score: answers: standard input cannot be read twice."),
    ({"score": {"recipe-options": "no.yaml"}, "recipes": None}, "task.yaml score: no.yaml: no such file or folder."),
    ({"score": {"recipe-options": "task.yaml"}}, "score: recipe 'own_choice' takes no options. Leave"),
    ({"recipes": ["own"]}, "task.yaml recipes: unknown recipe 'own'."),
    ({"steps": "scores"}, "task.yaml steps: expected all, predict, score (got 'scores'). Did you mean score?"),
    ({"work-dir": None}, "task.yaml: where shall the results go? Give --work-dir DIR"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), MISTAKES, ids=[message[:60] for _, message in MISTAKES])
def test_a_mistake_in_the_file_is_named_with_its_place_before_anything_is_done(run, changes, message):
    code, out, err = run(task(**changes))
    assert (code, out) == (2, "")
    assert err.startswith("mmscore: task.yaml")
    assert message in err
    assert "Traceback" not in err
    assert not Path("results").exists()


@pytest.mark.parametrize("recipes", [["own_short_answer"], None])
def test_a_judge_that_fits_is_no_mistake(run, recipes):
    assert run(task(recipes=recipes, score={"judge": ["own"], "judge-repeats": 3}), "--dry-run")[0] == 0


def test_how_to_score_does_not_keep_anybody_from_being_asked_alone(run):
    assert run(task(steps="predict", recipes=["vlmevalkit_mmvet"], score={"answers": "elsewhere"}))[0] == 0


def test_replies_now_and_numbers_later(run):
    code, out, _ = run(task(steps="score"), "--json")
    assert (code, {one["status"] for one in json.loads(out)["runs"]}) == (1, {"failed"})
    assert "there are no responses yet. Run the task with steps: all or predict first." in out
    code, out, _ = run(task(steps="predict"), "--json")
    assert (code, [one["scores"] for one in json.loads(out)["runs"]], len(asked())) == (0, [{}, {}], 8)
    assert not Path("results/right/quiz/report.json").exists()
    shutil.rmtree("results/.datasets")
    code, out, _ = run(task(steps="score"), "--json")
    assert [one["scores"]["own_choice@1"]["accuracy"] for one in json.loads(out)["runs"]] == [1.0, 1.0]
    assert (code, len(asked()), Path("results/.datasets").exists()) == (0, 8, False)


@pytest.mark.parametrize("text", ["- a list\n", "a: [", "\x00"])
def test_what_is_no_task_is_refused(run, text):
    assert run(text)[0] == 2


@pytest.mark.release
def test_several_processes_answer_a_model_s_rows(run, folder):
    (folder / "mine.py").write_text(
        "import os\n"
        "def pid(records):\n"
        "    with open('pids.log', 'a') as log:\n"
        "        print(os.getpid(), file=log)\n"
        "    return ['A' for _ in records]\n"
    )
    models = [{"model": "mine", "backend": "mine.py@pid", "processes": 2, "batch-size": 1}]
    given = task(models=models, datasets=["files/vmcq/colours.tsv"])
    code, out, err = run(given)
    assert (code, err) == (0, "")
    assert str(os.getpid()) not in Path("pids.log").read_text().split()
    asked_before = Path("pids.log").read_text()
    assert run({**given, "models": [{**models[0], "processes": 3}]})[:2] == (0, out)
    assert Path("pids.log").read_text() == asked_before
