"""The interface of runtimes for context: sentences attend to the other sentences of their document (Maruf et al. 2019,
section 3)."""

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
    """The sentences that one sentence attends to: those of `stored`, each `distance` [J] sentences away; sentences with
    distance 0 are not visible. At least one visible sentence has words: a sentence without one has no SentenceContext
    and is translated without context. Raises ValueError."""

    stored: StoredDocument
    distance: Ints
    key: bytes | None = None
    """Equal for contexts of equal content only; None where it was not computed."""
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
        """The same without the sentences before the first and after the last visible one, which graphs need not
        read."""
        start, last = np.flatnonzero(self.visible)[[0, -1]].tolist()
        stored, distance = self.stored.between(start, last + 1), self.distance[start : last + 1]
        return SentenceContext(stored, distance, self.key, self.skipped + start)


def full_context(sentences: Sequence[States], num_words: Sequence[int]) -> SentenceContext | None:
    """All of these sentences as context of the sentence after them; None when none of them has words."""
    if not any(num_words):
        return None
    return SentenceContext(StoredDocument.of(sentences, num_words), np.arange(len(sentences), 0, -1))


@dataclass(frozen=True)
class ContextAttention:
    """The attention of a sentence to its context. `weights` [heads, J]: attention weights, means over its pieces, of
    the document's sentences up to the last visible one. `gate`: the mean of the gate of Eq. 7 (1: only the sentence's
    own state, 0: only context)."""

    weights: Floats
    gate: float
    words: tuple[Floats, ...] | None = None
    """For each of the J sentences, the weights of its words [heads, words], means over the pieces as well. None except
    from `explain`; empty where words have no weights of their own."""


@dataclass(frozen=True)
class EncodedSource:
    """The encoder output of one sentence. `without_context`: the tensors of step graphs for a translation without
    context. On the encoder's side also `states`, its states as context of other sentences, and `memory` [length, d],
    the encoder states that attend to its context."""

    source_ids: tuple[int, ...]
    without_context: Encoded
    states: States | None = None
    memory: Floats | None = None

    @property
    def num_bytes(self) -> int:
        """Bytes of all but the states."""
        memory_bytes = 0 if self.memory is None else self.memory.nbytes
        return memory_bytes + self.without_context.num_bytes


@dataclass(frozen=True)
class Attended:
    """A sentence after attention to its context: the tensors of the step graph, and the attention. `attention` is None
    on the decoder's side, where every step attends (see ContextBackend.explain)."""

    encoded: Encoded
    attention: ContextAttention | None


class ContextBackend(Protocol):
    """Runs the context graphs of one artifact. Safe to call from several threads."""

    side: Side
    """Whether the encoder or the decoder attends to the document. On the decoder's side, the states of a sentence
    depend on its translation too."""
    reach: int | None
    """The largest distance, in sentences, of a visible sentence; None for the whole document."""

    def compute_states(
        self, source_ids: Sequence[int], target_ids: Sequence[int] = (), encoded: EncodedSource | None = None
    ) -> States:
        """The states of one sentence as context of others. `source_ids` end with EOS; `target_ids`, its translation
        without EOS, is used on the decoder's side only. `encoded`: the encoder output, if the sentence was encoded
        before. States that are computed again are the same bit for bit, whatever else is in the batch."""
        ...

    def encode_sources(self, sources: Sequence[Sequence[int]]) -> list[EncodedSource]:
        """Encode at least one sentence, in one batch, once for their states and all of their translations."""
        ...

    def attend(self, sentence: EncodedSource, context: SentenceContext | None) -> Attended:
        """Let an encoded sentence attend to its context."""
        ...

    def encode_in_context(
        self, source_ids: Ints, source_keep: Flags, contexts: Sequence[SentenceContext]
    ) -> list[Attended]:
        """Encode sentences, ids and keep mask [batch, source], and let each attend to its context. The encoder runs
        once for all, attention once for each sentence, so that no document is padded to the length of another."""
        ...

    def explain(
        self,
        source_ids: Sequence[int],
        context: SentenceContext,
        target_ids: Sequence[int] = (),
        encoded: EncodedSource | None = None,
    ) -> ContextAttention:
        """The attention of a sentence to its context, down to words. `source_ids` end with EOS; `target_ids`, its
        translation without EOS, is used on the decoder's side only. `encoded`: as in `compute_states`."""
        ...
