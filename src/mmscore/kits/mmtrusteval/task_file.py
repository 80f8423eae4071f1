"""Task files of MMTrustEval: the YAML that its runner takes with `--config`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmconvert.core.errors import UsageError, show
from mmscore.core.recipe_options import check_known, read_options
from mmscore.kits.mmtrusteval.connections import CLASSIFIERS

CHAINS = "evaluator_seq_cfgs"
GENERATION = ("model_id", "dataset_id", "log_file", "method_cfg", "dataset_cfg", "generation_kwargs")
"""Keys about how answers are made: known, and of no use where answers are there."""


def check_keys(options: Mapping[str, Any]) -> None:
    """Refuse keys that neither a task file of the framework nor we know.

    Raises:
        UsageError: A key is unknown.
    """
    check_known(options, (CHAINS, CLASSIFIERS, *GENERATION))


def read_chains(options: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Take the chains of evaluators out of a task file.

    Args:
        options: What stands in the file.

    Returns:
        One mapping a chain, evaluator id -> settings; `chain_of` checks them.

    Raises:
        UsageError: A key is unknown, or there is not a list of chains.

    Parity: thu-ml/MMTrustEval@a067801 run_task.py, key `evaluator_seq_cfgs`.
    """
    check_keys(options)
    chains = options.get(CHAINS)
    if not isinstance(chains, list) or not chains or not all(isinstance(chain, Mapping) for chain in chains):
        raise UsageError(f"{CHAINS}: expected a list of chains {show(chains)}. Write one mapping a chain.")
    return chains


def load_evaluator_chains(path: str | Path) -> list[Mapping[str, Any]]:
    """Read the chains of evaluators out of a task file, for a recipe of one's own.

    Args:
        path: A YAML or JSON file.

    Raises:
        UsageError: Nothing stands there, the file is no YAML, or has no list of chains.
    """
    options = read_options(path)
    try:
        return read_chains(options.values)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


evaluator_chains = load_evaluator_chains  # the name that plug-ins know from before the first release
