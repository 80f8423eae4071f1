"""Whatever a row of a kit's results holds, it is read or refused, never a crash."""

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

WORDS = st.sampled_from(
    ["", "A", "b", "yes", "nan", "['a', 'b']", "['<ImageHere>?', 'So?']", "<image 1>?", "1000007", "7", "user", "text",
     "Is there a cat in the image?", "is one of A,B.\n\nA) x\nB) y", "\nA. x\nB. y", "[", "gone.png"]
)  # fmt: skip
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 9),
    st.just(10**30),
    WORDS,
    st.floats(allow_nan=False, allow_infinity=False),
)
KEYS = st.sampled_from(
    ["role", "content", "type", "text", "image", "reasoning", "choices", "message", "score", "prediction", "group_id",
     "question", "question_id", "category", "A", "B", "doc_id", "answer", "bytes", "path"]
)  # fmt: skip
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "robot"])}, optional={"content": st.one_of(WORDS, VALUES)}
    ),
    max_size=3,
)
IMAGE = st.just({"bytes": image_bytes("PNG"), "path": None})
FIELDS = {
    "vlmevalkit_predictions": ["index", "question", "A", "B", "answer", "hint", "g_index", "image_path", "prediction"],
    "evalscope_predictions": ["index", "model", "model_output", "messages", "metadata"],
    "evalscope_reviews": ["index", "target", "messages", "input", "sample_score"],
    "lmms_eval_samples": ["doc_id", "target", "filtered_resps", "resps", "input", "doc", "mme_score"],
    "mmmu_pro_outputs": ["id", "question", "options", "answer", "subject", "response"],
    "pope": ["question", "answer", "text", "label", "image", "question_id"],
    "hub_vqa": ["index", "id", "question_id", "question", "hint", "A", "B", "answer", "answers", "image", "images",
                "category", "type", "image_source", "split"],
    "mmmu": ["id", "question", "options", "answer", "image", "images", "image_1", "image_2", "subject"],
}  # fmt: skip
SPECIAL = {
    "messages": st.one_of(MESSAGES, VALUES),
    "model_output": st.one_of(
        st.fixed_dictionaries({"choices": st.lists(st.fixed_dictionaries({"message": VALUES}), max_size=2)}), VALUES
    ),
    "sample_score": st.one_of(st.fixed_dictionaries({"score": VALUES, "group_id": LEAVES}), VALUES),
}
CELLS = st.one_of(IMAGE, st.lists(IMAGE, max_size=2), VALUES)
"""What a column of images may hold in parquet; JSON holds no bytes."""

NAMES = (
    "t.json",
    "m_MMBench_DEV_EN.json",
    "m_MME.json",
    "general_vmcq_t.jsonl",
    "x_samples_mme.jsonl",
    "m_vision_cot.jsonl",
)


def rows(name: str) -> st.SearchStrategy[dict[str, Any]]:
    parquet = load("mmconvert.formats", name).suffixes == (".parquet",)
    images = dict.fromkeys(("image", "images", "image_1", "image_2"), CELLS) if parquet else {}
    values = st.one_of(VALUES, st.floats(), st.lists(st.floats())) if parquet else VALUES
    return st.fixed_dictionaries({}, optional={f: {**SPECIAL, **images}.get(f, values) for f in FIELDS[name]})


@pytest.mark.parametrize("name", FIELDS)
@given(data=st.data(), file=st.sampled_from(NAMES))
def test_any_row_is_read_or_refused(name: str, data: st.DataObject, file: str) -> None:
    plugin: Format = load("mmconvert.formats", name)
    row = data.draw(rows(name))
    with contextlib.suppress(RowError):
        records = list(plugin.records(Row(row, Where(file, 0)), Context(ImageLoader(()), name)))
        to_arrow(records)
        for record in records:
            shown = [part for turn in record.messages for part in turn.content if part.type == "image"]
            assert len(shown) == len(record.images)


@given(data=st.data(), suffix=st.sampled_from([".xlsx", ".tsv", ".json", ".jsonl", ".parquet"]))
def test_any_head_of_a_file_is_taken_or_refused(data: st.DataObject, suffix: str) -> None:
    found = data.draw(st.lists(st.one_of(*map(rows, FIELDS)), max_size=2))
    head = Sample(Path(f"t{suffix}"), suffix, tuple(dict.fromkeys(key for row in found for key in row)), tuple(found))
    for name in FIELDS:
        reason = load("mmconvert.formats", name).mismatch(head)
        assert reason is None or len(reason) > 6
