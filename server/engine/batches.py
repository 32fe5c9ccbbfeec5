"""Encoder batches: sentences of similar length, a few at a time."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from server.backends.device import CPU

ENCODE_AHEAD = 8
"""Sentences that are encoded in one batch even if fewer slots are free: the encoder is faster in batches."""
ENCODE_TOKENS = CPU.encoder_tokens
"""Padded source tokens of one encoder batch, at most, on a CPU."""
MAX_PADDING = CPU.encoder_padding
"""Padding tokens of one encoder batch, at most, on a CPU."""

Sentence = TypeVar("Sentence")


def group_by_length(
    sentences: Iterable[Sentence], length: Callable[[Sentence], int], most: int = MAX_PADDING
) -> list[list[Sentence]]:
    """The sentences in groups of similar length, shortest first: at most `most` tokens of padding in each."""
    groups: list[list[Sentence]] = []
    padding = 0
    for sentence in sorted(sentences, key=length):
        if groups:  # a longer sentence pads every shorter one of its group
            padding += len(groups[-1]) * (length(sentence) - length(groups[-1][-1]))
        if groups and padding <= most:
            groups[-1].append(sentence)
        else:
            groups.append([sentence])
            padding = 0
    return groups


def encoder_batches(sources: Iterable[Sequence[int]]) -> list[list[Sequence[int]]]:
    """Ids of sentences in groups of similar length, split into batches of at most ENCODE_AHEAD sentences and
    ENCODE_TOKENS tokens; a longer sentence is a batch alone."""
    batches = []
    for group in group_by_length(sources, len):
        count = max(1, min(ENCODE_AHEAD, ENCODE_TOKENS // max(1, len(group[-1]))))
        batches += [group[start : start + count] for start in range(0, len(group), count)]
    return batches
