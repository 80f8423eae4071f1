"""`load_reform_dataset`: ReForm-Eval's samples, pictures decoded, as its own loader gives them.

Source: FudanDISC/ReForm-Eval@df1cfa7 build/__init__.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, cast

from msgspec.structs import replace

from mmconvert.core.errors import UsageError, show
from mmconvert.core.record import Image
from mmconvert.images.canvas import decode_rgb
from mmconvert.kits.reform_eval.conversation_text import Processor
from mmconvert.kits.reform_eval.conversations import Conversations
from mmconvert.kits.reform_eval.loader import CHOICE, GENERATION, load
from mmconvert.kits.reform_eval.pools import read_pools
from mmconvert.kits.reform_eval.setup import Setup
from mmscore.compat.reform_eval.files import Files, picture_of, read_config
from mmscore.compat.reform_eval.preprocessors import settings_of

__all__ = ["CHOICE", "GENERATION", "ReformDataset", "load_reform_dataset", "open_dataset"]


class ReformDataset(Sequence[dict[str, Any]]):
    """Samples by number; item i is copy i % d of question i // d, and each visit draws anew as in the kit."""

    def __init__(self, samples: Sequence[dict[str, Any]], setup: Setup) -> None:
        """Take what the loader gave, and the arguments it was given."""
        self.samples = samples
        self.setup = setup

    def __len__(self) -> int:
        """Count questions times copies."""
        return len(self.samples)

    def __getitem__(self, index: Any) -> Any:
        """Visit a sample; `image` is a PIL picture in RGB. A slice gives a list.

        Raises:
            IndexError: There is none.
            RowError: Its picture cannot be decoded, or its answer is none of its options.
        """
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        sample, image = self.visit(index)
        return {**sample, "image": decode_rgb(image)}

    def visit(self, index: int) -> tuple[dict[str, Any], Image]:
        """Visit a sample, its picture undecoded beside it."""
        sample = self.samples[range(len(self))[index]]  # -1 is the last, as in the kit
        return sample, picture_of(sample, self.setup.dataset_name, self.setup.config.get("task"))

    @property
    def dialogs(self) -> Conversations | None:
        """The rounds of dialogs, where these are some."""
        return self.samples if isinstance(self.samples, Conversations) else None

    def update_history(self, answers: Iterable[Iterable[tuple[str, str]]]) -> None:
        """Take in what a model answered to rounds of dialogs; see `Conversations.update_history`.

        Raises:
            UsageError: The samples are no dialogs.
        """
        if self.dialogs is None:
            raise UsageError("only dialogs have a history (dataset_name VisDial). Leave update_history out.")
        self.dialogs.update_history(answers)


def load_reform_dataset(
    dataset_name: str,
    formulation: str,
    dataset_config: str | Path | Mapping[str, Any] | None = None,
    inference_method: str = "generation",
    in_context_sample: bool = True,
    random_instruct: bool = True,
    data_duplication: int = 5,
    shuffle_options: bool = True,
    load_from_hf: bool = True,
    offline_from_hf: bool = False,
    option_mark: str | None = "random",
    online_multi_round: bool = True,
    preprocessor: Any = None,
    *,
    pools: str | Path | None = None,
    seed: int = 0,
) -> ReformDataset:
    """Load a dataset of ReForm-Eval.

    Args:
        dataset_name: The kit's name, as VQA or MSCOCO.
        formulation: SingleChoice, Generation, OCROpenEnded or KIEOpenEnded.
        dataset_config: The dataset's YAML file, or what it holds.
        inference_method: generation or likelihood.
        in_context_sample: Put a finished round before the question.
        random_instruct: Another instruction for each copy of a sample.
        data_duplication: Copies of each sample.
        shuffle_options: Draw the options' order.
        load_from_hf: Read the Hub; wins over `offline_from_hf`.
        offline_from_hf: Read the files that the configuration names on this machine.
        option_mark: Marks in `question_with_option`: upper, lower, number; random or None draws them.
        online_multi_round: A dialog's history is what `update_history` is told, not the right answers.
        preprocessor: Makes `text` of each sample.
        pools: File with instructions and one-shot rounds, the kit's own for one; None is our wording.
        seed: Seed of all draws; the kit sets none.

    Returns:
        Samples: dicts with sample_id, image (PIL, RGB), question, answer, answer_options, instruct, ..., where
        the dataset has them.

    Raises:
        UsageError: A name or a combination of arguments is none that the kit takes, or a file is not there.
        Error: A file cannot be read, or does not go with the configuration.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 build/__init__.py:load_reform_dataset.
    """
    config = read_config(dataset_config)
    if data_duplication < 1:
        raise UsageError(f"data_duplication: expected a number from 1 {show(data_duplication)}.")
    # The kit takes a mark that it does not know for random.
    Processor("\n", mark=option_mark).choose_labels(Random(0))
    setup = Setup(
        dataset_name,
        formulation,
        config,
        inference_method,
        in_context_sample=in_context_sample,
        random_instruct=random_instruct,
        data_duplication=data_duplication,
        shuffle_options=shuffle_options,
        option_mark=option_mark,
        online_multi_round=online_multi_round,
        pools=read_pools(None if pools is None else Path(pools)),
    )
    if preprocessor is not None:
        settings, write, finish = settings_of(preprocessor, inference_method)
        setup = replace(setup, processor=settings, write=write, finish=finish)
        if formulation == GENERATION and hasattr(preprocessor, "response_prefix"):
            preprocessor.response_prefix = None
    return open_dataset(setup, load_from_hf=load_from_hf, offline_from_hf=offline_from_hf, seed=seed)


def open_dataset(
    setup: Setup, *, load_from_hf: bool, offline_from_hf: bool, seed: int, dialogs: int | None = None
) -> ReformDataset:
    """Read the files of a dataset and load it.

    Args:
        setup: The loader's arguments.
        load_from_hf: Read the Hub.
        offline_from_hf: Read the files on this machine.
        seed: Seed of all draws.
        dialogs: Only the first dialogs, of a dataset that has some.

    Raises:
        UsageError: Neither place is named, or the loader refuses the arguments.
        Error: A file cannot be read, or does not go with the configuration.
    """
    if not (load_from_hf or offline_from_hf):
        raise UsageError(
            "the benchmarks' raw files, each in its own shape, are not read here. Give --hf (load_from_hf=True), or "
            "--offline_hf (offline_from_hf=True) for a copy of the Hub's files."
        )
    files = Files(setup.config, from_hub=load_from_hf)
    setup = replace(setup, choices=files.choices)
    data = files.data()
    if dialogs is not None and isinstance(data, Mapping) and isinstance(data.get("data"), Mapping):
        data = {**data, "data": {**data["data"], "dialogs": data["data"]["dialogs"][:dialogs]}}
    return ReformDataset(cast(Sequence[dict[str, Any]], load(data, setup, Random(seed))), setup)
