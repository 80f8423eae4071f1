"""Scores reach the leaderboards of the Hub: the Hub's own client reads `.eval_results/`, or a reason is given."""

import dataclasses
import functools
import itertools
import json

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries
from msgspec.structs import replace

from mmconvert.core.errors import UsageError
from mmscore.core.estimates import Estimate
from mmscore.core.report import Counts, Entry
from mmscore.reporting.eval_results import (
    HubBenchmark,
    build_eval_results,
    build_path,
    find_benchmark,
    format_file,
    parse_benchmark,
    says_the_same,
)
from support.datasets_on_disk import record, write_dataset
from support.hub_repo import Blob, Repo
from support.predictions import choices, write_predictions

NUMBERS = itertools.count()
COMMIT = "a" * 40
RECIPE = ("--recipe", "own_choice")
TASKS = {
    "name": "Colours",
    "evaluation_framework": "mmscore",
    "tasks": [{"id": "easy", "config": "default", "split": "test"}, {"id": "hard", "config": "hard", "split": "test"}],
}
ENTRY = Entry(
    recipe="lmms_chartqa",
    version="1",
    parity="lmms-eval",
    reason="asked",
    metrics={"relaxed_overall": Estimate(0.5, 4, 0.1, (0.3, 0.7)), "other": Estimate(1.0, 4)},
    groups={},
    counts=Counts(4, 4, 0, 0, 0, 0, 0, 0),
    partial=False,
    model="m",
    dataset="chartqa",
    signature="recipe:lmms_chartqa@1|data:1",
)


@pytest.fixture
def mmscore(hub_server, hub_process):
    return functools.partial(hub_process, "command", "mmscore")


@pytest.fixture
def model(hub_server):
    name = f"user/model{next(NUMBERS)}"
    hub_server.repos[f"models/{name}"] = repo = Repo(name)
    repo.commit("main", {"README.md": Blob(b"---\nlicense: mit\n---\n# A model\n", False)}, "new")
    return repo


@pytest.fixture
def benchmark(hub_server):
    """A dataset of the Hub that is a benchmark."""
    name = f"user/bench{next(NUMBERS)}"
    repo = hub_server.repos[f"datasets/{name}"] = Repo(name)
    repo.commit("main", {"eval.yaml": Blob(yaml.safe_dump(TASKS).encode(), False)}, "new")
    return repo


@pytest.fixture
def answers(tmp_path):
    rows = [{**row, "model": "m", "dataset": "Colours"} for row in choices(("A", "A"), ("B", "A"), ("C", "C"))]
    return write_predictions(tmp_path / "a.parquet", rows)


def push(mmscore, answers, model, *more):
    return mmscore(answers, *RECIPE, "--push", f"user/p{next(NUMBERS)}", "--model-card", model.id, *more)


def proposed(model, number=1):
    found = model.files(f"refs/pr/{number}")
    return {path: yaml.safe_load(data) for path, data in found.items() if path.startswith(".eval_results/")}


def test_a_score_of_a_benchmark_is_proposed_beside_the_models_card(hub_server, mmscore, answers, model, benchmark):
    repo = f"user/p{next(NUMBERS)}"
    arguments = (answers, *RECIPE, "--push", repo, "--model-card", model.id, "--eval-results", f"{benchmark.id}#easy")
    code, out, err = mmscore(*arguments)
    assert (code, ".eval_results/mmscore_Colours_own_choice.yaml: for the benchmark's leaderboard" in out) == (
        0,
        True,
    ), err
    assert model.refs["main"] != model.refs["refs/pr/1"]
    [(path, items)] = proposed(model).items()
    assert path == ".eval_results/mmscore_Colours_own_choice.yaml"
    [entry] = parse_eval_result_entries(items)
    report = json.loads(hub_server.dataset(repo).files()["reports/m_Colours.json"])["entries"][0]
    assert (entry.dataset_id, entry.task_id, entry.verify_token) == (benchmark.id, "easy", None)
    assert entry.value == report["metrics"]["accuracy"]["value"]
    assert isinstance(entry.date, str)
    assert (entry.source_url, entry.source_name) == (f"{hub_server.url}/datasets/{repo}", "mmscore")
    assert entry.notes.endswith(report["signature"])
    assert entry.notes.startswith("accuracy in fraction, n=3, 95 % interval ")
    assert "refs/pr/2" not in model.refs


@pytest.mark.parametrize("merged", [False, True])
def test_a_score_that_was_proposed_is_not_proposed_again(mmscore, tmp_path, answers, model, benchmark, merged):
    repo = f"user/p{next(NUMBERS)}"
    more = ("--push", repo, "--model-card", model.id, "--eval-results", f"{benchmark.id}#hard")
    assert mmscore(answers, *RECIPE, *more)[0] == 0
    if merged:
        model.refs["main"] = model.refs["refs/pr/1"]
    code, out, err = mmscore(answers, *RECIPE, *more)
    assert (code, model.pulls, "discussions/1" in out) == (0, 1, not merged), err
    rows = [{**row, "model": "m", "dataset": "Colours"} for row in choices(("A", "A"), ("A", "A"), ("C", "C"))]
    assert mmscore(write_predictions(tmp_path / "b.parquet", rows), *RECIPE, *more)[0] == 0
    assert [items[0]["value"] for items in proposed(model, 2).values()] == [1.0]


def test_questions_read_from_a_benchmark_on_the_hub_give_its_commit(hub_server, mmscore, hub_process, tmp_path, model):
    rows = (replace(record(number), answer="A", answers=("A",)) for number in range(3))
    folder = write_dataset(tmp_path / "set", {"test": rows})
    name = f"user/set{next(NUMBERS)}"
    assert hub_process("command", "mmconvert", "push", folder, name)[0] == 0
    one = {**TASKS, "tasks": TASKS["tasks"][:1]}
    commit = hub_server.dataset(name).put("eval.yaml", yaml.safe_dump(one).encode())
    file = tmp_path / "p.parquet"
    assert mmscore("predict", name, "-o", file, "--backend", "echo", "--model", "text=A")[0] == 0
    code, _, err = mmscore(
        *(file, "--recipe", "own_short_answer", "--push", f"user/p{next(NUMBERS)}", "--model-card", model.id)
    )
    assert code == 0, err
    [[item]] = proposed(model).values()
    assert item["dataset"] == {"id": name, "task_id": "easy", "revision": commit}


@pytest.mark.parametrize(
    ("named", "words"),
    [
        (None, "its dataset on the Hub is not known. Name it: --eval-results USER/DATASET."),
        (
            "user/none",
            "user/none has no readable eval.yaml, which makes a dataset a benchmark of the Hub. Name its task: ",
        ),
        ("BENCHMARK", "fits, but 2 of: easy, hard. Name its task: --eval-results "),
    ],
)
def test_a_score_of_no_known_benchmark_is_left_out_and_that_is_said(mmscore, answers, model, benchmark, named, words):
    more = () if named is None else ("--eval-results", named.replace("BENCHMARK", benchmark.id))
    code, out, err = push(mmscore, answers, model, *more)
    assert (code, words in out) == (0, True), out + err
    assert (proposed(model), b"own_choice@1" in model.files("refs/pr/1")["README.md"]) == ({}, True)


@pytest.mark.parametrize("text", [b"tasks: 3", b"- a", b"{", b"\xff", b"tasks: [1, {id: 2}]", b"a: &x [*x]"])
def test_an_eval_yaml_of_another_shape_makes_no_benchmark(hub_server, mmscore, answers, model, benchmark, text):
    benchmark.put("eval.yaml", text)
    code, out, err = push(mmscore, answers, model, "--eval-results", benchmark.id)
    assert (code, "not for a leaderboard" in out, proposed(model)) == (0, True, {}), err


def test_nothing_is_pushed_where_a_task_is_wrong_or_the_hub_fails(hub_server, mmscore, answers, model, benchmark):
    code, _, err = push(mmscore, answers, model, "--eval-results", f"{benchmark.id}#none")
    assert (code, "has no task 'none'. Known: easy, hard." in err) == (2, True), err
    hub_server.fail(rf"GET /api/datasets/{benchmark.id}", 500)
    code, _, err = push(mmscore, answers, model, "--eval-results", f"{benchmark.id}#easy")
    assert (code, f"{benchmark.id}: the Hub answered 500" in err) == (1, True), err
    assert not any(line.startswith("POST") for line in hub_server.requests)


def test_wrong_options_are_told_before_anything_is_asked(hub_server, mmscore, answers):
    for more, words in [
        (("--eval-results", "user/x"), "--eval-results goes with --push"),
        (("--push", "user/x", "--eval-results", "user/x"), "--eval-results goes with --push"),
        (("--push", "user/x", "--model-card", "user/m", "--eval-results", "x"), "is no benchmark of the Hub"),
    ]:
        code, _, err = mmscore(answers, *RECIPE, *more)
        assert (code, words in err, hub_server.requests) == (2, True, []), err


def test_the_catalogue_knows_the_benchmark_of_its_own_recipe_alone():
    found = find_benchmark(ENTRY, {})
    assert (found.repo, found.config, found.split) == ("lmms-lab-encoder/ChartQA", None, "test")
    assert find_benchmark(ENTRY, {"dataset_source": f"lmms-lab-encoder/ChartQA@{COMMIT}"}).revision == COMMIT
    assert find_benchmark(ENTRY, {"dataset_source": f"user/copy@{COMMIT}"}) == found
    other = replace(ENTRY, recipe="own_short_answer")
    assert find_benchmark(other, {}) is None
    assert find_benchmark(other, {"dataset_source": f"user/copy@{COMMIT}"}) == HubBenchmark("user/copy", None, COMMIT)
    assert find_benchmark(ENTRY, {}, "user/mine#t") == parse_benchmark("user/mine#t") == HubBenchmark("user/mine", "t")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"partial": True}, "is of a part of the samples"),
        ({"counts": Counts(4, 3, 0, 0, 1, 0, 0, 0)}, "is of a part of the samples"),
        ({"metrics": {}}, "there is no score"),
        ({"metrics": {"a": Estimate(float("nan"), 4)}}, "there is no score"),
    ],
)
def test_a_score_that_is_not_of_all_samples_is_left_out(changes, words):
    found = build_eval_results([({}, [replace(ENTRY, **changes)])], "user/x#t", "https://hub/p")
    assert (dict(found.files), [words in one for one in found.left_out]) == ({}, [True])


def test_scores_of_several_datasets_are_not_those_of_one_benchmark():
    with pytest.raises(UsageError, match="is one benchmark, and the scores are of 2"):
        build_eval_results([({}, [ENTRY, replace(ENTRY, dataset="b")])], "user/x#t", "https://hub/p")


def test_the_date_alone_makes_no_new_entry():
    item = {"dataset": {"id": "user/x", "task_id": "t"}, "value": 0.5, "date": "2026-01-02"}
    data = format_file(item)
    assert yaml.safe_load(data) == [item]
    assert says_the_same(data, {**item, "date": "2026-03-04"})
    assert not says_the_same(data, {**item, "value": 0.25})
    assert [says_the_same(one, item) for one in (b"{", b"[]", b"a: 1", b"\xff")] == [False] * 4
    assert dataclasses.asdict(parse_eval_result_entries([item])[0])["date"] == "2026-01-02"


def test_scores_of_other_names_have_files_of_their_own():
    named = [build_path(replace(ENTRY, dataset=dataset)) for dataset in ("a/b", "a-b", "a b", "颜色")]
    assert len(set(named)) == 4
