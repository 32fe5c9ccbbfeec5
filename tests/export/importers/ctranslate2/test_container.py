"""`model.bin` of CTranslate2: all versions, types of numbers and names."""

import contextlib
import math
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from export.importers import ImportRefused
from export.importers.ctranslate2.container import TYPES, Variables, parse_variables
from export.importers.ctranslate2.names import renamed

HERE = Path("model.bin")
OLD_WIDTHS = {0: 4, 2: 2, 1: 1}
"""Number of a type -> width of an item, which is all that versions before 4 say."""
Variable = tuple[str, int, NDArray[Any]]
"""Name, number of the type, values as they are stored."""


def text(word: str) -> bytes:
    data = word.encode() + b"\0"
    return struct.pack("<H", len(data)) + data


def written(
    version: int, variables: Sequence[Variable], aliases: Sequence[tuple[str, str]] = (), revision: int = 7
) -> bytes:
    out = [struct.pack("<I", version)]
    if version >= 2:
        out += [text("TransformerSpec"), struct.pack("<I", revision)]
    out.append(struct.pack("<I", len(variables)))
    for name, kind, values in variables:
        out += [text(name), struct.pack(f"<B{values.ndim}I", values.ndim, *values.shape)]
        out.append(
            struct.pack("<BI", kind, values.nbytes)
            if version >= 4
            else struct.pack("<BI", OLD_WIDTHS[kind], values.size)
        )
        out.append(values.tobytes())
    if version >= 3:
        out.append(struct.pack("<I", len(aliases)))
        out += [text(word) for alias in aliases for word in alias]
    return b"".join(out)


def parsed(data: bytes) -> Variables:
    return parse_variables(memoryview(data), HERE)


@st.composite
def variables(draw: st.DrawFn) -> tuple[int, list[Variable]]:
    version = draw(st.integers(1, 6))
    kinds = range(len(TYPES)) if version >= 4 else OLD_WIDTHS
    names = draw(st.lists(st.text("ab/_", min_size=1, max_size=6), unique=True, max_size=4))
    made = []
    for name in names:
        kind, shape = draw(st.sampled_from(sorted(kinds))), draw(st.lists(st.integers(0, 3), max_size=3))
        item = np.dtype(TYPES[kind][1])
        size = math.prod(shape) * item.itemsize
        made.append((name, kind, np.frombuffer(draw(st.binary(min_size=size, max_size=size)), item).reshape(shape)))
    return version, made


@settings(deadline=None, max_examples=60)
@given(variables())
def test_all_versions_and_types_are_read_as_they_were_written(made: tuple[int, list[Variable]]) -> None:
    version, values = made
    first = values[0][0] if values else ""
    aliases = [("another", first)] if values and version >= 3 else []
    read = parsed(written(version, values, aliases))
    assert (read.version, dict(aliases)) == (version, read.aliases)
    assert list(read.stored) == [name for name, _, _ in values]
    for name, kind, array in values:
        assert read.stored[name].tobytes() == array.tobytes()
        assert (name in read.halves) == (TYPES[kind][0] == "bfloat16")


@settings(deadline=None, max_examples=60)
@given(variables(), st.data())
def test_a_file_that_is_cut_or_too_long_is_refused(made: tuple[int, list[Variable]], data: st.DataObject) -> None:
    whole = written(*made)
    end = data.draw(st.integers(0, len(whole) - 1))
    for damaged in (whole[:end], whole + b"\0"):
        with pytest.raises(ImportRefused):
            parsed(damaged)


@settings(deadline=None, max_examples=100)
@given(variables(), st.data())
def test_a_file_with_a_wrong_byte_is_read_or_refused(made: tuple[int, list[Variable]], data: st.DataObject) -> None:
    whole = bytearray(written(*made))
    whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ImportRefused):
        parsed(bytes(whole))


def test_weights_are_what_their_numbers_stand_for() -> None:
    matrix = np.array([[127, -3], [0, 64]])
    scale = np.array([2.0, 8.0], np.float32)
    read = parsed(written(6, [
        ("a/weight", 1, matrix.astype(np.int8)), ("a/weight_scale", 0, scale),
        ("b/weight", 2, matrix.astype("<i2")), ("b/weight_scale", 0, np.array(16.0, np.float32)),
        ("old/weight", 2, matrix.astype("<i2")), ("none/weight", 1, matrix.astype(np.int8)),
        ("half", 4, np.array([0.1], np.float16)), ("brain", 5, np.array([0x3FC0], "<u2")),
    ], [("alias/weight", "a/weight")]))  # fmt: skip
    np.testing.assert_array_equal(read.weight("a/weight"), matrix / scale[:, None])
    np.testing.assert_array_equal(read.weight("alias/weight"), read.weight("a/weight"))
    np.testing.assert_array_equal(read.weight("b/weight"), matrix / 16)
    np.testing.assert_array_equal(read.weight("old/weight"), (matrix / 1000).astype(np.float32))
    assert read.weight("half") == np.float32(np.float16(0.1))
    assert read.weight("brain") == 1.5
    with pytest.raises(ImportRefused, match="none/weight is int8 and has no scale"):
        read.weight("none/weight")
    assert read.names == {"a/weight", "alias/weight", "b/weight", "old/weight", "none/weight", "half", "brain"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not complete, or no model.bin"),
        (struct.pack("<I", 7), "begins with the version 7"),
        (written(6, [], revision=8), "has the revision 8"),
        (written(6, [], [("a", "b")]), "a stands for b, which is missing"),
        (written(6, [("a", 0, np.zeros(2, np.float32))]).replace(b"\2\0\0\0\0", b"\3\0\0\0\0"), "no float32 of .3."),
    ],
)
def test_what_is_no_model_is_refused_with_the_reason(data: bytes, message: str) -> None:
    with pytest.raises(ImportRefused, match=message):
        parsed(data)


def test_names_of_older_revisions_become_todays() -> None:
    weight: NDArray[Any] = np.zeros(1, np.float32)
    flag: NDArray[Any] = np.array(0, np.int8)
    old = [
        "transformer/encoder/w_embs:0", "transformer/encoder/layer_0/multi_head/conv1d/kernel:0",
        "transformer/decoder/layer_0/masked_multi_head/LayerNorm/gamma:0", "transformer/decoder/dense/bias:0",
        "transformer/decoder/layer_0/multi_head/conv1d_2/kernel:0",
    ]  # fmt: skip
    assert list(renamed(parsed(written(1, [(name, 0, weight) for name in old]))).stored) == [
        "encoder/embeddings_0/weight", "encoder/layer_0/self_attention/linear_0/weight",
        "decoder/layer_0/self_attention/layer_norm/gamma", "decoder/projection/bias",
        "decoder/layer_0/attention/linear_2/weight",
    ]  # fmt: skip
    older: list[Variable] = [
        ("encoder/embeddings/weight", 0, weight),
        ("encoder/embeddings/multiply_by_sqrt_depth", 1, flag),
    ]
    root = renamed(parsed(written(4, [*older, ("pre_norm", 1, flag)], revision=3)))
    assert root.names == {
        "encoder/embeddings_0/weight", "encoder/scale_embeddings", "encoder/pre_norm", "decoder/pre_norm",
    }  # fmt: skip
