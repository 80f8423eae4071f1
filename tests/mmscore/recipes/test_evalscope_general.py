import json

import pytest

from mmconvert.core.errors import UsageError
from mmconvert.plugins.registry import load
from mmscore.core.recipe import Item
from mmscore.scoring.evaluate import score
from support.items import score_items
from support.predictions import choices, write_predictions

VQA = load("mmscore.recipes", "evalscope_general_vqa")
VMCQ = load("mmscore.recipes", "evalscope_general_vmcq")


def _vqa(version, *pairs):
    items = [Item(prediction=reply, label=json.dumps(label)) for reply, label in pairs]
    return score_items(items, VQA, version)


def test_an_empty_side_has_no_rouge_until_1_10_and_zero_since():
    pairs = [("a red car", "a red car"), ("", "a red car")]
    old, new = _vqa("1.10", *pairs), _vqa("1.14", *pairs)
    assert (old.mean("bleu-1").n, old.mean("Rouge-L-R").n, old.mean("Rouge-L-R").value) == (2, 1, 1.0)
    assert (new.mean("Rouge-L-R").n, new.mean("Rouge-L-R").value) == (2, 0.5)


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("1.3", ["mean_bleu-1", "mean_bleu-2", "mean_Rouge-L-F"]),
        ("1.14", ["bleu:mean[ngram=1]", "bleu:mean[ngram=2]", 'rouge:mean[statistic="f1",variant="l"]']),
    ],
)
def test_metrics_have_the_names_of_the_release(version, names):
    metrics = list(VQA.reduce(_vqa(version, ("a cat", "a cat")), version))
    assert [metrics[0], metrics[1], metrics[-1]] == names
    assert len(metrics) == 13


def test_a_reasoning_block_is_cut_before_scoring():
    scored = _vqa("1.3", ("<think>a dog</think> a cat", "a cat"))
    assert scored.mean("bleu-1").value == 1.0
    assert scored.column("how") == ["after the reasoning block"]


@pytest.mark.parametrize(("label", "value"), [("a cat", 1.0), (["a", " cat"], 1.0), (None, 0.0), (0, 0.0)])
def test_what_the_kit_makes_of_a_reference(label, value):
    item = Item(prediction="a cat", label=None if label is None else json.dumps(label))
    # A file in which no row has a reference is refused.
    scored = score_items([item, Item(prediction="a cat", label='"a cat"')], VQA, "1.10")
    assert scored.scores["bleu-1"].tolist() == [value, 1.0]


def test_the_table_rounds_and_counts_as_the_kits_does():
    items = [Item(prediction=reply, label='"a b c"', subset="s") for reply in ("a b c", "a", "")]
    lines = VQA.table(score_items(items, VQA, "1.10"), "1.10")
    assert lines[0] == {"Metric": "mean_bleu-1", "Subset": "s", "Num": 3, "Score": 0.3784, "Cat.0": "default"}
    assert lines[4]["Num"] == 2


def _vmcq(version, reply, label):
    return score_items([Item(prediction=reply, options=("x", "y"), label=json.dumps(label))], VMCQ, version)


def test_a_reference_of_several_labels_is_left_out_since_1_14():
    assert _vmcq("1.10", "ANSWER: A", ["A", "B"]).mean("acc").value == 0.0
    assert _vmcq("1.14", "ANSWER: A", ["A", "B"]).column("status") == ["excluded"]


def test_choices_are_read_by_the_rules_of_the_release():
    assert _vmcq("1.3", "ANSWER: B\nANSWER: A", "A").mean("acc").value == 0.0
    assert _vmcq("1.14", "ANSWER: B\nANSWER: A", "A").mean("accuracy").value == 1.0
    assert list(VMCQ.reduce(_vmcq("1.14", "ANSWER: A", "A"), "1.14")) == ["accuracy:mean"]
    assert list(VMCQ.reduce(_vmcq("1.3", "ANSWER: A", "A"), "1.3")) == ["mean_acc"]


def test_options_say_how_the_prompt_asked_for_the_answer():
    item = Item(prediction="答案：B，不是 A", options=["a", "b", "c"], label='"B"')
    chinese = VMCQ.configure({"chinese": True})
    assert (VMCQ.parse(item, "1.14").value, chinese.parse(item, "1.14").value) == ("A", "B")
    several = VMCQ.configure({"multiple": True})
    assert several.parse(item._replace(prediction="ANSWER: A,B"), "1.14").value == "AB"
    with pytest.raises(UsageError, match="Did you mean chinese"):
        VMCQ.configure({"chines": True})
    with pytest.raises(UsageError, match="true or false"):
        VMCQ.configure({"multiple": "yes"})


def _replies(folder, *letters):
    """Two questions whose right answer is A, as many replies to each."""
    rows = choices(*((letter, "A") for letter in letters))
    half = len(rows) // 2
    for number, row in enumerate(rows):
        row |= {"id": f"{number // half}#{number % half}", "sample": str(number // half), "variant": number % half}
        row |= {"prediction": f"ANSWER: {letters[number]}"}
    return write_predictions(folder / "replies.parquet", rows)


@pytest.mark.parametrize(
    ("aggregation", "old", "new"),
    [
        ("mean_and_pass_at_k", {"mean_acc_pass@1": 0.5, "mean_acc_pass@2": 0.8333}, {"pass_at_k[k=2]": 0.8333}),
        ("mean_and_vote_at_k", {"mean_acc_vote@1": 0.5, "mean_acc_vote@3": 0.5}, {"vote_at_k[k=3]": 0.5}),
        ("mean_and_pass_hat_k", {"mean_acc_pass^1": 0.5, "mean_acc_pass^2": 0.1667}, {"pass_hat_k[k=3]": 0.0}),
        ("mean", {"mean_acc": 0.5}, {"mean": 0.5}),
    ],
)
def test_replies_to_a_question_are_counted_together_where_the_options_say_so(tmp_path, aggregation, old, new):
    file, options = _replies(tmp_path, "A", "A", "B", "B", "B", "A"), tmp_path / "options.yaml"
    options.write_text(f"aggregation: {aggregation}\n")
    expected = {"1.10": old, "1.14": {f"accuracy:{name}": value for name, value in new.items()}}
    for version, numbers in expected.items():
        (entry,) = score(file, f"evalscope_general_vmcq@{version}", recipe_options=options).entries
        table = {line["Metric"]: line["Score"] for line in entry.table}
        assert {name: table[name] for name in numbers} == numbers
    with pytest.raises(UsageError, match="aggregation: expected one of mean, mean_and_pass_at_k"):
        VMCQ.configure({"aggregation": "pass@k"})
