"""VCR, covered text in images, as VLMEvalKit scores it: exact match and Jaccard index, a covered text a vote.

A response that excuses itself scores 0. English is cut into words by spaCy's rules, which the extra `vcr`
installs.

Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/vcr.py:VCRDataset. Not kept: the framework cuts Chinese
with the model zh_core_web_sm, which no package index has; here every character is a word.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from mmconvert.core.errors import RowError, show
from mmconvert.core.text.literals import parse_list
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Item, Metrics, Recipe, Row, read_label
from mmscore.core.table import Scored
from mmscore.kits.vlmevalkit.rows import RESULTS, VERSIONS, offer_for
from mmscore.metrics.vlmevalkit_vcr import JOINERS, Found, read_assistant_text, refuses, vlmevalkit_vcr
from mmscore.nlp.spacy_tokens import split_words

SCORES = ("exact_match", "jaccard")
COVERED = "covered_texts"


def find_covered_texts(item: Item) -> Sequence[Found]:
    """Find each covered text of a row.

    Raises:
        RowError: The answer is not a list of texts.
        UsageError: spaCy is not installed.
    """
    response, covered = read_assistant_text(item.prediction), covered_texts(item)
    if refuses(response):
        return [Found()] * len(covered)
    language = "zh" if "ZH" in (item.dataset or "") else "en"
    words = split_words(response, language)
    return [vlmevalkit_vcr(words, text, split_words(text, language), JOINERS[language]) for text in covered]


def covered_texts(item: Item) -> Sequence[str]:
    """Read the covered texts of a row.

    Raises:
        RowError: The answer is not a list of texts.
    """
    label = read_label(item)
    listed = item.answers if label is None else label if isinstance(label, list) else parse_list(str(label))
    if not listed or not all(isinstance(text, str) for text in listed):
        raise RowError("answer.type", "answer", f"expected a list of covered texts {show(listed)}.")
    return listed


def _parse(item: Item, version: str) -> Parsed:
    response = read_assistant_text(item.prediction)
    if refuses(response):
        return UNPARSED
    return Parsed(response, "whole response", (len(item.prediction) - len(response), len(item.prediction)))


def _score_row(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
    found = find_covered_texts(item)
    means = (sum(one.exact for one in found) / len(found), sum(one.jaccard for one in found) / len(found))
    return {**dict(zip(SCORES, means, strict=True)), COVERED: float(len(found))}


def _reduce(scored: Scored, version: str) -> Metrics:
    votes = scored.take(np.repeat(np.arange(len(scored)), scored.scores[COVERED].astype(np.int64)))
    return {name: votes.mean(name) for name in SCORES}


def _build_table(scored: Scored, version: str) -> Sequence[Row]:
    exact, jaccard = (estimate.value for estimate in _reduce(scored, version).values())
    return [{"Exact_Match": exact, "Jaccard": jaccard}]


RECIPE = Recipe(
    summary="VCR as VLMEvalKit scores it: covered texts found in the response",
    parity="VLMEvalKit",
    versions=VERSIONS,
    columns=("answers", "label", "dataset"),
    parse=_parse,
    metrics=_score_row,
    settle=lambda scored, version: scored.with_row_clusters(),
    reduce=_reduce,
    table=_build_table,
    results=RESULTS,
    default_for=offer_for("VCR"),
)
