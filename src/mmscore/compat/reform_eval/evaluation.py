"""`loader_eval`: a result list in, ReForm-Eval's numbers out, and its lines in log.txt beside the list."""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmconvert.core.errors import Error, RowError, UsageError, show, take_first_line
from mmconvert.core.text.json import parse_json
from mmscore.kits.reform_eval.evaluation import Evaluation, evaluate

__all__ = ["Evaluation", "kits_log", "loader_eval", "logged_evaluation", "read_list"]

LOG = "log.txt"
NAME = "ReForm-Eval Evaluation"
_FORMAT = "%(asctime)s %(name)s %(levelname)s: %(message)s"


@contextlib.contextmanager
def kits_log(folder: Path) -> Iterator[logging.Logger]:
    """Log as the framework does: to standard output, and at the end of the folder's log.txt.

    Under torchrun only the first process writes.
    """
    logger = logging.getLogger(NAME)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    handlers: list[logging.Handler] = [logging.NullHandler()]
    if int(os.environ.get("LOCAL_RANK", 0)) == 0:
        try:
            handlers += [logging.StreamHandler(sys.stdout), logging.FileHandler(folder / LOG, encoding="utf-8")]
        except OSError as error:
            raise Error(f"{folder / LOG}: cannot be written: {error.strerror}. Name another folder.") from None
    for handler in handlers:
        handler.setFormatter(logging.Formatter(_FORMAT))
        logger.addHandler(handler)
    try:
        yield logger
    finally:
        for handler in handlers:
            logger.removeHandler(handler)
            handler.close()


def read_list(path: Path) -> Sequence[Mapping[str, Any]]:
    """Read a result list.

    Raises:
        Error: It is no JSON list of objects.
    """
    try:
        records = parse_json(path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode(), nan=True)
    except (OSError, RowError, UnicodeDecodeError) as error:
        raise Error(f"{path}: cannot be read as a JSON list ({take_first_line(error)}). Write it again.") from None
    if not isinstance(records, list) or not all(isinstance(record, Mapping) for record in records):
        raise Error(f"{path}: expected a list of samples with their predictions {show(records)}. Write one.")
    return records


def loader_eval(
    formulation: str,
    multi_round_eval: bool = False,
    eval_stability: bool = False,
    infer_method: str | None = None,
    prediction_file: str | Path | None = None,
) -> Evaluation:
    """Evaluate a result list, whoever made it.

    Args:
        formulation: SingleChoice, Generation, OCROpenEnded or KIEOpenEnded.
        multi_round_eval: Hold accuracy against the rounds of conversations.
        eval_stability: Measure how the predictions for one sample differ.
        infer_method: generation or likelihood; None tells it by the predictions, texts or numbers.
        prediction_file: The list.

    Returns:
        The numbers and the lines that stand in log.txt now; the original gives None.

    Raises:
        UsageError: No list is named, or it is not there.
        Error: The list cannot be read, a sample lacks a field or has one of another type, or the framework would break
            off.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 run_loader_eval.py:loader_eval. There infer_method is generation unless
        it is given, and the guide's own command breaks off; a list that is not there is passed over.
    """
    if prediction_file is None:
        raise UsageError("prediction_file is missing. Name the result list.")
    path = Path(prediction_file)
    if not path.is_file():
        raise UsageError(f"{path}: no such file. Name the result list.")
    records = read_list(path)
    numbers = bool(records) and isinstance(records[0].get("prediction"), int)
    with kits_log(path.parent) as logger:
        logger.info("found the existing prediction in %s", path)
        return logged_evaluation(
            path,
            records,
            logger,
            formulation,
            multi_round_eval=multi_round_eval,
            eval_stability=eval_stability,
            infer_method=infer_method or ("likelihood" if numbers else "generation"),
        )


def logged_evaluation(
    path: Path, records: Sequence[Mapping[str, Any]], logger: logging.Logger, formulation: str, **options: Any
) -> Evaluation:
    """Evaluate a list and log its numbers.

    Args:
        path: Where the list stands, for messages.
        records: The list.
        logger: Takes the lines.
        formulation: As `loader_eval`.
        **options: As `evaluate`.

    Raises:
        Error: As `loader_eval`.
    """
    try:
        evaluation = evaluate(records, formulation, **options)
    except Error as error:
        raise Error(f"{path}: {error}") from None
    for line in evaluation.log:
        logger.info("%s", line)
    return evaluation
