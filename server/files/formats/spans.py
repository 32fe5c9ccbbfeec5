"""A text file of which only some spans are written anew."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from server.files.formats.base import Budget, OpenedFile


class Span(NamedTuple):
    """The characters from `start` to `end` (exclusive) of a file. `write` makes what takes their place from the
    translations of `texts`. Unless the span `is_added`, its characters stay where translations equal their texts."""

    start: int
    end: int
    texts: tuple[str, ...]
    write: Callable[[Sequence[str]], str]
    is_added: bool = False


def value(start: int, end: int, text: str, write: Callable[[str], str]) -> Span:
    """A span of one text."""
    return Span(start, end, (text,), lambda translations: write(translations[0]))


def replacement(start: int, end: int, content: str) -> Span:
    """A span that becomes `content`, whatever is translated."""
    return Span(start, end, (), lambda _: content, is_added=True)


def translated(at: int) -> Span:
    """Stands for texts at `at` that have a translation already."""
    return Span(at, at, (), lambda _: "")


def with_spans(text: str, spans: Sequence[Span], translations: Sequence[str]) -> str:
    """The characters with the translations of its `spans`, which are in order. Raises ValueError if there are more or
    fewer than texts."""
    parts: list[str] = []
    end = first = 0
    for span in spans:
        own = tuple(translations[first : first + len(span.texts)])
        first += len(span.texts)
        if span.is_added or own != span.texts:
            parts += (text[end : span.start], span.write(own))
            end = span.end
    if first != len(translations):
        raise ValueError(f"{len(translations)} translations of {first} texts")
    return "".join([*parts, text[end:]])


def opened(
    text: str, encode: Callable[[str], bytes], spans: Iterable[Span], budget: Budget, notes: list[str] | None = None
) -> OpenedFile:
    """A file of these characters, with its `spans`, which do not overlap. `notes` is the file's own list, to which
    `encode` may add. Raises FileTooLarge, and what the iterator `spans` raises."""
    kept: list[Span] = []
    for span in spans:
        for source in span.texts:
            budget.spend(source)
        kept.append(span)
    kept.sort(key=lambda span: span.start)

    def write(translations: Sequence[str]) -> bytes:
        return encode(with_spans(text, kept, translations))

    num_done = sum(not span.texts and not span.is_added for span in kept)
    texts = [source for span in kept for source in span.texts]
    return OpenedFile(texts, write, [] if notes is None else notes, num_done)
