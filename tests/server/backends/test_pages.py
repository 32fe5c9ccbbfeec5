"""The page layout of a document's states."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.backends.pages import LAST_WIDTHS, WIDTHS, States, StoredDocument

lengths = st.lists(st.integers(0, 200), min_size=1, max_size=12)


def some_states(num_words: int) -> States:
    """States as of backends: a sentence without words has one padding row."""
    generator = np.random.default_rng(num_words)
    shapes = {"sentence_key": (4,), "word_key": (max(1, num_words), 4)}
    return {name: generator.normal(size=shape).astype(np.float16) for name, shape in shapes.items()}


def document(num_words: list[int]) -> StoredDocument:
    return StoredDocument.of([some_states(count) for count in num_words], num_words)


@given(num_words=lengths)
def test_every_state_is_at_its_position(num_words: list[int]) -> None:
    result = document(num_words)
    assert result.num_sentences == len(num_words)
    seen = []
    for page, widest in zip(result.pages, [*WIDTHS, 10**6], strict=True):
        assert (np.diff(page.numbers) > 0).all()
        for place, number in enumerate(page.numbers.tolist()):
            states, count = some_states(num_words[number]), num_words[number]
            np.testing.assert_array_equal(page.states["word_key"][0, place, :count], states["word_key"][:count])
            assert not page.states["word_key"][0, place, count:].any()
            assert page.keep[0, place].tolist() == [1] * count + [0] * (page.keep.shape[2] - count)
            np.testing.assert_array_equal(page.states["sentence_key"][0, place], states["sentence_key"])
            assert count <= widest
            seen.append(number)
    assert sorted(seen) == list(range(len(num_words)))


@given(num_words=lengths)
def test_at_most_half_of_a_page_is_empty(num_words: list[int]) -> None:
    """Except sentences shorter than half of the narrowest page, and the last page's rounding."""
    result = document(num_words)
    for page, least in zip(result.pages[1:3], WIDTHS, strict=False):
        assert (page.keep.sum(axis=2) > least).all()
        assert page.keep.shape[2] == 2 * least
    assert result.pages[3].keep.shape[2] % LAST_WIDTHS == 0
    assert result.num_bytes == 16 * (len(num_words) + sum(page.keep.size for page in result.pages))


@given(before=st.lists(st.integers(0, 200), max_size=5), num_words=lengths, more=lengths)
def test_a_part_of_a_document_has_the_layout_of_that_part_alone(
    before: list[int], num_words: list[int], more: list[int]
) -> None:
    start, end = len(before), len(before) + len(num_words)
    begun, whole = document(num_words), document(before + num_words + more).between(start, end)
    np.testing.assert_array_equal(whole.num_words, begun.num_words)
    for ours, expected in zip(whole.pages, begun.pages, strict=True):
        np.testing.assert_array_equal(ours.numbers, expected.numbers)
        np.testing.assert_array_equal(ours.keep, expected.keep)
        for name in ("sentence_key", "word_key"):
            np.testing.assert_array_equal(ours.states[name], expected.states[name])


def test_an_empty_page_has_a_sentence_that_is_not_visible() -> None:
    tensors = document([3, 20]).tensors(np.array([True, True]))
    shapes = {name: tensor.shape for name, tensor in tensors.items() if name.endswith((".0", ".2"))}
    assert shapes == {
        "sentence_keep.0": (1, 1), "word_keep.0": (1, 1, 16), "sentence_key.0": (1, 1, 4), "word_key.0": (1, 1, 16, 4),
        "sentence_keep.2": (1, 1), "word_keep.2": (1, 1, 1), "sentence_key.2": (1, 1, 4), "word_key.2": (1, 1, 1, 4),
    }  # fmt: skip
    assert [int(tensors[f"sentence_keep.{page}"].sum()) for page in range(4)] == [1, 1, 0, 0]


def test_states_of_fewer_words_are_refused() -> None:
    with pytest.raises(ValueError, match="sentence 1 has 5 words but states of 2"):
        StoredDocument.of([some_states(3), some_states(2)], [3, 5])
