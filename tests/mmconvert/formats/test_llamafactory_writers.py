"""LLaMA-Factory's forms of version 1, written: what comes back, and what is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mmconvert.core.record import Image, Part, Preference, Record, Turn
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Target
from mmconvert.testing.values import ANSWERED, CHOICE, PAIRED, SHOWN, USER
from support.terminal import mmconvert

SAID = Turn("assistant", (Part("text", "<think>\nR\n</think>\n\n"), Part("text", "A <image>.")))


def back(record: Record, path: Path, name: str, **options: Any) -> tuple[list[str], list[Record]]:
    losses = write([record], Target(path), name)
    return [f"{loss.field}: {loss.message}" for loss in losses if not loss.remark], list(read(path, name, **options))


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_conversations_come_back(suffix: str, tmp_path: Path) -> None:
    system = Turn("system", (Part("text", "S"),))
    extra = {"messages_extra": [{"loss_weight": 0.5}, {}, {}], "tools": "[]"}
    record = replace(ANSWERED, messages=(system, USER, SAID), task="chat", answer=None, answers=(), extra=extra)
    losses, (found,) = back(replace(record, prediction=None), tmp_path / f"t{suffix}", "llamafactory_v1")
    assert guess(tmp_path / f"t{suffix}")[0] == "llamafactory_v1"
    assert (losses, found.messages, found.extra) == ([], record.messages, extra)
    assert [image.bytes for image in found.images] == [SHOWN.bytes]
    written = json.loads((tmp_path / f"t{suffix}").read_text().strip("[]\n"))["messages"][1]["content"]
    assert written[0]["type"] == "image_url"
    assert (tmp_path / written[0]["value"]).read_bytes() == SHOWN.bytes


def test_an_answer_becomes_the_assistants_turn(tmp_path: Path) -> None:
    _, (found,) = back(CHOICE, tmp_path / "t.jsonl", "llamafactory_v1")
    assert found.messages == (USER, Turn("assistant", (Part("text", "B. cat"),)))


def test_an_empty_turn_and_an_address_are_written(tmp_path: Path) -> None:
    url = "https://pictures.example/x.png"
    turns = (Turn("user", (Part("image"),)), Turn("assistant", ()))
    record = replace(ANSWERED, messages=turns, images=(Image(None, 1, url=url),), answer=None, answers=(), label=None)
    losses, (found,) = back(replace(record, prediction=None), tmp_path / "t.jsonl", "llamafactory_v1", keep_urls=True)
    assert (losses, found.images[0].url) == ([], url)
    assert found.messages == (turns[0], Turn("assistant", (Part("text", ""),)))


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_pairs_come_back(suffix: str, tmp_path: Path) -> None:
    user = Turn("user", (Part("text", "See <image>: "), Part("image"), Part("text", "What?")))
    rejected = Turn("assistant", (Part("text", "Nothing."),))
    extra = {"messages_extra": [{"loss_weight": 0.0}], "chosen_extra": [{"loss_weight": 1.0}], "channel": "x"}
    record = replace(PAIRED, messages=(user,), preference=Preference((SAID,), (rejected,)), extra=extra)
    losses, (found,) = back(record, tmp_path / f"t{suffix}", "llamafactory_pair")
    assert guess(tmp_path / f"t{suffix}")[0] == "llamafactory_pair"
    assert (losses, found.messages, found.extra) == ([], (user,), extra)
    assert found.preference == record.preference
    assert [image.bytes for image in found.images] == [SHOWN.bytes]


def test_turns_that_both_sides_begin_with_are_the_prompts(tmp_path: Path) -> None:
    pair = PAIRED.preference
    assert pair is not None
    more = Turn("user", (Part("text", "And now?"),))
    sides = [(SAID, more, *side) for side in (pair.chosen, pair.rejected)]
    extra = {"chosen_extra": [{"loss_weight": 1.0}, {}, {"loss_weight": 0.5}]}
    record = replace(PAIRED, preference=Preference(*sides), extra=extra)
    losses, (found,) = back(record, tmp_path / "t.jsonl", "llamafactory_pair")
    assert (losses, found.messages, found.preference) == ([], (USER, SAID, more), pair)
    weights = {"messages_extra": [{}, {"loss_weight": 1.0}, {}], "chosen_extra": [{"loss_weight": 0.5}]}
    assert found.extra == weights


def test_what_pairs_cannot_hold_is_named(tmp_path: Path) -> None:
    pair = PAIRED.preference
    assert pair is not None
    scored = replace(PAIRED, preference=replace(pair, margin=0.5))
    losses, _ = back(scored, tmp_path / "a.jsonl", "llamafactory_pair")
    assert losses == ["margin: the format has no field for it"]
    for odd in (
        replace(PAIRED, preference=replace(pair, rejected=pair.chosen)),
        replace(PAIRED, preference=replace(pair, chosen=(Turn("assistant", (Part("image"),)),)), images=(SHOWN, SHOWN)),
        replace(PAIRED, attachments=(SHOWN,), preference=replace(pair, rejected_images=(0,))),
        CHOICE,
    ):
        losses = write([odd, PAIRED], Target(tmp_path / "b.jsonl"), "llamafactory_pair")
        assert [loss.left_out for loss in losses if loss.left_out] == [True]
        assert len(list(read(tmp_path / "b.jsonl", "llamafactory_pair"))) == 1


def test_export_writes_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = Path(__file__).resolve().parents[3] / "src/mmconvert/testing/demo/files"
    monkeypatch.chdir(tmp_path)
    for source, name in (("llamafactory_v1/train.jsonl", "v1"), ("llamafactory_pair/pairs.jsonl", "pair")):
        assert mmconvert("convert", files / source, "-o", name, "--quiet").code == 0
        done = mmconvert("export", name, "-o", f"{name}_out/t.jsonl", "--to", f"llamafactory_{name}")
        assert done.code == 0, done.err
        assert mmconvert("convert", f"{name}_out/t.jsonl", "-o", f"{name}2", "--quiet").code == 0
