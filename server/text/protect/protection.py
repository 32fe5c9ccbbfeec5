"""What must come through a translation byte for byte: URLs, addresses, placeholders, tags, code, emoji, words that the
vocabulary cannot spell.

The model reads a short mask in their place ("X1", "X2": a letter and a number, which models copy as they copy names);
afterwards spans replace the masks. Every span is in the result exactly once, whatever the model did with its mask: a
lost one is put at the position that it had in the source, and the sentence is flagged.

Sentences in capitals are given to the model in small letters; their translation is set in capitals.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import NamedTuple

from server.text.base.placeholders import closing_of, is_opening, is_placeholder
from server.text.base.words import has_letters
from server.text.protect.patterns import protected_spans
from server.text.protect.terms import Match, Terms
from server.text.protect.unspellable import Spells, in_a_row, unspellable

_STEMS = "XQZKJVWY"
_LONGEST_STEM = 3
_NUMBER = re.compile(rf"(?<=[{_STEMS}])\s?\d", re.IGNORECASE)
_BARE_WORD = re.compile(r"\w+(?:[-'\u2019]\w+)*")
_HYPHENED = re.compile(r"-\w")
_ASCII_WORD = re.compile(r"[A-Za-z0-9_]")
MIN_CAPITALS = 5
"""Letters of a sentence in capitals; fewer may be an abbreviation ("NASA")."""
MOST_SEARCHED = 1_000_000
"""Lost masks times characters of a translation with all of them, up to which masks are put between words: each looks at
all words. What models give is below."""


class Span(NamedTuple):
    """What a mask stands for. Where it touches a word that is translated, the model reads a space between them
    (`parted_before`, `parted_after`), which is taken out of the translation."""

    text: str
    parted_before: bool = False
    parted_after: bool = False


@dataclass(frozen=True)
class Masked:
    """A sentence as the model reads it. A mask is `stem` and a number, from 1 on; `spans` are what they stand for."""

    text: str
    spans: tuple[Span, ...] = ()
    stem: str = ""
    is_capitals: bool = False
    places: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    """Where the spans stand in the sentence."""

    @property
    def is_readable(self) -> bool:
        """Whether anything but masks is left to translate."""
        bare = _mask_pattern(self.stem).sub("", self.text) if self.spans else self.text
        return has_letters(bare)

    def masks_of(self, text: str) -> list[tuple[tuple[int, int], int]]:
        """The places of masks in what the model reads or says, and their numbers, each once."""
        found: dict[int, tuple[int, int]] = {}
        for match in _mask_pattern(self.stem).finditer(text) if self.spans else ():
            number = int(match[1][:6])
            if 1 <= number <= len(self.spans):
                found.setdefault(number, match.span())
        return sorted((place, number) for number, place in found.items())


@dataclass(frozen=True)
class Restored:
    """A translation with spans in place of masks. `is_moved`: the model lost or repeated a mask, so a span may be at
    the wrong place."""

    text: str
    is_moved: bool = False


def mask(sentence: str, spells: Spells, terms: Terms | None = None) -> Masked:
    """Replace by masks the sentence's protected spans, which come back as they are, and its terms, which come back as
    their translations. Linear in its length."""
    matches = {} if terms is None else {(one.start, one.end): one.target for one in find_terms(sentence, terms)}
    strange = _apart_from(list(matches), unspellable(sentence, spells))
    protected = protected_spans(sentence)
    if not (matches or strange or protected):
        is_capitals = _is_capitals([sentence])
        return Masked(sentence.lower() if is_capitals else sentence, is_capitals=is_capitals)
    places = _joined(sentence, [*protected, *in_a_row(sentence, strange, list(matches))])
    instead = matches | {place: sentence[slice(*place)] for place in places}
    spans = sorted(instead)
    stem = _free_stem(sentence) if spans else ""
    if not stem:
        spans = []
    between = _between(sentence, spans)
    is_capitals = _is_capitals(between)
    if is_capitals:
        between = [text.lower() for text in between]
    masked: list[Span] = []
    parts = [between[0]]
    for number, (span, before, after) in enumerate(zip(spans, between, between[1:], strict=False), 1):
        parted = Span(instead[span], before[-1:].isalnum(), after[:1].isalnum())
        masked.append(parted)
        parts += (" " * parted.parted_before, f"{stem}{number}", " " * parted.parted_after, after)
    return Masked("".join(parts), tuple(masked), stem, is_capitals, tuple(spans))


def _apart_from(matches: Sequence[tuple[int, int]], places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Of `places`, in the order of their starts, those that overlap none of `matches`, which overlap no other."""
    if not matches:
        return list(places)
    starts, ends = [start for start, _ in matches], [end for _, end in matches]
    # The matches before an end, less those that are over by the start.
    return [(start, end) for start, end in places if bisect_left(starts, end) <= bisect_right(ends, start)]


def find_terms(sentence: str, terms: Terms) -> list[Match]:
    """The terms that a sentence has outside of URLs, placeholders and the like."""
    return terms.find(sentence, _joined(sentence, protected_spans(sentence)))


def has_words(sentence: str) -> bool:
    """Whether there are words outside of URLs, placeholders and the like, in whatever script."""
    spans = protected_spans(sentence)
    return has_letters("".join(_between(sentence, _joined(sentence, spans))) if spans else sentence)


def restore(masked: Masked, target: str) -> Restored:
    """The model's translation with every span in place of its mask, exactly once. Of a sentence of nothing but masks
    nothing else comes through."""
    if _is_only_masks(masked):
        target = masked.text
    return restore_rest(masked, target, frozenset())


def restore_rest(masked: Masked, target: str, said: Set[int]) -> Restored:
    """`restore` for what follows a beginning that has the masks with the numbers `said`."""
    if masked.is_capitals:
        target = target.upper()
    if not masked.spans:
        return Restored(target)
    once, kept, is_clean = _each_once(masked, target, said)
    lost = [number for number in range(1, len(masked.spans) + 1) if number not in kept]
    if lost:
        once = _inserted(masked, once, lost)
    return Restored(_filled(masked, once), bool(lost) or not is_clean)


def beginning(masked: Masked, target: str, said: Set[int] = frozenset()) -> str:
    """`restore_rest` for a translation that is not finished: spans whose masks have not come yet are left out, and so
    is a mask at the end, whose number may have more digits."""
    if _is_only_masks(masked):
        return ""
    if masked.is_capitals:
        target = target.upper()
    if not masked.spans:
        return target
    target = _unfinished_mask(masked.stem).sub("", target)
    return _filled(masked, _each_once(masked, target, said)[0])


def _is_only_masks(masked: Masked) -> bool:
    return bool(masked.spans) and not masked.is_readable


def _each_once(masked: Masked, target: str, said: Set[int]) -> tuple[str, set[int], bool]:
    """`target` with only the first copy of every mask, and none of those `said` before it; the numbers of the masks
    that there are now, and whether no mask was removed."""
    kept: set[int] = set(said)
    is_clean = True

    def first(match: re.Match[str]) -> str:
        nonlocal is_clean
        number = int(match[1][:6])
        if 1 <= number <= len(masked.spans) and number not in kept:
            kept.add(number)
            return f"{masked.stem}{number}"
        if match[0][1].isspace():  # a letter that stands before a number
            return match[0]
        is_clean = False
        return ""

    return _mask_pattern(masked.stem).sub(first, target), kept, is_clean


def _filled(masked: Masked, target: str) -> str:
    """`target` with spans in place of masks."""
    parts: list[str] = []
    end = 0
    for match in _mask_pattern(masked.stem).finditer(target):
        if match[0][1].isspace():
            continue
        span = masked.spans[int(match[1]) - 1]
        before = target[end : match.start()]
        parts += (before.removesuffix(" ") if span.parted_before else before, span.text)
        end = match.end()
        if is_placeholder(span.text) and _HYPHENED.match(target, end) and f"{match[0]}-" not in masked.text:
            # Models write "X2-Buch" as they write "PC-Spiel"; a tag makes no compound.
            end += 1
            parts.append("" if is_opening(span.text) else " ")
        elif span.parted_after and target[end : end + 1] == " ":
            end += 1
    return "".join([*parts, target[end:]])


@cache  # there are 584 stems
def _mask_pattern(stem: str) -> re.Pattern[str]:
    return re.compile(rf"{stem}\s?([0-9]++)", re.IGNORECASE)


@cache
def _unfinished_mask(stem: str) -> re.Pattern[str]:
    return re.compile(rf"{stem}\s?+[0-9]*+$", re.IGNORECASE)


def _free_stem(sentence: str) -> str:
    """A stem that no number follows anywhere in the sentence; "" if every stem is taken, as in a hostile sentence."""
    taken: set[str] = set()
    for match in _NUMBER.finditer(sentence):
        before = sentence[max(0, match.start() - _LONGEST_STEM) : match.start()].casefold().upper()
        taken.update(before[-length:] for length in range(1, _LONGEST_STEM + 1))
    if not taken:
        return _STEMS[0]
    lengths = range(1, _LONGEST_STEM + 1)
    stems = ("".join(letters) for length in lengths for letters in product(_STEMS, repeat=length))
    return next((stem for stem in stems if stem not in taken), "")


def _joined(sentence: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order; those that touch each other become one. A placeholder includes the letters that touch it
    ("{count}th"); tags and emoji do not ("<b>word</b>")."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if sentence[start] != "<" and sentence[start].isascii():
            while start > 0 and _ASCII_WORD.match(sentence[start - 1]):
                start -= 1
            while end < len(sentence) and _ASCII_WORD.match(sentence[end]):
                end += 1
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _between(sentence: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """The texts before, between and after the spans: one more than there are spans."""
    texts: list[str] = []
    last = 0
    for start, end in spans:
        texts.append(sentence[last:start])
        last = end
    return [*texts, sentence[last:]]


def _is_capitals(texts: Sequence[str]) -> bool:
    """Whether the texts are in capitals that can be made from small letters again."""
    text = "".join(texts)
    return text.isupper() and sum(map(str.isalpha, text)) >= MIN_CAPITALS and text.lower().upper() == text


def _inserted(masked: Masked, target: str, lost: Sequence[int]) -> str:
    """Put the lost masks between words of `target`: one end of a tag as many words from the other end as in the source,
    everything else at about the relative position that it has there."""
    if len(lost) * (len(target) + len(lost) * len(f" {masked.stem}{lost[-1]} ")) > MOST_SEARCHED:
        return " ".join([target, *(f"{masked.stem}{number}" for number in lost)])
    starts = {int(match[1]): match.start() for match in _mask_pattern(masked.stem).finditer(masked.text)}
    partners = _partners(masked)
    for number in lost:
        partner = partners.get(number)
        place = None if partner is None else _place_of(masked, target, partner)
        if partner is not None and place is not None:
            count = _words_between(masked, starts, number, partner)
            gap = _gap_beside(masked, target, place, count, is_after=partner < number)
        else:
            gaps = [0, *(match.end() for match in _BARE_WORD.finditer(target))]
            gap = _nearest(gaps, starts[number] * len(target) / max(1, len(masked.text)))
        after = target[gap:]
        space = " " if after[:1].isalnum() else ""
        target = f"{target[:gap].rstrip(' ')} {masked.stem}{number}{space}{after}".lstrip(" ")
    return target


def _partners(masked: Masked) -> dict[int, int]:
    """For every end of a tag whose other end is in the sentence too, the number of that one."""
    numbers = {span.text: number for number, span in enumerate(masked.spans, 1)}
    ends = {number: closing_of(mark) for mark, number in numbers.items() if is_placeholder(mark) and is_opening(mark)}
    pairs = {number: numbers[end] for number, end in ends.items() if end in numbers}
    return pairs | {end: start for start, end in pairs.items()}


def _words_between(masked: Masked, starts: Mapping[int, int], one: int, other: int) -> int:
    """Words of the source between two masks, masks not counted."""
    between = masked.text[min(starts[one], starts[other]) : max(starts[one], starts[other])]
    return len(_BARE_WORD.findall(_mask_pattern(masked.stem).sub(" ", between)))


def _place_of(masked: Masked, target: str, number: int) -> tuple[int, int] | None:
    """Where the mask with that number stands."""
    mask = f"{masked.stem}{number}"
    return next((one.span() for one in _mask_pattern(masked.stem).finditer(target) if one[0] == mask), None)


def _gap_beside(masked: Masked, target: str, place: tuple[int, int], count: int, is_after: bool) -> int:
    """The end of the `count`-th word after the place of a mask, or the start of the `count`-th before it, without
    counting masks."""
    bare = _mask_pattern(masked.stem).sub(lambda one: " " * len(one[0]), target)
    words = [word.span() for word in _BARE_WORD.finditer(bare)]
    if is_after:
        ends = [end for start, end in words if start >= place[1]][:count]
        return ends[-1] if ends else place[1]
    starts = [start for start, end in words if end <= place[0]][-count:] if count else []
    return starts[0] if starts else place[0]


def _nearest(gaps: Sequence[int], aim: float) -> int:
    return min(gaps, key=lambda gap: abs(gap - aim))
