"""What became of the rows of a file, gathered batch after batch as columns."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from mmconvert.core.arrow import build_column, build_scalar, from_numpy
from mmconvert.core.error_hints import add_hint, says_what_to_do
from mmconvert.core.errors import Error, RowError, show
from mmconvert.core.record import encode_json
from mmscore.core.judge import JUDGED, NoVerdict, Verdict
from mmscore.core.parsed import UNPARSED, Parsed
from mmscore.core.predictions.load import Refusal, find_column_type
from mmscore.core.recipe import Columnar, Item, NoReferenceError, OwnResults, Recipe
from mmscore.core.table import (
    EXCLUDED,
    FAILED,
    FAILURE,
    JUDGE_FAILED,
    JUDGE_FIELDS,
    MISSING,
    PARSED_FIELDS,
    REJECTED,
    ROW_FIELDS,
    SCORED,
    VOTES,
    Floats,
    Scored,
    add_clusters,
    build_parsed_columns,
    list_values,
)
from mmscore.scoring.judging.jury import UNASKED, CaseOutcome, Vote
from mmscore.scoring.judging.panel import Sitting
from mmscore.scoring.signature import Fingerprint

_STATUS_OF = {"failed": FAILED, "skipped": MISSING}
_EMPTY = build_scalar("")
_ASK_AGAIN = "Judge them again: --rejudge failed."
EXTRA = "extra."
"""What the name of a key of `extra` begins with, as the user writes it."""
TOGETHER = ("group", "sample")
"""Columns that tell which rows hang together, for standard errors."""


class Gathered(msgspec.Struct, frozen=True):
    """What became of the rows of a part, as `Collector` gathers it."""

    tables: list[pa.Table]
    scores: list[tuple[int, Mapping[str, Floats]]]
    together: list[list[pa.Array]]
    rows: int
    bare: int
    refusals: list[Refusal]
    fingerprint: Fingerprint | None = None


def find_source_column(name: str) -> str:
    """Name the column that a breakdown is read from: `extra` for `extra.key`."""
    return "extra" if name.startswith(EXTRA) else name


def _explain_rejection(error: RowError) -> str:
    """Say why a row is refused, and what to do about it."""
    message = add_hint(error.code, error.field, error.message)
    return f"{error.field}: {message}" if error.field else message


class Collector:
    """Gathers the results of batches as columns."""

    def __init__(
        self, path: str, kept: Sequence[str], sitting: Sitting | None, own: OwnResults | None, first: int = 0
    ) -> None:
        self._path = path
        self._sitting = sitting
        self._own = own
        fields = [*ROW_FIELDS, *(JUDGE_FIELDS if sitting else ()), *([pa.field(FAILURE, pa.bool_())] if own else ())]
        self._schema = pa.schema([*fields, *((name, find_column_type(name)) for name in kept)])
        self._tables: list[pa.Table] = []
        self._scores: list[tuple[int, Mapping[str, Floats]]] = []
        self._together: list[list[pa.Array]] = []
        self._first = first
        self.rows = 0
        self.bare = 0
        """Rows that were refused because they have no reference."""
        self.refusals: list[Refusal] = []

    def add(self, batch: pa.RecordBatch, recipe: Recipe, version: str) -> None:
        """Parse and score the rows of a batch."""
        if self._own:
            batch = mark_failures(batch, self._own)
        statuses = self._list_statuses(batch)
        columnar = None if self._sitting else recipe.find_columnar()
        if columnar:
            self._append(batch, statuses, *self._score_columns(columnar, batch, recipe, version, statuses))
            return
        parsed, scores = self._score_each(batch, range(len(statuses)), recipe, version, statuses)
        outcomes = self._judge(batch, recipe, version, statuses, parsed, scores) if self._sitting else ()
        self._append(batch, statuses, build_parsed_columns(parsed), gather_scores(scores), outcomes)

    def _score_each(
        self, batch: pa.RecordBatch, numbers: Sequence[int], recipe: Recipe, version: str, statuses: list[str]
    ) -> tuple[list[Parsed], list[Mapping[str, float]]]:
        """Parse and score some rows of a batch, and write down what became of each."""
        parsed: list[Parsed] = []
        scores: list[Mapping[str, float]] = []
        parse, metrics = recipe.parse, recipe.metrics
        part = batch if len(numbers) == len(batch) else batch.take(build_column(numbers, pa.int64()))
        for number, item in zip(numbers, read_items(part, recipe.fields), strict=False):
            response: Parsed = UNPARSED
            row_scores: Mapping[str, float] = {}
            if statuses[number] is SCORED:
                try:
                    response = parse(item, version)
                    row_scores = metrics(item, response, version)
                    if not row_scores:
                        statuses[number] = EXCLUDED
                except RowError as error:
                    response, statuses[number] = UNPARSED, REJECTED
                    self.bare += isinstance(error, NoReferenceError)
                    self._refuse(batch, number, _explain_rejection(error))
            parsed.append(response)
            scores.append(row_scores)
        return parsed, scores

    def _score_columns(
        self, columnar: Columnar, batch: pa.RecordBatch, recipe: Recipe, version: str, statuses: list[str]
    ) -> tuple[pa.RecordBatch, dict[str, Floats]]:
        """Parse and score a batch by its columns, and row by row what is not decided so."""
        count = len(statuses)
        answered = np.array([status is SCORED for status in statuses], bool)
        names = [name for name in {"prediction": None, **dict.fromkeys(recipe.fields)} if name in batch.schema.names]
        found = columnar.score(batch.select(names).filter(from_numpy(answered)), version)
        decided = np.flatnonzero(answered)[found.decided]
        open_rows = np.delete(np.arange(count), decided)
        parsed, row_scores = self._score_each(batch, open_rows.tolist(), recipe, version, statuses)
        places = np.empty(count, np.int64)
        places[decided] = np.flatnonzero(found.decided)
        places[open_rows] = np.arange(len(open_rows)) + len(found.decided)
        both = pa.Table.from_batches([found.parsed, build_parsed_columns(parsed)]).take(from_numpy(places))
        known, others = found.scores if len(decided) else {}, gather_scores(row_scores)
        early = gather_scores(row_scores[: int(np.searchsorted(open_rows, decided[0]))]) if known else {}
        scores = {name: np.full(count, np.nan) for name in (*early, *known, *others)}
        for name, values in scores.items():
            if name in known:
                values[decided] = known[name][found.decided]
            if name in others:
                values[open_rows] = others[name]
        return both.combine_chunks().to_batches()[0], scores

    def _judge(
        self,
        batch: pa.RecordBatch,
        recipe: Recipe,
        version: str,
        statuses: list[str],
        parsed: list[Parsed],
        scores: list[Mapping[str, float]],
    ) -> Sequence[CaseOutcome]:
        """Put the answered rows to the judge, and write its verdicts over what the rules gave."""
        if self._sitting is None:
            return ()
        items = list(read_items(batch, {*recipe.fields, *self._sitting.panel.columns}))
        numbers = [number for number, status in enumerate(statuses) if status in (SCORED, EXCLUDED)]
        judged = self._sitting.judge([(items[n], parsed[n], scores[n]) for n in numbers])
        outcomes = [UNASKED] * len(statuses)
        for number, outcome in zip(numbers, judged, strict=True):
            outcomes[number] = outcome
            if isinstance(outcome.step, NoVerdict):
                statuses[number], scores[number] = JUDGE_FAILED, {}
                reason = f"{outcome.step.reason.rstrip('.')}."
                known = says_what_to_do(reason)
                self._refuse(batch, number, f"judge: {reason}" if known else f"judge: {reason} {_ASK_AGAIN}")
            elif isinstance(outcome.step, Verdict):
                try:
                    given = _score_verdict(outcome.step, recipe, items[number], parsed[number], version)
                    parsed[number], scores[number] = given
                    statuses[number] = SCORED if scores[number] else EXCLUDED
                except RowError as error:
                    statuses[number], scores[number] = REJECTED, {}
                    self._refuse(batch, number, _explain_rejection(error))
        return outcomes

    def _list_statuses(self, batch: pa.RecordBatch) -> list[str]:
        answers, ids = batch.column("prediction"), batch.column("id")
        statuses = [SCORED] * batch.num_rows
        if answers.null_count:
            statuses = [SCORED if valid else FAILED for valid in answers.is_valid().to_pylist()]
        if "prediction_status" in batch.schema.names:
            facts = batch.column("prediction_status").to_pylist()
            statuses = [_STATUS_OF.get(status, known) for status, known in zip(facts, statuses, strict=True)]
        for number in pc.indices_nonzero(pc.equal(pc.fill_null(ids, _EMPTY), _EMPTY)).to_pylist():
            statuses[number] = REJECTED
            self._refuse(batch, number, "id: is empty. Give the row an id of its own.")
        return statuses

    def _refuse(self, batch: pa.RecordBatch, number: int, message: str) -> None:
        id = batch.column("id")[number].as_py()
        self.refusals.append(Refusal(id, f"{self._path} row {self._first + self.rows + number} {message}"))

    def _append(
        self,
        batch: pa.RecordBatch,
        statuses: Sequence[str],
        parsed: pa.RecordBatch,
        scores: dict[str, Floats],
        outcomes: Sequence[CaseOutcome] = (),
    ) -> None:
        made = {name: parsed.column(name) for name in PARSED_FIELDS.names}
        made["status"] = build_column(statuses, pa.string())
        results: dict[str, Sequence[Any]] = {}
        if self._sitting:
            results["judge_model"] = [", ".join(outcome.models) or None for outcome in outcomes]
            results["judge_reply"] = [outcome.reply for outcome in outcomes]
            results["judge_prompt_sha256"] = [outcome.prompt_sha256 for outcome in outcomes]
            results["tries"] = [outcome.tries or None for outcome in outcomes]
            results["judge_votes"] = [[_encode_vote(vote) for vote in outcome.votes] or None for outcome in outcomes]
        made |= {name: pa.array(values, self._schema.field(name).type) for name, values in results.items()}
        arrays = [made[f.name] if f.name in made else _find_column(batch, f.name) for f in self._schema]
        self._tables.append(pa.Table.from_arrays(arrays, schema=self._schema))
        self._scores.append((batch.num_rows, scores))
        self._together.append([_find_column(batch, name).cast(pa.string()) for name in TOGETHER])
        self.rows += batch.num_rows

    def give(self) -> Gathered:
        """Give what was gathered, for the collector of another process."""
        return Gathered(self._tables, self._scores, self._together, self.rows, self.bare, self.refusals)

    def take(self, part: Gathered) -> None:
        """Take over what stands behind the rows so far."""
        self._tables += part.tables
        self._scores += part.scores
        self._together += part.together
        self.rows += part.rows
        self.bare += part.bare
        self.refusals += part.refusals

    @property
    def has_scores(self) -> bool:
        """Whether some row has a score."""
        return any(scores for _, scores in self._scores)

    def add_unscored(self, told: pa.RecordBatch, status: str) -> None:
        """Add rows of one status that nothing was parsed of."""
        n = told.num_rows
        known = {"status": build_column([status] * n, pa.string())}
        known |= {
            f.name: _find_column(told, f.name) for f in self._schema if find_source_column(f.name) in told.schema.names
        }
        arrays = [known.get(f.name, pa.nulls(n, f.type)) for f in self._schema]
        self._tables.append(pa.Table.from_arrays(arrays, schema=self._schema))
        self._scores.append((n, {}))
        self._together.append([_find_column(told, name).cast(pa.string()) for name in TOGETHER])

    def scored(self) -> Scored:
        """Give all rows so far, in the order in which they came."""
        names = dict.fromkeys(name for _, scores in self._scores for name in scores)
        scores = {
            name: np.concatenate([part[name] if name in part else np.full(n, np.nan) for n, part in self._scores])
            for name in names
        }
        groups, samples = (pa.chunked_array(parts, pa.string()) for parts in zip(*self._together, strict=True))
        return Scored(add_clusters(pa.concat_tables(self._tables), groups, samples), scores)


def mark_failures(batch: pa.RecordBatch, own: OwnResults) -> pa.RecordBatch:
    """Mark the responses of a framework's file that stand for a failed call, and give them the text it scores."""
    responses, place = batch.column("prediction"), batch.schema.get_field_index("prediction")
    absent = pc.is_null(responses) if own.absent is not None else build_column([False] * len(responses), pa.bool_())
    said = pc.fill_null(pc.match_substring(responses, own.failure), build_scalar(False)) if own.failure else absent
    batch = batch.set_column(place, "prediction", pc.if_else(absent, pa.scalar(own.absent, pa.string()), responses))
    return batch.append_column(FAILURE, pc.or_(absent, said))


def gather_scores(rows: Sequence[Mapping[str, float]]) -> dict[str, Floats]:
    """Gather the scores of rows by name, NaN where a row has none of that name.

    Example:
        >>> {name: values.tolist() for name, values in gather_scores([{"a": 1.0}, {"a": 0.0, "b": 1.0}]).items()}
        {'a': [1.0, 0.0], 'b': [nan, 1.0]}
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([row.get(name, np.nan) for row in rows], np.float64) for name in names}


def _encode_vote(vote: Vote) -> dict[str, Any]:
    """Lay a vote out as `VOTES` has it."""
    scores = None if vote.scores is None else [{"name": name, "value": value} for name, value in vote.scores.items()]
    return {**{name: getattr(vote, name) for name in VOTES.value_type.names}, "scores": scores}


def _score_verdict(
    verdict: Verdict, recipe: Recipe, item: Item, parsed: Parsed, version: str
) -> tuple[Parsed, Mapping[str, float]]:
    read = verdict.parsed or replace(parsed, how=JUDGED)
    return read, recipe.metrics(item, read, version) if verdict.scores is None else verdict.scores


def read_items(batch: pa.RecordBatch, columns: Iterable[str]) -> Iterator[Item]:
    """Give the rows of a batch with their predictions and these columns, where it has them."""
    wanted = {"prediction", *columns}
    values: list[Iterable[Any]] = []
    for name in Item._fields:
        default = Item._field_defaults[name]
        if name not in wanted or name not in batch.schema.names:
            values.append(repeat(default))
        elif default is None:
            values.append(list_values(batch.column(name)))
        else:
            values.append([default if value is None else value for value in list_values(batch.column(name))])
    return map(Item._make, zip(*values, strict=False))


def _find_column(batch: pa.RecordBatch, name: str) -> pa.Array:
    if name.startswith(EXTRA) and find_source_column(EXTRA) in batch.schema.names:
        key = name.removeprefix(EXTRA)
        return build_column([_read_value(key, text) for text in batch.column("extra").to_pylist()], pa.string())
    return batch.column(name) if name in batch.schema.names else pa.nulls(batch.num_rows, find_column_type(name))


def _read_value(key: str, extra: str | None) -> str | None:
    """Give the text of a key of `extra`, None where the row has none."""
    value = find_value(read_fields(extra), key)
    return value if value is None or isinstance(value, str) else encode_json(value)


def read_fields(extra: str | None) -> Mapping[str, Any]:
    """Read the column `extra` of a row; none where it is null or no object.

    Raises:
        Error: It is no JSON.
    """
    try:
        fields = json.loads(extra or "{}")
    except (ValueError, RecursionError):
        raise Error(
            f"extra: expected a JSON object {show(extra)}. Write the column as one, or break down by another."
        ) from None
    return fields if isinstance(fields, dict) else {}


def find_value(fields: Mapping[str, Any], key: str) -> Any:
    """Find the value of a key, or of a key inside it as in `a.b`; None for none.

    Example:
        >>> find_value({"a.b": 1, "a": {"c": 2}}, "a.b"), find_value({"a": {"c": 2}}, "a.c")
        (1, 2)
        >>> find_value({"a": 1}, "a.c") is None
        True
    """
    if key in fields:
        return fields[key]
    head, _, rest = key.partition(".")
    inside = fields.get(head)
    return find_value(inside, rest) if rest and isinstance(inside, Mapping) else None
