"""Cuts a text into sentences with their ids, and puts its translation together."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from server.runtime.checkpoints import checkpoint
from server.text.base.pieces import Pieces
from server.text.markup.tags import Tag, lift
from server.text.protect.prefix import Prefix, read_prefix, restore_beginning, restore_translation
from server.text.protect.protection import Masked, Restored, has_words, mask, restore
from server.text.protect.terms import Terms
from server.text.split.long_sentences import split_long
from server.text.split.sentences import Segment, segments_of, trim

# Characters that many vocabularies lack -> what the model reads in their place where its vocabulary lacks them.
_READ_AS = {
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u2039": "'", "\u203a": "'", "\u201c": '"', "\u201d": '"',
    "\u201e": '"', "\u00ab": '"', "\u00bb": '"', "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-",
    "\u2014": "-", "\u2212": "-", "\u2026": "...", "\u00d7": "x", "\u02bc": "'",
}  # fmt: skip

SHORT = 16
"""Characters of a sentence that is planned once for a text: short ones take longest for their length, and a table, for
example, repeats them."""


@dataclass(frozen=True)
class PlannedSentence:
    """What the model reads for a sentence; `ids` end with EOS. `is_cut`: it is a part of a sentence that is too long
    for the model. `prefix`: what its translation begins with."""

    masked: Masked
    ids: tuple[int, ...]
    is_cut: bool = False
    prefix: Prefix | None = None
    tags: tuple[Tag, ...] = ()
    """The sentence's tags, which the model does not read: an alignment sets them into the translation."""

    @property
    def prefix_ids(self) -> tuple[int, ...]:
        return () if self.prefix is None else self.prefix.ids

    def restored(self, ids: Sequence[int], pieces: Pieces) -> Restored:
        """The translation that the model gave as `ids` of the target's `pieces`."""
        return restore_translation(self.masked, self.prefix, ids, pieces)

    def beginning(self, ids: Sequence[int], pieces: Pieces) -> str:
        """The beginning of the translation, as far as the model has decoded it."""
        return restore_beginning(self.masked, self.prefix, ids, pieces)

    def after(self, prefix: str, pieces: Pieces) -> "PlannedSentence":
        """The same sentence, whose translation is to begin with `prefix`."""
        begun = read_prefix(prefix, self.masked, pieces, lambda text: _readable(text, pieces))
        return dataclasses.replace(self, prefix=begun)


@dataclass(frozen=True)
class TextPlan:
    """`segments` joined are the source text. `planned` belong to its sentences, in order."""

    segments: tuple[Segment, ...]
    planned: tuple[PlannedSentence, ...]

    @property
    def source_ids(self) -> tuple[tuple[int, ...], ...]:
        """The ids of every sentence, EOS at the end."""
        return tuple(sentence.ids for sentence in self.planned)

    def after(self, prefix: str, pieces: Pieces) -> "TextPlan":
        """The same text, whose translation is to begin with `prefix`. Raises IndexError where there is no sentence."""
        return dataclasses.replace(self, planned=(self.planned[0].after(prefix, pieces), *self.planned[1:]))

    @property
    def sentences(self) -> list[str]:
        return [segment.text for segment in self.segments if segment.is_sentence]

    def restored(self, targets: Sequence[str]) -> list[Restored]:
        """What the model gave for every sentence, with spans in place of masks. Raises ValueError if the number
        differs."""
        if len(targets) != len(self.planned):
            raise ValueError(f"{len(targets)} targets for {len(self.planned)} sentences")
        return [restore(sentence.masked, target) for sentence, target in zip(self.planned, targets, strict=True)]

    def join(self, targets: Sequence[str]) -> str:
        """The text with what the model gave in place of its sentences. Raises ValueError if their number differs."""
        return self.fill([restored.text for restored in self.restored(targets)])

    def fill(self, translations: Sequence[str]) -> str:
        """The text with `translations` in place of its sentences, as they are."""
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
    lifts_tags: bool = False,
    count: Callable[[int], None] = _no_limit,
) -> TextPlan:
    """Cut `text` into sentences of at most `max_source_length` pieces, EOS included, and the gaps between them.

    What no model can read becomes a gap: a sentence without pieces, one that is protected as a whole, a character of
    too many pieces. Without `splits` the text is one sentence, cut only where it is too long. With `lifts_tags` the
    model does not read opening and closing marks: they become the `tags` of their sentence. `count` is called with the
    number of sentences whenever some were planned; what it raises ends the planning. Linear in len(text).
    """
    segments: list[Segment] = []
    planned: list[PlannedSentence] = []
    short: dict[str, tuple[list[Segment], list[PlannedSentence]]] = {}
    for segment in segments_of(text, language) if splits else trim(text):
        checkpoint()
        if not segment.is_sentence:
            segments.append(segment)
            continue
        parts = short.get(segment.text)
        if parts is None:
            parts = _plan_parts(segment.text, pieces, max_source_length, lifts_tags)
            if len(segment.text) <= SHORT:
                short[segment.text] = parts
        segments += parts[0]
        planned += parts[1]
        count(len(parts[1]))
    return TextPlan(tuple(segments), tuple(planned))


def _plan_parts(
    sentence: str, pieces: Pieces, max_source_length: int, lifts_tags: bool
) -> tuple[list[Segment], list[PlannedSentence]]:
    """The parts of a sentence, itself where it is short enough, and those of them that are to be translated."""
    whole = plan_sentence(sentence, pieces, lifts_tags=lifts_tags)
    if len(whole.ids) <= max_source_length:
        parts = [(Segment(sentence, is_sentence=True), whole)]
    else:
        parts = [_part(one, pieces, lifts_tags) for one in _shorter(sentence, whole, pieces, max_source_length)]
    segments: list[Segment] = []
    planned: list[PlannedSentence] = []
    for part, read in parts:
        is_sentence = part.is_sentence and pieces.empty_length < len(read.ids) <= max_source_length
        # Words that the vocabulary cannot spell may be terms.
        segments.append(Segment(part.text, is_sentence and (read.masked.is_readable or has_words(part.text))))
        if segments[-1].is_sentence:
            planned.append(read)
    return segments, planned


def plan_sentence(
    sentence: str, pieces: Pieces, is_cut: bool = False, terms: Terms | None = None, lifts_tags: bool = False
) -> PlannedSentence:
    """One sentence as it is, however long. Its `terms` are masked, and its tags lifted, see `plan_text`."""
    read, tags = lift(sentence) if lifts_tags else (sentence, ())
    masked = mask(read, pieces.spells, terms)
    [ids] = pieces.encode([_readable(masked.text, pieces)])
    return PlannedSentence(masked, ids, is_cut, tags=tags)


def _part(segment: Segment, pieces: Pieces, lifts_tags: bool) -> tuple[Segment, PlannedSentence]:
    return segment, plan_sentence(segment.text, pieces, is_cut=True, lifts_tags=lifts_tags)


def _readable(text: str, pieces: Pieces) -> str:
    """`text` with quotes, dashes and the like that the vocabulary can spell."""
    if text.isascii():
        return text
    return "".join(_READ_AS[one] if one in _READ_AS and not pieces.spells(one) else one for one in text)


def _shorter(sentence: str, whole: PlannedSentence, pieces: Pieces, max_source_length: int) -> list[Segment]:
    """Parts of a sentence, which is planned as `whole`, and the spaces between them."""

    known = {} if whole.tags else {sentence: len(whole.ids)}
    """Lengths by their parts: hostile sentences repeat them."""

    def lengths(parts: Sequence[str]) -> list[int]:
        for part in parts:
            if part not in known:
                checkpoint()
                known[part] = len(plan_sentence(part, pieces).ids)
        return [known[part] for part in parts]

    return [
        segment for cut in split_long(sentence, max_source_length, lengths) for segment in trim(cut) if segment.text
    ]
