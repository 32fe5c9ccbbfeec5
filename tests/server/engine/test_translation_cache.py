"""The cache of translations: its bound in bytes, and which go first."""

import random
import sys
import tracemalloc
from collections import OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.engine.translation_cache import TranslationCache, entry_size

Step = tuple[bool, int, int]
"""Whether something is put, the number of its key, the length of its value."""


@settings(deadline=None, max_examples=60)
@given(
    budget=st.integers(0, 5_000),
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 12), st.integers(0, 2_000)), max_size=60),
)
def test_it_keeps_what_was_used_last_within_its_bytes(budget: int, steps: list[Step]) -> None:
    evicted = 0

    def one_evicted() -> None:
        nonlocal evicted
        evicted += 1

    cache = TranslationCache(budget, one_evicted)
    twin: OrderedDict[bytes, bytes] = OrderedDict()
    expected_evictions = 0
    for puts, number, length in steps:
        key = b"%d" % number
        if puts:
            value = bytes(length)
            cache.put(key, value)
            twin.pop(key, None)
            twin[key] = value
            if entry_size(key, value) > budget:
                del twin[key]
            while sum(entry_size(*pair) for pair in twin.items()) > budget:
                twin.popitem(last=False)
                expected_evictions += 1
        else:
            assert cache.get(key) == twin.get(key)
            if key in twin:
                twin.move_to_end(key)
        assert len(cache) == len(twin)
        assert cache.num_bytes == sum(entry_size(*pair) for pair in twin.items()) <= budget
    assert evicted == expected_evictions
    assert all(cache.get(key) == value for key, value in twin.items())


def test_the_least_recently_used_translation_is_evicted_first() -> None:
    value = bytes(100)
    cache = TranslationCache(2 * entry_size(b"a", value))
    cache.put(b"a", value)
    cache.put(b"b", value)
    assert cache.get(b"a") == value
    cache.put(b"c", value)
    assert [cache.get(key) for key in (b"a", b"b", b"c")] == [value, None, value]


@pytest.mark.parametrize("size", [40, 400])
def test_its_budget_is_memory_that_python_really_takes(size: int) -> None:
    budget, generator = 2_000_000, random.Random(0)
    tracemalloc.start()
    try:
        cache = TranslationCache(budget)
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(4 * budget // (2 * size + 300)):
            cache.put(generator.randbytes(size), generator.randbytes(size))
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert 0.9 * budget < cache.num_bytes <= budget
    assert taken <= budget + sys.getsizeof(cache) + 1_000


def test_a_negative_budget() -> None:
    with pytest.raises(ValueError, match="0 bytes or more"):
        TranslationCache(-1)
