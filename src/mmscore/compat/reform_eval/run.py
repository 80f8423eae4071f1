"""`run_eval`: load a dataset, ask a model, write the kit's result list and evaluate it.

Source: FudanDISC/ReForm-Eval@df1cfa7 run_eval.py, utils/run_utils.py.
"""

import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

import mmscore
from mmconvert.core.errors import UsageError, suggest_spelling
from mmconvert.core.option_fields import read_mapping_file
from mmconvert.core.record import Record, from_arrow
from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.dataset.dataset import open_dataset as open_rows
from mmconvert.kits.reform_eval.conversation_text import ALPHABETS, Processor
from mmconvert.kits.reform_eval.pools import read_pools
from mmconvert.kits.reform_eval.setup import Setup
from mmconvert.pipeline.convert import write
from mmconvert.plugins.format import Target
from mmconvert.plugins.registry import find_plugins, load
from mmconvert.storage.atomic import write_synced
from mmscore.compat.reform_eval.datasets import CHOICE, GENERATION, ReformDataset, open_dataset
from mmscore.compat.reform_eval.evaluation import Evaluation, kits_log, logged_evaluation, read_list
from mmscore.compat.reform_eval.files import read_config
from mmscore.compat.reform_eval.preprocessors import settings_of
from mmscore.compat.reform_eval.records import listed, records_of, with_heard
from mmscore.infer.adapters.reform_eval import METHODS, build_model_config, build_prompt, is_loader
from mmscore.infer.backend import GROUP, LIKELIHOOD, ModelOptions
from mmscore.infer.ledger import Summary
from mmscore.infer.protocol import open_protocol

PROTOCOL = "reform_eval"
FILE = ".py@"
VISIBLE = "CUDA_VISIBLE_DEVICES"
ARGUMENTS = ".args.json"
"""Ending of the file with a run's flags; the kit's own is a pickle."""


_ASKED_WITH = (
    *("model_type", "dataset_duplication", "in_context_sample", "random_instruct", "shuffle_options", "option_mark"),
    *("online_multi_round", "capitalize", "answer_space_instruct", "dataset_subsample", "pools", "seed"),
    *("temperature", "max_new_tokens", "likelihood_reduction", "half_evaluation"),
)
"""Flags on which predictions depend and that are not in the name of their list."""


class Arguments(msgspec.Struct, frozen=True):
    """The flags of the kit's run_eval.py by name; `pools` and `seed` are ours.

    Attributes of the kit that say nothing here: docs/kits/reform_eval.md.
    """

    model: str | None = None
    model_name: str | None = None
    model_type: str | None = None
    dataset_name: str | None = None
    formulation: str | None = None
    dataset_config: str | None = None
    dataset_duplication: int = 1
    in_context_sample: bool = False
    capitalize: bool = False
    answer_space_instruct: bool = False
    per_gpu_eval_batch_size: int | None = None
    half_evaluation: bool = False
    do_eval: bool = False
    eval_stability: bool = False
    temperature: float | None = None
    max_new_tokens: int | None = None
    likelihood_reduction: str | None = None
    infer_method: str = "generation"
    option_mark: str | None = None
    random_instruct: bool = False
    shuffle_options: bool = False
    online_multi_round: bool = False
    multi_round_eval: bool = False
    output_dir: str = "./output/"
    dataset_debug: bool = False
    dataset_subsample: int | None = None
    hf: bool = False
    offline_hf: bool = False
    pools: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse a run that lacks what names its result.

        Raises:
            UsageError: A flag is missing.
        """
        wanted = ("dataset_name", "formulation") if self.dataset_debug else ("model", "dataset_name", "formulation")
        missing = [f"--{name}" for name in wanted if getattr(self, name) is None]
        if missing:
            raise UsageError(f"{', '.join(missing)}: missing. The kit's guide gives them for each dataset.")

    @property
    def stem(self) -> str:
        """Name of the result list without its suffix.

        Example:
            >>> Arguments("lynx", "configs/LYNX.yaml", dataset_name="VQA", formulation="SingleChoice").stem
            'VQA_SingleChoice_generation_lynx_LYNX'
        """
        family = str(self.model).rpartition("@")[2].removeprefix("get_")
        name = _short(self.model_name) if self.model_name else family
        return f"{self.dataset_name}_{self.formulation}_{self.infer_method}_{family}_{name}"

    @property
    def method(self) -> str:
        """`infer_method` as our options call it."""
        return next(ours for ours, kits in METHODS.items() if kits == self.infer_method)


class Result(msgspec.Struct, frozen=True):
    """What a run left.

    Attributes:
        list_file: The kit's result list; None while rows have no prediction.
        summary: What was asked; None where the list stood there already.
        evaluation: The numbers; None without `do_eval`.
    """

    list_file: Path | None
    summary: Summary | None = None
    evaluation: Evaluation | None = None


def run_eval(arguments: Arguments) -> Result:
    """Do what the kit's run_eval.py does with these flags.

    Beside the kit's files the folder gets the predictions as parquet and the store of replies: a run that was
    stopped goes on when it is started again. Several processes (torchrun) share the rows.

    Args:
        arguments: The flags.

    Raises:
        UsageError: A flag has no meaning here, or names something that is not there.
        Error: A file cannot be read or written, the model cannot be loaded, or the kit would break off.
    """
    folder = Path(arguments.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    list_file = folder / f"{arguments.stem}.json"
    rank, processes = (int(os.environ.get(name, default)) for name, default in (("LOCAL_RANK", 0), ("WORLD_SIZE", 1)))
    with kits_log(folder) as logger:
        logger.info("Evaluating with %s GPUs", processes)
        if arguments.do_eval and list_file.is_file():
            _check_made(arguments, list_file, logger)
            logger.info("found the existing prediction in %s", list_file)
            return Result(list_file, None, _evaluated(arguments, list_file, logger))
        if processes > 1:
            _see_own_device(arguments, rank)
        model, preprocessor = _opened(arguments, logger)
        data = open_data(arguments, preprocessor)
        summary = _predicted(arguments, data, model, logger, rank=rank, share=processes > 1)
        if summary.failed:
            logger.info("%d of %d rows have no prediction, see %s", summary.failed, summary.rows, summary.output)
            return Result(None, summary)
        if rank == 0:
            _write_list(arguments, data, preprocessor, Path(summary.output), list_file)
        evaluation = _evaluated(arguments, list_file, logger) if arguments.do_eval and rank == 0 else None
    return Result(list_file, summary, evaluation)


def open_data(arguments: Arguments, preprocessor: Any = None) -> ReformDataset:
    """Load the dataset of a run; texts for the model are written when it is asked.

    Raises:
        UsageError: The loader refuses the arguments.
        Error: A file cannot be read, or does not go with the configuration.
    """
    setup = Setup(
        str(arguments.dataset_name),
        str(arguments.formulation),
        read_config(arguments.dataset_config),
        arguments.infer_method,
        in_context_sample=arguments.in_context_sample,
        random_instruct=arguments.random_instruct,
        data_duplication=arguments.dataset_duplication,
        shuffle_options=arguments.shuffle_options,
        option_mark=arguments.option_mark,
        # The protocol of the run puts the model's answers in the place of the right ones.
        online_multi_round=False,
        processor=Processor("\n", mark=arguments.option_mark, method=arguments.infer_method),
        pools=read_pools(None if arguments.pools is None else Path(arguments.pools)),
        write=None,
        capitalize=arguments.capitalize,
        answer_space_instruct=arguments.answer_space_instruct,
    )
    if preprocessor is not None:
        settings, _, finish = settings_of(preprocessor, arguments.infer_method)
        setup = replace(setup, processor=settings, finish=finish)
        if arguments.formulation == GENERATION and hasattr(preprocessor, "response_prefix"):
            preprocessor.response_prefix = None
    return open_dataset(
        setup,
        load_from_hf=arguments.hf,
        offline_from_hf=arguments.offline_hf,
        seed=arguments.seed,
        dialogs=arguments.dataset_subsample,
    )


def _short(model_name: str) -> str:
    """Cut a model's name to what the kit puts into the file's."""
    last = model_name.strip("/").rpartition("/")[2]
    return last if os.path.isdir(model_name) or "/" not in model_name else last.partition(".")[0]


def _opened(arguments: Arguments, logger: logging.Logger) -> tuple[Any, Any]:
    """Give what is asked: a backend's name or an object, and its preprocessor where it has one."""
    name = str(arguments.model)
    if FILE not in name and name not in find_plugins(GROUP):
        known = find_plugins(GROUP)
        raise UsageError(
            f"--model {name}: no model family of the kit is built "
            f"in.{suggest_spelling(name, known)} Give its interface as "
            f"file.py@get_{name}, or a backend: {', '.join(known)}."
        )
    loader = load(GROUP, name) if FILE in name else None
    if loader is None or not is_loader(loader):
        return name, None
    options = ModelOptions(arguments.model_name or name, dtype=_dtype(arguments), method=arguments.method)
    config = build_model_config(options, arguments.model_type)
    logger.info("Loading model: %s with configure: %s", name, json.dumps(config))
    interface, preprocessor = loader(config)
    if arguments.formulation == CHOICE and arguments.option_mark is not None:
        if not hasattr(preprocessor, "set_mark"):
            raise UsageError(f"--option_mark: the preprocessor of {name} has no set_mark. Leave it out, or write one.")
        logger.info("Using %s option mark for the single-choice questions", arguments.option_mark)
        preprocessor.set_mark(arguments.option_mark)
    return (interface, preprocessor), preprocessor


def _see_own_device(arguments: Arguments, rank: int) -> None:
    """Show a process of torchrun its own GPU alone; models in files of the user's are told it by number."""
    if FILE not in str(arguments.model):
        given = os.environ.get(VISIBLE)
        devices = given.split(",") if given else [str(number) for number in range(rank + 1)]
        os.environ[VISIBLE] = ",".join(devices[rank : rank + 1])


def _dtype(arguments: Arguments) -> str | None:
    return "float16" if arguments.half_evaluation else None


def _predicted(
    arguments: Arguments, data: ReformDataset, model: Any, logger: logging.Logger, *, rank: int, share: bool
) -> Summary:
    if arguments.online_multi_round:
        logger.info("Running with the online multi round format")
        if data.dialogs is None:
            raise UsageError("--online_multi_round is for dialogs (--dataset_name VisDial). Leave it out.")
    logger.info("***** Runing Evaluation *****")
    logger.info("  Num examples = %d", len(data))
    if arguments.per_gpu_eval_batch_size is not None:
        logger.info("  Batch size = %d", arguments.per_gpu_eval_batch_size)
    folder = Path(arguments.output_dir)
    rows = folder / f".{arguments.stem}.rank{rank}.dataset"
    with DatasetWriter(rows, overwrite=True) as writer:
        writer.write(records_of(data))
    # The kit's command line has texts of its own for them; here they are checked.
    likelihood: dict[str, Any] = {"method": arguments.method, "likelihood_reduction": arguments.likelihood_reduction}
    try:
        return mmscore.predict(
            rows,
            folder / f"{arguments.stem}.parquet",
            model=arguments.model_name or str(arguments.model),
            backend=model,
            resume=not share,
            share=share,
            **likelihood,
            max_new_tokens=arguments.max_new_tokens,
            temperature=arguments.temperature,
            batch_size=arguments.per_gpu_eval_batch_size,
            dtype=_dtype(arguments),
            protocol=_protocol(arguments, data) if arguments.online_multi_round else None,
        )
    finally:
        shutil.rmtree(rows, ignore_errors=True)


def _protocol(arguments: Arguments, data: ReformDataset) -> str:
    settings = data.setup.processor
    mark = settings.mark if settings is not None and settings.mark in ALPHABETS else arguments.option_mark
    prefix = (settings.prefix if settings is not None else None) or ""
    return f"{PROTOCOL}:mark={mark or 'random'},prefix={prefix},seed={arguments.seed}"


def _write_list(
    arguments: Arguments, data: ReformDataset, preprocessor: Any, predictions: Path, list_file: Path
) -> None:
    """Write the result list and the arguments beside it."""
    records: Iterator[Record] = (record for batch in open_rows(predictions).batches() for record in from_arrow(batch))
    if arguments.online_multi_round:
        playing = open_protocol(_protocol(arguments, data))
        records = with_heard(records, playing, chosen=arguments.method == LIKELIHOOD)
    fixed = arguments.option_mark in ALPHABETS or arguments.formulation != CHOICE
    prompt: Callable[[Record], Any] | None = None
    if preprocessor is not None and fixed:
        prompt = lambda record: build_prompt(record, preprocessor)  # noqa: E731
    write(listed(records, arguments.infer_method, prompt), Target(list_file), "reform_predictions")
    write_synced(list_file.with_suffix(ARGUMENTS), json.dumps(asdict(arguments), indent=1).encode())


def _check_made(arguments: Arguments, list_file: Path, logger: logging.Logger) -> None:
    """Refuse a list of another dataset: several have one name in the kit, and so one file name.

    What else differs is logged, and the list evaluated, as in the kit.
    """
    beside = list_file.with_suffix(ARGUMENTS)
    made = read_mapping_file(str(beside)) if beside.is_file() else {}
    given = asdict(arguments)
    other = {
        name: made[name] for name in ("dataset_config", *_ASKED_WITH) if name in made and made[name] != given[name]
    }
    if "dataset_config" in other:
        raise UsageError(
            f"{list_file}: was made with --dataset_config {other['dataset_config']}. "
            "Give each dataset its own --output_dir."
        )
    if other:
        flags = ", ".join(f"--{name} {value}" for name, value in other.items())
        logger.info("%s was made with %s; remove it to ask anew", list_file, flags)


def _evaluated(arguments: Arguments, list_file: Path, logger: logging.Logger) -> Evaluation:
    captions = arguments.formulation == GENERATION
    return logged_evaluation(
        list_file,
        read_list(list_file),
        logger,
        str(arguments.formulation),
        multi_round_eval=arguments.multi_round_eval,
        eval_stability=not captions and (arguments.dataset_duplication > 1 or arguments.eval_stability),
        infer_method=arguments.infer_method,
        open_stability=True,
    )
