"""EvalScope's door: what a run prints and leaves behind."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from mmconvert.console.app import run as run_program
from mmconvert.core.errors import Error, UsageError
from mmscore import score
from mmscore.cli import program
from mmscore.compat.evalscope import TaskConfig, run_task
from mmscore.compat.evalscope.__main__ import program as evalscope
from support.chat_server import Said, chat_server, refused, said
from support.evalscope_tasks import PROMPT, backend_of, folder, task  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow


def answering(reply: Callable[[str], str | Said]) -> Any:
    def say(request: dict[str, Any]) -> Said:
        content = request["messages"][-1]["content"]
        text = content if isinstance(content, str) else " ".join(p.get("text", "") for p in content)
        answer = reply(text)
        return said(answer) if isinstance(answer, str) else answer

    return chat_server(say, ["org/Demo 1b", "m"])


class TestRun:
    def test_subsets_and_benchmarks_stand_in_the_kit_s_tables(self, capsys: pytest.CaptureFixture[str]) -> None:
        arguments = {"general_vqa": {"local_path": "vqa", "subset_list": ["second", "first"]}}
        arguments["general_vmcq"] = {"local_path": "mcq"}
        with answering(lambda text: "ANSWER: A" if "Which?" in text else "red") as service:
            given = task(datasets=["general_vqa", "general_vmcq"], dataset_args=arguments, api_url=service.url)
            result = run_task(given)
        shown = capsys.readouterr().out
        assert shown.index("general_vmcq") < shown.index("general_vqa")
        lines = [
            [cell.strip() for cell in line.split("|")[2:7]] for line in shown.splitlines() if "mean_bleu-1" in line
        ]
        assert [line[2:] for line in lines] == [
            ["second", "2", "0.5"],
            ["first", "4", "0.25"],
            ["OVERALL", "6", "0.3333"],
        ]
        assert result["general_vqa"]["score"] == 0.3333
        assert result["general_vmcq"]["metrics"][0]["num"] == 1

    def test_the_kit_s_files_stand_beside_ours(self) -> None:
        with answering(lambda _: "<think>Hm.</think>red") as service:
            run_task(task(api_url=service.url, api_key="sk-1", work_dir="out", limit=2))
        (run,) = Path("out").iterdir()
        assert len(run.name) == len("20260101_000000")
        (file,) = (run / "predictions").rglob("*.jsonl")
        assert str(file.relative_to(run)) == "predictions/Demo_1b/general_vqa_first.jsonl"
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert [line["index"] for line in lines] == [0, 1]
        assert lines[0]["model_output"]["choices"][0]["message"]["content"] == [
            {"type": "reasoning", "reasoning": "Hm."},
            {"type": "text", "text": "red"},
        ]
        report = json.loads((run / "reports/Demo_1b/general_vqa.json").read_text())
        assert report["name"] == "Demo_1b@general_vqa"
        (entry,) = score(file, "evalscope_general_vqa@1.3", answers=run / ".datasets/general_vqa_first").entries
        assert (entry.metrics["mean_bleu-1"].value, entry.metrics["mean_bleu-1"].n) == (0.5, 2)
        keys = yaml.safe_load((run / "configs/task_config.yaml").read_text())
        assert (keys["limit"], "api_key" in keys) == (2, False)
        assert "mean_bleu-1" in (run / "logs/eval_log.log").read_text()

    def test_a_row_that_fails_is_an_error_and_use_cache_asks_it_again(self) -> None:
        broken = True
        with answering(lambda text: refused(400) if broken and "Colour 1" in text else "red") as service:
            given = task(api_url=service.url, use_cache="out")
            with pytest.raises(Error, match="1 of 4 rows have no response") as refusal:
                run_task(given)
            assert "use_cache" in str(refusal.value)
            numbers = run_task({**given, "ignore_errors": True})["general_vqa"]["metrics"][0]
            assert (numbers["num"], numbers["score"]) == (3, 0.3333)
            broken = False
            assert run_task(given)["general_vqa"]["metrics"][0]["num"] == 4
            assert len(service.asked) == 4 + 1 + 1

    def test_a_run_without_a_single_number_is_an_error(self) -> None:
        with answering(lambda _: refused(400)) as service, pytest.raises(Error, match="1 of 1 rows have no response"):
            run_task(task(api_url=service.url, limit=1))
        judge = {"model_id": "j", "api_key": "k", "score_type": "numeric"}
        with answering(lambda _: "red") as service, answering(lambda _: "no number") as judging:
            judge["api_url"] = judging.url
            given = task(api_url=service.url, judge_strategy="llm", judge_model_args=judge, ignore_errors=True)
            with pytest.raises(Error, match="or have no score"):
                run_task(given)

    def test_a_row_that_is_refused_is_an_error_that_names_the_file_of_reasons(self) -> None:
        with Path("vqa/first.jsonl").open("a") as file:
            file.write(json.dumps({"messages": "none"}) + "\n")
        given = task(eval_type="mock_llm", use_cache="out")
        with pytest.raises(Error, match="rows were skipped, or have no score") as refusal:
            run_task(given)
        assert "out/.datasets/general_vqa_first.rejects.jsonl" in str(refusal.value)
        assert run_task({**given, "ignore_errors": True})["general_vqa"]["metrics"][0]["num"] == 4

    def test_a_run_of_the_kit_s_own_is_not_asked_again(self) -> None:
        place = Path("kit/predictions/Demo_1b")
        place.mkdir(parents=True)
        (place / "general_vqa_first.jsonl").write_text("{}\n")
        with pytest.raises(UsageError, match="are responses of EvalScope's own run"):
            run_task(task(use_cache="kit"))

    def test_a_model_on_this_machine_answers(self, tmp_path: Path) -> None:
        from support.tiny_models import save_llava

        model = save_llava(tmp_path / "tiny-llava")
        given = task(model=str(model), eval_type="llm_ckpt", api_url=None, generation_config={"max_tokens": 4}, limit=2)
        result = run_task({**given, "eval_batch_size": 2})
        assert result["general_vqa"]["name"] == "tiny-llava@general_vqa"
        assert result["general_vqa"]["metrics"][0]["num"] == 2

    def test_a_system_prompt_stands_before_rows_that_have_none(self) -> None:
        arguments = {"general_vqa": {"local_path": "vqa", "subset_list": ["first"], "system_prompt": PROMPT}}
        with answering(lambda _: "red") as service:
            run_task(task(api_url=service.url, dataset_args=arguments, limit=1))
            assert service.asked[0]["messages"][0] == {"role": "system", "content": PROMPT}

    def test_the_wording_of_choices_can_be_replaced(self) -> None:
        arguments = {
            "general_vmcq": {"local_path": "mcq", "prompt_template": "{question}\n{choices}\nOne of {letters}."}
        }
        with answering(lambda _: "ANSWER: A") as service:
            run_task(task(api_url=service.url, datasets="general_vmcq", dataset_args=arguments))
            texts = [part["text"] for part in service.asked[0]["messages"][0]["content"] if part["type"] == "text"]
        assert "".join(texts) == " Which?\nA) red\nB) blue\nOne of A,B."

    def test_several_replies_to_a_row(self) -> None:
        with answering(lambda _: "red") as service:
            given = task(api_url=service.url, repeats=2, generation_config={"temperature": 0.7}, limit=2)
            (metric, *_) = run_task(given)["general_vqa"]["metrics"]
        assert metric["num"] == 4

    @pytest.mark.parametrize(("version", "num"), [("1.6.0", 2), ("1.8.0", 2)])
    def test_several_replies_are_counted_together(
        self, version: str, num: int, capsys: pytest.CaptureFixture[str]
    ) -> None:
        replies = iter(["ANSWER: B", "ANSWER: A"])
        arguments = {"general_vmcq": {"local_path": "mcq", "aggregation": "mean_and_pass_at_k"}}
        with answering(lambda _: next(replies)) as service:
            drawn = {"repeats": 2, "generation_config": {"temperature": 0.7}, "eval_batch_size": 1}
            given = task(api_url=service.url, datasets="general_vmcq", dataset_args=arguments, **drawn)
            metrics = run_task({**given, "evalscope_version": version})["general_vmcq"]["metrics"]
        found = {metric["name"]: (metric["score"], metric["num"]) for metric in metrics}
        assert found == {"mean_acc": (0.5, num), "mean_acc_pass@1": (0.5, num), "mean_acc_pass@2": (1.0, num)}
        assert "mean_acc_pass@2" in capsys.readouterr().out

    def test_newer_releases_have_their_own_table(self, capsys: pytest.CaptureFixture[str]) -> None:
        with answering(lambda _: "red") as service:
            result = run_task(task(api_url=service.url, evalscope_version="1.14.1"))
        assert "BLEU ↑ · n-gram 1" in capsys.readouterr().out
        assert result["general_vqa"]["schema_version"] == 2

    def test_a_judge_of_a_newer_release(self) -> None:
        with answering(lambda _: "red") as service, answering(lambda _: '{"verdict": "A"}') as judging:
            models = [{"model_id": name, "api_url": judging.url, "api_key": "sk-2"} for name in ("j", "k")]
            given = task(api_url=service.url, evalscope_version="1.14.1", judge={"strategy": "llm", "models": models})
            report = run_task(given)["general_vqa"]
            assert (report["metrics"][0]["identity"]["name"], report["metrics"][0]["score"]) == ("accuracy", 1.0)
            assert {request["model"] for request in judging.asked} == {"j", "k"}
        files = [file for file in Path("outputs").rglob("*") if file.is_file()]
        assert not [file for file in files if b"sk-2" in file.read_bytes()]

    def test_a_list_of_tasks(self) -> None:
        mock = task(eval_type="mock_llm", model="mock")
        first, second = run_task([mock, TaskConfig(**mock, limit=1, no_timestamp=True)])
        assert [one["general_vqa"]["metrics"][0]["num"] for one in (first, second)] == [4, 1]

    def test_keys_leave_the_environment_again(self) -> None:
        os.environ["EVALSCOPE_API_KEY"] = "mine"
        try:
            with answering(lambda _: "red") as service:
                run_task(task(api_url=service.url, api_key="sk-1", limit=1))
                assert service.heads[0]["Authorization"] == "Bearer sk-1"
                run_task(task(api_url=service.url, limit=1, work_dir="other"))
                assert service.heads[1]["Authorization"] == "Bearer mine"
            assert os.environ["EVALSCOPE_API_KEY"] == "mine"
        finally:
            del os.environ["EVALSCOPE_API_KEY"]

    def test_models_that_fail_keep_no_other_from_its_turn(self, capsys: pytest.CaptureFixture[str]) -> None:
        with answering(lambda _: "red") as service:
            given = backend_of({"api_base": service.url})
            given["eval_config"]["model"].insert(0, {"name": "none", "model_path": "no/such/folder"})
            assert run_task(given) == {"m_mine_acc": {"Overall": "1.0"}}
        assert "no/such/folder" in capsys.readouterr().err

    @pytest.mark.parametrize("users", [False, True])
    def test_rows_that_are_not_in_the_numbers_of_the_backend_are_told(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, users: bool
    ) -> None:
        if users:
            from mmscore.compat.vlmevalkit import CustomVQADataset

            monkeypatch.setattr(CustomVQADataset, "evaluate", lambda self, eval_file, **judge: {"Overall": 1.0})
        with Path("LMUData/mine.tsv").open("a") as table:
            table.write("2\tBroken?\tred\tvqa/red.png\n3\tWhich?\tred\tnone.png\n")
        with answering(lambda text: refused(400) if "Broken" in text else "red") as service:
            given = backend_of({"api_base": service.url})
            assert run_task(given) == {"m_mine_acc": {"Overall": "1.0"}}
            told = capsys.readouterr().err
            assert "evalscope: " in told
            assert "have no response" in told
            given["eval_config"]["reuse"] = True
            run_task(given)
            assert len(service.asked) == 2 + 1


def test_a_mistake_in_a_task_file_is_named_with_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("task.yaml").write_text(yaml.safe_dump({**task(), "limt": 3}))
    with pytest.raises(SystemExit) as ended:
        run_program(program, ["run", "task.yaml"], program="mmscore")
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("mmscore: task.yaml: TaskConfig has no key 'limt' here.")


def test_wrong_usage_of_the_command_is_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    def run_here(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            run_program(evalscope, ["eval", *arguments], program="evalscope")
        return ended.value.code, capsys.readouterr().err

    command = [sys.executable, "-m", "mmscore.compat.evalscope", "eval", "--datasets", "general_vqa"]
    done = subprocess.run(
        [*command, "--dataset-args", "{", "--model", "m"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "--dataset-args" in done.stderr, "is not JSON" in done.stderr) == (2, True, True)
    code, err = run_here("--datasets", "general_vqaa", "--model", "m")
    assert (code, "Did you mean general_vqa?" in err) == (2, True)
    arguments = json.dumps({"general_vqa": {"local_path": "vqa/first.jsonl"}})
    more = ("--dataset-args", arguments, "--generation-config", "temperature=0.5,stop=true")
    code, err = run_here("--datasets", "general_vqa", "--model", "m", *more)
    assert (code, "generation_config has no key 'stop'" in err) == (2, True)
