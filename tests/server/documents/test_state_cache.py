"""The cache of states: what it gives back is what was put, within its budget."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.documents.metering import metered_cache
from server.documents.state_cache import StateCache
from server.metrics import Metrics


def states(value: float, num_bytes: int = 64) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float16]]]:
    return {"word_key": np.full((1, num_bytes // 2), value, np.float16)}


def test_what_was_put_comes_back_unchanged_and_cannot_be_changed() -> None:
    cache = StateCache(1000)
    mine = states(1.5)
    cache.put("a", "f00d", 0, 1, mine)
    mine["word_key"][:] = 7
    found = cache.get("a", "f00d", 0, 1)
    assert found is not None
    assert (found["word_key"] == 1.5).all()
    with pytest.raises(ValueError, match="read-only"):
        found["word_key"][:] = 7


@pytest.mark.parametrize("asked", [("b", "f00d", 0, 1), ("a", "beef", 0, 1), ("a", "f00d", 1, 1), ("a", "f00d", 0, 2)])
def test_another_document_weights_sentence_or_content_is_a_miss(asked: tuple[str, str, int, int]) -> None:
    cache = StateCache(1000)
    cache.put("a", "f00d", 0, 1, states(1))
    assert cache.get(*asked) is None
    assert (cache.hits, cache.misses) == (0, 1)


def test_other_content_takes_the_place() -> None:
    cache = StateCache(1000)
    cache.put("a", "f00d", 0, (7, 3), states(1))
    cache.put("a", "f00d", 0, (8, 3), states(2))
    assert cache.get("a", "f00d", 0, (7, 3)) is None
    assert cache.get("a", "f00d", 0, (8, 3)) is not None
    assert len(cache) == 1


def test_only_half_precision_is_kept() -> None:
    with pytest.raises(ValueError, match="float32"):
        StateCache(1000).put("a", "f", 0, 1, {"x": np.zeros(3, np.float32)})


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
    cache = metered_cache(budget, metrics)
    plain: list[tuple[tuple[str, int], int, int]] = []
    for name, document, index, content, size in operations:
        place = (document, index)
        old = next((entry for entry in plain if entry[0] == place), None)
        if name == "drop":
            cache.drop(document)
            plain = [entry for entry in plain if entry[0][0] != document]
        elif name == "get":
            found = cache.get(document, "f", index, content)
            hit = old is not None and old[1] == content
            assert (found is not None) == hit
            if old is not None and hit:
                plain.remove(old)
                plain.append(old)
        else:
            cache.put(document, "f", index, content, states(content, size))
            plain = [entry for entry in plain if entry != old]
            if size <= budget:
                plain.append((place, content, size))
                while sum(entry[2] for entry in plain) > budget:
                    plain.pop(0)
        assert cache.num_bytes == sum(entry[2] for entry in plain) <= budget
        assert len(cache) == len(plain)
        assert metrics.registry.get_sample_value("ringmt_context_cache_bytes", {"model": ""}) == cache.num_bytes
