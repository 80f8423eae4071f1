"""Arrow columns of Python values and of numbers, and back, without pandas.

The first `pa.array`, `pa.scalar` or `to_numpy` of pyarrow imports pandas to see whether the value is one of its kinds,
which costs every process more than a tenth of a second; so does a plain value among the arguments of `pyarrow.compute`.
"""

from array import array
from collections.abc import Sequence
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mmconvert.core.buffers import take

_MOST = (1 << 31) - 1
_NUMBERS = {pa.int32(): "i", pa.int64(): "q", pa.float64(): "d"}
# `True` is an integer, too.
_SCALARS: dict[type, pa.DataType] = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


def build_column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Build a column of any type.

    Args:
        values: One value a row, a mapping where the column holds structs; None where there is none.
        kind: Type of the column.

    Raises:
        UnicodeEncodeError: A text holds half a surrogate pair.
    """
    if kind == pa.string():
        return _build_strings(values)
    nulls = values.count(None)
    if nulls == len(values):
        return pa.nulls(len(values), kind)
    if kind in _NUMBERS:
        valid = pack_bits([value is not None for value in values]) if nulls else None
        numbers = [0 if value is None else value for value in values] if nulls else values
        return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(array(_NUMBERS[kind], numbers))])
    if kind == pa.bool_() and not nulls:
        return pa.Array.from_buffers(kind, len(values), [None, pack_bits(values)])
    if kind == pa.binary():
        return build_binary(values)
    if pa.types.is_list(kind) and not nulls:
        return build_lists(values, build_column([item for row in values for item in row], kind.value_type))
    if pa.types.is_struct(kind):
        rows = [{} if value is None else value for value in values] if nulls else values
        columns = [build_column([row.get(field.name) for row in rows], field.type) for field in kind]
        missing = build_column([value is None for value in values], pa.bool_()) if nulls else None
        return pa.StructArray.from_arrays(columns, fields=list(kind), mask=missing)
    return pa.array(values, kind)


def build_scalar(value: str | bool | float) -> pa.Scalar:
    """Build a value to compare or fill with, for `pyarrow.compute`.

    Example:
        >>> build_scalar("a"), build_scalar(True).type, build_scalar(2).type, build_scalar(0.5).type
        (<pyarrow.StringScalar: 'a'>, DataType(bool), DataType(int64), DataType(double))
    """
    kind = next(kind for python, kind in _SCALARS.items() if isinstance(value, python))
    return build_column([value], kind)[0]


_NO_NUMBER = build_column([-1], pa.int32())[0]


def from_numpy(values: npt.NDArray[Any]) -> pa.Array:
    """Give numbers or truth values as a column; not a number stays what it is."""
    if values.dtype == np.bool_:
        bits = pa.py_buffer(np.packbits(values, bitorder="little"))
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, bits])
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def to_numpy(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """Give a column of numbers or truth values, none of them null."""
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if column.null_count:
        raise ValueError(f"{column.null_count} values are null")
    start, end, data = column.offset, column.offset + len(column), column.buffers()[1]
    if data is None:
        return np.empty(0, np.bool_ if column.type == pa.bool_() else column.type.to_pandas_dtype())
    if column.type == pa.bool_():
        bits = np.frombuffer(data, np.uint8)[start // 8 : -(-end // 8)]
        return np.unpackbits(bits, bitorder="little")[start % 8 : start % 8 + len(column)].astype(np.bool_)
    return np.frombuffer(data, column.type.to_pandas_dtype(), count=end)[start:]


def number_values(column: pa.Array | pa.ChunkedArray) -> tuple[npt.NDArray[np.int32], list[Any]]:
    """Number the values of a column in the order in which they come.

    Returns:
        The number of each row's value, from 0, -1 for null; and the values.

    Example:
        >>> number_values(build_column(["b", None, "a", "b"], pa.string()))
        (array([ 0, -1,  1,  0], dtype=int32), ['b', 'a'])
    """
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = whole.dictionary_encode()
    return to_numpy(encoded.indices.fill_null(_NO_NUMBER)), encoded.dictionary.to_pylist()


def list_texts(column: pa.Array) -> list[Any]:
    """List texts or bytes, None for null, several times faster than `to_pylist`."""
    if not len(column):
        return []
    start, end = column.offset, column.offset + len(column)
    _, offsets, values = column.buffers()
    ends = np.frombuffer(offsets, np.int32, count=end + 1)[start:].tolist()
    data: Any = b"" if values is None else values.slice(ends[0], ends[-1] - ends[0]).to_pybytes()
    if ends[0]:
        ends = [place - ends[0] for place in ends]
    if column.type == pa.binary():
        found = [data[first:last] for first, last in pairwise(ends)]
    elif data.isascii():
        data = data.decode("ascii")
        found = [data[first:last] for first, last in pairwise(ends)]
    else:
        found = [data[first:last].decode() for first, last in pairwise(ends)]
    if column.null_count:
        for place in np.flatnonzero(to_numpy(column.is_null())).tolist():
            found[place] = None
    return found


def pack_bits(values: Sequence[bool]) -> pa.Buffer:
    """Pack truth values as Arrow lays them out: what a column of them holds, or which rows of a column are not null."""
    return pa.py_buffer(np.packbits(np.fromiter(values, np.bool_, len(values)), bitorder="little"))


def _build_strings(values: Sequence[str | None]) -> pa.Array:
    try:
        joined = "".join(values)  # type: ignore[arg-type]
        if joined.isascii():
            buffers = [None, _build_offsets(values), pa.py_buffer(joined.encode())]
            return pa.Array.from_buffers(pa.string(), len(values), buffers)
    except TypeError:  # one is None
        if values.count(None) == len(values):
            return pa.nulls(len(values), pa.string())
    builder = pa.lib.StringBuilder()
    builder.append_values(values)
    return builder.finish()


def _build_offsets(rows: Sequence[Any]) -> pa.Buffer:
    ends = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=ends[1:])
    if ends[-1] > _MOST:
        raise OverflowError(f"a column of one batch holds {ends[-1]:,} bytes or items, Arrow takes {_MOST:,}")
    return pa.py_buffer(ends.astype(np.int32))


def build_lists(rows: Sequence[Sequence[Any]], values: pa.Array) -> pa.ListArray:
    """Group flat values into the lists they came from; every row is a list."""
    return pa.ListArray.from_buffers(pa.list_(values.type), len(rows), [None, _build_offsets(rows)], children=[values])


def build_binary(values: Sequence[bytes | None]) -> pa.BinaryArray:
    """Build a column of bytes, each copied once: a growing builder would copy every image more than once."""
    if None in values:
        return pa.array(values, pa.binary())
    data: Sequence[bytes] = values  # type: ignore[assignment]
    ends = array("i", [0, *accumulate(map(len, data))])
    joined = take(ends[-1])
    view = memoryview(joined).cast("B")
    for item, start, end in zip(data, ends, ends[1:], strict=False):
        view[start:end] = item
    return pa.Array.from_buffers(pa.binary(), len(data), [None, pa.py_buffer(ends), joined])


def build_structs(kind: pa.StructType, objects: Sequence[Any]) -> pa.StructArray:
    """Build a struct column from objects that have its fields as attributes."""
    columns = [build_column(list(map(attrgetter(field.name), objects)), field.type) for field in kind]
    return pa.StructArray.from_arrays(columns, fields=list(kind))
