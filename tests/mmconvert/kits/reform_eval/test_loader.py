"""ReForm-Eval's loader: what the golden cases do not say, on the project's own wording."""

from random import Random
from typing import Any

import pytest

from mmconvert.core.errors import Error, RowError, UsageError
from mmconvert.kits.reform_eval.conversation_text import Processor
from mmconvert.kits.reform_eval.families import FAMILIES
from mmconvert.kits.reform_eval.loader import DATASETS, load
from mmconvert.kits.reform_eval.pools import load_pools
from mmconvert.kits.reform_eval.setup import Setup

VQA = {"question_id": "q", "image_id": "", "question": "Red?", "answer": "no", "answer_options": ["yes", "no", "maybe"]}
GT = {"img": "", "anno": "a cat", "gt": 1}
CLASS = {"id": 3, "image": "", "question": "What?", "answer": 2, "options": ["a", "b", "c", "d"]}
DIALOG = {
    "image_id": 9,
    "image_base64": "",
    "dialog": [{"question": n, "answer": n, "answer_options": [0, 1, 2]} for n in (0, 1)],
}
DIALOGS = {"data": {"questions": ["is it day", "and NOW?"], "answers": ["yes", "no", "mAYBE"], "dialogs": [DIALOG]}}
NEVER = {"shuffle_options": False, "in_context_sample": False, "option_mark": "upper"}


def opened(name: str, items: Any, seed: int = 0, formulation: str = "SingleChoice", **more: Any) -> Any:
    return load(items, Setup(name, formulation, **more), Random(seed))


def test_every_dataset_has_a_family_and_every_family_instructions() -> None:
    assert {dataset.family for dataset in DATASETS.values()} <= FAMILIES.keys()
    pools = load_pools()
    for family in FAMILIES.values():
        assert len(pools[family.pool].choose) == len(pools[family.pool].answer)
        assert len(pools[family.pool].choose) in (0, 5)


def test_copies_stand_beside_each_other_and_take_the_instructions_in_turn() -> None:
    samples = opened("VQA", {"data": [VQA, {**VQA, "question_id": "r"}]}, **NEVER)
    assert [sample["sample_id"] for sample in samples] == ["q"] * 5 + ["r"] * 5
    assert [s["instruct"] for s in samples] == list(load_pools()[FAMILIES["VQA"].pool].choose) * 2
    by_sample = opened("VQA", {"data": [VQA, VQA]}, random_instruct=False, **NEVER)
    assert len({by_sample[n]["instruct"] for n in range(5)}) == 1
    assert by_sample[0]["instruct"] != by_sample[5]["instruct"]


def test_the_stored_order_moves_on_but_the_key_of_a_match_does_not() -> None:
    samples = opened("MSCOCO", {"dataset_name": "MSCOCO", "data": [GT]}, config={"task": "itm"}, seed=5)
    pairs = {sample["answer_options"][sample["answer"]] for sample in samples}
    assert pairs == {"yes", "no"}
    for seed in range(20):
        classes = opened("CIFAR10", [CLASS], seed=seed, config={"instruct_kind": "vqa"})
        assert all(sample["answer_options"][sample["answer"]] == "c" for sample in classes)


def test_an_answer_that_is_no_option_joins_them_only_by_shuffling() -> None:
    odd = {"data": [{**VQA, "answer": "perhaps"}]}
    assert sorted(opened("VQA", odd)[0]["answer_options"]) == ["maybe", "no", "perhaps", "yes"]
    with pytest.raises(RowError, match="none of the options"):
        opened("VQA", odd, shuffle_options=False)[0]


def test_a_caption_loader_takes_the_response_prefix_away() -> None:
    processor = Processor("\n", style="one", response_prefix="The answer is")
    data = {"dataset_name": "textcaps", "data": [{"img": "", "annos": ["a cat"]}]}
    (sample,) = opened("TextCaps", data, formulation="Generation", data_duplication=1, processor=processor)
    assert sample["text"].endswith("\nBot:")
    with pytest.raises(UsageError, match="processor"):
        opened("TextCaps", data, formulation="Generation")


@pytest.mark.parametrize(
    ("name", "items", "more"),
    [
        ("VQB", {"data": []}, {}),
        ("VQA", {"data": []}, {"formulation": "OCROpenEnded"}),
        ("VQA", {"data": []}, {"data_duplication": 3}),
        ("VQA", {"data": []}, {"inference_method": "guess"}),
        ("VQA", {"data": [], "version": "2"}, {"config": {"version": "1"}}),
        ("VQA", {}, {}),
        ("MEDIC", {"dataset_name": "X", "data": []}, {}),
        ("CLEVR", {"data": []}, {}),
        ("VQA", {"data": [{**VQA, "question": 3}]}, {}),
        ("CIFAR10", [{**CLASS, "options": "abc"}], {}),
        ("VisDial", {"data": {"dialogs": [{"image_id": 1}]}}, {}),
    ],
)
def test_what_does_not_go_together_is_refused(name: str, items: Any, more: dict) -> None:
    with pytest.raises(Error):
        opened(name, items, **more)


def test_online_a_round_waits_for_the_answer_to_the_one_before() -> None:
    dialogs = opened("VisDial", DIALOGS, config={"split": "val"}, data_duplication=5, **NEVER)
    assert (dialogs[0]["sample_id"], dialogs[0]["history"], dialogs[0]["question"]) == ("9_0", [], "Is it day?")
    for number, said in enumerate(["No", "Maybe", "No", "Maybe", "Yes"]):
        with pytest.raises(Error, match="no answer yet"):
            dialogs[5]
        dialogs.update_history([[(dialogs[number]["sample_id"], said)]])
    assert [turn["value"].split()[-1] for turn in dialogs[5]["history"]] == ["Maybe.", "No"]


def test_offline_the_history_is_right_and_has_options_for_generation_only() -> None:
    fixed = Processor("\n", style="one", mark="upper", response_prefix="So:")
    common = {"config": {"split": "val"}, "online_multi_round": False, "processor": fixed, **NEVER}
    said = opened("VisDial", DIALOGS, **common)[5]["history"]
    assert [turn["value"] for turn in said] == ["Is it day? Options: (A) Yes; (B) No; (C) Maybe.", "So: (A) Yes"]
    said = opened("VisDial", DIALOGS, inference_method="likelihood", **common)[5]["history"]
    assert [turn["value"] for turn in said] == ["Is it day?", "Yes"]


RED = [{"answer": "red"}]
TYPED = {"question_id": 7, "image_id": "", "question": "Colour?", "question_type": "color", "answers": RED}
COUNTED = {"Image_ID": "", "Question": "How many?", "Answer": 3, "Resolved_COCO_category": "cat"}


def test_open_questions_get_three_others_drawn_at_each_visit() -> None:
    lists = {"color": ["red", "green", "blue", "white", "black", "grey"], "": [str(n) for n in range(9)]}
    colours = opened("TDIUC", [TYPED], choices=lists.__getitem__, data_duplication=10)
    assert {sample["sample_id"] for sample in colours} == {"7"}
    assert len({frozenset(sample["answer_options"]) for sample in colours}) > 1
    for sample in colours:
        assert sample["answer_options"][sample["answer"]] == "red"
        assert len(set(sample["answer_options"])) == 4
    assert colours[0]["history"][1]["value"].startswith("(A)")
    counts = opened("MSCOCO", [COUNTED, COUNTED], choices=lists.__getitem__, config={"task": "oc"}, **NEVER)
    assert [counts[n]["sample_id"] for n in (0, 5)] == ["1", "2"]
    assert (counts[0]["answer_options"][3], counts[0]["answer"]) == ("3", 3)
    assert "question_with_option" not in counts[0]
    yes = opened("TDIUC", [{**TYPED, "answers": [{"answer": "yes"}]}], shuffle_options=False)
    assert (yes[0]["answer_options"], yes[0]["answer"]) == (["yes", "no"], 0)
    with pytest.raises(RowError, match="from a list of 2"):
        opened("TDIUC", [TYPED], choices=lambda kind: ["red", "green", "blue"])[0]
    with pytest.raises(UsageError, match="no list of answers to draw options from for questions on color"):
        opened("TDIUC", [TYPED])[0]


def test_dialogs_keep_their_case_on_request_and_tell_the_rounds_before() -> None:
    dialogs = opened("VisDial", DIALOGS, capitalize=False, online_multi_round=False, **NEVER)
    assert dialogs[5]["question"] == "and NOW?"
    assert dialogs[5]["answer_options"] == ["yes", "no", "mAYBE"]
    assert dialogs.list_earlier_rounds(0) == dialogs.list_earlier_rounds(4) == []
    before = {"question": "is it day", "answer_options": ["yes", "no", "mAYBE"], "answer": 0}
    assert dialogs.list_earlier_rounds(5) == [before]


def test_clevr_by_likelihood_takes_answers_on_request() -> None:
    item = {"question_id": "q", "image": "", "question": "Red?", "answer": 1, "answer_options": ["yes", "no"]}
    data = {"instructs": ["Say."] * 5, "data": [item]}
    plain, claim = (
        opened("CLEVR", data, inference_method="likelihood", **said)[0]["instruct"]
        for said in ({}, {"answer_space_instruct": True})
    )
    assert (plain, claim) == ("Say.", "Say. Please answer supported, refuted or not enough information.")
