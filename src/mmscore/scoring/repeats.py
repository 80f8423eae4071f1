"""Several responses to one question: their mean, pass@k and majority, with the question as cluster.

Rows are responses to one question when they share `sample` (and `round`, and where it stands: `dataset`,
`subset`, `split`); `variant` only says which of them a row is. A row without `sample` is a question of its own.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mmconvert.core.arrow import build_column, build_scalar, from_numpy, to_numpy
from mmscore.core.estimates import compute_mean
from mmscore.core.recipe import Metrics
from mmscore.core.table import CLUSTER, MADE, Floats, Scored

Ints = npt.NDArray[np.int64]

COLUMNS = ("sample", "round", "dataset", "subset", "split")
"""What a recipe keeps (`Recipe.keep`) to tell responses to one question."""

QUESTION = MADE + "question"
"""Column of whole numbers, equal for responses to one question; there only when a question has several."""

VOTE = MADE + "vote"
"""Column of whole numbers, equal for responses that say the same; null for a response that says nothing."""


def find_repeats(scored: Scored, said: Callable[[Scored], Sequence[str | None]]) -> Scored:
    """Find responses to one question, and what each votes for; for `Recipe.settle`.

    Args:
        scored: Rows with `COLUMNS`.
        said: Rows -> what each says, in words that are equal where the answers are; None for nothing.

    Returns:
        The rows with `QUESTION` and `VOTE`, and clusters that hold all responses to a question; unchanged
        where no question has several responses.
    """
    questions = number_questions(scored.rows)
    if questions is None:
        return scored
    votes = build_column(said(scored), pa.string()).dictionary_encode().indices.cast(pa.int64())
    marked = scored.with_array(QUESTION, from_numpy(questions)).with_array(VOTE, votes)
    # Give all responses to a question one cluster: the first that any of them has.
    own = to_numpy(marked.with_row_clusters().rows[CLUSTER])
    first = np.full(int(questions.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, questions, own)
    clusters: Ints = first[questions]
    return marked.with_array(CLUSTER, from_numpy(clusters))


def number_questions(rows: pa.Table) -> Ints | None:
    """Number the question of each row; None where no question has several responses.

    Args:
        rows: At least one row, with `COLUMNS`.
    """
    samples = rows["sample"]
    if pc.count_distinct(samples).as_py() == len(samples) - samples.null_count:
        return None
    texts = (pc.fill_null(rows[name].cast(pa.string()), build_scalar("")) for name in COLUMNS)
    key = pc.binary_join_element_wise(*texts, build_scalar("\0"))
    known = pc.if_else(pc.is_valid(samples), key, pa.nulls(1, pa.string())[0])
    codes = known.combine_chunks().dictionary_encode().indices.cast(pa.int64())
    alone = from_numpy(np.arange(len(rows), 2 * len(rows), dtype=np.int64))
    numbers: Ints = np.unique(to_numpy(pc.coalesce(codes, alone)), return_inverse=True)[1]
    return None if int(numbers.max()) + 1 == len(rows) else numbers


def compute_repeat_metrics(scored: Scored, score: str) -> Metrics:
    """Give the numbers of questions that have several responses; for `Recipe.reduce`.

    Args:
        scored: Rows that went through `find_repeats`, or any part of them.
        score: 1.0 for a right response, else 0.0.

    Returns:
        Fractions 0-1, each question counting once; empty where none has several responses.
        `mean_<score>`: mean over questions of the share of right responses. `pass@k`, for k = 2, 4, 8 ...
        and the most responses to a question: chance that one of k is right, over the questions with k
        responses or more. `majority_<score>`: share of questions whose most frequent answer is right; where
        several are as frequent, the share of right ones among them. A response that nothing was read from
        has no vote; a question without votes is wrong.
    """
    if QUESTION not in scored.rows.column_names:
        return {}
    part = scored.where(~np.isnan(scored.scores[score]))
    questions = np.unique(to_numpy(part.rows[QUESTION]), return_inverse=True)[1]
    responses = np.bincount(questions)
    most = int(responses.max(initial=0))
    if most < 2:
        return {}
    hits = part.scores[score]
    right = np.bincount(questions, weights=hits == 1).astype(np.int64)
    clusters = np.empty(len(responses), np.int64)
    clusters[questions] = to_numpy(part.rows[CLUSTER])
    found = {f"mean_{score}": compute_mean(np.bincount(questions, weights=hits) / responses, clusters)}
    for k in _list_sizes(most):
        enough = responses >= k
        pairs, index = np.unique(np.stack([responses, right])[:, enough], axis=1, return_inverse=True)
        chances = np.array([pass_at_k(int(n), int(c), k) for n, c in pairs.T])
        found[f"pass@{k}"] = compute_mean(chances[index.ravel()], clusters[enough])
    votes = part.rows[VOTE].to_numpy()
    found[f"majority_{score}"] = compute_mean(_score_majorities(questions, votes, hits, len(responses)), clusters)
    return found


def pass_at_k(responses: int, right: int, k: int) -> float:
    """Estimate the chance that at least one of k responses is right.

    Args:
        responses: Responses there are, at least k.
        right: How many of them are right, 0 to `responses`.
        k: Responses that are drawn without replacement, at least 1.

    Returns:
        Fraction 0-1: 1 minus the share of draws that hold no right response.

    Raises:
        ValueError: The numbers do not go together.

    Reference: Chen et al., "Evaluating Large Language Models Trained on Code" (2021), section 2.1.

    Example:
        >>> pass_at_k(4, 2, 1), pass_at_k(4, 2, 2), pass_at_k(4, 0, 4)
        (0.5, 0.8333333333333334, 0.0)
    """
    if not (1 <= k <= responses and 0 <= right <= responses):
        raise ValueError(f"expected 1 <= k <= responses and 0 <= right <= responses, got {k=}, {responses=}, {right=}")
    return 1 - math.comb(responses - right, k) / math.comb(responses, k)


def _list_sizes(most: int) -> list[int]:
    """List the powers of two from 2 on, and the most responses that a question has.

    Example:
        >>> _list_sizes(2), _list_sizes(5)
        ([2], [2, 4, 5])
    """
    return [*(2**power for power in range(1, most.bit_length()) if 2**power < most), most]


def _score_majorities(questions: Ints, votes: Floats, hits: Floats, count: int) -> Floats:
    """Score the most frequent answer of each question; the mean of the right and wrong ones in a tie."""
    voting = ~np.isnan(votes)
    ballots = np.stack([questions[voting], votes[voting].astype(np.int64)])
    (asked, _), index = np.unique(ballots, axis=1, return_inverse=True)
    index = index.ravel()
    sizes = np.bincount(index)
    shares = np.bincount(index, weights=hits[voting]) / sizes
    largest = np.zeros(count, np.int64)
    np.maximum.at(largest, asked, sizes)
    leading = sizes == largest[asked]
    leaders = np.bincount(asked[leading], minlength=count)
    return np.bincount(asked[leading], weights=shares[leading], minlength=count) / np.maximum(leaders, 1)
