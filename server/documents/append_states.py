"""Extends and cuts the pages of an online document's states, so that an append does not copy all states into new pages.
Pure functions of arrays, which `sentence_states` calls."""

import numpy as np

from server.backends.pages import Page, StoredDocument
from server.backends.state import Array, Floats


def concatenated(first: StoredDocument, later: StoredDocument) -> StoredDocument:
    """All sentences of `first`, then those of `later`: the same arrays as StoredDocument.of makes of all of them."""
    offset = first.num_sentences
    pages = tuple(_page(*pages, offset) for pages in zip(first.pages, later.pages, strict=True))
    return StoredDocument(pages, np.concatenate([first.num_words, later.num_words]))


def end_of(stored: StoredDocument, start: int) -> StoredDocument:
    """The sentences from `start` on, copied into arrays of their own, so that the sentences before them take no memory
    any more."""
    if not start:
        return stored
    end = stored.between(start, stored.num_sentences)
    pages = (
        Page(page.numbers, {name: x.copy() for name, x in page.states.items()}, page.keep.copy()) for page in end.pages
    )
    return StoredDocument(tuple(pages), end.num_words)


def _page(first: Page, later: Page, offset: int) -> Page:
    if not len(later.numbers):
        return first
    numbers = np.concatenate([first.numbers, later.numbers + offset])
    width = max(page.keep.shape[2] if len(page.numbers) else 0 for page in (first, later))
    states: dict[str, Floats] = {}
    for name, array in first.states.items():
        arrays = (array, later.states[name])
        if array.ndim == 4:  # of words
            arrays = (_as_wide(arrays[0], width), _as_wide(arrays[1], width))
        states[name] = np.concatenate(arrays, axis=1)
    return Page(numbers, states, np.concatenate([_as_wide(first.keep, width), _as_wide(later.keep, width)], axis=1))


def _as_wide(words: Array, width: int) -> Array:
    """[1, sentences, W, ...] with `width` places for words; new places are zeros."""
    wide = np.zeros((*words.shape[:2], width, *words.shape[3:]), words.dtype)
    shared = min(width, words.shape[2])
    wide[:, :, :shared] = words[:, :, :shared]
    return wide
