"""Sorted lists of ids by key: the memory store's counterpart of Redis' sorted sets."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Hashable, Sequence


class SortedIds:
    """Lists of (score, id) by key, ascending; an empty list takes no memory. Every id is found in O(log n)."""

    def __init__(self) -> None:
        self._lists: dict[Hashable, list[tuple[float, str]]] = {}

    def add(self, key: Hashable, score: float, name: str) -> None:
        insort(self._lists.setdefault(key, []), (score, name))

    def discard(self, key: Hashable, score: float, name: str) -> None:
        """Raises KeyError for an id that is missing: a wrong index must not go unnoticed."""
        entries = self._lists[key]
        at = bisect_left(entries, (score, name))
        if at == len(entries) or entries[at] != (score, name):
            raise KeyError((key, score, name))
        del entries[at]
        if not entries:
            del self._lists[key]

    def of(self, key: Hashable) -> Sequence[tuple[float, str]]:
        return self._lists.get(key, ())

    def below(self, key: Hashable, score: float) -> Sequence[tuple[float, str]]:
        """The ids with a score below `score`."""
        entries = self.of(key)
        return entries[: bisect_left(entries, (score, ""))]

    def upto(self, key: Hashable, score: float) -> Sequence[tuple[float, str]]:
        """The ids with a score of `score` or less."""
        entries = self.of(key)
        return entries[: bisect_right(entries, score, key=lambda entry: entry[0])]

    def above(self, key: Hashable, score: float) -> Sequence[tuple[float, str]]:
        """The ids with a score above `score`."""
        entries = self.of(key)
        return entries[bisect_right(entries, score, key=lambda entry: entry[0]) :]

    def before(self, key: Hashable, place: tuple[float, str] | None, limit: int) -> Sequence[tuple[float, str]]:
        """Up to `limit` ids in descending order, from the last one before `place` on; None: from the last."""
        entries = self.of(key)
        end = len(entries) if place is None else bisect_left(entries, place)
        return entries[max(0, end - limit) : end][::-1]

    def non_empty(self) -> Collection[Hashable]:
        """The keys of the lists that are not empty."""
        return self._lists.keys()
