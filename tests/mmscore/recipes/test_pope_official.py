"""POPE's own answer files, scored with no recipe named."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import Error
from mmconvert.plugins.registry import load
from mmscore.core.recipe import Item
from mmscore.parsers.pope_yes_no import pope_yes_no
from mmscore.scoring.evaluate import score
from support.deferred import defer
from support.items import score_items
from support.terminal import mmscore, one_message

RECIPE = load("mmscore.recipes", "pope_official")
ASKED = "Is there a {} in the image?"
# reply, label: what the script reads is no, yes, yes (nothing read), no, yes, no
ROWS = [
    ("No, there is no cat.", "no"),
    ("Yes, a dog. It is not small.", "yes"),
    ("There may be one", "no"),
    ("It is not there", "yes"),
    ("NO", "yes"),
    ("I see no bus", "no"),
]


@pytest.fixture
def answers(tmp_path):
    return write(tmp_path / "m-1_coco_pope_random.json", [("question", "answer", r, None) for r, _ in ROWS])


@pytest.fixture
def questions(tmp_path):
    return write(
        tmp_path / "coco_pope_random.json", [("text", "label", label, n // 2) for n, (_, label) in enumerate(ROWS)]
    )


def write(path, rows):
    lines = [
        {asked: ASKED.format(n), told: value, **({} if image is None else {"image": f"{image}.jpg"})}
        for n, (asked, told, value, image) in enumerate(rows)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_an_answer_file_and_its_question_file_give_the_numbers_of_the_script(answers, questions):
    (entry,) = score(answers, answers=questions).entries
    assert (entry.recipe, entry.parity, entry.model) == (
        "pope_official",
        "POPE evaluate.py, AoiDragon/POPE@f3ec604",
        "m-1",
    )
    assert {name: e.value for name, e in entry.metrics.items()} == {
        "accuracy": pytest.approx(4 / 6), "precision": pytest.approx(2 / 3), "recall": pytest.approx(2 / 3),
        "f1": pytest.approx(2 / 3), "yes_ratio": 0.5,
    }  # fmt: skip
    (line,) = entry.table
    assert {name: line[name] for name in ("TP", "FP", "TN", "FN")} == {"TP": 2, "FP": 1, "TN": 2, "FN": 1}
    assert line["F1 score"] == entry.metrics["f1"].value
    assert (entry.counts.scored, entry.counts.unparsed) == (6, 2)
    assert list(entry.groups["category"]) == ["random"]
    assert entry.metrics["yes_ratio"].higher_is_better is None
    # Questions about one image are a cluster: of three images, each has one error or one right pair.
    assert entry.metrics["accuracy"].n == 6


def test_labels_in_the_answer_file_itself_are_enough(tmp_path):
    file = tmp_path / "x.jsonl"
    lines = [{"question": ASKED.format(n), "answer": r, "label": label} for n, (r, label) in enumerate(ROWS)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (entry,) = score(file).entries
    assert (entry.recipe, entry.reason) == ("pope_official", "POPE's own answer files")
    assert entry.metrics["accuracy"].value == pytest.approx(4 / 6)


def test_answers_alone_ask_for_their_question_file(answers):
    shown = mmscore(answers)
    assert "--answers DATASET" in one_message(shown, "mmscore")
    assert shown.code == 1


@pytest.fixture
def field(shared):
    """LLaVA-1.5-13B's published answers to POPE, and POPE's question files."""
    return shared / "real/field/llava_pope"


@pytest.mark.parametrize(("key", "differ"), defer([("adversarial_corrected", 58), ("adversarial", 0)], 1))
@pytest.mark.slow
def test_llavas_answers_get_the_numbers_of_its_script_by_the_key_of_their_questions(field, key, differ):
    (entry,) = score(field / "llava-v1.5-13b_adversarial.jsonl", answers=field / f"coco_pope_{key}.json").entries
    assert (entry.recipe, entry.reason, entry.model) == (
        "pope_official", "LLaVA's answers to POPE", "llava-v1.5-13b",
    )  # fmt: skip
    # haotian-liu/LLaVA llava/eval/eval_pope.py on the same files.
    assert {name: e.value for name, e in entry.metrics.items()} == {
        "accuracy": 0.855, "precision": pytest.approx(0.9099307159353349), "recall": 0.788,
        "f1": pytest.approx(0.8445873526259379), "yes_ratio": 0.433,
    }  # fmt: skip
    assert entry.counts.scored == 3000
    assert [f"{differ} of 3,000 rows" in message for message in entry.messages] == [False, *([True] if differ else [])]
    assert "mismatch:" not in entry.signature


@pytest.mark.parametrize(("key", "count"), [("popular", "1,132 of 3,000"), ("random", "2,801 of 2,910")])
@pytest.mark.slow
@pytest.mark.release
def test_the_key_of_other_questions_is_refused_unless_allowed(field, key, count):
    file, answers = field / "llava-v1.5-13b_adversarial.jsonl", field / f"coco_pope_{key}.json"
    shown = mmscore(file, "--answers", answers)
    assert shown.code == 1
    assert f"{count} rows joined by place" in one_message(shown, "mmscore")
    assert "against 'Is there a" in shown.err
    allowed = mmscore(file, "--answers", answers, "--allow-mismatch")
    assert f"{count} rows" in allowed.err
    assert f"|mismatch:{count.replace(',', '').replace(' of ', '/')}|" in allowed.out


@pytest.mark.slow
def test_llavas_own_numbers_join_by_place(shared):
    folder = shared / "real/field/llava_pope_ids"
    answers = folder / "coco_pope_popular_300.json"
    (entry,) = score(folder / "llava-v1.5-13b_popular_300.jsonl", answers=answers).entries
    assert (entry.metrics["accuracy"].value, entry.counts.scored) == (0.88, 300)
    assert "joined by place" in entry.messages[0]


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("no", "no"), ("No", "no"), ("No,", "no"), ("n,o", "no"), ("not sure", "no"), ("", None), ("NO", None),
        ("Not", None), ("yes\nno", "yes"), ("Yes! no doubt", "no"), ("no!", None), (".no", None), ("nothing", None),
        ("Yes.no", "yes"), ("is it? no", "no"), ("YES", "yes"), ("no\tcat", None), (" no", "no"),
    ],
)  # fmt: skip
def test_only_whole_words_of_the_first_sentence_make_a_no(reply, value):
    assert pope_yes_no(reply).value == value


@given(st.text(alphabet="noNtYyes ,.\n!", max_size=20) | st.text(max_size=30))
def test_any_text_is_read_and_the_span_lies_on_what_was_read(text):
    parsed = pope_yes_no(text)
    words = text.split(".")[0].replace(",", "").split(" ")
    assert (parsed.value == "no") == bool({"no", "No", "not"} & set(words))
    if parsed.span:
        start, end = parsed.span
        assert text[start:end].replace(",", "") in (parsed.value, "No", "not") or parsed.value == "yes"


def test_rates_of_nothing_are_zero_and_other_labels_are_refused():
    metrics = RECIPE.reduce(score_items([Item(prediction="no", answer="No")], RECIPE), "1")
    assert {name: e.value for name, e in metrics.items()} == {
        "accuracy": 1.0, "precision": 0.0, "recall": 0.0, "f1": 0.0, "yes_ratio": 0.0,
    }  # fmt: skip
    with pytest.raises(Error, match="expected yes or no"):
        score_items([Item(prediction="no", answer="maybe")], RECIPE)
