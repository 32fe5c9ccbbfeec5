"""Blocks of Snappy and structured clones: what the real library wrote, any value there and back, damaged ones."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from export.importers.firefox_profile.snappy import SnappyError, decompress
from export.importers.firefox_profile.structured_clone import BACK_REFERENCE, Blob, CloneError, read_clone
from tests.export.importers.firefox_profile.make_profile import cloned, snappy

RECORDED = bytes.fromhex(
    "a6084c7472616e736c6174696f6e732d6d6f64656c7320" + "fe1400" * 5 + "ee1400f40501"
    + bytes(range(256)).hex() + "000102030405" + "fe0001" * 3 + "e6000108616263fe0300fe03004a0300"
)  # fmt: skip
"""cramjam 2.14.0 (the Rust snappy) wrote it from CONTENT."""
CONTENT = b"translations-models " * 20 + bytes(range(256)) * 2 + b"abc" * 50
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**31), 2**31 - 1)
    | st.floats(allow_nan=False, allow_subnormal=False) | st.text(max_size=6)
    | st.builds(Blob, st.integers(0, 3), st.integers(0, 2**40)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def test_what_the_real_library_packed_is_read() -> None:
    assert decompress(RECORDED, len(CONTENT)) == CONTENT
    with pytest.raises(SnappyError, match="more than 1061"):
        decompress(RECORDED, len(CONTENT) - 1)


def test_copies_of_every_width_are_read() -> None:
    one, two, four = bytes([1 | 0 << 2, 4]), bytes([2 | 5 << 2, 4, 0]), bytes([3 | 2 << 2, 8, 0, 0, 0])
    assert decompress(bytes([17, 3 << 2]) + b"abcd" + one + two + four, 17) == b"abcdabcdabcdabcdab"[:14] + b"cda"
    with pytest.raises(SnappyError, match="before the content"):
        decompress(bytes([8, 3 << 2]) + b"abcd" + bytes([1, 5]), 100)


@given(st.binary(max_size=600))
def test_any_literals_are_read(data: bytes) -> None:
    assert decompress(snappy(data), 600) == data


@given(st.binary(max_size=60))
def test_damaged_blocks_are_refused(data: bytes) -> None:
    with contextlib.suppress(SnappyError):
        assert len(decompress(data, 1000)) <= 1000


@given(values)
def test_any_value_is_read(value: object) -> None:
    assert read_clone(cloned(value)) == value
    assert read_clone(cloned(value)[8:]) == value  # without header


@given(values, st.data())
def test_values_that_end_early_are_refused(value: object, data: st.DataObject) -> None:
    whole = cloned(value)
    with pytest.raises(CloneError):
        read_clone(whole[: data.draw(st.integers(0, len(whole) // 8 - 1)) * 8])


def test_references_are_read_and_other_kinds_refused() -> None:
    twice = cloned({"a": {"b": 1}, "c": 0})
    reference = twice.replace(cloned(0)[8:], (1).to_bytes(4, "little") + BACK_REFERENCE.to_bytes(4, "little"))
    assert read_clone(reference) == {"a": {"b": 1}, "c": {"b": 1}}
    with pytest.raises(CloneError, match="0xffff0011"):
        read_clone((0).to_bytes(4, "little") + 0xFFFF0011.to_bytes(4, "little"))
    value: object = 1
    for _ in range(70):
        value = [value]
    deep = cloned(value)
    with pytest.raises(CloneError, match="nested more than"):
        read_clone(deep)
