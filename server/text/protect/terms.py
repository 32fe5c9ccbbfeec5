"""Terms of the source with fixed translations: a glossary, or words that stay as they are."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from server.runtime.checkpoints import checkpoint
from server.text.protect.inflections import inflections, plural_of, singulars_of
from server.text.protect.longest_match import LongestMatch

_TOKEN = re.compile(r"\w+|[^\w\s]")
_SPACES = re.compile(r"\s+")
_ODD_SPACES = re.compile(r"\s\s|[^\S ]")


@dataclass(frozen=True)
class Match:
    """A term in a text, from `start` to `end`, and its translation."""

    start: int
    end: int
    target: str
    is_plural: bool = False
    """Whether the text has the term's plural; `target` is what the term itself is translated as."""
    rises: bool = False
    """Whether the target's first letter becomes a capital where the translation begins with it, because the text begins
    with a capital."""


@dataclass(frozen=True)
class _Spelling:
    """A spelling of `term`: its own or its plural's."""

    term: str
    is_plural: bool = False


class Terms:
    """Terms with their translations. Terms are matched between word boundaries; at each position the longest matches.
    A term in lower case matches in any case, other terms as they are spelled; so do their plurals (see `plural_of`),
    except those of names, which are translated as themselves. All spaces are equal."""

    def __init__(self, targets: Mapping[str, str], only_as_spelled: bool = False) -> None:
        """`only_as_spelled`: no other case and no plural matches. Raises ValueError for an empty term."""
        self._targets: dict[str, str] = {}
        """Term, with single spaces -> translation."""
        for term in sorted(targets, key=len, reverse=True):
            checkpoint()
            words = " ".join(term.split())
            if not words:
                raise ValueError("a term has at least one letter, digit or sign")
            self._targets.setdefault(words, targets[term])
        folded = [] if only_as_spelled else [term for term in self._targets if term.islower()]
        as_spelled = [term for term in self._targets if only_as_spelled or not term.islower()]
        translated = [] if only_as_spelled else [term for term in as_spelled if self._targets[term] != term]
        self._folded = _Spellings(self._targets, folded, with_plurals=folded)
        self._as_spelled = _Spellings(self._targets, as_spelled, with_plurals=translated)

    def find(self, text: str, taken: Iterable[tuple[int, int]] = ()) -> list[Match]:
        """The terms in `text` from left to right, which overlap neither each other nor the places `taken`. Linear in
        the length of `text`, logarithmic in the number of terms."""
        if not _ODD_SPACES.search(text):
            return self._find(text, taken)
        spaced, origins = _with_single_spaces(text)
        covers = [(bisect_left(origins, start), bisect_left(origins, end)) for start, end in taken]
        matches = self._find(spaced, covers)
        return [replace(match, start=origins[match.start], end=origins[match.end - 1] + 1) for match in matches]

    def _find(self, text: str, taken: Iterable[tuple[int, int]]) -> list[Match]:
        """`find` for a text with single spaces."""
        matches: list[Match] = []
        lowered = lower(text) if self._folded else text
        begins_with_capital = next(filter(str.isalpha, text), "").isupper()
        covers = iter(sorted(taken))
        end = 0
        cover = next(covers, None)
        for token in _TOKEN.finditer(text):
            start = token.start()
            is_first = self._as_spelled.begins(token[0]) or self._folded.begins(lowered[start : token.end()])
            if start < end or not is_first:
                continue
            while cover and cover[1] <= start:
                cover = next(covers, None)
            if cover and cover[0] <= start:
                continue
            if start and _is_word(text[start - 1]) and not _is_word(text[start]):  # "ASP.NET" is no ".NET"
                continue
            limit = cover[0] if cover else len(text)
            candidates = (self._as_spelled.longest(text, start, limit), self._folded.longest(lowered, start, limit))
            length, spelling = max(candidates, key=_rank)
            if spelling is not None:
                end = start + length
                matches.append(self._match(start, text[start:end], spelling, begins_with_capital))
        return matches

    def _match(self, start: int, matched: str, spelling: _Spelling, begins_with_capital: bool) -> Match:
        target = self._targets[spelling.term]
        if target == spelling.term:  # it stays as it is
            return Match(start, start + len(matched), matched)
        if spelling.term.islower() and len(matched) > 1 and matched.isupper():
            target = target.upper()
        rises = begins_with_capital and spelling.term.islower() and target.islower()
        return Match(start, start + len(matched), target, spelling.is_plural, rises)


class _Spellings:
    """An index of some terms and of the plurals of some of these."""

    def __init__(self, all_terms: Mapping[str, str], terms: Sequence[str], with_plurals: Sequence[str]) -> None:
        self._all_terms = all_terms
        plurals: list[str] = []
        for term in with_plurals:
            checkpoint()
            plural = plural_of(term)
            if plural is not None and plural not in all_terms:
                plurals.append(plural)
        self._firsts = {_first_token(spelling) for spellings in (terms, plurals) for spelling in spellings}
        self._matcher = LongestMatch((*terms, *plurals)) if terms else None

    def __bool__(self) -> bool:
        return self._matcher is not None

    def begins(self, token: str) -> bool:
        """Whether a term begins with `token`."""
        return token in self._firsts

    def longest(self, text: str, start: int, end: int) -> tuple[int, _Spelling | None]:
        """The length of the longest spelling at `start` that does not end after `end`, 0 without one."""
        spelled = self._matcher.longest(text, start, end) if self._matcher else None
        if spelled is None:
            return 0, None
        if spelled in self._all_terms:
            return len(spelled), _Spelling(spelled)
        term = next(term for term in singulars_of(spelled) if term in self._all_terms)
        return len(spelled), _Spelling(term, is_plural=True)


def _rank(candidate: tuple[int, _Spelling | None]) -> tuple[int, bool]:
    """The longer one is better, of equal ones the term before a plural."""
    length, spelling = candidate
    return length, spelling is not None and not spelling.is_plural


def missing_terms(matches: Sequence[Match], translation: str) -> Counter[str]:
    """The terms' translations that `translation` lacks, with how often it lacks them. A term counts between word
    boundaries, that of a plural with an ending, too, and no place counts for two terms."""
    expected = Counter(match.target for match in matches)
    forms = {target: target for target in expected}
    for match in matches:
        if match.is_plural:
            for form in inflections(match.target):
                forms.setdefault(form, match.target)
    in_translation = Terms(forms, only_as_spelled=True)
    readings = [translation]
    if any(match.rises for match in matches):
        readings.append(with_first_letter(str.lower, translation))
    missing = [expected - Counter(place.target for place in in_translation.find(reading)) for reading in readings]
    return min(missing, key=Counter.total)


def with_first_letter(change: Callable[[str], str], text: str) -> str:
    """`text` with its first letter changed, unless something else than signs and spaces is before it."""
    place = next((place for place, character in enumerate(text) if _is_word(character)), None)
    return text if place is None else text[:place] + change(text[place]) + text[place + 1 :]


def lower(text: str) -> str:
    """`text` in lower case, character by character: as long as `text`."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(small if len(small := character.lower()) == 1 else character for character in text)


def _first_token(term: str) -> str:
    first = _TOKEN.match(term)
    return first[0] if first else ""


def _with_single_spaces(text: str) -> tuple[str, list[int]]:
    """The text with every run of spaces as one space, and the index in `text` of each of its characters."""
    parts: list[str] = []
    origins: list[int] = []
    end = 0
    for spaces in _SPACES.finditer(text):
        parts += (text[end : spaces.start()], " ")
        origins += range(end, spaces.start() + 1)
        end = spaces.end()
    origins += range(end, len(text))
    return "".join([*parts, text[end:]]), origins


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
