import json

import pytest

from mmconvert.core.errors import Error
from mmconvert.plugins.registry import load
from mmscore.core.recipe import Item
from mmscore.scoring.evaluate import score
from support.items import score_items
from support.predictions import choices, write_predictions

OPTIONS = ("red", "green", "blue")
MCQ = load("mmscore.recipes", "vlmevalkit_mcq")
CIRCULAR = load("mmscore.recipes", "mmbench_circular")
MMVP = load("mmscore.recipes", "vlmevalkit_mmvp")


def _hits(recipe, items, name, version=None):
    return score_items(items, recipe, version).scores[name].tolist()


@pytest.mark.parametrize(
    ("reply", "label", "v1", "v2", "v3"),
    [
        ("B", '"B"', 1, 1, 1),
        ("B\n\nBecause it is greener than all the rest", '"B"', 1, 0, 0),
        ("so the correct answer is **B**, as anybody can see here", '"B"', 1, 0, 1),
        ("Cannot determine the answer", '"B"', 0, 0, 0),
        ("B", '"b"', 0, 0, 0),
        ("B", '"green"', 0, 0, 0),
        ("B", "2", 0, 0, 0),
    ],
)
def test_the_versions_and_what_counts_as_right(reply, label, v1, v2, v3):
    item = Item(prediction=reply, options=OPTIONS, label=label)
    assert [_hits(MCQ, [item], "accuracy", version) for version in ("v1", "v2", "v3")] == [[v1], [v2], [v3]]


def test_open_questions_of_mmmu_get_two_options():
    items = [
        Item(prediction=reply, options=(), label='"42"', dataset="MMMU_DEV_VAL") for reply in ("A", "B", "it is 42")
    ]
    assert _hits(MCQ, items, "accuracy") == [1, 0, 1]


def test_the_table_abbreviates_levels_and_sorts_within_splits():
    items = [
        Item(prediction="A", options=OPTIONS, answer=answer, split=split, category=category, l2_category=level)
        for answer, split, category, level in [
            ("A", "test", "z", "logic_reasoning"),
            ("B", "dev", "a", "attribute_reasoning"),
            ("A", "dev", "z", "logic_reasoning"),
        ]
    ]
    lines = MCQ.table(score_items(items, MCQ), "v3")
    assert [list(line) for line in lines] == [["split", "Overall", "AR", "LR", "a", "z"]] * 2
    assert lines[1] == {"split": "dev", "Overall": 0.5, "AR": 0.0, "LR": 1.0, "a": 0.0, "z": 1.0}


def _circular(*rows):
    return [
        Item(id=id, sample=sample, variant=variant, prediction=reply, options=OPTIONS, answer="A")
        for id, sample, variant, reply in rows
    ]


def test_a_question_is_right_when_every_rotation_in_the_file_is():
    items = _circular(
        ("1", None, None, "A"), ("1000001", None, None, "A"), ("2000001", None, None, "A"),
        ("2", None, None, "A"), ("1000002", None, None, "B"),
        ("3", None, None, "A"),
        ("1000004", None, None, "A"),
    )  # fmt: skip
    scored = score_items(items, CIRCULAR)
    assert scored.mean("circular_accuracy").value == 2 / 3
    assert scored.mean("vanilla_accuracy").value == 1.0
    assert scored.mean("circular_accuracy").n == scored.mean("vanilla_accuracy").n == 3


def test_copies_of_our_own_transform_are_grouped_by_sample():
    items = _circular(("x#0", "x", 0, "A"), ("x#1", "x", 1, "B"), ("y#0", "y", 0, "A"), ("y#1", "y", 1, "A"))
    assert score_items(items, CIRCULAR).mean("circular_accuracy").value == 0.5


def test_an_id_that_tells_no_rotation_is_refused():
    with pytest.raises(Error, match="'x1'"):
        score_items(_circular(("x1", None, None, "A")), CIRCULAR)


def test_a_failed_rotation_leaves_its_question_open_unless_another_is_wrong(tmp_path):
    replies = {"1": "A", "1000001": None, "2": "A", "1000002": None, "2000002": "B", "3": "A", "1000003": "A"}
    rows = [{**row, "id": id} for row, id in zip(choices(*((r, "A") for r in replies.values())), replies, strict=True)]
    (entry,) = score(write_predictions(tmp_path / "p.parquet", rows), "mmbench_circular").entries
    assert (entry.metrics["circular_accuracy"].value, entry.metrics["circular_accuracy"].n) == (0.5, 2)
    assert entry.counts.failed == 2


def _pair(*rows):
    return [Item(id=id, question=q, prediction=reply, options=OPTIONS, answer="A") for id, q, reply in rows]


def test_mmvp_pairs_rows_by_index():
    items = _pair(("10", "q2", "A"), ("2", "q1", "A"), ("1", "q1", "A"), ("11", "q2", "B"))
    (line,) = MMVP.table(score_items(items, MMVP), "v3")
    assert line == {"Average": 0.75, "Overall": 0.5}


@pytest.mark.parametrize("rows", [[("1", "q", "A")], [("1", "q", "A"), ("2", "other", "A")]])
def test_mmvp_without_pairs_is_refused(rows):
    with pytest.raises(Error, match="pair"):
        score_items(_pair(*rows), MMVP)


def test_mmt_needs_all_its_levels():
    recipe = load("mmscore.recipes", "vlmevalkit_mmt")
    items = [Item(prediction="A", options=OPTIONS, answer="A", category="c", l2_category="ocr")]
    with pytest.raises(Error, match="31 of 32"):
        recipe.table(score_items(items, recipe), "v3")


def test_the_label_is_read_as_the_source_wrote_it(tmp_path):
    rows = choices(("A", "A"), ("A", "A"))
    rows[1]["label"] = json.dumps("a")
    rows[0]["label"] = json.dumps("A")
    (entry,) = score(write_predictions(tmp_path / "p.parquet", rows), "vlmevalkit_mcq").entries
    assert entry.metrics["accuracy"].value == 0.5


def test_rows_without_a_split_among_others_give_a_line_of_their_own_without_numbers():
    items = [
        Item(id=str(n), prediction="A", options=OPTIONS, label='"A"', split=s) for n, s in enumerate(["dev", None])
    ]
    lines = MCQ.table(score_items(items, MCQ, "v3"), "v3")
    assert [(line["split"], str(line["Overall"])) for line in lines] == [("dev", "1.0"), ("NaN", "nan")]


def test_a_question_with_a_rotation_that_was_not_asked_or_not_read_is_left_open(tmp_path):
    copies = [(sample, variant) for sample in "12345" for variant in (0, 1)]
    about = {"options": ["red", "green"], "answer": "A", "task": "multiple_choice"}
    rows = [{"id": f"{s}#{v}", "sample": s, "variant": v, **about} for s, v in copies]
    said = [{**row, "prediction": "A"} for row in rows]
    # 1: right; 2: a rotation was not asked; 3: one was not read; 4: the unrotated row was not asked; 5: wrong.
    said[5]["prediction"], said[8]["prediction"] = None, "B"
    lines = [json.dumps(row) + "\n" for n, row in enumerate(said) if n not in (3, 6)]
    (tmp_path / "p.jsonl").write_text("".join(lines))
    questions = write_predictions(tmp_path / "q.parquet", rows)
    numbers = [
        score(tmp_path / "p.jsonl", "mmbench_circular", answers=answers).entries[0].metrics["circular_accuracy"]
        for answers in (questions, None)
    ]
    # Only the dataset knows that question 2 has another rotation.
    assert [(number.value, number.n) for number in numbers] == [(1 / 2, 2), (pytest.approx(2 / 3), 3)]


def test_rows_that_were_never_read_need_not_say_which_rotation_they_show(tmp_path):
    row = {"id": "1", "options": ["red", "green"], "answer": "A", "prediction": "A"}
    lines = [row, {**row, "id": "x", "prediction": None}, {**row, "id": "7#0", "prediction": "B"}]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (entry,) = score(tmp_path / "p.jsonl", "mmbench_circular").entries
    assert (entry.metrics["circular_accuracy"].value, entry.counts.rejected) == (0.5, 1)
    (tmp_path / "p.jsonl").write_text(json.dumps({**row, "id": "x"}))
    with pytest.raises(Error, match="<sample>#<variant>"):
        score(tmp_path / "p.jsonl", "mmbench_circular")
