"""Whatever a row of training data holds, it is read or refused, never a crash."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import RowError
from mmconvert.core.record import to_arrow
from mmconvert.core.rows import Row, Where
from mmconvert.images.loader import ImageLoader
from mmconvert.plugins.format import Context, Format, Sample
from mmconvert.plugins.registry import load
from support.records import image_bytes

pytestmark = pytest.mark.slow

FORMATS = ["trl", "llava", "qwen_vl", "sharegpt", "ms_swift", "openai_finetune", "cauldron", "finevision"]

WORDS = st.sampled_from(
    ["<image>", "<img>a.png</img>", "Picture 1: <img>a.png</img>\n", "text", "a.png", "user", "human", "gpt",
     "assistant", "system", "tool", "image", "image_url", "", "<video>"]
)  # fmt: skip
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 9), WORDS, st.just(image_bytes("PNG")), st.floats(allow_nan=False)
)
KEYS = st.sampled_from(
    ["messages", "conversations", "images", "image", "prompt", "completion", "texts", "role", "content", "from",
     "value", "type", "text", "image_url", "url", "user", "assistant", "source", "bytes", "path", "system", "id",
     "videos", "relevance_ratings", "relevance_min", "extra"]
)  # fmt: skip
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": st.one_of(WORDS, VALUES), "content": st.one_of(WORDS, VALUES), "from": WORDS, "value": WORDS,
        "user": WORDS, "assistant": WORDS, "source": VALUES,
    },
)  # fmt: skip
DIALOG = st.one_of(st.lists(MESSAGE, min_size=1, max_size=3), VALUES)
ROWS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(["messages", "conversations", "prompt", "completion", "texts"], DIALOG),
        **dict.fromkeys(["images", "image", "system", "id", "videos", "relevance_ratings", "note"], VALUES),
    },
)


@given(row=ROWS)
def test_any_row_is_read_or_refused(row: dict[str, Any]) -> None:
    for name in FORMATS:
        plugin: Format = load("mmconvert.formats", name)
        with contextlib.suppress(RowError):
            records = list(plugin.records(Row(row, Where("t", 0)), Context(ImageLoader(()), name)))
            to_arrow(records)
            for record in records:
                shown = [part for turn in record.messages for part in turn.content if part.type == "image"]
                assert len(shown) == len(record.images)


@given(rows=st.lists(ROWS, max_size=2), suffix=st.sampled_from([".json", ".jsonl", ".parquet"]))
def test_any_head_of_a_file_is_taken_or_refused(rows: list[dict[str, Any]], suffix: str) -> None:
    head = Sample(Path(f"t{suffix}"), suffix, tuple(dict.fromkeys(key for row in rows for key in row)), tuple(rows))
    for name in FORMATS:
        reason = load("mmconvert.formats", name).mismatch(head)
        assert reason is None or len(reason) > 10
