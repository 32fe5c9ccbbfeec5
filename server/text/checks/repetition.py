"""Finds loops, as in "salad salad salad": phrases that a translation model repeats again and again."""

import re
from collections.abc import Hashable, Sequence
from operator import eq

MAX_PERIOD = 8
"""Length, in words or characters, of the longest phrase whose repetition is found."""
MIN_WORD_COPIES = 3
MIN_CHARACTER_COPIES = 8

_WORD = re.compile(r"\w+")
_CHARACTER_LOOP = re.compile(rf"(.{{1,{MAX_PERIOD}}}?)\1{{{MIN_CHARACTER_COPIES - 1}}}", re.DOTALL)


def most_copies(sequence: Sequence[Hashable], max_period: int = MAX_PERIOD) -> int:
    """The most times in a row that a phrase of at most `max_period` elements occurs in `sequence`; 1 without
    repetition.

    A phrase of p elements occurs k times in a row where (k-1)*p elements in a row equal the one p before them.
    O(len * max_period).
    """
    most = min(1, len(sequence))
    for period in range(1, min(max_period, len(sequence) - 1) + 1):
        equal = bytes(map(eq, sequence, sequence[period:]))
        longest_run = max(map(len, equal.split(b"\0")))
        most = max(most, longest_run // period + 1)
    return most


def is_repetitive(source: str, target: str) -> bool:
    """Whether `target` repeats a phrase of words at least 3 times in a row (a phrase of characters, as in languages
    without spaces, 8 times), and more often than `source`, whose repetitions may be translated."""
    if source == target:
        return False
    words, characters = _words(target), _characters(target)
    # Counting copies takes longer than all other checks; few sentences need it.
    if _may_loop(words):
        copies = most_copies(words)
        if copies >= MIN_WORD_COPIES and copies > most_copies(_words(source)):
            return True
    if _CHARACTER_LOOP.search(characters):
        return most_copies(characters) > most_copies(_characters(source))
    return False


def _may_loop(words: Sequence[str]) -> bool:
    """False if no phrase can occur MIN_WORD_COPIES times in a row: too few words equal the word one period before, or
    any word before."""
    if len(words) - len(set(words)) < MIN_WORD_COPIES - 1:
        return False
    return any(
        sum(map(eq, words, words[period:])) >= (MIN_WORD_COPIES - 1) * period for period in range(1, MAX_PERIOD + 1)
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _characters(text: str) -> str:
    return "".join(_WORD.findall(text.casefold()))
