"""Ids in order, several lists of them by key: what Redis' sorted sets are to the Redis store."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Hashable, Sequence


class SortedIds:
    """Lists by key of (score, id), ascending; a list that is empty takes no room. Each is found in O(log n)."""

    def __init__(self) -> None:
        self._lists: dict[Hashable, list[tuple[float, str]]] = {}

    def add(self, key: Hashable, score: float, name: str) -> None:
        insort(self._lists.setdefault(key, []), (score, name))

    def discard(self, key: Hashable, score: float, name: str) -> None:
        """Raises KeyError for one that is not there: an index that is wrong must not stay so."""
        kept = self._lists[key]
        at = bisect_left(kept, (score, name))
        if at == len(kept) or kept[at] != (score, name):
            raise KeyError((key, score, name))
        del kept[at]
        if not kept:
            del self._lists[key]

    def of(self, key: Hashable) -> Sequence[tuple[float, str]]:
        return self._lists.get(key, ())

    def below(self, key: Hashable, score: float) -> Sequence[tuple[float, str]]:
        """Those with a score below `score`."""
        kept = self.of(key)
        return kept[: bisect_left(kept, (score, ""))]

    def upto(self, key: Hashable, score: float) -> Sequence[tuple[float, str]]:
        """Those with a score of `score` or less."""
        kept = self.of(key)
        return kept[: bisect_right(kept, score, key=lambda one: one[0])]

    def above(self, key: Hashable, score: float) -> Sequence[tuple[float, str]]:
        """Those with a score above `score`."""
        kept = self.of(key)
        return kept[bisect_right(kept, score, key=lambda one: one[0]) :]

    def before(self, key: Hashable, place: tuple[float, str] | None, limit: int) -> Sequence[tuple[float, str]]:
        """Up to `limit` in descending order, from the last one before `place` on; None: from the last."""
        kept = self.of(key)
        end = len(kept) if place is None else bisect_left(kept, place)
        return kept[max(0, end - limit) : end][::-1]

    def non_empty(self) -> Collection[Hashable]:
        """The keys of lists that have something."""
        return self._lists.keys()
