"""Scored rows as MMTrustEval lays them out: metrics of chains, the runner's log, what score scripts read in it."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from mmconvert.core.errors import Error, RowError, show
from mmscore.core.estimates import Estimate
from mmscore.core.recipe import Item, Metrics, Row, read_label
from mmscore.core.table import Scored
from mmscore.kits.mmtrusteval.chains import Chain, Link
from mmscore.kits.mmtrusteval.evaluators import EvaluatorSample, UnconnectedError
from mmscore.kits.mmtrusteval.measures import COLUMN, MEASURES, compute_measure
from mmscore.kits.mmtrusteval.task_log import build_log, format_log
from mmscore.kits.mmtrusteval.task_scores import compute_task_scores
from mmscore.kits.mmtrusteval.tasks import TASKS
from mmscore.nlp.class_labels import build_label_pair

ChainsOf = Callable[[str | None, str], Sequence[Chain]]
"""(dataset, version) -> the chains that score its rows."""

EXTRA, IMAGE_PATH = "extra", "image_path"
KEEP = ("dataset", "question", "prediction", "label", EXTRA)
"""Columns that stay with the rows for their log."""

BOXES, MEAN, ACCURACY = "iou_judge", "pred_mean", "accuracy_score"
_UNKNOWN = object()


def read_fields(extra: str | None) -> Mapping[str, Any]:
    """Read the column `extra` of a row, where the evaluators' columns of a log stand.

    Raises:
        RowError: It is not a object.
    """
    try:
        fields = json.loads(extra or "{}")
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise RowError("extra.json", EXTRA, f"expected a JSON object {show(extra)}. Write the column as one.")
    return fields


def compute_chain_metrics(scored: Scored, chains_of: ChainsOf, version: str) -> Metrics:
    """Compute the metrics of each chain over the rows that it scores; of two with one key the later stays.

    Raises:
        Error: A chain has other settings in some datasets than in others, or a metric cannot be computed.
    """
    datasets = np.array(scored.column("dataset"), dtype=object)
    first: dict[str, Chain] = {}
    found: dict[str, tuple[Chain, str, Any]] = {}
    for dataset in dict.fromkeys(datasets.tolist()):
        chains = chains_of(dataset, version)
        # Give the numbers of chains by their keys.
        metrics = ((chain, metric) for chain in chains for metric in chain.metrics if metric != COLUMN)
        for key, (chain, metric) in {f"{chain.key}:{metric}": (chain, metric) for chain, metric in metrics}.items():
            known, _, mask = found.get(key, (chain, metric, np.zeros(len(scored), np.bool_)))
            alike = first.setdefault(chain.key, chain).settings == chain.settings
            if not alike or known.metrics[metric] != chain.metrics[metric]:
                raise Error(f"{chain.key}: has other settings in some datasets or chains. Score each on its own.")
            found[key] = chain, metric, mask | (datasets == dataset)
    return {key: _build_estimate(chain, metric, scored.where(mask)) for key, (chain, metric, mask) in found.items()}


def _build_estimate(chain: Chain, metric: str, rows: Scored) -> Estimate:
    link, settings, known = chain.links[-1], chain.metrics[metric], MEASURES[metric]
    values = rows.scores.get(link.column, np.full(len(rows), math.nan))
    if metric == BOXES:
        estimate = rows.mean(f"{chain.key}:{BOXES}").scale(100, "percent")
    elif metric == MEAN and not np.isnan(values).any():
        estimate = rows.mean(link.column)
    else:
        # Give whole numbers as such: as labels, 1 and 1.0 are two texts.
        whole = bool(np.all(np.isfinite(values)) and np.all(values == np.trunc(values)))
        numbers: list[float] = (values.astype(np.int64) if whole else values).tolist()
        said, true = numbers, _list_labels(rows) if chain.labelled else None
        if metric == ACCURACY and not settings:
            estimate = rows.with_scores(right=build_label_pair(true, said).score_hits()).mean("right")
        else:
            value = compute_measure(metric, true, said, settings)
            if isinstance(value, np.ndarray):
                raise Error(f"{chain.key}:{metric}: is one number a label. Choose an average.")
            estimate = Estimate(value, len(rows))
    unit = known.unit or link.evaluator.unit
    return replace(estimate, unit=unit, higher_is_better=known.higher_is_better)


def _list_labels(rows: Scored) -> list[Any]:
    texts = rows.column("label")
    values = {text: read_label(Item(label=text)) for text in dict.fromkeys(texts)}
    return [values[text] for text in texts]


def build_published_table(scored: Scored, chains_of: ChainsOf, version: str) -> Sequence[Row]:
    """Lay out what the framework's score script reads in the log of each dataset of its tasks.

    Raises:
        Error: A script refuses the log.
    """
    rows: list[Row] = []
    for dataset, part in scored.split("dataset"):
        if dataset in TASKS:
            task, log = TASKS[dataset].number, _build_log(part, chains_of(dataset, version), whole=False)
            rows += [{"task": task, "log": n, **made} for n, made in compute_task_scores(task, {dataset: log}).items()]
    return rows


def format_scored_log(scored: Scored, chains_of: ChainsOf, version: str, *, whole: bool = True) -> str:
    """Write scored rows as the log that the framework's runner would save.

    Args:
        scored: The rows.
        chains_of: Their chains.
        version: Of the recipe.
        whole: Refuse a log without one of its columns; else it is left out.

    Raises:
        Error: There is no row, or the rows are of several datasets; or nobody kept what a judge said, as
            after two questions about a row.
    """
    datasets = list(dict.fromkeys(scored.column("dataset")))
    if len(datasets) != 1:
        held = ", ".join(str(name) for name in datasets) or "no scored row"
        raise Error(f"a log of MMTrustEval is of one dataset, and here is {held}. Score each file on its own.")
    return format_log(_build_log(scored, chains_of(datasets[0], version), whole=whole)) + "\n"


def _build_log(scored: Scored, chains: Sequence[Chain], *, whole: bool) -> dict[str, Any]:
    """Lay out the log of one dataset; a column that is not known throughout is left out where `whole` is not asked."""
    fields = [read_fields(extra) for extra in scored.column(EXTRA)]
    samples = {
        "content": list(map(_build_content, scored.column("question"), fields)),
        "pred": scored.column("prediction"),
        "label": _list_labels(scored),
        "extra": [field.get(EXTRA) for field in fields],
    }
    made = [_collect_outputs(chain, scored, samples, fields) for chain in chains]

    def run(numbers: Sequence[int]) -> dict[str, Any]:
        part, found = scored.take(np.array(numbers, np.int64)), dict[str, Any]()
        for chain, outputs in zip(chains, made, strict=True):
            columns = {name: [values[number] for number in numbers] for name, values in outputs.items()}
            found |= {link.column: columns[link.column] for link in chain.links[:-1]}
            for metric in chain.metrics:
                key = f"{chain.key}:{metric}"
                found[key] = columns[key] if metric == COLUMN else _build_estimate(chain, metric, part).value
        if unknown := [key for key, value in found.items() if isinstance(value, list) and _UNKNOWN in value]:
            if whole:
                raise Error(f"{unknown[0]}: what the judge said is not kept where it was asked twice about a row.")
            found = {key: value for key, value in found.items() if key not in unknown}
        return found

    return build_log(samples, run)


def _build_content(question: str | None, fields: Mapping[str, Any]) -> Any:
    path = fields.get(IMAGE_PATH)
    return question if path is None else {IMAGE_PATH: path, "text": question}


def _collect_outputs(
    chain: Chain, scored: Scored, samples: Mapping[str, list[Any]], fields: Sequence[Mapping[str, Any]]
) -> dict[str, list[Any]]:
    """Give what each evaluator made of each row, with the framework's own types."""
    outputs: dict[str, list[Any]] = {link.column: [] for link in chain.links}
    responses = _list_single_responses(scored)
    absent = np.full(len(scored), math.nan)
    scores = zip(*(scored.scores.get(link.column, absent).tolist() for link in chain.links), strict=True)
    rows = zip(samples["pred"], samples["label"], samples["extra"], fields, responses, scores, strict=True)
    for pred, label, extra, logged, response, numbers in rows:
        for link, number in zip(chain.links, numbers, strict=True):
            pred = _read_output(link, EvaluatorSample(pred, label, extra), logged, response, number)
            outputs[link.column].append(pred)
    return outputs


def _read_output(link: Link, sample: EvaluatorSample, logged: Mapping[str, Any], said: str | None, score: float) -> Any:
    """Give what one evaluator made: as the log has it, as it was scored, as the judge said it, or made again."""
    outside = link.evaluator.outside
    if outside and link.column in logged:
        return logged[link.column]
    if not math.isnan(score) and (outside or sample.pred is _UNKNOWN):
        return int(score) if link.evaluator.unit == "fraction" and score.is_integer() else score
    if outside and said is not None:
        return said
    try:
        return _UNKNOWN if sample.pred is _UNKNOWN else link.process(sample)
    except UnconnectedError:
        return _UNKNOWN


def _list_single_responses(scored: Scored) -> list[str | None]:
    """Give the judge's response to each row about which it was asked once; the last of several is another's."""
    if "tries" not in scored.rows.column_names:
        return [None] * len(scored)
    responses, tries = scored.column("judge_reply"), scored.column("tries")
    return [response if asked == 1 else None for response, asked in zip(responses, tries, strict=True)]
