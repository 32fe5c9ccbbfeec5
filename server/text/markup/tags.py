"""Places the tags of a sentence around the words of its translation that are aligned with the words inside the tags.

The model reads the sentence without tags. If no word inside a tag is aligned, aligned neighbours give its position.
A tag inside a word stays inside a word. A standalone placeholder is where the model has written it, unless it would
then leave an element or enter another: an element keeps what it holds.
"""

from collections.abc import Collection, Sequence

from server.text.base.placeholders import PLACEHOLDER, TERM_PLACEHOLDER, closing_of, is_closing, is_opening, opening_of
from server.text.base.words import Place, words_of
from server.text.markup.standalone_placeholders import Element, Key, Tag, move_placeholders, standalone_placeholders

_MOST_BESIDE = 4
"""Elements before another one that are compared with it."""
Pair = tuple[Place, Place]
"""The place of a word in the source, and the place of an aligned word in the translation."""


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
    groups = standalone_placeholders(tags, source, [_has_words(character) for character in source])
    held = {placeholder for group in groups if len(group.text) > 1 for placeholder in group.text}
    keys: list[Key] = []
    spans: dict[Element, Place] = {}
    by_place: dict[Place, Place] = {}
    elements = [element for element in _elements(tags, len(source)) if element.opening not in held]
    for element in elements:
        place = (element.start, element.end)
        if place not in by_place:
            by_place[place] = _span(element, source, target, pairs)
    _separate(by_place, target)
    for number, element in enumerate(elements):
        spans[element] = start, end = by_place[(element.start, element.end)]
        is_empty = start == end
        keys.append((start, 1 + is_empty, number, element.opening))
        keys.append((end, 2 * is_empty, number if is_empty else -number, element.closing))
    moved, removed = move_placeholders(groups, spans, source, target)
    parts: list[str] = []
    last = 0
    for at, _, _, placeholder in sorted([*keys, *moved], key=lambda key: key[:3]):
        parts += (_without(target, last, at, removed), placeholder)
        last = at
    return "".join([*parts, _without(target, last, len(target), removed)])


def _separate(by_place: dict[Place, Place], target: str) -> None:
    """Elements that stand beside each other in the source do so in the target: where one has the words of the other,
    too, it has only those before or behind these."""
    beside: list[Place] = []
    """Places in the source that end before the present one, the last ones at the end."""
    opened: list[Place] = []
    for place in sorted(by_place):
        ended = [before for before in opened if before[1] <= place[0]]
        around = [before for before in opened if before[1] > place[0]]
        opened = [*around[-_MOST_BESIDE:], place]
        beside = [*beside, *ended][-_MOST_BESIDE:]
        for other in beside:
            if other[1] > other[0] and place[1] > place[0]:
                by_place[other], by_place[place] = _apart(by_place[other], by_place[place], target)


def _apart(first: Place, second: Place, target: str) -> tuple[Place, Place]:
    """Two spans, the longer one without what both have, if words remain of it."""
    if first[1] <= second[0] or second[1] <= first[0] or first == second:
        return first, second
    shorter, longer = sorted((first, second), key=lambda place: place[1] - place[0])
    parts = [(longer[0], max(longer[0], shorter[0])), (min(longer[1], shorter[1]), longer[1])]
    start, end = max(parts, key=lambda part: part[1] - part[0])
    inside = target[start:end]
    start, end = start + len(inside) - len(inside.lstrip()), end - len(inside) + len(inside.rstrip())
    if start >= end or not _has_words(target[start:end]):
        return first, second
    return ((start, end), second) if longer == first else (first, (start, end))


def _without(text: str, start: int, end: int, removed: Collection[int]) -> str:
    """The text from `start` to `end` without the characters at some positions."""
    return "".join(text[at] for at in range(start, end) if at not in removed) if removed else text[start:end]


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
        return _nearest(inside.strip(), target, at)
    if not _has_words(source[: element.start] + source[element.end :]):
        return _around_all(element, source, target)
    aligned = [
        target_word
        for source_word, target_word in pairs
        if source_word[0] < element.end and element.start < source_word[1]
    ]
    word = _word_around(element, source)
    if word is not None and (place := _inside_word(element, word, source, target, aligned)) is not None:
        return place
    if aligned:
        others = [target_word for other, target_word in pairs if other[1] <= element.start or element.end <= other[0]]
        start, end = _best_span(aligned, others)
    else:
        start = _point(element.start, source, target, pairs)
        following = [word for word in words_of(target) if word.start >= start][: len(words_of(inside))]
        start, end = (following[0].start, following[-1].end) if following else (start, start)
    return _include_signs(start, end, inside, target)


def _nearest(signs: str, target: str, at: int) -> Place:
    """The place of these signs that is nearest to a position; the position itself if the target lacks them."""
    after, before = target.find(signs, at), target.rfind(signs, 0, at)
    if not signs or (after < 0 and before < 0):
        return at, at
    start = after if before < 0 or 0 <= after - at <= at - before - len(signs) else before
    return start, start + len(signs)


def _word_around(element: Element, source: str) -> Place | None:
    """The word that the element is a part of; None if it is of whole words."""
    start, end = element.start, element.end
    if not (_is_in_word(source, start) or _is_in_word(source, end)):
        return None
    return next(((word.start, word.end) for word in words_of(source) if word.start <= start and end <= word.end), None)


def _is_in_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def _inside_word(element: Element, word: Place, source: str, target: str, aligned: Sequence[Place]) -> Place | None:
    """The part of a word of the target that comes from a part of a word: the same letters at the same place, else the
    same letters, else as much of its beginning, end or middle. None if no word comes from the word."""
    (start, end), inner = word, _folded(source[element.start : element.end])
    whole, before = _folded(source[start:end]), element.start - start
    places = aligned or [(at, at + len(whole)) for at in [_folded(target).find(whole)] if at >= 0]
    if not places:
        return None
    words = [(at, _folded(target[at:to])) for at, to in places]
    until = element.end - start
    for at, text in words:
        if text[:until] == whole[:until]:
            return at + before, at + until
    for at, text in words:
        if inner in text:
            result = text.rfind(inner) if element.end == end else text.find(inner)
            return at + result, at + result + len(inner)
    at, text = words[0]
    length = min(len(inner), len(text))
    if not before:
        return at, at + length
    if element.end == end:
        return at + len(text) - length, at + len(text)
    middle = min(before, len(text) - length)
    return at + middle, at + middle + length


def _folded(text: str) -> str:
    """In small letters, of the same length: neither "\u00df" nor "\u0130" becomes two characters."""
    return "".join(small if len(small := char.lower()) == 1 else char for char in text)


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
    """The span extended by quotes and other signs at its ends, if the element has signs at the same end. A
    standalone placeholder is no sign: the reading at the end of a ruby is none."""
    inside = PLACEHOLDER.sub("", inside).strip()
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
