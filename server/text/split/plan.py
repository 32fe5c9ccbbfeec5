"""Splits a text into sentences with their token ids, and joins the translations again."""

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from server.runtime.checkpoints import checkpoint
from server.text.base.pieces import Pieces
from server.text.markup.standalone_placeholders import Tag
from server.text.markup.tags import strip_tags
from server.text.protect.capitals import Casing
from server.text.protect.garbled import garbled_words, is_sparse
from server.text.protect.masking import has_words, mask
from server.text.protect.masks import Masked
from server.text.protect.prefix import Prefix, encode_prefix, restore_partial_translation, restore_translation
from server.text.protect.restoring import NO_LANGUAGES, Restored, restore, restore_beginning
from server.text.protect.terms import Terms
from server.text.split.clauses import split_at_clauses
from server.text.split.long_sentences import split_long
from server.text.split.segment import Segment
from server.text.split.sentences import segments_of
from server.text.split.trimming import trim

# Characters that many vocabularies lack -> their substitutes.
_SUBSTITUTES = {
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u2039": "'", "\u203a": "'", "\u201c": '"', "\u201d": '"',
    "\u201e": '"', "\u00ab": '"', "\u00bb": '"', "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-",
    "\u2014": "-", "\u2212": "-", "\u2026": "...", "\u00d7": "x", "\u02bc": "'",
}  # fmt: skip

_NUMBER = re.compile(r"\d[.,]\d")
"""Within a number whose notation differs between languages."""
MAX_CACHED_LENGTH = 16
"""Characters of a sentence whose plan is reused within a text: short sentences take longest for their length, and
tables, for example, repeat them."""


@dataclass(frozen=True)
class PlannedSentence:
    """A sentence as the model reads it; `ids` end with EOS. `is_cut`: it is a part of a sentence that is too long for
    the model, or that the model did not translate as a whole. `prefix`: the beginning of the translation."""

    masked: Masked
    ids: tuple[int, ...]
    is_cut: bool = False
    prefix: Prefix | None = None
    tags: tuple[Tag, ...] = ()
    """The sentence's tags, which the model does not read; `place_tags` places them by the alignment."""
    languages: tuple[str, str] = NO_LANGUAGES
    """Codes of source and target, where they are known."""

    @property
    def needs_alignment(self) -> bool:
        """Whether its tags, or its words in capitals, are placed by the alignment."""
        return bool(self.tags or self.masked.emphasized)

    @property
    def prefix_ids(self) -> tuple[int, ...]:
        return () if self.prefix is None else self.prefix.ids

    def restore(self, ids: Sequence[int], pieces: Pieces) -> Restored:
        """The translation of the sentence from the `ids` that the model decoded, of the target's `pieces`."""
        if self.prefix is None:
            return restore(self.masked, pieces.decode([ids])[0], not self.is_cut, self.languages)
        return restore_translation(self.masked, self.prefix, ids, pieces)

    def restore_partial(self, ids: Sequence[int], pieces: Pieces) -> str:
        """The translation as far as it is decoded."""
        if self.prefix is None:
            return restore_beginning(self.masked, pieces.decode_beginning(ids), not self.is_cut, self.languages)
        return restore_partial_translation(self.masked, self.prefix, ids, pieces)

    def with_prefix(self, prefix: str, pieces: Pieces) -> "PlannedSentence":
        """The same sentence with a target prefix."""
        encoded = encode_prefix(prefix, self.masked, pieces, lambda text: _spellable(text, pieces))
        return dataclasses.replace(self, prefix=encoded)


@dataclass(frozen=True)
class TextPlan:
    """`segments` joined are the source text; `planned` has its sentences in order."""

    segments: tuple[Segment, ...]
    planned: tuple[PlannedSentence, ...]

    @property
    def source_ids(self) -> tuple[tuple[int, ...], ...]:
        """The ids of every sentence, EOS at the end."""
        return tuple(sentence.ids for sentence in self.planned)

    def with_prefix(self, prefix: str, pieces: Pieces) -> "TextPlan":
        """The same text with a target prefix. Raises IndexError if the text has no sentence."""
        return dataclasses.replace(self, planned=(self.planned[0].with_prefix(prefix, pieces), *self.planned[1:]))

    def in_languages(self, languages: tuple[str, str]) -> "TextPlan":
        """The same text, whose numbers are written as in the second of the languages."""
        planned = [
            dataclasses.replace(sentence, languages=languages) if _NUMBER.search(sentence.masked.text) else sentence
            for sentence in self.planned
        ]
        return dataclasses.replace(self, planned=tuple(planned))

    @property
    def sentences(self) -> list[str]:
        return [segment.text for segment in self.segments if segment.is_sentence]

    def fill(self, translations: Sequence[str]) -> str:
        """The text with `translations` in place of its sentences."""
        remaining = iter(translations)
        return "".join(next(remaining) if segment.is_sentence else segment.text for segment in self.segments)


def _no_limit(count: int) -> None:
    pass


def plan_text(
    text: str,
    language: str,
    pieces: Pieces,
    max_source_length: int,
    splits: bool = True,
    strips_tags: bool = False,
    count: Callable[[int], None] = _no_limit,
    lowers_emphasis: bool = False,
) -> TextPlan:
    """Split `text` into sentences of at most `max_source_length` pieces, EOS included, and the gaps between them.

    A sentence that no model can read becomes a gap: a sentence without pieces, a sentence that is one protected span, a
    character of too many pieces. Without `splits` the text is one sentence, cut only if it is too long. With
    `strips_tags` the model does not read opening and closing placeholders: they become the `tags` of their sentence.
    With `lowers_emphasis` it reads single words in capitals in small letters (`Masked.emphasized`). `count` is called
    with the number of sentences whenever some are planned; an exception in it ends the planning.
    Linear in len(text).
    """
    segments: list[Segment] = []
    planned: list[PlannedSentence] = []
    cache: dict[str, tuple[list[Segment], list[PlannedSentence]]] = {}
    for segment in segments_of(text, language) if splits else trim(text):
        checkpoint()
        if not segment.is_sentence:
            segments.append(segment)
            continue
        parts = cache.get(segment.text)
        if parts is None:
            parts = _plan_parts(segment.text, pieces, max_source_length, strips_tags, lowers_emphasis)
            if len(segment.text) <= MAX_CACHED_LENGTH:
                cache[segment.text] = parts
        segments += parts[0]
        planned += parts[1]
        count(len(parts[1]))
    return TextPlan(tuple(segments), tuple(planned))


def _plan_parts(
    sentence: str, pieces: Pieces, max_source_length: int, strips_tags: bool, lowers_emphasis: bool
) -> tuple[list[Segment], list[PlannedSentence]]:
    """The parts of a sentence, the sentence itself if it is short enough, and the parts that are to be translated."""
    whole = plan_sentence(sentence, pieces, strips_tags=strips_tags, lowers_emphasis=lowers_emphasis)
    if len(whole.ids) <= max_source_length:
        parts = [(Segment(sentence, is_sentence=True), whole)]
    else:
        parts = _plan_cut(sentence, whole, pieces, max_source_length, strips_tags, lowers_emphasis)
    return _readable(parts, pieces, max_source_length)


def _plan_cut(
    sentence: str,
    whole: PlannedSentence,
    pieces: Pieces,
    max_source_length: int,
    strips_tags: bool,
    lowers_emphasis: bool,
) -> list[tuple[Segment, PlannedSentence]]:
    """The parts of a sentence that is too long, which is planned as `whole`, and the spaces between them. What was
    planned to be measured is not planned again."""
    plans: dict[str, PlannedSentence] = {}
    """By their texts, of which hostile sentences have many alike."""

    def plan_of(text: str) -> PlannedSentence:
        checkpoint()
        plan = plans.get(text)
        if plan is None:
            plan = plans[text] = plan_sentence(text, pieces, True, None, strips_tags, lowers_emphasis)
        return plan

    def lengths(parts: Sequence[str]) -> list[int]:
        return [pieces.length((whole if part == sentence else plan_of(part.strip())).ids) for part in parts]

    cuts = split_long(sentence, max_source_length, lengths)
    return [(part, plan_of(part.text)) for cut in cuts for part in trim(cut) if part.text]


def plan_clauses(
    sentence: str, pieces: Pieces, max_source_length: int, strips_tags: bool = False, lowers_emphasis: bool = False
) -> tuple[list[Segment], list[PlannedSentence]]:
    """The clauses of a long sentence and the gaps between them, and the clauses that are to be translated. Arguments as
    in `plan_text`."""
    parts = [
        (part, plan_sentence(part.text, pieces, True, None, strips_tags, lowers_emphasis))
        for clause in split_at_clauses(sentence)
        for part in trim(clause)
        if part.text
    ]
    return _readable(parts, pieces, max_source_length)


def _readable(
    parts: Sequence[tuple[Segment, PlannedSentence]], pieces: Pieces, max_source_length: int
) -> tuple[list[Segment], list[PlannedSentence]]:
    """The parts of a sentence, those that a model cannot read as gaps; and the others as they are planned."""
    segments: list[Segment] = []
    planned: list[PlannedSentence] = []
    for part, plan in parts:
        is_sentence = part.is_sentence and pieces.has_pieces(plan.ids) and len(plan.ids) <= max_source_length
        # Words that the vocabulary cannot spell may be terms.
        segments.append(Segment(part.text, is_sentence and (plan.masked.is_translatable or has_words(part.text))))
        if segments[-1].is_sentence:
            planned.append(plan)
    return segments, planned


def plan_sentence(
    sentence: str,
    pieces: Pieces,
    is_cut: bool = False,
    terms: Terms | None = None,
    strips_tags: bool = False,
    lowers_emphasis: bool = False,
) -> PlannedSentence:
    """Plan one sentence of any length. Its `terms` are masked; other arguments as in `plan_text`."""
    read, tags = strip_tags(sentence) if strips_tags else (sentence, ())
    masked = mask(read, pieces.spells, terms, Casing(pieces, lowers_emphasis))
    [ids] = pieces.encode([_spellable(masked.text, pieces)])
    if is_sparse(masked.text, len(ids)) and (garbled := garbled_words(read, pieces)):
        masked = mask(read, pieces.spells, terms, Casing(pieces, lowers_emphasis), garbled)
        [ids] = pieces.encode([_spellable(masked.text, pieces)])
    return PlannedSentence(masked, ids, is_cut, tags=tags)


def _spellable(text: str, pieces: Pieces) -> str:
    """`text` with quotes, dashes and other signs that the vocabulary can spell."""
    if text.isascii():
        return text
    signs = [char for char in _SUBSTITUTES.keys() & {*text} if not pieces.spells(char)]
    return text.translate({ord(char): _SUBSTITUTES[char] for char in signs}) if signs else text
