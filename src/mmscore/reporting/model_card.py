"""Numbers for the card of a model on the Hub, proposed as a pull request: its owner decides."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmconvert.core.errors import Error
from mmconvert.dataset.front_matter import add_front_matter, read_front_matter, replace_front_matter, require_readable
from mmconvert.storage.hub_errors import explain_errors, retry
from mmscore.reporting.eval_results import format_file, open_api, says_the_same
from mmscore.reporting.predictions_card import INDEX, list_models, list_results, remove_results

if TYPE_CHECKING:
    from huggingface_hub import HfApi

CARD = "README.md"
_TITLE = "Add evaluation results of mmscore"


def propose_scores(
    model: str, index: Sequence[Mapping[str, Any]], entries: Mapping[str, Mapping[str, Any]]
) -> str | None:
    """Open a pull request that puts numbers into the `model-index` of a model's card, and into `.eval_results/`.

    Numbers of the same dataset, metric and recipe that stand there are replaced; all else stays.

    Args:
        model: `USER/MODEL`. The token is that of the environment or of `hf auth login`.
        index: The numbers, of this one model.
        entries: Those that are for leaderboards, by the path of their file.

    Returns:
        Address of the pull request, which is an open one where that has these numbers; None where the repository itself
        has them.

    Raises:
        Error: The Hub refuses, or the card cannot be read.
    """
    api = open_api()
    with explain_errors(model):
        # A pull request that was made although its answer got lost would be made twice.
        return retry(lambda: _open_pull_request(api, model, index[0]["results"], entries), once="/commit/")


def require_card(model: str) -> None:
    """Look whether a model's card can take numbers, before anything is published.

    Raises:
        Error: The Hub has no such model or cannot be reached, or the card cannot be read.
    """
    api = open_api()
    with explain_errors(model):
        _, text = retry(lambda: _read_card(api, model))
    try:
        join_results(text, (), model)
    except Error as error:
        raise Error(f"{model}: {error}") from None


def join_results(text: str, results: Sequence[Mapping[str, Any]], name: str) -> str:
    """Put results into a model's card; what stands there in another shape stays as it is.

    Args:
        text: The card, "" for none.
        results: Results as `model-index` has them.
        name: Name of the model, for a card whose `model-index` has none that takes results.

    Raises:
        Error: The card's YAML cannot be read, and would be lost.
    """
    require_readable(text)
    values = read_front_matter(text)
    models = list_models(values)
    place = next((number for number, one in enumerate(models) if list_results(one) is not None), len(models))
    there = models[place] if place < len(models) else {"name": name}
    new = [_build_key(result, metric) for result in results for metric in result["metrics"]]
    kept = remove_results(list_results(there) or (), lambda result, metric: _build_key(result, metric) in new)
    models[place : place + 1] = [{**there, "results": [*kept, *results]}]
    facts = {**values, INDEX: models}
    # A block between two lines that is no mapping is a part of the text.
    return replace_front_matter(text, facts) if values else add_front_matter(facts, text)


def _read_card(api: "HfApi", model: str, revision: str | None = None) -> tuple[str | None, str]:
    """Give the commit that a model, or a revision of it, is at, and its card, "" for none."""
    head = api.model_info(model, revision=revision).sha
    try:
        return head, (_read_file(api, model, CARD, head) or b"").decode()
    except UnicodeDecodeError:
        raise Error(f"{model}: {CARD} holds bytes that are not UTF-8. Fix it, and push again.") from None


def _read_file(api: "HfApi", model: str, path: str, commit: str | None) -> bytes | None:
    from huggingface_hub.errors import EntryNotFoundError

    try:
        return Path(api.hf_hub_download(model, path, revision=commit)).read_bytes()
    except EntryNotFoundError:
        return None


def _open_pull_request(
    api: "HfApi", model: str, results: Sequence[Mapping[str, Any]], entries: Mapping[str, Mapping[str, Any]]
) -> str | None:
    """Open a pull request; None where nothing is left to propose, the one that is open where it says the same."""
    from huggingface_hub import CommitOperationAdd
    from huggingface_hub.errors import HfHubHTTPError

    head, files = _find_changes(api, model, None, results, entries)
    if not files:
        return None
    for opened in api.get_repo_discussions(model, discussion_type="pull_request", discussion_status="open"):
        if opened.title == _TITLE and not _find_changes(api, model, opened.git_reference, results, entries)[1]:
            return opened.url
    try:
        commit = api.create_commit(
            model,
            [CommitOperationAdd(path, data) for path, data in files.items()],
            commit_message=_TITLE,
            create_pr=True,
            parent_commit=head,
        )
    except ValueError as error:
        if isinstance(error, HfHubHTTPError):
            raise
        raise Error(f"{model}: the Hub rejects the {CARD} with the numbers: {error}") from None
    return str(commit.pr_url)


def _find_changes(
    api: "HfApi",
    model: str,
    revision: str | None,
    results: Sequence[Mapping[str, Any]],
    entries: Mapping[str, Mapping[str, Any]],
) -> tuple[str | None, dict[str, bytes]]:
    """Give the commit of a revision, and the files that numbers would change there."""
    head, text = _read_card(api, model, revision)
    card = join_results(text, results, model.rpartition("/")[2])
    files = {} if card == text else {CARD: card.encode()}
    for path, item in entries.items():
        data = _read_file(api, model, path, head)
        if data is None or not says_the_same(data, item):
            files[path] = format_file(item)
    return head, files


def _build_key(result: Mapping[str, Any], metric: Mapping[str, Any]) -> tuple[object, ...]:
    dataset = result.get("dataset")
    return dataset.get("name") if isinstance(dataset, dict) else None, metric.get("type"), metric.get("config")
