import json

import pytest
from msgspec.structs import asdict

from mmconvert.core.errors import Error
from mmconvert.plugins.registry import load
from mmscore.core.recipe import Facts, Item
from mmscore.core.select_recipe import choose_recipe
from mmscore.scoring.evaluate import score
from support.items import score_items
from support.predictions import write_predictions


def _numbers(name, *items):
    recipe = load("mmscore.recipes", f"lmms_{name}")
    scored = score_items(items, recipe)
    return {metric: estimate.value for metric, estimate in recipe.reduce(scored, "0.7").items()}


def _table(name, *items):
    recipe = load("mmscore.recipes", f"lmms_{name}")
    return recipe.table(score_items(items, recipe), "0.7")


def _make_image(category, *replies):
    return [
        Item(category=category, group=f"{category}/1.jpg", label=label, prediction=reply)
        for label, reply in zip(('"Yes"', '"No."'), replies, strict=False)
    ]


def test_mme_counts_unknown_categories_as_cognition():
    items = [*_make_image("OCR", "Y", "No."), *_make_image("taste", "yes", "I see")]
    numbers = _numbers("mme", *items)
    assert (numbers["mme_perception_score"], numbers["mme_cognition_score"]) == (200.0, 50.0)
    (line,) = _table("mme", *items)
    assert line == {"mme_perception_score": 200.0, "mme_cognition_score": 50.0, "OCR": 200.0, "taste": 50.0}


def test_the_mme_table_needs_two_rows_an_image():
    with pytest.raises(Error, match="not two answered"):
        _table("mme", *_make_image("OCR", "yes"))


def test_pope_takes_the_whole_reply_and_leaves_other_replies_out_of_recall():
    replies = [("yes", "yes"), ("Yes", " YES\n"), ("yes", "Yes."), ("yes", "no"), ("no", "yes"), ("no", "no")]
    items = [Item(answer=answer, prediction=reply) for answer, reply in replies]
    numbers = _numbers("pope", *items)
    assert numbers["pope_accuracy"] == pytest.approx(3 / 6)
    assert (numbers["pope_precision"], numbers["pope_recall"]) == pytest.approx((2 / 3, 2 / 3))
    assert numbers["pope_yes_ratio"] == pytest.approx(4 / 6)
    with pytest.raises(Error, match="expected yes or no"):
        _numbers("pope", Item(answer="yes.", prediction="yes"))


@pytest.mark.parametrize("name", ["vqav2", "textvqa"])
def test_annotators_are_listed_and_one_alone_is_refused(name):
    assert _numbers(name, Item(answers=["cat"] * 4, prediction="a cat"))["exact_match"] == 1.0
    assert _numbers(name, Item(label='["cat"]', prediction="cat"))["exact_match"] == 0.0
    with pytest.raises(Error, match="--answers"):
        _numbers(name, Item(label='"cat"', answers=["cat"], prediction="cat"))


def test_vqav2_reads_objects():
    label = json.dumps([{"answer": "2", "answer_id": n} for n in range(10)])
    assert _numbers("vqav2", Item(label=label, prediction="two"))["exact_match"] == 1.0
    with pytest.raises(Error, match="objects with `answer`"):
        _numbers("vqav2", Item(label="[1, 2]", prediction="two"))


def test_docvqa_takes_the_nearest_reference():
    assert _numbers("docvqa", Item(answers=["zzzz", "abcd"], prediction="abce")) == {"anls": 0.75}
    with pytest.raises(Error, match="no row has a reference"):
        _numbers("docvqa", Item(prediction="x"))


def test_chartqa_tells_who_wrote_the_question():
    items = [
        Item(label='"10"', prediction="10.4", extra='{"type": "human_test"}'),
        Item(label='"10"', prediction="11", extra='{"relaxed_human_split": 0.0}'),
        Item(label='"10"', prediction="10", extra='{"type": "augmented_test"}'),
    ]
    assert _numbers("chartqa", *items) == pytest.approx(
        {"relaxed_overall": 2 / 3, "relaxed_human_split": 0.5, "relaxed_augmented_split": 1.0}
    )


def test_ocrbench_divides_by_a_thousand_and_reads_formulas():
    items = [
        Item(answers=["x + y"], prediction="x+y", extra='{"ocrbench_accuracy": {"dataset": "HME100k"}}'),
        Item(answers=["exit"], prediction="EXIT", category="Regular Text Recognition"),
    ]
    assert _numbers("ocrbench", *items) == {"ocrbench_accuracy": 0.002, "accuracy": 1.0}


def test_mmmu_draws_no_letter_and_misses_open_questions():
    options = ("red", "green")
    items = [
        Item(id="validation_Art_1", options=options, answer="B", prediction="B"),
        Item(id="validation_Art_2", options=options, answer="B", prediction="hm"),
        Item(id="validation_Math_1", answer="0.5", prediction="the answer is 0.5"),
    ]
    numbers = _numbers("mmmu", *items)
    assert numbers == pytest.approx(
        {"accuracy_without_fallback": 1 / 3, "accuracy_expected": 1.5 / 3, "fallback_share": 1 / 3}
    )
    assert {"name": "Art", "num": 2, "acc": 0.5} in _table("mmmu", *items)


def test_mmmu_takes_the_subject_from_the_log():
    item = Item(id="7", options=("a", "b"), answer="A", prediction="A", extra='{"mmmu_acc": {"subdomain": "Math"}}')
    assert {"name": "Math", "num": 1, "acc": 1.0} in _table("mmmu", item)


def test_mmbench_joins_rotations_by_the_logged_index_and_takes_an_absent_option_for_a_text():
    def row(id, index, answer, reply):
        return Item(id=id, options=("cat", "dog"), answer=answer, prediction=reply, extra=json.dumps({"index": index}))

    numbers = _numbers(
        "mmbench_static", row("0", 5, "A", "A"), row("1", 1_000_005, "B", "A"), row("2", 6, "A", "a banana")
    )
    assert numbers == {"circular_accuracy": 0.0, "vanilla_accuracy": 50.0}


@pytest.mark.parametrize(
    ("task", "name"),
    [
        ("mme", "mme"),
        ("pope_adv", "pope"),
        ("vqav2_val", "vqav2"),
        ("textvqa_val", "textvqa"),
        ("docvqa_val", "docvqa"),
        ("infovqa_val", "docvqa"),
        ("chartqa", "chartqa"),
        ("ocrbench", "ocrbench"),
        ("mmmu_val", "mmmu"),
        ("mmbench_en_dev_static", "mmbench_static"),
    ],
)
def test_the_task_names_the_recipe(task, name):
    facts = Facts(frozenset([task]), frozenset(["vqa"]), frozenset(["lmms_eval_samples"]))
    assert choose_recipe(facts).name == f"lmms_{name}"


def test_a_log_is_scored_by_its_own_task(tmp_path):
    path = tmp_path / "20260101_000000_samples_pope.jsonl"
    rows = [
        {"doc_id": n, "target": "yes", "filtered_resps": [reply], "input": "Is there a dog in the image?"}
        for n, reply in enumerate(("yes", "no"))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (entry,) = score(path).entries
    assert (entry.recipe, entry.metrics["pope_accuracy"].value) == ("lmms_pope", 0.5)


def test_vqav2_leaves_out_objects_that_are_equal_once_rewritten():
    label = json.dumps([{"answer": "2"}, {"answer": "Two."}, {"answer": "cat"}])
    assert _numbers("vqav2", Item(label=label, prediction="two"))["exact_match"] == pytest.approx(2 / 9)


def _log(path, *rows):
    """Write a log of rows with several replies each: target, replies, and what else the row says."""
    lines = [
        {"doc_id": n, "target": target, "filtered_resps": replies, "input": "?", "doc_hash": "0", **more}
        for n, (target, replies, more) in enumerate(rows)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def _scored_log(file, recipe=()):
    (entry,) = score(file, recipe).entries
    counts = {name: count for name, count in asdict(entry.counts).items() if count}
    return {name: estimate.value for name, estimate in entry.metrics.items()}, counts


def test_the_first_of_several_replies_is_scored_as_the_kit_does(tmp_path):
    file = _log(tmp_path / "samples_pope.jsonl", ("yes", ["yes", "no"], {}), ("no", ["yes", "no"], {}))
    numbers, counts = _scored_log(file)
    assert numbers["pope_accuracy"] == 0.5
    assert counts == {"total": 4, "scored": 2, "excluded": 2}


def test_our_own_recipes_score_all_replies(tmp_path):
    file = _log(tmp_path / "samples_x.jsonl", ("cat", ["cat", "cat", "a dog"], {}), ("owl", ["dog", "owl", "cat"], {}))
    numbers, counts = _scored_log(file, "own_short_answer")
    assert (numbers["accuracy"], numbers["mean_accuracy"]) == (0.5, 0.5)
    assert (numbers["pass@2"], numbers["pass@3"]) == pytest.approx((5 / 6, 1.0))
    # Every reply to the second question stands alone, so that a third of its votes are right.
    assert numbers["majority_accuracy"] == pytest.approx((1 + 1 / 3) / 2)
    assert counts == {"total": 6, "scored": 6}


def test_one_right_reply_is_enough_for_mmmu(tmp_path):
    options = "?\nA. red\nB. blue"
    file = _log(
        tmp_path / "samples_mmmu_val.jsonl",
        ("A", ["B", "A"], {"input": options}),
        ("A", ["B", "??"], {"input": options}),
        ("B", ["A", "A"], {"input": options}),
    )
    numbers, counts = _scored_log(file)
    assert numbers == pytest.approx(
        {"accuracy_without_fallback": 1 / 3, "accuracy_expected": (1 + 1 / 2) / 3, "fallback_share": 1 / 3}
    )
    assert counts["excluded"] == 3


def test_pairs_and_rotations_are_those_of_first_replies(tmp_path):
    mme = {"mme_perception_score": {"question_id": "1.jpg", "category": "OCR", "score": 1.0}}
    numbers, _ = _scored_log(
        _log(tmp_path / "samples_mme.jsonl", ("Yes", ["Yes", "No"], mme), ("No", ["No", "Yes"], mme))
    )
    assert numbers["mme_perception_score"] == 200
    rows = [
        (
            answer,
            [answer, "Z"],
            {"gpt_eval_score": {"index": index, "A": "x", "B": "y", "question": "?", "answer": answer}},
        )
        for index, answer in ((3, "A"), (1_000_003, "B"), (4, "A"))
    ]
    file = _log(tmp_path / "samples_mmbench_en_dev_static.jsonl", *rows)
    numbers, counts = _scored_log(file)
    assert numbers == {"circular_accuracy": 100, "vanilla_accuracy": 100}
    assert (counts["total"], counts["scored"]) == (6, 3)


def test_a_log_with_repeats_is_scored_with_the_references_of_a_dataset(tmp_path):
    file = _log(tmp_path / "1_samples_vqav2_val.jsonl", ("cat", ["cat", "dog"], {}), ("red", ["red", "blue"], {}))
    about = {"variant": None, "extra": '{"year": 1}', "source": {"format": "hub_vqa", "file": "f", "row": 0}}
    rows = [{"id": n, "sample": n, "answers": [right] * 10, **about} for n, right in (("0", "cat"), ("1", "red"))]
    questions = write_predictions(tmp_path / "q.parquet", rows, task="vqa")
    (entry,) = score(file, answers=questions).entries
    assert (entry.recipe, entry.metrics["exact_match"].value) == ("lmms_vqav2", 1.0)
    assert (entry.counts.scored, entry.counts.excluded) == (2, 2)


VQA = {name: load("mmscore.recipes", f"lmms_{name}") for name in ("vqav2", "textvqa")}


def test_vqa_answers_are_read_as_the_kit_hands_them_in():
    read = {
        name: recipe.parse(Item(label='["cat"]', prediction="The Two-dogs."), "0.7").value
        for name, recipe in VQA.items()
    }
    assert read == {"vqav2": "2 dogs", "textvqa": "2 dogs"}
    # Where a split has no references VQAv2 hands the reply on as it is.
    test_split = Item(label="null", prediction="The Two-dogs.")
    assert VQA["vqav2"].parse(test_split, "0.7").value == "The Two-dogs."
    assert VQA["textvqa"].parse(test_split, "0.7").value == "2 dogs"


def test_ocrbench_refuses_a_reference_that_is_no_text():
    with pytest.raises(Error, match="must be a text"):
        _numbers("ocrbench", Item(label="5", answer="5", answers=("5",), prediction="5"))
