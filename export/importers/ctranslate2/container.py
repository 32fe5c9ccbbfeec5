"""CTranslate2's `model.bin`, of all versions up to 6: named arrays, little-endian and without alignment.

Version (u32); from 2 on the name of the specification and its revision (u32); the number of variables (u32). A variable
is its name, its rank (u8) and dimensions (u32), then from version 4 on its type (u8) and bytes (u32), before that the
width of an item (u8) and the number of items (u32), then the data. From version 3 on the number of aliases (u32)
follows, and pairs of an alias and the variable that it stands for. Strings are a length (u16) that counts a final NUL,
and their bytes.

A quantized matrix is int8 with a scale for every row, or int16 with one scale: a weight is its value / scale.
"""

import math
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from export.importers import ImportRefused

Array = NDArray[np.float32]
VERSIONS, REVISIONS = range(1, 7), range(1, 8)
TYPES: tuple[tuple[str, str], ...] = (
    ("float32", "<f4"), ("int8", "i1"), ("int16", "<i2"), ("int32", "<i4"), ("float16", "<f2"), ("bfloat16", "<u2"),
)  # fmt: skip
"""CTranslate2's types by their number: name, and the type of an item as it is read."""
OLD_TYPES = {4: 0, 2: 2, 1: 1}
"""Before version 4: width of an item -> number of its type."""
OLD_SCALE = 1000.0
"""The scale of int16 weights in files that name none."""
MAX_RANK = 8


@dataclass(frozen=True)
class Variables:
    """The arrays of a model by their names, as they are stored. `specification` is "" in files of version 1."""

    path: Path
    version: int
    specification: str
    revision: int
    stored: Mapping[str, NDArray[Any]]
    aliases: Mapping[str, str]
    halves: frozenset[str]
    """Names of those in `stored` that are bfloat16, read as whole numbers."""

    def __contains__(self, name: str) -> bool:
        return name in self.stored or name in self.aliases

    @property
    def names(self) -> set[str]:
        """All names, without those of the scales of other variables."""
        names = {*self.stored, *self.aliases}
        return {name for name in names if not (name.endswith("_scale") and name.removesuffix("_scale") in names)}

    def weight(self, name: str) -> Array:
        """The numbers that a variable stands for, at fp32. Raises ImportRefused."""
        name = self.resolved(name)
        values = self.stored[name]
        if name in self.halves:
            return (values.astype(np.uint32) << 16).view(np.float32)
        scale = self.stored.get(self.resolved(f"{name}_scale"))
        if values.dtype == np.int8 and scale is None:
            raise ImportRefused(f"{self.path}: {name} is int8 and has no scale: the file is damaged")
        if values.dtype == np.int16 and scale is None:
            scale = np.array(OLD_SCALE, np.float32)
        if scale is None:
            return values.astype(np.float32)
        if scale.ndim and scale.shape != values.shape[:1]:
            raise ImportRefused(f"{self.path}: {name} has scales of the shape {list(scale.shape)}")
        divisor = scale.astype(np.float32)
        if divisor.ndim:
            divisor = divisor.reshape(-1, *[1] * (values.ndim - 1))
        weights: Array = values.astype(np.float32) / divisor
        return weights

    def number(self, name: str, default: float) -> float:
        """A single number. Raises ImportRefused for an array."""
        if name not in self:
            return default
        values = self.stored[self.resolved(name)]
        if values.size != 1:
            raise ImportRefused(f"{self.path}: {name} has the shape {list(values.shape)}, where one number is needed")
        return float(values.reshape(-1)[0])

    def text(self, name: str, default: str) -> str:
        """A variable that spells a word."""
        return self.stored[name].tobytes().decode("utf-8", "replace") if name in self.stored else default

    def resolved(self, name: str) -> str:
        """The name of the array that a name stands for."""
        return self.aliases.get(name, name)


class Cursor:
    """A place in a file. Raises ImportRefused where the file ends too early."""

    def __init__(self, data: memoryview, path: Path) -> None:
        self.data, self.path, self.place = data, path, 0

    def take(self, size: int) -> memoryview:
        if size > len(self.data) - self.place:
            raise ImportRefused(f"{self.path} is not complete, or no model.bin of CTranslate2's: copy it again")
        self.place += size
        return self.data[self.place - size : self.place]

    def number(self, kind: str) -> int:
        return int(struct.unpack(f"<{kind}", self.take(struct.calcsize(kind)))[0])

    def text(self) -> str:
        try:
            return bytes(self.take(self.number("H"))).removesuffix(b"\0").decode("utf-8")
        except UnicodeDecodeError as error:
            raise ImportRefused(f"{self.path} is no model.bin of CTranslate2's: {error}") from error


def read_variables(path: Path) -> Variables:
    """All variables; their data stays in the file until it is used. Raises ImportRefused."""
    try:
        with path.open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:  # mmap refuses an empty file with ValueError
        raise ImportRefused(f"{path} cannot be read: {error}") from error
    return parse_variables(data, path)


def parse_variables(data: memoryview, path: Path) -> Variables:
    """`read_variables` of a file's bytes."""
    cursor = Cursor(data, path)
    version = cursor.number("I")
    if version not in VERSIONS:
        raise ImportRefused(
            f"{path} begins with the version {version}; versions up to {VERSIONS[-1]} are read: it is newer, or no "
            "model.bin of CTranslate2's"
        )
    specification, revision = (cursor.text(), cursor.number("I")) if version >= 2 else ("", 1)
    if revision not in REVISIONS:
        raise ImportRefused(
            f"{path}: {specification} has the revision {revision}; those up to {REVISIONS[-1]} are read"
        )
    stored, halves = dict[str, NDArray[Any]](), set[str]()
    for _ in range(cursor.number("I")):
        name = cursor.text()
        stored[name], is_half = read_variable(cursor, name, version)
        if is_half:
            halves.add(name)
    aliases = {}
    for _ in range(cursor.number("I") if version >= 3 else 0):
        alias, name = cursor.text(), cursor.text()
        if name not in stored:
            raise ImportRefused(f"{path}: {alias} stands for {name}, which is missing: the file is damaged")
        aliases[alias] = name
    if cursor.place != len(data):
        raise ImportRefused(f"{path} has {len(data) - cursor.place} bytes behind its last variable: it is damaged")
    return Variables(path, version, specification, revision, stored, aliases, frozenset(halves))


def read_variable(cursor: Cursor, name: str, version: int) -> tuple[NDArray[Any], bool]:
    """The array of a variable, and whether it is bfloat16."""
    rank = cursor.number("B")
    if rank > MAX_RANK:
        raise ImportRefused(f"{cursor.path}: {name} has {rank} dimensions; the file is damaged")
    shape = tuple(cursor.number("I") for _ in range(rank))
    if version >= 4:
        kind, size = cursor.number("B"), cursor.number("I")
    else:
        width = cursor.number("B")
        kind, size = OLD_TYPES.get(width, len(TYPES)), cursor.number("I") * width
    if kind >= len(TYPES):
        raise ImportRefused(f"{cursor.path}: {name} has a type that is not known: the file is newer, or damaged")
    type_name, item = TYPES[kind]
    if size != math.prod(shape) * np.dtype(item).itemsize:
        raise ImportRefused(f"{cursor.path}: {name} has {size} bytes, which are no {type_name} of {list(shape)}")
    return np.frombuffer(cursor.take(size), item).reshape(shape), type_name == "bfloat16"
