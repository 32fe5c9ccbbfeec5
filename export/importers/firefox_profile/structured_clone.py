"""JavaScript values as Firefox's IndexedDB stores them (js/src/vm/StructuredClone.cpp and
dom/indexedDB/IDBObjectStore.cpp): pairs of two little-endian u32, data and tag; bytes that follow a pair are filled up
to a multiple of eight. Read are plain objects, arrays, texts, numbers and blobs; records of Remote Settings have no
other values."""

import struct
from dataclasses import dataclass
from typing import TypeAlias

NULL, UNDEFINED, BOOLEAN, INT32, STRING = range(0xFFFF0000, 0xFFFF0005)
ARRAY, OBJECT = 0xFFFF0007, 0xFFFF0008
BOOLEAN_OBJECT, STRING_OBJECT, NUMBER_OBJECT, BACK_REFERENCE = range(0xFFFF000A, 0xFFFF000E)
END_OF_KEYS, BLOB = 0xFFFF0013, 0xFFFF8001
HEADER, LAST_FLOAT = 0xFFF10000, 0xFFF00000
LATIN1 = 1 << 31
MAX_DEPTH = 64


class CloneError(ValueError):
    """A value is damaged, or of a kind that is not read."""


@dataclass(frozen=True)
class Blob:
    """`index`: its place among the files of the row. `size`: in bytes."""

    index: int
    size: int


Value: TypeAlias = "bool | int | float | str | Blob | list[Value] | dict[str, Value] | None"


def read_clone(data: bytes) -> Value:
    """The value. Raises CloneError."""
    try:
        return _Reader(data).value(0)
    except (struct.error, UnicodeDecodeError, IndexError):
        raise CloneError("a stored value is damaged") from None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        self._objects: list[Value] = []
        """All objects in their order, for references to them."""
        if self._peek()[1] == HEADER:
            self._at = 8

    def _peek(self) -> tuple[int, int]:
        data, tag = struct.unpack_from("<II", self._data, self._at)
        return data, tag

    def _pair(self) -> tuple[int, int]:
        pair = self._peek()
        self._at += 8
        return pair

    def _bytes(self, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        if len(found) != count:
            raise CloneError("a stored value ends early")
        self._at += -(-count // 8) * 8
        return found

    def _text(self, data: int) -> str:
        length = data & (LATIN1 - 1)
        return self._bytes(length).decode("latin-1") if data & LATIN1 else self._bytes(2 * length).decode("utf-16-le")

    def _double(self) -> float:
        value: float = struct.unpack("<d", self._bytes(8))[0]
        return value

    def value(self, depth: int) -> Value:
        if depth > MAX_DEPTH:
            raise CloneError(f"a stored value is nested more than {MAX_DEPTH} times")
        data, tag = self._pair()
        if tag <= LAST_FLOAT:
            self._at -= 8
            return self._double()
        if tag in (NULL, UNDEFINED):
            return None
        if tag == BOOLEAN:
            return bool(data)
        if tag == INT32:
            return data - (1 << 32) if data >> 31 else data
        if tag == STRING:
            return self._text(data)
        if tag == BACK_REFERENCE:
            return self._objects[data]
        if tag == OBJECT:
            return self._object(depth)
        if tag == ARRAY:
            return self._array(data, depth)
        return self._known(tag, data)

    def _known(self, tag: int, data: int) -> Value:
        """A blob, or an object around a simple value."""
        value: Value
        if tag == BLOB:
            (size,) = struct.unpack("<Q", self._bytes(8))
            (length,) = struct.unpack("<I", self._bytes(4))
            self._bytes(length)  # its media type
            value = Blob(data, size)
        elif tag == BOOLEAN_OBJECT:
            value = bool(data)
        elif tag == STRING_OBJECT:
            value = self._text(data)
        elif tag == NUMBER_OBJECT:
            value = self._double()
        else:
            raise CloneError(f"a stored value has the kind {tag:#x}, which is not read")
        self._objects.append(value)
        return value

    def _object(self, depth: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        self._objects.append(found)
        while (key := self._key()) is not None:
            found[str(key)] = self.value(depth + 1)
        return found

    def _array(self, length: int, depth: int) -> list[Value]:
        found: list[Value] = []
        self._objects.append(found)
        while (key := self._key()) is not None:
            if key != len(found) or len(found) >= length:
                raise CloneError("a stored array has gaps, or names")
            found.append(self.value(depth + 1))
        return found

    def _key(self) -> int | str | None:
        """None behind the last."""
        data, tag = self._pair()
        if tag == END_OF_KEYS:
            return None
        if tag == INT32:
            return data
        if tag == STRING:
            return self._text(data)
        raise CloneError(f"a stored object has a key of the kind {tag:#x}")
