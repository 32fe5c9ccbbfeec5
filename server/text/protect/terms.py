"""Terms of the source with fixed translations: a glossary, or words that stay as they are."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from server.runtime.checkpoints import checkpoint
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


class Terms:
    """Terms with their translations. Terms are matched between word boundaries, with case; at each position the longest
    term matches. All spaces are equal."""

    def __init__(self, targets: Mapping[str, str]) -> None:
        """Raises ValueError for an empty term."""
        self._targets: dict[str, str] = {}
        """Term, with single spaces -> translation."""
        for term in sorted(targets, key=len, reverse=True):
            checkpoint()
            words = " ".join(term.split())
            if not words:
                raise ValueError("a term has at least one letter, digit or sign")
            self._targets.setdefault(words, targets[term])
        self._firsts = {_first_token(term) for term in self._targets}
        self._matcher = LongestMatch(self._targets)

    def find(self, text: str, taken: Iterable[tuple[int, int]] = ()) -> list[Match]:
        """The terms in `text` from left to right, which overlap neither each other nor the places `taken`. Linear in
        the length of `text`, logarithmic in the number of terms."""
        if not _ODD_SPACES.search(text):
            return self._find(text, taken)
        spaced, origins = _with_single_spaces(text)
        covers = [(bisect_left(origins, start), bisect_left(origins, end)) for start, end in taken]
        matches = self._find(spaced, covers)
        return [Match(origins[match.start], origins[match.end - 1] + 1, match.target) for match in matches]

    def _find(self, text: str, taken: Iterable[tuple[int, int]]) -> list[Match]:
        """`find` for a text with single spaces."""
        matches: list[Match] = []
        covers = iter(sorted(taken))
        end = 0
        cover = next(covers, None)
        for token in _TOKEN.finditer(text):
            start = token.start()
            if start < end or token[0] not in self._firsts:
                continue
            while cover and cover[1] <= start:
                cover = next(covers, None)
            if cover and cover[0] <= start:
                continue
            if start and _is_word(text[start - 1]) and not _is_word(text[start]):  # "ASP.NET" is no ".NET"
                continue
            term = self._matcher.longest(text, start, cover[0] if cover else len(text))
            if term is not None:
                end = start + len(term)
                matches.append(Match(start, end, self._targets[term]))
        return matches


def missing_terms(matches: Iterable[Match], translation: str) -> Counter[str]:
    """The terms' translations that `translation` lacks, with how often it lacks them. A term counts between word
    boundaries, and no place counts for two terms."""
    expected = Counter(match.target for match in matches)
    present = Counter(match.target for match in Terms({target: target for target in expected}).find(translation))
    return expected - present


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
