"""Places the tags of a sentence around the words of its translation that are aligned with the words inside the tags.

The model reads the sentence without tags. If no word inside a tag is aligned, aligned neighbours give its position.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from server.text.base.placeholders import PLACEHOLDER, TERM_PLACEHOLDER, closing_of, is_closing, is_opening, opening_of
from server.text.base.words import Place, words_of

Pair = tuple[Place, Place]
"""The place of a word in the source, and the place of an aligned word in the translation."""


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


def strip_tags(sentence: str) -> tuple[str, tuple[Tag, ...]]:
    """The sentence without opening and closing placeholders, and these placeholders. Standalone placeholders stay."""
    parts: list[str] = []
    tags: list[Tag] = []
    length = end = 0
    for match in PLACEHOLDER.finditer(sentence):
        if is_opening(match[0]) or is_closing(match[0]):
            parts.append(sentence[end : match.start()])
            length += len(parts[-1])
            tags.append(Tag(match[0], length))
            end = match.end()
    return "".join([*parts, sentence[end:]]), tuple(tags)


def place_tags(tags: Sequence[Tag], source: str, target: str, pairs: Sequence[Pair]) -> str:
    """`target` with `tags` around the words that `pairs` align with the enclosed words of `source`; both texts are
    without tags. Tags may cross if the order of words differs: see `server.text.base.placeholders.nested`. Time is
    proportional to the number of tags times the length of the sentence, which a model limits."""
    placeholders: list[tuple[int, int, int, str]] = []
    spans: dict[Place, Place] = {}
    for number, element in enumerate(_elements(tags, len(source))):
        place = (element.start, element.end)
        if place not in spans:
            spans[place] = _span(element, source, target, pairs)
        start, end = spans[place]
        is_empty = start == end
        placeholders.append((start, 1 + is_empty, number, element.opening))
        placeholders.append((end, 2 * is_empty, number if is_empty else -number, element.closing))
    parts: list[str] = []
    last = 0
    for at, _, _, placeholder in sorted(placeholders, key=lambda placed: placed[:3]):
        parts += (target[last:at], placeholder)
        last = at
    return "".join([*parts, target[last:]])


def _elements(tags: Sequence[Tag], length: int) -> list[Element]:
    """Outer elements before inner elements. An element that begins or ends in another sentence begins or ends with this
    sentence."""
    starts = {tag.placeholder: tag.at for tag in tags if is_opening(tag.placeholder)}
    ends = {opening_of(tag.placeholder): tag.at for tag in tags if is_closing(tag.placeholder)}
    continued = [Element(0, ends[opening], "", closing_of(opening)) for opening in ends if opening not in starts]
    opened = [
        Element(at, max(at, ends.get(opening, length)), opening, closing_of(opening) if opening in ends else "")
        for opening, at in starts.items()
    ]
    return [*reversed(continued), *opened]


def _span(element: Element, source: str, target: str, pairs: Sequence[Pair]) -> Place:
    """The place of the element in the target."""
    inside = source[element.start : element.end]
    if not _has_words(inside):
        at = _point(element.start, source, target, pairs)
        return at, at
    if not _has_words(source[: element.start] + source[element.end :]):
        return _around_all(element, source, target)
    aligned = [target_word for word, target_word in pairs if word[0] < element.end and element.start < word[1]]
    if aligned:
        others = [target_word for word, target_word in pairs if word[1] <= element.start or element.end <= word[0]]
        start, end = _best_span(aligned, others)
    else:
        start = _point(element.start, source, target, pairs)
        following = [word for word in words_of(target) if word.start >= start][: len(words_of(inside))]
        start, end = (following[0].start, following[-1].end) if following else (start, start)
    return _include_signs(start, end, inside, target)


def _around_all(element: Element, source: str, target: str) -> Place:
    """The place of an element that encloses all words: signs at the ends are outside as in the source."""
    start = 0 if not source[: element.start].strip() else _first_letter(target)
    end = len(target) if not source[element.end :].strip() else 1 + _last_letter(target)
    return start, end


def _best_span(aligned: Sequence[Place], others: Sequence[Place]) -> Place:
    """The span with the largest number of `aligned` words minus `others`, which are aligned with words outside of the
    element; the first of equal spans. (A span that covers all `aligned` words is right less often: see
    server/RESULTS.md.)"""
    counted = sorted({**dict.fromkeys(others, -1), **dict.fromkeys(aligned, 1)}.items())
    best, most, start, total = counted[0][0], 0, 0, 0
    for place, value in counted:
        if total <= 0:
            start, total = place[0], 0
        total += value
        if total > most:
            best, most = (start, place[1]), total
    return best


def _point(at: int, source: str, target: str, pairs: Sequence[Pair]) -> int:
    """The position in the target for position `at` between two words of the source: beside the target word of the
    nearer aligned neighbour."""
    if not _has_words(source[:at]):
        return 0
    if not _has_words(source[at:]):
        return len(target)
    following = min((pair for pair in pairs if pair[0][0] >= at), default=None)
    previous = max((pair for pair in pairs if pair[0][1] <= at), default=None)
    if previous is not None and (following is None or following[0][0] - at > at - previous[0][1]):
        return previous[1][1]
    return following[1][0] if following is not None else len(target)


def _include_signs(start: int, end: int, inside: str, target: str) -> Place:
    """The span extended by quotes and other signs at its ends, if the element has signs at the same end."""
    inside = inside.strip()
    if not _has_words(inside[0]):
        while start > 0 and _is_sign(target[start - 1]):
            start -= 1
    if not _has_words(inside[-1]):
        while end < len(target) and _is_sign(target[end]):
            end += 1
    return start, end


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text)) or bool(TERM_PLACEHOLDER.search(text))


def _is_sign(character: str) -> bool:
    return not (_has_words(character) or character.isspace() or PLACEHOLDER.match(character))


def _first_letter(text: str) -> int:
    return next((place for place, char in enumerate(text) if _has_words(char)), 0)


def _last_letter(text: str) -> int:
    return len(text) - 1 - _first_letter(text[::-1])
