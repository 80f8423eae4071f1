"""Task files of MMTrustEval: the YAML that its runner takes with `--config`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from mmconvert.errors import Error, first_line, got, no_such_path

CHAINS = "evaluator_seq_cfgs"


def evaluator_chains(path: str | Path) -> list[Mapping[str, Any]]:
    """Read the chains of evaluators out of a task file; its other keys are about generation.

    Args:
        path: A YAML or JSON file.

    Returns:
        One mapping a chain, evaluator id -> settings; `chain_of` checks them.

    Raises:
        UsageError: Nothing stands there.
        Error: The file is no YAML, or has no list of chains.

    Parity: thu-ml/MMTrustEval@a067801 run_task.py, key `evaluator_seq_cfgs`.
    """
    place = Path(path)
    if not place.is_file():
        raise no_such_path(place)
    try:
        found = yaml.safe_load(place.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, OSError, RecursionError) as error:
        raise Error(f"{path}: cannot be read as YAML ({first_line(error)}). Correct it.") from None
    chains = found.get(CHAINS) if isinstance(found, Mapping) else None
    if not isinstance(chains, list) or not chains or not all(isinstance(chain, Mapping) for chain in chains):
        raise Error(f"{path} {CHAINS}: expected a list of chains {got(chains)}. Write one mapping a chain.")
    return chains
