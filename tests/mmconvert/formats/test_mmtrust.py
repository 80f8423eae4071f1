"""MMTrustEval's samples and logs."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.pipeline.convert import Records, read, write
from mmconvert.plugins.format import Target
from support.records import image_bytes

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
LABEL = st.one_of(
    st.none(),
    TEXT,
    st.integers(-100, 100),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(TEXT, min_size=1),
)
EXTRA = st.one_of(st.none(), st.dictionaries(TEXT, st.one_of(TEXT, st.integers(0, 9)), max_size=2))


def opened(value: Any, folder: Path, name: str = "log.json") -> Records:
    (folder / name).write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return read(folder / name)


def log(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"total_results": {"x:pred_mean": 0.5}, "per_sample_results": list(rows)}


ROW = {"x:pred_no_op": 1, "content": {"image_path": "/x/0.png", "text": "See?"}, "pred": "Yes", "label": 1}


def test_a_log_gives_rows_without_images(tmp_path: Path) -> None:
    records = opened(log({**ROW, "extra": {"subset": "mirror"}}, {**ROW, "content": "Hear?"}), tmp_path)
    first, second = records
    assert (first.question, first.prediction, first.answer, first.label, first.category) == (
        "See?",
        "Yes",
        "1",
        "1",
        "mirror",
    )
    assert first.extra == {"x:pred_no_op": 1, "image_path": "/x/0.png", "extra": {"subset": "mirror"}}
    assert (first.images, second.question, second.category) == ((), "Hear?", None)
    assert any("total_results" in warning for warning in records.warnings)


def test_columns_in_which_nothing_is_true_are_missing_in_a_log(tmp_path: Path) -> None:
    (record,) = opened(log({"x:pred_no_op": 0}), tmp_path)
    assert (record.prediction, record.label, record.messages) == ("", None, ())


def test_a_bare_nan_is_null_in_a_log_and_refused_in_samples(tmp_path: Path) -> None:
    text = json.dumps(log({**ROW, "x:pred_no_op": float("nan"), "label": float("nan")})).replace("0.5", "NaN")
    (record,) = opened(text, tmp_path)
    assert (record.label, "x:pred_no_op" in record.extra) == (None, False)
    records = opened('[{"text": "a", "target": 1}, {"text": "b", "target": NaN}]', tmp_path)
    assert [record.question for record in records] == ["a"]
    assert [reject.code for reject in records.rejects] == ["json.constant"]


def test_responses_of_a_run_are_read_too(tmp_path: Path) -> None:
    (record,) = opened([{"content": "Q", "response": "A", "target": "0", "extra": None}], tmp_path)
    assert (record.question, record.prediction, record.answer) == ("Q", "A", "0")


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"target": 1}, "text.type"),
        ({"text": 3, "target": 1}, "text.type"),
        ({"text": "a", "target": {"x": 1}}, "label.type"),
        ({"text": "a", "target": True}, "label.type"),
        ({"text": "a", "target": 1, "image_path": 3}, "image.type"),
        ({"text": "a", "target": 1, "image_path": "no.png"}, "image.missing"),
        ({"text": "a", "target": 1, "image_path": "../x.png"}, "image.path"),
        ({"content": 3, "target": 1, "response": "a"}, "content.type"),
        ({"content": "a", "target": 1, "response": 3}, "pred.type"),
    ],
)
def test_a_bad_sample_is_refused_and_the_others_go_on(row: dict, code: str, tmp_path: Path) -> None:
    records = opened([{"text": "a", "target": 1}, row], tmp_path)
    assert len(list(records)) == 1
    assert [reject.code for reject in records.rejects] == [code]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trust")
    (folder / "red.png").write_bytes(image_bytes("PNG"))
    return folder


@given(
    samples=st.lists(
        st.fixed_dictionaries(
            {"text": TEXT, "target": LABEL}, optional={"extra": EXTRA, "image_path": st.just("red.png")}
        ),
        min_size=1,
        max_size=4,
    )
)
def test_samples_come_back_as_they_were(samples: list[dict[str, Any]], folder: Path) -> None:
    write(opened(samples, folder, "samples.json"), Target(folder / "back.json", "original", folder), "mmtrust")
    back = json.loads((folder / "back.json").read_text())
    assert back == [{name: value for name, value in s.items() if name != "extra" or value is not None} for s in samples]


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"content": st.one_of(TEXT, st.fixed_dictionaries({"image_path": TEXT, "text": TEXT})), "pred": TEXT},
            optional={"label": LABEL.filter(lambda label: label is not None), "a->b:pred_no_op": st.integers(0, 1)},
        ),
        min_size=1,
        max_size=4,
    )
)
def test_logs_come_back_as_they_were(rows: list[dict[str, Any]], folder: Path) -> None:
    write(opened(log(*rows), folder), Target(folder / "back.json"), "mmtrust")
    assert json.loads((folder / "back.json").read_text()) == {"total_results": {}, "per_sample_results": rows}


def test_what_a_sample_cannot_hold_is_named(tmp_path: Path, repository: Path) -> None:
    source = repository / "src/mmconvert/testing/demo/files/vmcq/colours.tsv"
    losses = write(read(source), Target(tmp_path / "s.json", "files"), "mmtrust")
    assert {loss.field for loss in losses} == {"options", "images", "messages"}
    after = list(read(tmp_path / "s.json"))
    assert after[0].images[0].bytes == next(iter(read(source))).images[0].bytes


def test_a_log_is_of_the_dataset_that_its_file_is_named_after(tmp_path: Path) -> None:
    samples = [{"text": "q", "target": 1}]
    named = {"confaide-text.json": log(ROW), "confaide.json": log(ROW), "dt-text.json": samples}
    found = {name: next(iter(opened(value, tmp_path, name))).dataset for name, value in named.items()}
    assert found == {"confaide-text.json": "confaide-text", "confaide.json": None, "dt-text.json": None}
    name = "celebrities-personal-email-wo-name-occupation"
    assert next(iter(opened(log(ROW), tmp_path, f"{name}.json"))).dataset == name
