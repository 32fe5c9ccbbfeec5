"""A document and its sentences as plain values, which every store keeps losslessly."""

from dataclasses import dataclass, field
from typing import Any, Literal

from server.telemetry.labels import DocumentState, FinishReason

Mode = Literal["offline", "online"]


@dataclass(frozen=True)
class Part:
    """What the model reads at once. `source_ids` end with EOS; all other ids here come without it."""

    source_ids: tuple[int, ...]
    target_ids: tuple[int, ...] | None = None
    """Its translation by the model; None until there is one, and where the translation is a person's."""
    context_ids: tuple[int, ...] | None = None
    """Its translation as other sentences see it, where context is made of translations: a person's, else its draft;
    None until it is made."""
    span: tuple[int, int] | None = None
    """Where it begins and ends in the sentence's source, in characters; None in a document that was kept before RingMT
    knew it."""


@dataclass(frozen=True)
class Sentence:
    """One sentence. It is one part as a rule, several where it is too long for the model or is several sentences, none
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
    """The translation is of an earlier state of the document and is to be made again."""
    version: int = 1
    context_used: tuple[tuple[int, float], ...] = ()
    """(sentence index, weight), largest first; the largest few."""
    origin: "Sentence | None" = None
    """The sentence as the first of two models read and translated it: what that said is this one's source."""

    @property
    def is_pending(self) -> bool:
        """It waits to be translated, for the first time or again."""
        return self.translation is None or self.is_stale

    @property
    def num_places(self) -> int:
        """How much of a document's length it takes: a place for every part, at least one."""
        return max(1, len(self.parts))


@dataclass(frozen=True)
class Leg:
    """One of two models that translate a document in turn: its name, the hash of its weights, and the language that it
    translates into."""

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
    """How often work on it began and did not end, because the process died, since its last sentence was finished."""
    num_places: int = 0
    """The places of all its sentences."""
    revision: int = 1
    """Rises when a change makes an existing sentence other context than before; appending does not."""
    legs: tuple[Leg, ...] = ()
    """The two models of a document that goes through a third language, in order; `model` and `fingerprint` are those of
    the one whose turn it is."""
    owner: str = ""
    """Whose it is; "" where it is everybody's. Updates do not change it, only ContextStore.rename_owner does."""
    num_pending: int | None = None
    """How many sentences wait to be translated; None in a document that was kept before RingMT counted them."""

    @property
    def next_leg(self) -> Leg | None:
        """Whose turn comes after this model's."""
        return self.legs[1] if self.legs and self.model == self.legs[0].model else None
