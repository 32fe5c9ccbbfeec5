"""Byte pair encoding of words as subword-nmt applies it (Sennrich et al. 2016, "Neural Machine Translation of Rare
Words with Subword Units", section 3.2), in O(n log n) for a word of n characters."""

import re
from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise

Pair = tuple[str, str]
END = "</w>"
"""Marks the end of a word in codes."""
VERSION = re.compile(r"#version:\s?(\d{1,4})\.(\d{1,4})(?:\.0){0,4}\s*")
VERSIONS = ("0.1", "0.2")
MAX_CACHED_WORDS, LONGEST_CACHED = 20_000, 40
"""Words whose pieces are kept, and their characters, at most."""


class SubwordsError(ValueError):
    """Codes or a vocabulary that cannot be used."""


def read_codes(text: str) -> tuple[str, tuple[Pair, ...]]:
    """The version of codes that subword-nmt wrote, and their pairs in the order of their merges. Raises
    SubwordsError."""
    lines = [line.strip("\r\n ") for line in text.rstrip("\n").split("\n")]
    version = VERSIONS[0]
    first = VERSION.fullmatch(lines[0])
    if first is not None:
        version, lines = f"{first[1]}.{first[2]}", lines[1:]
    elif lines[0].startswith("#version:"):
        raise SubwordsError(f"has no version that is read in '{lines[0][:60]}'")
    if version not in VERSIONS:
        raise SubwordsError(f"is of version {version}; read are {' and '.join(VERSIONS)}")
    pairs: list[Pair] = []
    for number, line in enumerate(lines, 1 + (first is not None)):
        parts = line.split(" ")
        if len(parts) != 2 or not all(parts):
            raise SubwordsError(f"has no pair of units in line {number}: '{line[:60]}'")
        pairs.append((parts[0], parts[1]))
    return version, tuple(pairs)


class BytePairs:
    """Merges of subword-nmt. Thread-safe."""

    def __init__(
        self,
        version: str,
        pairs: Sequence[Pair],
        separator: str = "@@",
        known: Collection[str] | None = None,
    ) -> None:
        """`known`: merges that give a piece that is not among these are taken back, as with --vocabulary; its pieces
        end with the separator where a word goes on behind them; none: all may be given. Raises SubwordsError for
        another version."""
        if version not in VERSIONS:
            raise SubwordsError(f"is of version {version}; read are {' and '.join(VERSIONS)}")
        self._ends_apart = version == VERSIONS[0]
        self._ranks = {pair: rank for rank, pair in reversed([*enumerate(pairs)])}
        self._known, self._separator = frozenset(known) if known else None, separator
        self._parts = {left + right: (left, right) for left, right in self._ranks} if known else {}
        self._cache: dict[str, tuple[str, ...]] = {}

    def pieces(self, word: str) -> tuple[str, ...]:
        """The pieces of a word, without separators; () for no word."""
        if len(word) <= 1:
            return (word,) if word else ()
        pieces = self._cache.get(word)
        if pieces is None:
            pieces = self._cut(word)
            if len(self._cache) >= MAX_CACHED_WORDS:
                self._cache.clear()
            if len(word) <= LONGEST_CACHED:
                self._cache[word] = pieces
        return pieces

    def segmented(self, words: Sequence[str]) -> list[str]:
        """The pieces of words; the separator is behind those that others of the same word follow."""
        result: list[str] = []
        for word in words:
            pieces = self.pieces(word)
            result += (piece + self._separator for piece in pieces[:-1])
            result += pieces[-1:]
        return result

    def _cut(self, word: str) -> tuple[str, ...]:
        symbols = [*word, END] if self._ends_apart else [*word[:-1], word[-1] + END]
        merged = self._merged(symbols)
        if merged[-1] == END:
            merged.pop()
        else:
            merged[-1] = merged[-1].removesuffix(END)
        return tuple(merged if self._known is None else self._split_unknown(merged))

    def _merged(self, symbols: list[str]) -> list[str]:
        """The symbols after all merges. In every round the pair with the lowest rank is merged wherever it was at the
        round's start, from left to right; pairs that arise wait for the next round, even if their rank is lower."""
        ranks, count = self._ranks, len(symbols)
        alive: list[str | None] = [*symbols]
        following, before = [*range(1, count + 1)], [*range(-1, count - 1)]
        heap = [(ranks[pair], at) for at, pair in enumerate(pairwise(symbols)) if pair in ranks]
        heapify(heap)
        while heap:
            rank, places, arisen = heap[0][0], list[int](), list[int]()
            while heap and heap[0][0] == rank:
                places.append(heappop(heap)[1])
            for at in places:
                left, right_at = alive[at], following[at]
                right = alive[right_at] if right_at < count else None
                if left is None or right is None or ranks.get((left, right)) != rank:
                    continue  # merged meanwhile
                alive[at], alive[right_at] = left + right, None
                following[at] = after = following[right_at]
                if after < count:
                    before[after] = at
                arisen += (before[at], at)
            for at in arisen:
                left, right_at = alive[at] if at >= 0 else None, following[at] if at >= 0 else count
                right = alive[right_at] if right_at < count else None
                if left is not None and right is not None and (new := ranks.get((left, right))) is not None:
                    heappush(heap, (new, at))
        return [symbol for symbol in alive if symbol is not None]

    def _split_unknown(self, pieces: Sequence[str]) -> list[str]:
        """The pieces, those that are not known as the known parts that they were merged from."""
        assert self._known is not None
        result: list[str] = []
        waiting = [(piece, at == len(pieces) - 1) for at, piece in enumerate(pieces)][::-1]
        while waiting:
            piece, is_last = waiting.pop()
            parts = None
            if (piece if is_last else piece + self._separator) not in self._known:
                parts = self._parts.get(piece + END if is_last else piece)
            if parts is None:
                result.append(piece)
            else:
                waiting += ((parts[1][: -len(END)] if is_last else parts[1], is_last), (parts[0], False))
        return result
