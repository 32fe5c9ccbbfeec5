"""The states of a document's sentences in the layout of the graphs: sentences of similar length share a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from server.artifact.manifest import PAGES
from server.backends.state import Array, Flags, Floats, Ints

States = Mapping[str, NDArray[np.float16]]
"""States of one sentence as context, by name: [d] for the sentence, [words, d] for its words (EOS is no word). At half
precision, so they differ slightly from the states that the model computes."""

WIDTHS = (16, 32, 64)
"""Words per sentence in every page but the last, which is as wide as its longest sentence. In a single page, every
sentence would be padded to the longest of the document."""
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
        """The sentences with numbers from `start` to before `end`, in a page as wide as they need."""
        selected = slice(*np.searchsorted(self.numbers, (start, end)).tolist())
        keep = self.keep[:, selected]
        width = self.keep.shape[2]
        if width > WIDTHS[-1]:
            width = last_width(int(keep.sum(axis=2).max(initial=0)))
        states = {name: x[:, selected, :width] if x.ndim == 4 else x[:, selected] for name, x in self.states.items()}
        return Page(self.numbers[selected] - start, states, keep[..., :width])

    def tensors(self, distance: Ints) -> dict[str, Array]:
        """Inputs of the graphs, [1, sentences, ...] each; `distance` [J] is of the whole document. A page without
        sentences has one sentence that is not visible."""
        if not len(self.numbers):
            blank = {
                name: np.zeros((1, 1, *([1] * (x.ndim - 3)), x.shape[-1]), x.dtype) for name, x in self.states.items()
            }
            return {"sentence_keep": np.zeros((1, 1), np.int32), "word_keep": np.zeros((1, 1, 1), np.int32), **blank}
        visible = distance[self.numbers].astype(np.int32)[None]
        return {"sentence_keep": visible, "word_keep": self.keep, **self.states}


@dataclass(frozen=True)
class StoredDocument:
    """The states of J sentences, in float32 as the graphs read them. All sentences of a document share the arrays,
    which are never written again."""

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
        """The layout of the states of one or more sentences, each with its number of words. Raises ValueError for a
        sentence with states of fewer words."""
        counts: Ints = np.asarray(num_words, np.int64)
        page_of = np.searchsorted(WIDTHS, counts)
        pages = tuple(new_page(sentences, counts, np.flatnonzero(page_of == page), page) for page in range(PAGES))
        return cls(pages, counts)

    def between(self, start: int, end: int) -> "StoredDocument":
        """The sentences from `start` to before `end`: the same arrays, whatever comes before and after them."""
        if (start, end) == (0, self.num_sentences):
            return self
        return StoredDocument(tuple(page.between(start, end) for page in self.pages), self.num_words[start:end])

    def tensors(self, distance: Ints) -> dict[str, Array]:
        """Inputs of the graphs for a sentence at these distances from the others (0: not visible): every page's
        tensors, named as in server/artifact/signature.py."""
        return {
            f"{name}.{index}": tensor
            for index, page in enumerate(self.pages)
            for name, tensor in page.tensors(distance).items()
        }

    @property
    def num_word_positions(self) -> int:
        """Words of all sentences, padded to the longest, in a single page."""
        widths = [page.keep.shape[2] for page in self.pages if len(page.numbers)]
        return self.num_sentences * max(widths, default=0)

    def in_one_page(self, distance: Ints) -> dict[str, Array]:
        """As `tensors`, for a graph with a single page: all sentences in their order."""
        filled = [page for page in self.pages if len(page.numbers)]
        visible = distance.astype(np.int32)[None]
        if len(filled) == 1:
            return {"sentence_keep": visible, "word_keep": filled[0].keep, **filled[0].states}
        width = max(page.keep.shape[2] for page in filled)
        whole = {name: self._gathered(name, filled, width) for name in filled[0].states}
        keep: Flags = (np.arange(width)[None, :] < self.num_words[:, None]).astype(np.int32)[None]
        return {"sentence_keep": visible, "word_keep": keep, **whole}

    def _gathered(self, name: str, filled: Sequence[Page], width: int) -> Floats:
        """A state of all sentences, [1, J, d] or [1, J, W, d]."""
        example = filled[0].states[name]
        is_of_words = example.ndim == 4
        states: Floats = np.zeros(
            (1, self.num_sentences, *((width,) if is_of_words else ()), example.shape[-1]), np.float32
        )
        for page in filled:
            if is_of_words:
                states[0, page.numbers, : page.keep.shape[2]] = page.states[name][0]
            else:
                states[0, page.numbers] = page.states[name][0]
        return states


def last_width(longest: int) -> int:
    """The width of the last page, for sentences of at most `longest` words."""
    return max(1, -(-longest // LAST_WIDTHS)) * LAST_WIDTHS


def new_page(sentences: Sequence[States], num_words: Ints, numbers: NDArray[np.intp], page: int) -> Page:
    """The page of the sentences with these numbers."""
    counts = num_words[numbers]
    width = WIDTHS[page] if page < len(WIDTHS) else last_width(int(counts.max(initial=0)))
    states: dict[str, Floats] = {}
    for name, example in sentences[0].items():
        shape = (1, len(numbers), *((width,) if example.ndim == 2 else ()), example.shape[-1])
        states[name] = np.zeros(shape, np.float32)
        for index, (number, count) in enumerate(zip(numbers.tolist(), counts.tolist(), strict=True)):
            if example.ndim == 2:
                words = sentences[number][name][:count]
                if len(words) < count:
                    raise ValueError(
                        f"sentence {number} has {count} words but states of {len(words)}: count the words that the "
                        "states were made of (on the decoder's side, those of the translation)"
                    )
                states[name][0, index, :count] = words
            else:
                states[name][0, index] = sentences[number][name]
    keep: Flags = (np.arange(width)[None, :] < counts[:, None]).astype(np.int32)[None]
    return Page(numbers.astype(np.int64), states, keep)
