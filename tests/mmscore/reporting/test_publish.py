"""Published predictions: load_dataset opens them, mmscore gives the same numbers, other models' results stay."""

import functools
import itertools
import json

import pyarrow.parquet as pq
import pytest
from huggingface_hub.repocard_data import model_index_to_eval_results
from msgspec.structs import replace

from mmconvert.core.record import Source
from mmconvert.dataset.front_matter import read_front_matter, replace_front_matter
from mmscore.core.predictions.run_metadata import RUN_METADATA
from support.datasets_on_disk import record, write_dataset
from support.hub_repo import Blob, Repo
from support.predictions import choices, write_predictions

pytestmark = pytest.mark.slow

NUMBERS = itertools.count()
RECIPE = ("--recipe", "own_choice")


@pytest.fixture
def mmscore(hub_server, hub_process):
    return functools.partial(hub_process, "command", "mmscore")


@pytest.fixture
def repo(hub_server):
    return f"user/preds{next(NUMBERS)}"


def predictions(path, model, *pairs):
    return write_predictions(path, [{**row, "model": model, "dataset": "Colours"} for row in choices(*pairs)])


@pytest.fixture
def first(tmp_path):
    return predictions(tmp_path / "a.parquet", "org/model-a", ("A", "A"), ("B", "A"), ("C", "C"), ("hm", "B"))


@pytest.fixture
def second(tmp_path):
    return predictions(tmp_path / "b.parquet", "model-b", ("A", "A"), ("A", "A"), ("C", "C"), ("D", "B"))


def card(hub_server, repo):
    return hub_server.dataset(repo).files()["README.md"].decode()


def entries(shown):
    code, out, err = shown
    assert code in (0, 3), err
    return json.loads(out)["entries"]


def numbers(found):
    return [(entry["model"], entry["dataset"], entry["metrics"], entry["counts"]) for entry in found]


@pytest.mark.release
def test_pushed_predictions_score_and_load_as_the_file_does(hub_server, mmscore, hub_process, repo, first):
    here = entries(mmscore(first, *RECIPE, "--push", repo, "--json", "--quiet"))
    assert sorted(hub_server.dataset(repo).files()) == [
        ".gitattributes",
        ".mmconvert/manifest.json",
        "README.md",
        "org-model-a_Colours/test-00000-of-00001.parquet",
        "reports/org-model-a_Colours.json",
    ]
    assert len(hub_server.dataset(repo).messages) == 2
    there = entries(mmscore(repo, *RECIPE, "--json", "--quiet"))
    assert numbers(there) == numbers(here)
    rows = hub_process("rows", repo)
    assert [row["prediction"] for row in rows["test"]] == ["A", "B", "C", "hm"]
    report = json.loads(hub_server.dataset(repo).files()["reports/org-model-a_Colours.json"])
    assert numbers(report["entries"]) == numbers(here)


def test_another_model_joins_and_the_card_keeps_text_and_numbers(hub_server, mmscore, hub_process, repo, first, second):
    one = entries(mmscore(first, *RECIPE, "--push", repo, "--json", "--quiet"))
    hub_server.dataset(repo).put("README.md", (card(hub_server, repo) + "By hand.\n").encode())
    other = entries(mmscore(second, *RECIPE, "--push", repo, "--json", "--quiet"))
    assert numbers(entries(mmscore(repo, *RECIPE, "--json", "--quiet"))) == numbers([*one, *other])
    assert [row["model"] for row in hub_process("rows", repo, "model-b_Colours")["test"]] == ["model-b"] * 4
    assert [row["model"] for row in hub_process("rows", repo)["test"]] == ["org/model-a"] * 4
    text = card(hub_server, repo)
    assert text.endswith("By hand.\n")
    assert "| org/model-a | Colours | own\\_choice@1 | accuracy | 0.5 fraction | 0.15 to 0.85 | 4 | 1 | 0 |" in text
    assert "| model-b | Colours | own\\_choice@1 | accuracy | 0.75 fraction |" in text
    assert f'rows = load_dataset("{repo}", "model-b_Colours", split="test")' in text
    assert f"mmscore {repo} --recipe own_choice@1" in text


def test_the_numbers_stand_in_the_hubs_model_index(hub_server, mmscore, repo, first):
    [entry] = entries(mmscore(first, *RECIPE, "--push", repo, "--json", "--quiet"))
    [(name, result)] = [
        (name, result)
        for model in [read_front_matter(card(hub_server, repo))["model-index"]]
        for name, results in [model_index_to_eval_results(model)]
        for result in results
        if result.metric_type == "accuracy"
    ]
    metric = entry["metrics"]["accuracy"]
    assert (name, result.dataset_name, result.metric_value) == ("org/model-a", "Colours", metric["value"])
    assert (result.task_type, result.metric_config) == ("visual-question-answering", "own_choice@1")
    assert result.metric_args["ci95"] == metric["ci95"]
    assert result.metric_args["signature"] == entry["signature"]
    assert result.source_url == f"{hub_server.url}/datasets/{repo}"


@pytest.mark.release
def test_a_model_that_is_pushed_again_has_its_new_numbers_only(hub_server, mmscore, repo, tmp_path, first, second):
    mmscore(first, second, *RECIPE, "--push", repo)
    again = predictions(tmp_path / "again.parquet", "org/model-a", ("A", "A"))
    mmscore(again, *RECIPE, "--push", repo)
    index = read_front_matter(card(hub_server, repo))["model-index"]
    found = {
        model["name"]: [m["value"] for r in model["results"] for m in r["metrics"] if m["type"] == "accuracy"]
        for model in index
    }
    assert found == {"org/model-a": [1.0], "model-b": [0.75]}
    assert [len(entry["messages"]) for entry in entries(mmscore(repo, *RECIPE, "--json", "--quiet"))] == [0, 0]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.release
def test_models_that_ascii_cannot_spell_join_each_other(mmscore, repo, tmp_path, together):
    files = [
        predictions(tmp_path / f"{number}.parquet", model, ("A", "A"), (reply, "A"))
        for number, (model, reply) in enumerate([("通义千问", "B"), ("混元", "A"), ("Qwen-Ü", "A")])
    ]
    for pushed in [files] if together else [[file] for file in files]:
        code, _, err = mmscore(*pushed, *RECIPE, "--push", repo, "--quiet")
        assert code == 0, err
    found = entries(mmscore(repo, *RECIPE, "--json", "--quiet"))
    values = {entry["model"]: entry["metrics"]["accuracy"]["value"] for entry in found}
    assert values == {"通义千问": 0.5, "混元": 1.0, "Qwen-Ü": 1.0}


@pytest.mark.release
def test_benchmarks_that_ascii_cannot_spell_join_each_other(hub_server, mmscore, repo, first):
    for benchmark in ("颜色", "形状"):
        mmscore(first, *RECIPE, "--dataset", benchmark, "--push", repo, "--quiet")
    found = entries(mmscore(repo, *RECIPE, "--json", "--quiet"))
    assert {entry["dataset"] for entry in found} == {"颜色", "形状"}


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(
    ("model", "benchmark"),
    [("org-model-a", "Colours"), pytest.param("org/model-a_Colours", None, marks=pytest.mark.release)],
)
def test_other_predictions_under_a_name_of_the_same_letters_are_not_replaced(
    hub_server, mmscore, repo, tmp_path, first, model, benchmark, told
):
    mmscore(first, *RECIPE, "--push", repo, "--quiet")
    if not told:
        values = read_front_matter(text := card(hub_server, repo))
        kept = {key: value for key, value in values.items() if key != "predictions"}
        hub_server.dataset(repo).put("README.md", replace_front_matter(text, kept).encode())
    before = hub_server.dataset(repo).files()
    rows = [{**row, "model": model, "dataset": benchmark} for row in choices(("A", "A"))]
    other = write_predictions(tmp_path / "other.parquet", rows)
    code, _, err = mmscore(other, *RECIPE, "--push", repo, "--quiet")
    assert (code, "holds predictions of org/model-a" in err, "push to another repository" in err) == (1, True, True)
    assert hub_server.dataset(repo).files() == before
    assert mmscore(other, *RECIPE, "--model", "model-c", "--push", repo, "--quiet")[0] == 0
    assert mmscore(first, *RECIPE, "--push", repo, "--quiet")[0] == 0


def test_predictions_without_a_score_are_not_replaced_by_those_of_another_model(mmscore, repo, tmp_path):
    folder = write_dataset(tmp_path / "set", {"test": [record(1)]})
    codes = [
        mmscore(
            *("predict", folder, "-o", tmp_path / f"{number}.parquet", "--backend", "echo", "--model", model),
            *("--push", repo, "--quiet"),
        )[0]
        for number, model in enumerate(["text=A/B", "text=A-B"])
    ]
    assert codes == [0, 1]


def test_predictions_that_nobody_scored_yet_leave_no_old_numbers(hub_server, mmscore, repo, tmp_path):
    rows = (replace(record(number), answer="A", answers=("A",)) for number in range(3))
    folder = write_dataset(tmp_path / "set", {"test": rows})
    ask = ("predict", folder, "-o", tmp_path / "p.parquet", "--backend", "echo", "--model", "text=A", "--quiet")
    code, out, err = mmscore(*ask, "--push", repo)
    assert (code, f"/datasets/{repo}: 3 rows, 3 files" in out) == (0, True), err
    assert "Not scored yet." in card(hub_server, repo)
    mmscore(tmp_path / "p.parquet", "--recipe", "own_short_answer", "--push", repo, "--quiet")
    assert "Not scored yet." not in card(hub_server, repo)
    code, out, err = mmscore(*ask, "--restart", "--push", repo)
    assert (code, "1 old files removed" in out) == (0, True), err
    assert "Not scored yet." in card(hub_server, repo)
    assert not any(path.startswith("reports/") for path in hub_server.dataset(repo).files())


def test_questions_of_two_files_are_two_benchmarks(hub_server, mmscore, repo, tmp_path):
    for name in ("cats", "dogs"):
        rows = [replace(record(n), source=Source("vmcq", f"{name}.jsonl", n)) for n in range(2)]
        folder = write_dataset(tmp_path / name, {"test": rows})
        ask = ("predict", folder, "-o", tmp_path / f"{name}.parquet", "--backend", "echo", "--model", "text=A")
        code, _, err = mmscore(*ask, "--push", repo, "--quiet")
        assert code == 0, err
    shards = [path for path in hub_server.dataset(repo).files() if path.endswith(".parquet")]
    assert sorted(shards) == [f"text-A_{name}/test-00000-of-00001.parquet" for name in ("cats", "dogs")]


def test_joined_references_go_along_and_so_do_questions_that_nobody_was_asked(mmscore, repo, tmp_path):
    questions = choices(("A", "A"), ("B", "A"), ("C", "C"))
    answers = write_predictions(tmp_path / "answers.parquet", questions)
    bare = [{"id": row["id"], "prediction": row["prediction"]} for row in questions[:2]]
    file = write_predictions(tmp_path / "bare.parquet", bare)
    options = (*RECIPE, "--dataset", "Colours", "--json", "--quiet")
    here = entries(mmscore(file, "--answers", answers, "--push", repo, *options))
    assert here[0]["counts"]["missing"] == 1
    there = entries(mmscore(repo, *RECIPE, "--json", "--quiet"))
    assert numbers(there) == numbers(here)
    assert there[0]["partial"] == here[0]["partial"]


def test_rows_that_were_refused_stay_counted(hub_process, mmscore, repo, tmp_path):
    questions = choices(("A", "A"), ("B", "A"), ("C", "C"))
    answers = write_predictions(tmp_path / "answers.parquet", questions[:2])
    file = write_predictions(tmp_path / "p.parquet", [{"id": row["id"], "prediction": "A"} for row in questions])
    here = entries(mmscore(file, "--answers", answers, *RECIPE, "--push", repo, "--json", "--quiet"))
    assert (here[0]["counts"]["rejected"], here[0]["counts"]["total"]) == (1, 3)
    there = mmscore(repo, *RECIPE, "--json", "--quiet")
    assert (there[0], entries(there)[0]["counts"]["total"], entries(there)[0]["counts"]["missing"]) == (3, 3, 1)
    assert entries(there)[0]["metrics"] == here[0]["metrics"]
    refused = hub_process("rows", repo)["test"][2]
    assert (refused["id"], refused["prediction_status"]) == ("2", "skipped")
    assert refused["prediction_error"].startswith("answers.parquet: has no row with this id (got '2').")


def test_refused_lines_stay_counted_with_an_id_that_another_row_has_and_with_none(mmscore, hub_process, repo, tmp_path):
    file = tmp_path / "kit.jsonl"
    good = [json.dumps(row) for row in choices(("A", "A"), ("B", "A"))]
    file.write_text("\n".join([*good, json.dumps({"id": "0", "options": 7}), "{broken", "{broken too"]) + "\n")
    here = entries(mmscore(file, *RECIPE, "--push", repo, "--json", "--quiet"))
    assert here[0]["counts"]["rejected"] == 3
    there = mmscore(repo, *RECIPE, "--json", "--quiet")
    assert (there[0], numbers(entries(there))) == (3, numbers(here))
    assert all(row["prediction_error"] for row in hub_process("rows", repo)["test"][2:])


def test_questions_without_a_reply_keep_what_they_are_counted_by(hub_process, mmscore, repo, tmp_path):
    questions = choices(("A", "A"), ("B", "A"), ("C", "C"), category="hard", sample="s")
    answers = write_predictions(tmp_path / "answers.parquet", questions)
    file = write_predictions(tmp_path / "p.parquet", [{"id": row["id"], "prediction": "A"} for row in questions[:2]])
    mmscore(file, "--answers", answers, *RECIPE, "--push", repo, "--quiet")
    missing = hub_process("rows", repo)["test"][2]
    assert [missing[name] for name in ("id", "sample", "category", "prediction")] == ["2", "s", "hard", None]


@pytest.mark.parametrize(("asked", "answered"), [(6, 5), (5, 6)])
def test_a_question_without_one_of_its_rotations_has_no_joint_score_there_either(
    mmscore, repo, tmp_path, asked, answered
):
    copies = [("s", 0), ("s", 1), ("s", 2), ("t", 0), ("t", 1), ("t", 2)]
    rows = [
        {**row, "id": f"{sample}#{variant}", "sample": sample, "variant": variant}
        for row, (sample, variant) in zip(choices(*[("A", "A")] * 6), copies, strict=True)
    ]
    answers = write_predictions(tmp_path / "answers.parquet", rows[:asked])
    bare = [{name: row[name] for name in ("id", "sample", "variant", "prediction")} for row in rows[:answered]]
    file = write_predictions(tmp_path / "p.parquet", bare)
    options = ("--recipe", "mmbench_circular", "--json", "--quiet")
    [here] = entries(mmscore(file, "--answers", answers, "--dataset", "Colours", "--push", repo, *options))
    [there] = entries(mmscore(repo, *options))
    assert here["metrics"]["circular_accuracy"]["n"] == 1
    assert there["metrics"] == here["metrics"]


def test_a_benchmark_and_a_model_that_the_options_name_go_along(mmscore, repo, tmp_path):
    rows = [
        {"id": str(n), "prediction": "10.4", "answer": "10", "task": "vqa", "dataset": "TextVQA_VAL", "model": "m"}
        for n in range(2)
    ]
    file = write_predictions(tmp_path / "vq.parquet", rows)
    recipe = ("--recipe", "vlmevalkit_vqa", "--json", "--quiet")
    here = entries(mmscore(file, *recipe, "--dataset", "ChartQA_TEST", "--model", "other", "--push", repo))
    assert (here[0]["metrics"]["relaxed_accuracy"]["value"], here[0]["model"]) == (100, "other")
    assert numbers(entries(mmscore(repo, *recipe))) == numbers(here)


def test_rows_of_several_models_keep_their_own(mmscore, hub_process, repo, tmp_path):
    rows = [{**row, "model": model} for row, model in zip(choices(("A", "A"), ("B", "A")), "mn", strict=True)]
    mmscore(write_predictions(tmp_path / "p.parquet", rows), *RECIPE, "--push", repo, "--quiet")
    assert [row["model"] for row in hub_process("rows", repo)["test"]] == ["m", "n"]


def test_a_kits_result_file_is_pushed_as_predictions(mmscore, repo, tmp_path):
    file = tmp_path / "kit.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in choices(("A", "A"), ("B", "A"))))
    here = entries(mmscore(file, *RECIPE, "--push", repo, "--json", "--quiet"))
    assert numbers(entries(mmscore(repo, *RECIPE, "--json", "--quiet"))) == numbers(here)


def test_a_breakdown_by_a_column_of_the_users_can_be_made_again(mmscore, repo, tmp_path):
    rows = [{**row, "colour": colour} for row, colour in zip(choices(("A", "A"), ("B", "A")), "xy", strict=True)]
    file = write_predictions(tmp_path / "p.parquet", rows)
    options = (*RECIPE, "--by", "colour", "--json", "--quiet")
    [here] = entries(mmscore(file, *options, "--push", repo))
    [there] = entries(mmscore(repo, *options))
    assert (there["groups"], set(here["groups"]["colour"])) == (here["groups"], {"x", "y"})


def test_a_dry_run_lists_what_would_be_sent_and_asks_nobody(hub_server, mmscore, repo, first):
    code, out, err = mmscore(first, *RECIPE, "--push", repo, "--dry-run", "--quiet")
    assert (code, err, hub_server.requests) == (0, "", [])
    assert "reports/org-model-a_Colours.json" in out
    assert f"4 files, 4 rows for {repo}; nothing was sent" in out


def test_a_branch_a_pull_request_and_a_private_repository(hub_server, mmscore, hub_process, repo, first):
    mmscore(first, *RECIPE, "--push", repo, "--private", "--revision", "v1", "--quiet")
    assert hub_server.dataset(repo).private
    assert list(hub_server.dataset(repo).files()) == [".gitattributes"]
    assert len(hub_process("rows", repo, revision="v1")["test"]) == 4
    code, out, err = mmscore(first, *RECIPE, "--push", repo, "--create-pr", "--quiet")
    assert (code, f"{hub_server.url}/datasets/{repo}/discussions/1" in out) == (0, True), err


def test_paths_of_this_machine_stay_here(hub_server, mmscore, repo, tmp_path):
    rows = [
        {**row, "prediction_error": f"OSError: {tmp_path}/model/weights.bin is missing", "prediction_status": status}
        for row, status in zip(choices(("A", "A"), ("B", "A")), ("ok", "failed"), strict=True)
    ]
    run = {"model": f"{tmp_path}/model", "partial": False, "system": "~/notes.txt"}
    file = write_predictions(tmp_path / "p.parquet", rows)
    pq.write_table(pq.read_table(file).replace_schema_metadata({RUN_METADATA: json.dumps(run)}), file)
    mmscore(file, *RECIPE, "--push", repo, "--quiet")
    files = hub_server.dataset(repo).files()
    assert not [path for path, data in files.items() if str(tmp_path).encode() in data]
    [shard] = [path for path in files if path.endswith(".parquet")]
    (tmp_path / "there.parquet").write_bytes(files[shard])
    table = pq.read_table(tmp_path / "there.parquet")
    assert str(tmp_path) not in str(table.to_pylist()) + str(table.schema.metadata)
    assert table["prediction_error"][0].as_py() == "OSError: weights.bin is missing"


def test_predictions_and_datasets_do_not_mix(hub_server, mmscore, hub_process, repo, tmp_path, first):
    folder = write_dataset(tmp_path / "set", {"test": [record(1)]})
    hub_process("push", folder, repo)
    code, _, err = mmscore(first, *RECIPE, "--push", repo, "--quiet")
    assert (code, f"{repo}: holds a dataset, which predictions cannot join. Name another repository." in err) == (
        1,
        True,
    )
    mmscore(first, *RECIPE, "--push", f"{repo}-other", "--quiet")
    assert "holds predictions, which a dataset cannot join" in hub_process("push", folder, f"{repo}-other")["error"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-", "--push", "user/x"), "standard input cannot be read twice"),
        (("{}", "--private"), "--create-pr and --model-card go with --push USER/REPO"),
        (("{}", "--push", "x"), "is not a name of a repository"),
        (
            ("{}", "{}", "--push", "user/x", "--dry-run"),
            "would take the place of another file, both are configuration org-model-a_Colours",
        ),
        (("predict", "{}", "-o", "p.parquet", "--model", "answer", "--dry-run"), "what --push USER/REPO would upload"),
    ],
)
def test_a_wrong_usage_is_told_before_anything_is_sent(hub_server, mmscore, first, arguments, words):
    options = () if "predict" in arguments else RECIPE
    code, _, err = mmscore(*(word.format(first) for word in arguments), *options)
    assert (code, words in err) == (2, True), err
    assert hub_server.requests == []


def test_published_predictions_of_several_models_are_told_apart(mmscore, repo, first, second):
    mmscore(first, second, *RECIPE, "--push", repo, "--quiet")
    code, out, err = mmscore("rank", repo, *RECIPE, "--by", "dataset", "--json")
    assert code == 0, err
    assert (out.count('"org/model-a"') > 0, out.count('"model-b"') > 0) == (True, True)
    code, _, err = mmscore("compare", repo, first, *RECIPE)
    assert (code, "holds predictions of several models. Name one: hf://datasets/" in err) == (2, True)
    code, _, err = mmscore("compare", f"hf://datasets/{repo}/model-b_Colours", first, *RECIPE, "--json")
    assert code == 0, err


MODEL_CARD = """---
license: mit
model-index:
- name: A
  results:
  - task: {type: image-text-to-text}
    dataset: {name: MMMU, type: MMMU/MMMU}
    metrics:
    - {type: accuracy, value: 40.1}
---
# A model

By hand.
"""


def test_numbers_are_proposed_for_the_card_of_a_model(hub_server, mmscore, repo, first, tmp_path):
    model = hub_server.repos["models/user/model-a"] = Repo("user/model-a")
    model.commit("main", {"README.md": Blob(MODEL_CARD.encode(), False)}, "new")
    arguments = (*RECIPE, "--push", repo, "--model-card", "user/model-a")
    hub_server.fail(r"GET /api/models/user/model-a", 503, times=1)
    code, out, err = mmscore(first, *arguments)
    assert (code, f"{hub_server.url}/user/model-a/discussions/1: numbers proposed" in out) == (0, True), err
    assert model.files()["README.md"].decode() == MODEL_CARD
    model.refs["main"] = model.refs["refs/pr/1"]
    again = predictions(tmp_path / "again.parquet", "org/model-a", ("A", "A"))
    assert mmscore(again, *arguments)[0] == 0
    text = model.files("refs/pr/2")["README.md"].decode()
    assert text.endswith("---\n# A model\n\nBy hand.\n")
    assert read_front_matter(text)["license"] == "mit"
    name, found = model_index_to_eval_results(read_front_matter(text)["model-index"])
    values = {(one.dataset_name, one.metric_type): one.metric_value for one in found if one.metric_type == "accuracy"}
    assert (name, values) == ("A", {("MMMU", "accuracy"): 40.1, ("Colours", "accuracy"): 1.0})


def test_a_models_card_takes_the_numbers_of_one_model(hub_server, mmscore, repo, first, second):
    code, _, err = mmscore(first, second, *RECIPE, "--push", repo, "--model-card", "user/model-a", "--quiet")
    assert (code, "takes the numbers of one model, found: org/model-a, model-b" in err) == (2, True)
    assert f"datasets/{repo}" not in hub_server.repos
    code, _, err = mmscore(first, *RECIPE, "--push", repo, "--model-card", "user/none", "--quiet")
    assert (code, "user/none: the Hub answered 404" in err) == (1, True)
    assert f"datasets/{repo}" not in hub_server.repos


@pytest.mark.parametrize(
    ("text", "words"), [(b"---\nlicense: [mit\n---\n", "its YAML cannot be read"), (b"\xff", "that are not UTF-8")]
)
def test_a_models_card_that_cannot_be_read_is_told_before_anything_is_sent(
    hub_server, mmscore, repo, first, text, words
):
    name = f"user/broken{next(NUMBERS)}"
    model = hub_server.repos[f"models/{name}"] = Repo(name)
    model.commit("main", {"README.md": Blob(text, False)}, "new")
    code, _, err = mmscore(first, *RECIPE, "--push", repo, "--model-card", name, "--quiet")
    assert (code, err.startswith(f"mmscore: {name}: README.md"), words in err) == (1, True, True), err
    assert f"datasets/{repo}" not in hub_server.repos


def test_a_models_card_that_the_hub_refuses_is_told(hub_server, mmscore, repo, first):
    name = f"user/refused{next(NUMBERS)}"
    model = hub_server.repos[f"models/{name}"] = Repo(name)
    model.commit("main", {"README.md": Blob(MODEL_CARD.encode(), False)}, "new")
    hub_server.fail(r"POST /api/validate-yaml", 400, spare=1)
    code, _, err = mmscore(first, *RECIPE, "--push", repo, "--model-card", name, "--quiet")
    assert (code, f"{name}: the Hub rejects the README.md with the numbers" in err) == (1, True), err


def test_a_card_of_another_shape_keeps_it_when_predictions_join(hub_server, mmscore, repo, first, second):
    mmscore(first, *RECIPE, "--push", repo, "--quiet")
    values = read_front_matter(text := card(hub_server, repo))
    values["model-index"][0]["results"].append("text")
    values["model-index"].append({"name": "by hand", "results": [{"dataset": {"name": "D"}}]})
    hub_server.dataset(repo).put("README.md", replace_front_matter(text, values).encode())
    assert mmscore(second, *RECIPE, "--push", repo, "--quiet")[0] == 0
    index = read_front_matter(card(hub_server, repo))["model-index"]
    assert index[:2] == values["model-index"]
    assert [model["name"] for model in index] == ["org/model-a", "by hand", "model-b"]


def test_a_function_does_what_the_option_does(hub_server, mmscore, hub_process, repo, first):
    listed = hub_process("publish", first, repo, recipe="own_choice", by="task", dry_run=True)
    assert (listed["url"], listed["rows"], hub_server.requests) == (None, 4, [])
    done = hub_process("publish", first, repo, recipe=["own_choice"], private=True)
    assert (done["url"], [*done["files"]]) == (f"{hub_server.url}/datasets/{repo}", [*listed["files"]])
    assert hub_server.dataset(repo).private
    assert [entry["recipe"] for entry in entries(mmscore(repo, *RECIPE, "--json", "--quiet"))] == ["own_choice"]
