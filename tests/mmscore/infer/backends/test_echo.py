"""The backend without a model: what it says, and the knobs that other tests turn."""

import pytest

from mmconvert.core.errors import UsageError
from mmscore.infer.backend import Generation, ModelOptions
from mmscore.infer.backends.echo import BACKEND
from support.questions import record


def said(model, *records):
    return [answer.text for answer in BACKEND(ModelOptions(model)).answer(records)]


def test_it_says_the_reference_the_prompt_or_a_fixed_text():
    row = record(0, b"\x89PNG", "What?", answer="cat")
    assert said("answer", row, record(1, "x", answer=None, answers=("dog", "cat")), record(2, "x")) == [
        "cat",
        "dog",
        "",
    ]
    assert said("prompt", row) == ["<image>What?"]
    assert said("text=B", row) == ["B"]


def test_knobs_fail_rows_and_log_them(tmp_path):
    backend = BACKEND(ModelOptions(f"answer:fail=3,batch=2,log={tmp_path / 'log'}"))
    answers = backend.answer([record(i, "x", answer="a") for i in range(6)])
    assert [answer.status for answer in answers] == ["ok", "ok", "failed"] * 2
    assert (tmp_path / "log").read_text().split() == list("012345")
    assert backend.batch_size == 2
    assert backend.identity == BACKEND(ModelOptions("answer")).identity


@pytest.mark.parametrize(
    ("model", "message"),
    [("answr", "Did you mean answer"), ("answer:dealy=1", "Did you mean delay"), ("answer:fail=x", "to be a number")],
)
def test_misspelt_models_and_knobs_are_refused(model, message):
    with pytest.raises(UsageError, match=message):
        BACKEND(ModelOptions(model))


def test_options_of_real_models_are_refused():
    with pytest.raises(UsageError, match=r"'echo' has no --max-new-tokens, --temperature, --dtype"):
        BACKEND(ModelOptions("answer", Generation(max_new_tokens=3, temperature=0.5), dtype="float16"))
