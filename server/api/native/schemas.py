"""The JSON of requests and answers. Strict: strings are not converted to numbers, unknown fields are refused."""

import itertools
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from server.api.native.translation_memory_schemas import MemoryMatch
from server.api.requests.fields import MOST_TERMS, Term, Timeout, TimingsAnswer, check_optional_text, check_text
from server.api.requests.limits import FORMALITY, FormalityOption
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.telemetry.labels import FinishReason
from server.text.protect.terms import Terms
from server.text.split.plan import TextPlan
from server.translation.assembly import SentenceTranslation, TextTranslation


class TranslateRequest(BaseModel):
    """`POST /v1/translate`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    text: Annotated[str | list[str], BeforeValidator(check_text)] = Field(
        description="What to translate. Line breaks and spaces around sentences are kept as they are.",
        examples=["Hello world.", ["Good morning.", "How are you?"]],
    )
    source: str = Field(description="Language of the text, as /v1/languages lists it.", examples=["en"])
    target: str = Field(description="Language to translate into.", examples=["de"])
    model: str | None = Field(None, description="A model of /v1/models; by default the first for the two languages.")
    beam_size: int | None = Field(None, ge=1, description="Hypotheses kept at every step; more is slower.")
    num_hypotheses: int | None = Field(
        None,
        ge=1,
        description="Translations of every text in the answer, best first, at most beam_size. For a text of "
        "several sentences, the k-th is made of the k-th of every sentence.",
    )
    length_penalty: float | None = Field(
        None, ge=0, le=10, allow_inf_nan=False, description="Hypotheses are ranked by score / tokens**length_penalty."
    )
    max_length: int | None = Field(
        None, ge=1, description="Tokens of one translated sentence at most; by default 20 + 3 * its source's."
    )
    target_prefix: Annotated[str | list[str] | None, BeforeValidator(check_optional_text)] = Field(
        None,
        description="What the translation must begin with, character for character; for a list of texts, a list of "
        "the same length, with an empty string for no prefix. In a text of several sentences it is for the first. It "
        "counts in num_tokens and max_length, but not in score.",
    )
    glossary: dict[Term, Term] | None = Field(
        None,
        max_length=MOST_TERMS,
        description="Terms and their translations. For every term that is in a sentence as a whole word, in exactly "
        "this spelling, the translation has the given text exactly, and as often.",
        examples=[{"bug report": "Fehlerbericht"}],
    )
    keep: list[Term] | None = Field(
        None, max_length=MOST_TERMS, description="Terms that stay as they are.", examples=[["RingMT"]]
    )
    context: Annotated[str | list[str] | None, BeforeValidator(check_optional_text)] = Field(
        None,
        description="The text before this one in its document, in the source language. It is not translated; every "
        "sentence of the text sees all of it. For models that know context; others ignore it.",
    )
    alignment: bool = Field(
        False, description="Also answer which words of the translation come from which words of the text."
    )
    pieces: bool = Field(
        False, description="Also answer the pieces of every translated sentence, and the model's `order`."
    )
    translation_memory_id: str | None = Field(
        None,
        description="One of /v1/translation_memories. A text, or else a sentence, whose source is equal to that of an "
        "entry gets the entry's translation; similar entries are offered in `memory`.",
    )
    translation_memory_threshold: int | None = Field(
        None,
        ge=0,
        le=100,
        description="The least likeness of entries that are offered, in percent; 75 by default. Needs "
        "translation_memory_id.",
    )
    formality: FormalityOption | None = Field(None, description=FORMALITY)
    timeout: Timeout = None
    stream: bool = Field(
        False,
        description="Answer with server-sent events while the text is decoded; `Accept: text/event-stream` asks for "
        "the same.",
    )

    @property
    def contexts(self) -> list[str]:
        return [self.context] if isinstance(self.context, str) else self.context or []

    @property
    def texts(self) -> list[str]:
        return [self.text] if isinstance(self.text, str) else self.text

    @property
    def num_chars(self) -> int:
        return sum(map(len, self.texts))

    @property
    def prefixes(self) -> list[str]:
        """A prefix for every text, or an empty list."""
        return [self.target_prefix] if isinstance(self.target_prefix, str) else self.target_prefix or []

    async def read_terms(self) -> Terms | None:
        """The terms of `keep` and `glossary`, None without terms. A large glossary is indexed in a thread."""
        targets = {term: term for term in self.keep or ()} | (self.glossary or {})
        return await offload_above(sum(map(len, targets)), Terms, targets) if targets else None

    @model_validator(mode="after")
    def check_terms(self) -> Self:
        in_both = sorted(set(self.keep or ()) & set(self.glossary or {}))
        if in_both:
            raise PydanticCustomError("terms_clash", "keep: '{term}' is in the glossary, too", {"term": in_both[0]})
        return self

    @model_validator(mode="after")
    def check_memory(self) -> Self:
        if self.translation_memory_threshold is not None and not self.translation_memory_id:
            raise PydanticCustomError("memory_missing", "translation_memory_threshold: needs translation_memory_id")
        return self

    @model_validator(mode="after")
    def check_prefixes(self) -> Self:
        count = len(self.prefixes)
        if self.target_prefix is not None and count != len(self.texts):
            message = "target_prefix: must be one for every text: {count} for {texts}"
            raise PydanticCustomError("prefix_count", message, {"count": count, "texts": len(self.texts)})
        return self


FLAGGED = (
    "What looks wrong. loop: a phrase is repeated again and again; numbers_changed: the source has other numbers, or "
    "the currency of an amount is lost; untranslated: a copy of the source; empty: there is no translation; cut: a "
    "part of a sentence that is too long for the model, or that was translated in clauses because the model left some"
    " out; truncated: it ended at the maximum length, or lacks a part of the source; moved: the model lost something "
    "protected (a URL, a placeholder), which was put where it stood in the source, or words in capitals became one "
    "word or none."
)


class SentenceAnswer(BaseModel):
    source: str
    target: str
    score: float = Field(description="Sum of the target's log-probabilities, its end included, a target_prefix not.")
    finish_reason: FinishReason = Field(description='"length": cut off at max_length.')
    num_tokens: int = Field(description="Tokens of the target, its end included.")
    flags: list[str] = Field([], description=FLAGGED)
    from_memory: bool | None = Field(
        default=None,
        description="Only with translation_memory_id: whether it is an entry's translation, which has no score and no "
        "tokens.",
    )
    pieces: list[str] | None = Field(
        default=None,
        description="Only when requested: the target as the model wrote it, without its end. \u2581 begins a "
        "word. Where something is protected, a mask stands in its place.",
        examples=[["\u2581Guten", "\u2581Tag", "."]],
    )

    @classmethod
    def of(cls, sentence: SentenceTranslation) -> Self:
        checkpoint()
        return cls(
            source=sentence.source,
            target=sentence.target,
            score=sentence.score,
            finish_reason=sentence.finish_reason,
            num_tokens=sentence.num_tokens,
            flags=list(sentence.flags),
        )


class HypothesisAnswer(BaseModel):
    text: str
    score: float


class AlignedWords(BaseModel):
    """A word of the text and a word of its translation that comes from it: where each begins and ends, in characters
    (Unicode code points) from 0 on, the end not included."""

    source: tuple[int, int] = Field(examples=[[0, 5]])
    target: tuple[int, int] = Field(examples=[[0, 5]])


class Translation(BaseModel):
    text: str
    sentences: list[SentenceAnswer]
    flags: list[str] = Field([], description="Those of its sentences, each once.")
    hypotheses: list[HypothesisAnswer] | None = Field(None, description="Only when num_hypotheses was given.")
    alignment: list[AlignedWords] | None = Field(
        None,
        description="Only when requested: pairs of words of the request's text and of `text`. A word may be in "
        "several pairs, or in none; what is protected, such as a URL, is one word and paired with itself.",
    )
    from_memory: bool | None = Field(
        default=None, description="Only with translation_memory_id: whether all of its sentences are of the memory."
    )
    memory: list[MemoryMatch] | None = Field(
        default=None,
        description="Only with translation_memory_id: equal and similar entries, up to three for a sentence.",
    )
    pivot: str | None = Field(
        None,
        description="Only where two models translated: the language between them. Scores are of both steps together, "
        "num_tokens of the second.",
    )

    @classmethod
    def of(cls, translation: TextTranslation, with_hypotheses: bool, pivot: str | None = None) -> Self:
        hypotheses = [
            HypothesisAnswer(text=hypothesis.text, score=hypothesis.score) for hypothesis in translation.hypotheses
        ]
        pairs = translation.alignment
        return cls(
            text=translation.text,
            sentences=[SentenceAnswer.of(sentence) for sentence in translation.sentences],
            flags=list(dict.fromkeys(flag for sentence in translation.sentences for flag in sentence.flags)),
            hypotheses=hypotheses if with_hypotheses else None,
            alignment=None
            if pairs is None
            else [AlignedWords(source=source, target=target) for source, target in pairs],
            pivot=pivot,
        )

    def with_memory(self, translation: TextTranslation) -> None:
        """Add what a translation memory has for it."""
        for sentence, translated in zip(self.sentences, translation.sentences, strict=True):
            checkpoint()
            sentence.from_memory = translated.is_from_memory
        self.memory = [MemoryMatch.of(match) for match in translation.matches]
        self.from_memory = bool(self.sentences) and all(sentence.from_memory for sentence in self.sentences)


class TranslateResponse(BaseModel):
    """One translation for every text, in their order."""

    translations: list[Translation]
    model: str = Field(description="The model that translated; of two, the second.")
    models: list[str] | None = Field(
        default=None, description="Only where two models translated: both, in their order."
    )
    timings: TimingsAnswer
    order: int | None = Field(
        default=None,
        description="Only with pieces: N. For every piece, each layer of the decoder attends to the N-1 pieces before "
        "it. A model that attends to all of them has no order.",
    )
    context: bool | None = Field(
        None, description="Only when context was given: false if the model does not use context and ignored it."
    )


class Segment(BaseModel):
    """A part of a text: a sentence, or the gap between two."""

    text: str
    sentence: int | None = Field(None, description="Its number among the sentences of the text, from 0 on.")


class CutText(BaseModel):
    segments: list[Segment]

    @classmethod
    def of(cls, plan: TextPlan) -> Self:
        checkpoint()
        numbers = itertools.count()
        return cls(
            segments=[
                Segment(text=segment.text, sentence=next(numbers) if segment.is_sentence else None)
                for segment in plan.segments
            ]
        )


class StreamBegins(BaseModel):
    """The event `begin`: how the texts were cut."""

    model: str
    texts: list[CutText]


class StreamBeginning(BaseModel):
    """The event `beginning`: how a sentence begins. It replaces the beginning sent before."""

    text: int
    sentence: int
    target: str
    done: bool = Field(description="Whether this is the whole sentence.")
