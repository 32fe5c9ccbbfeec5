"""Terms of the source with given translations: a glossary, and words that are not to be translated."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Match:
    """A term in a text, from `start` to `end`, and what it is to become."""

    start: int
    end: int
    target: str


class Terms:
    """Terms with their translations. A term is found as it is written, case included, between word boundaries; where
    several begin at one place, the longest. Any space stands for any other."""

    def __init__(self, targets: Mapping[str, str]) -> None:
        """Raises ValueError for a term without a word or sign."""
        self._targets = dict(targets)
        self._by_first: dict[str, list[str]] = {}
        self._patterns: dict[str, re.Pattern[str]] = {}
        """Of a large glossary a text needs a few: each is compiled when the first word of its term is met."""
        for term in sorted(targets, key=len, reverse=True):
            words = term.split()
            if not words:
                raise ValueError("a term has at least one letter, digit or sign")
            first = _TOKEN.findall(words[0])[0]
            self._by_first.setdefault(first, []).append(term)

    def find(self, text: str, taken: Iterable[tuple[int, int]] = ()) -> list[Match]:
        """The terms in `text` from left to right, without overlaps with each other or with the places `taken`."""
        found: list[Match] = []
        covered = sorted(taken)
        end = 0
        for token in _TOKEN.finditer(text):
            if token.start() < end:
                continue
            for term in self._by_first.get(token[0], ()):
                match = self._pattern(term).match(text, token.start())
                if match is not None and not any(a < match.end() and match.start() < b for a, b in covered):
                    found.append(Match(*match.span(), self._targets[term]))
                    end = match.end()
                    break
        return found

    def _pattern(self, term: str) -> re.Pattern[str]:
        if term not in self._patterns:
            words = r"\s+".join(map(re.escape, term.split()))
            self._patterns[term] = re.compile(rf"(?<!\w){words}(?!\w)")
        return self._patterns[term]


def missing(matches: Iterable[Match], translation: str) -> Counter[str]:
    """The translations of terms that a translation lacks, with how often it lacks them. They count between word
    boundaries, and no place counts for two terms."""
    wanted = Counter(match.target for match in matches)
    there = Counter(match.target for match in Terms({target: target for target in wanted}).find(translation))
    return wanted - there
