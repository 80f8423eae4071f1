"""Numbers for the card of a model on the Hub, proposed as a pull request: its owner decides."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import CommitInfo, CommitOperationAdd, HfApi
from huggingface_hub.errors import EntryNotFoundError

from mmconvert import __version__
from mmconvert.card_yaml import front_matter, with_values
from mmconvert.errors import UsageError
from mmconvert.hub_faults import RETRY_SECONDS, explained, retried
from mmscore.predictions_card import INDEX

CARD = "README.md"


def propose(model: str, index: Sequence[Mapping[str, Any]]) -> str:
    """Open a pull request that puts numbers into the `model-index` of a model's card.

    Numbers of the same dataset, metric and recipe that stand there are replaced; all else stays.

    Args:
        model: `USER/MODEL`. The token is that of the environment or of `hf auth login`.
        index: The numbers, of this one model.

    Returns:
        Address of the pull request.

    Raises:
        Error: The Hub refuses.
    """
    api = HfApi(library_name="mmscore", library_version=__version__)
    with explained(model):
        # A pull request that was made although its answer got lost would be made twice.
        commit = retried(lambda: _proposed(api, model, index[0]["results"]), RETRY_SECONDS, once="/commit/")
    return str(commit.pr_url)


def _proposed(api: HfApi, model: str, results: Sequence[Mapping[str, Any]]) -> CommitInfo:
    head = api.model_info(model).sha
    try:
        text = Path(api.hf_hub_download(model, CARD, revision=head)).read_text(encoding="utf-8", errors="replace")
    except EntryNotFoundError:
        text = ""
    return api.create_commit(
        model,
        [CommitOperationAdd(CARD, joined(text, results, model.rpartition("/")[2]).encode())],
        commit_message="Add evaluation results of mmscore",
        create_pr=True,
        parent_commit=head,
    )


def require_one(model: str, index: Sequence[Mapping[str, Any]]) -> None:
    """Refuse numbers that are no single model's.

    Raises:
        UsageError: They are of several models, or there are none.
    """
    if len(index) != 1:
        named = ", ".join(str(one["name"]) for one in index) or "none"
        raise UsageError(f"--model-card {model}: takes the numbers of one model, found: {named}. Score one at a time.")


def joined(text: str, results: Sequence[Mapping[str, Any]], name: str) -> str:
    """Put results into a model's card.

    Args:
        text: The card, "" for none.
        results: Results as `model-index` has them.
        name: Name of the model, for a card that has no `model-index`.
    """
    values = front_matter(text)
    told = values.get(INDEX)
    there: dict[str, Any] = {"name": name}
    if isinstance(told, list) and told and isinstance(told[0], dict):
        there = told[0]
    new = {_key(result, metric) for result in results for metric in result["metrics"]}
    kept = []
    for result in there.get("results") or ():
        metrics = [metric for metric in result.get("metrics") or () if _key(result, metric) not in new]
        if metrics:
            kept.append({**result, "metrics": metrics})
    others = told[1:] if isinstance(told, list) else []
    return with_values(text, {**values, INDEX: [{**there, "results": [*kept, *results]}, *others]})


def _key(result: Mapping[str, Any], metric: Mapping[str, Any]) -> tuple[object, ...]:
    return (result.get("dataset") or {}).get("name"), metric.get("type"), metric.get("config")
