"""The longest of many strings that a text has at a place, in logarithmic time however they begin alike.

In a sorted list all strings that a text begins with stand before it, and the nearest of them and the text's neighbour
begin alike: the longest one is this neighbour or a string that it begins with, its parent, or that one's parent.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable

NONE = -1


class LongestMatch:
    """Strings, which end where a word ends: before something else than a letter, a digit or "_"."""

    def __init__(self, strings: Iterable[str]) -> None:
        """Linear in the length of all of them, but for sorting."""
        self._sorted = sorted(set(strings))
        self._most = max(map(len, self._sorted), default=0)
        size = len(self._sorted)
        self._parents = array("q", [NONE]) * size
        """The longest other string that each begins with."""
        self._ended = array("q", [NONE]) * size
        """The longest other string that each begins with and that ends there where a word ends."""
        self._jumps = array("q", [NONE]) * size
        """One further up, so that any ancestor is reached in a logarithmic number of steps."""
        self._depths = array("q", [0]) * size
        path: list[int] = []
        for index, string in enumerate(self._sorted):
            while path and not string.startswith(self._sorted[path[-1]]):
                path.pop()
            if path:
                self._add(index, path[-1])
            path.append(index)

    def longest(self, text: str, start: int, end: int) -> str | None:
        """The longest string at `start`, and up to `end` at most, that ends where a word of `text` ends."""
        here = text[start : min(end, start + self._most)]
        index = bisect_right(self._sorted, here) - 1
        while index != NONE and not here.startswith(self._sorted[index]):
            jump = self._jumps[index]
            is_far = jump != NONE and not here.startswith(self._sorted[jump])
            index = jump if is_far else self._parents[index]
        if index != NONE and _goes_on(text, start + len(self._sorted[index])):
            index = self._ended[index]
        return None if index == NONE else self._sorted[index]

    def _add(self, index: int, parent: int) -> None:
        self._parents[index], self._depths[index] = parent, self._depths[parent] + 1
        is_ended = not _goes_on(self._sorted[index], len(self._sorted[parent]))
        self._ended[index] = parent if is_ended else self._ended[parent]
        jump = self._jumps[parent]
        further = self._jumps[jump] if jump != NONE else NONE
        is_level = (
            jump != NONE
            and further != NONE
            and (self._depths[parent] - self._depths[jump] == self._depths[jump] - self._depths[further])
        )
        self._jumps[index] = further if is_level else parent


def _goes_on(text: str, place: int) -> bool:
    """Whether a word goes on at a place."""
    return place < len(text) and (text[place].isalnum() or text[place] == "_")
