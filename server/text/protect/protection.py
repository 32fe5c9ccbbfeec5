"""Keeps what a translation must have byte for byte (URLs, addresses, placeholders, tags, code, emoji, words that the
vocabulary cannot spell), and puts the translations of a glossary's terms in place.

`mask` runs before the model, `restore` after it:

1. The spans of a sentence are found (`server.text.spans`, `unspellable`, `terms`). Spans that touch each other become
   one.
2. Each span is replaced by a mask: a stem and the number of the span, from 1 on, as in "X1" and "X2". Models copy masks
   as they copy names. The stem is the first that no number follows in the sentence, so that no word of it looks like a
   mask. Where a span touches a word, the model reads a space between them, which `restore` removes again. The model
   does not read soft hyphens and the mark of an accelerator (`accelerators`).
3. A sentence in capitals is given to the model in small letters, and its translation is set in capitals; so is a single
   word in capitals, if the words that come from it can be found (`capitals`).
   Runs of punctuation are in the translation as they are in the source (`punctuation_runs`).
4. In the translation only the first copy of each mask stays, and masks become spans again.
5. The model may lose a mask. If the span is one end of a tag whose other end (its partner) is in the translation, the
   mask is inserted as many words from its partner as in the source; otherwise at the same relative position as in the
   source, between two words.

So every span is in the result exactly once, whatever the model did; `Restored.is_moved` says that a mask was lost or
repeated, and the sentence is flagged.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

from server.text.base.words import Place, has_letters
from server.text.protect.accelerators import take_off
from server.text.protect.capitals import Casing
from server.text.protect.hyphens import replace_invented_hyphens
from server.text.protect.lost_masks import insert_lost
from server.text.protect.masks import Masked, Span, mask_pattern, number_of
from server.text.protect.punctuation_runs import with_runs_of
from server.text.protect.quotes import with_tight_quotes
from server.text.protect.terms import Match, Terms, with_first_letter
from server.text.protect.unspellable import UNSPACED, Spells, merge_adjacent, unspellable
from server.text.spans.table import protected_spans

_STEMS = "XQZKJVWY"
_LONGEST_STEM = 3
_NUMBER = re.compile(rf"(?<=[{_STEMS}])\s?\d", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_SOFT_HYPHEN = "\u00ad"
_BESIDE_BLANK = re.compile(rf"[^\W_{UNSPACED}]")
"""Letters and digits of scripts with spaces between words."""
_TAG = re.compile(
    r"[<\[&\\]|={3}|_{3}|~{3}|\*{3}|#{3}|\+{3}|-{4}|\{[%#/*:.]|\{[a-z]{1,10}\s|\{\{\{?[~-]?\s{0,3}[#/^%<>!]|\{\{[~-]?\s{0,3}(?:else|end|if|range|with)\b"
)
"""Beginnings of spans that stand beside words, and belong to none."""
_ASCII_WORD = re.compile(r"[A-Za-z0-9_]")
_NO_VOCABULARY = Casing()


@dataclass(frozen=True)
class Restored:
    """A translation with spans in place of masks. `is_moved`: the model lost or repeated a mask, so a span may be at
    the wrong place."""

    text: str
    is_moved: bool = False


def mask(
    sentence: str,
    spells: Spells,
    terms: Terms | None = None,
    casing: Casing = _NO_VOCABULARY,
    garbled: Sequence[Place] = (),
) -> Masked:
    """Replace the sentence's protected spans and its `garbled` words, which are restored as they are, and its terms,
    which are restored as their translations, by masks; write words in capitals as `casing` says. Linear in the
    sentence's length."""
    accelerator = take_off(sentence) if not garbled else None
    if accelerator is None:
        return _mask(sentence, spells, terms, casing, garbled)
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


def _mask(sentence: str, spells: Spells, terms: Terms | None, casing: Casing, garbled: Sequence[Place] = ()) -> Masked:
    matches = {} if terms is None else {(term.start, term.end): term for term in find_terms(sentence, terms)}
    unknown = sorted([*unspellable(sentence, spells), *garbled])
    unspelled = _without_overlaps(unknown, list(matches))
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
        is_word = place in matches or (_WORD.fullmatch(text) is not None and bool(text.strip("_")))
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
    target = with_tight_quotes(masked.text, with_runs_of(masked.text, target))
    if not masked.spans:
        return Restored(_with_accelerator(masked, target))
    unique, kept, is_unchanged = _remove_copies(masked, target, decoded_masks)
    lost = [number for number in range(1, len(masked.spans) + 1) if number not in kept]
    if lost:
        unique = insert_lost(masked, unique, lost)
    return Restored(_fill(masked, _with_accelerator(masked, unique)), bool(lost) or not is_unchanged)


def _with_accelerator(masked: Masked, target: str) -> str:
    if masked.accelerator is None:
        return target
    places = [match.span() for match in mask_pattern(masked.stem).finditer(target)] if masked.spans else []
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


@cache
def _unfinished_mask(stem: str) -> re.Pattern[str]:
    return re.compile(rf"{stem}\s?+[0-9]*+$", re.IGNORECASE)


@cache
def _copy_between(stem: str) -> re.Pattern[str]:
    """A mask that is removed: with a space before it if there is one after it, too."""
    copy = _copy(stem)
    return re.compile(rf" ?{copy}(?= )|{copy}", re.IGNORECASE)


@cache
def _copy_at_end(stem: str) -> re.Pattern[str]:
    """As `_copy_between`, with the space before the end of the text."""
    copy = _copy(stem)
    return re.compile(rf" ?{copy}(?= |\Z)|{copy}", re.IGNORECASE)


def _copy(stem: str) -> str:
    """One letter with a blank between it and a number is no mask, except as the first copy of one."""
    return rf"{stem}\s?[0-9]++" if len(stem) > 1 else f"{stem}[0-9]++"


def _is_only_masks(masked: Masked) -> bool:
    return bool(masked.spans) and not masked.is_translatable


def _remove_copies(masked: Masked, target: str, decoded_masks: Set[int]) -> tuple[str, set[int], bool]:
    """`target` with the first copy of every mask that is not in the prefix; the numbers of the masks that prefix and
    target have; whether nothing was removed."""
    kept: set[int] = set(decoded_masks)
    seen: set[str] = set()
    first_copies: list[tuple[int, int, str]] = []
    for match in mask_pattern(masked.stem).finditer(target):
        if match[1] in seen:
            continue
        seen.add(match[1])
        number = number_of(match)
        if 1 <= number <= len(masked.spans) and number not in kept:
            kept.add(number)
            first_copies.append((*match.span(), f"{masked.stem}{number}"))
    parts: list[str] = []
    end = num_removed = 0
    for start, stop, shown in first_copies:
        between, num_copies = _copy_between(masked.stem).subn("", target[end:start])
        parts += (between, shown)
        end, num_removed = stop, num_removed + num_copies
    rest, num_copies = _copy_at_end(masked.stem).subn("", target[end:])
    return "".join([*parts, rest]), kept, not num_removed + num_copies


def _fill(masked: Masked, target: str) -> str:
    """`target` with spans in place of masks."""
    pattern = mask_pattern(masked.stem)
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
