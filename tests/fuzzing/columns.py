"""Seeded damage to parquet files: their columns, their values, the metadata at their end."""

import contextlib
import io
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fuzzing.damage import TEXTS, odd, of_bytes, of_tree

_TYPES: list[pa.DataType] = [
    pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.int8(), pa.int64(), pa.uint64(), pa.float16(),
    pa.float64(), pa.bool_(), pa.null(), pa.date32(), pa.timestamp("ns"), pa.decimal128(38, 2), pa.list_(pa.string()),
    pa.list_(pa.int64()), pa.dictionary(pa.int32(), pa.string()), pa.duration("ms"), pa.time64("ns"),
    pa.struct([("bytes", pa.binary()), ("path", pa.string())]), pa.struct([("bytes", pa.string())]),
    pa.map_(pa.string(), pa.string()), pa.list_(pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
]  # fmt: skip


def of_values(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Damage one row as if it were JSON, and write the rows as Arrow takes them then."""

    def change(table: pa.Table) -> pa.Table:
        rows: list[dict[str, Any]] = table.to_pylist()
        at = rng.randrange(len(rows))
        rows[at] = _plain(of_tree(rows[at], rng))
        if rng.random() < 0.5:
            # The same types, so that a value of another type falls back to bytes below.
            return pa.Table.from_pylist(rows, schema=table.schema)
        return pa.Table.from_pylist(rows)

    return _rewritten(data, rng, others, change)


def _plain(row: Any) -> dict[str, Any]:
    return row if isinstance(row, dict) else {"value": row}


def of_types(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Drop, rename, repeat or retype a column."""

    def change(table: pa.Table) -> pa.Table:
        at = rng.randrange(table.num_columns)
        name, column = table.schema.names[at], table.column(at)
        match rng.randrange(6):
            case 0:
                return table.remove_column(at)
            case 1:
                other = rng.choice([*table.schema.names, *TEXTS])
                return table.rename_columns([other if i == at else n for i, n in enumerate(table.schema.names)])
            case 2:
                return table.append_column(rng.choice([name, "extra"]), column)
            case 3:
                return table.set_column(at, name, pa.nulls(len(column), column.type))
            case 4:
                broken = pa.array([b"\xff\xfe" if rng.random() < 0.5 else b"ok" for _ in range(len(column))])
                return table.set_column(at, name, broken.view(pa.string()))
            case _:
                return table.set_column(at, name, _retyped(column, rng))

    return _rewritten(data, rng, others, change)


def _retyped(column: pa.ChunkedArray, rng: Random) -> Any:
    if rng.random() < 0.1:
        far = pa.array([rng.choice([0, 1, 2**31 - 1, -(2**31)]) for _ in range(len(column))], pa.int32())
        return far.view(rng.choice([pa.date32(), pa.time32("s"), pa.float32()]))
    kind = rng.choice(_TYPES)
    try:
        return column.cast(kind, safe=False)
    except (pa.ArrowException, ValueError, TypeError):
        try:
            return pa.array([odd(rng) for _ in range(len(column))], kind)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            return pa.nulls(len(column), kind)


def of_footer(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Damage the metadata at the end, or its length."""
    if len(data) < 12:
        return of_bytes(data, rng, others)
    length = int.from_bytes(data[-8:-4], "little")
    if rng.random() < 0.2:
        lie = (length + rng.choice([-1, 1, 1 << 31, -(1 << 31), 1 << 20])) % (1 << 32)
        return data[:-8] + lie.to_bytes(4, "little") + data[-4:]
    start = max(4, len(data) - 8 - length)
    return data[:start] + of_bytes(data[start:-8], rng, others) + data[-8:]


def _rewritten(data: bytes, rng: Random, others: Sequence[bytes], change: Callable[[pa.Table], pa.Table]) -> bytes:
    # Not every odd value has an Arrow type, and not every type can be written.
    for _ in range(5):
        with contextlib.suppress(
            pa.ArrowException, OSError, ValueError, TypeError, OverflowError, IndexError, KeyError, RecursionError
        ):
            table = change(pq.read_table(io.BytesIO(data)))
            out = io.BytesIO()
            how = {"use_dictionary": rng.random() < 0.5, "row_group_size": rng.choice([1, 100])}
            pq.write_table(table, out, compression=rng.choice(["none", "snappy", "zstd", "gzip"]), **how)
            return out.getvalue()
    return of_bytes(data, rng, others)
