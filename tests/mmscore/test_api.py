"""The verbs as functions give what the command line gives."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import mmscore
from mmconvert.core.errors import Error, UsageError
from support.asking import written
from support.chat_server import chat_server, said
from support.predictions import choices, write_predictions
from support.questions import record
from support.terminal import mmscore as terminal


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return written(tmp_path / "data", [record(number, answer="A") for number in range(3)])


def shout(records):
    return [record.id + "!" for record in records]


class Constant:
    name = identity = "constant"
    batch_size = 2

    def __init__(self, text="A"):
        self.text = text

    def answer(self, records):
        from mmscore.llm.response_cache import Answer

        return [Answer(self.text) for _ in records]


def test_a_function_an_object_and_a_name_answer(tmp_path, dataset):
    outputs = [tmp_path / f"{number}.parquet" for number in range(3)]
    mmscore.predict(dataset, outputs[0], backend=shout)
    mmscore.predict(dataset, outputs[1], backend=Constant("B"), model="b")
    summary = mmscore.predict(dataset, outputs[2], backend="echo", model="text=C", limit=2)
    tables = [pq.read_table(output, columns=["prediction", "model"]).to_pydict() for output in outputs]
    assert tables[0] == {"prediction": ["0!", "1!", "2!"], "model": ["shout"] * 3}
    assert tables[1]["prediction"] == ["B"] * 3
    assert tables[2]["prediction"] == ["C"] * 2
    assert (summary.rows, summary.failed, summary.output) == (2, 0, str(outputs[2]))
    (tmp_path / "own.py").write_text("def fn(records):\n    return ['D' for _ in records]\n")
    mmscore.predict(dataset, tmp_path / "own.parquet", backend=f"{tmp_path}/own.py@fn")
    assert pq.read_table(tmp_path / "own.parquet")["model"].to_pylist() == ["fn"] * 3


def test_an_output_that_stands_is_asked_about_again_only_when_told_so(tmp_path, dataset):
    output = tmp_path / "p.parquet"
    assert mmscore.predict(dataset, output, backend=shout).asked == 3
    with pytest.raises(UsageError, match="already exists"):
        mmscore.predict(dataset, output, backend=shout)
    assert mmscore.predict(dataset, output, backend=shout, resume=True).asked == 0
    assert mmscore.predict(dataset, output, backend=shout, restart=True).asked == 3


def made(word):
    return lambda records: [word for _ in records]


def test_a_function_that_counts_reuses_its_own_answers(tmp_path, dataset):
    seen = 0

    def answer(records):
        nonlocal seen
        seen += len(records)
        return ["A" for _ in records]

    counts = []
    for _ in range(2):
        summary = mmscore.predict(dataset, tmp_path / "p.parquet", backend=answer, model="m", resume=True, quiet=True)
        counts.append((summary.asked, summary.reused))
    assert (counts, seen) == ([(3, 0), (0, 3)], 3)


def test_another_function_of_the_same_name_is_asked_anew(tmp_path, dataset):
    output = tmp_path / "p.parquet"
    cells = ["def answer(records): return ['A' for _ in records]", "def answer(records): return ['B' for _ in records]"]
    functions = [made("A"), made("B")]
    for cell in cells:
        typed = {"__name__": "prompt"}
        exec(compile(cell, "<cell>", "exec"), typed)
        functions.append(typed["answer"])
    for function, word in zip(functions, "ABAB", strict=True):
        for asked in (3, 0):
            assert mmscore.predict(dataset, output, backend=function, model="m", resume=True).asked == asked
        assert pq.read_table(output)["prediction"].to_pylist() == [word] * 3


def test_a_price_gives_a_cost_as_on_the_command_line(tmp_path, dataset):
    with chat_server(lambda request: said("A")) as server:
        summary = mmscore.predict(dataset, tmp_path / "p.parquet", model="m", base_url=server.url, price="1,2")
    assert summary.cost == pytest.approx((summary.prompt_tokens + 2 * summary.completion_tokens) / 1e6)
    assert summary.cost > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"temprature": 1}, "no option 'temprature'. Did you mean temperature?"),
        ({"batch_size": "many"}, "expected auto or a number"),
        ({"json": True}, "no option 'json'"),
        ({"dtype": "float16"}, "has no dtype"),
    ],
)
def test_options_are_those_of_the_command(tmp_path, dataset, options, words):
    with pytest.raises(UsageError, match=words):
        mmscore.predict(dataset, tmp_path / "p.parquet", backend=shout, **options)


def test_a_task_is_a_mapping_or_a_file(tmp_path, dataset):
    task = {
        "datasets": [str(dataset)],
        "models": [{"model": "answer", "backend": "echo"}],
        "recipes": "own_short_answer",
    }
    (outcome,) = mmscore.run(task, work_dir=tmp_path / "work", html=True)
    assert (tmp_path / "work" / "data.html").is_file()
    with pytest.raises(UsageError, match=r"task steps: predict gives no numbers for the pages of html=True"):
        mmscore.run({**task, "steps": "predict"}, work_dir=tmp_path / "other", html=True)
    assert (outcome.status, outcome.rows, outcome.scores["own_short_answer@1"]["accuracy"]) == ("ok", 3, 1.0)
    (tmp_path / "task.json").write_text(json.dumps({**task, "work_dir": str(tmp_path / "other")}))
    (same,) = mmscore.run(tmp_path / "task.json")
    assert same.scores == outcome.scores
    with pytest.raises(UsageError, match="Did you mean recipes"):
        mmscore.run({**task, "recipe": "own_short_answer"}, work_dir=tmp_path / "work")


@pytest.mark.parametrize("task", [["data"], None, 3])
def test_what_is_no_task_is_met_with_what_one_is(task):
    with pytest.raises(UsageError, match=r"run: expected the file of a task, or what it holds, such as \{'datasets'"):
        mmscore.run(task)


def test_remedies_name_keywords(tmp_path):
    file = write_predictions(tmp_path / "p.parquet", [{"id": "1", "question": "q", "prediction": "a"}], task="vqa")
    with pytest.raises(Error, match="has them: answers=DATASET"):
        mmscore.score(file, "own_short_answer")


def test_a_judge_is_asked_in_python_as_on_the_command_line(tmp_path, monkeypatch):
    rows = [{"id": text, "question": "What?", "prediction": text, "answer": "cat"} for text in ("a cat", "a kitten")]
    file = write_predictions(tmp_path / "p.parquet", rows, task="vqa")
    with chat_server(lambda request: said('{"reason": "r", "verdict": "correct"}')) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert mmscore.score(file, "own_short_answer").entries[0].metrics["accuracy"].value == 0.5
        for request in (mmscore.JudgeRequest("own", base_url=server.url), "own"):
            (entry,) = mmscore.judge(file, request, "own_short_answer").entries
            assert (entry.metrics["accuracy"].value, entry.counts.judge_failed) == (1.0, 0)
        assert len(server.asked) == 1  # the stored reply serves the second
        assert mmscore.score(file, "own_short_answer", judge="own").entries[0].metrics["accuracy"].value == 1.0
    with pytest.raises(UsageError, match=r"unknown judge 'owl'\. Did you mean own"):
        mmscore.judge(file, "owl", "own_short_answer")


@pytest.mark.parametrize("call", [mmscore.score, lambda file, **more: mmscore.judge(file, "own", **more)])
def test_an_argument_that_nobody_knows_is_named(tmp_path, call):
    with pytest.raises(UsageError, match=r"no option 'avrage'\. Did you mean average\?"):
        call(tmp_path / "p.parquet", avrage="macro")


@pytest.mark.slow
def test_score_is_the_function_whatever_was_imported_before(tmp_path):
    code = (
        "import mmscore, mmscore.scoring.evaluate, mmscore.core.judge;"
        "import mmscore.cli.score, mmscore.cli.judge, mmscore.cli.run;"
        "assert all(callable(getattr(mmscore, name)) for name in mmscore.__all__);"
        "assert set(mmscore.__all__) <= set(dir(mmscore))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), ("A", "B")))
    assert mmscore.score(file, "own_choice").entries[0].metrics["accuracy"].value == 0.5
    with pytest.raises(AttributeError, match="scores"):
        mmscore.scores  # noqa: B018


def test_the_package_alone_loads_nothing():
    code = "import sys, mmscore; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture
def models(tmp_path):
    told = {"a": (("A", "A"), ("B", "A"), ("C", "C")), "b": (("A", "A"), ("A", "A"), ("C", "C"))}
    return [
        write_predictions(tmp_path / f"{name}.parquet", choices(*rows, question="Which?"), model=name, dataset="MME")
        for name, rows in told.items()
    ]


@pytest.mark.parametrize(
    ("verb", "places", "keywords", "options"),
    [
        ("compare", slice(2), {"recipe": "own_choice", "resamples": 200}, ["--recipe=own_choice", "--resamples=200"]),
        ("explain", slice(1), {"recipe": ["own_choice"], "limit": 1}, ["--recipe=own_choice", "--limit=1"]),
        ("rank", slice(2), {"by": "dataset", "recipe": "own_choice"}, ["--by=dataset", "--recipe=own_choice"]),
    ],
)
def test_a_verb_gives_what_its_command_prints(verb, places, keywords, options, models, tmp_path):
    named = models[places]
    arguments = [named] if verb == "rank" else named
    found = getattr(mmscore, verb)(*arguments, output=tmp_path / "found.json", **keywords)
    shown = terminal(verb, *named, *options, "--json")
    assert shown.code == 0, shown.err
    assert json.loads(json.dumps(found.to_json())) == json.loads(shown.out)
    assert json.loads((tmp_path / "found.json").read_text()) == json.loads(shown.out)
    with pytest.raises(UsageError, match=rf"{verb}: no option 'recpie'\. Did you mean recipe\?"):
        getattr(mmscore, verb)(*arguments, recpie="own_choice")


def test_a_bundle_is_made_verified_and_found_damaged(models, tmp_path):
    made = mmscore.bundle(models, tmp_path / "bundle", recipe="own_choice")
    assert [entry["model"] for entry in made.to_json()["entries"]] == ["a", "b"]
    assert mmscore.verify(tmp_path / "bundle").faults == ()
    (tmp_path / "bundle" / "report.json").write_text("{}")
    assert "report.json" in mmscore.verify(tmp_path / "bundle").faults[0]


def test_predictions_are_submitted(models, tmp_path):
    done = mmscore.submit(models[0], tmp_path / "s.xlsx", to="mmbench")
    assert (done.rows, done.complete) == (3, True)
    with pytest.raises(UsageError, match="unknown format 'mmbanch'"):
        mmscore.submit(models[0], tmp_path / "t.xlsx", to="mmbanch")


def test_a_report_goes_to_the_files_that_are_named(models, tmp_path):
    files = {name: tmp_path / f"r.{name}" for name in ("output", "csv", "html", "rows")}
    report = mmscore.score(models, "own_choice", **files)
    assert json.loads(files["output"].read_text()) == json.loads(json.dumps(report.to_json()))
    assert files["csv"].read_text().splitlines() == report.to_csv().splitlines()
    assert pq.read_metadata(files["rows"]).num_rows == 6
    assert "mmscore" in files["html"].read_text()
    failed = write_predictions(tmp_path / "f.parquet", choices((None, "A"), ("A", "A")))
    with pytest.raises(Error, match=r"more than max_failed 0 allows"):
        mmscore.score(failed, "own_choice", max_failed=0)


def test_plug_ins_are_listed():
    assert "own_choice" in [one.name for one in mmscore.list_plugins("recipes")["recipes"]]
    assert [*mmscore.list_plugins("recipes", words="mmbench_circular")] == ["recipes"]
    with pytest.raises(UsageError, match="unknown kind 'recipe'"):
        mmscore.list_plugins("recipe")


def test_a_folder_in_place_of_a_file_names_the_files(tmp_path):
    (tmp_path / "reviews").mkdir()
    (tmp_path / "reviews/colours.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match=r"is a folder, and evalscope_reviews reads files\. Name them: .*/\*\.jsonl"):
        mmscore.score(tmp_path, format="evalscope_reviews")


@pytest.mark.parametrize("path", ["x" * 300, "x" * 300 + "/rows.tsv", "/".join(["y" * 200] * 30), "a\0b"])
def test_a_path_that_no_file_can_have_is_a_mistake_of_usage(path, dataset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = write_predictions(tmp_path / "p.parquet", choices(("A", "B")))
    task = {"datasets": [{"input": str(dataset)}], "models": [{"model": "A", "backend": "echo"}], "work-dir": "w"}
    calls = [
        lambda: mmscore.predict(path, "out.parquet", backend="echo", model="A"),
        lambda: mmscore.predict(dataset, f"{path}/out.parquet", backend="echo", model="A"),
        lambda: mmscore.score(path),
        lambda: mmscore.score(rows, answers=path),
        lambda: mmscore.score(rows, rows=f"{path}/rows.parquet"),
        lambda: mmscore.run(path),
        lambda: mmscore.run({**task, "datasets": [{"input": path}]}),
        lambda: mmscore.run({**task, "work-dir": path}),
        lambda: mmscore.compare(path, rows),
        lambda: mmscore.explain(path),
        lambda: mmscore.rank([path, rows]),
        lambda: mmscore.submit(path, "s.json", to="mmmu"),
        lambda: mmscore.bundle(path, "bundle"),
        lambda: mmscore.verify(path),
        lambda: mmscore.view(path),
    ]
    for call in calls:
        with pytest.raises(UsageError):
            call()
