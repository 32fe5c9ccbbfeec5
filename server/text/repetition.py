"""Finding loops: "salad salad salad", what a translation model says when it has lost its way."""

import re
from collections.abc import Hashable, Sequence
from operator import eq

MAX_PERIOD = 8
"""Longest phrase, in words or characters, whose repetition is looked for."""
MIN_WORD_COPIES = 3
MIN_CHARACTER_COPIES = 8

_WORD = re.compile(r"\w+")
_CHARACTER_LOOP = re.compile(rf"(.{{1,{MAX_PERIOD}}}?)\1{{{MIN_CHARACTER_COPIES - 1}}}", re.DOTALL)


def most_copies(sequence: Sequence[Hashable], max_period: int = MAX_PERIOD) -> int:
    """How often in a row some phrase of at most `max_period` elements stands in `sequence`; 1 without repetition.

    A phrase of p elements stands k times in a row where (k-1)*p elements in a row equal the one p before them.
    O(len * max_period).
    """
    most = min(1, len(sequence))
    for period in range(1, min(max_period, len(sequence) - 1) + 1):
        run = 0
        for before, element in zip(sequence, sequence[period:], strict=False):
            run = run + 1 if before == element else 0
            most = max(most, run // period + 1)
    return most


def is_repetitive(source: str, target: str) -> bool:
    """True when `target` repeats a phrase at least 3 times in a row (8 times for characters, where words have no
    spaces between them) and more often than `source` does: what was said in a loop may be translated as one."""
    words, characters = _words(target), _characters(target)
    # Counting copies costs more than all else that is done to a sentence, and hardly any may have a loop.
    if _may_loop(words):
        copies = most_copies(words)
        if copies >= MIN_WORD_COPIES and copies > most_copies(_words(source)):
            return True
    if _CHARACTER_LOOP.search(characters):
        return most_copies(characters) > most_copies(_characters(source))
    return False


def _may_loop(words: Sequence[str]) -> bool:
    """False where no phrase can stand MIN_WORD_COPIES times in a row: too few words equal the one a period before."""
    return any(
        sum(map(eq, words, words[period:])) >= (MIN_WORD_COPIES - 1) * period for period in range(1, MAX_PERIOD + 1)
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _characters(text: str) -> str:
    return "".join(_WORD.findall(text.casefold()))
