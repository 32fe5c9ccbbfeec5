"""Entries of one translation memory in this process, found by equal and by similar sources.

Similar sources are found in two steps, whose cost is bounded by the length of the text: candidates are entries that
share words with it, rare words first, and are not much longer or shorter; rapidfuzz compares these with it. The
likeness of two texts is the normalised indel similarity of their characters, 2 * LCS(a, b) / (|a| + |b|), in percent.
"""

import threading
from array import array
from collections.abc import Iterable, Sequence
from heapq import nlargest
from itertools import islice
from operator import itemgetter
from zlib import crc32

from rapidfuzz.distance import LCSseq

from server.runtime.checkpoints import checkpoint
from server.translation_memory.pairs import EXACT, EntryMatch, Pair
from server.translation_memory.segments import entry_id, normalized, words_of

SCANNED_PER_CHAR = 32
"""Entries that are scanned for every character of a text, at least MIN_SCANNED and at most MAX_SCANNED for a text."""
MIN_SCANNED, MAX_SCANNED = 256, 20_000
ADDED_AT_ONCE = 16
"""Pairs between two checkpoints; searches wait while they are added."""
CANDIDATES = 64
"""Entries that are compared with a text."""
BUCKETS = 2**18
"""Of words: two words of one bucket are one word to a search, which then compares more. So made-up words, of which a
file may have millions, take little memory."""
WORD_BYTES, BUCKET_BYTES, ENTRY_BYTES = 5, 240, 400
"""Memory of a word of one entry, of a bucket, and of an entry beside its characters."""


class MemoryIndex:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self.num_bytes = 0
        """An estimate of its memory."""
        self._lock = threading.Lock()
        self._places: dict[str, int] = {}
        """By entry id, in the order of `_normal` and `_pairs`."""
        self._longest = 0
        """Characters of the longest normalised source."""
        self._normal: list[str] = []
        """Normalised sources; "" where an entry was removed."""
        self._pairs: list[Pair] = []
        self._buckets: dict[int, array[int]] = {}
        """The places of the sources that have a word of a bucket, ascending."""

    def __len__(self) -> int:
        return len(self._places)

    @property
    def should_rebuild(self) -> bool:
        """Whether more entries were removed than are left: a new index would be half as large."""
        return len(self._pairs) > 2 * len(self._places) + 16

    def add(self, pairs: Iterable[Pair]) -> None:
        """Add pairs; one replaces an earlier one of the same normalised source."""
        remaining = iter(pairs)
        while part := list(islice(remaining, ADDED_AT_ONCE)):
            normals = [normalized(pair.source) for pair in part]
            self._add(part, normals, [_buckets_of(normal) for normal in normals])
            checkpoint()

    def _add(self, pairs: Sequence[Pair], normals: Sequence[str], buckets_of_pairs: Sequence[set[int]]) -> None:
        with self._lock:
            for pair, normal, buckets in zip(pairs, normals, buckets_of_pairs, strict=True):
                name = entry_id(normal)
                place = self._places.get(name)
                if place is not None:
                    self.num_bytes += 2 * (len(pair.target) - len(self._pairs[place].target))
                    self._pairs[place] = pair
                    continue
                known = len(self._buckets)
                self._places[name] = place = len(self._pairs)
                self._normal.append(normal)
                self._longest = max(self._longest, len(normal))
                self._pairs.append(pair)
                for bucket in buckets:
                    self._buckets.setdefault(bucket, array("I")).append(place)
                self.num_bytes += ENTRY_BYTES + 2 * len(pair.source + pair.target) + WORD_BYTES * len(buckets)
                self.num_bytes += BUCKET_BYTES * (len(self._buckets) - known)

    def remove(self, name: str) -> None:
        """Remove the pair with this entry id, if there is one."""
        with self._lock:
            place = self._places.pop(name, None)
            if place is not None:
                self._normal[place], self._pairs[place] = "", Pair("", "")

    def exact(self, text: str) -> Pair | None:
        """The pair whose source is equal to the text, but for spaces and Unicode's composition."""
        name = entry_id(normalized(text))
        with self._lock:
            place = self._places.get(name)
            return None if place is None else self._pairs[place]

    def near(self, text: str, threshold: int, most: int) -> list[EntryMatch]:
        """Up to `most` pairs of a likeness of `threshold` percent or more, the most similar first; of equally similar
        ones, the first that was added. A pair that shares no word with the text is not looked for, and neither may one
        be that shares frequent words only."""
        normal = normalized(text)
        buckets = _buckets_of(normal)
        with self._lock:
            candidates = self._candidates(normal, buckets, threshold)
            compared = [(place, self._normal[place], self._pairs[place]) for place in candidates]
        found: list[tuple[int, int, Pair]] = []
        for place, source, pair in compared:
            alike = likeness(normal, source, threshold)
            if alike >= max(threshold, 1):
                found.append((-alike, place, pair))
        found.sort(key=lambda item: item[:2])
        return [EntryMatch(pair, -alike) for alike, _, pair in found[:most]]

    def _candidates(self, normal: str, buckets: Iterable[int], threshold: int) -> Sequence[int]:
        """Places of up to CANDIDATES entries, those with the most words of the text first, then those of the nearest
        length."""
        shortest, longest = lengths_of(len(normal), threshold)
        if shortest > self._longest:
            return ()
        left = min(max(MIN_SCANNED, SCANNED_PER_CHAR * len(normal)), MAX_SCANNED)
        shared: dict[int, int] = {}
        for places in sorted((self._buckets[bucket] for bucket in buckets if bucket in self._buckets), key=len):
            for place in islice(reversed(places), left):
                if self._normal[place] and shortest <= len(self._normal[place]) <= longest:
                    shared[place] = shared.get(place, 0) + 1
            left -= len(places)
            if left <= 0:
                break

        def rank(place: int) -> tuple[int, int, int]:
            return -shared[place], abs(len(self._normal[place]) - len(normal)), place

        if len(shared) > 4 * CANDIDATES:  # a rank takes longer than a number
            shared = dict(nlargest(4 * CANDIDATES, shared.items(), key=itemgetter(1)))
        return sorted(shared, key=rank)[:CANDIDATES]


def _buckets_of(normal: str) -> set[int]:
    """The buckets of a normalised source's words."""
    return {crc32(word.encode("utf-8", "surrogatepass")) % BUCKETS for word in words_of(normal)}


def likeness(first: str, second: str, threshold: int = 0) -> int:
    """Of two normalised sources, in percent, rounded down; 0 if it is below `threshold`."""
    if first == second:
        return EXACT
    total = len(first) + len(second)
    common = LCSseq.similarity(first, second, score_cutoff=-(-threshold * total // 200))
    return int(200 * common // total)


def lengths_of(length: int, threshold: int) -> tuple[int, float]:
    """The shortest and the longest source that can be as similar to one of this length: a text of n characters has at
    most n of them in common with another."""
    if threshold <= 0:
        return 0, float("inf")
    return -(-threshold * length // (200 - threshold)), length * (200 - threshold) // threshold
