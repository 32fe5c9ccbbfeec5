"""Marian's files of weights: `.npz`, and the binary format version 1 with fp32 and intgemm8 tensors.

A binary file is little-endian: version and number of tensors (u64 each); four u64 for every tensor (length of its name
with the final NUL, type, number of dimensions, bytes of data); the names; the dimensions (i32); a u64 and as many bytes
of padding; the data. An intgemm8 tensor is its int8 values and, right behind, a float multiplier q: a weight is its
value / q. The values are those of the transposed matrix, but for embeddings. The configuration is a tensor of
characters.
"""

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from export.importers import ImportRefused

Array = NDArray[np.float32]
CONFIG = "special:model.yml"
FLOAT32, CHARACTERS = 0x404, 0x101
INTGEMM8 = (0x4101, 0x10001)
"""intgemm8 in the files of Firefox and Bergamot, and in those of Marian from 1.12 on."""
REFUSED = {0x402: "float16", 0x4102: "intgemm16", 0x10002: "intgemm16"}
VERSION, ENCRYPTED = 1, 2
MAX_DIMENSIONS = 8


@dataclass(frozen=True)
class MarianModel:
    """Weights by Marian's names, at fp32, and the configuration that stands with them in the file."""

    path: Path
    weights: dict[str, Array]
    config: Mapping[str, Any]


def read_model(path: Path) -> MarianModel:
    """The model of a `.npz` or `.bin` file. Raises ImportRefused."""
    try:
        weights, text = read_npz(path) if path.suffix == ".npz" else read_binary(path.read_bytes(), path)
        config = yaml.safe_load(text.rstrip(b"\0").decode("utf-8"))
    except OSError as error:
        raise ImportRefused(f"{path} cannot be read: {error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ImportRefused(f"{path}: its {CONFIG} is no YAML: {error}") from error
    if not isinstance(config, dict):
        raise ImportRefused(f"{path} has no configuration ({CONFIG}): it is no model that Marian wrote for decoding")
    return MarianModel(path, weights, config)


def read_npz(path: Path) -> tuple[dict[str, Array], bytes]:
    """Weights and configuration. Raises ImportRefused and OSError."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            weights = dict(arrays.items())
    except OSError:
        raise
    except Exception as error:  # of every kind for damaged archives: zip's, zlib's, numpy's
        raise ImportRefused(f"{path} is no .npz of Marian's: {error}") from error
    text = weights.pop(CONFIG, np.zeros(0, np.int8)).tobytes()
    for name, values in weights.items():
        if values.dtype != np.float32:
            raise ImportRefused(f"{path}: {name} is {values.dtype}; only float32 is read: convert it with marian-conv")
    return weights, text


@dataclass(frozen=True)
class Header:
    """One tensor of a binary file."""

    name: str
    kind: int
    shape: tuple[int, ...]
    size: int


def read_binary(data: bytes, path: Path) -> tuple[dict[str, Array], bytes]:
    """Weights and configuration. Raises ImportRefused."""
    weights, text = dict[str, Array](), b""
    for header, body in tensors(data, path):
        if header.name == CONFIG and header.kind == CHARACTERS:
            text = body
        else:
            weights[header.name] = values_of(header, body, path)
    return weights, text


def tensors(data: bytes, path: Path) -> Iterator[tuple[Header, bytes]]:
    """All tensors with their bytes, in the order of the file. Raises ImportRefused."""
    try:
        headers, place = read_headers(data, path)
    except (struct.error, UnicodeDecodeError) as error:
        raise ImportRefused(f"{path} is no binary model of Marian's: {error}") from error
    for header in headers:
        if place + header.size > len(data):
            raise ImportRefused(f"{path} ends within {header.name}: the file is not complete")
        yield header, data[place : place + header.size]
        place += header.size


def read_headers(data: bytes, path: Path) -> tuple[list[Header], int]:
    """The tensors, and where the data of the first begins. Raises ImportRefused, and struct.error where the file is
    too short."""
    version, count = struct.unpack_from("<QQ", data)
    if version != VERSION or 32 * count > len(data):
        reason = "is encrypted" if version == ENCRYPTED else "is no binary model of Marian's, version 1"
        raise ImportRefused(f"{path} {reason}: it does not begin as one")
    rows = [struct.unpack_from("<QQQQ", data, 16 + 32 * index) for index in range(count)]
    place, names, shapes = 16 + 32 * count, list[str](), list[tuple[int, ...]]()
    for length, *_ in rows:
        names.append(data[place : place + length].rstrip(b"\0").decode("utf-8"))
        place += length
    for name, (_, _, dimensions, _) in zip(names, rows, strict=True):
        if dimensions > MAX_DIMENSIONS:
            raise ImportRefused(f"{path}: {name} has {dimensions} dimensions; the file is damaged")
        shapes.append(struct.unpack_from(f"<{dimensions}i", data, place))
        place += 4 * dimensions
    (padding,) = struct.unpack_from("<Q", data, place)
    parts = zip(names, rows, shapes, strict=True)
    return [Header(name, kind, shape, size) for name, (_, kind, _, size), shape in parts], place + 8 + padding


def values_of(header: Header, body: bytes, path: Path) -> Array:
    """A tensor's numbers at fp32. Raises ImportRefused for types that depend on one processor, or are not computed."""
    count = math.prod(header.shape)
    needed = 4 * count if header.kind == FLOAT32 else count + 4
    if header.kind not in (FLOAT32, *INTGEMM8):
        name = REFUSED.get(header.kind, f"type {header.kind:#x}, packed for one kind of processor")
        raise ImportRefused(
            f"{path}: {header.name} is {name}; only float32 and intgemm8 are read: convert the model again from its "
            ".npz with `marian-conv --gemm-type intgemm8`, or import the .npz"
        )
    if min(header.shape, default=0) < 1 or needed > len(body):
        raise ImportRefused(f"{path}: {header.name} has the shape {list(header.shape)} in {len(body)} bytes")
    if header.kind == FLOAT32:
        return np.frombuffer(body, "<f4", count).reshape(header.shape).astype(np.float32)
    if len(header.shape) != 2:
        raise ImportRefused(f"{path}: {header.name} is intgemm8 but no matrix")
    rows, columns = header.shape
    if "Wemb" not in header.name and (rows % 64 or columns % 8):
        raise ImportRefused(
            f"{path}: {header.name} is intgemm8 of {rows} x {columns}: only multiples of 64 x 8 have a known layout"
        )
    multiplier = np.frombuffer(body, "<f4", 1, count)[0]
    levels = np.frombuffer(body, np.int8, count)
    matrix = levels.reshape(rows, columns) if "Wemb" in header.name else levels.reshape(columns, rows).T
    weights: Array = np.ascontiguousarray(matrix).astype(np.float32) * (np.float32(1) / multiplier)
    return weights
