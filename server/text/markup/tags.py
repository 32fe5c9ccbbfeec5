"""Sets the tags of a sentence round those words of its translation that come from the words that they enclose.

The model reads the sentence without tags. Where no enclosed word is aligned, aligned neighbours give the place.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from server.text.base.placeholders import MARK, TERM_PLACEHOLDER, closing_of, is_closing, is_opening, opening_of
from server.text.base.words import Place, words_of

Pair = tuple[Place, Place]
"""The place of a word in the source, and of a word in the translation that comes from it."""


@dataclass(frozen=True)
class Tag:
    """An opening or closing mark, and how many characters of the sentence without tags stand before it."""

    mark: str
    at: int


@dataclass(frozen=True)
class Element:
    """What stands from `start` to `end` between two marks; "" for one that is in another sentence."""

    start: int
    end: int
    opening: str
    closing: str


def lift(sentence: str) -> tuple[str, tuple[Tag, ...]]:
    """The sentence without its opening and closing marks, and these marks. Lone marks stay: they stand for content."""
    parts: list[str] = []
    tags: list[Tag] = []
    length = end = 0
    for match in MARK.finditer(sentence):
        if is_opening(match[0]) or is_closing(match[0]):
            parts.append(sentence[end : match.start()])
            length += len(parts[-1])
            tags.append(Tag(match[0], length))
            end = match.end()
    return "".join([*parts, sentence[end:]]), tuple(tags)


def place_tags(tags: Sequence[Tag], source: str, target: str, pairs: Sequence[Pair]) -> str:
    """`target` with `tags` round the words that `pairs` align with the words enclosed in `source`; both texts come
    without tags. Tags may cross where words changed their order: see `server.text.base.placeholders.nested`.
    Its time grows with the number of tags, times the length of the sentence, which a model limits."""
    marks: list[tuple[int, int, int, str]] = []
    spans: dict[Place, Place] = {}
    for number, element in enumerate(_elements(tags, len(source))):
        place = (element.start, element.end)
        if place not in spans:
            spans[place] = _span(element, source, target, pairs)
        start, end = spans[place]
        is_empty = start == end
        marks.append((start, 1 + is_empty, number, element.opening))
        marks.append((end, 2 * is_empty, number if is_empty else -number, element.closing))
    parts: list[str] = []
    last = 0
    for at, _, _, mark in sorted(marks, key=lambda one: one[:3]):
        parts += (target[last:at], mark)
        last = at
    return "".join([*parts, target[last:]])


def _elements(tags: Sequence[Tag], length: int) -> list[Element]:
    """Outer elements before inner ones. One whose other end is in another sentence begins or ends with this one."""
    starts = {tag.mark: tag.at for tag in tags if is_opening(tag.mark)}
    ends = {opening_of(tag.mark): tag.at for tag in tags if is_closing(tag.mark)}
    from_before = [Element(0, ends[mark], "", closing_of(mark)) for mark in ends if mark not in starts]
    here = [
        Element(at, max(at, ends.get(mark, length)), mark, closing_of(mark) if mark in ends else "")
        for mark, at in starts.items()
    ]
    return [*reversed(from_before), *here]


def _span(element: Element, source: str, target: str, pairs: Sequence[Pair]) -> Place:
    """Where the element stands in the target."""
    inside = source[element.start : element.end]
    if not _has_words(inside):
        at = _point(element.start, source, target, pairs)
        return at, at
    if not _has_words(source[: element.start] + source[element.end :]):
        return _around_all(element, source, target)
    own = [theirs for ours, theirs in pairs if ours[0] < element.end and element.start < ours[1]]
    if own:
        others = [theirs for ours, theirs in pairs if ours[1] <= element.start or element.end <= ours[0]]
        start, end = _best_span(own, others)
    else:
        start = _point(element.start, source, target, pairs)
        following = [one for one in words_of(target) if one.start >= start][: len(words_of(inside))]
        start, end = (following[0].start, following[-1].end) if following else (start, start)
    return _with_signs(start, end, inside, target)


def _around_all(element: Element, source: str, target: str) -> Place:
    """The place of an element that encloses all words: signs at the ends are outside of it where the source has them
    outside."""
    start = 0 if not source[: element.start].strip() else _first_letter(target)
    end = len(target) if not source[element.end :].strip() else 1 + _last_letter(target)
    return start, end


def _best_span(own: Sequence[Place], others: Sequence[Place]) -> Place:
    """The span with most words of `own` less words of `others`, which come from outside of the element; the first
    among equals. (A span that always covers all of `own` is right less often: see server/RESULTS.md.)"""
    counted = sorted({**dict.fromkeys(others, -1), **dict.fromkeys(own, 1)}.items())
    best, most, start, total = counted[0][0], 0, 0, 0
    for place, worth in counted:
        if total <= 0:
            start, total = place[0], 0
        total += worth
        if total > most:
            best, most = (start, place[1]), total
    return best


def _point(at: int, source: str, target: str, pairs: Sequence[Pair]) -> int:
    """The position in the target for position `at`, between two words of the source: next to what the nearer aligned
    neighbour became."""
    if not _has_words(source[:at]):
        return 0
    if not _has_words(source[at:]):
        return len(target)
    following = min((pair for pair in pairs if pair[0][0] >= at), default=None)
    previous = max((pair for pair in pairs if pair[0][1] <= at), default=None)
    if previous is not None and (following is None or following[0][0] - at > at - previous[0][1]):
        return previous[1][1]
    return following[1][0] if following is not None else len(target)


def _with_signs(start: int, end: int, inside: str, target: str) -> Place:
    """The span with quotes and the like at its ends, where the element has some at its own."""
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
    return not (_has_words(character) or character.isspace() or MARK.match(character))


def _first_letter(text: str) -> int:
    return next((place for place, one in enumerate(text) if _has_words(one)), 0)


def _last_letter(text: str) -> int:
    return len(text) - 1 - _first_letter(text[::-1])
