"""Removes the hyphens that a model writes beside masks and that its source lacks.

Models write "X1-Dateien" for "X1 files", as they write "PC-Spiele" for "PC games". A mask that stands for a number, a
tag or an emoji makes no compound: "{count} files" is "{count} Dateien".
"""

import re
from collections.abc import Callable
from itertools import pairwise

_HYPHENS = "-\u2010\u2011"
_DASH = rf"[{_HYPHENS}\u2012-\u2015\u2212]"
_DASH_BEFORE, _DASH_AFTER = re.compile(rf"{_DASH}\s?\Z"), re.compile(rf"\s?{_DASH}")


def replace_invented_hyphens(
    source: str, target: str, mask: re.Pattern[str], makes_compounds: Callable[[int], bool]
) -> str:
    """`target` with blanks in place of hyphens beside masks, except beside masks that have a hyphen or a dash in
    `source` and masks that may be parts of compounds.

    Group 1 of `mask` is the mask's number. A hyphen between two masks becomes a blank if the source has only a blank
    between them. Linear in the lengths of both texts.
    """
    if not any(hyphen in target for hyphen in _HYPHENS):
        return target
    in_source = [(match.span(), match[1]) for match in mask.finditer(source)]
    keeps = {number for _, number in in_source if makes_compounds(int(number))}
    keeps |= {number for (start, end), number in in_source if _has_dash(source, start, end)}
    neighbours = {
        frozenset((first, second))
        for ((_, end), first), ((start, _), second) in pairwise(in_source)
        if source[end:start].isspace()
    }
    spaced_before = {number for (start, _), number in in_source if source[start - 1 : start].isspace()}
    spaced_after = {number for (_, end), number in in_source if source[end : end + 1].isspace()}
    matches = list(mask.finditer(target))
    starts = {match.start(): match[1] for match in matches}
    parts: list[str] = []
    end = 0
    for match in matches:
        number = match[1]
        before, after = match.start() - 1, match.end()
        if before > end and _is_single_hyphen(target, before) and number not in keeps:
            blank = " " if target[before - 1].isalnum() or number in spaced_before else ""
            parts.append(target[end:before] + blank * (not target[before - 1].isspace()))
            end = match.start()
        parts.append(target[end:after])
        end = after
        if not _is_single_hyphen(target, after) or number in keeps:
            continue
        following = starts.get(after + 1)
        if following is not None:
            if following in keeps or frozenset((number, following)) not in neighbours:
                continue
            parts.append(" ")
        elif after + 1 < len(target) and not target[after + 1].isspace():
            parts.append(" " if target[after + 1].isalnum() or number in spaced_after else "")
        end = after + 1
    return "".join([*parts, target[end:]])


def _is_single_hyphen(text: str, position: int) -> bool:
    return (
        0 <= position < len(text)
        and text[position] in _HYPHENS
        and text[position - 1 : position] not in tuple(_HYPHENS)
        and text[position + 1 : position + 2] not in tuple(_HYPHENS)
    )


def _has_dash(source: str, start: int, end: int) -> bool:
    """Whether a hyphen or a dash is beside source[start:end], perhaps after a blank."""
    return bool(_DASH_BEFORE.search(source[max(0, start - 2) : start]) or _DASH_AFTER.match(source, end))
