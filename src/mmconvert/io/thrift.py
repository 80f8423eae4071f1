"""Thrift's compact protocol, so far as parquet uses it: structs as their fields by number.

Source: apache/thrift doc/specs/thrift-compact-protocol.md.
"""

from typing import Any

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = (4, 5, 6)
_VARINT_BYTES = 10


class BadThriftError(Exception):
    """The bytes are none of the protocol, or end too early."""


class CompactReader:
    """Reads structs from the beginning of some bytes.

    Attributes:
        at: Where the next value begins.
    """

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def read_struct(self, depth: int) -> dict[int, Any]:
        """Read a struct.

        Args:
            depth: So many structs inside each other are read, this one among them.

        Returns:
            Its fields by number: integers, truth values, structs and lists of them; None for texts and floats.

        Raises:
            BadThriftError: It is none, or one that is nested deeper.
        """
        if depth == 0:
            raise BadThriftError
        fields: dict[int, Any] = {}
        key = 0
        while (head := self._read_byte()) != 0:
            key = key + (head >> 4) if head >> 4 else self._read_integer()
            kind = head & 15
            fields[key] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._read_value(kind, depth)
        return fields

    def _read_value(self, kind: int, depth: int) -> Any:
        if kind in _INTEGERS:
            return self._read_integer()
        if kind == _STRUCT:
            return self.read_struct(depth - 1)
        if kind in (_LIST, _SET):
            head = self._read_byte()
            size = head >> 4 if head >> 4 < 15 else self._read_varint()
            return self._read_items(size, head & 15, depth)
        if kind == _MAP:
            if size := self._read_varint():
                head = self._read_byte()
                for _ in range(size):
                    self._read_value(head >> 4, depth)
                    self._read_value(head & 15, depth)
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

    def _read_items(self, size: int, kind: int, depth: int) -> list[Any]:
        # Every item takes a byte at least, so that no list is longer than what is left.
        if size > len(self.data) - self.at:
            raise BadThriftError
        return [self._read_value(kind, depth) for _ in range(size)]

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
