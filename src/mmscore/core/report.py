"""What a run found: one entry a file and recipe, as JSON and as a flat table."""

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec.structs import asdict

from mmconvert.core.errors import build_write_error
from mmconvert.core.text.csv_injection import write_safe_csv
from mmconvert.dataset.publish import open_output
from mmconvert.storage.atomic import sync_folder, write_synced
from mmconvert.storage.source_files import require_unchanged
from mmscore.core.estimates import Estimate
from mmscore.core.recipe import Metrics, Row
from mmscore.core.table import Scored

SCHEMA_VERSION = 1

CSV_COLUMNS = (
    "model", "dataset", "recipe", "version", "metric", "group", "group_value", "value", "unit", "n", "stderr", "ci_low",
    "ci_high", "partial",
)  # fmt: skip


_Share = Annotated[float, msgspec.Meta(ge=-1, le=1)]
_Count = Annotated[int, msgspec.Meta(ge=0)]


class Counts(msgspec.Struct, frozen=True):
    """How many rows met which fate: total = all the others but `unparsed` together.

    `unparsed` is a part of `scored`, or of `excluded` where the recipe leaves such rows out. `blank` counts the empty
    responses of the file, whatever became of their rows; `failures` those that stand for a failed call and are scored
    all the same, as the framework scores its own result file.
    """

    total: int
    scored: int
    unparsed: int
    excluded: int
    failed: int
    judge_failed: int
    missing: int
    rejected: int
    blank: int = 0
    failures: int = 0

    @property
    def unscored(self) -> int:
        """Rows that should have a score and have none."""
        return self.failed + self.judge_failed + self.missing + self.rejected


class JudgeAgreement(msgspec.Struct, frozen=True):
    """How far two judges agree, over the rows on which both have a verdict.

    Attributes:
        judges: The two.
        n: The rows.
        same: Rows with the same verdict of both.
        kappa: Cohen's kappa; None where it is not defined.
        ci95: Its 95 % interval; None without kappa.
    """

    judges: tuple[str, str]
    n: _Count
    same: _Count
    kappa: _Share | None
    ci95: tuple[_Share, _Share] | None


class JudgeUsage(msgspec.Struct, frozen=True):
    """The responses of a judge model behind the verdicts, whichever run sent the requests, and what they cost.

    Attributes:
        judge: Name and version of the judge.
        model: The judge model.
        responses: The responses.
        uncounted: Those of them whose tokens the server did not count.
        prompt_tokens: Tokens of their prompts.
        cached_tokens: Those of the prompts that the provider had in its cache.
        completion_tokens: Tokens of the responses.
        cost: What they cost; None where no table of prices is given, or it lacks the model.
        currency: Its currency; None without a table.
        prices_of: Day on which the prices were valid; None without a table.
        priced_as: The model in the table; None where there is none.
    """

    judge: str
    model: str
    responses: _Count
    uncounted: _Count
    prompt_tokens: _Count
    cached_tokens: _Count
    completion_tokens: _Count
    cost: Annotated[float, msgspec.Meta(ge=0, le=1e300)] | None = None
    currency: str | None = None
    prices_of: str | None = None
    priced_as: str | None = None


class Judging(msgspec.Struct, frozen=True):
    """What is to be known of the judges of an entry.

    Attributes:
        agreement: One each two judges.
        usage: One a judge and model.
    """

    agreement: tuple[JudgeAgreement, ...]
    usage: tuple[JudgeUsage, ...]


class Entry(msgspec.Struct, frozen=True):
    """One file under one recipe.

    Attributes:
        recipe: Name of the recipe.
        version: Its version.
        parity: The framework and release whose number it is, or `own`.
        reason: Why this recipe was taken.
        metrics: Numbers over all scored rows.
        groups: Column -> its value -> the same numbers over the rows that have it.
        counts: What became of the rows.
        partial: The numbers cover a part of the dataset only.
        model: Who answered; the file's name where it does not say.
        dataset: Benchmark, None when unknown.
        signature: All that the numbers depend on beside the rows; compare only equal ones.
        table: The report as the framework itself lays it out, one mapping a line; empty when it has none.
        predictions: The file, as the user wrote it.
        messages: Remarks about single rows, the first few.
        method: How answers were made, generate or likelihood; None where the file does not say.
        without_failures: The numbers without `Counts.failures`; empty where there are none.
        notes: What the reader of the numbers must know, such as another number that the file itself states.
        judging: How judges agree, and what they took; None where none was asked.
    """

    recipe: str
    version: str
    parity: str
    reason: str
    metrics: Metrics
    groups: Mapping[str, Mapping[str, Metrics]]
    counts: Counts
    partial: bool
    model: str
    dataset: str | None
    signature: str
    table: Sequence[Row] = ()
    predictions: str = ""
    messages: Sequence[str] = ()
    method: str | None = None
    without_failures: Metrics = msgspec.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    judging: Judging | None = None

    @property
    def main_metric(self) -> tuple[str, Estimate] | None:
        """Give the recipe's main metric, which is its first, and its value; None where there are no numbers."""
        return next(iter(self.metrics.items()), None)

    @property
    def fingerprint(self) -> str:
        """The first 12 hexadecimal digits of the signature's SHA-256: equal ones may be compared."""
        return hashlib.sha256(self.signature.encode()).hexdigest()[:12]

    def to_json(self) -> dict[str, Any]:
        """Give the entry as JSON values; a number that does not exist is null."""
        return {
            "recipe": self.recipe,
            "version": self.version,
            "parity": self.parity,
            "reason": self.reason,
            "metrics": build_metrics_json(self.metrics),
            "without_failures": build_metrics_json(self.without_failures),
            "groups": {
                column: {value: build_metrics_json(metrics) for value, metrics in values.items()}
                for column, values in self.groups.items()
            },
            "counts": asdict(self.counts),
            "partial": self.partial,
            "model": self.model,
            "method": self.method,
            "dataset": self.dataset,
            "signature": self.signature,
            "fingerprint": self.fingerprint,
            "table": [{key: drop_infinite(value) for key, value in line.items()} for line in self.table],
            "predictions": self.predictions,
            "messages": list(self.messages),
            "notes": list(self.notes),
            "judging": msgspec.to_builtins(self.judging),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The entries of a run: files in the order given, recipes in the order given.

    Attributes:
        entries: One for each file and recipe.
        scored: The rows behind each entry, where they are kept: `mmscore.score` keeps them.
    """

    entries: tuple[Entry, ...]
    scored: tuple[Scored, ...] = field(default=(), compare=False, repr=False)

    @property
    def complete(self) -> bool:
        """Whether every row of every file has its score."""
        return not any(entry.counts.unscored for entry in self.entries)

    def to_json(self) -> dict[str, Any]:
        """Give the object of schemas/report.json."""
        return {"schema_version": SCHEMA_VERSION, "entries": [entry.to_json() for entry in self.entries]}

    def to_csv(self) -> str:
        """Give one line for each number: `CSV_COLUMNS`, an empty cell for what does not exist.

        A text that a spreadsheet would run has an apostrophe in front; the JSON has it as it is.
        """
        return write_safe_csv([CSV_COLUMNS, *self.lines()])

    def lines(self) -> list[Sequence[Any]]:
        """Give one sequence for each number: the values of `CSV_COLUMNS`, None for what does not exist."""
        return [line for entry in self.entries for line in _build_lines(entry)]


def _build_lines(entry: Entry) -> Iterator[Sequence[Any]]:
    groups = [(column, value, m) for column, values in entry.groups.items() for value, m in values.items()]
    for group, value, metrics in [(None, None, entry.metrics), *groups]:
        for name, e in metrics.items():
            low, high = e.ci95 or (None, None)
            numbers = [drop_infinite(e.value), e.unit, e.n, e.stderr, low, high]
            about = [entry.model, entry.dataset, entry.recipe, entry.version, name, group, value]
            yield [*about, *numbers, entry.partial]


def build_metrics_json(metrics: Metrics) -> dict[str, Any]:
    """Give the numbers of a recipe as JSON values, the object `metric` of schemas/report.json each."""
    return {
        name: {
            "value": drop_infinite(e.value),
            "unit": e.unit,
            "n": e.n,
            "stderr": e.stderr,
            "ci95": None if e.ci95 is None else list(e.ci95),
            "higher_is_better": e.higher_is_better,
        }
        for name, e in metrics.items()
    }


def drop_infinite(value: Any) -> Any:
    """Give a number for JSON, None where it is none or infinite; other values as they are."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_text(value: Any) -> str:
    """Give JSON values as the text of a file that people look at, too."""
    return json.dumps(value, ensure_ascii=False, indent=1)


def publish(path: str | Path, data: bytes) -> None:
    """Write a result file; it is written atomically.

    Args:
        path: The file, or its URL in a store.
        data: What stands in it.

    Raises:
        UsageError: The folder does not exist or may not be written to.
        Error: The disk has no room, or the store failed.
    """
    with open_output(path) as target:
        temporary = target.with_name(f".{target.name}.{os.getpid()}.new")
        try:
            write_synced(temporary, data)
            require_unchanged()
            temporary.replace(target)
            sync_folder(target.resolve().parent)
        except OSError as error:
            raise build_write_error(path, error) from None
        finally:
            temporary.unlink(missing_ok=True)
