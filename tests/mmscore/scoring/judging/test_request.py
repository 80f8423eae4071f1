"""A request for judges is checked before anybody is asked."""

import pytest
from msgspec.structs import replace

from mmconvert.core.errors import UsageError
from mmscore.core.select_recipe import find_recipe
from mmscore.llm.batch_server import BatchServer
from mmscore.scoring.judging.request import JudgeOptions, JudgeRequest, choose_panel, open_chat
from support.batch_server import batch_server
from support.chat_server import chat_server, refused


@pytest.mark.parametrize("name", ["concurrency", "repeats", "min_valid", "max_calls", "max_total_tokens"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_numbers_are_whole_and_at_least_one(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"{name} is a whole number from 1"):
        choose_panel(JudgeRequest("own", **{name: value}), find_recipe("own_choice"))


def test_a_template_without_a_required_slot_says_which_there_are() -> None:
    request = JudgeRequest("own", model="m", prompt="Is this right? {question}")
    with pytest.raises(UsageError, match=r"judge 'own' fills in \{question\}, \{reference\}, \{answer\}"):
        choose_panel(request, find_recipe("own_choice"))


def test_labels_are_worth_0_to_1_both_included() -> None:
    request = JudgeRequest("evalscope", model="m", strategy="llm_recall", score_mapping='{"A": 1, "B": 0}')
    request = replace(request, prompt="A or B? {question} {gold} {pred}")
    choose_panel(request, find_recipe("evalscope_general_vqa"))
    for worth in ("1.01", "-0.01", "true", '"1"'):
        with pytest.raises(UsageError, match="labels that are worth 0 to 1 each; 'A' is not"):
            choose_panel(replace(request, score_mapping=f'{{"A": {worth}}}'), find_recipe("evalscope_general_vqa"))


def test_a_version_that_the_judge_does_not_have_is_named_with_those_it_has() -> None:
    with pytest.raises(UsageError, match=r"judge 'own' has no version '2'\. Known: 1\."):
        choose_panel(JudgeRequest("own@2", model="m"), find_recipe("own_choice"))


def test_options_of_a_command_are_those_of_the_request() -> None:
    options = JudgeOptions(judge=("own",), judge_model=("m", "n"), judge_repeats=3, prices="p.yaml", rejudge="failed")
    wanted = JudgeRequest(("own",), model=("m", "n"), repeats=3, prices="p.yaml", rejudge=True)
    request = options.build_request()
    assert request is not None
    assert replace(request, spent=wanted.spent, announce=wanted.announce) == wanted


def open_model(url: str) -> str:
    with open_chat(JudgeRequest("own", base_url=url)) as chat:
        return chat.endpoint.model


def test_the_only_model_of_a_server_is_taken_and_ten_of_several_are_named() -> None:
    with chat_server(refused, ["only"]) as server:
        assert open_model(server.url) == "only"
    with (
        chat_server(refused, [f"m{number}" for number in range(12)]) as server,
        pytest.raises(UsageError, match=r"It offers m0, m1, .*, m9\. Name it with --judge-model"),
    ):
        open_model(server.url)


def test_a_file_of_which_the_server_has_no_batch_is_not_found() -> None:
    with batch_server(refused) as server, open_chat(JudgeRequest("own", base_url=server.url)) as chat:
        assert chat.run(BatchServer(chat).find("no-such-file")) is None
