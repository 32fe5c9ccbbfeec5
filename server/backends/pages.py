"""The states of a document's sentences, laid out for the graphs: sentences of similar length share a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from server.artifact.artifact import PAGES
from server.backends.state import Array, Flags, Floats, Ints

States = Mapping[str, NDArray[np.float16]]
"""What is kept of one sentence as context, by name: [d] for the sentence, [words, d] for its words (EOS is no word). At
half precision, so they differ a little from states that were never rounded."""

WIDTHS = (16, 32, 64)
"""Words that a sentence has room for, in every page but the last, which is as wide as its longest sentence needs. With
one page for all, every sentence would take the room of the longest."""
LAST_WIDTHS = 64
"""The last page's width is a multiple of this."""
assert len(WIDTHS) + 1 == PAGES


@dataclass(frozen=True)
class Page:
    """Sentences of similar length: their numbers in the document, ascending, and their states, padded to W words."""

    numbers: Ints
    states: Mapping[str, Floats]
    """By name, [1, sentences, d] or [1, sentences, W, d]."""
    keep: Flags
    """[1, sentences, W]"""

    def between(self, start: int, end: int) -> "Page":
        """The sentences numbered `start` up to but without `end`, in a page as wide as these alone need."""
        some = slice(*np.searchsorted(self.numbers, (start, end)).tolist())
        keep = self.keep[:, some]
        width = self.keep.shape[2]
        if width > WIDTHS[-1]:
            width = last_width(int(keep.sum(axis=2).max(initial=0)))
        states = {name: x[:, some, :width] if x.ndim == 4 else x[:, some] for name, x in self.states.items()}
        return Page(self.numbers[some] - start, states, keep[..., :width])

    def tensors(self, distance: Ints) -> dict[str, Array]:
        """Inputs of the graphs, [1, sentences, ...] each; `distance` [J] is of the whole document. For a page without
        sentences, one that nobody sees."""
        if not len(self.numbers):
            blank = {
                name: np.zeros((1, 1, *([1] * (x.ndim - 3)), x.shape[-1]), x.dtype) for name, x in self.states.items()
            }
            return {"sentence_keep": np.zeros((1, 1), np.int32), "word_keep": np.zeros((1, 1, 1), np.int32), **blank}
        seen = distance[self.numbers].astype(np.int32)[None]
        return {"sentence_keep": seen, "word_keep": self.keep, **self.states}


@dataclass(frozen=True)
class StoredDocument:
    """The states of J sentences, in float32 as the graphs take them. The arrays are never written again, because all
    sentences of a document share them."""

    pages: tuple[Page, ...]
    num_words: Ints
    """[J]"""

    @property
    def num_sentences(self) -> int:
        return len(self.num_words)

    @property
    def num_bytes(self) -> int:
        return sum(array.nbytes for page in self.pages for array in page.states.values())

    @classmethod
    def of(cls, sentences: Sequence[States], num_words: Sequence[int]) -> "StoredDocument":
        """Lay out the states of one or more sentences, each with its number of words. Raises ValueError for a sentence
        with states of fewer words."""
        counts: Ints = np.asarray(num_words, np.int64)
        page_of = np.searchsorted(WIDTHS, counts)
        pages = tuple(new_page(sentences, counts, np.flatnonzero(page_of == page), page) for page in range(PAGES))
        return cls(pages, counts)

    def between(self, start: int, end: int) -> "StoredDocument":
        """The sentences `start` up to but without `end`: the same arrays, whatever comes before and after them."""
        if (start, end) == (0, self.num_sentences):
            return self
        return StoredDocument(tuple(page.between(start, end) for page in self.pages), self.num_words[start:end])

    def tensors(self, distance: Ints) -> dict[str, Array]:
        """Inputs of the graphs for a sentence that sees sentences so far away (0: not at all): every page's tensors,
        named as in server/artifact/artifact.py."""
        return {
            f"{name}.{index}": tensor
            for index, page in enumerate(self.pages)
            for name, tensor in page.tensors(distance).items()
        }

    @property
    def num_places(self) -> int:
        """Words that all sentences have room for in one page."""
        widths = [page.keep.shape[2] for page in self.pages if len(page.numbers)]
        return self.num_sentences * max(widths, default=0)

    def in_one_page(self, distance: Ints) -> dict[str, Array]:
        """Inputs of a graph that takes one page: as `tensors`, all sentences in their order."""
        filled = [page for page in self.pages if len(page.numbers)]
        seen = distance.astype(np.int32)[None]
        if len(filled) == 1:
            return {"sentence_keep": seen, "word_keep": filled[0].keep, **filled[0].states}
        width = max(page.keep.shape[2] for page in filled)
        whole = {name: self._gathered(name, filled, width) for name in filled[0].states}
        keep: Flags = (np.arange(width)[None, :] < self.num_words[:, None]).astype(np.int32)[None]
        return {"sentence_keep": seen, "word_keep": keep, **whole}

    def _gathered(self, name: str, filled: Sequence[Page], width: int) -> Floats:
        """One stored tensor of all sentences, [1, J, d] or [1, J, W, d]."""
        example = filled[0].states[name]
        of_words = example.ndim == 4
        found: Floats = np.zeros(
            (1, self.num_sentences, *((width,) if of_words else ()), example.shape[-1]), np.float32
        )
        for page in filled:
            if of_words:
                found[0, page.numbers, : page.keep.shape[2]] = page.states[name][0]
            else:
                found[0, page.numbers] = page.states[name][0]
        return found


def last_width(longest: int) -> int:
    """The width of the last page, for sentences of up to `longest` words."""
    return max(1, -(-longest // LAST_WIDTHS)) * LAST_WIDTHS


def new_page(sentences: Sequence[States], num_words: Ints, numbers: NDArray[np.intp], page: int) -> Page:
    """The page of the sentences with these numbers."""
    counts = num_words[numbers]
    width = WIDTHS[page] if page < len(WIDTHS) else last_width(int(counts.max(initial=0)))
    states: dict[str, Floats] = {}
    for name, example in sentences[0].items():
        places = (1, len(numbers), *((width,) if example.ndim == 2 else ()), example.shape[-1])
        states[name] = np.zeros(places, np.float32)
        for place, (number, count) in enumerate(zip(numbers.tolist(), counts.tolist(), strict=True)):
            if example.ndim == 2:
                words = sentences[number][name][:count]
                if len(words) < count:
                    raise ValueError(
                        f"sentence {number} has {count} words but states of {len(words)}: count the words that the "
                        "states were made of (on the decoder's side, those of the translation)"
                    )
                states[name][0, place, :count] = words
            else:
                states[name][0, place] = sentences[number][name]
    keep: Flags = (np.arange(width)[None, :] < counts[:, None]).astype(np.int32)[None]
    return Page(numbers.astype(np.int64), states, keep)
