"""Longest match of many strings at a position of a text, in logarithmic time however long their common prefixes.

The strings are sorted. The parent of a string is the longest other string that is a prefix of it. All strings that are
prefixes of a text are sorted before the text, and the longest of them is the string right before the text or one of the
ancestors of this string. Jump pointers reach every ancestor in a logarithmic number of steps.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable

NONE = -1


class LongestMatch:
    """Matches strings at word ends: no letter, digit or "_" follows a match."""

    def __init__(self, strings: Iterable[str]) -> None:
        """Linear in the total length of the strings, apart from sorting."""
        self._sorted = sorted(set(strings))
        self._max_length = max(map(len, self._sorted), default=0)
        size = len(self._sorted)
        self._parents = array("q", [NONE]) * size
        """Index of each string's parent."""
        self._word_end_parents = array("q", [NONE]) * size
        """Index of each string's nearest ancestor that ends at a word end of the string."""
        self._jumps = array("q", [NONE]) * size
        """Index of an ancestor further up."""
        self._depths = array("q", [0]) * size
        path: list[int] = []
        for index, string in enumerate(self._sorted):
            while path and not string.startswith(self._sorted[path[-1]]):
                path.pop()
            if path:
                self._add(index, path[-1])
            path.append(index)

    def longest(self, text: str, start: int, end: int) -> str | None:
        """The longest string at `start` of `text` that ends at a word end and not after `end`, or None."""
        window = text[start : min(end, start + self._max_length)]
        index = bisect_right(self._sorted, window) - 1
        while index != NONE and not window.startswith(self._sorted[index]):
            jump = self._jumps[index]
            is_far = jump != NONE and not window.startswith(self._sorted[jump])
            index = jump if is_far else self._parents[index]
        if index != NONE and _is_inside_word(text, start + len(self._sorted[index])):
            index = self._word_end_parents[index]
        return None if index == NONE else self._sorted[index]

    def _add(self, index: int, parent: int) -> None:
        self._parents[index], self._depths[index] = parent, self._depths[parent] + 1
        is_at_word_end = not _is_inside_word(self._sorted[index], len(self._sorted[parent]))
        self._word_end_parents[index] = parent if is_at_word_end else self._word_end_parents[parent]
        jump = self._jumps[parent]
        further = self._jumps[jump] if jump != NONE else NONE
        is_level = (
            jump != NONE
            and further != NONE
            and (self._depths[parent] - self._depths[jump] == self._depths[jump] - self._depths[further])
        )
        self._jumps[index] = further if is_level else parent


def _is_inside_word(text: str, position: int) -> bool:
    return position < len(text) and (text[position].isalnum() or text[position] == "_")
