"""Puts what was masked back into a translation; see the package."""

import re
from collections.abc import Set
from dataclasses import dataclass
from functools import cache

from server.text.base.words import has_letters
from server.text.protect.capitals import with_initial_of
from server.text.protect.hyphens import replace_invented_hyphens
from server.text.protect.lost_masks import insert_lost
from server.text.protect.masks import Masked, mask_pattern, number_of
from server.text.protect.notation import with_notation_of
from server.text.protect.numerals import without_invented_hyphens
from server.text.protect.punctuation import with_full_stop_of, with_punctuation_of
from server.text.protect.terms import with_first_letter
from server.text.protect.unspellable import UNSPACED

_BESIDE_BLANK = re.compile(rf"[^\W_{UNSPACED}]")
"""Letters and digits of scripts with spaces between words."""


@dataclass(frozen=True)
class Restored:
    """A translation with spans in place of masks. `is_moved`: the model lost or repeated a mask, so a span may be at
    the wrong place."""

    text: str
    is_moved: bool = False


NO_LANGUAGES = ("", "")
"""Source and target, where they are not known."""


def restore(masked: Masked, target: str, is_whole: bool = False, languages: tuple[str, str] = NO_LANGUAGES) -> Restored:
    """The model's translation `target` with every span in place of its mask, exactly once. A sentence of masks alone is
    restored as it was; anything else that the model wrote is dropped. `is_whole`: the sentence is no part of a longer
    one. `languages`: codes of source and target."""
    if _is_only_masks(masked):
        return restore_continuation(masked, masked.text, frozenset())
    target = _with_notation(masked, _with_initial(masked, target) if is_whole else target, languages)
    return restore_continuation(masked, with_full_stop_of(masked.text, target), frozenset())


def restore_continuation(masked: Masked, target: str, decoded_masks: Set[int]) -> Restored:
    """`restore` for the continuation of a prefix that has the masks with the numbers `decoded_masks`."""
    if masked.is_capitals:
        target = target.upper()
    target = with_punctuation_of(masked.text, target)
    target = without_invented_hyphens(masked.text, target)
    if not masked.spans:
        return Restored(_with_accelerator(masked, target))
    unique, kept, is_unchanged = _remove_copies(masked, target, decoded_masks)
    lost = [number for number in range(1, len(masked.spans) + 1) if number not in kept]
    if lost:
        unique = insert_lost(masked, unique, lost)
    return Restored(_fill(masked, _with_accelerator(masked, unique)), bool(lost) or not is_unchanged)


def restore_beginning(masked: Masked, target: str, is_whole: bool, languages: tuple[str, str] = NO_LANGUAGES) -> str:
    """`restore` for a translation that is being decoded."""
    begun = _with_initial(masked, target, is_complete=False) if is_whole else target
    return restore_partial(masked, _with_notation(masked, begun, languages, is_complete=False))


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


def _with_initial(masked: Masked, target: str, is_complete: bool = True) -> str:
    """The target with the sentence's initial, unless the sentence begins with a mask."""
    if masked.spans and _beginning_mask(masked.stem).match(masked.text):
        return target
    return with_initial_of(masked.text, target, is_complete)


def _with_notation(masked: Masked, target: str, languages: tuple[str, str], is_complete: bool = True) -> str:
    mask = mask_pattern(masked.stem) if masked.spans else None
    return with_notation_of(masked.text, target, languages, is_complete, mask)


def _with_accelerator(masked: Masked, target: str) -> str:
    if masked.accelerator is None:
        return target
    places = [match.span() for match in mask_pattern(masked.stem).finditer(target)] if masked.spans else []
    return masked.accelerator.write_into(target, places, is_unchanged=target == masked.text)


@cache
def _beginning_mask(stem: str) -> re.Pattern[str]:
    return re.compile(rf"\W*+{stem}\s?+[0-9]", re.IGNORECASE)


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
