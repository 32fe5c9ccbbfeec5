"""Standalone placeholders and the elements around them: an element keeps what it holds, wherever the model has written
the placeholders.

Positions are indices of characters; a placeholder is one character.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from server.text.base.placeholders import PLACEHOLDER, closing_of, is_closing, is_opening, opening_of
from server.text.base.words import Place

Key = tuple[int, int, float, str]
"""A position in the target, the order of what is inserted there (two numbers), and the inserted text."""


@dataclass(frozen=True)
class Tag:
    """An opening or closing placeholder, and its position in the sentence without tags."""

    placeholder: str
    at: int


@dataclass(frozen=True)
class Element:
    """The text from `start` to `end` between two placeholders; "" for a placeholder in another sentence."""

    start: int
    end: int
    opening: str
    closing: str


@dataclass(frozen=True)
class Standalone:
    """Standalone placeholders that stay together, from `start` to `end` of the source. `text` has them, and the tags of
    elements that hold nothing else."""

    start: int
    end: int
    text: str
    placeholders: tuple[str, ...]


def standalone_placeholders(tags: Sequence[Tag], source: str, is_word: Sequence[bool]) -> list[Standalone]:
    """The standalone placeholders of a sentence, in order; `is_word` has for every character whether a word has it."""
    places = [match.start() for match in PLACEHOLDER.finditer(source)]
    if not places:
        return []
    words = [at for at, is_one in enumerate(is_word) if is_one]
    last = {tag.placeholder: number for number, tag in enumerate(tags)}
    results: list[Standalone] = []
    end = number = 0
    while number < len(tags):
        tag = tags[number]
        closing = last.get(closing_of(tag.placeholder), -1) if is_opening(tag.placeholder) else -1
        to = tags[closing].at
        if closing > number and _any_between(places, tag.at, to) and not _any_between(words, tag.at, to):
            results += [_alone(source, at) for at in places[bisect_left(places, end) :] if at < tag.at]
            results.append(_together(tags, number, closing, source, last))
            end, number = to, closing
        number += 1
    return [*results, *(_alone(source, at) for at in places[bisect_left(places, end) :])]


def _alone(source: str, at: int) -> Standalone:
    return Standalone(at, at + 1, source[at], (source[at],))


def _any_between(places: Sequence[int], start: int, end: int) -> bool:
    """Whether one of the places, which are in order, is between the two."""
    number = bisect_left(places, start)
    return number < len(places) and places[number] < end


def _together(tags: Sequence[Tag], first: int, last: int, source: str, numbers: Mapping[str, int]) -> Standalone:
    """The placeholders that the tags from `first` to `last` enclose, and these tags, without signs and spaces."""
    start, end = tags[first].at, tags[last].at
    parts: list[str] = []
    placeholders: list[str] = []
    at = start
    for tag in tags[first : last + 1]:
        partner = opening_of(tag.placeholder) if is_closing(tag.placeholder) else closing_of(tag.placeholder)
        result = PLACEHOLDER.findall(source, at, tag.at)
        placeholders += result
        parts += result
        at = tag.at
        if first <= numbers.get(partner, -1) <= last:
            parts.append(tag.placeholder)
    return Standalone(start, end, "".join(parts), tuple(placeholders))


def move_placeholders(
    groups: Sequence[Standalone], spans: Mapping[Element, Place], source: str, target: str
) -> tuple[list[Key], frozenset[int]]:
    """Insertions, and positions of `target` whose characters are left out, that put every placeholder inside of the
    elements that enclose it in the source. `spans`: the place of every element in the target, outer elements first."""
    places = {match[0]: match.start() for match in PLACEHOLDER.finditer(target)}
    keys: list[Key] = []
    removed: set[int] = set()
    for group in groups:
        at = places.get(group.placeholders[0])
        if at is None:
            if len(group.text) > 1:  # its tags are not lost with it
                keys.append((len(target), 3, 0, group.text))
            continue
        key = _key(group, at, spans, source)
        if key is None and group.text == group.placeholders[0]:
            continue
        gaps = {places[placeholder] for placeholder in group.placeholders if placeholder in places}
        if key is not None:
            gaps |= {_space_beside(target, gap) for gap in gaps if _space_beside(target, gap) >= 0}
        removed |= gaps
        keys.append(key or (at, 3, 0, group.text))
    return keys, frozenset(removed)


def _key(group: Standalone, at: int, spans: Mapping[Element, Place], source: str) -> Key | None:
    """The insertion for placeholders that the target has at `at`; None if they are at the right place."""
    around = (-1, Element(0, len(source), "", ""), (0, len(source)))
    wrong: tuple[int, Element, Place] | None = None
    for number, (element, (start, end)) in enumerate(spans.items()):
        if (
            element.start <= group.start
            and group.end <= element.end
            and (element.start, element.end) != (group.end, group.end)
        ):
            if start < end and element.start < element.end:
                around = (number, element, (start, end))
        elif wrong is None and start <= at < end:
            wrong = (number, element, (start, end))
    number, element, (start, end) = around
    if number >= 0 and not start <= at < end:
        text = source[element.start : element.end]
        before = text[: group.start - element.start]
        if any(map(str.isalnum, before)):
            return end, 0, -number - 0.5, _spaced_before(group, source)
        return start, 1, number + 0.5, _spaced_after(group, source)
    if wrong is None:
        return None
    number, element, (start, end) = wrong
    if group.start < element.start:
        return start, 1, number - 0.5, _spaced_after(group, source)
    return end, 0, -number + 0.5, _spaced_before(group, source)


def _spaced_before(group: Standalone, source: str) -> str:
    return " " + group.text if source[group.start - 1 : group.start] == " " else group.text


def _spaced_after(group: Standalone, source: str) -> str:
    return group.text + " " if source[group.end : group.end + 1] == " " else group.text


def _space_beside(target: str, at: int) -> int:
    """The position of a space that is superfluous without the placeholder at `at`; -1 for none."""
    before, after = target[at - 1 : at] if at else "", target[at + 1 : at + 2]
    if after == " " and before in ("", " "):
        return at + 1
    return at - 1 if before == " " and (after == "" or not after.isalnum()) else -1
