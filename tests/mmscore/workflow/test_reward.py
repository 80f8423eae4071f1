"""Recipes as reward functions: the scores of `mmscore.score`, as TRL and verl call them."""

import pickle
import warnings

import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error, UsageError
from mmconvert.pipeline.convert import Target, read, write
from mmconvert.plugins.registry import load_all
from mmscore.api import reward, score
from support.predictions import write_predictions

OPTIONS = ["red", "green", "blue"]
SAID = ["A", "The answer is B.", "C. blue", "unsure", "", "(b)", "green", "<think>B</think>A"]


def write_rows(folder):
    rows = [
        {"id": str(n), "prediction": text, "answer": "ABC"[n % 3], "options": OPTIONS, "task": "multiple_choice"}
        for n, text in enumerate(SAID[:-1])
    ]
    return rows, write_predictions(folder / "p.parquet", rows, question="Which?")


@pytest.mark.parametrize("recipe", ["own_choice", "vlmevalkit_mcq"])
def test_rewards_are_the_scores_of_the_recipe(tmp_path, recipe):
    rows, path = write_rows(tmp_path)
    found = reward(recipe)(
        prompts=["?"] * len(rows),
        completions=[row["prediction"] for row in rows],
        answer=[row["answer"] for row in rows],
        options=[row["options"] for row in rows],
        question=["Which?"] * len(rows),
        trainer_state=None,
    )
    (scored,) = score(path, recipe).scored
    assert found == scored.scores["accuracy"].tolist()
    assert {0.0, 1.0} == {*found}


def test_turns_and_thinking_are_read_as_predict_reads_them():
    turn = [{"role": "assistant", "content": [{"type": "text", "text": "B? no.</think>A"}]}]
    texts = [[{"role": "assistant", "content": "A"}], turn, "<think>A", "<think>B</think>\n\nA"]
    assert reward("own_choice")(completions=texts, answer=["A"] * 4, options=[OPTIONS] * 4) == [1.0, 1.0, 0.0, 1.0]


def test_verl_calls_it_for_each_response():
    compute_score = reward("own_choice")
    info = {"index": 3, "options": '["red", "green", "blue"]', "task": "multiple_choice"}
    about = {"data_source": "colours", "ground_truth": "B", "extra_info": info}
    assert compute_score(solution_str="B", **about) == 1.0
    assert compute_score(solution_str="C", **about) == 0.0
    several = {"data_source": "d", "ground_truth": "cat", "extra_info": {"references": '["cat", "kitten"]'}}
    assert reward("own_short_answer")(solution_str="kitten", **several) == 1.0
    with pytest.warns(UserWarning, match="a row has no reward"), pytest.raises(Error, match="gives the row no score"):
        compute_score(solution_str="C", **{**about, "ground_truth": "Z"})


def test_exported_verl_rows_have_what_recipes_read(repository, tmp_path):
    write(
        read(repository / "src/mmconvert/testing/demo/files/vmcq/colours.tsv"), Target(tmp_path / "v.parquet"), "verl"
    )
    row = pq.read_table(tmp_path / "v.parquet").to_pylist()[0]
    about = {"data_source": row["data_source"], **row["reward_model"], "extra_info": row["extra_info"]}
    truth = row["reward_model"]["ground_truth"]
    said = [truth, "ABCD".replace(truth, "")[0]]
    assert [reward("vlmevalkit_mcq")(solution_str=text, **about) for text in said] == [1.0, 0.0]


def test_what_is_missing_is_named():
    with pytest.raises(UsageError, match=r"needs the column answer and options\. Found: id, solution\. Name it"):
        reward("own_choice")(completions=["A"], id=["1"], solution=["A"])
    mapped = reward("own_choice", columns={"answer": "solution"})
    assert mapped(completions=["A"], solution=["A"], options=[OPTIONS]) == [1.0]
    with pytest.raises(UsageError, match="reads no anser"):
        reward("own_choice", columns={"anser": "solution"})
    with pytest.raises(UsageError, match="has no score 'f1'"):
        reward("own_choice", score="f1")(completions=["A"], answer=["A"], options=[OPTIONS])
    with pytest.raises(UsageError, match="expected completions"):
        reward("own_choice")()


def test_rows_that_cannot_be_scored_have_no_reward():
    with pytest.warns(UserWarning, match="a row has no reward: answer"):
        found = reward("own_choice")(completions=["A", "A", "A"], answer=["Z", None, "A"], options=[OPTIONS] * 3)
    assert found == [None, None, 1.0]


def test_recipes_that_need_a_judge_are_refused():
    with pytest.raises(UsageError, match="'mmtrust_judged' has no scores without a judge, and a reward asks no model"):
        reward("mmtrust_judged")


def test_recipes_take_their_rows_or_leave_them():
    """Each recipe that a reward may have gives numbers or None for plain rows, whatever it compares."""
    plain = {"answer": ["A", "B"], "answers": [["A"], ["B"]], "label": ['"A"', '"B"'], "options": [OPTIONS] * 2}
    facts = {"question": ["Which?"] * 2, "task": ["multiple_choice"] * 2, "dataset": ["d"] * 2}
    given = {}
    for name, recipe in load_all("mmscore.recipes"):
        if recipe.needs_judge or recipe.fit:  # the latter read datasets of MMTrustEval alone
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given[name] = reward(name)(completions=["A", "A"], **plain, **facts)
    assert len(given) > 40
    assert all(one is None or isinstance(one, float) for found in given.values() for one in found)
    right = [name for name, (first, second) in given.items() if first == 1.0 and second == 0.0]
    assert {"own_choice", "vlmevalkit_mcq", "own_short_answer"} <= {*right}


def test_it_goes_to_another_process():
    made = pickle.loads(pickle.dumps(reward("own_choice", columns={"answer": "solution"})))
    assert made.__name__ == "own_choice"
    assert made(completions=["A"], solution=["A"], options=[OPTIONS]) == [1.0]
