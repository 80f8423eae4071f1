"""`--judge-prompt CHECKOUT`: the framework's own prompts are asked with; without it all say that ours were."""

import json

import pytest

from mmconvert.core.errors import Error, UsageError
from mmscore.kits.mmtrusteval.task_log import SAMPLES, TOTAL
from mmscore.scoring.evaluate import score
from mmscore.scoring.judging.request import JudgeRequest
from support.chat_server import chat_server, said
from support.kit_checkouts import MMTRUSTEVAL, VLMEVALKIT, write_checkout
from support.predictions import choices, write_predictions

OPTION = ("vlmevalkit_mcq", "vlmevalkit_option", "B")
LLAVABENCH = ("vlmevalkit_llavabench", "vlmevalkit_llavabench", "8 6")


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def judged(file, names, prompt, **options):
    """Score a file with a judge that always answers the same; give the entry, what was asked, and the log."""
    recipe, judge, response = names
    log = []
    with chat_server(lambda request: said(response)) as server:
        request = JudgeRequest(judge, base_url=server.url, prompt=prompt, spent=log.append)
        (entry,) = score(file, recipe, judge=request, **options).entries
    return entry, [asked["messages"] for asked in server.asked], "\n".join(map(str, log))


def signed(entry):
    return dict(part.partition(":")[::2] for part in entry.signature.split("|"))


@pytest.fixture
def unclear(tmp_path):
    rows = choices(("hard to say", "B"), question="Which?") + choices(("hard to say", "B"), question="哪个？")
    rows = [row | {"id": str(number)} for number, row in enumerate(rows)]
    return write_predictions(tmp_path / "p.parquet", rows)


def test_the_frameworks_own_prompts_are_sent_word_for_word(tmp_path, unclear):
    checkout = write_checkout(tmp_path / "kit", VLMEVALKIT)
    entry, asked, log = judged(unclear, OPTION, str(checkout))
    listed = "Choose from: \nA. red\nB. green\nC. blue\n"
    prompts = {
        f"Match. Q: Which??\nO: {listed}\nA: hard to say\nOut: ",
        f"匹配。哪个？?{listed}hard to say",
    }
    assert {messages[-1]["content"] for messages in asked} == prompts
    assert entry.counts.judge_failed == 0
    assert "built in" not in " ".join([*entry.messages, entry.signature, log])
    digest = signed(entry)["judge_prompt"]
    assert len(digest) == 16
    (checkout / "vlmeval/dataset/utils/multiple_choice.py").write_text(
        VLMEVALKIT["vlmeval/dataset/utils/multiple_choice.py"].replace("Match", "Find"), "utf-8"
    )
    assert signed(judged(unclear, OPTION, str(checkout))[0])["judge_prompt"] != digest


def test_without_them_log_report_and_signature_say_so(unclear):
    entry, _, log = judged(unclear, OPTION, None)
    assert "judge prompt: built in, not VLMEvalKit's" in entry.messages
    assert log.endswith("judge prompt: built in, not VLMEvalKit's")
    assert signed(entry)["judge_prompt"] == "built in, not VLMEvalKit's"


def test_a_prompt_of_the_users_is_neither(tmp_path, unclear):
    (tmp_path / "prompt.txt").write_text("{options} {prediction}", "utf-8")
    entry, _, log = judged(unclear, OPTION, str(tmp_path / "prompt.txt"))
    assert "built in" not in " ".join([*entry.messages, entry.signature, log])


def test_the_system_turn_and_the_prompt_of_the_category_go_along(tmp_path):
    extra = json.dumps({"caption": "A cat.", "gpt4_ans": "cat"})
    row = {"id": "1", "question": "What?", "prediction": "dog", "extra": extra, "category": "detail", "answer": "cat"}
    file = write_predictions(tmp_path / "p.parquet", [row])
    _, asked, _ = judged(file, LLAVABENCH, str(write_checkout(tmp_path / "kit", VLMEVALKIT)))
    text = "[C]\nA cat.\n[Q]\nWhat?\n[Helper 1]\ncat\n[Helper 2]\ndog\nRate detail."
    assert asked == [[{"role": "system", "content": "You check answers."}, {"role": "user", "content": text}]]
    file = write_predictions(tmp_path / "q.parquet", [row | {"category": "conv 2"}])
    with pytest.raises(UsageError, match="no prompt 'conv 2' was read, of conv, detail, complex"):
        judged(file, LLAVABENCH, str(tmp_path / "kit"))


def test_mmtrustevals_task_files_give_the_prompt_of_the_dataset(tmp_path):
    log_file = tmp_path / "log.json"
    log_file.write_text(json.dumps({TOTAL: {}, SAMPLES: [{"content": "q", "pred": "a cat", "label": "cat"}]}), "utf-8")
    names, dataset = ("mmtrust_judged", "mmtrust", "[Yes]"), "g-text-misleading"
    checkout = write_checkout(tmp_path / "kit", MMTRUSTEVAL)
    entry, asked, _ = judged(log_file, names, str(checkout), dataset=dataset)
    assert [messages[-1]["content"] for messages in asked] == ["Said a cat, true cat. [Yes] or [No]?"]
    assert "built in" not in " ".join([*entry.messages, entry.signature])
    entry, _, log = judged(log_file, names, None, dataset=dataset)
    assert "judge prompt: built in, not MMTrustEval's" in [*entry.messages, log.rpartition("; ")[2]]
    task = checkout / "mmte/configs/task/truthfulness/t5-text-misleading.yaml"
    entry, _, _ = judged(log_file, names, None, dataset=dataset, recipe_options=str(task))
    assert "built in" not in " ".join([*entry.messages, entry.signature])


def test_a_folder_for_a_judge_that_reads_none_is_refused(tmp_path, unclear):
    with pytest.raises(UsageError, match="judge 'own' reads no prompts from a folder"):
        judged(unclear, ("own_choice", "own", ""), str(tmp_path))
    with pytest.raises(Error, match=r"holds no vlmeval/dataset/utils/multiple_choice\.py"):
        judged(unclear, OPTION, str(tmp_path))
