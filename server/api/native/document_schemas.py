"""The JSON of answers about documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import BaseModel, Field

from server.documents.attention_weights import Explanation, SentenceWeights
from server.documents.feeds import Snapshot
from server.documents.translate import flags_of
from server.documents.two_stage import num_pending
from server.runtime.checkpoints import checkpoint
from server.stores.records import Document, Sentence
from server.telemetry.labels import DocumentState, FinishReason


class ContextUsed(BaseModel):
    index: int
    weight: float


class DocumentSentence(BaseModel):
    """One sentence. A field that is not required is there when it is known, or was asked for."""

    index: int
    source: str
    translation: str | None = Field(description="null while it waits for its first translation.")
    version: int = Field(description="Rises with every correction and whenever it is to be translated again.")
    pending: bool = Field(description="It waits to be translated, for the first time or again.")
    edited: bool = Field(description="The translation is a person's.")
    finish_reason: FinishReason | None = Field(default=None, description='"length": cut off at max_length.')
    flags: list[str] | None = Field(
        default=None,
        description="Only where the model's translation looks wrong: loop, numbers_changed, untranslated, empty, "
        "truncated where it was cut off or lacks a part of the source, or moved, as in /v1/translate.",
    )
    context_used: list[ContextUsed] | None = Field(
        default=None,
        description="The sentences that it attended to most, with the mean weight over heads and words. The weights of "
        "all sentences that it sees sum to one.",
    )

    @classmethod
    def of(cls, sentence: Sentence, explain: bool, languages: tuple[str, str]) -> Self:
        """`languages` of the document: source and target."""
        checkpoint()
        answer = cls(
            index=sentence.index,
            source=sentence.source,
            translation=sentence.translation,
            version=sentence.version,
            pending=sentence.is_pending,
            edited=sentence.is_edited,
        )
        if sentence.finish_reason is not None:
            answer.finish_reason = sentence.finish_reason
        if flags := flags_of(sentence, languages):
            answer.flags = flags
        if explain:
            answer.context_used = [ContextUsed(index=index, weight=weight) for index, weight in sentence.context_used]
        return answer


@dataclass(frozen=True)
class SentencePage:
    """The sentences of an answer, from index `first` on."""

    sentences: Sequence[Sentence]
    first: int = 0

    @property
    def end(self) -> int:
        return self.first + len(self.sentences)


class DocumentAnswer(BaseModel):
    """A document as it is now."""

    id: str
    state: DocumentState
    mode: Literal["offline", "online"]
    version: int = Field(description="Rises with every change of the document.")
    model: str
    source: str
    target: str
    pivot: str | None = Field(
        default=None,
        description="Only where two models translate: the language between them. The document is translated into it as "
        "a document, and that again.",
    )
    models: list[str] | None = Field(
        default=None, description="Only where two models translate: both, in their order; `model` is the second."
    )
    context: bool = Field(description="false: no model of it knows context, every sentence is translated by itself.")
    progress: float = Field(description="Share of the sentences that need no more work, 0 to 1.")
    num_sentences: int
    sentences: list[DocumentSentence] = Field(description="From `first` on, `limit` at most.")
    next: int | None = Field(
        default=None, description="`first` of the next sentences, only where there are more: read them with GET."
    )
    translation_memory_id: str | None = Field(default=None, description="The memory that the document names.")
    error: str | None = Field(
        default=None,
        description="Why the document failed (a correction or DELETE ends that state), or why it waits: this server "
        "does not serve its model.",
    )

    @classmethod
    def of(cls, document: Document, page: "SentencePage", knows_context: bool, explain: bool) -> Self:
        answer = cls(
            id=document.id,
            state=document.state,
            mode=document.mode,
            version=document.version,
            model=document.legs[-1].model if document.legs else document.model,
            source=document.source_language,
            target=document.target_language,
            context=knows_context,
            progress=progress_of(document) or 0.0,
            num_sentences=document.num_sentences,
            sentences=[DocumentSentence.of(sentence, explain, document.languages) for sentence in page.sentences],
        )
        if page.end < document.num_sentences:
            answer.next = page.end
        if document.legs:
            answer.pivot = document.legs[0].target_language
            answer.models = [leg.model for leg in document.legs]
        if document.translation_memory_id is not None:
            answer.translation_memory_id = document.translation_memory_id
        if document.error is not None:
            answer.error = document.error
        return answer


def progress_of(document: Document) -> float | None:
    """The share of its sentences that need no more work; None where it is not known."""
    pending = num_pending(document)
    return None if pending is None else 1 - pending / max(1, document.num_sentences)


class TranslatedSentence(BaseModel):
    """The event `translated`."""

    index: int
    translation: str


class DocumentProgress(BaseModel):
    """The event `document`."""

    id: str
    state: DocumentState
    version: int
    progress: float
    error: str | None = None

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        document, pending = snapshot.document, snapshot.num_pending
        return cls(
            id=document.id,
            state=document.state,
            version=document.version,
            progress=1 - pending / document.num_sentences if document.num_sentences else 1.0,
            error=document.error,
        )


class AppendAnswer(BaseModel):
    """The new sentences with their translations."""

    id: str
    version: int
    sentences: list[DocumentSentence]


class CorrectionInMemory(BaseModel):
    """Whether the corrected sentence is an entry of the document's translation memory now."""

    kept: bool
    reason: str | None = Field(default=None, description="Why it is not.")


class CorrectionAnswer(BaseModel):
    """The sentence as it is now; `state` is "queued" when others are to be translated again."""

    id: str
    state: DocumentState
    version: int
    sentence: DocumentSentence
    memory: CorrectionInMemory | None = Field(
        default=None, description="Only with a `translation` in a document that names a translation memory."
    )


class SeenWord(BaseModel):
    """A piece of a sentence as the model reads it, or of its first translation where context is made of these."""

    text: str = Field(description='"\u2581" stands at the start of a word.')
    weight: float
    heads: list[float]


class SeenSentence(BaseModel):
    index: int
    source: str
    weight: float = Field(description="Mean over heads and over the words that attend.")
    heads: list[float] = Field(description="Mean over the words that attend, for every head.")
    words: list[SeenWord] | None = Field(default=None, description="Where the model's attention tells words apart.")


class ContextAnswer(BaseModel):
    """What a sentence attends to: the sentences with a weight above zero, the largest first."""

    index: int
    context: bool = Field(description="false: the sentence sees nothing, or its model knows no context.")
    gate: float | None = Field(
        default=None,
        description="How much of the sentence's own state the decoder reads: 1 is all, 0 is context only.",
    )
    sentences: list[SeenSentence]

    @classmethod
    def of(cls, index: int, sentences: Sequence[Sentence], explanation: Explanation | None) -> Self:
        if explanation is None:
            return cls(index=index, context=False, sentences=[])
        seen = [_seen(at, sentences[at].source, attention) for at, attention in explanation.seen.items()]
        seen.sort(key=lambda sentence: (-sentence.weight, sentence.index))
        return cls(index=index, context=True, gate=explanation.gate, sentences=seen)


def _seen(index: int, source: str, sentence: SentenceWeights) -> SeenSentence:
    answer = SeenSentence(index=index, source=source, weight=_mean(sentence.heads), heads=list(sentence.heads))
    if sentence.words:
        answer.words = [SeenWord(text=text, weight=_mean(heads), heads=list(heads)) for text, heads in sentence.words]
    return answer


def _mean(heads: Sequence[float]) -> float:
    return sum(heads) / len(heads)
