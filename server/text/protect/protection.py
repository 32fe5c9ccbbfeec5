"""Keeps what a translation must have byte for byte (URLs, addresses, placeholders, tags, code, emoji, words that the
vocabulary cannot spell), and puts the translations of a glossary's terms in place.

`mask` runs before the model, `restore` after it:

1. The spans of a sentence are found (`patterns`, `unspellable`, `terms`). Spans that touch each other become one.
2. Each span is replaced by a mask: a stem and the number of the span, from 1 on, as in "X1" and "X2". Models copy masks
   as they copy names. The stem is the first that no number follows in the sentence, so that no word of it looks like a
   mask. Where a span touches a word, the model reads a space between them, which `restore` removes again. The model
   does not read soft hyphens and the mark of an accelerator (`accelerators`).
3. A sentence in capitals is given to the model in small letters, and its translation is set in capitals; so is a single
   word in capitals, if the words that come from it can be found (`capitals`).
4. In the translation only the first copy of each mask stays, and masks become spans again.
5. The model may lose a mask. If the span is one end of a tag whose other end (its partner) is in the translation, the
   mask is inserted as many words from its partner as in the source; otherwise at the same relative position as in the
   source, between two words.

So every span is in the result exactly once, whatever the model did; `Restored.is_moved` says that a mask was lost or
repeated, and the sentence is flagged.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import NamedTuple

from server.text.base.placeholders import closing_of, is_opening, is_placeholder
from server.text.base.words import Place, has_letters
from server.text.protect.accelerators import Accelerator, take_off
from server.text.protect.capitals import Casing
from server.text.protect.hyphens import replace_invented_hyphens
from server.text.protect.terms import Match, Terms, with_first_letter
from server.text.protect.unspellable import UNSPACED, Spells, merge_adjacent, unspellable
from server.text.spans.table import protected_spans

_STEMS = "XQZKJVWY"
_LONGEST_STEM = 3
_NUMBER = re.compile(rf"(?<=[{_STEMS}])\s?\d", re.IGNORECASE)
_BARE_WORD = re.compile(r"\w+(?:[-'\u2019]\w+)*")
_WORD = re.compile(r"\w+")
_SOFT_HYPHEN = "\u00ad"
_BESIDE_BLANK = re.compile(rf"[^\W_{UNSPACED}]")
"""Letters and digits of scripts with spaces between words."""
_TAG = re.compile(
    r"[<\[&\\]|\{[%#/*:.]|\{[a-z]{1,10}\s|\{\{\{?[~-]?\s{0,3}[#/^%<>!]|\{\{[~-]?\s{0,3}(?:else|end|if|range|with)\b"
)
"""Beginnings of spans that stand beside words, and belong to none."""
_ASCII_WORD = re.compile(r"[A-Za-z0-9_]")
_NO_VOCABULARY = Casing()
MAX_INSERTION_COST = 1_000_000
"""Largest product of lost masks and characters of the translation for which masks are inserted between words: each
insertion reads all words. Translations of models stay below it; beyond it lost masks are appended."""


class Span(NamedTuple):
    """What a mask stands for. Where it touches a word, the model reads a space between them (`has_space_before`,
    `has_space_after`)."""

    text: str
    has_space_before: bool = False
    has_space_after: bool = False
    is_word: bool = False
    """Whether it may be part of a compound, as in "iPhone-Nutzer": a term, or letters and digits alone."""
    rises: bool = False
    """Whether it begins with a capital where the translation begins with it."""


@dataclass(frozen=True)
class Masked:
    """A sentence as the model reads it. A mask is `stem` and a number, from 1 on, of one of the `spans`."""

    text: str
    spans: tuple[Span, ...] = ()
    stem: str = ""
    is_capitals: bool = False
    accelerator: Accelerator | None = None
    places: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    """Start and end of every span in the sentence."""
    emphasized: tuple[Place, ...] = field(default=(), compare=False)
    """Start and end of every word of the sentence that is in capitals, and that the model reads in small letters."""

    @property
    def is_translatable(self) -> bool:
        """Whether there are letters outside of the masks."""
        return has_letters(_mask_pattern(self.stem).sub("", self.text) if self.spans else self.text)

    def find_masks(self, text: str) -> list[tuple[tuple[int, int], int]]:
        """The places of masks in a text that the model reads or writes, and their numbers: the first copy of each."""
        places: dict[int, tuple[int, int]] = {}
        for match in _mask_pattern(self.stem).finditer(text) if self.spans else ():
            number = _number_of(match)
            if 1 <= number <= len(self.spans):
                places.setdefault(number, match.span())
        return sorted((place, number) for number, place in places.items())


@dataclass(frozen=True)
class Restored:
    """A translation with spans in place of masks. `is_moved`: the model lost or repeated a mask, so a span may be at
    the wrong place."""

    text: str
    is_moved: bool = False


def mask(sentence: str, spells: Spells, terms: Terms | None = None, casing: Casing = _NO_VOCABULARY) -> Masked:
    """Replace the sentence's protected spans, which are restored as they are, and its terms, which are restored as
    their translations, by masks; write words in capitals as `casing` says. Linear in the sentence's length."""
    accelerator = take_off(sentence)
    if accelerator is None:
        return _mask(sentence, spells, terms, casing)
    masked = _mask(accelerator.label, spells, terms, casing)
    if accelerator.mark and any(start <= accelerator.at < end for start, end in masked.places):
        return _mask(sentence, spells, terms, casing)
    after = accelerator.at if accelerator.mark else len(sentence)

    def in_sentence(places: tuple[Place, ...]) -> tuple[Place, ...]:
        return tuple((start + (start >= after), end + (end > after)) for start, end in places)

    return replace(
        masked,
        accelerator=accelerator.outside(masked.places),
        places=in_sentence(masked.places),
        emphasized=in_sentence(masked.emphasized),
    )


def _mask(sentence: str, spells: Spells, terms: Terms | None, casing: Casing) -> Masked:
    matches = {} if terms is None else {(term.start, term.end): term for term in find_terms(sentence, terms)}
    unspelled = _without_overlaps(unspellable(sentence, spells), list(matches))
    protected = [place for place in protected_spans(sentence) if not casing.repaired(sentence[slice(*place)])]
    if not (matches or unspelled or protected):
        [text], is_capitals, emphasized = _in_small_letters([sentence], [], casing)
        return Masked(text.replace(_SOFT_HYPHEN, ""), is_capitals=is_capitals, emphasized=emphasized)
    kept = _join_touching(sentence, [*protected, *merge_adjacent(sentence, unspelled, list(matches))])
    replacements = {place: term.target for place, term in matches.items()}
    replacements |= {place: sentence[slice(*place)] for place in kept}
    places = sorted(replacements)
    stem = _free_stem(sentence) if places else ""
    if not stem:
        places = []
    between, is_capitals, emphasized = _in_small_letters(_texts_between(sentence, places), places, casing)
    between = [text.replace(_SOFT_HYPHEN, "") for text in between]
    spans: list[Span] = []
    parts = [between[0]]
    for number, (place, before, after) in enumerate(zip(places, between, between[1:], strict=False), 1):
        text = replacements[place]
        is_word = place in matches or _WORD.fullmatch(text) is not None
        rises = place in matches and matches[place].rises
        span = Span(text, before[-1:].isalnum(), after[:1].isalnum(), is_word, rises)
        spans.append(span)
        parts += (" " * span.has_space_before, f"{stem}{number}", " " * span.has_space_after, after)
    return Masked("".join(parts), tuple(spans), stem, is_capitals, places=tuple(places), emphasized=emphasized)


def find_terms(sentence: str, terms: Terms) -> list[Match]:
    """The terms of a sentence outside of URLs, placeholders and other protected spans."""
    return terms.find(sentence, _join_touching(sentence, protected_spans(sentence)))


def has_words(sentence: str) -> bool:
    """Whether there are letters of any script outside of URLs, placeholders and other protected spans."""
    spans = protected_spans(sentence)
    return has_letters("".join(_texts_between(sentence, _join_touching(sentence, spans))) if spans else sentence)


def restore(masked: Masked, target: str) -> Restored:
    """The model's translation `target` with every span in place of its mask, exactly once. A sentence of masks alone is
    restored as it was; anything else that the model wrote is dropped."""
    return restore_continuation(masked, masked.text if _is_only_masks(masked) else target, frozenset())


def restore_continuation(masked: Masked, target: str, decoded_masks: Set[int]) -> Restored:
    """`restore` for the continuation of a prefix that has the masks with the numbers `decoded_masks`."""
    if masked.is_capitals:
        target = target.upper()
    if not masked.spans:
        return Restored(_with_accelerator(masked, target))
    unique, kept, is_unchanged = _remove_copies(masked, target, decoded_masks)
    lost = [number for number in range(1, len(masked.spans) + 1) if number not in kept]
    if lost:
        unique = _insert_lost(masked, unique, lost)
    return Restored(_fill(masked, _with_accelerator(masked, unique)), bool(lost) or not is_unchanged)


def _with_accelerator(masked: Masked, target: str) -> str:
    if masked.accelerator is None:
        return target
    places = [match.span() for match in _mask_pattern(masked.stem).finditer(target)] if masked.spans else []
    return masked.accelerator.put_on(target, places, is_unchanged=target == masked.text)


def restore_partial(masked: Masked, target: str, decoded_masks: Set[int] = frozenset()) -> str:
    """`restore_continuation` for a translation that is being decoded. Masks that are not decoded yet are not inserted,
    and a mask at the end is left out, because its number may get more digits."""
    if _is_only_masks(masked):
        return ""
    if masked.is_capitals:
        target = target.upper()
    if not masked.spans:
        return target
    target = _unfinished_mask(masked.stem).sub("", target)
    return _fill(masked, _remove_copies(masked, target, decoded_masks)[0])


# Masking


def _without_overlaps(places: Sequence[tuple[int, int]], matches: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The `places` that overlap no match. Places are in order of their starts; matches do not overlap each other."""
    if not matches:
        return list(places)
    starts, ends = [start for start, _ in matches], [end for _, end in matches]
    # As many matches begin before the place's end as end before its start: none is between.
    return [(start, end) for start, end in places if bisect_left(starts, end) <= bisect_right(ends, start)]


def _free_stem(sentence: str) -> str:
    """The first stem that no number follows in the sentence; "" if a hostile sentence has every stem."""
    taken: set[str] = set()
    for match in _NUMBER.finditer(sentence):
        before = sentence[max(0, match.start() - _LONGEST_STEM) : match.start()].casefold().upper()
        taken.update(before[-length:] for length in range(1, _LONGEST_STEM + 1))
    if not taken:
        return _STEMS[0]
    lengths = range(1, _LONGEST_STEM + 1)
    stems = ("".join(letters) for length in lengths for letters in product(_STEMS, repeat=length))
    return next((stem for stem in stems if stem not in taken), "")


def _join_touching(sentence: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, those that touch each other joined. A placeholder includes the ASCII letters that touch it
    ("{count}th"); a tag or an emoji does not ("<b>word</b>", "{% if late %}word{% endif %}")."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if sentence[start].isascii() and not _TAG.match(sentence, start):
            while start > 0 and _ASCII_WORD.match(sentence[start - 1]):
                start -= 1
            while end < len(sentence) and _ASCII_WORD.match(sentence[end]):
                end += 1
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _texts_between(sentence: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """The texts before, between and after the spans: one more than there are spans."""
    texts: list[str] = []
    last = 0
    for start, end in spans:
        texts.append(sentence[last:start])
        last = end
    return [*texts, sentence[last:]]


def _in_small_letters(
    texts: Sequence[str], spans: Sequence[Place], casing: Casing
) -> tuple[list[str], bool, tuple[Place, ...]]:
    """The texts between the `spans` of a sentence as the model reads them; whether all of the sentence is in capitals;
    and the places in it of single words in capitals."""
    lowered = casing.all_lowered(texts)
    if lowered is not None:
        return lowered, True, ()
    small: list[str] = []
    emphasized: list[Place] = []
    for text, start in zip(texts, (0, *(end for _, end in spans)), strict=True):
        read, places = casing.with_words_lowered(text)
        small.append(read)
        emphasized += ((start + begin, start + end) for begin, end in places)
    return small, False, tuple(emphasized)


# Restoring


@cache  # there are 584 stems
def _mask_pattern(stem: str) -> re.Pattern[str]:
    return re.compile(rf"{stem}\s?([0-9]++)", re.IGNORECASE)


@cache
def _unfinished_mask(stem: str) -> re.Pattern[str]:
    return re.compile(rf"{stem}\s?+[0-9]*+$", re.IGNORECASE)


def _number_of(match: re.Match[str]) -> int:
    """The number of a mask; a model may write any number of digits, of which six are enough to know that it is none."""
    return int(match[1][:6])


def _is_only_masks(masked: Masked) -> bool:
    return bool(masked.spans) and not masked.is_translatable


def _remove_copies(masked: Masked, target: str, decoded_masks: Set[int]) -> tuple[str, set[int], bool]:
    """`target` with the first copy of every mask that is not in the prefix; the numbers of the masks that prefix and
    target have; whether nothing was removed."""
    kept: set[int] = set(decoded_masks)
    is_unchanged = True
    parts: list[str] = []
    end = 0
    for match in _mask_pattern(masked.stem).finditer(target):
        before, shown = target[end : match.start()], match[0]
        end = match.end()
        number = _number_of(match)
        if 1 <= number <= len(masked.spans) and number not in kept:
            kept.add(number)
            shown = f"{masked.stem}{number}"
        elif not match[0][1].isspace():  # otherwise a letter that stands before a number
            is_unchanged, shown = False, ""
            if target[end : end + 1] in ("", " "):
                before = before.removesuffix(" ")
        parts += (before, shown)
    return "".join([*parts, target[end:]]), kept, is_unchanged


def _fill(masked: Masked, target: str) -> str:
    """`target` with spans in place of masks."""
    pattern = _mask_pattern(masked.stem)
    target = replace_invented_hyphens(
        masked.text, target, pattern, lambda number: number <= len(masked.spans) and masked.spans[number - 1].is_word
    )
    spaced_before, spaced_after = _spaced(masked)
    parts: list[str] = []
    end = 0
    for match in pattern.finditer(target):
        if match[0][1].isspace():
            continue
        number = int(match[1])
        span = masked.spans[number - 1]
        before = target[end : match.start()]
        is_raised = span.rises and not end and not has_letters(before)
        text = with_first_letter(str.upper, span.text) if is_raised else span.text
        if number in spaced_before and _BESIDE_BLANK.match(target[match.start() - 1 : match.start()]):
            before += " "
        parts += (before.removesuffix(" ") if span.has_space_before else before, text)
        end = match.end()
        if span.has_space_after and target[end : end + 1] == " ":
            end += 1
        elif number in spaced_after and _BESIDE_BLANK.match(target, end):
            parts.append(" ")
    return "".join([*parts, target[end:]])


def _spaced(masked: Masked) -> tuple[set[int], set[int]]:
    """The numbers of the masks with a space of the source before them, and after them."""
    before: set[int] = set()
    after: set[int] = set()
    for (start, end), number in masked.find_masks(masked.text):
        span = masked.spans[number - 1]
        if masked.text[start - 1 : start].isspace() and not span.has_space_before:
            before.add(number)
        if masked.text[end : end + 1].isspace() and not span.has_space_after:
            after.add(number)
    return before, after


# Lost masks


def _insert_lost(masked: Masked, target: str, lost: Sequence[int]) -> str:
    """`target` with the lost masks inserted between its words: see step 5 of the module."""
    if len(lost) * (len(target) + len(lost) * len(f" {masked.stem}{lost[-1]} ")) > MAX_INSERTION_COST:
        return " ".join([target, *(f"{masked.stem}{number}" for number in lost)])
    starts = {int(match[1]): match.start() for match in _mask_pattern(masked.stem).finditer(masked.text)}
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
    return len(_BARE_WORD.findall(_mask_pattern(masked.stem).sub(" ", masked.text[first:last])))


def _find_mask(masked: Masked, target: str, number: int) -> tuple[int, int] | None:
    """Start and end of the mask with this number."""
    text = f"{masked.stem}{number}"
    matches = _mask_pattern(masked.stem).finditer(target)
    return next((match.span() for match in matches if match[0] == text), None)


def _position_beside(masked: Masked, target: str, place: tuple[int, int], count: int, is_after: bool) -> int:
    """The end of the `count`-th word after the mask at `place`, or the start of the `count`-th word before it; masks
    are no words."""
    unmasked = _mask_pattern(masked.stem).sub(lambda match: " " * len(match[0]), target)
    words = [word.span() for word in _BARE_WORD.finditer(unmasked)]
    if is_after:
        ends = [end for start, end in words if start >= place[1]][:count]
        return ends[-1] if ends else place[1]
    starts = [start for start, end in words if end <= place[0]][-count:] if count else []
    return starts[0] if starts else place[0]
