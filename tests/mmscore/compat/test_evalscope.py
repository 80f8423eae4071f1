"""EvalScope's door: what each key becomes, and what is refused."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mmconvert.core.errors import UsageError
from mmscore.compat.evalscope import TaskConfig, is_task, run_task, task_of
from mmscore.compat.evalscope.config import DEFAULTS
from mmscore.compat.evalscope.mapping import mapped, write_task
from mmscore.workflow.task_file import build_plan
from support.chat_server import chat_server, said
from support.evalscope_tasks import backend_of, dataset_of, folder, model_of, task  # noqa: F401 - a fixture
from support.questions import COLOURS

pytestmark = pytest.mark.slow


class TestKeys:
    REFUSED = (
        ({"dataset": ["general_vqa"]}, "no key 'dataset' here. Did you mean datasets?"),
        ({"datasets": ["mmlu"]}, "datasets: 'mmlu' is not a benchmark of custom data."),
        ({"datasets": ["general_vqaa"]}, "Did you mean general_vqa?"),
        ({"datasets": []}, "datasets: expected names of benchmarks"),
        ({"eval_type": "text2image"}, "eval_type: has no counterpart here (got 'text2image')"),
        ({"eval_backend": "OpenCompass"}, "eval_backend: has no counterpart here (got 'OpenCompass')"),
        ({"use_sandbox": True}, "TaskConfig.use_sandbox: has no counterpart here (got True). Leave it out."),
        ({"analysis_report": True}, "TaskConfig.analysis_report: has no counterpart"),
        ({"model": object}, "model: expected a name, a folder or a Hub id"),
        ({"limit": "5"}, "TaskConfig.limit: expected a number (got '5')."),
        ({"limit": -1}, "limit: expected a number of rows, or a share of them (got -1)."),
        ({"generation_config": {"temprature": 1}}, "generation_config has no key 'temprature' here. Did you mean temp"),
        ({"generation_config": 5}, "generation_config: expected names and values (got 5)"),
        ({"model_args": {"device_map": "auto"}}, "model_args has no key 'device_map' here."),
        ({"judge_strategy": "llm"}, "judge_strategy 'llm': no API server given. Give judge_model_args."),
        ({"judge_strategy": "both"}, "judge_strategy: expected auto, rule, llm or llm_recall"),
        ({"evalscope_version": "new"}, "evalscope_version: expected a release"),
        (
            {"dataset_args": {"general_vqa": {"local_path": "none"}}},
            "local_path: expected a folder or file that exists",
        ),
        ({"dataset_args": {"general_vqa": {"local_path": "vqa", "subset_list": ["firts"]}}}, "Did you mean first?"),
        (
            {"dataset_args": {"general_vqa": {"local_path": "vqa", "subset_list": ["first"], "aggregation": "elo"}}},
            "dataset_args.general_vqa.aggregation: expected one of mean, mean_and_pass_at_k",
        ),
        (
            {
                "dataset_args": {
                    "general_vqa": {
                        "local_path": "vqa",
                        "subset_list": ["first"],
                        "aggregation": "mean_and_pass_at_k",
                    }
                }
            },
            "dataset_args.general_vqa.aggregation: mean_and_pass_at_k is for general_vmcq in a task of its own",
        ),
        (
            {"dataset_args": {"general_vqa": {"local_path": "vqa", "few_shot_num": 2}}},
            "few_shot_num: has no counterpart",
        ),
        ({"dataset_args": {"general_vqa": {"local_path": "vqa", "metric_list": []}}}, "has no key 'metric_list' here."),
        (
            {"dataset_args": {"general_vqa": {"local_path": "vqa/first.jsonl", "prompt_template": "x"}}},
            "has no effect in EvalScope",
        ),
    )

    @pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[message for _, message in REFUSED])
    def test_what_has_no_counterpart_is_refused_by_name(self, changes: dict[str, Any], message: str) -> None:
        with pytest.raises(UsageError) as refusal:
            task_of(task(**changes))
        assert message in str(refusal.value)

    def test_keys_without_effect_pass(self) -> None:
        more = {"seed": 42, "debug": True, "stream": True, "dataset_hub": "modelscope", "rerun_review": True}
        assert task_of(task(**more, use_sandbox=False, analysis_report=False)) == task_of(task())

    def test_a_config_can_be_changed_and_shows_no_key(self) -> None:
        config = TaskConfig(**task(api_key="sk-1"))
        config.limit = 3
        config.update({"repeats": 2})
        assert (config.limit, config.repeats, config.judge_strategy) == (3, 2, "auto")
        config.update({"judge_model_args": {"model_id": "j", "api_key": "sk-2"}})
        assert "sk-" not in json.dumps(config.to_dict())
        with pytest.raises(UsageError, match="no key 'limt' here"):
            config.update({"limt": 1})
        config = TaskConfig(**task())
        config.repeats = "two"
        with pytest.raises(UsageError, match="repeats: expected a whole number"):
            task_of(config)

    @pytest.mark.parametrize("given", [5, "task.txt", None])
    def test_what_is_no_task_is_refused(self, given: Any) -> None:
        with pytest.raises(UsageError, match="expected a TaskConfig, a dict, or a "):
            run_task(given)

    def test_a_file_that_is_not_there_is_named(self) -> None:
        with pytest.raises(UsageError, match=r"taks\.yaml: no such file"):
            run_task("taks.yaml")


class TestTask:
    def test_every_task_is_one_that_mmscore_run_takes(self) -> None:
        for one in (task(), task(eval_type="mock_llm"), backend_of({})):
            assert is_task(one)
            assert build_plan(one, Path("out")).models
            assert not is_task(task_of(one))
        assert not is_task({"models": ["m"], "datasets": ["d"]})
        with pytest.raises(UsageError, match="no key 'evl_config' here"):
            build_plan({"eval_backend": "VLMEvalKit", "evl_config": {}}, Path("out"))
        assert not is_task({"model": "m", "datasets": ["d"], "recipes": []})

    def test_a_task_is_a_plan_that_its_written_form_gives_again(self) -> None:
        judge = {"model_id": "j", "api_url": "http://127.0.0.1:9/v1", "generation_config": {"temperature": 0}}
        drawn = {"repeats": 2, "generation_config": {"temperature": 1, "stop_seqs": ["x"]}}
        native = task(judge_strategy="llm", judge_model_args=judge, limit=2, **drawn)
        for keys in (native, backend_of({"temperature": 0.5}, limit=1, mode="infer")):
            plan, _ = mapped(TaskConfig(**keys))
            again = build_plan(write_task(plan), None)
            for one, other in zip(again.datasets, plan.datasets, strict=True):
                roots = tuple(map(Path, other.conversion.image_root))
                assert one == replace(other, conversion=replace(other.conversion, image_root=roots))
            assert [(one.name, one.options) for one in again.models] == [(o.name, o.options) for o in plan.models]
            assert (again.judging, again.steps, again.work_dir) == (plan.judging, plan.steps, plan.work_dir)

    def test_a_service(self) -> None:
        model = model_of(eval_batch_size=4, timeout=30)
        assert model.pop("model") == "org/Demo 1b"
        assert model == {
            "name": "Demo_1b",
            "backend": "openai",
            "base-url": ["http://127.0.0.1:9/v1"],
            "api-key-env": "EVALSCOPE_API_KEY",
            "temperature": 0.0,
            "concurrency": 4,
            "timeout": 30,
        }

    def test_generation_goes_to_the_service_as_the_kit_sends_it(self) -> None:
        given = {"max_tokens": 64, "temperature": 0, "top_k": 5, "top_p": 0.9, "seed": 1, "stop_seqs": ["\n"]}
        model = model_of(generation_config={**given, "extra_body": {"min_p": 0.1}, "stream": True})
        assert (model["max-new-tokens"], model["temperature"], model["stop"]) == (64, 0, ["\n"])
        assert json.loads(model["extra-body"]) == {"top_k": 5, "top_p": 0.9, "seed": 1, "min_p": 0.1}

    def test_a_configuration_without_temperature_leaves_it_to_the_service(self) -> None:
        model = model_of(generation_config={"max_tokens": 8})
        assert (model.get("temperature"), model["do-sample"]) == (None, True)

    def test_replies_to_a_row_are_drawn_from_different_seeds(self) -> None:
        model = model_of(repeats=3, generation_config={"temperature": 0.7, "seed": 1})
        assert (model["n"], model["seed"], "extra-body" in model) == (3, 1, False)

    def test_greedy_replies_are_not_repeated(self) -> None:
        with pytest.raises(UsageError, match="repeats: 3 greedy responses are all the same"):
            model_of(repeats=3)

    def test_a_model_on_this_machine(self) -> None:
        model = model_of(eval_type="llm_ckpt", api_url=None, model_args={"precision": "torch.float16"})
        about = {"model": "org/Demo 1b", "name": "Demo_1b", "backend": "transformers"}
        assert model == {**about, "dtype": "float16", "max-new-tokens": 2048}
        drawn = {"do_sample": True, "temperature": 0.5, "top_p": 0.9}
        assert model_of(eval_type="llm_ckpt", generation_config=drawn)["top-p"] == 0.9
        with pytest.raises(UsageError, match=r"generation_config\.logit_bias: only API servers take it"):
            model_of(eval_type="llm_ckpt", generation_config={"logit_bias": {1: 2}})

    @pytest.mark.parametrize(
        ("key", "variable", "held"),
        [
            ("sk-1", "EVALSCOPE_API_KEY", "sk-1"),
            (None, "EVALSCOPE_API_KEY", "EMPTY"),
            ("$OTHER", "OTHER", None),
            ("${OTHER}", "OTHER", None),
        ],
    )
    def test_keys_go_by_the_environment(
        self, monkeypatch: pytest.MonkeyPatch, key: str | None, variable: str, held: str | None
    ) -> None:
        monkeypatch.setenv("EVALSCOPE_API_KEY", "")
        monkeypatch.delenv("EVALSCOPE_API_KEY")
        assert model_of(api_key=key)["api-key-env"] == variable
        assert "EVALSCOPE_API_KEY" not in os.environ
        build_plan(task(api_key=key), Path("out"))
        assert os.environ.get(variable) == held

    def test_a_limit_may_be_a_share_of_each_subset(self) -> None:
        arguments = {"general_vqa": {"local_path": "vqa", "subset_list": ["first", "second"]}}
        shares = task_of(task(limit=0.5, dataset_args=arguments))["datasets"]
        assert [one["limit"] for one in shares] == [2, 1]
        assert [one["limit"] for one in task_of(task(limit=3.0, dataset_args=arguments))["datasets"]] == [3, 3]
        with pytest.raises(UsageError, match=r"limit: 0\.1 of the rows of 'first' is none"):
            task_of(task(limit=0.1, dataset_args=arguments))
        assert "limit" not in task_of(task())["datasets"][0]

    def test_the_file_of_a_subset_is_the_kit_s_choice(self) -> None:
        assert dataset_of()["input"] == "vqa/first.jsonl"
        Path("vqa/first.tsv").write_text("messages\tanswer\n")
        Path("vqa/first_test.tsv").write_text("messages\tanswer\n")
        assert dataset_of()["input"] == "vqa/first_test.tsv"
        (newer,) = task_of(task(evalscope_version="1.8.0"))["datasets"]
        assert (newer["input"], newer["recipes"]) == ("vqa/first.jsonl", ["evalscope_general_vqa@1.10"])
        assert dataset_of(local_path="vqa/second.jsonl")["input"] == "vqa/second.jsonl"
        Path("vqa/empty.jsonl").touch()
        with pytest.raises(UsageError, match=r"empty\.jsonl: is empty"):
            dataset_of(subset_list=["empty"])

    def test_arguments_of_the_judge(self) -> None:
        judge = {"model_id": "j", "api_url": "http://127.0.0.1:9/v1", "api_key": "$KEY", "score_type": "numeric"}
        judge["generation_config"] = {"temperature": 0, "stop_seqs": ["x"], "extra_body": {"min_p": 0.1}}
        score = task_of(task(judge_strategy="llm_recall", judge_model_args=judge, judge_worker_num=3))["score"]
        assert json.loads(score.pop("judge-generation")) == {"temperature": 0, "stop": ["x"], "min_p": 0.1}
        assert score == {
            "judge": ["evalscope_numeric@1.3"],
            "judge-model": ["j"],
            "judge-base-url": "http://127.0.0.1:9/v1",
            "api-key-env": "KEY",
            "judge-strategy": "llm_recall",
            "judge-concurrency": 3,
        }
        for strategy in ("auto", "rule"):
            assert task_of(task(judge_strategy=strategy, judge_model_args=judge))["score"] == {}
        with pytest.raises(UsageError, match=r"judge_model_args: prompt_template lacks \{pred\}"):
            task_of(task(judge_strategy="llm", judge_model_args={**judge, "prompt_template": "{question}"}))

    def test_the_judges_own_wording_goes_to_the_judge(self) -> None:
        asked = []

        def judge(request: dict) -> Any:
            asked.append([(turn["role"], turn["content"]) for turn in request["messages"]])
            return said("verdict=YES")

        contract = {
            "system_prompt": "You are strict.",
            "prompt_template": "Q: {question} P: {pred} G: {gold}",
            "score_pattern": "verdict=(YES|NO)",
            "score_mapping": {"YES": 1.0, "NO": 0.0},
        }
        with chat_server(judge) as server:
            arguments = {"model_id": "j", "api_url": server.url, **contract}
            found = run_task(task(model=None, judge_strategy="llm", judge_model_args=arguments, limit=1,
                                  evalscope_version="1.8.0"))  # fmt: skip
        filled = f"Q: **User**: Colour 0? P: Default output from mockllm/model G: {COLOURS[0]}"
        assert asked == [[("system", "You are strict."), ("user", filled)]]
        assert found["general_vqa"]["metrics"][0]["score"] == 1.0

    def test_several_judges_since_1_11(self) -> None:
        models = [{"model_id": name, "judge_id": name, "api_url": "http://127.0.0.1:9/v1"} for name in ("j", "k")]
        judge = {"strategy": "llm", "models": models, "repeats": 2, "aggregation": "median", "min_valid_judges": 2}
        score = task_of(task(judge=judge, evalscope_version="1.14.1"))["score"]
        assert score == {
            "judge": ["evalscope@1.14"],
            "judge-model": ["j", "k"],
            "judge-base-url": "http://127.0.0.1:9/v1",
            "api-key-env": "MODELSCOPE_SDK_TOKEN",
            "judge-strategy": "llm",
            "judge-repeats": 2,
            "judge-aggregation": "median",
            "judge-min-valid": 2,
        }
        for changes, message in (
            ({"models": [models[0], {"model_id": "k", "api_url": "http://other/v1"}]}, "differ in more than model_id"),
            ({"position_swap": "on"}, "judge.position_swap: has no counterpart"),
            ({"models": []}, "Give judge.models"),
        ):
            with pytest.raises(UsageError, match=message):
                task_of(task(judge={**judge, **changes}))
        with pytest.raises(UsageError, match="Leave one out"):
            task_of(task(judge=judge, judge_model_args={"model_id": "j"}))

    def test_the_vlmevalkit_backend(self) -> None:
        entry = {"key": "k", "temperature": 0.5, "img_size": 224, "type": "a/qwen2.5:7b", "timeout": 9}
        found = task_of(backend_of(entry, limit=10, nproc=3, mode="infer", work_dir="out"))
        (model,), (dataset,) = found["models"], found["datasets"]
        assert model == {
            "model": "a/qwen2.5:7b",
            "name": "qwen2_5-7b",
            "backend": "openai",
            "base-url": ["http://127.0.0.1:9/v1/chat/completions"],
            "api-key-env": "EVALSCOPE_API_KEY_0",
            "temperature": 0.5,
            "max-image-side": 224,
            "max-new-tokens": 2048,
            "concurrency": 3,
            "timeout": 9,
        }
        assert (dataset["limit"], dataset["recipes"]) == (10, ["own_short_answer"])
        assert (found["steps"], found["work-dir"]) == ("predict", "out")

    def test_a_model_of_the_backend_on_this_machine(self) -> None:
        found = task_of(backend_of({"name": "qwen", "model_path": "some/folder", "api_base": None}))
        assert {"model": "some/folder", "backend": "transformers", "name": "qwen"}.items() <= found["models"][0].items()

    REFUSED = (
        (backend_of({"name": "qwen_chat"}), "'qwen_chat') is a name of the framework's. Give name: CustomAPIModel"),
        (backend_of({"api_base": None}), "CustomAPIModel needs type: (the model's name there) and api_base:."),
        (backend_of({"wait": 5}), "eval_config.model[0] has no key 'wait' here."),
        (backend_of({}, data=["none"]), "eval_config.data: there is no table"),
        (backend_of({}, data=5), "eval_config.data: expected a list of names (got 5)."),
        (backend_of({}, reuse="no"), "eval_config.reuse: expected true or false (got 'no')."),
        (backend_of({}, data=[]), "expected lists model: and data: with at least one entry"),
        (backend_of({}, mode="score"), "eval_config.mode: expected all, infer, eval (got 'score')"),
        (backend_of({}, retry=3), "eval_config.retry: has no counterpart here (got 3)"),
        (backend_of({}, judge="gpt-4o"), "eval_config.judge: no API server given. Give OPENAI_API_BASE."),
        ({"eval_backend": "VLMEvalKit", "eval_config": "none.yaml"}, "none.yaml: no such file"),
    )

    @pytest.mark.parametrize(("given", "message"), REFUSED, ids=[message for _, message in REFUSED])
    def test_what_the_backend_refuses(self, given: dict[str, Any], message: str) -> None:
        for call in (task_of, run_task):
            with pytest.raises(UsageError) as refusal:
                call(given)
            assert message in str(refusal.value)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 5), st.floats(), st.text(max_size=4), st.sampled_from(["vqa"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["general_vqa", "local_path", "subset_list", "model", "data", "x"]), inner),
    ),
    max_leaves=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.dictionaries(st.sampled_from([*DEFAULTS]), JSON, max_size=3), backend=st.booleans())
def test_any_values_give_a_task_or_one_refusal(changes: dict[str, Any], backend: bool) -> None:
    try:
        found = task_of({**(backend_of({}) if backend else task()), **changes})
    except UsageError:
        return
    assert found["datasets"]
    assert found["models"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.dictionaries(
        st.sampled_from(["model", "data", "mode", "limit", "reuse", "work_dir", "nproc", "judge", "LOCAL_LLM"]),
        JSON,
        max_size=3,
    ),
    entry=st.dictionaries(st.sampled_from(["type", "name", "api_base", "key", "img_size", "temperature"]), JSON),
)
def test_any_values_of_the_backend_give_a_task_or_one_refusal(changes: dict[str, Any], entry: dict[str, Any]) -> None:
    with contextlib.suppress(UsageError):
        assert task_of(backend_of(entry, **changes))["models"]
