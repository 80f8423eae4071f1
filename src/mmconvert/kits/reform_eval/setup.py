"""The arguments of ReForm-Eval's data loader."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mmconvert.kits.reform_eval.dialogue import Processor
from mmconvert.kits.reform_eval.pools import Pool, own_pools


@dataclass(frozen=True, slots=True)
class Setup:
    """Arguments of the kit's `load_reform_dataset`, with its defaults, and what it finds elsewhere.

    Attributes:
        dataset_name: A name that `loader.DATASETS` knows.
        formulation: SingleChoice, Generation, OCROpenEnded or KIEOpenEnded.
        config: The dataset's configuration (version, split, task, instruct_kind, ...).
        inference_method: generation or likelihood.
        in_context_sample: Put a one-shot example into the history.
        random_instruct: Take another instruction for each copy of a sample, not for each sample.
        data_duplication: Copies of each sample.
        shuffle_options: Draw the options' order.
        option_mark: Marks in `question_with_option`; anything but upper, lower, number draws them.
        online_multi_round: Put the model's answers into the history of a dialog.
        processor: Writes `text`; its marks are its own.
        pools: Instructions and examples by the kit's class.
    """

    dataset_name: str
    formulation: str
    config: Mapping[str, Any] = field(default_factory=dict)
    inference_method: str = "generation"
    in_context_sample: bool = True
    random_instruct: bool = True
    data_duplication: int = 5
    shuffle_options: bool = True
    option_mark: str | None = "random"
    online_multi_round: bool = True
    processor: Processor | None = None
    pools: Mapping[str, Pool] = field(default_factory=own_pools)
