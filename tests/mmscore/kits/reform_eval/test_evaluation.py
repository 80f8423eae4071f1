import json

import pytest

from mmconvert.core.errors import Error
from mmscore.kits.reform_eval.evaluation import FORMULATIONS, evaluate, judge_choice
from mmscore.nlp import meteor


def _record(sample, answer, prediction, **more):
    return {"sample_id": sample, "answer": answer, "answer_options": ["yes", "no"], "prediction": prediction, **more}


def test_the_real_lists_have_the_kits_numbers(shared):
    folder = shared / "real/reform_eval"
    expected = json.loads((folder / "expected.json").read_text())
    file = "TDIUC_SingleChoice_likelihood_imagebindLLM_imagebindLLM.json"
    records = json.loads((folder / file).read_text())
    result = evaluate(records, "SingleChoice", eval_stability=True, infer_method="likelihood")
    assert result.numbers == pytest.approx(expected[file])
    file = "FUNSD_KIEOpenEnded_generation_blip2_blip2_t5_instruct.json"
    records = json.loads((folder / file).read_text())
    for formulation, value in expected[file].items():
        assert evaluate(records, formulation).numbers["accuracy"] == pytest.approx(value)


def test_options_are_taken_by_their_text_only_where_they_are_given():
    assert judge_choice("no", 1, ["yes", "no"]).right
    assert judge_choice("no", 1).index is None
    assert evaluate([_record(0, 1, "no")], "SingleChoice").numbers == {"accuracy": 0.0, "format_hit_rate": 0.0}


def test_an_option_that_is_not_there_counts_as_well_formed_and_keeps_its_text():
    records = [_record(0, 1, "(Z)"), _record(0, 1, "(B)")]
    result = evaluate(records, "SingleChoice", eval_stability=True)
    assert result.numbers["format_hit_rate"] == 1.0
    assert result.numbers["instability"] == pytest.approx(0.6931471805599453)


def test_rounds_give_a_trend():
    records = [_record(n, 0, reply, round_id=n) for n, reply in enumerate(("(A)", "(A)", "(B)", "(B)"))]
    result = evaluate(records, "SingleChoice", multi_round_eval=True)
    assert result.numbers["slope"] == pytest.approx(-0.4)
    assert result.log[-1].startswith("corr(round, performance):-0.89")


@pytest.mark.parametrize(
    ("records", "formulation", "options", "message"),
    [
        ([], "SingleChoice", {}, "no records"),
        ([_record(0, 1, 1)], "SingleChoice", {}, "gives a text"),
        ([_record(0, 1, "(A)")], "SingleChoice", {"infer_method": "likelihood"}, "number of an option"),
        ([_record(0, "A", "(A)")], "SingleChoice", {}, "number of an option"),
        ([_record(0, 1, "(A)")], "SingleChoice", {"infer_method": "ppl"}, "no method"),
        (
            [_record(0, 1, "(A)")],
            "SingleChoice",
            {"multi_round_eval": True},
            "record 0, round_id: .* leave multi_round_eval",
        ),
        ([_record(0, 1, "a cat")], "Generation", {}, "record 0, references: .*the formulation of this dataset"),
        ([_record(0, 1, "(A)", round_id="0")], "SingleChoice", {"multi_round_eval": True}, "number of the round"),
        ([_record(0, 1, "(A)"), _record(0, 1, "(A)"), _record(1, 1, "(A)")], "SingleChoice", {}, "more often"),
        ([_record([0], 1, "(A)")], "SingleChoice", {}, "text or a number"),
        ([_record(0, "x", "x")], "OCROpenEnded", {"eval_stability": True}, "stability"),
        ([_record(0, None, "x")], "OCROpenEnded", {}, "text or a list"),
        ([_record(0, ["x"], "x")], "KIEOpenEnded", {}, "texts only"),
        ([{"prediction": "x", "references": "x"}], "Generation", {}, "list of captions"),
        ([{"prediction": None, "references": ["x"]}], "Generation", {}, "expected a text"),
        ([_record(0, 1, "x")], "Singlechoice", {}, "did you mean SingleChoice"),
    ],
)
def test_what_the_kit_breaks_off_at_is_refused_by_name(records, formulation, options, message):
    with pytest.raises(Error, match=f"(?i){message}"):
        evaluate(records, formulation, **options)


def test_every_formulation_logs_its_name(monkeypatch):
    monkeypatch.setattr(meteor, "describe_missing", lambda: "no Java: METEOR takes seconds to start")
    records = [{"sample_id": 0, "answer": "0", "prediction": "(A)", "references": ["(A)"]}]
    for formulation in FORMULATIONS:
        assert formulation in evaluate(records, formulation).log[0]
