"""The assistant's turn that an evaluation record lacks, and how training views are stored."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from msgspec.structs import replace

import mmconvert
from mmconvert.cli import program
from mmconvert.core.errors import RowError, UsageError
from mmconvert.core.record import LETTERS, SCHEMA, Part, Preference, Record, Source, Turn, count_images, from_arrow
from mmconvert.core.text.prompt_parts import Wording
from mmconvert.core.text.turns import build_plain_prompt_parts, join_texts, replace_prompt
from mmconvert.dataset.dataset import open_dataset
from mmconvert.dataset.verify import verify
from mmconvert.dataset.views import (
    PROMPT_COMPLETION_SCHEMA,
    VIEWS,
    View,
    build_reference_response,
    list_sft_turns,
    remove_response,
    split_prompt_completion,
)
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import ReadOptions, WriteOptions, convert, read
from mmconvert.pipeline.inputs import Input
from mmconvert.pipeline.prompting import build_prompt_step
from mmconvert.plugins.transform import Setting
from mmconvert.prompts.evalscope import evalscope
from mmconvert.prompts.lmms_mmmu import lmms_mmmu
from mmconvert.prompts.mmbench import mmbench
from mmconvert.prompts.mmmu import mmmu
from mmconvert.prompts.mmmu_pro import mmmu_pro
from mmconvert.prompts.reform_eval import reform_eval
from mmconvert.prompts.vlmevalkit import vlmevalkit
from mmconvert.transforms.option_mark import option_mark
from support.dialogs import content, dialogs
from support.records import records

USER = Turn("user", (Part("text", "Which?"),))
GAP, FULL = ("red", None, "blue"), ("red", "green", "blue")
ASKED = Record("1", "1", (USER,), "vqa", Source("f", "f", 0))


def said(text: str) -> Turn:
    return Turn("assistant", (Part("text", text),))


@pytest.mark.parametrize(
    ("fields", "reply"),
    [
        ({"task": "multiple_choice", "options": ("red", "green"), "answer": "B"}, "B. green"),
        ({"task": "multiple_choice", "options": ("red", None, "blue"), "answer": "AC"}, "A. red\nC. blue"),
        ({"task": "multiple_choice", "options": ("<image 1>", "<image 2>"), "answer": "B"}, "B"),
        ({"task": "multiple_choice", "options": ("", "x"), "answer": "A"}, "A"),
        ({"task": "vqa", "answers": ("cat", "kitten"), "answer": "cat"}, "cat"),
        ({"task": "caption", "answers": ("A cat.", "One cat."), "answer": None}, "A cat."),
        ({"task": "yes_no", "answer": "yes"}, "yes"),
        ({"task": "vqa", "answers": ("",)}, ""),
    ],
)
def test_the_reference_is_worded_as_a_reply(fields: dict, reply: str) -> None:
    record = replace(ASKED, **fields)
    assert build_reference_response(record) == reply
    assert list_sft_turns(record) == (USER, said(reply))
    assert split_prompt_completion(record) == ((USER,), (said(reply),))


def test_a_dialog_keeps_its_own_last_words() -> None:
    record = replace(ASKED, messages=(USER, said("a"), USER, said("b")), answers=("c",))
    assert list_sft_turns(record) == record.messages
    assert split_prompt_completion(record) == (record.messages[:3], record.messages[3:])


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (ASKED, "view.no_answer"),
        (replace(ASKED, messages=(), answers=("a",)), "view.no_prompt"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(record: Record, code: str) -> None:
    with pytest.raises(RowError) as caught:
        VIEWS["sft"].of(record)
    assert caught.value.code == code


def test_a_reply_that_is_begun_is_completed() -> None:
    begun = replace_prompt(replace(ASKED, answers=("cat",)), Wording(USER.content, reply="It is a"))
    assert begun.messages == (USER, said("It is a"))
    assert list_sft_turns(begun) == (USER, said("It is a cat"))
    assert split_prompt_completion(begun) == ((USER,), (said("It is a cat"),))


@pytest.mark.parametrize(
    ("style", "options", "shown", "reply"),
    [
        (evalscope, GAP, "B) blue", "B. blue"),
        (mmmu, GAP, "(B) blue", "B. blue"),
        (mmmu_pro, GAP, "B. blue", "B. blue"),
        (lmms_mmmu, GAP, "B. blue", "B. blue"),
        (vlmevalkit, GAP, "C. blue", "C. blue"),
        (mmbench, GAP, "C. blue", "C. blue"),
        (build_plain_prompt_parts, GAP, "C. blue", "C. blue"),
        (partial(reform_eval, alphabet_choice="lower"), FULL, "(c) blue", "c. blue"),
        (partial(reform_eval, alphabet_choice="number", sep_style="two"), FULL, "(3) blue", "3. blue"),
        (reform_eval, FULL, "(C) blue", "C. blue"),
    ],
)
def test_a_reply_names_options_as_the_prompt_does(
    style: Callable[[Record], Wording], options: tuple[str | None, ...], shown: str, reply: str
) -> None:
    asked = replace(ASKED, task="multiple_choice", question="Which?", options=options, answer="C")
    worded = replace_prompt(asked, style(asked))
    assert shown in join_texts(worded.messages[-1])
    assert build_reference_response(worded) == reply
    assert build_reference_response(replace_prompt(worded, build_plain_prompt_parts(worded))) == "C. blue"


def test_marks_that_were_chosen_are_learned() -> None:
    asked = replace(ASKED, task="multiple_choice", question="Which?", options=FULL, answer="B")
    (marked,) = option_mark(asked, {"mark": "number"}, Setting("option_mark"))
    assert list_sft_turns(marked)[-1] == said("2. green")


def test_another_wording_begins_its_own_reply() -> None:
    begun = replace_prompt(replace(ASKED, question="Which?"), Wording(USER.content, reply="It is a"))
    assert replace_prompt(begun, Wording(USER.content, reply="I think")).messages == (USER, said("I think"))
    asked = build_prompt_step("reform_eval")(begun)
    assert ([turn.role for turn in asked.messages], asked.extra) == (["user"], {})


@pytest.mark.parametrize("view", ["sft", "prompt-completion"])
def test_options_of_a_training_dataset_are_moved_together_with_its_reply(tmp_path: Path, view: str) -> None:
    row = {"question": "Which?", "options": ["red", "green", "blue"], "answer": "C"}
    (tmp_path / "in.jsonl").write_text(json.dumps(row) + "\n")
    mmconvert.convert(tmp_path / "in.jsonl", tmp_path / "a", view=view)
    for again in (view, "eval"):
        mmconvert.convert(tmp_path / "a", tmp_path / again, view=again, transform="circular", overwrite=True)
    asked = list(read(tmp_path / "eval"))
    learned = list(read(tmp_path / view))
    assert [record.messages[-1].role for record in asked] == ["user"] * 3
    assert [join_texts(record.messages[-1]) for record in learned] == ["C. blue", "B. blue", "A. blue"]
    assert all("A. blue" in join_texts(record.messages[-2]) for record in learned[2:])


def test_a_dialog_that_ends_with_its_own_reference_keeps_it() -> None:
    own = replace(ASKED, task="chat", messages=(USER, said("cat")), answers=("cat",))
    assert remove_response(own) == own


def test_a_monologue_has_no_prompt() -> None:
    with pytest.raises(RowError, match="no turn before"):
        VIEWS["prompt-completion"].of(replace(ASKED, messages=(said("a"),)))


@given(records())
def test_any_labelled_record_gives_a_reply(record: Record) -> None:
    reply = build_reference_response(record)
    assert (reply is None) == (not record.answers and record.answer is None)
    if reply and record.task == "multiple_choice" and record.options and record.answer:
        assert set(reply[0]) <= set(LETTERS) | set(record.answer)


def test_prompt_and_completion_stand_where_messages_stood() -> None:
    names = SCHEMA.names
    place = names.index("messages")
    assert PROMPT_COMPLETION_SCHEMA.names == [*names[:place], "prompt", "completion", *names[place + 1 :]]


@given(dialogs(alternate=False))
def test_a_stored_view_reads_back(record: Record) -> None:
    for name in ("eval", "sft", "prompt-completion"):
        view = VIEWS[name]
        (back,) = from_arrow(view.batch([view.of(record) if view.of else record]))
        assert content(back) == content(record)


def lines(folder: Path, *answers: str | None) -> Input:
    rows = [{"messages": [{"role": "user", "content": f"Q{n}"}], "answer": a} for n, a in enumerate(answers)]
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Input(folder / "in.jsonl")


@pytest.mark.parametrize(("view", "column"), [("sft", "messages"), ("prompt-completion", "completion")])
@pytest.mark.slow
def test_a_dataset_in_a_view_opens_and_is_a_source_again(view: str, column: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    summary = convert([lines(tmp_path, "yes", None, "no")], out, ReadOptions(), WriteOptions(view=view))
    assert (summary.rows_read, summary.rows_written, summary.rows_rejected) == (3, 2, 1)
    assert summary.warnings == ["the reference answer is written as the assistant's turn (2 times)"]
    (reject,) = map(json.loads, (tmp_path / "out.rejects.jsonl").read_text().splitlines())
    assert (reject["row"], reject["code"], reject["field"]) == (1, "view.no_answer", "answer")
    for file in out.glob("data/*.parquet"):
        assert pq.read_schema(file).equals(VIEWS[view].schema, check_metadata=False)
    loaded = datasets.load_dataset(str(out), split="test")
    assert loaded[0][column][-1] == {"role": "assistant", "content": [{"type": "text", "text": "yes"}]}
    assert verify(out) == []
    for source in (out, next(out.glob("data/*.parquet"))):
        assert guess(source)[0] == "mmconvert"
        assert [record.messages[-1] for record in read(source)] == [said("yes"), said("no")]
    assert [record.messages[-1] for record in open_dataset(out).records()] == [said("yes"), said("no")]
    again = convert([Input(out)], tmp_path / "again", ReadOptions(), WriteOptions(view=view))
    assert again.rows_rejected == 0
    assert datasets.load_dataset(str(tmp_path / "again"), split="test").to_list() == loaded.to_list()


def test_all_splits_have_one_view(tmp_path: Path) -> None:
    source = lines(tmp_path, "yes")
    convert([source], tmp_path / "out", ReadOptions(), WriteOptions(view="prompt-completion"))
    more = replace(source, split="train")
    with pytest.raises(UsageError, match="has the view prompt-completion"):
        convert([more], tmp_path / "out", ReadOptions(), WriteOptions(append=True))
    convert([more], tmp_path / "out", ReadOptions(), WriteOptions(append=True, view="prompt-completion"))
    assert set(datasets.load_dataset(str(tmp_path / "out"))) == {"train", "test"}


def test_the_command_knows_the_views_and_tells_of_unknown_ones(tmp_path: Path) -> None:
    arguments = ["convert", str(lines(tmp_path, "yes").path), "-o", str(tmp_path / "out"), "--quiet", "--view"]
    assert CliRunner().invoke(program, [*arguments, "completion"]).exit_code == 2
    assert CliRunner().invoke(program, [*arguments, "prompt-completion"]).exit_code == 0
    assert "completion" in (tmp_path / "out/README.md").read_text()
    with pytest.raises(UsageError, match="Did you mean sft"):
        convert([lines(tmp_path, "yes")], tmp_path / "new", ReadOptions(), WriteOptions(view="sftt"))


def test_a_prompt_without_options_is_answered_with_the_text() -> None:
    asked = replace(ASKED, task="multiple_choice", question="Which?", options=FULL, answer="C")
    likely = replace_prompt(asked, reform_eval(asked, infer_method="likelihood"))
    assert build_reference_response(likely) == "blue"


def test_a_source_that_ends_with_its_reference_keeps_its_turns_and_its_training_view_does_not(tmp_path: Path) -> None:
    said_so = {"messages": [{"role": r, "content": "blue"} for r in ("user", "assistant")], "answer": "blue"}
    (tmp_path / "in.jsonl").write_text(json.dumps(said_so) + "\n")
    mmconvert.convert(tmp_path / "in.jsonl", tmp_path / "a", task="vqa")
    (kept,) = open_dataset(tmp_path / "a").records()
    assert [turn.role for turn in kept.messages] == ["user", "assistant"]


def paired(chosen: tuple[Turn, ...], rejected: tuple[Turn, ...], **more: Any) -> Record:
    return replace(ASKED, task="chat", preference=Preference(chosen, rejected), **more)


def test_the_columns_of_pairs_and_of_prompts_stand_where_messages_stood() -> None:
    names = SCHEMA.names
    place = names.index("messages")
    rest = [name for name in names[place + 1 :] if name != "preference"]
    sides = ["prompt", "chosen", "rejected", "margin", "score_chosen", "score_rejected"]
    assert VIEWS["preference"].schema.names == [*names[:place], *sides, *rest]
    assert VIEWS["prompt"].schema.names == [*names[:place], "prompt", "solution", *names[place + 1 :]]


def lay_out(view: View, record: Record) -> Record | str:
    """A record as a view stores it, or why it does not."""
    try:
        return view.of(record)
    except RowError as error:
        return error.code


@given(records(pairs=True))
def test_a_pair_reads_back_from_its_view_or_is_refused_by_name(record: Record) -> None:
    view = VIEWS["preference"]
    stored = lay_out(view, record)
    if isinstance(stored, str):
        assert stored in ("view.no_pair", "view.pair", "view.no_prompt")
        return
    (back,) = from_arrow(view.batch([stored]))
    assert back == stored
    assert (back.images, back.attachments, back.extra) == (record.images, record.attachments, record.extra)
    assert (*back.messages, *back.preference.chosen) == (*record.messages, *record.preference.chosen)
    assert count_images(back.messages) == len(back.images)
    assert [len(side) for side in (back.preference.chosen, back.preference.rejected)] == [1, 1]


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (ASKED, "preference"),
        (paired((said("A"),), (said("A"),)), "preference"),
        (paired((said("A"),), (said("B"), USER, said("C"))), "rejected"),
        (
            replace(ASKED, preference=Preference((said("A"),), (said("B"),), score_chosen=1.0, score_rejected=1.0)),
            "preference",
        ),
        (paired((replace(said("A"), role="user"),), (said("B"),)), "chosen"),
    ],
    ids=["no pair", "alike", "several turns", "equal scores", "the user's response"],
)
def test_what_no_trainer_takes_is_refused_by_name(record: Record, field: str) -> None:
    with pytest.raises(RowError) as caught:
        VIEWS["preference"].of(record)
    assert (caught.value.code.startswith("view."), caught.value.field) == (True, field)


@given(records(pairs=True))
def test_a_prompt_ends_before_the_response(record: Record) -> None:
    view = VIEWS["prompt"]
    stored = lay_out(view, record)
    if isinstance(stored, str):
        assert stored == "view.no_prompt"
        return
    batch = view.batch([stored])
    (back,) = from_arrow(batch)
    assert back == stored
    assert back.messages[-1].role != "assistant"
    assert count_images(back.messages) == len(back.images)
    assert back.preference is None
    known = {*record.answers, record.answer}
    if record.answer is not None or record.answers:
        assert batch["solution"][0].as_py() in known


def test_a_response_that_is_cut_is_the_solution() -> None:
    talk = replace(ASKED, task="chat", messages=(USER, said("cat"), USER, said("dog")), answers=(), answer=None)
    view = VIEWS["prompt"]
    assert view.batch([view.of(talk)])["solution"].to_pylist() == ["dog"]
    assert view.of(talk).messages == (USER, said("cat"), USER)
    chosen = paired((said("A"),), (said("B"),), answers=(), answer=None)
    assert view.batch([view.of(chosen)])["solution"].to_pylist() == ["A"]
    with pytest.raises(RowError, match="no prompt to give"):
        view.of(replace(talk, messages=(said("cat"),)))


@pytest.mark.parametrize("view", ["sft", "prompt-completion"])
def test_other_training_views_hold_the_chosen_response(view: str) -> None:
    record = paired((said("A"),), (said("B"),))
    stored = VIEWS[view].of(record)
    assert (stored.messages, stored.preference) == ((*record.messages, said("A")), None)
