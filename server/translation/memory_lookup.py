"""What a translation memory has for the texts of a request, and what is left for the model."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from server.runtime.checkpoints import checkpoint
from server.text.base.placeholders import has_reserved
from server.text.base.words import has_letters
from server.text.split.segment import Segment
from server.text.split.sentences import segments_of
from server.translation.assembly import Match, SentenceTranslation
from server.translation.planning import TextRequest
from server.translation_memory.index import MemoryIndex
from server.translation_memory.pairs import EXACT, EntryMatch

MOST_MATCHES = 3
"""Near matches for one text or sentence."""
FREE_CHARS, CHARS_PER_CHAR = 1_000_000, 16
"""The most characters of all matches of a request: FREE_CHARS, and CHARS_PER_CHAR for each character of its texts. An
entry may be a thousand times as long as its sentence."""


class TooManyMatches(ValueError):
    """The entries that are found for a request are too long together."""


@dataclass(frozen=True)
class MemoryUse:
    """How a request uses a memory. Entries of a likeness of `offers_from` percent or more are offered as matches, those
    of `applies_from` or more are used instead of a translation, if `may_apply` their source and the text's."""

    index: MemoryIndex
    offers_from: int
    applies_from: int = EXACT
    may_apply: Callable[[str, str], bool] = lambda source, other: True
    count: Callable[[int], None] = lambda number: None
    """Called after each file with the number of its sentences that the memory has."""


@dataclass(frozen=True)
class Run:
    """Sentences that the model translates as text number `number` of its request, with the gaps between them."""

    number: int


Part = str | SentenceTranslation | Run
"""A gap, a sentence of the memory, or sentences that the model translates."""


@dataclass(frozen=True)
class MemoryText:
    parts: Sequence[Part]
    matches: Sequence[Match]


@dataclass(frozen=True)
class MemoryPlan:
    """`texts` are for the model, with their prefixes."""

    whole: Sequence[MemoryText]
    texts: Sequence[str]
    prefixes: Sequence[str]

    def request(self, request: TextRequest) -> TextRequest:
        """The request of the texts for the model."""
        return dataclasses.replace(request, texts=self.texts, prefixes=self.prefixes if request.prefixes else ())


def look_up(
    request: TextRequest, use: MemoryUse, language: str, check_count: Callable[[int], None] = lambda number: None
) -> MemoryPlan:
    """What the memory has, and what is left for the model. Raises TooManyMatches, and what `check_count` raises."""
    texts: list[str] = []
    prefixes: list[str] = []
    whole = []
    lookup = Lookup(use, request.tagged, most_chars(request.texts))
    num_sentences = 0
    for text, prefix in itertools.zip_longest(request.texts, request.prefixes, fillvalue=""):
        checkpoint()
        segments = _as_one_sentence(text)
        from_memory, matches = lookup.sentences(segments, bool(prefix))
        is_cut = request.splits and not from_memory
        if is_cut:
            segments = list(segments_of(text, language))
        num_sentences += sum(segment.is_sentence for segment in segments)
        check_count(num_sentences)
        if is_cut:
            from_memory, of_sentences = lookup.sentences(segments, bool(prefix))
            are_several = sum(segment.is_sentence for segment in segments) > 1
            matches = [*matches, *of_sentences] if are_several else of_sentences
        parts = list(_parts(segments, from_memory, texts)) if from_memory else [_as_a_whole(text, texts)]
        prefixes += [""] * (len(texts) - len(prefixes))
        first = next((part for part in parts if not isinstance(part, str)), None)
        if prefix and isinstance(first, Run):
            prefixes[first.number] = prefix
        whole.append(MemoryText(parts, matches))
    return MemoryPlan(whole, texts, prefixes)


def most_chars(texts: Sequence[str]) -> int:
    """Characters of all matches of texts, at most."""
    return FREE_CHARS + CHARS_PER_CHAR * sum(map(len, texts))


def _as_one_sentence(text: str) -> list[Segment]:
    inner = text.strip()
    start = len(text) - len(text.lstrip())
    end = start + len(inner)
    return [Segment(text[:start], False), Segment(inner, has_letters(inner)), Segment(text[end:], False)]


class Lookup:
    """Looks up the sentences of a request, equal ones once."""

    def __init__(self, use: MemoryUse, tagged: bool, most_chars: int) -> None:
        """`tagged`: as TextRequest has it. `most_chars`: of all matches together."""
        self._use, self._tagged, self._most_chars, self._num_chars = use, tagged, most_chars, 0
        self._known: dict[str, tuple[str | None, list[EntryMatch]]] = {}

    def sentences(
        self, segments: Sequence[Segment], has_prefix: bool
    ) -> tuple[dict[int, SentenceTranslation], list[Match]]:
        """The translations of sentences that the memory has, by the places of their segments, and all matches. The
        first sentence of a text with a prefix is the model's. Raises TooManyMatches."""
        from_memory: dict[int, SentenceTranslation] = {}
        matches: list[Match] = []
        start, is_first = 0, True
        for place, segment in enumerate(segments):
            checkpoint()
            end = start + len(segment.text)
            if segment.is_sentence:
                target, matching = self._find(segment.text)
                matches += [Match(item, (start, end)) for item in matching]
                self._add_chars(matching)
                if target is not None and not (is_first and has_prefix):
                    from_memory[place] = SentenceTranslation(segment.text, target, 0.0, "eos", 0, is_from_memory=True)
                is_first = False
            start = end
        return from_memory, matches

    def target(self, text: str) -> str | None:
        """The translation of an entry that is used for a text, if there is one. Raises TooManyMatches."""
        if not has_letters(text):
            return None
        target, matching = self._find(text)
        if target is not None:
            self._add_chars(matching[:1])
        return target

    def _add_chars(self, matching: Sequence[EntryMatch]) -> None:
        self._num_chars += sum(len(match.pair.source) + len(match.pair.target) for match in matching)
        if self._num_chars > self._most_chars:
            raise TooManyMatches(
                f"the translation memory's entries for these texts have more than {self._most_chars} characters "
                "together: send fewer texts at a time, or offer only entries of a higher likeness"
            )

    def _find(self, text: str) -> tuple[str | None, list[EntryMatch]]:
        if text not in self._known:
            target, matching = _find(text, self._use)
            self._known[text] = _untagged(text, target, self._tagged), matching
        return self._known[text]


def _untagged(text: str, target: str | None, tagged: bool) -> str | None:
    """None for an entry's translation of a text with tags: an entry has no place for them, and its own such characters
    mean none."""
    return None if target is not None and tagged and has_reserved(text + target) else target


def _find(text: str, use: MemoryUse) -> tuple[str | None, list[EntryMatch]]:
    """The translation of an entry that is used, if there is one, and the matches, the most similar first."""
    pair = use.index.exact(text)
    if pair is not None:
        return pair.target, [EntryMatch(pair, EXACT)]
    threshold = min(use.offers_from, use.applies_from)
    if threshold >= EXACT:
        return None, []
    similar = use.index.near(text, threshold, MOST_MATCHES)
    for match in similar:
        if match.likeness >= use.applies_from and use.may_apply(match.pair.source, text):
            return match.pair.target, similar
    return None, [match for match in similar if match.likeness >= use.offers_from]


def _as_a_whole(text: str, texts: list[str]) -> Run:
    texts.append(text)
    return Run(len(texts) - 1)


def _parts(
    segments: Sequence[Segment], from_memory: dict[int, SentenceTranslation], texts: list[str]
) -> Iterator[Part]:
    """The parts of a text; sentences between those of the memory, with the gaps between them, are added to `texts`."""
    run: list[Segment] = []

    def close() -> Iterator[Part]:
        after: list[Segment] = []
        while run and not run[-1].is_sentence:
            after.append(run.pop())
        if run:
            yield _as_a_whole("".join(segment.text for segment in run), texts)
        yield from (segment.text for segment in reversed(after))
        run.clear()

    for place, segment in enumerate(segments):
        if place in from_memory:
            yield from close()
            yield from_memory[place]
        elif run or segment.is_sentence:
            run.append(segment)
        else:
            yield segment.text
    yield from close()
