"""The card of published predictions: what load_dataset needs, and the numbers in the Hub's model-index form."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from huggingface_hub import EvalResult
from huggingface_hub.repocard_data import eval_results_to_model_index

from mmconvert.card import SplitInfo, hub_task, merge, yaml_features, yaml_values
from mmconvert.card_text import PARTS, column_lines, section
from mmconvert.card_yaml import front_matter, with_front_matter, with_values
from mmscore.report import Entry

INDEX = "model-index"
"""Key of the numbers in a card's YAML."""
_CONFIG = "predictions"
"""Key, among the arguments of a metric, of the configuration that holds the predictions behind it."""
_SUMMARY = (
    "Replies of models to questions, row by row, with the references that they were scored against, and the scores "
    "that mmscore gave them. `reports/` has every number in full: its interval, its breakdown, its signature, and "
    "what became of each row. Compare numbers of the same recipe only."
)


def model_index(config: str, entries: Sequence[Entry], task: str | None, url: str) -> list[dict[str, Any]]:
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
    index: list[dict[str, Any]] = []
    for model in dict.fromkeys(entry.model for entry in entries):
        found = [one for entry in entries if entry.model == model for one in _results(config, entry, task, url)]
        if found:
            index += eval_results_to_model_index(model, found)
    return index


def _results(config: str, entry: Entry, task: str | None, url: str) -> Iterable[EvalResult]:
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
                task_type=hub_task(task),
                dataset_type=name,
                dataset_name=name,
                metric_type=metric,
                metric_value=estimate.value,
                metric_config=f"{entry.recipe}@{entry.version}",
                metric_args={key: value for key, value in about.items() if value is not None},
                source_name="mmscore",
                source_url=url,
            )


def predictions_card(
    configs: Mapping[str, Sequence[SplitInfo]], schemas: Mapping[str, pa.Schema], index: Sequence[Mapping[str, Any]]
) -> str:
    """Write the README.md of published predictions.

    Args:
        configs: The split of each configuration.
        schemas: Columns of each configuration.
        index: Their numbers, as `model_index` gives them.
    """
    tags = ["mmscore", "model-predictions", "vision-language"]
    schema = pa.unify_schemas([schema.remove_metadata() for schema in schemas.values()])
    values = {**yaml_values(configs, schema, "Model predictions", tags), INDEX: list(index)}
    for info in values["dataset_info"]:
        info["features"] = yaml_features(schemas[info["config_name"]])
    parts = [(name, PARTS[name](values)) for name in ("Results", "Licence and source", "Splits")]
    parts += [("Columns", column_lines(schema)), ("Use", PARTS["Use"](values))]
    return with_front_matter(values, section("Model predictions", _SUMMARY, parts) + "\n")


def join(ours: str, theirs: str) -> str:
    """Join a new card with the one in the repository: numbers of other predictions stay, those of the same go.

    Args:
        ours: The card of the predictions to publish.
        theirs: The card in the repository.
    """
    new, old = front_matter(ours), front_matter(theirs)
    pushed = {info["config_name"] for info in new["dataset_info"]}
    index: dict[str, dict[str, Any]] = {}
    for model in (*_kept(old.get(INDEX), pushed), *new[INDEX]):
        index.setdefault(model["name"], {"name": model["name"], "results": []})["results"] += model["results"]
    return merge(with_values(ours, {**new, INDEX: list(index.values())}), theirs)


def _kept(index: object, pushed: set[str]) -> Iterable[dict[str, Any]]:
    """Give what an index says of other predictions; what has another shape is left out."""
    for model in index if isinstance(index, list) else ():
        try:
            results = [{**result, "metrics": _others(result["metrics"], pushed)} for result in model["results"]]
            if kept := [result for result in results if result["metrics"]]:
                yield {"name": str(model["name"]), "results": kept}
        except (KeyError, TypeError, AttributeError):
            continue


def _others(metrics: Iterable[Mapping[str, Any]], pushed: set[str]) -> list[Mapping[str, Any]]:
    return [metric for metric in metrics if (metric.get("args") or {}).get(_CONFIG) not in pushed]
