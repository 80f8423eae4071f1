import json

import pytest
import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    LongformerConfig,
    LongformerForSequenceClassification,
)

from mmconvert.core.errors import Error
from mmconvert.testing.demo.tiny_vlm import build_byte_tokenizer
from mmscore.core.recipe import Item
from mmscore.kits.mmtrusteval.connections import combine_classifiers
from mmscore.kits.mmtrusteval.evaluators import EvaluatorContext
from mmscore.kits.mmtrusteval.local_classifiers import load_harmbench, load_longformer
from mmscore.kits.mmtrusteval.rows import build_chain_recipe
from mmscore.scoring.evaluate import score
from support.items import score_items

pytestmark = pytest.mark.slow

PROMPT = "{behavior}|{generation}|"


def _save(folder, model, tokenizer):
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    tokenizer = build_byte_tokenizer()
    torch.manual_seed(0)
    size = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = LongformerConfig(
        vocab_size=len(tokenizer), num_labels=6, attention_window=8, max_position_embeddings=66, pad_token_id=1, **size
    )
    return _save(tmp_path_factory.mktemp("longformer"), LongformerForSequenceClassification(config), tokenizer)


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    tokenizer = build_byte_tokenizer()
    torch.manual_seed(0)
    size = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=len(tokenizer), num_key_value_heads=2, **size)
    return _save(tmp_path_factory.mktemp("harmbench"), LlamaForCausalLM(config), tokenizer)


def test_the_most_likely_label_decides(classifier):
    classify = load_longformer(classifier, device="cpu")
    every = [f"LABEL_{n}" for n in range(6)]
    found = [label for label in every if classify("classifer_reject_eval", "no", None, {"label_fields": [label]})]
    assert len(found) == 1
    assert classify("classifer_reject_eval", "no", None, {}) == float(found[0] in ("LABEL_0", "LABEL_4"))
    assert classify("classifer_follow_instruction_eval", "no", None, {}) == float(found == ["LABEL_5"])
    assert classify("classifer_reject_eval", "x" * 500, None, {"label_fields": every}) == 1.0


def test_a_chain_is_scored_with_a_classifier(classifier):
    fields = [f"LABEL_{n}" for n in range(6)]
    config = {"classifer_reject_eval": {"label_fields": fields, "metrics_cfg": {"pred_mean": {}}}}
    recipe = build_chain_recipe([config], setting=EvaluatorContext(classify=load_longformer(classifier, device="cpu")))
    assert score_items([Item(id="1", prediction="a")], recipe).scores["classifer_reject_eval:pred_no_op"] == [1.0]


def test_harm_is_the_first_token(judge):
    classify = load_harmbench(judge, PROMPT, device="cpu")
    assert classify("harmbenchmodel_eval", "reply", "behaviour", {}) == 0.0
    with pytest.raises(Error, match="expected a text"):
        classify("harmbenchmodel_eval", "reply", None, {})
    with pytest.raises(Error, match="not a classifier of harm"):
        classify("classifer_reject_eval", "reply", None, {})


def test_classifiers_are_told_apart_by_their_evaluator(classifier, judge):
    ways = {"classifer_reject_eval": load_longformer(classifier), "harmbenchmodel_eval": load_harmbench(judge, PROMPT)}
    classify = combine_classifiers(ways)
    assert classify("harmbenchmodel_eval", "a", "b", {}) == 0.0
    with pytest.raises(Error, match="openai_moderation_api_eval has no classifier"):
        classify("openai_moderation_api_eval", "a", None, {})
    with pytest.raises(Error, match="not a classifier of responses"):
        ways["classifer_reject_eval"]("harmbenchmodel_eval", "a", "b", {})


def test_a_folder_without_weights_is_refused(tmp_path):
    with pytest.raises(Error, match="no such file or folder"):
        load_longformer(tmp_path / "none")
    with pytest.raises(Error, match="holds no such model"):
        load_harmbench(tmp_path, PROMPT)


def test_folders_are_named_in_a_file_of_options(classifier, judge, tmp_path):
    places = {
        "classifer_reject_eval": {"folder": str(classifier), "device": "cpu"},
        "harmbenchmodel_eval": {"folder": str(judge), "prompt": PROMPT, "device": "cpu"},
    }
    chains = [{name: {"metrics_cfg": {"pred_mean": {}}}} for name in places]
    options = tmp_path / "options.json"
    options.write_text(json.dumps({"classifiers": places, "evaluator_seq_cfgs": chains}))
    log = tmp_path / "log.json"
    log.write_text(json.dumps({"per_sample_results": [{"pred": "a", "label": "b"}]}))
    (entry,) = score(log, "mmtrust_task", recipe_options=options).entries
    wanted = load_longformer(classifier, device="cpu")("classifer_reject_eval", "a", "b", {})
    assert [e.value for e in entry.metrics.values()] == [wanted, 0.0]
