"""ReForm-Eval's dataset files: every family, dialogs, refusals, the way back."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmconvert.core.text.turns import join_texts
from mmconvert.kits.reform_eval.families import FAMILIES
from mmconvert.kits.reform_eval.pools import load_pools
from mmconvert.kits.reform_eval.shapes import SHAPES
from mmconvert.pipeline.convert import Records, read, write
from mmconvert.plugins.format import Target
from support.records import image_bytes

IMAGE = b64encode(image_bytes("PNG")).decode()
TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


def opened(items: Any, folder: Path, facts: dict[str, Any] | None = None, **options: Any) -> Records:
    path = folder / "data.json"
    path.write_text(json.dumps(items if facts is None else {**facts, "data": items}), encoding="utf-8")
    return read(path, "reform_eval", **options)


def first_instruction(family: str) -> str:
    return load_pools()[FAMILIES[family].pool].choose[0]


VQA = {"question_id": "q1", "image_id": IMAGE, "question": "Red?", "answer": "no", "answer_options": ["yes", "no"]}
CORE = {"question_id": 7, "image": IMAGE, "question": "Red?", "answer": 1, "answer_options": ["yes", "no"]}
READING = {"question_id": "o1", "image": IMAGE, "question": ["Read it.", "What is written?"], "answer_txt": "STOP"}
ABC = ["a", "b", "c"]
CLAIM = {"answer": "a", "answer_options": ABC}

FAMILY_CASES = [
    ("VQA", VQA, {"version": "1"}, "q1", "Red?", ("yes", "no"), "B", '"no"'),
    ("KVQA", {**VQA, "context": " It is. "}, {}, "q1", "Red? Context: It is.", ("yes", "no"), "B", '"no"'),
    ("VQRA", {**VQA, "rationale": "So."}, {}, "q1", "Red? Rationale: So.", ("yes", "no"), "B", '"no"'),
    (
        "VQAR",
        {**VQA, "rationale": "b", "rationale_options": ABC},
        {},
        "q1",
        "Red? Answer: no",
        ("a", "b", "c"),
        "B",
        '"b"',
    ),
    (
        "MCV",
        {"instance_id": "m", "image_id": IMAGE, "claim": " C. ", "text_evidence": "E\n", **CLAIM},
        {},
        "m",
        "What is the truthfulness of this claim? Claim: C. Text Evidence: E",
        ("a", "b", "c"),
        "A",
        '"a"',
    ),
    ("Core", {**CORE, "bbox": [1, 2, 3, 4]}, {}, "7", "Red?", ("yes", "no"), "B", "1"),
    ("CLEVR", {**CORE, "img": IMAGE}, {"instructs": ["Look."]}, "7", "Red?", ("yes", "no"), "B", "1"),
    ("VSR", {**CORE, "question": ["R?", "S?"], "answer_options": ["a.", "b"]}, {}, "7", "R?", ("a.", "b."), "B", "1"),
    ("MP3D", {**CORE, "questions": ["R?", "S?"]}, {}, "7", "R?", ("yes", "no"), "B", "1"),
    (
        "Classification",
        {"id": 3, "image": IMAGE, "question": "Q", "answer": 2, "options": ABC},
        None,
        "3",
        "Q",
        ("a", "b", "c"),
        "C",
        "2",
    ),
    ("OCR", READING, {}, "o1", "Read it.", (), "STOP", '"STOP"'),
    ("KIE", {**READING, "question": "Read."}, {}, "o1", "Read.", (), "STOP", '"STOP"'),
    (
        "TextVQA",
        {"question_id": 5, "image_id": IMAGE, "question": "Q", "answer": ["x", "y"]},
        {},
        "5",
        "Q",
        (),
        "x",
        '["x","y"]',
    ),
    (
        "ObjectCounting",
        {"Image_ID": IMAGE, "Question": "How many?", "Answer": 3, "Resolved_COCO_category": "dog"},
        None,
        "0",
        "How many?",
        (),
        "3",
        "3",
    ),
]


@pytest.mark.parametrize(("family", "item", "facts", "key", "question", "options", "answer", "label"), FAMILY_CASES)
def test_a_family_is_known_by_its_fields(
    family: str,
    item: dict,
    facts: dict | None,
    key: str,
    question: str,
    options: tuple,
    answer: str,
    label: str,
    tmp_path: Path,
) -> None:
    (record,) = opened([item], tmp_path, facts)
    assert record.category == family
    assert (record.id, record.question, record.options) == (key, question, options)
    assert (record.answer, record.label, record.task) == (answer, label, FAMILIES[family].task)
    assert record.images[0].bytes == image_bytes("PNG")
    assert join_texts(record.messages[-1]).startswith(question)


@pytest.mark.parametrize(
    ("family", "item", "facts", "options"),
    [
        ("ITM", {"anno": "a cat"}, {"dataset_name": "MSCOCO"}, ("no", "yes")),
        ("SNLI-VE", {"anno": "a cat"}, {"gt_info": {}}, ("yes", "not sure", "no")),
        ("ITS", {"anno": ABC}, {"dataset_name": "MSCOCO"}, ("a", "b", "c")),
        ("WikiHow", {"method": "bake", "title": "T", "options": ABC}, {"dataset_name": "WikiHow"}, ("a", "b", "c")),
        ("MEDIC", {"options": ABC}, {"dataset_name": "MEDIC"}, ("a", "b", "c")),
        ("RefCOCO", {"id": 4, "region": [[1, 2, 3, 4]], "options": ABC}, {"dataset_name": "RefCOCO"}, ("a", "b", "c")),
    ],
)
def test_a_template_asks_in_our_words_with_the_topic_filled_in(
    family: str, item: dict, facts: dict, options: tuple, tmp_path: Path
) -> None:
    record, other = (
        opened([{"img": IMAGE, "gt": 1, **item}] * 2, tmp_path, facts)
        if family != "RefCOCO"
        else [*opened([{"img": IMAGE, "gt": 1, **item}], tmp_path, facts)] * 2
    )
    topic = item.get("anno") if isinstance(item.get("anno"), str) else item.get("method", "")
    assert (record.category, record.options, record.answer, record.label) == (family, options, "B", "1")
    assert record.question == first_instruction(family).replace("{}", topic)
    assert record.dataset == facts.get("dataset_name")
    assert [record.id, other.id] == (["4", "4"] if family == "RefCOCO" else ["0", "1"])


@pytest.mark.parametrize(("name", "family"), [("mscoco", "Caption"), ("textcaps", "TextCaps")])
def test_captions_keep_their_references(name: str, family: str, tmp_path: Path) -> None:
    (record,) = opened([{"img": IMAGE, "annos": ["a cat", "cats"]}], tmp_path, {"dataset_name": name})
    assert (record.category, record.task, record.answers, record.answer) == (family, "caption", ("a cat", "cats"), None)
    assert record.question == first_instruction(family)


def test_the_dataset_names_a_family_that_the_fields_do_not(tmp_path: Path) -> None:
    (record,) = opened([VQA], tmp_path, {}, dataset="CaptionSelection")
    assert (record.category, record.question) == ("CaptionSelection", "Which description matches this image?")
    assert record.extra["question"] == "Red?"


DIALOG = {
    "version": "1",
    "split": "val",
    "data": {
        "questions": ["is it day", "what colour"],
        "answers": ["yes", "no", "red"],
        "dialogs": [
            {"image_id": 44, "image_base64": IMAGE, "dialog": [
                {"question": 0, "answer": 1, "answer_options": [0, 1, 2]},
                {"question": 1, "answer": 2, "answer_options": [2, 0], "note": "x"},
            ]},
            {"image_id": 45, "image_base64": IMAGE, "dialog": [
                {"question": 9, "answer": 0, "answer_options": [0, 1]},
            ]},
        ],
    },
}  # fmt: skip


def test_a_dialog_gives_a_record_a_round(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text(json.dumps(DIALOG))
    records = read(tmp_path / "data.json")
    first, second = records
    assert records.format == "reform_eval"
    assert [(r.id, r.group, r.round, r.answer, r.split) for r in (first, second)] == [
        ("44_0", "44", 0, "B", "val"), ("44_1", "44", 1, "A", "val"),
    ]  # fmt: skip
    assert [join_texts(turn) for turn in second.messages[:2]] == ["is it day", "no"]
    assert [[part.type for part in turn.content] for turn in second.messages] == [["image", "text"], ["text"], ["text"]]
    assert second.extra["history"] == [{"question": "is it day", "answer_options": ["yes", "no", "red"], "answer": 1}]
    assert second.extra["note"] == "x"
    assert [(reject.where.row, reject.code) for reject in records.rejects] == [(1, "dialog.shape")]


@pytest.mark.parametrize(
    ("item", "code"),
    [
        ({**VQA, "answer": "maybe"}, "answer.not_an_option"),
        ({**VQA, "question": None}, "question.type"),
        ({**VQA, "question_id": ""}, "question_id.missing"),
        ({**VQA, "question_id": 1.5}, "question_id.type"),
        ({**VQA, "answer_options": "['yes', 'no']"}, "answer_options.type"),
        ({**VQA, "answer_options": ["no"]}, "options.count"),
        ({**VQA, "answer_options": ["yes", None]}, "options.type"),
        ({**VQA, "image_id": "!!"}, "image.base64"),
        ({**VQA, "image_id": "../x.png"}, "image.path"),
        ({**VQA, "image_id": "x.png"}, "image.missing"),
        ({**CORE, "answer": 2}, "answer.range"),
        ({**CORE, "answer": -1}, "answer.range"),
        ({**CORE, "answer": True}, "answer.type"),
        ({**READING, "answer_txt": 3}, "answer_txt.type"),
        ({"img": IMAGE, "annos": []}, "annos.type"),
        ({"something": 1}, "item.shape"),
    ],
)
def test_a_bad_item_is_refused_and_the_others_go_on(item: dict, code: str, tmp_path: Path) -> None:
    records = opened([VQA, item, {**VQA, "question_id": "q2"}], tmp_path, {})
    assert [record.id for record in records] == ["q1", "q2"]
    assert [(reject.where.row, reject.code) for reject in records.rejects] == [(1, code)]


@pytest.mark.parametrize("value", [{"data": {}}, {"data": 3}, {"version": 1}, {}])
def test_a_file_without_items_is_one_clear_error(value: dict, tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text(json.dumps(value))
    with pytest.raises(Error, match=r"data\.json"):
        list(read(tmp_path / "data.json", "reform_eval"))


def test_an_image_may_be_a_path(tmp_path: Path) -> None:
    (tmp_path / "red.png").write_bytes(image_bytes("PNG"))
    (record,) = opened([{**VQA, "image_id": "red.png"}], tmp_path, {})
    assert record.images[0].name == "red.png"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("families")


WRITTEN = [case for case in FAMILY_CASES if case[0] in SHAPES]


@given(case=st.sampled_from(WRITTEN), data=st.data())
def test_what_is_written_is_what_was_read(case: tuple, data: st.DataObject, folder: Path) -> None:
    family, item, facts, *_ = case
    key, array = SHAPES[family].key, SHAPES[family].array
    count = data.draw(st.integers(1, 3))
    more = st.dictionaries(
        TEXT.filter(lambda name: not name.isidentifier()), st.one_of(TEXT, st.integers(0, 9)), max_size=2
    )
    items = [{**item, **data.draw(more), **({key: f"{n}-{item[key]}"} if key else {})} for n in range(count)]
    facts = None if array else {"version": data.draw(TEXT), "split": data.draw(TEXT), **facts}
    write(opened(items, folder, facts), Target(folder / "back.json"), "reform_eval")
    back = json.loads((folder / "back.json").read_text())
    assert back == (items if array else {**facts, "data": items})


def test_any_multiple_choice_becomes_the_vqa_family(tmp_path: Path, repository: Path) -> None:
    source = repository / "src/mmconvert/testing/demo/files/lmudata/Colours.tsv"
    target = tmp_path / "colours.json"
    losses = write(read(source), Target(target), "reform_eval")
    assert {loss.field for loss in losses} == {"hint", "category", "l2_category"}
    before, after = list(read(source)), list(read(target))
    assert [(r.id, r.question, r.options, r.answer) for r in after] == [
        (r.id, r.question, r.options, r.answer) for r in before
    ]
    assert {record.category for record in after} == {"VQA"}


@pytest.mark.parametrize("answer", ["AB", "a", "1", "E", "", None])
def test_a_row_whose_answer_is_no_letter_of_an_option_is_left_out_by_name(
    answer: str | None, tmp_path: Path, repository: Path
) -> None:
    first, *others = read(repository / "src/mmconvert/testing/demo/files/lmudata/Colours.tsv")
    target = tmp_path / "colours.json"
    losses = write([*others, replace(first, answer=answer)], Target(target), "reform_eval")
    assert [(loss.id, loss.field) for loss in losses if "left out" in loss.message] == [(first.id, "options")]
    assert len(list(read(target))) == len(others)
