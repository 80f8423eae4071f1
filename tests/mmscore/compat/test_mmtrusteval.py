"""MMTrustEval's door: registry, chains, methods, task files, and the run of a task."""

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from goldens.comparison import difference
from mmconvert.core.errors import Error, RowError, UsageError
from mmscore.compat import kit_imports
from mmscore.compat.mmtrusteval import (
    BaseEvaluator,
    BaseTask,
    ImageTxtSample,
    Response,
    SequentialEvaluator,
    collate_fn,
    load_chatmodel,
    model_zoo,
    registry,
    supported_metrics,
)
from mmscore.compat.mmtrusteval.__main__ import program
from mmscore.compat.mmtrusteval.registry import Registry
from mmscore.compat.mmtrusteval.runner import Surroundings, predict_options, run_task
from mmscore.compat.mmtrusteval.task import read_task, task_of
from mmscore.kits.mmtrusteval.evaluators import EvaluatorContext, UnconnectedError
from support.chat_server import chat_server, refused, said
from support.questions import make_image
from support.terminal import mmscore, one_message

CLASSES = """
from mmscore.compat.mmtrusteval import *

@registry.register_dataset()
class Pets(BaseDataset):
    dataset_ids = ["pets-text", "pets-image"]

    def __init__(self, dataset_id, method_hook=None, times=1, **kwargs):
        super().__init__(dataset_id, method_hook)
        print("loaded")
        texts = ["Is it a cat?", "Is it a dog?", "Say yes."] * times
        if dataset_id == "pets-text":
            self.dataset = [TxtSample(text, k % 2, {"subset": "ab"[k % 2]}) for k, text in enumerate(texts)]
        else:
            self.dataset = [ImageTxtSample("cat.png", text, 1) for text in texts]

@registry.register_chatmodel()
class Parrot(BaseChat):
    model_family = ["parrot-1b"]

    def chat(self, messages, **generation_kwargs):
        content = messages[-1]["content"]
        text = content if isinstance(content, str) else content["text"]
        if "dog" in text and "moody" in generation_kwargs:
            raise RuntimeError("no mood")
        return Response(self.model_id, "Yes" if "cat" in text or "yes" in text else "No")

class Shout(BaseMethod):
    method_ids = ["shout"]

    def run(self, data, **kwargs):
        return TxtSample(data.text.upper(), data.target, data.extra)

class Length(BaseEvaluator):
    evaluator_ids = ["length_eval"]

    def process(self, preds, labels=None, extras=None, **kwargs):
        return [len(pred) for pred in preds], labels, extras
"""

YES_NO = {"rule_yes_or_no_eval": {"metrics_cfg": {"pred_no_op": {}, "accuracy_score": {}}}}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with classes, an image and a task."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "pets.py").write_text(CLASSES)
    (tmp_path / "cat.png").write_bytes(make_image("red"))
    write_task(tmp_path)
    with registry.importing(["pets.py"]):
        yield tmp_path


def write_task(folder: Path, **values: Any) -> Path:
    task = {
        "model_id": "parrot-1b",
        "dataset_id": "pets-text",
        "log_file": "./logs/pets.json",
        "generation_kwargs": {"max_new_tokens": 20},
        "evaluator_seq_cfgs": [YES_NO],
    }
    (folder / "task.yaml").write_text(yaml.safe_dump(task | values))
    return folder / "task.yaml"


def saved(folder: Path) -> Any:
    return json.loads((folder / "logs/pets.json").read_text())


def run(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(program, [*map(str, arguments)], standalone_mode=False, catch_exceptions=False)
    assert (result.return_value or 0) == code, result.output
    return result.stdout


def test_classes_are_found_by_their_ids_decorated_or_not(place: Path) -> None:
    assert registry.list_datasets() == ["pets-image", "pets-text"]
    assert registry.get_chatmodel_class("parrot-1b").__name__ == "Parrot"
    assert "shout" in registry.list_methods()
    assert "length_eval" in registry.list_evaluators()
    with pytest.raises(UsageError, match=r"no dataset 'pet-text'\. Did you mean pets-text\?"):
        registry.get_dataset_class("pet-text")


def test_a_chat_model_is_opened_by_its_id_on_a_device_if_it_takes_one(place: Path) -> None:
    (place / "placed.py").write_text(
        "class Placed:\n    model_family = ['placed']\n    def __init__(self, model_id, device='cuda:0'):\n"
        "        self.device = device\n    def chat(self): ...\n"
    )
    with registry.importing(["placed.py"]):
        assert model_zoo() == ["parrot-1b", "placed"]
        assert load_chatmodel("placed", device="cpu").device == "cpu"
        assert load_chatmodel("parrot-1b", device="cpu").model_id == "parrot-1b"


def test_classes_of_files_are_forgotten_again(place: Path) -> None:
    (place / "more.py").write_text("class More:\n    model_family = ['more-1b']\n    def chat(self): ...\n")
    with registry.importing(["more.py"]):
        assert registry.list_chatmodels() == ["more-1b", "parrot-1b"]
    assert registry.list_chatmodels() == ["parrot-1b"]
    with pytest.raises(UsageError, match="no module 'nowhere'"), registry.importing(["nowhere"]):
        pass


def test_two_classes_cannot_have_one_id() -> None:
    own, kind = Registry(), "method"
    first, second = (type(name, (), {"method_ids": ["m"]}) for name in ("First", "Second"))
    assert own.register_method()(first) is first
    own.register(kind, first)
    with pytest.raises(UsageError, match="registered already for First"):
        own.register(kind, second)
    with pytest.raises(UsageError, match="expected a list of ids in method_ids"):
        own.register(kind, type("Third", (), {"method_ids": "m"}))


def test_a_users_class_goes_before_the_kits_own(place: Path) -> None:
    (place / "own.py").write_text(
        CLASSES.replace("length_eval", "rule_score_eval")
        .replace("-1b", "-2b")
        .replace("pets-", "p-")
        .replace("shout", "s")
    )
    with registry.importing(["own.py"]):
        assert SequentialEvaluator({"rule_score_eval": {"metrics_cfg": {"pred_sum": {}}}})(["abc"], [1]) == {
            "rule_score_eval:pred_sum": 3.0
        }


def test_samples_are_read_by_field_and_by_name() -> None:
    sample = ImageTxtSample.from_dict({"image_path": "a.png", "text": "Is it?", "other": 1})
    assert sample.to_dict() == {"image_path": "a.png", "text": "Is it?", "target": None, "extra": None}
    assert sample["text"] == "Is it?"
    assert Response("m", "x", None, None)["content"] == "x"
    assert collate_fn([sample])[0]["message"] == [
        {"role": "user", "content": {"image_path": "a.png", "text": "Is it?"}}
    ]
    with pytest.raises(UsageError, match="a dataset gives TxtSample or ImageTxtSample"):
        collate_fn(["Is it?"])


def test_chains_give_the_keys_and_values_of_the_kit(shared: Path) -> None:
    checked = 0
    for line in (shared / "golden/mmte_sequence.visible.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line, object_hook=lambda fields: float(fields["$f"]) if "$f" in fields else fields)
        given, replies = case["input"], iter(case["input"].get("judge_replies", ()))
        if "results" not in case["expected"]:
            continue
        chain = SequentialEvaluator(
            given["evaluator_seq_cfg"], EvaluatorContext(ask=lambda *_, replies=replies: next(replies))
        )
        found = chain.eval(given["preds"], given["labels"], given["extras"])
        assert list(found) == case["expected"]["key_order"]
        plain = {key: value.tolist() if hasattr(value, "tolist") else value for key, value in found.items()}
        assert difference(case["expected"]["results"], plain, "mmte_sequence") is None, case["input"]
        checked += 1
    assert checked > 150


def test_evaluators_of_both_kinds_stand_in_one_chain(place: Path) -> None:
    chain = SequentialEvaluator(
        {
            "length_eval": {"metrics_cfg": {}},
            "rule_contain_eval": {"fuzzy_match": True, "metrics_cfg": {"pred_mean": {}}},
        }
    )
    assert chain.keyname_prefix_seq == ["length_eval", "length_eval->rule_contain_eval"]
    assert chain(["abc", "de"], ["3", "3"]) == {
        "length_eval:pred_no_op": [3, 2],
        "length_eval->rule_contain_eval:pred_mean": 0.5,
    }


def test_the_evaluator_that_cannot_read_a_value_is_named() -> None:
    chain = SequentialEvaluator({"rule_yes_or_no_eval": {"metrics_cfg": {}}, "rule_score_eval": {"metrics_cfg": {}}})
    with pytest.raises(RowError, match=r"^rule_yes_or_no_eval->rule_score_eval, pred: expected a text \(got 1\)"):
        chain(["Yes"], [1])
    with pytest.raises(RowError, match=r"^rule_yes_or_no_eval, label: "):
        SequentialEvaluator({"rule_yes_or_no_eval": {"metrics_cfg": {"accuracy_score": {}}}})(["Yes"], [1, 0])


def test_a_registered_model_judges_and_is_asked_once(place: Path) -> None:
    asked = {
        "model_id": "parrot-1b",
        "prompt_template": "{pred}",
        "generation_kwargs": {},
        "metrics_cfg": {"pred_no_op": {}},
    }
    chain = SequentialEvaluator({"chatmodel_eval": asked})
    assert chain(["a cat", "a dog"], [1, 1], [None, None]) == {"chatmodel_eval:pred_no_op": ["Yes", "No"]}
    stranger = SequentialEvaluator({"chatmodel_eval": {**asked, "model_id": "gpt-4"}})
    with pytest.raises(UnconnectedError, match="'gpt-4'"):
        stranger(["a cat"], [1], [None])


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"rule_yes_or_no": {"metrics_cfg": {}}}, "Did you mean rule_yes_or_no_eval"),
        ({"rule_yes_or_no_eval": {}}, "metrics_cfg is missing"),
        ({"rule_yes_or_no_eval": {"metrics_cfg": {"accuracy": {}}}}, "Did you mean accuracy_score"),
        ({"rule_yes_or_no_eval": {"metrics_cfg": {}, "yes_templates": []}}, "Did you mean yes_template"),
        ({"rule_yes_or_no_eval": {"metrics_cfg": []}}, "expected metrics with their settings"),
        ([], "expected evaluators with their settings"),
    ],
)
def test_what_is_wrong_in_a_chain_is_named(config: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        SequentialEvaluator(config)


def test_a_metric_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        supported_metrics, "longest", lambda y_true, y_pred, at_least=0: max(map(len, y_pred), default=at_least)
    )

    class Plain(BaseEvaluator):
        evaluator_ids = ("plain",)

    assert Plain("plain", {"longest": {"at_least": 3}})(["a", "bcd"]) == {"longest": 3}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "m"}, "Did you mean model_id"),
        ({"log_file": None}, "log_file is missing"),
        ({"dataset_cfg": [1]}, "dataset_cfg: expected names and values"),
        ({"generation_kwargs": 5}, "generation_kwargs: expected names and values"),
        ({"method_cfg": {"a": {}, "b": {}}}, "one method a task"),
        ({"evaluator_seq_cfgs": {}}, "expected a list of chains"),
        ({"model_id": 3}, "model_id: expected a text"),
    ],
)
def test_what_is_wrong_in_a_task_is_named_with_its_file(tmp_path: Path, change: Any, message: str) -> None:
    file = write_task(tmp_path, **change)
    with pytest.raises(UsageError, match=f"task.yaml: .*{message}"):
        read_task(file)


def test_a_task_runs_and_its_log_is_the_kits(place: Path) -> None:
    told = run("run", "task.yaml", "--cfg-options", "dataset_cfg.times=2", "generation_kwargs.do_sample=True")
    assert "6 samples" in told
    log = saved(place)
    assert log["total_results"] == {
        "rule_yes_or_no_eval:accuracy_score": 0.5,
        "rule_yes_or_no_eval:accuracy_score_a": pytest.approx(1 / 3),
        "rule_yes_or_no_eval:accuracy_score_b": pytest.approx(2 / 3),
    }
    assert log["per_sample_results"][0] == {
        "rule_yes_or_no_eval:pred_no_op": 1,
        "content": "Is it a cat?",
        "pred": "Yes",
        "label": 0,
        "extra": {"subset": "a"},
    }
    assert (place / "logs/pets.run/report.json").is_file()


def test_a_log_that_stands_is_left_alone(place: Path) -> None:
    run("run", "task.yaml")
    (place / "logs/pets.json").write_text('{"total_results": {"mine": 1}}')
    assert json.loads(run("run", "task.yaml", "--json"))["stood"] is True
    assert json.loads(run("run", "task.yaml", "--restart", "--json"))["stood"] is False
    assert len(saved(place)["per_sample_results"]) == 3


def test_an_edited_class_is_asked_anew(place: Path) -> None:
    (place / "new.py").write_text("class New:\n    model_family = ['new']\n    def __init__(self, model_id): ...\n")
    for reply, expected in (("Yes", 1), ("No", 0)):
        with (place / "new.py").open("a") as file:
            file.write(f"    def chat(self, messages, **settings):\n        return '{reply}'\n")
        (place / "logs/pets.json").unlink(missing_ok=True)
        run("run", "task.yaml", "--import", "new.py", "--cfg-options", "model_id=new")
        assert [sample["rule_yes_or_no_eval:pred_no_op"] for sample in saved(place)["per_sample_results"]] == [
            expected
        ] * 3


def test_samples_without_a_reply_are_not_in_the_log_and_are_asked_again(place: Path) -> None:
    told = run("run", "task.yaml", "--cfg-options", "generation_kwargs.moody=1", code=3)
    assert "3 samples, 1 without a response (why: prediction_error in logs/pets.run/predictions.parquet)" in told
    assert [sample["content"] for sample in saved(place)["per_sample_results"]] == ["Is it a cat?", "Say yes."]
    run("run", "task.yaml")
    assert len(saved(place)["per_sample_results"]) == 3


@pytest.mark.parametrize("chain", [YES_NO, {"length_eval": {"metrics_cfg": {"pred_no_op": {}}}}])
def test_a_model_that_never_answers_is_an_error(place: Path, chain: Any) -> None:
    write_task(place, evaluator_seq_cfgs=[chain])
    (place / "mute.py").write_text(
        "class Mute:\n    model_family = ['mute']\n    def __init__(self, model_id): ...\n"
        "    def chat(self, messages, **settings):\n        raise ValueError('not today')\n"
    )
    with pytest.raises(Error, match="mute: no sample has a response; the first: ValueError: not today"):
        run("run", "task.yaml", "--import", "mute.py", "--cfg-options", "model_id=mute")
    assert not (place / "logs/pets.json").exists()


def test_a_recipe_and_the_classes_give_the_same_log(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for dataset in ("pets-text", "pets-image"):
        task = read_task("task.yaml", [f"dataset_id={dataset}"])
        by_recipe = run_task(task, Surroundings(restart=True)).log.read_text()
        with monkeypatch.context() as patched:
            patched.setitem(supported_metrics, "own", lambda y_true, y_pred: 0)
            assert run_task(task, Surroundings(restart=True)).log.read_text() == by_recipe


def test_methods_and_evaluators_of_ones_own(place: Path) -> None:
    chain = {"length_eval": {"metrics_cfg": {"pred_sum": {}}}}
    write_task(place, method_cfg={"shout": {}}, evaluator_seq_cfgs=[chain, YES_NO])
    run("run", "--config", "task.yaml", "--cfg-options", "log_file=logs/pets.json")
    log = saved(place)
    assert log["total_results"]["length_eval:pred_sum"] == 6.0
    assert log["total_results"]["length_eval:pred_sum_a"] == 4.0
    assert log["per_sample_results"][2]["content"] == "SAY YES."


def test_a_method_that_draws_shows_its_image(place: Path) -> None:
    options = ["method_cfg.unrelated-image-color.img_dir=made", "method_cfg.unrelated-image-color.img_size=[4,6]"]
    run("run", "task.yaml", "--cfg-options", *options)
    contents = [sample["content"] for sample in saved(place)["per_sample_results"]]
    assert [content["text"] for content in contents] == ["Is it a cat?", "Is it a dog?", "Say yes."]
    assert all(Path(content["image_path"]).parent == Path("made") for content in contents)


def test_a_sample_that_a_method_refuses_is_named_and_the_others_go_on(place: Path) -> None:
    (place / "rows.json").write_text(json.dumps([{"text": text, "target": 1} for text in ("Is it a cat?", "\u4e00?")]))
    draw = "method_cfg.related-image-txtembed.img_dir=made"
    told = run("run", "task.yaml", "--input", "rows.json", "--cfg-options", "dataset_id=cats", draw, code=3)
    assert "1 samples, 1 refused" in told
    assert "cats[1]: the font" in told
    assert [sample["pred"] for sample in saved(place)["per_sample_results"]] == ["Yes"]


def test_a_fault_inside_a_class_is_shown_as_it_is(place: Path) -> None:
    (place / "faulty.py").write_text(
        "class Faulty:\n    dataset_ids = ['faulty']\n    def __init__(self, name, method_hook=None):\n"
        "        self.rows = 1 + 'a'\n"
    )
    with pytest.raises(TypeError, match="unsupported operand"):
        run("run", "task.yaml", "--import", "faulty.py", "--cfg-options", "dataset_id=faulty")
    with pytest.raises(UsageError, match=r"dataset_cfg: Faulty cannot be made: .*'x'"):
        run("run", "task.yaml", "--import", "faulty.py", "--cfg-options", "dataset_id=faulty", "dataset_cfg.x=1")


def test_a_sample_that_cannot_be_asked_about_is_named(place: Path) -> None:
    (place / "cat.png").write_bytes(b"no picture")
    with pytest.raises(Error, match=r"pets-image: no sample can be run: .*samples\.json"):
        run("run", "task.yaml", "--cfg-options", "dataset_id=pets-image")
    assert not (place / "logs/pets.json").exists()


def test_samples_of_a_file_and_a_model_behind_a_service(place: Path) -> None:
    rows = [{"image_path": "cat.png", "text": "Is it?", "target": 1}, {"text": "Was it?", "target": 0}]
    (place / "rows.json").write_text(json.dumps(rows))
    with chat_server(lambda request: said("No." if "Was" in json.dumps(request) else "Yes"), ["served"]) as server:
        arguments = ("--input", "rows.json", "--base-url", server.url, "--model", "served")
        run("run", "task.yaml", "--cfg-options", "model_id=any", "dataset_id=dt-text", *arguments)
        first = server.asked[0]
    assert (first["model"], first["max_tokens"], first["temperature"]) == ("served", 20, 0)
    assert saved(place)["total_results"] == {"rule_yes_or_no_eval:accuracy_score": 1.0}


def test_rows_of_a_file_that_are_no_samples_are_named(place: Path) -> None:
    rows = [{"text": "Is it a cat?", "target": 1}, {"text": 3, "target": 1}]
    (place / "rows.json").write_text(json.dumps(rows))
    told = run("run", "task.yaml", "--input", "rows.json", code=3)
    assert "1 samples, 1 refused" in told
    assert "rows.json:1 text: expected a text" in told
    many = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "cat.png"}}] * 2}]}
    (place / "rows.jsonl").write_text(json.dumps(many | {"answer": "x"}) + "\n")
    with pytest.raises(Error, match=r"no sample can be run: row .* at most one image"):
        run("run", "task.yaml", "--input", "rows.jsonl", "--restart")


def test_a_judge_behind_a_service(place: Path) -> None:
    judged = {
        "chatmodel_eval": {
            "model_id": "gpt-4",
            "prompt_template": "{pred} {label}",
            "generation_kwargs": {},
            "metrics_cfg": {},
        },
        "rule_yes_or_no_eval": {"metrics_cfg": {"pred_mean": {}}},
    }
    write_task(place, evaluator_seq_cfgs=[judged])
    with chat_server(lambda request: said("[Yes]")) as server:
        run("run", "task.yaml", "--judge-base-url", server.url)
        assert {request["model"] for request in server.asked} == {"gpt-4"}
    log = saved(place)
    assert log["total_results"]["chatmodel_eval->rule_yes_or_no_eval:pred_mean"] == 1.0
    assert log["per_sample_results"][0]["chatmodel_eval:pred_no_op"] == "[Yes]"


def test_a_judge_without_an_address_is_named_before_the_first_question(place: Path, monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    judged = {"model_id": "gpt-4", "prompt_template": "{pred}{label}", "generation_kwargs": {}, "metrics_cfg": {}}
    write_task(place, evaluator_seq_cfgs=[{"chatmodel_eval": judged, **YES_NO}])
    with pytest.raises(UsageError, match=r"the chains ask gpt-4, .* Fix: --judge-base-url URL"):
        run("run", "task.yaml")
    assert not (place / "logs").exists()


def test_a_judge_that_was_out_is_asked_again(place: Path) -> None:
    judged = {"model_id": "gpt-4", "prompt_template": "{pred}{label}", "generation_kwargs": {}, "metrics_cfg": {}}
    chain = {"chatmodel_eval": judged, "rule_yes_or_no_eval": {"metrics_cfg": {"pred_mean": {}}}}
    write_task(place, evaluator_seq_cfgs=[chain])
    with chat_server(lambda request: said("[Yes]") if "Yes" in json.dumps(request) else refused(400)) as server:
        told = run("run", "task.yaml", "--judge-base-url", server.url, code=3)
    assert "3 samples, 1 without a score" in told
    with chat_server(lambda request: said("[No]")) as server:
        run("run", "task.yaml", "--judge-base-url", server.url)
        assert len(server.asked) == 1
    assert saved(place)["total_results"]["chatmodel_eval->rule_yes_or_no_eval:pred_mean"] == pytest.approx(2 / 3)
    assert json.loads(run("run", "task.yaml", "--json"))["stood"] is True


def test_a_judge_that_is_asked_twice_about_a_sample(place: Path) -> None:
    asked = {"model_id": "gpt-4", "prompt_template": "{} {}?", "generation_kwargs": {}, "metrics_cfg": {}}
    chain = {"chatmodel_score": {**asked, "test_noise": True, "full_score": "Yes."}}
    (place / "rows.json").write_text(json.dumps([{"text": f"{n}?", "target": "cat"} for n in "ab"]))
    write_task(place, evaluator_seq_cfgs=[chain | {"rule_yes_or_no_eval": {"metrics_cfg": {"pred_mean": {}}}}])
    with chat_server(lambda request: said("No.")) as server:
        run("run", "task.yaml", "--judge-base-url", server.url, "--input", "rows.json")
        assert len(server.asked) == 2  # the two replies are alike
    log = saved(place)
    assert log["total_results"] == {"chatmodel_score->rule_yes_or_no_eval:pred_mean": 0.0}
    assert log["per_sample_results"][0] == {"content": "a?", "pred": "No", "label": "cat"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dataset_id=dt-txt"], "Did you mean dt-text.*--import FILE.py"),
        (["model_id=parot-1b"], r"model_id: no class for 'parot-1b'\. Did you mean parrot-1b\?.*--model"),
        (["method_cfg.unrelated-image-color.volume=1", "method_cfg.unrelated-image-color.img_dir=d"], "no setting"),
        (["method_cfg.shoot.x=1"], "no method 'shoot'"),
        (["dataset_id=pets-text", "--concurrency", "2"], "--concurrency: Parrot of parrot-1b has no such option"),
        (["method_cfg.shout.volume=1"], "method_cfg, shout: .*volume"),
        (["dataset_cfg.times=2", "--input", "rows.json"], "dataset_cfg: is for a class"),
    ],
)
def test_what_nobody_knows_is_an_error(place: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run("run", "task.yaml", "--cfg-options", *arguments)


def test_settings_for_a_model_without_a_class() -> None:
    drawn = {"do_sample": True, "temperature": 0.5, "max_new_tokens": 9, "output_scores": True}
    assert predict_options(drawn) == drawn
    with pytest.raises(UsageError, match=r"no 'num_beam' for a model without a class\. Did you mean num_beams"):
        predict_options({"num_beam": 2})


def test_a_task_in_python(place: Path) -> None:
    given = {"dataset_id": "pets-text", "model_id": "parrot-1b", "log_file": "logs/pets.json"}
    outcome = BaseTask(**given, evaluator_seq_cfgs=[YES_NO], generation_kwargs={"max_new_tokens": 5}).pipeline()
    assert outcome.complete
    assert outcome.totals == saved(place)["total_results"]
    with pytest.raises(UsageError, match="log_file is missing"):
        BaseTask(**{**given, "log_file": None}, evaluator_seq_cfgs=[YES_NO])
    assert task_of({**given, "evaluator_seq_cfgs": [YES_NO]}).generation_kwargs == {
        "max_new_tokens": 50,
        "do_sample": False,
    }


def test_a_folder_of_the_kits_configurations_does_not_hide_the_door(tmp_path: Path) -> None:
    (tmp_path / "mmte/configs").mkdir(parents=True)
    (tmp_path / "kit.py").write_text(
        "from mmte import TxtSample\nfrom mmte.models.base import BaseChat\n"
        "class Mine(BaseChat):\n    model_family = ['mine']\n    def chat(self, messages, **settings): ...\n"
    )
    command = [sys.executable, "-m", "mmscore.compat.mmtrusteval", "list", "chatmodels", "--import", "kit.py"]
    assert subprocess.check_output(command, cwd=tmp_path, text=True) == "chatmodels: mine\n"


IMPORTS = """
from typing import Optional, Sequence
from torch.utils.data import DataLoader
from mmte import ImageTxtSample, TxtSample, _OutputType
from mmte.datasets import UnrelatedImageDataset
from mmte.datasets.base import BaseDataset, collate_fn
from mmte.methods import AdvGeneratedImage, RelatedGeneratedImage, RelatedTextEmbedImage
from mmte.methods.base import BaseMethod
from mmte.utils.registry import registry
from mmte.utils.utils import download_image

@registry.register_dataset()
class Faces(BaseDataset):
    dataset_ids: Sequence[str] = ["faces"]

    def __init__(self, dataset_id: str, method_hook: Optional[BaseMethod] = None, what: str = "", **kwargs) -> None:
        super().__init__(dataset_id=dataset_id, method_hook=method_hook)
        {"call": download_image, "class": UnrelatedImageDataset}.get(what, str)("unrelated-image-color")
        if what == "attribute":
            RelatedTextEmbedImage.generate_image(text="A face")
"""
"""What the framework's 34 dataset files import of it, used as they use it."""


def test_what_dataset_files_of_the_framework_only_import_fails_when_it_is_used(place: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    kit_imports.install()
    (place / "faces.py").write_text(IMPORTS)
    with registry.importing(["faces.py"]):
        faces = registry.get_dataset_class("faces")
        assert len(faces("faces")) == 0
        missing = {"call": "utils.utils.download_image", "class": "datasets.UnrelatedImageDataset"}
        for what, name in (missing | {"attribute": "methods.RelatedTextEmbedImage"}).items():
            with pytest.raises(UsageError, match=f"mmte.{name}: is not here"):
                faces("faces", what=what)
        with pytest.raises(ImportError, match="has no 'UnrelatedImages' here"):
            exec("from mmte.datasets import UnrelatedImages")
        with pytest.raises(UsageError, match="AdvGeneratedImage: is not here"):
            exec("from mmte.methods import AdvGeneratedImage\nclass Mine(AdvGeneratedImage): ...")
    (place / "unrelated.py").write_text("class UnrelatedImageDataset:\n    dataset_ids = ['unrelated-image-color']\n")
    with registry.importing(["unrelated.py"]):
        assert importlib.import_module("mmte.datasets").UnrelatedImageDataset.dataset_ids == ["unrelated-image-color"]


def test_an_installed_kit_is_the_one_that_is_imported(tmp_path: Path) -> None:
    (tmp_path / "mmte").mkdir()
    (tmp_path / "mmte/__init__.py").write_text("TxtSample = 'the real one'\n")
    code = "from mmscore.compat import kit_imports; kit_imports.install(); import mmte; print(mmte.TxtSample)"
    assert subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, text=True) == "the real one\n"


def test_mmscore_run_says_which_command_runs_such_a_task(place: Path) -> None:
    refused = mmscore("run", "task.yaml", "--work-dir", "w")
    assert refused.code == 2
    assert "python -m mmscore.compat.mmtrusteval run TASK.yaml" in one_message(refused, "mmscore")


def test_ids_are_listed(place: Path) -> None:
    found = json.loads(run("list", "--json"))
    assert found["chatmodels"] == ["parrot-1b"]
    assert found["metrics"][0] == "pred_no_op"
    assert run("list", "datasets") == "datasets: pets-image, pets-text\n"
    with pytest.raises(UsageError, match="Known: chatmodels"):
        run("list", "models")
    with pytest.raises(UsageError, match="which task"):
        run("run")
    with pytest.raises(UsageError, match=r"Did you mean task\.yaml"):
        run("run", "tasks.yaml")
