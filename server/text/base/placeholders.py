"""Placeholders: characters of a private plane of Unicode, each of which replaces markup in a text.

The text of "a <b>big</b> dog<br>" is "a [0 big ]0 dog [1": an opening, a closing and a standalone placeholder, each
with a number. Sentences are split with their placeholders. If the model aligns words, it reads a sentence without
opening and closing placeholders, and `server.text.markup.tags` places these by the alignment. A standalone placeholder
is protected as a URL is (`server.text.protect`), and so is every placeholder if no words are aligned. A
value is a standalone placeholder that a program will replace by a word: at the ends of a sentence it belongs to it. The
placeholder of a glossary's term replaces words (`server.text.protect.pivot_placeholders`).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

_OPENING, _CLOSING, _STANDALONE, _END, _LAST = 0xF0000, 0xF4000, 0xF8000, 0xFC000, 0xFFFFD
MAX_PLACEHOLDERS = _CLOSING - _OPENING
"""Placeholders of one kind in one text, at most."""
_VALUE, _VALUE_END = 0x100000, 0x104000
PLACEHOLDER = re.compile(f"[{chr(_OPENING)}-{chr(_END - 1)}{chr(_VALUE)}-{chr(_VALUE_END - 1)}]")
VALUE_PLACEHOLDER = re.compile(f"[{chr(_VALUE)}-{chr(_VALUE_END - 1)}]")
TERM_PLACEHOLDER = re.compile(f"[{chr(_END)}-{chr(_LAST)}]")
_RESERVED = re.compile(f"[{chr(_OPENING)}-\U0010ffff]")


def opening(number: int) -> str:
    return chr(_OPENING + number)


def closing(number: int) -> str:
    return chr(_CLOSING + number)


def standalone(number: int) -> str:
    return chr(_STANDALONE + number)


def value(number: int) -> str:
    return chr(_VALUE + number)


def term_placeholders() -> Iterator[str]:
    return map(chr, range(_END, _LAST + 1))


def is_opening(placeholder: str) -> bool:
    return opening(0) <= placeholder < closing(0)


def is_closing(placeholder: str) -> bool:
    return closing(0) <= placeholder < standalone(0)


def is_placeholder(part: str) -> bool:
    """Whether `part` is one placeholder and nothing else."""
    return len(part) == 1 and (_OPENING <= ord(part) < _END or is_value(part))


def is_value(placeholder: str) -> bool:
    return _VALUE <= ord(placeholder) < _VALUE_END


def closing_of(placeholder: str) -> str:
    """The closing placeholder that belongs to an opening one."""
    return chr(ord(placeholder) - _OPENING + _CLOSING)


def opening_of(placeholder: str) -> str:
    """The opening placeholder that belongs to a closing one."""
    return chr(ord(placeholder) - _CLOSING + _OPENING)


def without_placeholders(text: str) -> str:
    """`text` with U+FFFD in place of characters that are reserved for placeholders."""
    return _RESERVED.sub("\ufffd", text)


def has_reserved(text: str) -> bool:
    """Whether `text` has characters that are reserved for placeholders."""
    return _RESERVED.search(text) is not None


class TooManyPlaceholders(ValueError):
    """A text has more tags than there are placeholders."""


@dataclass
class PlaceholderText:
    """Builds a text with placeholders. `raw` has the markup of each placeholder."""

    parts: list[str] = field(default_factory=list)
    raw: dict[str, str] = field(default_factory=dict)
    _open: dict[str, list[str]] = field(default_factory=dict)
    """Name of an element -> the placeholders of its open elements, the innermost last."""
    _controls: list[str] = field(default_factory=list)
    """Placeholders that stay in this order."""
    _count: int = 0

    @property
    def text(self) -> str:
        """The text. An opening placeholder without a closing one becomes a standalone one."""
        unclosed = {placeholder for placeholders in self._open.values() for placeholder in placeholders}
        return "".join(standalone(ord(part) - _OPENING) if part in unclosed else part for part in self.parts)

    def add_text(self, text: str) -> None:
        """Append text. Characters that are reserved for placeholders become standalone placeholders of themselves."""
        end = 0
        for match in _RESERVED.finditer(text):
            self.parts.append(text[end : match.start()])
            self.add_standalone(match[0])
            end = match.end()
        self.parts.append(text[end:])

    def open(self, name: str, raw: str) -> None:
        placeholder = opening(self._number())
        self.raw[placeholder] = self.raw[standalone(ord(placeholder) - _OPENING)] = raw
        self.parts.append(placeholder)
        self._open.setdefault(name, []).append(placeholder)

    def close(self, name: str, raw: str) -> None:
        """Close the innermost open element `name`; without one, the closing tag is standalone."""
        if not self.has_open(name):
            self.add_standalone(raw)
            return
        placeholder = closing_of(self._open[name].pop())
        self.raw[placeholder] = raw
        self.parts.append(placeholder)

    def has_open(self, name: str) -> bool:
        """Whether an element `name` is open."""
        return bool(self._open.get(name))

    def add_standalone(self, raw: str) -> None:
        placeholder = standalone(self._number())
        self.raw[placeholder] = raw
        self.parts.append(placeholder)

    def add_control(self, raw: str) -> None:
        """Append a standalone placeholder that never changes places with another one of these: "{% else %}"."""
        self.add_standalone(raw)
        self._controls.append(self.parts[-1])

    def add_value(self, raw: str) -> None:
        placeholder = value(self._number())
        self.raw[placeholder] = raw
        self.parts.append(placeholder)

    def reserve(self, raw: str) -> str:
        """A standalone placeholder of this text that is in a translation only."""
        placeholder = standalone(self._number())
        self.raw[placeholder] = raw
        return placeholder

    def render(self, translation: str, escape: Callable[[str], str]) -> str:
        """The `translation` of `text` with markup in place of placeholders, properly nested, and other text escaped."""
        parts = nested(split_at_placeholders(translation))
        if len(self._controls) > 1:
            parts = in_order(parts, self._controls)
        return "".join(self.raw[part] if is_placeholder(part) else escape(part) for part in parts)

    def _number(self) -> int:
        self._count += 1
        if self._count > MAX_PLACEHOLDERS:
            raise TooManyPlaceholders(f"a paragraph has more than {MAX_PLACEHOLDERS} tags")
        return self._count - 1


def split_at_placeholders(text: str) -> list[str]:
    """Non-empty texts and placeholders in their order."""
    parts: list[str] = []
    end = 0
    for match in PLACEHOLDER.finditer(text):
        parts += (text[end : match.start()], match[0])
        end = match.end()
    return [part for part in (*parts, text[end:]) if part]


def in_order(parts: Sequence[str], ordered: Sequence[str]) -> list[str]:
    """The parts with those that are `ordered`, as far as they are there, in that order at their places."""
    all_ordered = {*ordered}
    places = [at for at, part in enumerate(parts) if part in all_ordered]
    present = {parts[at] for at in places}
    result = list(parts)
    for at, part in zip(places, (part for part in ordered if part in present), strict=False):
        result[at] = part
    return result


def nested(parts: Sequence[str]) -> list[str]:
    """The parts with every element opened before it is closed, and closed before the element around it.

    The parts of a translation may cross, because its words have another order. The ends of an element that is closed
    before it is opened are swapped; an element that would end inside another element ends together with it.
    """
    positions = {part: index for index, part in enumerate(parts) if is_placeholder(part)}
    swapped = list(parts)
    for placeholder, index in positions.items():
        if is_opening(placeholder) and positions.get(closing_of(placeholder), len(parts)) < index:
            swapped[index], swapped[positions[closing_of(placeholder)]] = closing_of(placeholder), placeholder
    result: list[str] = []
    open_elements: list[str] = []
    ended: set[str] = set()
    closable = {opening_of(placeholder) for placeholder in positions if is_closing(placeholder)}
    for part in swapped:
        if is_closing(part):
            ended.add(opening_of(part))
            while open_elements and open_elements[-1] in ended:
                result.append(closing_of(open_elements.pop()))
            continue
        if is_opening(part) and part in closable:
            open_elements.append(part)
        result.append(part)
    return result
