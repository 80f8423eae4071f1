"""Put the references of a dataset beside predictions that lack them."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from functools import reduce

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from mmconvert.core.arrow import build_column, build_scalar, from_numpy
from mmconvert.core.errors import Error, show
from mmconvert.core.record import NUMBER_DIGITS, encode_json
from mmscore.core.predictions.agreement import (
    MOST_UNLIKE,
    QUESTION,
    compare_questions,
    find_by_question,
    quote_question,
)
from mmscore.core.predictions.load import FORMAT, NUMBERED, ROW, SOURCE, TABLES, Refusal, Rows, check_ids

ANSWER_COLUMNS = frozenset(("id", "prediction", "prediction_status", "prediction_error", "method", "model"))
"""Columns that tell what a model did; all others tell what it was asked."""

REFERENCES = frozenset(("answer", "answers", "label"))
"""Columns in which a reference answer can stand; those of a row go together."""

_CHECK = "Check that it is the dataset that the predictions were made of."
BY_PLACE, BY_QUESTION = "place", "group and question"
_ABSENT = {
    "": "no row with this id",
    BY_PLACE: "no row at the place of this one",
    BY_QUESTION: "no row with the group and question of this one",
}
_PLAIN = TABLES | {"table"}
"""Formats that say nothing of a framework, so that the references' format counts."""

_FALSE, _NO_TEXT = build_scalar(False), pa.nulls(1, pa.string())[0]
_COPY = "variant"
_EXTRA = "extra"
_GIVE = "Give the dataset of the predictions: --answers DATASET."
_ALLOW = "Give the dataset that the predictions were made of, or score all the same: --allow-mismatch."


def join(predictions: Rows, references: Rows, *, allow_mismatch: bool = False) -> Rows:
    """Join predictions and the dataset they were made of: by id, else by sample and variant, by question, by place.

    Questions and options of joined rows must agree (`compare_questions`) but for `MOST_UNLIKE` of the rows. Ids with
    which a reader numbered rows say nothing but their place: such rows must have questions that agree. Where no id is
    found, rows are joined by group (the image that questions are about; its name may be the prediction's id) and
    question, where the references have groups, else by place where one side at least has no ids of its own. Where
    fewer than half of either side's rows are joined by group and question, the references are those of another file.

    Several responses to one question, which have a variant where the dataset has none, all find it by
    their sample, and keep their variants. Where both sides say something of a question the dataset
    counts, in `extra` key by key; `source.format` is that of the predictions, unless they are a table
    of no framework.

    Args:
        predictions: Rows whose `ANSWER_COLUMNS` count; their order stays.
        references: Rows whose other columns count; what only the predictions say stays.
        allow_mismatch: Join although questions differ.

    Returns:
        The predictions that have a reference; the others are `rejected`, and the references
        without a prediction, or a refused one, `missing`, but for those of splits to which there is none at all.

    Raises:
        Error: No prediction finds a reference, or too many rows differ.
    """
    check_ids(predictions)
    pairs = _find_pairs(predictions, references)
    notes, mismatch = _check_pairs(predictions, references, pairs, allow_mismatch=allow_mismatch)
    partner = pairs.partner
    found = pc.is_valid(partner)
    unmatched = predictions.identity["id"].filter(pc.invert(found)).to_pylist()
    asked = references.identity["id"]
    replied = pa.concat_arrays([partner, pairs.refused])
    unanswered = pc.invert(pc.is_in(from_numpy(np.arange(len(references), dtype=np.int32)), value_set=replied))
    missing = asked.filter(pc.and_(unanswered, _is_of_answered_splits(references, replied)))

    reread = predictions.reread

    def read(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # Read columns of the references; of a reference answer all that there are.
        wanted = {*columns} | (REFERENCES if REFERENCES & {*columns} else set())
        asked = sorted(wanted & (references.names - ANSWER_COLUMNS))
        questions = pa.Table.from_batches(references.read(asked)) if asked else pa.table({})
        own = [name for name in columns if _is_wanted(name, questions, predictions)]
        start = 0
        for batch in predictions.read(own or ["id"]):
            index = partner.slice(start, batch.num_rows)
            start += batch.num_rows
            batch, index = batch.filter(pc.is_valid(index)), index.drop_null()
            of_question = questions.take(index) if questions.num_columns else questions
            arrays = [_choose_column(name, of_question, batch) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    what = _ABSENT[pairs.how]
    lost = tuple(Refusal(id, f"{references.path}: has {what} {show(id)}. {_GIVE}") for id in unmatched)
    return replace(
        predictions,
        names=predictions.names | (references.names - ANSWER_COLUMNS),
        identity=_build_identity(predictions.identity.filter(found), references.identity.take(partner.drop_null())),
        read=read,
        rejected=predictions.rejected + lost,
        missing=tuple(missing.to_pylist()),
        sides=(predictions, references),
        partner=partner.drop_null(),
        reread=reread and (lambda reading: join(reread(reading), references, allow_mismatch=True)),
        notes=(*predictions.notes, *references.notes, *notes),
        mismatch=mismatch,
    )


def _is_of_answered_splits(references: Rows, replied: pa.Array) -> pa.Array:
    """Tell the questions of splits of which some have a prediction; a key may hold several splits."""
    if "split" not in references.names:
        return from_numpy(np.ones(len(references), np.bool_))
    splits = pa.Table.from_batches(references.read(["split"]))["split"].combine_chunks()
    return pc.is_in(splits, value_set=pc.unique(splits.take(replied.drop_null())))


def read_unmatched(rows: Rows, ids: Sequence[str | None], columns: Sequence[str]) -> pa.RecordBatch:
    """Read what the two sides of a join say of questions that are not among its rows.

    Args:
        rows: The file; without references nothing is known.
        ids: Ids of `rejected` or `missing`, None for none.
        columns: Columns that tell what was asked.

    Returns:
        A row for each id, in order: `id` and those of the columns that a side has, null where it says nothing.
    """
    found = {"id": _cast_ids(ids)}
    for side in reversed(rows.sides) if ids else ():
        having = sorted({*columns} & (side.names - ANSWER_COLUMNS))
        parts = [b.filter(pc.is_in(b.column("id"), value_set=found["id"])) for b in side.read(["id", *having])]
        table = pa.Table.from_batches(parts)
        table = table.take(pc.index_in(found["id"], value_set=table["id"].combine_chunks(), skip_nulls=True))
        for name in having:
            facts = _flatten(table.column(name))
            found[name] = pc.if_else(_has_value(name, found[name]), found[name], facts) if name in found else facts
    return pa.RecordBatch.from_pydict(found)


class _Pairs(msgspec.Struct, frozen=True):
    """Row numbers of references: of each prediction, null for none, and of each refused row.

    `vouched`: ids of at least one side's own say so; `how`: what they were joined by where no id is found.
    """

    partner: pa.Array
    refused: pa.Array
    vouched: bool = False
    how: str = ""


def _find_pairs(predictions: Rows, references: Rows) -> _Pairs:
    """Find the reference of each prediction by its id, and by its place where no id is found and one side has none."""
    partner = _find_partners(predictions.identity, references.identity)
    if pc.any(pc.is_valid(partner)).as_py():
        refused = _find_partners(_build_lookup(predictions.rejected), references.identity)
        return _Pairs(partner, refused, vouched=not (_is_numbered(predictions) and _is_numbered(references)))
    if _has_groups(references) and QUESTION in predictions.names:
        partner, refused = find_by_question(predictions, references)
        if partner.null_count < len(partner):
            return _Pairs(partner, refused, how=BY_QUESTION)
    places, theirs = _list_places(predictions), _list_places(references)
    if _is_numbered(predictions) or _is_numbered(references):
        partner = pc.index_in(places, value_set=theirs)
        single = all(len(pc.unique(side)) == len(side) for side in (places, theirs))
        if single and partner.null_count < len(partner):
            rows = _cast_ids([None if one.row is None else str(one.row) for one in predictions.rejected])
            return _Pairs(partner, pc.index_in(rows, value_set=theirs, skip_nulls=True), how=BY_PLACE)
    raise Error(
        f"{references.path}: has none of the ids of {predictions.path} {show(predictions.identity['id'][0].as_py())}. "
        "Give the dataset that the predictions were made of."
    )


def _has_groups(rows: Rows) -> bool:
    """Tell whether each row says to which group it belongs, and some what it asks."""
    groups = rows.identity["group"] if "group" in rows.identity.column_names else None
    return groups is not None and not groups.null_count and QUESTION in rows.names


def _list_places(rows: Rows) -> pa.Array:
    """Give the place of each row in the file that it was read from, as text; its place here where that is not known."""
    places = _read_source_field(rows, ROW)
    return from_numpy(np.arange(len(rows))).cast(pa.string()) if places is None else places


def _read_source_field(rows: Rows, name: str) -> pa.Array | None:
    """Read what all rows say of where they came from; None where one says nothing."""
    if rows.names & {name, SOURCE}:
        with contextlib.suppress(Error):
            column = pa.Table.from_batches(rows.read([name])).column(name)
            if not column.null_count:
                return column.combine_chunks()
    return None


def _is_numbered(rows: Rows) -> bool:
    """Tell whether a reader numbered the rows, since they have no ids.

    Rows of schema version 2 say so. Of others the ids are looked at; a run of ours takes the dataset's
    ids over.
    """
    stated = _read_source_field(rows, NUMBERED)
    if stated is not None:
        return bool(pc.all(pc.equal(stated, build_scalar("true")), skip_nulls=False).as_py())
    if rows.run:
        return False
    ends = pc.utf8_slice_codeunits(rows.identity["id"], -NUMBER_DIGITS)
    return bool(pc.all(pc.equal(ends, pc.utf8_lpad(_list_places(rows), NUMBER_DIGITS, "0")), skip_nulls=False).as_py())


def _check_pairs(
    predictions: Rows, references: Rows, pairs: _Pairs, *, allow_mismatch: bool
) -> tuple[tuple[str, ...], str]:
    """Check that joined rows ask the same.

    Returns:
        What to say of it, and what goes into the signature, "" for nothing.

    Raises:
        Error: Too many rows differ, or cannot be compared where no id vouches for them.
    """
    if pairs.how == BY_QUESTION and (apart := _describe_other_file(predictions, references, pairs.partner)):
        if not allow_mismatch:
            raise Error(f"{references.path}: {apart}. {_ALLOW}")
        absent = f"{pairs.partner.null_count}/{len(predictions)}"
        return (f"{references.path}: {apart}; scored all the same (--allow-mismatch).",), absent
    found = compare_questions(predictions, references, pairs.partner)
    unknown = 0 if pairs.vouched else found.joined - found.compared
    doubtful = found.unlike + unknown
    example = show(predictions.identity["id"][0].as_py())
    how = f" joined by {pairs.how}, since no id is found {example}" if pairs.how else ""
    if found.unlike or not unknown:
        what = f"{found.unlike:,} of {found.joined:,} rows{how} differ from {predictions.path} in question or options"
        what += f", such as {'; '.join(found.examples)}"
    else:
        what = f"{unknown:,} of {found.joined:,} rows{how} have no question to compare, nor ids of their own"
    if doubtful <= MOST_UNLIKE * found.joined:
        notes = [f"{references.path}: its rows are{how}; the questions agree."] if pairs.how else []
        notes += [f"{references.path}: {what}. {_CHECK}"] if found.unlike else []
        return tuple(notes), ""
    if not allow_mismatch:
        raise Error(f"{references.path}: {what}. {_ALLOW}")
    return (f"{references.path}: {what}; scored all the same (--allow-mismatch).",), f"{doubtful}/{found.joined}"


def _describe_other_file(predictions: Rows, references: Rows, partner: pa.Array) -> str:
    """Say that two files ask about other images: fewer than half of either side's rows find one of the other's.

    A key of more questions than were asked, or answers to more than a key holds, leave one side whole.
    """
    found = pc.is_valid(partner)
    joined, met = len(partner) - partner.null_count, len(pc.unique(partner.drop_null()))
    if joined * 2 >= len(partner) or met * 2 >= len(references):
        return ""
    others = pc.invert(pc.is_in(from_numpy(np.arange(len(references), dtype=np.int32)), value_set=partner))
    ours, theirs = (pc.indices_nonzero(rows)[0].as_py() for rows in (pc.invert(found), others))
    return (
        f"is another file: {joined:,} of {len(partner):,} rows of {predictions.path} have their {BY_QUESTION} here. "
        f"One that has not: {quote_question(predictions, ours)}; one of {references.path}: "
        f"{quote_question(references, theirs)}"
    )


def _find_partners(predictions: pa.Table, references: pa.Table) -> pa.Array:
    """Find the row number of each prediction's reference, null for none."""
    if not len(predictions):
        return pa.nulls(0, pa.int32())
    index = pc.index_in(predictions["id"], value_set=references["id"].combine_chunks(), skip_nulls=True)
    if all("sample" in t.column_names and _COPY in t.column_names for t in (predictions, references)):
        second = pc.index_in(_copy(predictions), value_set=_copy(references).combine_chunks(), skip_nulls=True)
        index = pc.coalesce(index, second)
        responses = pc.if_else(pc.is_valid(predictions[_COPY]), predictions["sample"], _NO_TEXT)
        index = pc.coalesce(index, pc.index_in(responses, value_set=_list_unvaried(references), skip_nulls=True))
    return index.combine_chunks()


def _build_lookup(refused: Sequence[Refusal]) -> pa.Table:
    """Lay out by what skipped rows find their questions."""
    columns = {"id": [one.id for one in refused], "sample": [one.sample for one in refused]}
    columns[_COPY] = [one.variant for one in refused]
    return pa.table({name: _cast_ids(values) for name, values in columns.items()})


def _list_unvaried(references: pa.Table) -> pa.Array:
    """Give the sample of each row that has no variant, null where other rows have the same."""
    counts = pc.value_counts(references["sample"])
    single = counts.field("values").filter(pc.equal(counts.field("counts"), build_scalar(1)))
    sure = pc.and_(pc.is_null(references[_COPY]), pc.is_in(references["sample"], value_set=single))
    return pc.if_else(sure, references["sample"], _NO_TEXT).combine_chunks()


def _copy(table: pa.Table) -> pa.ChunkedArray:
    variant = pc.fill_null(table[_COPY].cast(pa.string()), build_scalar(""))
    return pc.binary_join_element_wise(table["sample"], variant, build_scalar("\0"))


def _cast_ids(ids: Sequence[str | None]) -> pa.Array:
    return build_column(ids, pa.string())


def _build_identity(predictions: pa.Table, references: pa.Table) -> pa.Table:
    asked = references.select([name for name in references.column_names if name not in ANSWER_COLUMNS])
    names = dict.fromkeys([*predictions.column_names, *asked.column_names])
    return pa.table({name: _choose_column(name, asked, predictions) for name in names})


def _is_wanted(name: str, questions: pa.Table, predictions: Rows) -> bool:
    """Tell whether a column of the predictions makes a difference: it is not read where the dataset says all."""
    if name not in questions.column_names:
        return True
    both = name in predictions.names
    return both and (name in (_EXTRA, FORMAT) or not pc.all(_is_said(name, questions)).as_py())


def _choose_column(name: str, questions: pa.Table, responses: pa.Table | pa.RecordBatch) -> pa.Array:
    """Give a column of rows of which both sides have some columns."""
    if name not in responses.schema.names:
        return _flatten(questions.column(name))
    facts = _flatten(responses.column(name))
    if name not in questions.column_names:
        shared = name in REFERENCES and REFERENCES & {*questions.column_names}
        return pc.if_else(_flatten(_is_said(name, questions)), pa.nulls(1, facts.type)[0], facts) if shared else facts
    found = _flatten(questions.column(name))
    if name == FORMAT:
        plain = pc.is_in(facts, value_set=_cast_ids(sorted(_PLAIN)))
        return pc.coalesce(pc.if_else(plain, None, facts), found, facts)
    either = pc.if_else(_flatten(_is_said(name, questions)), found, facts)
    return _merge_extra(found, facts, either) if name == _EXTRA else either


def _is_said(name: str, questions: pa.Table) -> pa.ChunkedArray:
    """Tell the rows in which the references say a column, or one that goes together with it."""
    names = REFERENCES & {*questions.column_names} if name in REFERENCES else {name}
    return reduce(pc.or_, [_has_value(one, questions.column(one)) for one in sorted(names)])


def _has_value(name: str, values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Tell the rows that have something in a column; an empty list or object is nothing."""
    if pa.types.is_list(values.type):
        return pc.fill_null(pc.greater(pc.list_value_length(values), build_scalar(0)), _FALSE)
    if name == _EXTRA:
        return pc.fill_null(pc.invert(pc.is_in(values, value_set=_cast_ids(["{}", "", None]))), _FALSE)
    return pc.is_valid(values)


def _merge_extra(found: pa.Array, facts: pa.Array, either: pa.Array) -> pa.Array:
    """Put the keys of `extra` that only the predictions have beside those of the references."""
    differ = pc.fill_null(pc.not_equal(found, facts), _FALSE)
    both = pc.and_(pc.and_(_has_value(_EXTRA, found), _has_value(_EXTRA, facts)), differ)
    pairs = zip(found.filter(both).to_pylist(), facts.filter(both).to_pylist(), strict=True)
    return pc.replace_with_mask(either, both, build_column([_add_missing_keys(*pair) for pair in pairs], either.type))


def _add_missing_keys(first: str, second: str) -> str:
    """Add the keys of an object, as JSON, that the first lacks; what is not a object is left to whoever reads it."""
    try:
        fields, further = json.loads(first), json.loads(second)
    except (ValueError, RecursionError):
        return first
    return encode_json({**further, **fields}) if isinstance(fields, dict) and isinstance(further, dict) else first


def _flatten(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
