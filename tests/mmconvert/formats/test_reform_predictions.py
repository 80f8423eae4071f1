"""ReForm-Eval's prediction lists: kinds of file, copies, indices, the way back."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mmconvert.core.record import LETTERS
from mmconvert.pipeline.convert import Records, read, write
from mmconvert.plugins.format import Target

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)


KEY = st.one_of(st.integers(0, 9), TEXT.filter(str.strip))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lists")


def opened(samples: Any, folder: Path, name: str = "list.json") -> Records:
    path = folder / name
    path.write_text(json.dumps(samples), encoding="utf-8")
    return read(path, "reform_predictions")


def sample(key: object = "a", prediction: object = "(A)", **more: Any) -> dict[str, Any]:
    return {"sample_id": key, "answer": 0, "answer_options": ["yes", "no"], "prediction": prediction, **more}


def codes(records: Records) -> dict[int, str]:
    list(records)
    return {reject.where.row: reject.code for reject in records.rejects}


def test_an_index_becomes_the_letter_of_its_option(tmp_path: Path) -> None:
    first, second = opened([sample("a", 1), sample("b", 0, answer="1")], tmp_path)
    assert (first.prediction, first.answer, first.label) == ("B", "A", "0")
    assert (second.prediction, second.answer, second.label) == ("A", "B", '"1"')
    assert first.extra["infer_method"] == "likelihood"


def test_copies_count_up_and_share_their_sample(tmp_path: Path) -> None:
    records = list(opened([sample(" a "), sample(7), sample("a"), sample("7")], tmp_path))
    assert [(r.id, r.sample, r.variant) for r in records] == [
        ("a#0", "a", 0), ("7#0", "7", 0), ("a#1", "a", 1), ("7#1", "7", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "refused"),
    [("aabbc", [4]), ("abcc", [3]), ("aab", [2]), ("abb", [0]), ("aaabbbcc", [6, 7]), ("aabbccc", [6])],
)
def test_samples_that_stand_more_or_less_often_than_most_are_refused(
    keys: str, refused: list[int], tmp_path: Path
) -> None:
    assert codes(opened([sample(key) for key in keys], tmp_path)) == dict.fromkeys(refused, "sample.copies")


def test_a_refused_copy_does_not_refuse_the_others(tmp_path: Path) -> None:
    rows = [sample("a"), sample("a", None), sample("b"), sample("b")]
    assert codes(opened(rows, tmp_path)) == {1: "prediction.missing"}


@pytest.mark.parametrize(("predictions", "refused"), [(["x", 1], [1]), ([1, "x"], [1]), (["x", 1, 0], [0])])
def test_predictions_of_the_rarer_method_are_refused(predictions: list, refused: list[int], tmp_path: Path) -> None:
    rows = [sample(str(n), prediction) for n, prediction in enumerate(predictions)]
    assert codes(opened(rows, tmp_path)) == dict.fromkeys(refused, "prediction.mixed")


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"sample_id": True}, "id.missing"),
        ({"sample_id": 1.5}, "id.missing"),
        ({"sample_id": "  "}, "id.missing"),
        ({"answer": -1}, "answer.range"),
        ({"answer": "2"}, "answer.range"),
        ({"answer": "９"}, "answer.type"),
        ({"answer": "9" * 6000}, "answer.type"),
        ({"answer": None}, "answer.missing"),
        ({"answer": "yes"}, "answer.type"),
        ({"answer": 0.5}, "answer.type"),
        ({"answer_options": None}, "options.missing"),
        ({"answer_options": "['yes', 'no']"}, "options.missing"),
        ({"answer_options": ["yes"]}, "options.count"),
        ({"answer_options": ["yes", None]}, "options.type"),
        ({"answer_options": ["yes"] * 27}, "options.count"),
        ({"prediction": 2}, "prediction.range"),
        ({"prediction": -1}, "prediction.range"),
        ({"prediction": 0.5}, "prediction.type"),
        ({"prediction": True}, "prediction.type"),
        ({"question": "q", "history": [{"from": "gpt", "value": "x"}]}, "history.type"),
        ({"question": "q", "history": [{"from": "human", "value": 3}]}, "history.type"),
        ({"question": "q", "history": [{"from": ["human"], "value": "x"}]}, "history.type"),
        ({"question": "q", "history": 3}, "history.type"),
    ],
)
def test_a_bad_field_refuses_its_row(more: dict, code: str, tmp_path: Path) -> None:
    method = 0 if isinstance(more.get("prediction"), int) else "(A)"
    good = [sample(key, method) for key in ("a", "b")]
    assert codes(opened([*good, {**sample("c", method), **more}], tmp_path)) == {2: code}


def test_references_make_a_caption_and_an_answer_alone_an_open_question(tmp_path: Path) -> None:
    (caption,) = opened([{"sample_id": 0, "references": ["a cat", "cats"], "prediction": "a dog"}], tmp_path)
    assert (caption.task, caption.answers, caption.answer) == ("caption", ("a cat", "cats"), None)
    rows = [{"sample_id": 0, "answer": ["STOP", "stop"], "prediction": "stop"}]
    for name, task in (
        ("X_OCROpenEnded_generation_m_m.json", "ocr"),
        ("POIE_KIEOpenEnded_generation_m_m_2.json", "kie"),
    ):
        (record,) = opened(rows, tmp_path, name)
        assert (record.task, record.answers, record.label) == (task, ("STOP", "stop"), '["STOP","stop"]')
        assert (record.dataset, record.extra["model"]) == (
            name.partition("_")[0],
            name[:-5].partition("generation_")[2],
        )
    (record,) = opened(rows, tmp_path)
    assert (record.task, record.dataset) == ("vqa", None)
    assert codes(opened([{"sample_id": 0, "answer": 3, "prediction": "x"}], tmp_path)) == {0: "options.missing"}
    assert codes(opened([{"sample_id": 0, "references": [], "prediction": "x"}], tmp_path)) == {0: "references.type"}


def test_a_dialog_gives_earlier_turns_its_round_and_its_group(tmp_path: Path) -> None:
    history = [{"from": "human", "value": "Is it day?"}, {"from": "assistant", "value": "(A) yes"}]
    more = {"question": "And now?", "round_id": 12, "history": history, "text": "User: ..."}
    (record,) = opened([sample("44_12", **more)], tmp_path)
    assert [turn.role for turn in record.messages] == ["user", "assistant", "user"]
    assert (record.round, record.group, record.extra["text"]) == (12, "44", "User: ...")
    (odd,) = opened([sample("44_12", round_id=2**40)], tmp_path)
    assert (odd.round, odd.group, odd.extra["round_id"]) == (None, None, 2**40)


def test_a_file_of_json_lines_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_text(json.dumps([sample(), sample("b")]))
    array = list(read(path))
    path.write_text(json.dumps(sample()) + "\n" + json.dumps(sample("b")) + "\n")
    assert list(read(path)) == array
    assert len(array) == 2


@given(
    kind=st.sampled_from(["choice", "likelihood", "open", "caption"]),
    keys=st.lists(KEY, min_size=1, max_size=4, unique_by=lambda key: str(key).strip()),
    copies=st.integers(1, 3),
    data=st.data(),
)
def test_what_is_written_is_what_was_read(
    kind: str, keys: list, copies: int, data: st.DataObject, folder: Path
) -> None:
    def drawn(key: object) -> dict[str, Any]:
        options = data.draw(st.lists(TEXT, min_size=2, max_size=26))
        index = st.integers(0, len(options) - 1)
        asked = data.draw(
            st.fixed_dictionaries({}, optional={"question": TEXT, "instruct": TEXT, "round_id": st.integers(0, 20)})
        )
        if kind in ("choice", "likelihood"):
            prediction = data.draw(index if kind == "likelihood" else TEXT)
            answer = data.draw(st.one_of(index, index.map(str)))
            return {"sample_id": key, **asked, "answer": answer, "answer_options": options, "prediction": prediction}
        texts = data.draw(st.lists(TEXT, min_size=1, max_size=3))
        reference = (
            {"references": texts} if kind == "caption" else {"answer": data.draw(st.sampled_from([texts, texts[0]]))}
        )
        return {"sample_id": key, **asked, **reference, "prediction": data.draw(TEXT), "image": "/far/away.png"}

    rows = [drawn(key) for _ in range(copies) for key in keys]
    records = opened(rows, folder)
    first = list(records)
    assert records.rejects == []
    write(records, Target(folder / "back.json"), "reform_predictions")
    back = json.loads((folder / "back.json").read_text())
    assert back == [
        {**row, "sample_id": row["sample_id"] if isinstance(row["sample_id"], int) else row["sample_id"].strip()}
        for row in rows
    ]
    assert [record.answer for record in first if record.options] == [
        LETTERS[int(row["answer"])] for row in rows if "answer_options" in row
    ]


@pytest.mark.parametrize(
    ("name", "count", "task"),
    [
        ("FUNSD_KIEOpenEnded_generation_blip2_blip2_t5_instruct.json", 588, "kie"),
        ("MSCOCO_Generation_generation_lynx_LYNX.json", 500, "caption"),
        ("TDIUC_SingleChoice_likelihood_imagebindLLM_imagebindLLM.json", 55, "multiple_choice"),
    ],
)
@pytest.mark.slow
def test_the_kits_own_files_convert_whole(name: str, count: int, task: str, shared: Path, tmp_path: Path) -> None:
    records = read(shared / "real/reform_eval" / name)
    assert (records.format, len(list(records)), records.rejects) == ("reform_predictions", count, [])
    assert {record.task for record in records} == {task}
    write(records, Target(tmp_path / name), "reform_predictions")
    source = json.loads((shared / "real/reform_eval" / name).read_text())
    assert json.loads((tmp_path / name).read_text()) == source


@pytest.mark.parametrize("said", ["AB", "a", "1", "E", ""])
def test_what_is_no_letter_of_an_option_is_written_as_it_stands_and_an_answer_by_name(
    said: str, tmp_path: Path
) -> None:
    (record,) = opened([sample("a", 1)], tmp_path)
    losses = write([replace(record, answer=said, prediction=said)], Target(tmp_path / "b.json"), "reform_predictions")
    assert [loss.field for loss in losses] == ["answer"]
    (written,) = json.loads((tmp_path / "b.json").read_text())
    assert (written["answer"], written["prediction"]) == (0, said)


@pytest.mark.parametrize(("dataset", "lost"), [("Flowers", set()), ("Trees", {"dataset"})])
def test_a_file_named_by_convention_says_its_dataset(dataset: str, lost: set[str], tmp_path: Path) -> None:
    (record,) = opened([sample("a", 1)], tmp_path)
    target = Target(tmp_path / "Flowers_SingleChoice_generation_demo_demo-1b.json")
    losses = write([replace(record, dataset=dataset)], target, "reform_predictions")
    assert {loss.field for loss in losses} == lost


def test_a_dialogs_history_is_written_as_its_turns(folder: Path) -> None:
    said = [{"from": "human", "value": "Is it?"}, {"from": "assistant", "value": "(A) yes"}]
    (record,) = opened([sample("7_1", round_id=1, question="Was it?", history=said)], folder)
    before = {"question": "Is it?", "answer_options": ["yes", "no"], "answer": 1}
    path = folder / "dialog.json"
    write([replace(record, extra={**record.extra, "history": [before]})], Target(path), "reform_predictions")
    assert json.loads(path.read_text())[0]["history"] == said


def test_a_number_with_a_point_that_counts_something_is_a_whole_one(tmp_path: Path) -> None:
    first, second = opened([sample("a_1", 1.0, answer=1.0, round_id=1.0), sample("b", 0)], tmp_path)
    assert (first.prediction, first.answer, first.round, first.group) == ("B", "B", 1, "a")
    assert second.round is None


def test_more_options_than_letters_are_counted_where_a_framework_scores_them(tmp_path: Path) -> None:
    options = [str(number) for number in range(40)]
    row = sample("a", 30, answer=30, answer_options=options)
    assert codes(opened([row], tmp_path)) == {0: "options.count"}
    (record,) = read(tmp_path / "list.json", "reform_predictions", for_scoring=True)
    assert (record.prediction, record.answer, len(record.options)) == ("30", "30", 40)
    rows = [sample(str(answer), 1, answer=answer) for answer in (1.7, True)]
    (tmp_path / "list.json").write_text(json.dumps(rows))
    assert [one.answer for one in read(tmp_path / "list.json", "reform_predictions", for_scoring=True)] == ["B", "B"]
