"""`--by` and `--average`: groups of any column, and means over groups only where they are means."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error, UsageError
from mmconvert.plugins.registry import find_plugins, load
from mmscore.scoring.evaluate import score
from support.predictions import choices, write_predictions

ADDITIVE = {"lmms_mme", "lmms_ocrbench", "mme_official", "vlmevalkit_mme", "vlmevalkit_ocrbench"}


def entry_of(file, recipe="own_choice", **options):
    (entry,) = score(file, recipe, **options).entries
    return entry


def with_extra(tmp_path, *extras):
    rows = choices(("A", "A"), ("B", "A"), ("A", "A"))
    for row, extra in zip(rows, extras, strict=True):
        row["extra"] = None if extra is None else json.dumps(extra)
    return write_predictions(tmp_path / "p.parquet", rows)


def accuracies(groups):
    return {value: metrics["accuracy"].value for value, metrics in groups.items()}


@pytest.mark.parametrize(
    ("extras", "key", "wanted"),
    [
        ([{"level": "hard"}, {"level": "easy"}, {"level": "hard"}], "level", {"hard": 1.0, "easy": 0.0}),
        ([{"level": 1}, {"level": 1}, {"level": 2.5}], "level", {"1": 0.5, "2.5": 1.0}),
        ([{"sure": True}, {"sure": False}, None], "sure", {"true": 1.0, "false": 0.0}),
        ([{"tags": ["a", "b"]}, {"tags": ["a"]}, {"tags": []}], "tags", {'["a","b"]': 1.0, '["a"]': 0.0, "[]": 1.0}),
        ([{"doc": {"set": "x"}}, {"doc": {"set": "y"}}, {"doc": 3}], "doc.set", {"x": 1.0, "y": 0.0}),
        ([{"a.b": "x"}, {"a": {"b": "y"}}, {}], "a.b", {"x": 1.0, "y": 0.0}),
        ([{"level": None}, {"level": ""}, {}], "level", {"": 0.0}),
    ],
)
def test_a_key_of_extra_makes_groups_whatever_it_holds(tmp_path, extras, key, wanted):
    entry = entry_of(with_extra(tmp_path, *extras), by=[f"extra.{key}"])
    assert accuracies(entry.groups[f"extra.{key}"]) == wanted


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ("extra.levle", ["no row has a value of 'extra.levle'", "Did you mean level?", "Found: level, set."]),
        ("extra.set.name", ["'extra.set.name'", "Found: level, set."]),
        ("extra", ["holds several values a row", "--by extra.level, --by extra.set"]),
        ("extra.", ["'extra.'"]),
        ("options", ["holds lists"]),
        ("tags", ["tags", "text", "lists of text"]),
        ("value", ["'value' is called like one of the results", "Rename it"]),
        ("cluster", ["Rename it"]),
        ("catgory", ["Did you mean category"]),
        ("split", ["no column 'split'", "Found: answer, category"]),
    ],
)
def test_what_makes_no_groups_is_told_before_the_first_row(tmp_path, by, words):
    table = pa.Table.from_pylist(choices(("A", "A"), category="c"))
    more = {"tags": [["x"]], "value": ["v"], "cluster": ["k"], "extra": ['{"level": 1, "set": 2}']}
    for name, values in more.items():
        table = table.append_column(name, pa.array(values))
    pq.write_table(table, tmp_path / "p.parquet")
    with pytest.raises(Error) as caught:
        entry_of(tmp_path / "p.parquet", by=[by])
    for word in words:
        assert word in str(caught.value)


def test_extra_that_is_no_json_is_named(tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), extra="not json"))
    with pytest.raises(Error, match="expected a JSON object"):
        entry_of(file, by=["extra.level"])


def test_any_plain_column_of_the_file_makes_groups(tmp_path):
    table = pa.Table.from_pylist(choices(("A", "A"), ("B", "A"), ("A", "A")))
    for name, values in {"heat": [0.5, 0.5, 1.0], "sure": [True, False, None], "round": [1, 2, 2]}.items():
        table = table.append_column(name, pa.array(values))
    pq.write_table(table, tmp_path / "p.parquet")
    groups = entry_of(tmp_path / "p.parquet", by=["heat", "sure", "round", "id"]).groups
    assert accuracies(groups["heat"]) == {"0.5": 0.5, "1": 1.0}
    assert accuracies(groups["sure"]) == {"true": 1.0, "false": 0.0}
    assert accuracies(groups["round"]) == {"1": 1.0, "2": 0.5}
    assert accuracies(groups["id"]) == {"0": 1.0, "1": 0.0, "2": 1.0}


def test_a_group_in_which_no_question_counts_is_left_out(tmp_path):
    rows = choices(("A", "A"), ("A", "A"), ("B", "A"))
    for row, id, category in zip(rows, ("1", "1000001", "2"), ("color", "shape", "size"), strict=True):
        row |= {"id": id, "category": category}
    entry = entry_of(write_predictions(tmp_path / "p.parquet", rows), "lmms_mmbench_static")
    found = {value: metrics["circular_accuracy"].value for value, metrics in entry.groups["category"].items()}
    assert found == {"color": 100.0, "size": 0.0}


def test_a_column_that_the_recipe_makes_can_be_named(tmp_path):
    rows = [
        {"id": str(n), "prediction": said, "answer": "Yes", "category": category, "task": "yes_no"}
        for n, (said, category) in enumerate([("Yes", "relation"), ("No", "discriminative-relation"), ("Yes", "x")])
    ]
    file = write_predictions(tmp_path / "p.parquet", rows)
    made = entry_of(file, "vlmevalkit_amber").groups["dimension"]
    asked = entry_of(file, "vlmevalkit_amber", by=["dimension"])
    assert list(asked.groups) == ["dimension"]
    assert asked.groups["dimension"].keys() == made.keys()
    with pytest.raises(UsageError, match="no column 'dimension'"):
        entry_of(file, "own_short_answer", by=["dimension"])


def test_macro_names_its_column_and_leaves_no_row_out_in_silence(tmp_path):
    rows = choices(("A", "A"), ("B", "A"), ("A", "A"), ("A", "A"))
    for row, category in zip(rows, ("x", "x", "y", None), strict=True):
        row["category"] = category
    entry = entry_of(write_predictions(tmp_path / "p.parquet", rows), average="macro")
    assert (entry.metrics["accuracy"].value, entry.metrics["accuracy"].n) == (0.75, 3)
    assert "average:macro over category" in entry.signature
    assert entry.messages == ["--average macro: 1 scored rows have no category and take no part."]
    assert entry.parity == "own"


def test_a_kits_number_averaged_otherwise_is_not_called_the_kits(tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), ("B", "A"), category="x"))
    assert "which the framework does not do" in entry_of(file, "vlmevalkit_mcq", average="macro").parity
    assert "which the framework does not do" not in entry_of(file, "vlmevalkit_mcq").parity


def test_numbers_that_no_group_has_are_refused_by_name(tmp_path):
    rows = [
        {**row, "id": f"{n}", "sample": str(n // 2), "variant": n % 2, "answer": "A"}
        for n, row in enumerate(choices(("A", "A"), ("B", "A"), ("A", "A"), ("A", "A")))
    ]
    file = write_predictions(tmp_path / "p.parquet", rows)
    with pytest.raises(UsageError, match="cannot give mean_accuracy, pass@2, majority_accuracy"):
        entry_of(file, by=["variant"], average="macro")


@pytest.mark.parametrize("name", sorted(find_plugins("mmscore.recipes")))
def test_points_are_added_up_and_never_averaged(name, tmp_path):
    assert load("mmscore.recipes", name).additive == (name in ADDITIVE)


@pytest.mark.parametrize("name", sorted(ADDITIVE))
def test_macro_of_points_is_refused_before_the_first_row(name, tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), category="x"))
    with pytest.raises(UsageError, match=f"recipe '{name}' adds points up"):
        entry_of(file, name, average="macro")


def test_a_breakdown_says_how_many_groups_have_few_clusters(tmp_path):
    rows = [
        {**row, "group": str(n // 2), "category": "many" if n < 80 else "few"}
        for n, row in enumerate(choices(*[("A", "AB"[n % 2]) for n in range(90)]))
    ]
    (entry,) = score(write_predictions(tmp_path / "p.parquet", rows), "own_choice", by="category").entries
    assert entry.messages == ["category: 1 of 2 groups have fewer than 30 clusters."]
