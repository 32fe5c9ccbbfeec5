"""Which sentences are encoded together: those of similar length, a few at a time."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

ENCODE_AHEAD = 8
"""Sentences of one encoder batch, where no more are asked for at once: the encoder is faster in batches."""
ENCODE_TOKENS = 1024
"""Padded source tokens of one encoder batch."""
MOST_PADDING = 48
"""Padded tokens in one encoder call: about what a call costs before its first token."""

Sentence = TypeVar("Sentence")


def similar_lengths(sentences: Iterable[Sentence], length: Callable[[Sentence], int]) -> list[list[Sentence]]:
    """The sentences in groups of similar length, shortest first: at most MOST_PADDING tokens of padding in each."""
    groups: list[list[Sentence]] = []
    padding = 0
    for sentence in sorted(sentences, key=length):
        if groups:  # a longer sentence pads every shorter one of its group
            padding += len(groups[-1]) * (length(sentence) - length(groups[-1][-1]))
        if groups and padding <= MOST_PADDING:
            groups[-1].append(sentence)
        else:
            groups.append([sentence])
            padding = 0
    return groups


def encoder_batches(sources: Iterable[Sequence[int]]) -> list[list[Sequence[int]]]:
    """The same of ids, cut into encoder batches."""
    batches = []
    for group in similar_lengths(sources, len):
        count = max(1, min(ENCODE_AHEAD, ENCODE_TOKENS // max(1, len(group[-1]))))
        batches += [group[start : start + count] for start in range(0, len(group), count)]
    return batches
