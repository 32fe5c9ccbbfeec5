"""Splits a sentence that is too long for a model: at clauses, else at spaces, else anywhere."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from server.runtime.checkpoints import checkpoint

Lengths = Callable[[Sequence[str]], list[int]]
"""Number of pieces of every sentence, EOS included: `Pieces.lengths`."""

# A part ends after clause punctuation with its closing quotes and spaces, or after spaces.
# Full-width punctuation needs no space after it.
_PUNCTUATION = ",;:!?\u2026\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f"
# Both patterns match from the first character of a boundary and never backtrack; otherwise a long run takes quadratic
# time.
_CLAUSE = re.compile(rf"(?<![{_PUNCTUATION}])[{_PUNCTUATION}]++[\"'\u201d\u2019)\]]*+(?=\s|[^\x00-\x7f]|$)\s*+")
_WORD = re.compile(r"\s+")
_JOINERS = "\u200d\ufe0e\ufe0f"


def split_long(sentence: str, limit: int, lengths: Lengths) -> list[str]:
    """Parts of at most `limit` pieces each, as `lengths` counts them; joined they are `sentence`.

    A single character of more pieces is a part of its own, which cannot be translated. Time is O(len(sentence)), times
    the logarithm of how unevenly pieces are spread over characters.
    """
    [length] = lengths([sentence])
    return [sentence] if length <= limit else _split(sentence, limit, lengths, (_CLAUSE, _WORD))


def _split(text: str, limit: int, lengths: Lengths, boundaries: tuple[re.Pattern[str], ...]) -> list[str]:
    if boundaries:
        atoms = _cut_after(text, boundaries[0])
        groups = _pack(atoms, lengths(atoms), limit)
    else:
        groups = _cut_evenly(text, limit, lengths)
    if len(groups) == 1:
        return _split(text, limit, lengths, boundaries[1:]) if boundaries else groups
    parts: list[str] = []
    for group, length in zip(groups, lengths(groups), strict=True):
        # A group is packed by the lengths of its atoms, but may have a few pieces more than their sum. Then it has
        # another boundary of the same kind to be split at, unless it is a single atom.
        parts.extend([group] if length <= limit else _split(group, limit, lengths, boundaries))
    return parts


def _cut_after(text: str, boundary: re.Pattern[str]) -> list[str]:
    atoms, start = [], 0
    for match in boundary.finditer(text):
        checkpoint()
        atoms.append(text[start : match.end()])
        start = match.end()
    if start < len(text):
        atoms.append(text[start:])
    return atoms


def _pack(atoms: list[str], lengths: list[int], limit: int) -> list[str]:
    """Join neighbouring atoms to parts of about the same length: as few parts as `limit` allows, but at least two.
    Every part counts one EOS."""
    sizes = [length - 1 for length in lengths]
    capacity = max(1, limit - 1)
    aim = sum(sizes) / max(2, -(-sum(sizes) // capacity))
    groups: list[list[str]] = []
    group_size = capacity + 1
    for atom, size in zip(atoms, sizes, strict=True):
        if group_size >= aim or group_size + size > capacity:
            groups.append([])
            group_size = 0
        groups[-1].append(atom)
        group_size += size
    if len(groups) == 1 and len(atoms) > 1:  # the last atom is most of it
        groups = [atoms[:-1], atoms[-1:]]
    return ["".join(group) for group in groups]


def _cut_evenly(text: str, limit: int, lengths: Lengths) -> list[str]:
    """Parts of about equal numbers of characters, as many as `limit` needs; an accent stays with its letter."""
    if len(text) < 2:
        return [text]
    [length] = lengths([text])
    count = min(len(text), max(2, -(-length // max(1, limit - 2))))
    cuts = [_whole_character(text, len(text) * index // count) for index in range(count + 1)]
    parts = [text[start:end] for start, end in pairwise(cuts) if start < end]
    return parts if len(parts) > 1 else list(_halves(text))


def _halves(text: str) -> Iterator[str]:
    yield text[: len(text) // 2]
    yield text[len(text) // 2 :]


def _whole_character(text: str, cut: int) -> int:
    """The last position up to `cut` that is not before a combining character, if it is at most 7 characters back."""
    for place in range(cut, max(0, cut - 8), -1):
        if place >= len(text) or not (unicodedata.combining(text[place]) or text[place] in _JOINERS):
            return place
    return cut
