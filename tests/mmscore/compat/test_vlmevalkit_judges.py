"""What an `evaluate` of the user's calls: a judge, calls side by side, the kit's matching."""

import threading
from pathlib import Path

import pandas as pd
import pybase64
import pytest

from mmconvert.core.errors import Error, UsageError
from mmscore.compat import kit_imports
from mmscore.compat import vlmevalkit as kit
from support.chat_server import chat_server, refused, said
from support.questions import make_image

JUDGED = """
from vlmeval.dataset import ImageBaseDataset
from vlmeval.dataset.utils import DEBUG_MESSAGE, build_judge
from vlmeval.smp import dump, get_intermediate_file_path, load
from vlmeval.utils import track_progress_rich


def judged(model, line):
    return {"index": line["index"], "log": model.generate(f"Right? {line['prediction']}", temperature=0.5)}


class Judged(ImageBaseDataset):
    NAMES = ("Judged",)

    def evaluate(self, eval_file, **judge_kwargs):
        nproc = judge_kwargs.pop("nproc", 4)
        model = build_judge(max_tokens=16, **judge_kwargs)
        assert model.working(), DEBUG_MESSAGE
        data = load(eval_file)
        lines = [data.iloc[place] for place in range(len(data))]
        indices = [int(line["index"]) for line in lines]
        kept = get_intermediate_file_path(eval_file, "_tmp")
        track_progress_rich(judged, [(model, line) for line in lines], nproc=nproc, keys=indices, save=kept)
        found = load(kept)
        data["score"] = [float(found[index]["log"] == "yes") for index in indices]
        dump(data, get_intermediate_file_path(eval_file, "_judged"))
        return {"score": data["score"].mean()}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("LOCAL_LLM", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LMUData", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "key")


def test_an_evaluate_that_asks_a_judge_runs_as_it_is(tmp_path):
    kit_imports.install()
    image = pybase64.b64encode(make_image("red")).decode()
    kit.dump(pd.DataFrame({"index": [1, 2], "image": image, "question": "?", "answer": "red"}), tmp_path / "Judged.tsv")
    (tmp_path / "judged.py").write_text(JUDGED)
    with chat_server(lambda body: said("yes" if "red" in str(body["messages"]) else "no")) as service:
        from mmscore.compat.vlmevalkit.__main__ import _class

        benchmark = _class("judged.py@Judged", "test")("Judged")
        done = kit.run(
            benchmark,
            model="m",
            backend=lambda records: ["red", "blue"],
            judge_kwargs={"model": "judge-1b", "base_url": service.url, "nproc": 2, "retry": 2, "verbose": False},
        )
    assert done.result == [{"score": 0.5}]
    assert kit.load("outputs/m/m_Judged_judged.xlsx")["score"].tolist() == [1, 0]
    request = service.asked[-1]
    assert (request["model"], request["temperature"], request["max_tokens"]) == ("judge-1b", 0.5, 16)
    assert [request["messages"][-1]["content"][:6] for request in service.asked] == ["hello", "Right?", "Right?"]


def test_a_judge_is_asked_with_images_histories_and_a_system_turn(tmp_path):
    (tmp_path / "red.png").write_bytes(make_image("red"))
    with chat_server(lambda body: said("fine")) as service:
        judge = kit.build_judge(model="j", api_base=f"{service.url}/chat/completions", system_prompt="Be brief.")
        assert judge.generate(["red.png", "What?"]) == "fine"
        assert (
            judge.chat(
                [
                    {"role": "user", "content": "a"},
                    {"role": "assistant", "content": "b"},
                    {"role": "user", "content": "c"},
                ]
            )
            == "fine"
        )
    system, user = service.asked[0]["messages"]
    assert system == {"role": "system", "content": "Be brief."}
    shown, text = user["content"]
    assert pybase64.b64decode(shown["image_url"]["url"].partition(",")[2]) == make_image("red")
    assert text == {"type": "text", "text": "What?"}
    assert [turn["content"] for turn in service.asked[1]["messages"][1:]] == ["a", "b", "c"]


def test_a_judge_that_does_not_answer_says_so_as_in_the_kit():
    with chat_server(lambda body: refused(400, "no")) as service:
        judge = kit.build_judge(model="j", base_url=service.url, retry=1)
        assert judge.generate("a").startswith("Failed to obtain answer via API.")
        assert judge.working() is False


def test_whom_to_ask_is_named(monkeypatch):
    with pytest.raises(UsageError, match="--judge NAME"):
        kit.build_judge(nproc=4)
    with pytest.raises(UsageError, match="no base URL given"):
        kit.build_judge(model="j")
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        kit.OpenAIWrapper("j", key="secret")
    monkeypatch.setenv("LOCAL_LLM", "mine")
    assert kit.build_judge(model="j", api_base="http://127.0.0.1:9/v1")._endpoint.model == "mine"


def test_calls_are_made_side_by_side_and_their_results_are_kept_in_order(tmp_path):
    together = threading.Barrier(2, timeout=10)

    def add(a, b=0):
        together.wait()
        return a + b

    save = tmp_path / "kept.pkl"
    kit.dump({9: "old"}, save)
    tasks = [(1, 2), {"a": 3, "b": 4}]
    assert kit.track_progress_rich(add, tasks, nproc=2, save=save, keys=[1, 2], chunksize=2) == [3, 7]
    assert kit.load(save) == {9: "old", 1: 3, 2: 7}
    assert kit.track_progress_rich(str, [1, 2]) == ["1", "2"]
    with pytest.raises(Error, match="2 tasks have 1 keys"):
        kit.track_progress_rich(add, tasks, keys=[1])


def test_options_are_matched_as_the_kit_matches_them():
    choices = {"A": "cat", "B": 7}
    assert kit.can_infer("It is 7", choices) == "B"
    assert kit.can_infer_option("(A)", choices) == "A"
    assert kit.can_infer_text("a cat", choices) == "A"
    assert (
        kit.can_infer("neither", choices)
        is kit.can_infer_option(None, choices)
        is kit.can_infer_text("x", choices)
        is False
    )
