"""Twin of what grows: everything laid out at once."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from server.backends.pages import StoredDocument
from server.backends.state import Floats
from server.documents.append_states import concatenated

WORDS = st.lists(st.sampled_from([0, 1, 15, 16, 17, 32, 33, 64, 65, 130]), min_size=1, max_size=6)


def states_of(words: int, seed: int) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float16]]]:
    made = np.random.default_rng(seed).standard_normal((max(1, words) + 1, 4)).astype(np.float16)
    return {"sentence_key": made[0], "word_key": made[1:]}


@settings(deadline=None)
@given(steps=st.lists(WORDS, min_size=1, max_size=4))
def test_a_document_that_grows_is_laid_out_as_if_it_had_come_at_once(steps: list[list[int]]) -> None:
    counts = [count for step in steps for count in step]
    states = [states_of(count, seed) for seed, count in enumerate(counts)]
    grown: StoredDocument | None = None
    done = 0
    for step in steps:
        more = StoredDocument.of(states[done : done + len(step)], step)
        grown = more if grown is None else concatenated(grown, more)
        done += len(step)
        check_same(grown, StoredDocument.of(states[:done], counts[:done]))


def check_same(found: StoredDocument, expected: StoredDocument) -> None:
    seen = np.arange(1, expected.num_sentences + 1)
    mine, theirs = found.tensors(seen), expected.tensors(seen)
    assert list(mine) == list(theirs)
    for name, tensor in theirs.items():
        assert mine[name].dtype == tensor.dtype
        same: Floats = mine[name]
        np.testing.assert_array_equal(same, tensor, name)
    np.testing.assert_array_equal(found.num_words, expected.num_words)
    for page, other in zip(found.pages, expected.pages, strict=True):
        np.testing.assert_array_equal(page.numbers, other.numbers)
