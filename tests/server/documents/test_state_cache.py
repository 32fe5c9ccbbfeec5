"""The cache of states: what it gives back is what was put, within its budget."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.documents.state_cache import Place, StateCache
from server.telemetry.labels import StateEviction, StateLookup
from server.telemetry.metrics import Metrics

FIRST, SECOND, THIRD = (Place("a", "f00d", index) for index in range(3))


def test_what_was_put_comes_back() -> None:
    lookups: list[StateLookup] = []
    cache: StateCache[str] = StateCache(1000, lookups.append)
    cache.put(FIRST, 1, "states", 10)
    assert cache.get(FIRST, 1) == "states"
    assert (lookups, cache.num_bytes) == (["hit"], 10)


@pytest.mark.parametrize(
    ("place", "content"),
    [
        (Place("b", "f00d", 0), 1),
        (Place("a", "beef", 0), 1),
        (Place("a", "f00d", 1), 1),
        (Place("a", "f00d", None), 1),
        (Place("a", "f00d", 0), 2),
    ],
)
def test_another_document_weights_sentence_or_content_is_a_miss(place: Place, content: int) -> None:
    lookups: list[StateLookup] = []
    cache: StateCache[str] = StateCache(1000, lookups.append)
    cache.put(FIRST, 1, "states", 10)
    assert cache.get(place, content) is None
    assert lookups == ["miss"]


def test_other_content_takes_the_place() -> None:
    cache: StateCache[str] = StateCache(1000)
    cache.put(FIRST, (7, 3), "old", 10)
    cache.put(FIRST, (8, 3), "new", 20)
    assert cache.get(FIRST, (7, 3)) is None
    assert cache.get(FIRST, (8, 3)) == "new"
    assert (len(cache), cache.num_bytes) == (1, 20)


def test_the_least_recently_used_translation_is_evicted_first() -> None:
    """Neither the first that came, nor the last."""
    evictions: list[StateEviction] = []
    cache: StateCache[str] = StateCache(20, on_evict=evictions.append)
    cache.put(FIRST, 1, "first", 10)
    cache.put(SECOND, 1, "second", 10)
    assert cache.get(FIRST, 1) == "first"
    cache.put(THIRD, 1, "third", 10)
    assert [cache.get(place, 1) for place in (FIRST, SECOND, THIRD)] == ["first", None, "third"]
    assert evictions == ["budget"]
    cache.put(FIRST, 2, "too large", 21)
    assert evictions == ["budget", "too_large"]
    assert cache.get(FIRST, 1) is None


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["get", "put", "drop"]), st.sampled_from("ab"), st.integers(0, 2), st.integers(1, 2),
              st.sampled_from([2, 30, 64, 128, 600])),
    max_size=60,
)  # fmt: skip


@settings(deadline=None)
@given(operations=OPERATIONS, budget=st.sampled_from([0, 63, 64, 200, 512]))
def test_it_is_the_plain_list_of_what_was_used_last(
    operations: list[tuple[str, str, int, int, int]], budget: int
) -> None:
    """Twin: a list of (place, content, bytes), the use of the longest ago first."""
    metrics = Metrics()
    cache: StateCache[tuple[()]] = StateCache.metered(budget, metrics)
    plain: list[tuple[tuple[str, int], int, int]] = []
    for name, document, index, content, size in operations:
        place = (document, index)
        old = next((entry for entry in plain if entry[0] == place), None)
        if name == "drop":
            cache.drop(document)
            plain = [entry for entry in plain if entry[0][0] != document]
        elif name == "get":
            result = cache.get(Place(document, "f", index), content)
            hit = old is not None and old[1] == content
            assert (result is not None) == hit
            if old is not None and hit:
                plain.remove(old)
                plain.append(old)
        else:
            cache.put(Place(document, "f", index), content, (), size)
            plain = [entry for entry in plain if entry != old]
            if size <= budget:
                plain.append((place, content, size))
                while sum(entry[2] for entry in plain) > budget:
                    plain.pop(0)
        assert cache.num_bytes == sum(entry[2] for entry in plain) <= budget
        assert len(cache) == len(plain)
        assert metrics.registry.get_sample_value("ringmt_context_cache_bytes", {"model": ""}) == cache.num_bytes
