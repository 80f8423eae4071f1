"""Preference pairs of every form: what is read of them, what comes back, and what is named on the way."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import mmconvert
from mmconvert.chat.preference import count_shared, take_scores
from mmconvert.core.errors import RowError
from mmconvert.core.record import Part, Preference, Record, Source, Turn, list_turns
from mmconvert.dataset.views import split_pair
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read, write
from mmconvert.pipeline.inputs import plan_inputs
from mmconvert.pipeline.read import ReadOptions, Records
from mmconvert.plugins.format import Target
from support.records import checked, image_bytes

RED, BLUE, GREEN = (checked("PNG", shade, slot) for slot, shade in enumerate((1, 2, 3), 1))
IMAGE = Part("image")


def turn(role: str, *parts: str | Part) -> Turn:
    return Turn(role, tuple(Part("text", part) if isinstance(part, str) else part for part in parts))


def pair(prompt: Any, chosen: Any, rejected: Any, images: Any = (RED,), **more: Any) -> Record:
    numbers = {name: more.pop(name) for name in ("margin", "score_chosen", "score_rejected") if name in more}
    sides = Preference(tuple(chosen), tuple(rejected), **numbers, rejected_images=more.pop("rejected_images", ()))
    return Record(
        f"{0:09d}", f"{0:09d}", tuple(prompt), "chat", Source("f", "f", 0), tuple(images), preference=sides, **more
    )  # fmt: skip


ASKED = turn("user", IMAGE, "Which colour?")
PLAIN = pair([turn("system", "Be short."), ASKED], [turn("assistant", "Red.")], [turn("assistant", "Blue.")])


def rows(folder: Path, name: str, *data: dict[str, Any], format: str | None = None) -> Any:
    for shade, file in enumerate(("a.png", "b.png", "c.png"), 1):
        (folder / file).write_bytes(image_bytes("PNG", shade))
    text = json.dumps(list(data)) if name.endswith(".json") else "".join(json.dumps(row) + "\n" for row in data)
    (folder / name).write_text(text, encoding="utf-8")
    return read(folder / name, format or guess(folder / name)[0])


def told(record: Record) -> tuple[Any, ...]:
    """What a trainer would see of a pair."""
    sides = record.preference
    assert sides is not None
    shown = [image.sha256 for image in record.images]
    others = [record.attachments[place].sha256 for place in sides.rejected_images]
    return record.messages, replace(sides, rejected_images=()), shown, others


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


@given(st.text("ab ", max_size=6), st.text("ab ", max_size=6))
def test_both_sides_keep_something_and_share_the_rest(chosen: str, rejected: str) -> None:
    count = count_shared(chosen, rejected)
    assert chosen[:count] == rejected[:count]
    assert count <= max(min(len(chosen), len(rejected)) - 1, 0)


def test_scores_that_are_no_numbers_stay_where_they_are() -> None:
    fields = {"margin": "large", "score_chosen": 3, "score_rejected": float("nan"), "other": 1.0}
    assert take_scores(fields) == {"score_chosen": 3.0}
    assert set(fields) == {"margin", "score_rejected", "other"}


# TRL


@pytest.mark.parametrize(
    ("row", "prompt", "chosen", "rejected"),
    [
        ({"prompt": "The sky is", "chosen": " blue.", "rejected": " green."}, "The sky is", " blue.", " green."),
        ({"chosen": "The sky is blue.", "rejected": "The sky is green."}, "The sky is", " blue.", " green."),
        ({"prompt": said("Q"), "chosen": said("", "A")[1:], "rejected": said("", "B")[1:]}, "Q", "A", "B"),
        ({"chosen": said("Q", "A"), "rejected": said("Q", "B")}, "Q", "A", "B"),
        ({"prompt": "Q", "chosen": said("Q", "A"), "rejected": said("Q", "B")}, "Q", "A", "B"),
    ],
    ids=["texts", "texts without a prompt", "turns", "turns without a prompt", "a text as prompt of turns"],
)
@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet"])
def test_pairs_of_trl(
    row: dict[str, Any], prompt: str, chosen: str, rejected: str, suffix: str, tmp_path: Path
) -> None:
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist([row]), tmp_path / "t.parquet")
        records = read(tmp_path / "t.parquet", guess(tmp_path / "t.parquet")[0])
    else:
        records = rows(tmp_path, f"t{suffix}", row)
    (record,) = records
    assert (records.format, record.messages) == ("trl", (turn("user", prompt),))
    assert record.preference == Preference((turn("assistant", chosen),), (turn("assistant", rejected),))
    assert (record.question, record.task, record.source.numbered) == (prompt, "chat", True)


def test_images_of_trl_stand_in_front_or_in_their_parts(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "Which?"}, {"type": "image"}]
    side = [{"role": "assistant", "content": [{"type": "text", "text": "A"}]}]
    front = {"image": "a.png", "prompt": said("Q"), "chosen": said("", "A")[1:], "rejected": said("", "B")[1:]}
    placed = {"images": ["b.png"], "prompt": [{"role": "user", "content": parts}], "chosen": side, "rejected": side}
    records = rows(tmp_path, "t.jsonl", front, placed, format="trl")
    first, second = records
    assert first.messages == (turn("user", IMAGE, "Q"),)
    assert second.messages == (turn("user", "Which?", IMAGE),)
    assert [image.sha256 for image in (*first.images, *second.images)] == [RED.sha256, BLUE.sha256]
    assert records.warnings == {"chosen and rejected are alike: the pair is kept, but no trainer learns from it": 1}


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"chosen": "A", "rejected": "B"}, "preference.prompt"),
        ({"prompt": "Q", "chosen": "A", "rejected": said("Q", "B")}, "messages.type"),
        ({"prompt": said("Q"), "chosen": "A", "rejected": "B"}, "messages.type"),
        ({"prompt": said("Q", "A"), "chosen": said("", "A")[1:], "rejected": said("", "B")[1:]}, "preference.prompt"),
        ({"prompt": said("Q"), "chosen": said("A"), "rejected": said("B")}, "preference.role"),
        ({"prompt": said("Q"), "chosen": [], "rejected": said("", "B")[1:]}, "messages.missing"),
        ({"prompt": "Q", "chosen": "A", "rejected": "B", "image": ["a.png"], "videos": ["v"]}, "media.unsupported"),
    ],
)
def test_what_is_no_pair_of_trl(row: dict[str, Any], code: str, tmp_path: Path) -> None:
    records = rows(tmp_path, "t.jsonl", row, format="trl")
    assert list(records) == []
    assert [reject.code for reject in records.rejects] == [code]


# LLaMA-Factory


def test_a_ranking_of_llama_factory(tmp_path: Path) -> None:
    row = {
        "conversations": [{"from": "human", "value": "<image>Who?"}],
        "chosen": {"from": "gpt", "value": "He."},
        "rejected": {"from": "gpt", "value": "She."},
        "images": ["a.png"],
    }
    records = rows(tmp_path, "t.json", row)
    (record,) = records
    assert records.format == "sharegpt"
    assert told(record) == told(
        pair([turn("user", IMAGE, "Who?")], [turn("assistant", "He.")], [turn("assistant", "She.")])
    )
    only = rows(tmp_path, "t.json", row | {"rejected": None}, format="sharegpt")
    assert list(only) == []
    assert only.rejects[0].code == "preference.missing"


def test_a_ranking_in_alpaca_form(tmp_path: Path) -> None:
    row = {
        "instruction": "Translate.",
        "input": "blue",
        "chosen": "blau",
        "rejected": "bleu",
        "history": [["red", "rot"]],
    }
    shown = {"instruction": "<image>Which?", "chosen": "Red.", "rejected": "Blue.", "images": ["a.png"], "system": "S"}
    records = rows(tmp_path, "t.json", row, shown)
    first, second = records
    assert records.format == "alpaca_preference"
    assert first.messages == (turn("user", "red"), turn("assistant", "rot"), turn("user", "Translate.\nblue"))
    assert first.preference == Preference((turn("assistant", "blau"),), (turn("assistant", "bleu"),))
    assert second.messages == (turn("system", "S"), turn("user", IMAGE, "Which?"))
    bad = rows(tmp_path, "t.json", row | {"chosen": 4}, row | {"history": ["x"]}, format="alpaca_preference")
    assert list(bad) == []
    assert [reject.field for reject in bad.rejects] == ["chosen", "history[0]"]


def test_pairs_of_llama_factory_version_1(tmp_path: Path) -> None:
    def talk(*texts: str) -> list[dict[str, Any]]:
        return [
            {
                "role": ("user", "assistant")[n % 2],
                "content": [{"type": "text", "value": text}],
                "loss_weight": float(n),
            }
            for n, text in enumerate(texts)
        ]

    both = {"chosen_messages": talk("<image>Q", "A"), "rejected_messages": talk("<image>Q", "B"), "images": ["a.png"]}
    own = talk("Q", "A")
    own[0]["content"].insert(0, {"type": "image_url", "value": "b.png"})
    placed = {"chosen_messages": own, "rejected_messages": [own[0], *talk("", "B")[1:]]}
    records = rows(tmp_path, "t.jsonl", both, placed)
    first, second = records
    assert records.format == "llamafactory_pair"
    assert told(first) == told(pair([turn("user", IMAGE, "Q")], [turn("assistant", "A")], [turn("assistant", "B")]))
    assert [image.sha256 for image in second.images] == [BLUE.sha256]
    assert first.extra["chosen_extra"] == [{"loss_weight": 1.0}]
    apart = {"chosen_messages": talk("Q", "A"), "rejected_messages": talk("P", "B")}
    wrong = rows(tmp_path, "t.jsonl", apart, both | {"images": []}, both | {"images": ["a.png", "b.png"]})
    assert list(wrong) == []
    assert [reject.code for reject in wrong.rejects] == ["preference.prompt", "placeholder.count", "placeholder.count"]


# ms-swift


def test_responses_of_ms_swift(tmp_path: Path) -> None:
    talk = said("<image>Q", "A", "R", "B")
    row = {"messages": talk, "images": ["a.png"], "rejected_response": "C", "margin": 0.5, "label": True}
    turns = row | {"rejected_response": [*said("", "C")[1:], *said("S", "D")]}
    records = rows(tmp_path, "t.jsonl", row, turns, {"messages": talk, "images": ["a.png"], "rejected_response": None})
    first, second, third = records
    prompt = [turn("user", IMAGE, "Q"), turn("assistant", "A"), turn("user", "R")]
    assert told(first) == told(pair(prompt, [turn("assistant", "B")], [turn("assistant", "C")], margin=0.5))
    assert first.extra == {"label": True}
    assert second.preference is not None
    assert [one.role for one in second.preference.rejected] == ["assistant", "user", "assistant"]
    assert (third.preference, third.messages[-1]) == (None, turn("assistant", "B"))


def test_other_images_of_the_rejected_side(tmp_path: Path) -> None:
    row = {"messages": said("<image>Q", "A"), "images": ["a.png"], "rejected_images": ["b.png"]}
    whole = row | {"rejected_messages": said("<image>Q", "B<image>"), "rejected_images": ["a.png", "c.png"]}
    first, second = rows(tmp_path, "t.jsonl", row, whole)
    answer = [turn("assistant", "A")]
    asked = [turn("user", IMAGE, "Q")]
    assert told(first) == told(pair(asked, answer, answer, rejected_images=(0,), attachments=(BLUE,)))
    assert told(second) == told(pair(asked, answer, [turn("assistant", "B", IMAGE)], images=(RED, GREEN)))
    other = rows(tmp_path, "t.jsonl", row | {"rejected_messages": said("<image>P", "B")}, row | {"rejected_images": []})
    assert list(other) == []
    assert [reject.code for reject in other.rejects] == ["preference.prompt", "placeholder.count"]


# OpenAI, RLAIF-V and its kin


def test_pairs_of_openai(tmp_path: Path) -> None:
    content = [{"type": "image_url", "image_url": {"url": "a.png"}}, {"type": "text", "text": "Q"}]
    row = {
        "input": {"messages": [{"role": "user", "content": content}], "tools": [{"a": 1}], "parallel_tool_calls": True},
        "preferred_output": said("", "A")[1:],
        "non_preferred_output": said("", "B")[1:],
    }
    records = rows(tmp_path, "t.jsonl", row)
    (record,) = records
    assert records.format == "openai_preference"
    assert told(record) == told(pair([turn("user", IMAGE, "Q")], [turn("assistant", "A")], [turn("assistant", "B")]))
    assert record.extra == {"tools": [{"a": 1}], "parallel_tool_calls": True}


def test_questions_with_two_replies_about_images(tmp_path: Path) -> None:
    base = {"question": "What?", "chosen": "Red.", "rejected": "Blue."}
    packed = {"text": json.dumps(base), "image": "a.png", "idx": 7}
    marked = base | {"question": "<image>\nand <image>\nWhat?", "image": ["a.png", "b.png"]}
    for name, row in (("v.jsonl", base | {"image": "a.png", "idx": 7}), ("h.jsonl", packed)):
        records = rows(tmp_path, name, row)
        (record,) = records
        assert (records.format, record.sample) == ("rlaif_v", "7")
        want = pair([turn("user", IMAGE, "What?")], [turn("assistant", "Red.")], [turn("assistant", "Blue.")])
        assert told(record) == told(want)
    (mmpr,) = rows(tmp_path, "m.jsonl", marked)
    assert mmpr.messages == (turn("user", IMAGE, "and ", IMAGE, "What?"),)
    (blind,) = rows(tmp_path, "b.jsonl", base)
    assert (blind.messages, blind.images) == ((turn("user", "What?"),), ())


# Back


FORMATS = {
    "trl": ("t.parquet", "t.jsonl", "t.json"),
    "sharegpt": ("t.json", "t.jsonl"),
    "ms_swift": ("t.jsonl",),
    "openai_preference": ("t.jsonl",),
    "alpaca_preference": ("t.json", "t.jsonl"),
    "rlaif_v": ("t.jsonl", "t.json", "t.parquet"),
}
PLACES = [(name, file) for name, files in FORMATS.items() for file in files]


def back(record: Record, format: str, file: str, folder: Path) -> tuple[Record | None, list[tuple[str, bool]]]:
    losses = [(loss.field, loss.left_out) for loss in write([record], Target(folder / file), format)]
    if any(left_out for _, left_out in losses):
        return None, losses
    (again,) = read(folder / file, format)
    return again, losses


@pytest.mark.parametrize(("format", "file"), PLACES)
def test_a_pair_comes_back(format: str, file: str, tmp_path: Path) -> None:
    # RLAIF-V's form has no place for a system turn.
    record = replace(PLAIN, messages=PLAIN.messages[1:]) if format == "rlaif_v" else PLAIN
    again, losses = back(record, format, file, tmp_path)
    assert again is not None
    assert (told(again), losses) == (told(record), [])
    assert guess(tmp_path / file)[0] == format


@pytest.mark.parametrize(("format", "file"), PLACES)
def test_what_no_trainer_of_a_format_takes_is_left_out_by_name(format: str, file: str, tmp_path: Path) -> None:
    answer, other = [turn("assistant", "A")], [turn("assistant", "B")]
    shown = pair([ASKED], [turn("assistant", IMAGE)], other, images=(RED, BLUE))
    seen = pair([ASKED], answer, other, rejected_images=(0,), attachments=(BLUE,))
    long = pair([ASKED], answer, [*other, turn("user", "R"), *other])
    for record in (shown, seen, long):
        again, losses = back(record, format, file, tmp_path)
        if format == "ms_swift":
            assert again is not None
            assert (told(again), losses) == (told(record), [])
        else:
            assert again is None
            assert [left_out for _, left_out in losses] == [True]
    again, losses = back(pair([ASKED], answer, answer), format, file, tmp_path)
    assert losses == ([("preference", False)] if format == "ms_swift" else [("preference", True)])


def test_scores_are_kept_or_named(tmp_path: Path) -> None:
    scored = pair([ASKED], [turn("assistant", "A")], [turn("assistant", "B")], margin=1.5, score_chosen=4.0)
    for format, file in PLACES:
        again, losses = back(scored, format, file, tmp_path)
        assert again is not None
        assert again.preference is not None
        kept = format in ("trl", "ms_swift")
        assert (again.preference.margin, again.preference.score_chosen) == ((1.5, 4.0) if kept else (None, None))
        assert losses == ([] if format == "ms_swift" else [("margin", False), ("score_chosen", False)])


def test_turns_that_both_sides_begin_with_become_the_prompt(tmp_path: Path) -> None:
    start = [turn("assistant", "Hm."), turn("user", "Well?")]
    record = pair([ASKED], [*start, turn("assistant", "A")], [*start, turn("assistant", "B")])
    again, _ = back(record, "trl", "t.jsonl", tmp_path)
    assert again is not None
    want = pair([ASKED, *start], [turn("assistant", "A")], [turn("assistant", "B")])
    assert told(again) == told(want)


@pytest.mark.parametrize("format", ["trl", "sharegpt"])
def test_a_file_holds_pairs_or_conversations(format: str, tmp_path: Path) -> None:
    talk = replace(PLAIN, id="2", messages=(*PLAIN.messages, turn("assistant", "Red.")), preference=None)
    losses = write([replace(PLAIN, id="1"), talk], Target(tmp_path / "t.json"), format)
    assert [(loss.id, loss.field, loss.left_out) for loss in losses] == [("2", "preference", True)]
    losses = write([talk, replace(PLAIN, id="1")], Target(tmp_path / "u.json"), format)
    assert [(loss.id, loss.field, loss.left_out) for loss in losses] == [("1", "preference", False)]
    assert json.loads((tmp_path / "u.json").read_text())[1]["messages"][-1]["role"] == "assistant"


def test_the_list_of_llama_factory_says_that_a_file_is_a_ranking(tmp_path: Path) -> None:
    write([PLAIN], Target(tmp_path / "t.json", columns="conversations"), "sharegpt")
    entry = json.loads((tmp_path / "dataset_info.json").read_text())["t"]
    assert entry["ranking"] is True
    assert entry["columns"] == {
        "messages": "conversations",
        "chosen": "chosen",
        "rejected": "rejected",
        "images": "images",
    }
    (row,) = json.loads((tmp_path / "t.json").read_text())
    assert row["chosen"] == {"from": "gpt", "value": "Red."}
    assert row["conversations"][-1]["from"] == "human"


def test_alpacas_pairs_keep_the_turns_before_and_are_listed_as_a_ranking(tmp_path: Path) -> None:
    start = [turn("system", "Be brief."), turn("user", "Hm?"), turn("assistant", "Yes?"), ASKED]
    record = pair(start, [turn("assistant", "A")], [turn("assistant", "B")])
    again, losses = back(record, "alpaca_preference", "t.json", tmp_path)
    assert again is not None
    assert (told(again), losses) == (told(record), [])
    entry = json.loads((tmp_path / "dataset_info.json").read_text())["t"]
    assert (entry["ranking"], entry["columns"]["chosen"], entry["columns"]["history"]) == (True, "chosen", "history")
    (source,) = plan_inputs([str(tmp_path)])
    (listed,) = Records(source, ReadOptions())
    assert told(listed) == told(record)


def test_a_pair_behind_other_turns_has_no_place_as_one_question(tmp_path: Path) -> None:
    start = [turn("user", "Hm?"), turn("assistant", "Yes?"), ASKED]
    again, losses = back(pair(start, [turn("assistant", "A")], [turn("assistant", "B")]), "rlaif_v", "t.json", tmp_path)
    assert (again, losses) == (None, [("messages", True)])
    again, losses = back(PLAIN, "rlaif_v", "t.json", tmp_path)
    assert again is not None
    assert (len(again.messages), losses) == (1, [("messages", False)])


def test_a_format_without_pairs_gets_the_chosen_response(tmp_path: Path) -> None:
    losses = write([replace(PLAIN, images=(RED,))], Target(tmp_path / "t.json"), "llava")
    assert ("preference", False) in [(loss.field, loss.left_out) for loss in losses]
    (row,) = json.loads((tmp_path / "t.json").read_text())
    assert [message["value"] for message in row["conversations"]][-1] == "Red."


# Through the whole


def test_a_file_of_pairs_is_converted_and_told(tmp_path: Path) -> None:
    data = [{"prompt": f"Q{n}", "chosen": "A", "rejected": "B"} for n in range(3)]
    rows(tmp_path, "t.jsonl", *data)
    done = mmconvert.convert(tmp_path / "t.jsonl", tmp_path / "eval")
    assert done.warnings == ["3 rows hold preference pairs: --view preference lays them out for DPOTrainer"]
    done = mmconvert.convert(tmp_path / "t.jsonl", tmp_path / "sft", view="sft")
    (remark,) = done.warnings
    assert remark.startswith("3 rows hold preference pairs, of which --view sft keeps only the chosen response:")
    assert mmconvert.convert(tmp_path / "t.jsonl", tmp_path / "pairs", view="preference").warnings == []
    original = list(mmconvert.open_dataset(tmp_path / "eval").records())
    assert list(mmconvert.open_dataset(tmp_path / "pairs").records()) == original
    again = mmconvert.convert(tmp_path / "pairs", tmp_path / "again")
    assert (again.rows_written, list(mmconvert.open_dataset(tmp_path / "again").records())) == (3, original)


def test_a_transform_and_a_prompt_change_the_prompt_alone(tmp_path: Path) -> None:
    side = [{"role": "assistant", "content": [{"type": "image"}]}]
    asked = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Q"}]}]
    row = {"images": ["a.png", "b.png", "c.png"], "prompt": asked, "chosen": side, "rejected": side}
    rows(tmp_path, "t.jsonl", row)
    options = {"transform": ["pad_square"], "prompt_suffix": " Why?"}
    mmconvert.convert(tmp_path / "t.jsonl", tmp_path / "out", **options)
    (record,) = mmconvert.open_dataset(tmp_path / "out").records()
    assert record.messages == (turn("user", IMAGE, "Q Why?"),)
    assert [image.sha256 for image in record.images][1:] == [BLUE.sha256, GREEN.sha256]
    assert len(record.images) == sum(part.type == "image" for one in list_turns(record) for part in one.content)
    assert record.preference is not None


def test_a_transform_does_not_follow_other_images_of_the_rejected_side(tmp_path: Path) -> None:
    row = {"messages": said("<image>Q", "A"), "images": ["a.png"], "rejected_images": ["b.png"]}
    records = rows(tmp_path, "t.jsonl", row)
    assert len(list(records)) == 1
    changed = read(tmp_path / "t.jsonl", "ms_swift", transforms=("pad_square",))
    assert list(changed) == []
    assert changed.rejects[0].code == "preference.images"


def test_a_response_that_begins_with_the_user_is_no_response() -> None:
    with pytest.raises(RowError, match="the response has 1 turns, of which"):
        split_pair(pair([ASKED], [turn("user", "A")], [turn("assistant", "B")]))
