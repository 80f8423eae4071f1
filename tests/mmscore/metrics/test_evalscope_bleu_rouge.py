import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tokenize import NLTKWordTokenizer
from nltk.translate.bleu_score import sentence_bleu
from rouge_chinese import Rouge

from mmconvert.core.errors import RowError
from mmscore.metrics.evalscope_bleu_rouge import (
    compute_bleu_by_order,
    compute_rouge,
    evalscope_bleu_rouge,
    split_rouge_words,
)
from mmscore.nlp.evalscope_tokens import _load_punkt, split_chinese_words, split_english_words

words = st.lists(st.sampled_from(["a", "b", "c", "The", "猫", ".", "", " "]), max_size=12)
WEIGHTS = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))
MARKED = """cat Dr. cannot Gonna it's 3,000 x, ,y dogs' "No" end. so! why? —— ... ...... ？ 。 ” (a) a.b l.A é"""
sentences = st.lists(st.sampled_from([*MARKED.split(), "\n", " "]), max_size=12)
texts = st.one_of(sentences.map(" ".join), sentences.map("".join), st.text(max_size=30))


@given(words, words)
def test_each_order_equals_nltk(prediction, reference):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = tuple(sentence_bleu([reference], prediction, weights=weights) for weights in WEIGHTS)
    assert compute_bleu_by_order(prediction, reference) == expected


@given(texts)
def test_english_words_equal_nltk_with_the_same_sentences(text):
    tokenizer = NLTKWordTokenizer()
    assert split_english_words(text) == [
        word for part in _load_punkt().tokenize(text) for word in tokenizer.tokenize(part)
    ]


@given(texts, texts)
def test_rouge_equals_rouge_chinese(prediction, reference):
    predicted, wanted = split_rouge_words(prediction), split_rouge_words(reference)
    if not predicted or not wanted:
        with pytest.raises(ValueError, match=r"empty|unpack"):
            Rouge().get_scores(prediction, reference, ignore_empty=True)
        return
    given_ = compute_rouge(predicted, wanted)
    expected = Rouge().get_scores(prediction, reference, ignore_empty=True)[0]
    for kind in "12L":
        for part in "RPF":
            assert given_[f"Rouge-{kind}-{part}"] == expected[f"rouge-{kind.lower()}"][part.lower()]


def test_abbreviations_do_not_end_a_sentence():
    assert split_english_words("Mr. Fox ran. He won.")[:4] == ["Mr.", "Fox", "ran", "."]


@pytest.mark.slow
def test_chinese_is_cut_by_jieba_a_side_at_a_time():
    assert split_chinese_words("我来到北京清华大学") == ["我", "来到", "北京", "清华大学"]
    scores = evalscope_bleu_rouge("猫 cat", "cat")
    assert scores["bleu-1"] == pytest.approx(1 / 3)


def test_a_blank_side_has_no_rouge_until_1_10_and_zero_since_1_14():
    for blank in ("", " \n"):
        assert not any("Rouge" in key for key in evalscope_bleu_rouge("cat", blank, "1.10.0"))
        assert evalscope_bleu_rouge(blank, "cat", "1.14.1")["Rouge-L-F"] == 0.0


def test_a_missing_side_is_refused():
    with pytest.raises(RowError, match="two texts"):
        evalscope_bleu_rouge(None, "cat")


@given(texts, texts)
def test_every_value_is_a_fraction(prediction, reference):
    assert all(0 <= value <= 1 for value in evalscope_bleu_rouge(prediction, reference).values())
