"""Tokens counted from texts and sizes are those that processors make of the images themselves."""

import copy
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import mmconvert
from mmconvert.core.record import Image, Part, Preference, Record, Source, Turn
from mmconvert.curation.stats import TokenCounts
from mmconvert.curation.token_counts import TokenCounter, open_token_counter
from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.images.loader import ImageLoader
from support.records import image_bytes
from support.tiny_models import save_llava
from support.tiny_processors import PROCESSORS

pytestmark = pytest.mark.slow

SIZES = ((40, 30), (30, 40), (64, 64), (200, 20), (33, 90))


@pytest.fixture(scope="module", params=PROCESSORS)
def processor(request: pytest.FixtureRequest) -> Any:
    return PROCESSORS[request.param]()


def text(said: str) -> Part:
    return Part("text", said)


def build_records() -> list[Record]:
    """Texts alone, images of several sizes, several turns, a question without its answer, a preference pair."""
    pictures = [ImageLoader(()).of_bytes(image_bytes("PNG", n, size), 1) for n, size in enumerate(SIZES)]
    answer = Turn("assistant", (text("A cat."),))
    talks: list[tuple[tuple[Turn, ...], tuple[Image, ...]]] = [
        ((Turn("user", (text("One 😀 two 蓝色的天空"),)), answer), ()),
        ((Turn("system", (text("Be brief."),)), Turn("user", (text("Why?"),))), ()),
        *(((Turn("user", (Part("image"), text("What?"))), answer), (one,)) for one in pictures),
        ((Turn("user", (Part("image"), text("or"), Part("image"), text("?"))), answer), tuple(pictures[:2])),
    ]
    records = [
        Record(str(n), str(n), turns, "chat", Source("f", "f", n), images=images)
        for n, (turns, images) in enumerate(talks)
    ]
    sides = (answer,), (Turn("assistant", (text("A dog, I would say, if it is not a very large cat."),)),)
    asked = (Turn("user", (Part("image"), text("What?"))),)
    pair = Record("p", "p", asked, "chat", Source("f", "f", 99), images=(pictures[0],), preference=Preference(*sides))
    return [*records, pair]


def count_really(loaded: Any, record: Record) -> int:
    """Have the processor make the tensors of a record, images decoded."""
    from PIL.Image import open as decode

    sides = [()] if record.preference is None else [record.preference.chosen, record.preference.rejected]
    found = []
    for side in sides:
        images = iter(record.images)
        turns = (*record.messages, *side)
        talk = [
            {"role": turn.role, "content": [
                {"type": "image", "image": decode(BytesIO(next(images).bytes or b"")).convert("RGB")}
                if part.type == "image" else {"type": "text", "text": part.text} for part in turn.content
            ]} for turn in turns
        ]  # fmt: skip
        tensors = loaded.apply_chat_template(
            [talk], tokenize=True, return_dict=True, add_generation_prompt=turns[-1].role == "user"
        )
        found.append(len(tensors["input_ids"][0]))
    return max(found)


def write_records(folder: Path) -> list[Record]:
    records = build_records()
    with DatasetWriter(folder) as writer:
        writer.write(records)
    return records


def require_equal(found: TokenCounts | None, wanted: list[int], context: int) -> None:
    assert found is not None
    spread = found.sample
    assert (spread.count, spread.total, spread.min, spread.max) == (len(wanted), sum(wanted), min(wanted), max(wanted))
    assert (found.context, found.above_context) == (context, sum(tokens > context for tokens in wanted))


def test_tokens_are_those_that_the_processor_makes(processor, tmp_path, monkeypatch):
    records = write_records(tmp_path / "d")
    wanted = [count_really(processor, record) for record in records]
    counter = TokenCounter("tiny", processor)
    for module in ("count_part", "stats"):
        monkeypatch.setattr(f"mmconvert.curation.{module}.open_token_counter", lambda _: counter)
    context = sorted(wanted)[4]
    found = mmconvert.stats(tmp_path / "d", processor="tiny", context=context, workers=1)
    require_equal(found.tokens, wanted, context)
    assert found.tokens.image.count == found.images


def test_a_processor_is_loaded_from_its_folder_by_every_worker(tmp_path, monkeypatch):
    from transformers import AutoProcessor

    records = write_records(tmp_path / "d")
    folder = str(save_llava(tmp_path / "llava"))
    wanted = [count_really(AutoProcessor.from_pretrained(folder), record) for record in records]
    found = mmconvert.stats(tmp_path / "d", processor=folder, context=20, workers=2)
    require_equal(found.tokens, wanted, 20)
    assert mmconvert.stats(tmp_path / "d", processor=folder, context=20, workers=1) == found


def test_a_processor_that_does_not_say_it_is_asked_with_a_blank_image(processor):
    class Silent:
        """The same processor without the method."""

        image_processor, tokenizer, image_token = processor.image_processor, processor.tokenizer, processor.image_token

        def __call__(self, **inputs: Any) -> Any:
            return processor(**inputs)

    sizes, ends = [width << 32 | height for width, height in SIZES], [0]
    said = TokenCounter("said", processor).count_tokens([], sizes, ends, "f").image.tolist()
    assert TokenCounter("tried", Silent()).count_tokens([], sizes, ends, "f").image.tolist() == said


def test_what_cannot_count_tokens_is_said(tmp_path, processor):
    with pytest.raises(mmconvert.UsageError, match=r"processor .*nowhere: cannot be loaded .* Name a folder"):
        open_token_counter(str(tmp_path / "nowhere"))
    row = {"id": "7", "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}
    strict = copy.copy(processor)
    strict.chat_template = "{{ raise_exception('no system turns') }}"
    with pytest.raises(mmconvert.Error, match=r"f: row 3 \+ 0, id '7': the chat template of mine .*no system turns"):
        TokenCounter("mine", strict).count_tokens([row], [], [0, 0], "f: row 3")
    with pytest.raises(mmconvert.Error, match=r"words: takes no images\. .* vision-language model"):
        TokenCounter("words", processor.tokenizer).count_tokens([], [4 << 32 | 3], [0], "f: row 3")
