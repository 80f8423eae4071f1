import math

import pytest
from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmconvert.plugins.registry import load
from mmscore.core.predictions.join import join
from mmscore.core.predictions.load import open_rows
from mmscore.core.recipe import Item, NoReferenceError
from mmscore.scoring.evaluate import ScoreOptions, score, score_each
from mmscore.scoring.judging.request import JudgeRequest
from support.items import score_items, score_rows
from support.plain_recipe import RECIPE
from support.predictions import choices, write_predictions

ROWS = [
    {"id": "right", "prediction": "x", "answer": "x"},
    {"id": "wrong", "prediction": "y", "answer": "x"},
    {"id": "unparsed", "prediction": "", "answer": "x"},
    {"id": "excluded", "prediction": "LEAVE OUT", "answer": "x"},
    {"id": "rejected", "prediction": "BAD ROW", "answer": "x"},
    {"id": "failed", "prediction": None, "answer": "x"},
    {"id": "told", "prediction": "text of an error", "answer": "x", "prediction_status": "failed"},
    {"id": "skipped", "prediction": None, "answer": "x", "prediction_status": "skipped"},
    {"id": None, "prediction": "x", "answer": "x"},
    {"id": "", "prediction": "x", "answer": "x"},
]


def _scored(tmp_path, rows=ROWS, **options):
    return score_rows(open_rows(write_predictions(tmp_path / "p.parquet", rows)), RECIPE, "1", **options)


def test_every_row_meets_one_fate_and_a_failure_is_never_scored(tmp_path):
    scored, refusals = _scored(tmp_path)
    assert scored.column("status") == [
        "scored", "scored", "scored", "excluded", "rejected", "failed", "failed", "missing", "rejected", "rejected",
    ]  # fmt: skip
    assert scored.scores["accuracy"][:3].tolist() == [1.0, 0.0, 0.0]
    assert all(math.isnan(value) for value in scored.scores["accuracy"][3:])
    assert {refusal.id for refusal in refusals} == {"rejected", None, ""}
    assert any("p.parquet row 4 prediction: this text is refused." in refusal.message for refusal in refusals)


def test_optional_references_are_read_and_may_be_missing(tmp_path):
    def compared(item, parsed, version):
        if item.answer is None:
            raise NoReferenceError("answer")
        return {"accuracy": float(parsed.value == item.answer)}

    strict = replace(RECIPE, columns=(), optional=("answer",), metrics=compared)
    loose = replace(strict, metrics=lambda item, parsed, version: {"accuracy": float(item.answer is None)})
    bare = open_rows(write_predictions(tmp_path / "bare.parquet", [{"id": "1", "prediction": "x"}]))
    full = open_rows(write_predictions(tmp_path / "full.parquet", ROWS[:2]))
    assert [score_rows(rows, loose, "1")[0].scores["accuracy"][0] for rows in (bare, full)] == [1.0, 0.0]
    assert score_rows(full, strict, "1")[0].scores["accuracy"].tolist() == [1.0, 0.0]
    with pytest.raises(Error, match="no row has a reference"):
        score_rows(bare, strict, "1")


def test_what_was_read_and_where_is_kept(tmp_path):
    scored, _ = _scored(tmp_path)
    assert scored.column("value")[:3] == ["x", "y", None]
    assert scored.column("how")[:3] == ["whole response", "whole response", "unparsed"]
    assert scored.column("end")[:3] == [1, 1, None]


def test_a_score_that_only_some_rows_have_is_nan_in_the_others():
    items = [Item(prediction="x", answer="x"), Item(prediction="LEAVE OUT"), Item(prediction="abc", answer="x")]
    scored = score_items(items, RECIPE)
    assert scored.scores["length"][[0, 2]].tolist() == [1.0, 3.0]
    assert math.isnan(scored.scores["length"][1])


def test_batches_make_no_difference(tmp_path, monkeypatch):
    rows = [{"id": str(n), "prediction": "x" * (n % 3), "answer": "x", "group": f"g{n % 2}"} for n in range(10)]
    whole, _ = _scored(tmp_path, rows)
    monkeypatch.setattr("mmscore.core.predictions.load.BATCH_ROWS", 3)
    cut, _ = _scored(tmp_path, rows)
    assert cut.rows.equals(whole.rows)
    assert cut.mean("accuracy") == whole.mean("accuracy")


def test_rows_of_a_group_are_one_cluster_and_rows_without_a_group_stand_alone(tmp_path):
    rows = [
        {"id": str(n), "prediction": "x", "answer": "x" if n % 2 else "y", "group": g}
        for n, g in enumerate(["a", "a", None, None])
    ]
    scored, _ = _scored(tmp_path, rows)
    first, second, third, fourth = scored.rows["cluster"].to_pylist()
    assert first == second
    assert len({first, third, fourth}) == 3


def test_a_key_of_extra_can_be_kept(tmp_path):
    rows = [
        {"id": str(n), "prediction": "x", "answer": "x", "extra": extra}
        for n, extra in enumerate(['{"k": "v"}', '{"k": 2}', "{}", None])
    ]
    scored, _ = _scored(tmp_path, rows, by=("extra.k",))
    assert scored.column("extra.k") == ["v", "2", None, None]


def test_a_key_of_extra_that_a_recipe_keeps_is_null_in_a_file_without_that_column(tmp_path):
    rows = open_rows(write_predictions(tmp_path / "p.parquet", ROWS[:2]))
    scored, _ = score_rows(rows, replace(RECIPE, keep=("extra.k",)), "1")
    assert scored.column("extra.k") == [None, None]


@pytest.mark.parametrize("rows", [[{"id": "1", "prediction": "x"}], [{"id": "1", "prediction": "x", "answer": None}]])
def test_no_reference_at_all_is_refused_and_not_scored_as_zero(tmp_path, rows):
    with pytest.raises(Error, match="--answers"):
        _scored(tmp_path, rows)


@pytest.mark.parametrize("recipe", ["own_choice", "vlmevalkit_mcq", "mmbench_circular", "evalscope_general_vmcq"])
def test_a_file_without_options_is_refused_by_rules_that_choose_among_them(tmp_path, recipe):
    bare = [{"id": str(n), "prediction": "A", "answer": "A"} for n in range(20)]
    with pytest.raises(Error, match=r"p\.parquet: 20 of 20 rows have no options, .* or A, B, C, "):
        score(write_predictions(tmp_path / "p.parquet", bare), recipe)


def test_rules_that_need_no_options_read_rows_without(tmp_path):
    bare = [{"id": "1", "prediction": "(A)", "answer": "A", "label": '"A"', "dataset": "MMMU_DEV_VAL"}]
    file = write_predictions(tmp_path / "p.parquet", bare)
    # VLMEvalKit makes two options up for MMMU's open questions; ReForm-Eval reads the first mark in brackets.
    for recipe in ("vlmevalkit_mcq", "reform_singlechoice"):
        assert score(file, recipe).entries[0].metrics["accuracy"].value == 1.0


def test_a_row_without_options_among_others_is_rejected_by_our_own_rule(tmp_path):
    rows = [*choices(("A", "A")), {"id": "x", "prediction": "A", "answer": "A"}]
    (entry,) = score(write_predictions(tmp_path / "p.parquet", rows), "own_choice").entries
    assert (entry.counts.scored, entry.counts.rejected) == (1, 1)
    assert "the row has no options" in entry.messages[0]


def test_split_keeps_order_and_leaves_null_out(tmp_path):
    rows = [{"id": str(n), "prediction": "x", "answer": "x", "category": c} for n, c in enumerate("bab")] + [
        {"id": "9", "prediction": "x", "answer": "x"}
    ]
    scored, _ = _scored(tmp_path, rows)
    assert [(value, part.column("id")) for value, part in scored.split("category")] == [("b", ["0", "2"]), ("a", ["1"])]


def test_a_label_that_is_no_json_rejects_its_row_and_says_what_to_do(tmp_path):
    rows = [{"id": "1", "prediction": "A", "options": ["x", "y"], "label": label} for label in ("B",)]
    file = write_predictions(tmp_path / "p.parquet", rows)
    scored, refusals = score_rows(open_rows(file), load("mmscore.recipes", "vlmevalkit_mcq"), "v3")
    assert scored.column("status") == ["rejected"]
    assert "label: expected JSON (got 'B')" in refusals[0].message


def test_extra_that_is_no_json_is_refused(tmp_path):
    rows = [{"id": "1", "prediction": "x", "answer": "x", "extra": "k=v"}]
    with pytest.raises(Error, match="extra: expected a JSON object"):
        _scored(tmp_path, rows, by=("extra.k",))


@pytest.mark.parametrize(("value", "text"), [(True, "true"), (0.5, "0.5"), (7, "7"), ("x", "x")])
def test_a_column_of_the_users_own_may_be_of_any_plain_type(tmp_path, value, text):
    scored, _ = _scored(tmp_path, [{"id": "1", "prediction": "x", "answer": "x", "mine": value}], by=("mine",))
    assert scored.column("mine") == [text]


def test_progress_counts_to_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr("mmscore.core.predictions.load.BATCH_ROWS", 4)
    seen = []
    _scored(tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 10), (4, 10), (8, 10), (10, 10)]


def test_a_refused_row_says_what_to_do(tmp_path):
    rows = choices(("A", "A"), ("A", "E"))
    file = write_predictions(tmp_path / "p.parquet", rows)
    (entry,) = score(file, "own_choice").entries
    (message,) = entry.messages
    assert message.endswith("(got 'E'). Correct the answer, or leave the row out."), message


def test_rows_that_were_not_read_or_not_asked_keep_what_the_dataset_says_of_them(tmp_path):
    file = tmp_path / "p.jsonl"
    file.write_text('{"id": "a", "prediction": "x"}\n{"id": "b", "prediction": null}\n')
    asked = [{"id": n, "answer": "x", "category": n.upper(), "group": "g", "extra": f'{{"k": "{n}"}}'} for n in "abc"]
    rows = join(open_rows(file), open_rows(write_predictions(tmp_path / "q.parquet", asked), required=("id",)))
    scored, _ = score_rows(rows, RECIPE, "1", by=["extra.k", "dataset"], dataset="set")
    found = zip(*map(scored.column, ("id", "status", "category", "extra.k", "dataset", "cluster")), strict=True)
    assert list(found) == [
        ("a", "scored", "A", "a", "set", 0),
        ("b", "rejected", "B", "b", "set", 0),
        ("c", "missing", "C", "c", "set", 0),
    ]


JUDGE = """
from mmscore.core.judge import LEAVE, Judge, NoVerdict, Verdict

STEPS = {"out": Verdict(scores={}), "lost": NoVerdict("says nothing"), "B": Verdict(scores={"accuracy": 0.5})}

JUDGE = Judge(
    "tells", "own", {"1": ""}, {"all": ""}, "all", (), lambda case, said: STEPS.get(case.item.prediction, LEAVE)
)
"""


def test_a_judged_row_has_the_judges_scores_or_none_at_all(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "tells.py").write_text(JUDGE)
    rows = [{"id": text, "prediction": text, "answer": text} for text in ("out", "lost", "B", "left")]
    file = write_predictions(tmp_path / "p.parquet", rows, task="vqa")
    request = JudgeRequest(f"{tmp_path / 'tells.py'}@JUDGE", "m", "http://127.0.0.1:9/v1")
    ((entry, scored),) = score_each([str(file)], ["own_short_answer"], ScoreOptions(judge=request))
    assert scored.column("status") == ["excluded", "judge_failed", "scored", "scored"]
    found = scored.scores["accuracy"].tolist()
    assert [None if math.isnan(value) else value for value in found] == [None, None, 0.5, 1.0]
    assert (entry.metrics["accuracy"].value, entry.metrics["accuracy"].n) == (0.75, 2)
    assert (entry.counts.scored, entry.counts.excluded, entry.counts.judge_failed) == (2, 1, 1)
