"""The card of published predictions: what load_dataset needs, and the numbers in the Hub's model-index form."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mmconvert.core.errors import Error
from mmconvert.dataset.card import SplitInfo, build_yaml_values, describe_features, find_hub_task, merge
from mmconvert.dataset.card_sections import PARTS, describe_columns, write_section
from mmconvert.dataset.front_matter import add_front_matter, read_front_matter, replace_front_matter
from mmscore.core.report import Entry

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

INDEX = "model-index"
"""Key of the numbers in a card's YAML."""
_CONFIG = "predictions"
"""Key, among the arguments of a metric, of the configuration that holds the predictions behind it."""
_OWNERS = "predictions"
"""Key, in a card's YAML, of the model and the benchmark of each configuration."""
_SUMMARY = (
    "Responses of models to questions, row by row, with the references that they were scored against, and the scores "
    "that mmscore gave them. `reports/` has every score in full: its interval, breakdown and signature, and the "
    "status of each row. Compare scores of the same recipe only."
)


def build_model_index(config: str, entries: Sequence[Entry], task: str | None, url: str) -> list[dict[str, Any]]:
    """Give the numbers of a model's predictions as the metadata of cards has them.

    Args:
        config: The configuration that holds the predictions.
        entries: What scoring them gave, with as many recipes as were wanted.
        task: Task of the rows, None when they have several.
        url: Page of the repository.

    Returns:
        `model-index`; numbers that do not exist are left out.

    Source: huggingface/hub-docs modelcard.md, by huggingface_hub@2.4.0 EvalResult.
    """
    from huggingface_hub.repocard_data import eval_results_to_model_index

    index: list[dict[str, Any]] = []
    for model in dict.fromkeys(entry.model for entry in entries):
        found = [one for entry in entries if entry.model == model for one in _build_results(config, entry, task, url)]
        if found:
            index += eval_results_to_model_index(model, found)
    return index


def _build_results(config: str, entry: Entry, task: str | None, url: str) -> "Iterable[EvalResult]":
    from huggingface_hub import EvalResult

    name = entry.dataset or config
    for metric, estimate in entry.metrics.items():
        if math.isfinite(estimate.value):
            about = {
                "unit": estimate.unit,
                "n": estimate.n,
                "unparsed": entry.counts.unparsed,
                "unscored": entry.counts.unscored,
                "stderr": estimate.stderr,
                "ci95": None if estimate.ci95 is None else list(estimate.ci95),
                "parity": entry.parity,
                "partial": entry.partial,
                "signature": entry.signature,
                _CONFIG: config,
            }
            yield EvalResult(
                task_type=find_hub_task(task),
                dataset_type=name,
                dataset_name=name,
                metric_type=metric,
                metric_value=estimate.value,
                metric_config=f"{entry.recipe}@{entry.version}",
                metric_args={key: value for key, value in about.items() if value is not None},
                source_name="mmscore",
                source_url=url,
            )


def build_predictions_card(
    configs: Mapping[str, Sequence[SplitInfo]],
    schemas: Mapping[str, pa.Schema],
    index: Sequence[Mapping[str, Any]],
    owners: Mapping[str, Mapping[str, str]],
) -> str:
    """Write the README.md of published predictions.

    Args:
        configs: The split of each configuration.
        schemas: Columns of each configuration.
        index: Their numbers, as `build_model_index` gives them.
        owners: `model` of each configuration, and `dataset` where its rows are of one benchmark.
    """
    tags = ["mmscore", "model-predictions", "vision-language"]
    schema = pa.unify_schemas([schema.remove_metadata() for schema in schemas.values()])
    values = {
        **build_yaml_values(configs, schema, "Model predictions", tags),
        _OWNERS: dict(owners),
        INDEX: list(index),
    }
    for info in values["dataset_info"]:
        info["features"] = describe_features(schemas[info["config_name"]])
    parts = [(name, PARTS[name](values)) for name in ("Results", "Licence and source", "Splits")]
    parts += [("Columns", describe_columns(schema)), ("Use", PARTS["Use"](values))]
    return add_front_matter(values, write_section("Model predictions", _SUMMARY, parts) + "\n")


def join(ours: str, theirs: str) -> str:
    """Join a new card with the one in the repository: numbers of other predictions stay, those of the same go.

    Args:
        ours: The card of the predictions to publish.
        theirs: The card in the repository.

    Raises:
        Error: A configuration of the repository holds predictions of another model or benchmark; or its YAML
            cannot be read.
    """
    new, old = read_front_matter(ours), read_front_matter(theirs)
    pushed, there = new[_OWNERS], _read_owners(old)
    for config, owner in pushed.items():
        # Predictions do not take the place of others that only have a name of the same letters.
        other = there.get(config)
        said = {key: other[key] for key in ("model", "dataset") if key in other} if isinstance(other, dict) else {}
        if any(owner.get(key) != value for key, value in said.items()):
            mine, others = (" on ".join(map(str, names.values())) for names in (owner, said))
            raise Error(
                f"{config}: the repository holds predictions of {others} under this name, whose place those of {mine} "
                "would take. Give --model or --dataset a name of other letters, or push to another repository."
            )
    index = []
    for model in list_models(old):
        results = list_results(model)
        left = remove_results(results or (), lambda _, metric: _read_config(metric) in pushed)
        if results is None or left or not results:
            index.append(model if results is None else {**model, "results": left})
    for model in new[INDEX]:
        same = (one for one in index if list_results(one) is not None and str(one.get("name")) == model["name"])
        if (one := next(same, None)) is None:
            index.append(model)
        else:
            one["results"] += model["results"]
    return merge(replace_front_matter(ours, {**new, _OWNERS: {**there, **pushed}, INDEX: index}), theirs)


def list_models(values: Mapping[str, Any]) -> list[Any]:
    """List the models of the `model-index` in a card's YAML; one that stands there without a list is one of them."""
    index = values.get(INDEX)
    return index if isinstance(index, list) else [] if index is None else [index]


def list_results(model: object) -> list[Any] | None:
    """List the results of a model in a `model-index`; None where it has another shape."""
    results = model.get("results") or [] if isinstance(model, dict) else None
    return results if isinstance(results, list) else None


def remove_results(results: Iterable[Any], gone: Callable[[Mapping[str, Any], Mapping[str, Any]], bool]) -> list[Any]:
    """Take metrics out of the results of a `model-index`.

    Args:
        results: The results; what has another shape stays as it is.
        gone: Tells, of a result and a metric in it, whether to take it out.

    Returns:
        The results; one that has lost its last metric is gone.

    Example:
        >>> remove_results([{"metrics": [{"type": "f1"}]}, {"metrics": []}, "?"], lambda result, metric: True)
        [{'metrics': []}, '?']
    """
    left = []
    for result in results:
        metrics = _list_entries(result, "metrics")
        kept = [metric for metric in metrics if not (isinstance(metric, dict) and gone(result, metric))]
        if len(kept) == len(metrics):
            left.append(result)
        elif kept:
            left.append({**result, "metrics": kept})
    return left


def _list_entries(values: object, key: str) -> list[Any]:
    found = values.get(key) if isinstance(values, dict) else None
    return found if isinstance(found, list) else []


def _read_config(metric: object) -> str | None:
    args = metric.get("args") if isinstance(metric, dict) else None
    config = args.get(_CONFIG) if isinstance(args, dict) else None
    return config if isinstance(config, str) else None


def _read_owners(values: Mapping[str, Any]) -> dict[str, Any]:
    """Tell whose predictions each configuration holds; where the card does not say it, whose numbers they gave."""
    found = {
        config: {"model": model.get("name")}
        for model in list_models(values)
        for result in _list_entries(model, "results")
        for metric in _list_entries(result, "metrics")
        if (config := _read_config(metric))
    }
    facts = values.get(_OWNERS)
    return {**found, **(facts if isinstance(facts, dict) else {})}
