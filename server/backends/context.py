"""The seam for context: what the engine needs from a runtime to let a sentence look at the rest of its document
(Maruf et al. 2019, section 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from server.backends.pages import States as States
from server.backends.pages import StoredDocument as StoredDocument
from server.backends.state import Bools, Encoded, Flags, Floats, Ints

Side = Literal["encoder", "decoder"]


@dataclass(frozen=True)
class SentenceContext:
    """What one sentence may look at: the sentences of `stored` that are `visible` [J], at least one of them with words.
    A sentence that sees none has no SentenceContext: it is translated as by the sentence model."""

    stored: StoredDocument
    visible: Bools
    key: bytes | None = None
    """The same for contexts of the same content, and for no others; None where nobody has said."""
    skipped: int = 0
    """Sentences of the document before those of `stored`."""

    def __post_init__(self) -> None:
        if self.visible.shape != (self.stored.num_sentences,):
            raise ValueError(f"{self.stored.num_sentences} sentences are stored, visible is {self.visible.shape}")
        if not (self.visible & (self.stored.num_words > 0)).any():
            raise ValueError("no stored sentence is visible: a sentence without context needs no SentenceContext")

    def trimmed(self) -> "SentenceContext":
        """The same without the sentences before the first visible one and behind the last: the unseen takes no time."""
        start, last = np.flatnonzero(self.visible)[[0, -1]].tolist()
        stored, visible = self.stored.between(start, last + 1), self.visible[start : last + 1]
        return SentenceContext(stored, visible, self.key, self.skipped + start)


def all_of(sentences: Sequence[States], num_words: Sequence[int]) -> SentenceContext | None:
    """All of these sentences as context; None where there is no word among them."""
    if not any(num_words):
        return None
    return SentenceContext(StoredDocument.of(sentences, num_words), np.ones(len(sentences), np.bool_))


@dataclass(frozen=True)
class ContextUse:
    """Where a sentence looked: `weights` [heads, J] are means over its pieces (J ends with the last sentence that it
    could see), `gate` is the mean of Eq. 7's gate (1: all of the sentence's own state, 0: all context)."""

    weights: Floats
    gate: float
    words: tuple[Floats, ...] | None = None
    """The weights of each of the J sentences [heads, words], means over the pieces as well; only where they were asked
    for, and where words have weights of their own."""


@dataclass(frozen=True)
class Read:
    """A sentence that was encoded by itself, once for all: what is kept of it as context, what its translation reads
    when it sees nobody (`alone`), and the `memory` [length, d] that looks at others."""

    source_ids: tuple[int, ...]
    states: States
    alone: Encoded
    memory: Floats

    @property
    def num_bytes(self) -> int:
        """The same without the states."""
        return self.memory.nbytes + sum(tensor.nbytes for tensor in self.alone.tensors.values())


@dataclass(frozen=True)
class Attended:
    """A sentence in the light of its document: what the step graph reads, and where the sentence looked: None on the
    decoder's side, where every step looks for itself (see ContextBackend.explain)."""

    encoded: Encoded
    use: ContextUse | None


class ContextBackend(Protocol):
    """Runs the context graphs of one artifact. Safe to call from several threads."""

    @property
    def side(self) -> Side:
        """On the decoder's side what is kept of a sentence depends on its translation too."""
        ...

    @property
    def reach(self) -> int | None:
        """How many sentences away a sentence looks at most; None is the whole document."""
        ...

    @property
    def store_tensors(self) -> tuple[str, ...]: ...

    def represent(self, source_ids: Sequence[int], target_ids: Sequence[int] = ()) -> States:
        """What is kept of one sentence: source ids with EOS and, read on the decoder's side only, its translation
        without EOS. Always computed alone, so that states that were thrown away and made again are the same bit for
        bit."""
        ...

    def read(self, source_ids: Sequence[int]) -> Read:
        """`represent`, with what a translation of the sentence is made of: source ids with EOS. Raises ValueError on
        the decoder's side, where states are made of translations."""
        ...

    def attend(self, sentence: Read, context: SentenceContext | None) -> Attended:
        """A sentence that was read, in the light of what it sees."""
        ...

    def encode(self, source_ids: Ints, source_keep: Flags, contexts: Sequence[SentenceContext]) -> list[Attended]:
        """Ids and keep mask [batch, source] and what each sentence sees. Sentences are read together; then each looks
        at its own document, alone, so that none is padded for another's."""
        ...

    def explain(
        self, source_ids: Sequence[int], context: SentenceContext, target_ids: Sequence[int] = ()
    ) -> ContextUse:
        """Where a sentence looks, down to words: source ids with EOS and, read on the decoder's side only, its
        translation without EOS."""
        ...
