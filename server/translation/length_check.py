"""Which translations may lack words of their source, by numbers of pieces alone: short ones, and those of long
sources."""

from server.backends.alignment import IdPair

MIN_PIECES = 16
"""Pieces of a source, EOS included, at least: shorter ones lose no clause."""
SHORT = 0.9
"""A translation is short with less than this share of the pieces that translations of its model usually have."""
FEWER = 3
"""A short translation lacks more pieces than this: in short sentences a share alone is a word or two."""
MUCH_TOO_SHORT = 0.5
"""The same for a translation that cannot be aligned: it is certain to lack something."""
LONG = 80
"""Pieces of a source whose translation is always aligned: in long sentences the model may also leave a clause out and
write other words instead."""


def is_short(pair: IdPair, usual_ratio: float, share: float = SHORT) -> bool:
    """Whether a translation has few pieces for its source, more than FEWER below the usual number. `usual_ratio`:
    target pieces per source piece."""
    source, target = pair
    usual = usual_ratio * (len(source) - 1)
    return len(source) >= MIN_PIECES and len(target) < min(share * usual, usual - FEWER)


def is_aligned(pair: IdPair, usual_ratio: float) -> bool:
    """Whether a translation is checked for missing words."""
    return len(pair[0]) >= LONG or is_short(pair, usual_ratio)
