"""Marks: single characters of a private plane of Unicode that stand in a text for what is not text.

The text of "a <b>big</b> dog<br>" is "a [b big ]b dog [br": an opening, a closing and a lone mark, each with its number
in the list of what it stands for. Sentences are cut with their marks. Where the model aligns words, it reads a sentence
without opening and closing marks, and these are placed round the words that come from theirs
(`server.text.markup.tags`). A lone mark, and every mark where no words are aligned, is protected as a URL is, so that
the model itself carries it to its place (`server.text.protect.protection`). So is the mark of a term, which stands for
words (`server.text.protect.pivot_placeholders`).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

_OPENING, _CLOSING, _LONE, _END, _LAST = 0xF0000, 0xF4000, 0xF8000, 0xFC000, 0xFFFFD
MAX_PLACEHOLDERS = _CLOSING - _OPENING
"""Marks of one kind in one text, at most."""
MARK = re.compile(f"[{chr(_OPENING)}-{chr(_END - 1)}]")
TERM_PLACEHOLDER = re.compile(f"[{chr(_END)}-{chr(_LAST)}]")
_STRANGE = re.compile(f"[{chr(_OPENING)}-\U0010ffff]")


def opening(number: int) -> str:
    return chr(_OPENING + number)


def closing(number: int) -> str:
    return chr(_CLOSING + number)


def lone(number: int) -> str:
    return chr(_LONE + number)


def term_placeholders() -> Iterator[str]:
    """All of them."""
    return map(chr, range(_END, _LAST + 1))


def is_opening(mark: str) -> bool:
    return opening(0) <= mark < closing(0)


def is_closing(mark: str) -> bool:
    return closing(0) <= mark < lone(0)


def is_placeholder(part: str) -> bool:
    """Whether `part` is one mark and nothing else."""
    return len(part) == 1 and _OPENING <= ord(part) < _END


def closing_of(mark: str) -> str:
    """The closing mark of an opening one."""
    return chr(ord(mark) - _OPENING + _CLOSING)


def opening_of(mark: str) -> str:
    """The opening mark of a closing one."""
    return chr(ord(mark) - _CLOSING + _OPENING)


def without_placeholders(text: str) -> str:
    """`text` with U+FFFD for characters that look like marks."""
    return _STRANGE.sub("\ufffd", text)


class TooManyPlaceholders(ValueError):
    """One text has more tags than there are marks."""


@dataclass
class PlaceholderText:
    """A text and what its marks stand for, in the making."""

    parts: list[str] = field(default_factory=list)
    raw: dict[str, str] = field(default_factory=dict)
    _open: dict[str, list[str]] = field(default_factory=dict)
    """By the name of what is open, its marks: the last one opened is the first to be closed."""
    _count: int = 0

    @property
    def text(self) -> str:
        """The text with its marks; those that were opened and never closed are lone ones."""
        unclosed = {mark for marks in self._open.values() for mark in marks}
        return "".join(lone(ord(part) - _OPENING) if part in unclosed else part for part in self.parts)

    def add_text(self, text: str) -> None:
        """Characters that look like marks become what they are: no text."""
        end = 0
        for match in _STRANGE.finditer(text):
            self.parts.append(text[end : match.start()])
            self.add_standalone(match[0])
            end = match.end()
        self.parts.append(text[end:])

    def open(self, name: str, raw: str) -> None:
        mark = opening(self._number())
        self.raw[mark] = self.raw[lone(ord(mark) - _OPENING)] = raw
        self.parts.append(mark)
        self._open.setdefault(name, []).append(mark)

    def close(self, name: str, raw: str) -> None:
        """Close the last one of that name; those inside of it that are open stay lone."""
        if not self.has_open(name):
            self.add_standalone(raw)
            return
        mark = closing_of(self._open[name].pop())
        self.raw[mark] = raw
        self.parts.append(mark)

    def has_open(self, name: str) -> bool:
        """Whether something of that name is open."""
        return bool(self._open.get(name))

    def add_standalone(self, raw: str) -> None:
        mark = lone(self._number())
        self.raw[mark] = raw
        self.parts.append(mark)

    def render(self, translation: str, escape: Callable[[str], str]) -> str:
        """`translation` of `text` with what the marks stand for, properly nested, and the rest escaped."""
        return "".join(
            self.raw[part] if is_placeholder(part) else escape(part)
            for part in nested(split_at_placeholders(translation))
        )

    def _number(self) -> int:
        self._count += 1
        if self._count > MAX_PLACEHOLDERS:
            raise TooManyPlaceholders(f"a paragraph has more than {MAX_PLACEHOLDERS} tags")
        return self._count - 1


def split_at_placeholders(text: str) -> list[str]:
    """Texts and marks in turn; empty texts are left out."""
    parts: list[str] = []
    end = 0
    for match in MARK.finditer(text):
        parts += (text[end : match.start()], match[0])
        end = match.end()
    return [part for part in (*parts, text[end:]) if part]


def nested(parts: Sequence[str]) -> list[str]:
    """The parts with every element opened before it is closed, and closed before the one around it.

    A translation may have them otherwise: its words stand in another order. An element that was closed first has its
    ends swapped; one that would end inside another ends with that.
    """
    place = {part: index for index, part in enumerate(parts) if is_placeholder(part)}
    swapped = list(parts)
    for mark, index in place.items():
        if is_opening(mark) and place.get(closing_of(mark), len(parts)) < index:
            swapped[index], swapped[place[closing_of(mark)]] = closing_of(mark), mark
    result: list[str] = []
    is_open: list[str] = []
    waiting: set[str] = set()
    closable = {opening_of(mark) for mark in place if is_closing(mark)}
    for part in swapped:
        if is_closing(part):
            waiting.add(opening_of(part))
            while is_open and is_open[-1] in waiting:
                result.append(closing_of(is_open.pop()))
            continue
        if is_opening(part) and part in closable:
            is_open.append(part)
        result.append(part)
    return result
