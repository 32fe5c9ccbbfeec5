"""Inserts the masks that a model has lost into its translation: step 5 of `server.text.protect`."""

import re
from collections.abc import Mapping, Sequence

from server.text.base.placeholders import closing_of, is_opening, is_placeholder
from server.text.protect.masks import Masked, mask_pattern

MAX_INSERTION_COST = 1_000_000
"""Largest product of lost masks and characters of the translation for which masks are inserted between words: each
insertion reads all words. Translations of models stay below it; beyond it lost masks are appended."""
_BARE_WORD = re.compile(r"\w+(?:[-'\u2019]\w+)*")


def insert_lost(masked: Masked, target: str, lost: Sequence[int]) -> str:
    """`target` with the lost masks inserted between its words."""
    if len(lost) * (len(target) + len(lost) * len(f" {masked.stem}{lost[-1]} ")) > MAX_INSERTION_COST:
        return " ".join([target, *(f"{masked.stem}{number}" for number in lost)])
    starts = {int(match[1]): match.start() for match in mask_pattern(masked.stem).finditer(masked.text)}
    partners = _tag_partners(masked)
    for number in lost:
        partner = partners.get(number)
        partner_place = None if partner is None else _find_mask(masked, target, partner)
        if partner is not None and partner_place is not None:
            count = _count_words_between(masked, starts, number, partner)
            position = _position_beside(masked, target, partner_place, count, is_after=partner < number)
        else:
            aim = starts[number] * len(target) / max(1, len(masked.text))
            positions = [0, *(match.end() for match in _BARE_WORD.finditer(target))]
            position = min(positions, key=lambda candidate: abs(candidate - aim))
        after = target[position:]
        space = " " if after[:1].isalnum() else ""
        target = f"{target[:position].rstrip(' ')} {masked.stem}{number}{space}{after}".lstrip(" ")
    return target


def _tag_partners(masked: Masked) -> dict[int, int]:
    """The number of one end of a tag -> the number of its other end, for tags with both ends in the sentence."""
    numbers = {span.text: number for number, span in enumerate(masked.spans, 1)}
    opened = {text: number for text, number in numbers.items() if is_placeholder(text) and is_opening(text)}
    pairs = {number: numbers[closing_of(text)] for text, number in opened.items() if closing_of(text) in numbers}
    return pairs | {closing: opening for opening, closing in pairs.items()}


def _count_words_between(masked: Masked, starts: Mapping[int, int], number: int, partner: int) -> int:
    """Words of the source between two masks, without other masks."""
    first, last = sorted((starts[number], starts[partner]))
    return len(_BARE_WORD.findall(mask_pattern(masked.stem).sub(" ", masked.text[first:last])))


def _find_mask(masked: Masked, target: str, number: int) -> tuple[int, int] | None:
    """Start and end of the mask with this number."""
    text = f"{masked.stem}{number}"
    matches = mask_pattern(masked.stem).finditer(target)
    return next((match.span() for match in matches if match[0] == text), None)


def _position_beside(masked: Masked, target: str, place: tuple[int, int], count: int, is_after: bool) -> int:
    """The end of the `count`-th word after the mask at `place`, or the start of the `count`-th word before it; masks
    are no words."""
    unmasked = mask_pattern(masked.stem).sub(lambda match: " " * len(match[0]), target)
    words = [word.span() for word in _BARE_WORD.finditer(unmasked)]
    if is_after:
        ends = [end for start, end in words if start >= place[1]][:count]
        return ends[-1] if ends else place[1]
    starts = [start for start, end in words if end <= place[0]][-count:] if count else []
    return starts[0] if starts else place[0]
