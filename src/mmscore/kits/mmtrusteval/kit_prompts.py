"""MMTrustEval's own judge prompts: `prompt_template` of the task files in a user's checkout.

Source of the places: thu-ml/MMTrustEval@a067801 mmte/configs/task/*/*.yaml, keys `dataset_id` and `evaluator_seq_cfgs`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mmconvert.core.errors import Error
from mmconvert.kits.mmtrusteval.datasets import DATASETS
from mmscore.core.judge import KitPrompts
from mmscore.core.recipe import Item
from mmscore.core.recipe_options import read_options
from mmscore.kits.mmtrusteval.task_file import CHAINS
from mmscore.kits.mmtrusteval.tasks import TASKS, TEMPLATE, find_task

_FILES = "configs/task/*/*.yaml"
_MAX_FILES = 1000
_MAX_BYTES = 1_000_000


def read_task_prompts(folder: Path) -> Mapping[str, str]:
    """Read the prompt of each dataset whose answers a chat model judges.

    A task file names one dataset; those that the framework's scripts run with the same file have its prompt too.

    Args:
        folder: The checkout, or the package `mmte` in it.

    Returns:
        Prompts by dataset.

    Raises:
        Error: A task file cannot be read, or none has a prompt.
    """
    files = [*folder.glob(f"mmte/{_FILES}"), *folder.glob(_FILES)]
    if len(files) > _MAX_FILES or any(file.stat().st_size > _MAX_BYTES for file in files):
        raise Error(f"{folder}: the files {_FILES} are too many or too long. Give MMTrustEval's own checkout.")
    named: dict[str, str] = {}
    for file in sorted(files):
        values = read_options(file).values
        template = next(_list_templates(values), None)
        if template is not None:
            # The file's name has the dataset's where `dataset_id` has another, as for instruction-enhancement-*.
            named |= {name: template for name in (values.get("dataset_id"), file.stem.partition("-")[2]) if name}
    found = dict(named)
    for names in DATASETS.values():
        known = next((named[name] for name in names if name in named), None)
        if known is not None:
            found = dict.fromkeys(names, known) | found
    if not found:
        raise Error(f"{folder}: no file mmte/{_FILES} has a {TEMPLATE}. Give --judge-prompt MMTrustEval's checkout.")
    return {name: found[name] for name in TASKS if name in found}


def _list_templates(values: Mapping[str, Any]) -> Iterator[str]:
    chains = values.get(CHAINS)
    for chain in chains if isinstance(chains, list) else ():
        for settings in chain.values() if isinstance(chain, dict) else ():
            if isinstance(settings, dict) and isinstance(settings.get(TEMPLATE), str):
                yield settings[TEMPLATE]


def _choose_task_prompt(item: Item, options: Mapping[str, Any]) -> str | None:
    return None if CHAINS in options or not find_task(item.dataset).judged else item.dataset


TASK_PROMPTS = KitPrompts("MMTrustEval", read_task_prompts, _choose_task_prompt, CHAINS)
