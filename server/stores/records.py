"""A document and its sentences as plain values, which every store keeps losslessly."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from server.telemetry.labels import DocumentState, FinishReason

Mode = Literal["offline", "online"]


@dataclass(frozen=True)
class Part:
    """The text of one search, a sentence or a part of one. `source_ids` end with EOS; all other ids here come without
    it."""

    source_ids: tuple[int, ...]
    target_ids: tuple[int, ...] | None = None
    """Its translation by the model; None until there is one, and where the translation is a person's."""
    context_ids: tuple[int, ...] | None = None
    """Its translation as other sentences see it, where context is made of translations: a person's, else its draft;
    None until it is made."""
    span: tuple[int, int] | None = None
    """Its start and end in the sentence's source, in characters; None in a document that RingMT 0.1.0 stored."""


@dataclass(frozen=True)
class Sentence:
    """One sentence. It has one part as a rule, several where it is too long for the model or is several sentences, none
    where there is nothing to translate. `gap` is the text between it and the sentence before (for the first: before
    it). `translation` is None until it is translated. `version` rises whenever its source or its translation changes.
    """

    index: int
    source: str
    parts: tuple[Part, ...]
    gap: str = ""
    translation: str | None = None
    score: float | None = None
    finish_reason: FinishReason | None = None
    is_edited: bool = False
    """The translation is a person's: it is never translated again."""
    is_stale: bool = False
    """The translation is of an earlier state of the document, and the sentence is to be translated again."""
    version: int = 1
    context_used: tuple[tuple[int, float], ...] = ()
    """(sentence index, attention weight) of the sentences with the largest weights, largest first."""
    flags: tuple[str, ...] = ()
    """Flags of the translation that do not follow from its words alone: "truncated" where it lacks a part of its
    source, "moved"."""
    origin: "Sentence | None" = None
    """The sentence of the first stage, where two models translate: its translation is the source of this sentence."""

    @property
    def is_pending(self) -> bool:
        """Whether it waits to be translated, for the first time or again."""
        return self.translation is None or self.is_stale

    @property
    def num_places(self) -> int:
        """Its share of the document's length: the number of its parts, at least 1."""
        return max(1, len(self.parts))


@dataclass(frozen=True)
class Leg:
    """The model of one of two stages: its name, the hash of its weights, and the language that it translates into."""

    model: str
    fingerprint: str
    target_language: str


@dataclass(frozen=True)
class Document:
    """One document, without its sentences. `model` is the artifact's name and `fingerprint` the hash of its weights:
    states of other weights are never mixed with these. `end` is the text after the last sentence. `version`
    rises with every change. `options` are the request's search options as JSON values. Times are seconds since 1970.
    """

    id: str
    model: str
    fingerprint: str
    source_language: str
    target_language: str
    mode: Mode
    state: DocumentState
    num_sentences: int = 0
    version: int = 1
    end: str = ""
    error: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    created: float = 0.0
    touched: float = 0.0
    attempts: int = 0
    """How often a process died while it worked on the document, since the last sentence was finished."""
    num_places: int = 0
    """The sum of `num_places` of its sentences."""
    revision: int = 1
    """Rises when a change of an existing sentence changes the context of others; appending does not."""
    legs: tuple[Leg, ...] = ()
    """The two stages of a document that goes through a third language; `model` and `fingerprint` are those of the
    present stage."""
    owner: str = ""
    """The name of its key; "" on a server without keys. Updates do not change it, only ContextStore.rename_owner
    does."""
    translation_memory_id: str | None = None
    """The translation memory, of the same owner, whose entries it uses and which gets its corrections."""
    num_pending: int | None = None
    """The number of sentences that wait to be translated; None in a document that RingMT 0.4 or older stored."""

    @property
    def languages(self) -> tuple[str, str]:
        return self.source_language, self.target_language

    @property
    def next_leg(self) -> Leg | None:
        """The stage after the present one, None if there is none."""
        return self.legs[1] if self.legs and self.model == self.legs[0].model else None


def with_changed(sentences: Sequence[Sentence], changed: Sequence[Sentence]) -> list[Sentence]:
    """All sentences, with the `changed` ones in place of their older versions; new ones at the end."""
    by_index = {sentence.index: sentence for sentence in sentences}
    return list((by_index | {sentence.index: sentence for sentence in changed}).values())
