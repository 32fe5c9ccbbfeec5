"""Where what a paragraph holds stands in its translation: everything once, inside of what it was inside of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from server.files.formats.ooxml.content import Item, Mark, Span

Places = Mapping[int, tuple[int, int]]
"""By the id of a mark or a span, where it begins and ends in the translation: indices of its tokens."""


@dataclass
class Placed:
    """A mark or span from token `start` to token `end`; `number` is its place among its siblings."""

    start: int
    end: int
    number: int
    item: Mark | Span


def laid_out(items: Sequence[Item], places: Places, texts: Sequence[int], low: int, high: int) -> list[Placed]:
    """The marks and spans of one element that goes from token `low` to token `high`, in their order in the translation,
    none inside of another. `texts[i]` is the number of characters before token i. O(n log n)."""
    results: list[Placed] = []
    before, last_in_order = low, low
    for number, item in enumerate(items):
        if not isinstance(item, Mark | Span):
            continue
        if isinstance(item, Mark) and item.kind == "character" and id(item) not in places:
            continue  # the translation lacks it, as it may lack a letter
        start, end = places.get(id(item), (before, before))
        end = start if isinstance(item, Mark) else end
        start, end = min(max(start, low), high), min(max(end, low), high)
        if item.in_order:
            start = max(start, last_in_order)
            end = max(start, end)
            last_in_order = end
        results.append(Placed(start, end, number, item))
        before = end
    results.sort(key=lambda placed: (placed.start, placed.number))
    return list(_apart(results, texts))


def _apart(found: Sequence[Placed], texts: Sequence[int]) -> Iterator[Placed]:
    """None inside of another: a mark goes to the side of a span that it was on; of two spans the first ends where the
    second begins, if it then has text."""
    last: Placed | None = None
    after: list[Placed] = []
    """Marks inside of `last` that stand after it."""
    for placed in found:
        if last is not None and placed.start >= last.end:
            yield last
            yield from after
            last, after = None, []
        if last is None:
            if isinstance(placed.item, Span):
                last = placed
            else:
                yield placed
        elif isinstance(placed.item, Mark):
            if placed.number < last.number:
                placed.start = placed.end = last.start
                yield placed
            else:
                placed.start = placed.end = last.end
                after.append(placed)
        else:
            if texts[placed.start] > texts[last.start] and not after:
                last.end = placed.start
            else:
                placed.start = last.end
                placed.end = max(placed.start, placed.end)
            yield last
            yield from after
            last, after = placed, []
    if last is not None:
        yield last
    yield from after
