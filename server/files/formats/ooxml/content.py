"""What a paragraph holds: texts, breaks, marks that stand between texts, and spans that enclose some of these."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from server.files.formats.ooxml.nodes import Node


@dataclass(frozen=True, eq=False)
class Run:
    """Text of one formatting: its tag, its `properties`, and what a reader sees of these."""

    node: Node
    properties: Node | None
    visible_format: Hashable
    text_name: bytes
    """The name of its elements of text, "w:t"; empty if its text stands in no element of its own."""

    @property
    def num_bytes(self) -> int:
        """Bytes of its tag and its properties."""
        properties = self.properties
        return self.node.inner - self.node.start + (0 if properties is None else properties.end - properties.start)


@dataclass(frozen=True, eq=False)
class Format:
    """Text that looks like `run`, and other than most of its paragraph."""

    run: Run


@dataclass(frozen=True)
class Atom:
    """Bytes from `start` to `end` that stay together: inside of a run, or with their own."""

    run: Run | None
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Text:
    """A piece of text in a run."""

    run: Run
    text: str
    atom: Atom

    @property
    def atoms(self) -> tuple[Atom, ...]:
        return (self.atom,)


Kind = Literal["content", "point", "hidden", "break", "character"]


@dataclass(eq=False)
class Mark:
    """What is no text. "content" stands in a sentence as a word does: a picture, a number that is computed; a "point"
    is a place between words: a footnote, the start of a bookmark; "hidden" is a place that nobody sees; a "break" ends
    a sentence: `character` is a line feed or a tab. A "character" is one of the text (a hyphen) that is written as an
    element: it stands where the translation has that character. What is `in_order` stays in its order."""

    kind: Kind
    atoms: tuple[Atom, ...]
    in_order: bool = False
    character: str = ""
    is_plain_line_break: bool = False
    """Whether it may stand inside of a sentence."""
    field: str = ""
    """What it is of a field: begin, instruction, separate or end."""
    instruction: str = ""


@dataclass(eq=False)
class Span:
    """An element that encloses others, or what begins and ends a field: `opening` and `closing` are written as they
    are, round what is inside of them."""

    opening: tuple[Atom, ...]
    closing: tuple[Atom, ...]
    items: "Sequence[Item]"
    in_order: bool = field(default=False)

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """All of it, as it is."""
        first, last = self.opening[0], self.closing[-1]
        if first.run is None and last.run is None:
            return (Atom(None, first.start, last.end),)
        return (*self.opening, *(atom for item in self.items for atom in item.atoms), *self.closing)


Item = Text | Mark | Span


def mark_of(items: Sequence[Item], atoms: tuple[Atom, ...]) -> Mark | None:
    """What an element of these `atoms` is that holds no text: the breaks in it, or its only character; None if it is
    neither."""
    if any(isinstance(item, Text) and item.text.strip() for item in leaves(items)):
        return None
    inside = [item for item in leaves(items) if isinstance(item, Mark)]
    if len(inside) == 1 and inside[0].kind == "character":
        return Mark("character", atoms, character=inside[0].character)
    breaks = [mark for mark in inside if mark.kind == "break"]
    if not breaks:
        return None
    is_plain = len(inside) == 1 and breaks[0].is_plain_line_break
    return Mark("break", atoms, True, breaks[-1].character, is_plain)


def leaves(items: Sequence[Item]) -> Iterator[Text | Mark]:
    """All texts and marks, in order."""
    for item in items:
        if isinstance(item, Span):
            yield from leaves(item.items)
        else:
            yield item
