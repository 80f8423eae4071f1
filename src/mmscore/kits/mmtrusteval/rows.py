"""What MMTrustEval's recipes share: the chains of a row, what a log holds already, the numbers of rows.

Rules are run on the prediction. What a chat model, a classifier or a service said is taken from the log that the
row was read from, where its column stands; without it the row cannot be scored here.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec.structs import replace

from mmconvert.core.errors import UsageError
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.recipe import Facts, Item, NoReferenceError, Recipe, read_label
from mmscore.kits.mmtrusteval.chains import Chain, Link, read_chain
from mmscore.kits.mmtrusteval.connections import CLASSIFIERS, add_classifiers
from mmscore.kits.mmtrusteval.evaluators import ALONE, EvaluatorContext, EvaluatorSample, UnconnectedError
from mmscore.kits.mmtrusteval.logged_chains import find_logged_chains
from mmscore.kits.mmtrusteval.releases import KIT, VERSIONS
from mmscore.kits.mmtrusteval.scored_log import (
    BOXES,
    EXTRA,
    KEEP,
    ChainsOf,
    build_published_table,
    compute_chain_metrics,
    format_scored_log,
    read_fields,
)
from mmscore.kits.mmtrusteval.task_file import CHAINS, check_keys, read_chains
from mmscore.kits.mmtrusteval.tasks import QUESTIONS, TASKS, Config, Task, count_most_questions, find_task
from mmscore.metrics.mmtrust_box_iou import mmtrust_box_iou
from mmscore.parsers.mmtrust_refusal import REFUSAL_PHRASES

FORMAT = "mmtrust"
LEAVE_OUT = "Leave --recipe out."


def build_chains(configs: Sequence[Config], setting: EvaluatorContext, version: str) -> tuple[Chain, ...]:
    """Build chains for rows.

    Args:
        configs: As in `evaluator_seq_cfgs`.
        setting: What evaluators work with.
        version: Of the recipe; one that is a release decides on the refusal phrases.

    Raises:
        UsageError: There is none, a chain is wrong, or a metric has weights for samples: rows have no fixed
            place here.
    """
    if version in REFUSAL_PHRASES:
        setting = replace(setting, release=version)
    chains = tuple(read_chain(config, setting) for config in configs)
    if not chains or not all(chain.links for chain in chains):
        raise UsageError("evaluator_seq_cfgs: a chain has no evaluator. Name one.")
    if any("sample_weight" in settings for chain in chains for settings in chain.metrics.values()):
        raise UsageError("metrics_cfg: sample_weight goes by the place of a sample, and rows have none. Leave it out.")
    return chains


def build_chain_recipe(
    configs: Sequence[Config],
    *,
    summary: str = "Chains of evaluators as MMTrustEval runs them",
    setting: EvaluatorContext = ALONE,
    parity: str = KIT,
    versions: Mapping[str, str] = VERSIONS,
) -> Recipe:
    """Make a recipe of one's own chains, to stand as `RECIPE` in a file named by `--recipe file.py@RECIPE`.

    Args:
        configs: As in `evaluator_seq_cfgs`.
        summary: What it scores, in a line.
        setting: What evaluators work with; a version that is a release decides on the refusal phrases.
        parity: Whose numbers it gives.
        versions: Version -> what it follows.

    Raises:
        UsageError: A chain is wrong.

    Example:
        >>> recipe = chain_recipe([{"rule_yes_or_no_eval": {"metrics_cfg": {"pred_mean": {}}}}])
        >>> item = Item(prediction="Yes.")
        >>> recipe.metrics(item, recipe.parse(item, "2025.03"), "2025.03")
        {'rule_yes_or_no_eval:pred_no_op': 1.0}
    """
    return build_recipe(_use_same_chains(configs, setting, versions), summary, parity=parity, versions=versions)


def _use_same_chains(configs: Sequence[Config], setting: EvaluatorContext, versions: Mapping[str, str]) -> ChainsOf:
    chains = {version: build_chains(configs, setting, version) for version in versions}
    return lambda dataset, version: chains[version]


def build_task_recipe(
    summary: str,
    *,
    fits: Callable[[Task], bool] = lambda task: True,
    setting: EvaluatorContext = ALONE,
    parity: str = KIT,
    versions: Mapping[str, str] = VERSIONS,
    default_for: Callable[[Facts], str | None] = lambda facts: None,
    judge: str | None = None,
) -> Recipe:
    """Make a recipe of the framework's own tasks, by the name of the dataset, or of a task file (`--recipe-options`).

    The options may connect classifiers and services too, for the chains of a task file or for the framework's own.

    Args:
        summary: What it scores, in a line.
        fits: Tells the tasks that the recipe is for.
        setting: What evaluators work with.
        parity: Whose numbers it gives.
        versions: Version -> what it follows.
        default_for: When it offers itself.
        judge: Name of the judge that is asked about rows in which the log lacks a column.
    """

    def configure(options: Mapping[str, Any]) -> Recipe:
        connected = add_classifiers(setting, options)
        if CHAINS in options or CLASSIFIERS not in options:
            configs = read_chains(options)
            chains_of = _use_same_chains(configs, connected, versions)
            if judge is not None and (most := count_most_questions(configs)) > QUESTIONS:
                raise UsageError(f"{CHAINS}: asks {most} times about a sample, at most {QUESTIONS}. Take it apart.")
        else:
            check_keys(options)
            chains_of = build_task_chains(fits, connected)
        made = build_recipe(chains_of, summary, parity=parity, versions=versions, judge=judge, options=options)
        return replace(made, asks_outside=CLASSIFIERS in options)

    def fit(facts: Facts) -> Recipe:
        configs = find_logged_chains(facts)
        chains_of = (
            build_task_chains(fits, setting) if configs is None else _use_same_chains(configs, setting, versions)
        )
        return build_recipe(chains_of, summary, parity=parity, versions=versions, judge=judge)

    recipe = build_recipe(build_task_chains(fits, setting), summary, parity=parity, versions=versions, judge=judge)
    return replace(recipe, default_for=default_for, configure=configure, fit=fit)


def build_recipe(
    chains_of: ChainsOf,
    summary: str,
    *,
    parity: str,
    versions: Mapping[str, str],
    judge: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Recipe:
    """Make a recipe whose chains follow from the dataset of a row; the arguments are those of `build_task_recipe`.

    Args:
        chains_of: Gives the chains.
        summary: Likewise.
        parity: Likewise.
        versions: Likewise.
        judge: Likewise.
        options: What the user configured it with.
    """

    def parse(item: Item, version: str) -> Parsed:
        try:
            return read_parsed(chains_of(item.dataset, version)[0], item)
        except UnconnectedError:
            if judge is None:
                raise
            return UNPARSED

    def metrics(item: Item, parsed: Parsed, version: str) -> Mapping[str, float]:
        try:
            return list_outputs(chains_of(item.dataset, version), item)
        except UnconnectedError:
            if judge is None:
                raise
            return {}

    return Recipe(
        summary=summary,
        parity=parity,
        versions=versions,
        columns=("dataset", EXTRA),
        optional=("label",),
        parse=parse,
        metrics=metrics,
        reduce=lambda scored, version: compute_chain_metrics(scored, chains_of, version),
        table=lambda scored, version: build_published_table(scored, chains_of, version),
        log=lambda scored, version: format_scored_log(scored, chains_of, version),
        keep=KEEP,
        default_for=lambda facts: None,
        judges=(judge,) if judge else (),
        needs_judge=judge is not None,
        options=options or {},
    )


def build_task_chains(fits: Callable[[Task], bool], setting: EvaluatorContext = ALONE) -> ChainsOf:
    """Give the chains of the framework's own tasks, by the name of the dataset.

    Args:
        fits: Tells the tasks that the recipe is for.
        setting: What evaluators work with.

    Returns:
        Function that raises UsageError for a dataset of no such task.
    """

    @cache
    def chains_of(dataset: str | None, version: str) -> Sequence[Chain]:
        task = find_task(dataset)
        if not fits(task):
            raise UsageError(f"dataset: {dataset} is of task {task.number}, which another recipe scores. {LEAVE_OUT}")
        return build_chains(task.chains, setting, version)

    return chains_of


def offer_recipe_for_logs(facts: Facts) -> str | None:
    """Offer a recipe for logs of the framework, and for answers to datasets of its tasks."""
    known = facts.list_known_names(TASKS.__contains__)
    fits = facts.formats == {FORMAT} and (known or not facts.asked)
    return f"a {'task' if known else 'log'} of {KIT}" if fits else None


class _ChainRow(msgspec.Struct, frozen=True):
    """One row as a chain sees it.

    Attributes:
        sample: Prediction, reference, and the sample's extra.
        logged: Columns of the log that it was read from.
    """

    sample: EvaluatorSample
    logged: Mapping[str, Any]

    def run_evaluator(self, link: Link, pred: Any) -> Any:
        """Run one evaluator; rules always, others only where the log has no word of theirs."""
        if link.evaluator.outside and link.column in self.logged:
            return self.logged[link.column]
        return link.process(self.sample._replace(pred=pred))


def _build_row(item: Item, chain: Chain) -> _ChainRow:
    logged = read_fields(item.extra) if chain.asks else {}
    label = read_label(item) if chain.asks or chain.labelled else None
    if label is None and chain.labelled:
        raise NoReferenceError("label")
    return _ChainRow(EvaluatorSample(item.prediction, label, logged.get(EXTRA)), logged)


def read_parsed(chain: Chain, item: Item) -> Parsed:
    """Say what the last evaluator of a chain read; a place is one in the prediction only.

    Raises:
        RowError: The row is of another type than an evaluator takes.
        UnconnectedError: Somebody has to be asked.
    """
    row, pred = _build_row(item, chain), item.prediction
    *before, last = chain.links
    for link in before:
        pred = row.run_evaluator(link, pred)
    if last.read is None:
        return Parsed(str(row.run_evaluator(last, pred)), last.key)
    parsed = last.read(pred)
    return replace(parsed, span=None) if before else parsed


def list_outputs(chains: Sequence[Chain], item: Item) -> Mapping[str, float]:
    """Give every number that an evaluator makes, by its column in the framework's log, and whether a box is hit.

    Raises:
        RowError: The row is of another type than an evaluator takes, or lacks its reference.
        UnconnectedError: Somebody has to be asked.
    """
    outputs: dict[str, float] = {}
    for chain in chains:
        row, pred = _build_row(item, chain), item.prediction
        for link in chain.links:
            pred = row.run_evaluator(link, pred)
            if isinstance(pred, int | float):
                outputs[link.column] = float(pred)
        if BOXES in chain.metrics:
            outputs[f"{chain.key}:{BOXES}"] = mmtrust_box_iou([row.sample.label], [pred]) / 100
    return outputs


chain_recipe = build_chain_recipe  # the name that plug-ins know from before the first release
