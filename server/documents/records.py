"""What is known of a document and of its sentences: plain values that every store keeps losslessly."""

from dataclasses import dataclass, field
from typing import Any, Literal

Mode = Literal["offline", "online"]
State = Literal["queued", "running", "done", "failed"]


@dataclass(frozen=True)
class Sentence:
    """One sentence. `gap` is the text between it and the one before (for the first: before it). A sentence that is too
    long for the model, or is several, has parts: `source_ids` and `target_ids` are those of all parts, one after the
    other, EOS after each; none where there is nothing to translate. `target_ids` and `translation` are None until it is
    translated. `version` rises whenever its source or its translation changes; `seen_version` is the document's version
    at which the translation was made.
    """

    index: int
    source: str
    source_ids: tuple[int, ...]
    gap: str = ""
    translation: str | None = None
    target_ids: tuple[int, ...] | None = None
    score: float | None = None
    finish_reason: Literal["eos", "length"] | None = None
    is_edited: bool = False
    """The translation is a person's: it is never translated again."""
    is_stale: bool = False
    """The translation is of an earlier state of the document and is to be made again."""
    version: int = 1
    seen_version: int = 0
    context_used: tuple[tuple[int, float], ...] = ()
    """(sentence index, weight), largest first; the largest few."""
    draft_ids: tuple[int, ...] | None = None
    """In the form of `target_ids`, the sentence model's greedy translation, where context is made of these."""

    @property
    def is_pending(self) -> bool:
        """It waits to be translated, for the first time or again."""
        return self.translation is None or self.is_stale


@dataclass(frozen=True)
class Document:
    """One document, without its sentences. `model` is the artifact's name and `fingerprint` the hash of its weights:
    states projected by other weights are never mixed with these. `end` is the text after the last sentence. `version`
    rises with every change. `options` are the request's search options as JSON values. Times are seconds since 1970.
    """

    id: str
    model: str
    fingerprint: str
    source_language: str
    target_language: str
    mode: Mode
    state: State
    num_sentences: int = 0
    version: int = 1
    end: str = ""
    error: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    created: float = 0.0
    touched: float = 0.0
