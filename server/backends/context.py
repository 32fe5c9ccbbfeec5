"""What the engine needs from a runtime to let a sentence look at the rest of its document (Maruf et al. 2019, section
3)."""

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
    """What one sentence may look at: the sentences of `stored`, each `distance` [J] sentences away, but for those with
    distance 0, which it does not see. It sees at least one with words: a sentence that sees none has no SentenceContext
    and is translated without context."""

    stored: StoredDocument
    distance: Ints
    key: bytes | None = None
    """Equal for contexts of equal content, and for no others; None where it was not computed."""
    skipped: int = 0
    """Sentences of the document before those of `stored`."""

    def __post_init__(self) -> None:
        if self.distance.shape != (self.stored.num_sentences,):
            raise ValueError(f"{self.stored.num_sentences} sentences are stored, distance is {self.distance.shape}")
        if not (self.visible & (self.stored.num_words > 0)).any():
            raise ValueError("no stored sentence is visible: a sentence without context needs no SentenceContext")

    @property
    def visible(self) -> Bools:
        """[J]"""
        return self.distance > 0

    def trimmed(self) -> "SentenceContext":
        """The same without the sentences before the first visible one and after the last, so that graphs do not read
        them."""
        start, last = np.flatnonzero(self.visible)[[0, -1]].tolist()
        stored, distance = self.stored.between(start, last + 1), self.distance[start : last + 1]
        return SentenceContext(stored, distance, self.key, self.skipped + start)


def all_of(sentences: Sequence[States], num_words: Sequence[int]) -> SentenceContext | None:
    """All of these sentences as context of one that comes after them; None when none of them has words."""
    if not any(num_words):
        return None
    return SentenceContext(StoredDocument.of(sentences, num_words), np.arange(len(sentences), 0, -1))


@dataclass(frozen=True)
class ContextUse:
    """Where a sentence looked. `weights` [heads, J]: means over its pieces, for the document's sentences up to the last
    that it could see. `gate`: the mean of the gate of Eq. 7 (1: all of the sentence's own state, 0: all context)."""

    weights: Floats
    gate: float
    words: tuple[Floats, ...] | None = None
    """For each of the J sentences, the weights of its words [heads, words], means over the pieces as well. None unless
    asked for; empty where words have no weights of their own."""


@dataclass(frozen=True)
class EncodedSource:
    """A sentence that was encoded by itself. `alone`: what its translation reads when it sees no other sentence. On the
    encoder's side also `states`, what is kept of it as context, and `memory` [length, d], the encoder states that look
    at other sentences."""

    source_ids: tuple[int, ...]
    alone: Encoded
    states: States | None = None
    memory: Floats | None = None

    @property
    def num_bytes(self) -> int:
        """Bytes of all but the states."""
        own = 0 if self.memory is None else self.memory.nbytes
        return own + sum(tensor.nbytes for tensor in self.alone.tensors.values())


@dataclass(frozen=True)
class Attended:
    """A sentence after it looked at its document: what the step graph reads, and where it looked. `use` is None on the
    decoder's side, where every step looks for itself (see ContextBackend.explain)."""

    encoded: Encoded
    use: ContextUse | None


class ContextBackend(Protocol):
    """Runs the context graphs of one artifact. Safe to call from several threads."""

    @property
    def side(self) -> Side:
        """Who looks at the document. On the decoder's side, what is kept of a sentence depends on its translation
        too."""
        ...

    @property
    def reach(self) -> int | None:
        """How many sentences away a sentence looks at most; None is the whole document."""
        ...

    def represent(
        self, source_ids: Sequence[int], target_ids: Sequence[int] = (), read: EncodedSource | None = None
    ) -> States:
        """What is kept of one sentence as context. `source_ids` end with EOS; `target_ids`, its translation without
        EOS, is read on the decoder's side only. `read`: the sentence was encoded already. States that are computed
        again are the same bit for bit, whatever is read beside them."""
        ...

    def read(self, sources: Sequence[Sequence[int]]) -> list[EncodedSource]:
        """Encode at least one sentence, all together, once for their states and all of their translations."""
        ...

    def attend(self, sentence: EncodedSource, context: SentenceContext | None) -> Attended:
        """Let a sentence that was read look at its context."""
        ...

    def encode(self, source_ids: Ints, source_keep: Flags, contexts: Sequence[SentenceContext]) -> list[Attended]:
        """Encode sentences, ids and keep mask [batch, source], and let each look at its context. They are encoded
        together; each looks alone, so that no document is padded to the length of another."""
        ...

    def explain(
        self,
        source_ids: Sequence[int],
        context: SentenceContext,
        target_ids: Sequence[int] = (),
        read: EncodedSource | None = None,
    ) -> ContextUse:
        """Where a sentence looks, down to words. `source_ids` end with EOS; `target_ids`, its translation without EOS,
        is read on the decoder's side only. `read`: the sentence was encoded already."""
        ...
