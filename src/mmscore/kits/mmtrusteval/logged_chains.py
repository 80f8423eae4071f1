"""Which chains of evaluators a log of MMTrustEval is of: by the dataset it is named after, and by its own totals."""

from collections.abc import Sequence

from mmconvert.core.errors import UsageError
from mmscore.core.recipe import Facts
from mmscore.kits.mmtrusteval.evaluators import EVALUATORS
from mmscore.kits.mmtrusteval.measures import COLUMN, MEASURES
from mmscore.kits.mmtrusteval.releases import KIT
from mmscore.kits.mmtrusteval.tasks import TASKS, Config

_MARK = ":"


def find_logged_chains(facts: Facts) -> Sequence[Config] | None:
    """Find the chains behind the totals of a log.

    The user's dataset wins, then the dataset that the log is named after, where the totals are of its chains; else the
    one task of the framework that has these totals in this order. Settings of chat models, classifiers and services
    make no
    difference, for the log has what they said.

    Args:
        facts: What the log says.

    Returns:
        Chains as in `evaluator_seq_cfgs`; None for those of its datasets.

    Raises:
        UsageError: Neither name nor totals tell.
    """
    totals = list(dict.fromkeys(map(_drop_subset, facts.stated)))
    names = facts.list_known_names(TASKS.__contains__)
    by_user = facts.datasets != facts.logged
    if names and (by_user or not totals or all(_is_alike(list_totals(TASKS[name].chains), totals) for name in names)):
        return None
    having = [task.chains for task in TASKS.values() if totals and list_totals(task.chains) == totals]
    found = {repr([_list_settings(chain) for chain in chains]): chains for chains in having}
    if len(found) == 1:
        return next(iter(found.values()))
    said = f"its total_results ({', '.join(totals)})" if totals else "no total_results"
    reason = "several tasks have" if found else "no task has"
    raise UsageError(
        f"cannot tell the rules of {KIT} behind this log: its file is named after no dataset that goes with them, and "
        f"{reason} {said}. Name its dataset with --dataset NAME, or its task file with --recipe-options TASK.yaml."
    )


def list_totals(chains: Sequence[Config]) -> list[str]:
    """List the keys in `total_results` of a log of some chains, without those of subsets.

    Example:
        >>> list_totals([{"rule_yes_or_no_eval": {"metrics_cfg": {"pred_no_op": {}, "pred_mean": {}}}}])
        ['rule_yes_or_no_eval:pred_mean']
    """
    last = [("->".join(chain), [*chain.values()][-1]["metrics_cfg"]) for chain in chains]
    return [f"{key}{_MARK}{metric}" for key, metrics in last for metric in metrics if metric != COLUMN]


def _is_alike(first: Sequence[str], second: Sequence[str]) -> bool:
    return set(first) <= set(second) or set(second) <= set(first)


def _drop_subset(key: str) -> str:
    """Give the key of the whole for that of a subset, `chain:metric_SUBSET`."""
    chain, mark, rest = key.partition(_MARK)
    metric = max((name for name in MEASURES if f"{rest}_".startswith(f"{name}_")), key=len, default=rest)
    return f"{chain}{mark}{metric}"


def _list_settings(chain: Config) -> list[object]:
    known = [(name, None if EVALUATORS[name].outside else settings) for name, settings in chain.items()]
    return [(name, settings and {k: v for k, v in settings.items() if k != "metrics_cfg"}) for name, settings in known]
