"""Files that several processes score: the results are those of one, wherever the rows are cut."""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mmconvert.core.errors import Error, UsageError
from mmconvert.plugins.registry import load
from mmscore.core.predictions.load import open_rows
from mmscore.scoring import parts, score
from mmscore.scoring.evaluate import score as score_file
from mmscore.scoring.parts import RecipeReference
from mmscore.scoring.score import score_rows
from mmscore.scoring.signature import Fingerprint
from support.items import opened, rows_of
from support.predictions import choices, write_predictions

ROW = st.fixed_dictionaries(
    {
        "prediction": st.sampled_from(["A", "(B)", "The answer is C.", "red", "none of them", "", None]),
        "answer": st.sampled_from(["A", "B", "C", None]),
        "options": st.sampled_from([["red", "green", "blue"], ["red", None, "blue"], ["a"], []]),
        "group": st.sampled_from([None, "g", "h"]),
        "category": st.sampled_from([None, "x", "y"]),
        "extra": st.sampled_from([None, '{"k": "v"}', '{"k": 2}']),
    }
)


@contextmanager
def _one_process(workers):
    assert workers == 2
    yield map


@pytest.fixture
def shared(monkeypatch):
    """Every file is shared among processes behind its first rows; they are all this one."""
    monkeypatch.setattr(score, "_WORTH", -1.0)
    monkeypatch.setattr(score, "_TRIED", (1, 1))
    monkeypatch.setattr(score, "open_crew", _one_process)


def _score(rows, name, batch_rows, **how):
    table = rows_of(rows).identity
    file = replace(opened(table), read=lambda names: iter(table.select(names).to_batches(max_chunksize=batch_rows)))
    recipe = load("mmscore.recipes", name)
    version = next(iter(recipe.versions))
    fingerprint = Fingerprint(recipe.fields, file.names)
    seen = []
    try:
        scored, refusals = score_rows(
            file,
            recipe,
            version,
            by=("extra.k",),
            fingerprint=fingerprint,
            reference=RecipeReference(name, version),
            progress=lambda done, total: seen.append((done, total)),
            **how,
        )
    except Error as error:
        return str(error)
    scores = {key: values.tolist() for key, values in scored.scores.items()}
    assert seen[-1] == (len(rows), len(rows))
    return scored.rows.to_pylist(), repr(scores), refusals, fingerprint.digests()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=14), batch_rows=st.integers(1, 5), size=st.integers(1, 5))
@pytest.mark.parametrize("name", ["vlmevalkit_mcq", "own_choice", "mmbench_circular"])
def test_the_results_do_not_depend_on_how_rows_are_shared(shared, monkeypatch, name, rows, batch_rows, size):
    monkeypatch.setattr(score, "choose_size", lambda speed: size)
    made = [{"id": "" if n == 9 else str(n), **row} for n, row in enumerate(rows)]
    assert _score(made, name, batch_rows, workers=2) == _score(made, name, batch_rows, workers=1)


def test_the_rest_of_a_file_is_shared_behind_the_rows_that_were_tried(shared, monkeypatch):
    handed = []
    monkeypatch.setattr(score, "score_part", lambda part: handed.append(part.first) or parts.score_part(part))
    monkeypatch.setattr(score, "choose_size", lambda speed: 3)
    rows = [{"id": str(n), "prediction": "A", "answer": "A", "options": ["x", "y"], "extra": None} for n in range(12)]
    assert _score(rows, "own_choice", 5, workers=2)[0][-1]["status"] == "scored"
    assert handed == [2, 5, 8, 10]


def test_processes_of_their_own_give_the_report_of_one(tmp_path, monkeypatch):
    monkeypatch.setattr(score, "_WORTH", -1.0)
    monkeypatch.setattr(score, "_TRIED", (1, 1))
    monkeypatch.setattr("mmscore.core.predictions.load.BATCH_ROWS", 8)
    rows = [*choices(*[("A", "B"), ("(B)", "B"), ("It is red", "A"), (None, "A")] * 12), {"id": "x", "prediction": "A"}]
    file = write_predictions(tmp_path / "p.parquet", rows)
    for recipe in ("own_choice", "vlmevalkit_mcq@v2"):
        one, two = (score_file(file, recipe, workers=workers) for workers in (1, 2))
        assert one.to_json() == two.to_json()
        assert one.scored[0].rows.equals(two.scored[0].rows)


def test_a_recipe_of_the_caller_alone_is_not_sought_by_others(tmp_path, monkeypatch):
    monkeypatch.setattr(score, "_WORTH", -1.0)
    monkeypatch.setattr(score, "_TRIED", (1, 1))
    monkeypatch.setattr(score, "open_crew", lambda workers: pytest.fail("other processes were started"))
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), ("B", "A")))
    assert score_file(file, load("mmscore.recipes", "own_choice")).entries[0].counts.scored == 2


def test_a_short_file_is_scored_by_one_process(tmp_path, monkeypatch):
    monkeypatch.setattr(score, "open_crew", lambda workers: pytest.fail("other processes were started"))
    monkeypatch.setattr("mmscore.core.predictions.load.BATCH_ROWS", 8)
    rows = open_rows(write_predictions(tmp_path / "p.parquet", choices(*[("A", "A")] * 40)))
    recipe = load("mmscore.recipes", "own_choice")
    scored, _ = score_rows(rows, recipe, "1", workers=2, reference=RecipeReference("own_choice", "1"))
    np.testing.assert_array_equal(scored.scores["accuracy"], np.ones(40))


def test_parts_take_about_as_long_whatever_a_row_costs():
    assert [parts.choose_size(speed) for speed in (10.0, 8_000.0, 1e7)] == [256, 2_000, 16_384]


def test_no_worker_is_refused(tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A")))
    with pytest.raises(UsageError, match="workers"):
        score_file(file, "own_choice", workers=0)
