"""`run_eval`: load a dataset, ask a model, write the framework's result list and evaluate it.

Source: FudanDISC/ReForm-Eval@df1cfa7 run_eval.py, utils/run_utils.py.
"""

import json
import logging
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from mmconvert.core.errors import RowError, UsageError, in_field, show, suggest_spelling
from mmconvert.core.option_fields import build_options
from mmconvert.core.record import LETTERS, Image, Part, Record, Source, Turn, encode_json, from_arrow
from mmconvert.core.text.options import read_option_texts
from mmconvert.core.text.yaml import read_mapping_file
from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.dataset.dataset import open_dataset as open_rows
from mmconvert.kits.reform_eval.conversation_text import ALPHABETS, Processor, build_labeled_question
from mmconvert.kits.reform_eval.conversations import HISTORY
from mmconvert.kits.reform_eval.pools import OWN_INSTRUCTIONS, read_pools
from mmconvert.kits.reform_eval.setup import Setup
from mmconvert.pipeline.convert import write
from mmconvert.plugins.format import Target
from mmconvert.plugins.registry import find_plugins, load
from mmconvert.storage.atomic import write_synced
from mmscore.compat.reform_eval.datasets import (
    CHOICE,
    GENERATION,
    ReformDataset,
    open_dataset,
    read_config,
    with_preprocessor,
)
from mmscore.compat.reform_eval.evaluation import Evaluation, kits_log, logged_evaluation, read_list
from mmscore.infer.adapter import split_backend
from mmscore.infer.adapters.reform_eval import METHODS, build_model_config, build_prompt, is_loader
from mmscore.infer.backend import GROUP, LIKELIHOOD, ModelOptions
from mmscore.infer.ledger import Summary
from mmscore.infer.options import PredictOptions
from mmscore.infer.protocol import Before, Playing, Reply, open_protocol
from mmscore.infer.session import predict
from mmscore.kits.reform_eval.benchmarks import TASKS

OPEN = ("ocr", "kie")
_ROLES = {"human": "user", "assistant": "assistant"}
_COLUMNS = (
    *("sample_id", "image", "question", "answer", "answer_options"),
    *("references", "instruct", "history", "round_id", "text"),
)

PROTOCOL = "reform_eval"
FILE = ".py@"
VISIBLE = "CUDA_VISIBLE_DEVICES"
ARGUMENTS = ".args.json"
"""Ending of the file with a run's flags; the framework's own is a pickle."""
_LOADED_WITH = ("in_context_sample", "random_instruct", "shuffle_options", "option_mark", "capitalize")
"""Flags that the loader takes as they are."""
_ASKED_WITH = (
    *("model_type", "dataset_duplication", "in_context_sample", "random_instruct", "shuffle_options", "option_mark"),
    *("online_multi_round", "capitalize", "answer_space_instruct", "dataset_subsample", "pools", "seed"),
    *("temperature", "max_new_tokens", "likelihood_reduction", "half_evaluation"),
)
"""Flags on which predictions depend and that are not in the name of their list."""


def records_of(dataset: ReformDataset) -> Iterator[Record]:
    """Give every sample as a record, worded as chat turns.

    The image stands in the first turn; instruction, question and, where the model generates, options in the
    last. Fields without a column are in `extra`; a conversation's rounds before it, too.

    Args:
        dataset: Samples without `text`.

    Raises:
        RowError: An image or an answer is wrong.
    """
    task = {formulation: task for task, formulation in TASKS.items()}[dataset.setup.formulation]
    for index in range(len(dataset)):
        try:
            sample, image = dataset.visit(index)
            record = _record(sample, image, index, dataset, task)
        except RowError as error:
            number = index // dataset.setup.data_duplication
            raise RowError(error.code, error.field, f"sample {number} {error.field}: {error.message}") from None
        if dataset.dialogs is not None:
            before = dataset.dialogs.list_earlier_rounds(index)
            record = replace(
                record,
                group=record.sample.removesuffix(f"_{record.round}"),
                extra={**record.extra, **({HISTORY: before} if before else {})},
            )
        yield record


def _record(sample: Mapping[str, Any], image: Image, index: int, dataset: ReformDataset, task: str) -> Record:
    setup = dataset.setup
    copies, key = setup.data_duplication, sample["sample_id"]
    variant = index % copies if copies > 1 else None
    with in_field("answer_options"):
        options = read_option_texts(sample["answer_options"]) if sample.get("answer_options") else ()
    answer: Any = sample.get("answer")
    references = tuple(sample.get("references") or ())
    if options and not references:
        if not 0 <= int(answer) < len(options):
            raise RowError(
                "answer.range", "answer", f"there are {len(options)} options, counted from 0 {show(answer)}."
            )
        answers: tuple[str, ...] = (LETTERS[int(answer)],)
    else:
        answers = references or (tuple(map(str, answer)) if isinstance(answer, list) else (str(answer),))
    extra = {name: value for name, value in sample.items() if name not in _COLUMNS}
    return Record(
        id=str(key) if variant is None else f"{key}#{variant}",
        sample=str(key),
        messages=_turns(_asked(sample, setup, index), sample),
        task="multiple_choice" if options else task if references or task in OPEN else "vqa",
        source=Source("reform_eval", setup.dataset_name, index // copies),
        images=(image,),
        question=sample["question"],
        instruction=sample.get("instruct"),
        options=options,
        answer=None if references else answers[0],
        answers=answers,
        label=encode_json(list(references) if references else answer),
        variant=variant,
        round=sample.get("round_id"),
        dataset=setup.dataset_name,
        extra={**extra, "sample_id": key} if isinstance(key, int) else extra,
    )


def _asked(sample: Mapping[str, Any], setup: Setup, index: int) -> str:
    if setup.inference_method == "likelihood" or not sample.get("answer_options"):
        return str(sample["question"])
    # MSCOCO-OC has options but no question with them; the loader's own draws stay as they are.
    return sample.get("question_with_option") or build_labeled_question(sample, setup.option_mark, Random(index))


def _turns(asked: str, sample: Mapping[str, Any]) -> tuple[Turn, ...]:
    last = f"{sample['instruct']} {asked}" if sample.get("instruct") else asked
    said = [(_ROLES[turn["from"]], turn["value"]) for turn in sample.get("history") or ()]
    turns = [Turn(role, (Part("text", text),)) for role, text in (*said, ("user", last))]
    return (Turn(turns[0].role, (Part("image"), *turns[0].content)), *turns[1:])


def with_heard(records: Iterable[Record], playing: Playing, *, chosen: bool) -> Iterator[Record]:
    """Put into each round of conversations what the model had said before it, as it was asked.

    Args:
        records: Rows with predictions; a conversation's rounds in their order.
        playing: The protocol of the run.
        chosen: Predictions are letters of options.

    Raises:
        RowError: A round before has no prediction.
    """
    said: dict[str, dict[int, list[Reply]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        rounds = said[record.group or record.id]
        number = record.round or 0
        before = Before(tuple(tuple(rounds[earlier]) for earlier in range(number)), chosen)
        rounds[number].append(Reply(record.options, record.prediction, record.variant or 0))
        yield replace(record, messages=playing.protocol.history(record, before, playing.parameters))


def listed(records: Iterable[Record], infer_method: str, prompt: Callable[[Record], Any] | None) -> Iterator[Record]:
    """Give rows as the result list holds them: fields of a sample alone, and how it was predicted.

    Args:
        records: Rows with predictions.
        infer_method: generation or likelihood.
        prompt: Writes the field `text`; None leaves it out.
    """
    for record in records:
        extra = {**record.extra, "infer_method": infer_method}
        if prompt is not None:
            text = prompt(record)
            # One of the framework's preprocessors gives more than the text.
            extra["text"] = text["raw_text"] if isinstance(text, Mapping) else text
        yield replace(record, extra=extra)


class Arguments(msgspec.Struct, frozen=True):
    """The flags of the framework's run_eval.py by name; `pools` and `seed` are ours.

    Those without effect here: docs/kits/reform_eval.md.
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
    yesno_instruct: bool = False
    answer_space_instruct: bool = False
    per_gpu_eval_batch_size: int | None = None
    num_workers: int = 4
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
    options_in_history: bool = False
    online_multi_round: bool = False
    multi_round_eval: bool = False
    output_dir: str = "./output/"
    dataset_debug: bool = False
    dataset_subsample: int | None = None
    core_eval: bool = False
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
            raise UsageError(f"{', '.join(missing)}: missing. The framework's guide gives them for each dataset.")

    @property
    def stem(self) -> str:
        """Name of the result list without its suffix.

        Example:
            >>> Arguments("lynx", "configs/LYNX.yaml", dataset_name="VQA", formulation="SingleChoice").stem
            'VQA_SingleChoice_generation_lynx_LYNX'
        """
        family = str(self.model).rpartition("@")[2].removeprefix("get_")
        name = family
        if self.model_name:
            name = self.model_name.strip("/").rpartition("/")[2]
            if "/" in self.model_name and not os.path.isdir(self.model_name):
                name = name.partition(".")[0]
        return f"{self.dataset_name}_{self.formulation}_{self.infer_method}_{family}_{name}"

    @property
    def dtype(self) -> str | None:
        """Type of the weights; None for the model's own."""
        return "float16" if self.half_evaluation else None

    @property
    def method(self) -> str:
        """`infer_method` as our options call it."""
        return next(ours for ours, kits in METHODS.items() if kits == self.infer_method)


class Result(msgspec.Struct, frozen=True):
    """What a run left.

    Attributes:
        list_file: The framework's result list; None while rows have no prediction.
        summary: What was asked; None where the list stood there already.
        evaluation: The numbers; None without `do_eval`.
    """

    list_file: Path | None
    summary: Summary | None = None
    evaluation: Evaluation | None = None


def run_eval(arguments: Arguments) -> Result:
    """Do what the framework's run_eval.py does with these flags.

    Beside the framework's files the folder gets the predictions as parquet and the store of responses: a run that was
    stopped continues when it is started again. Several processes (torchrun) share the rows.

    Args:
        arguments: The flags.

    Raises:
        UsageError: A flag has no meaning here, or names something that is not there.
        Error: A file cannot be read or written, the model cannot be loaded, or the framework would break off.
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
        if arguments.infer_method == METHODS[LIKELIHOOD] and arguments.formulation != CHOICE:
            raise UsageError(
                f"--infer_method likelihood chooses among options, and {arguments.formulation} has none. "
                "Fix: --infer_method generation"
            )
        if processes > 1 and FILE not in str(arguments.model):
            # Each process of torchrun sees its own GPU alone; models in files of the user's are told it by number.
            visible = os.environ.get(VISIBLE)
            devices = visible.split(",") if visible else [str(number) for number in range(rank + 1)]
            os.environ[VISIBLE] = ",".join(devices[rank : rank + 1])
        model, preprocessor = _opened(arguments, logger)
        data = open_data(arguments, preprocessor)
        if arguments.pools is None:
            logger.info(OWN_INSTRUCTIONS)
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
        **{name: getattr(arguments, name) for name in _LOADED_WITH},
        answer_space_instruct=arguments.answer_space_instruct,
        data_duplication=arguments.dataset_duplication,
        # The protocol of the run puts the model's answers in the place of the right ones.
        online_multi_round=False,
        processor=Processor("\n", mark=arguments.option_mark, method=arguments.infer_method),
        pools=read_pools(None if arguments.pools is None else Path(arguments.pools)),
    )
    return open_dataset(
        replace(with_preprocessor(setup, preprocessor), write=None),
        load_from_hf=arguments.hf,
        offline_from_hf=arguments.offline_hf,
        seed=arguments.seed,
        dialogs=arguments.dataset_subsample,
    )


def _opened(arguments: Arguments, logger: logging.Logger) -> tuple[Any, Any]:
    """Give what is asked: a backend's name or an object, and its preprocessor where it has one."""
    name = str(arguments.model)
    if FILE not in name and name not in find_plugins(GROUP):
        known = find_plugins(GROUP)
        raise UsageError(
            f"--model {name}: no model family of the framework is built "
            f"in.{suggest_spelling(name, known)} Give its interface as "
            f"file.py@get_{name}, or a backend: {', '.join(known)}."
        )
    loader = load(GROUP, name) if FILE in name else None
    if loader is None or not is_loader(loader):
        return name, None
    options = ModelOptions(arguments.model_name or name, dtype=arguments.dtype, method=arguments.method)
    config = build_model_config(options, arguments.model_type)
    logger.info("Loading model: %s with configure: %s", name, json.dumps(config))
    interface, preprocessor = loader(config)
    if arguments.formulation == CHOICE and arguments.option_mark is not None:
        if not hasattr(preprocessor, "set_mark"):
            raise UsageError(f"--option_mark: the preprocessor of {name} has no set_mark. Leave it out, or write one.")
        logger.info("Using %s option mark for the single-choice questions", arguments.option_mark)
        preprocessor.set_mark(arguments.option_mark)
    return (interface, preprocessor), preprocessor


def _predicted(
    arguments: Arguments, data: ReformDataset, model: Any, logger: logging.Logger, *, rank: int, share: bool
) -> Summary:
    if arguments.online_multi_round:
        logger.info("Running with the online multi round format")
        if data.dialogs is None:
            raise UsageError("--online_multi_round is for conversations (--dataset_name VisDial). Leave it out.")
    logger.info("***** Runing Evaluation *****")
    logger.info("  Num examples = %d", len(data))
    if arguments.per_gpu_eval_batch_size is not None:
        logger.info("  Batch size = %d", arguments.per_gpu_eval_batch_size)
    folder = Path(arguments.output_dir)
    rows = folder / f".{arguments.stem}.rank{rank}.dataset"
    with DatasetWriter(rows, overwrite=True) as writer:
        writer.write(records_of(data))
    plugin, backend = split_backend(model)
    # Scripts share their flags among both methods; the framework passes on those of the method alone.
    same = ("likelihood_reduction",) if arguments.method == LIKELIHOOD else ("max_new_tokens", "temperature")
    given = {name: getattr(arguments, name) for name in same} | {"method": arguments.method, "dtype": arguments.dtype}
    given |= {"model": arguments.model_name or str(arguments.model), "backend": plugin}
    given |= {"batch_size": arguments.per_gpu_eval_batch_size, "resume": not share, "share": share}
    given |= {"protocol": _protocol(arguments, data) if arguments.online_multi_round else None}
    options = build_options(PredictOptions, given, "predict")
    try:
        return predict(rows, folder / f"{arguments.stem}.parquet", options, backend, quiet=True)
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
    """Refuse a list of another dataset: several have one name in the framework, and so one file name.

    What else differs is logged, and the list evaluated, as in the framework.
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
        logger.info("%s was made with %s; remove it to run again", list_file, flags)


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
