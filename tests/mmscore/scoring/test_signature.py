import platform
from importlib import metadata

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmscore.scoring.signature
from mmconvert.core.record import PREDICTION_SCHEMA
from mmscore.scoring.signature import LIBRARIES, Fingerprint, list_versions

NAMES = ("id", "answer", "options", "variant", "messages", "image_info", "prediction", "extra")
SCHEMA = pa.schema([PREDICTION_SCHEMA.field(name) for name in NAMES])

texts = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
turns = st.lists(
    st.fixed_dictionaries(
        {"role": texts, "content": st.lists(st.fixed_dictionaries({"type": texts, "text": texts}), max_size=2)}
    ),
    max_size=2,
)
rows = st.fixed_dictionaries(
    {
        "id": texts,
        "answer": texts,
        "options": st.none() | st.lists(texts, max_size=3),
        "variant": st.none() | st.integers(0, 9),
        "messages": st.none() | turns,
        "image_info": st.none() | st.lists(st.none() | st.fixed_dictionaries({"sha256": texts}), max_size=2),
        "prediction": texts,
        "extra": texts,
    }
)


def _digests(*batches, read=("answer", "options", "variant", "prediction", "extra")):
    fingerprint = Fingerprint(read, SCHEMA.names)
    for batch in batches:
        fingerprint.add(pa.RecordBatch.from_pylist(batch, SCHEMA) if isinstance(batch, list) else batch)
    return fingerprint.digests()


@given(st.lists(rows, max_size=6).flatmap(lambda r: st.tuples(st.just(r), st.permutations(r), st.integers(0, 6))))
def test_neither_the_order_of_rows_nor_the_batches_they_come_in_make_a_difference(drawn):
    first, second, cut = drawn
    whole = pa.RecordBatch.from_pylist(second, SCHEMA)
    assert _digests(first) == _digests(second[:cut], second[cut:]) == _digests(whole.slice(0, cut), whole.slice(cut))


@pytest.mark.slow
@given(st.lists(rows, min_size=1, max_size=3), st.sampled_from(["id", "answer", "options", "variant"]))
def test_every_cell_that_the_recipe_reads_counts(given_rows, name):
    other = {"id": "other", "answer": "other", "options": ["other"], "variant": 99}[name]
    before, after = _digests(given_rows), _digests([{**given_rows[0], name: other}, *given_rows[1:]])
    assert before["prompt"] == after["prompt"]
    assert before["data"] != after["data"]


@given(st.lists(rows, min_size=1, max_size=3), texts, texts)
def test_what_a_model_said_and_what_a_kit_left_beside_it_do_not_count(given_rows, prediction, extra):
    changed = [{**row, "prediction": prediction, "extra": extra} for row in given_rows]
    assert _digests(given_rows) == _digests(changed)


def test_turns_and_images_stand_in_the_digest_of_the_prompts():
    def row(text, digest):
        turn = {"role": "user", "content": [{"type": "image", "text": ""}, {"type": "text", "text": text}]}
        return {"id": "1", "messages": [turn], "image_info": [{"sha256": digest}]}

    found = [_digests([row(*values)]) for values in (("a", "1"), ("b", "1"), ("a", "2"))]
    assert len({digests["prompt"] for digests in found}) == 3
    assert len({digests["data"] for digests in found}) == 1


def test_rows_count_as_often_as_they_stand_there():
    row = {"id": "1", "answer": "A"}
    assert len({_digests([row] * count)["data"] for count in range(4)}) == 4


def test_prompts_are_left_out_where_the_file_has_none():
    fingerprint = Fingerprint(["answer"], ["id", "answer", "prediction", "image_info"])
    assert fingerprint.columns == {"id", "answer"}
    assert fingerprint.digests().keys() == {"data"}


def test_a_batch_that_is_too_large_to_join_is_joined_in_pieces(monkeypatch):
    batch = [{"id": str(number), "answer": "A" * 100} for number in range(9)]
    whole = _digests(batch)
    monkeypatch.setattr(mmscore.scoring.signature, "_SLICE", 200)
    assert _digests(batch) == whole


def test_the_releases_at_work_are_named():
    versions = list_versions()
    assert list(versions)[:2] == ["mmscore", "python"]
    assert versions["python"] == platform.python_version()
    assert versions.keys() - {"mmscore", "python"} <= {*LIBRARIES}
    assert all(metadata.version(name) == versions[name] for name in versions.keys() - {"python", "mmscore"})
