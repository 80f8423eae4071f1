"""Thrift's compact protocol, so far as parquet uses it: structs as their fields by number.

Source: apache/thrift doc/specs/thrift-compact-protocol.md.
"""

from collections.abc import Mapping
from typing import Any

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = (4, 5, 6)
_CONTAINERS = (_LIST, _SET, _MAP)
_VARINT_BYTES = 10
_LAST_FIELD = 32767
"""Numbers of fields have 16 bits."""

INTEGER, BINARY = _INTEGERS, (_BINARY,)
"""Shapes of values that are no structs: the kinds that they may be of."""

Shape = Mapping[int, Any]
"""Fields of a struct -> what they must be if they are there: a `Shape`, `[one]` for a list of such, or kinds."""


class BadThriftError(Exception):
    """The bytes are none of the protocol, or end too early."""


class CompactReader:
    """Reads structs from the beginning of some bytes.

    Whoever knows the shape of a struct reads the items of a list by it, whatever kind the list says they are. Bytes
    that could be read in two ways are refused, so that nothing is seen here that is something else to another reader.

    Attributes:
        at: Where the next value begins.
    """

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def read_struct(self, depth: int, shape: Shape | None = None) -> dict[int, Any]:
        """Read a struct.

        Args:
            depth: So many structs inside each other are read, this one among them; lists of lists count, too.
            shape: What fields must be; those that it does not name may be anything.

        Returns:
            Its fields by number: integers, truth values, structs and lists of them; None for texts and floats.

        Raises:
            BadThriftError: It is none, one that is nested deeper, has another shape, or has a field twice.
        """
        if depth <= 0:
            raise BadThriftError
        fields: dict[int, Any] = {}
        key = 0
        while (head := self._read_byte()) != 0:
            key = key + (head >> 4) if head >> 4 else self._read_integer()
            kind = head & 15
            if key in fields or not 0 < key <= _LAST_FIELD:
                raise BadThriftError
            known = None
            if shape and key in shape:
                known = shape[key]
                _require_kind(kind, known)
            if kind in _INTEGERS:
                fields[key] = self._read_integer()
            else:
                fields[key] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._read_value(kind, depth, known)
        return fields

    def _read_value(self, kind: int, depth: int, known: Any = None) -> Any:
        if kind in _INTEGERS:
            return self._read_integer()
        if kind == _STRUCT:
            return self.read_struct(depth - 1, known)
        if kind in _CONTAINERS and depth <= 0:
            raise BadThriftError
        if kind in (_LIST, _SET):
            head = self._read_byte()
            size = head >> 4 if head >> 4 < 15 else self._read_varint()
            return self._read_items(size, head & 15, depth, known[0] if known else None)
        if kind == _MAP:
            if size := self._read_varint():
                head = self._read_byte()
                for _ in range(size):
                    self._read_value(head >> 4, depth - 1)
                    self._read_value(head & 15, depth - 1)
        elif kind == _BINARY:
            size = self._read_varint()
            self.at += size
        elif kind in (_TRUE, _FALSE, _BYTE):
            self.at += 1
        elif kind == _DOUBLE:
            self.at += 8
        else:
            raise BadThriftError
        return None

    def _read_items(self, size: int, kind: int, depth: int, known: Any) -> list[Any]:
        # Every item takes a byte at least, so that no list is longer than what is left.
        if size > len(self.data) - self.at:
            raise BadThriftError
        if known is not None:
            _require_kind(kind, known)
        depth -= kind in _CONTAINERS
        return [self._read_value(kind, depth, known) for _ in range(size)]

    def _read_byte(self) -> int:
        if self.at >= len(self.data):
            raise BadThriftError
        self.at += 1
        return self.data[self.at - 1]

    def _read_varint(self) -> int:
        if self.at < len(self.data) and (byte := self.data[self.at]) < 128:
            self.at += 1
            return byte
        value = 0
        for place, byte in enumerate(self.data[self.at : self.at + _VARINT_BYTES]):
            value |= (byte & 127) << 7 * place
            if byte < 128:
                self.at += place + 1
                return value
        raise BadThriftError

    def _read_integer(self) -> int:
        value = self._read_varint()
        return value >> 1 ^ -(value & 1)


def _require_kind(kind: int, known: Any) -> None:
    kinds = known if isinstance(known, tuple) else (_LIST,) if isinstance(known, list) else (_STRUCT,)
    if kind not in kinds:
        raise BadThriftError
