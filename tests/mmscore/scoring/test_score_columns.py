"""Scoring by columns: where rows are decided so, where one by one, and in which order their results stand."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Columnar, ScoredColumns
from mmscore.core.table import build_parsed_columns
from support.items import rows_of, score_rows
from support.plain_recipe import RECIPE

TEXTS = ["x", "y", "", "LEAVE OUT", "BAD ROW", "xyz", None]
ROWS = st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(["x", "y", None]), st.booleans()), min_size=1)


def _score(rows: pa.RecordBatch, version: str) -> ScoredColumns:
    """Decide the rows of which `split` is set and that are neither refused nor left out."""
    texts, answers = rows.column("prediction").to_pylist(), rows.column("answer").to_pylist()
    assert None not in texts
    known = np.array([text not in ("LEAVE OUT", "BAD ROW") for text in texts], bool)
    decided = known & np.array([value == "by columns" for value in rows.column("split").to_pylist()], bool)
    parsed = [Parsed(text, "whole response", (0, len(text))) if text else UNPARSED for text in texts]
    hits = [float(one.value == answer) for one, answer in zip(parsed, answers, strict=True)]
    scores = {"accuracy": np.array(hits)}
    if version == "2":
        scores["length"] = np.array([float(len(text)) for text in texts])
    return ScoredColumns(decided, build_parsed_columns(parsed), scores)


BY_ROWS = replace(RECIPE, columns=("answer", "split"))
BY_COLUMNS = replace(BY_ROWS, columnar=Columnar(RECIPE.parse, RECIPE.metrics, _score))


@given(rows=ROWS)
@pytest.mark.parametrize("version", ["1", "2"])
def test_decided_and_undecided_rows_keep_their_places(rows, version):
    made = [
        {
            "id": "" if n == 5 else str(n),
            "prediction": text,
            "answer": answer,
            "split": "by columns" if together else "",
        }
        for n, (text, answer, together) in enumerate(rows)
    ]
    made.append({"id": "last", "prediction": "x", "answer": "x", "split": ""})
    expected, refused = score_rows(rows_of(made), BY_ROWS, version)
    found, also_refused = score_rows(rows_of(made), BY_COLUMNS, version)
    assert found.rows.equals(expected.rows)
    assert list(found.scores) == list(expected.scores)
    for name, values in expected.scores.items():
        np.testing.assert_array_equal(found.scores[name], values)
    assert also_refused == refused


def test_names_of_scores_stand_in_the_order_in_which_rows_first_give_them():
    def measure(item, parsed, version):
        return {"late": 1.0} if item.prediction == "late" else {"early": 1.0, "late": 0.0}

    def by_columns(rows, version):
        decided = np.array([text != "late" for text in rows.column("prediction").to_pylist()])
        parsed = build_parsed_columns([Parsed(text, "whole response") for text in rows.column(0).to_pylist()])
        return ScoredColumns(decided, parsed, {"early": np.ones(len(rows)), "late": np.zeros(len(rows))})

    recipe = replace(RECIPE, metrics=measure, columnar=Columnar(RECIPE.parse, measure, by_columns))
    for texts in (["late", "x"], ["x", "late"], ["late", "late"]):
        rows = [{"id": str(n), "prediction": text, "answer": "x"} for n, text in enumerate(texts)]
        found, _ = score_rows(rows_of(rows), recipe, "1")
        expected, _ = score_rows(rows_of(rows), replace(recipe, columnar=None), "1")
        assert list(found.scores) == list(expected.scores)


def test_a_recipe_with_another_rule_is_scored_row_by_row():
    rows = [{"id": "1", "prediction": "x", "answer": "x", "split": "by columns"}]
    wrong = replace(BY_COLUMNS, metrics=lambda item, parsed, version: {"accuracy": 0.5})
    assert BY_COLUMNS.find_columnar() is BY_COLUMNS.columnar
    assert wrong.find_columnar() is None
    assert score_rows(rows_of(rows), wrong, "1")[0].scores["accuracy"].tolist() == [0.5]
