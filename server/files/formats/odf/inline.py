"""What stands in a paragraph, while it is read."""

from typing import Literal, Self

from server.files.formats.odf import names
from server.files.formats.ooxml.content import Atom, Item, Mark, Run, Span, Text, leaves, mark_of
from server.files.formats.ooxml.nodes import Node

Role = Literal["outside", "paragraph", "span", "ruby", "base", "mark", "label"]
"""What an element is: outside of paragraphs, a paragraph, an element of a sentence with words in it, such an element
with a pronunciation beside its words, these words, an element of a sentence that has none, or a text of one piece."""
_PLAIN = Run(Node("", "", 0, 0, {}), None, None, b"")
"""Text without an element of its own."""


class Frame:
    """An element from byte `start` to byte `end`, which is where its tag ends until it has ended; what it holds is from
    `inner` to `inner_end`."""

    __slots__ = (
        "around", "cell", "end", "inner", "inner_end", "is_after_space", "is_field", "is_floating", "items", "name",
        "num_spaces", "role", "start", "texts",
    )  # fmt: skip

    def __init__(self, role: Role, start: int = 0, inner: int = 0, name: str = "") -> None:
        self.role, self.start, self.inner, self.name = role, start, inner, name
        self.inner_end = self.end = inner
        self.items: list[Item] = []
        self.texts: list[str] = []
        self.is_floating = False
        self.is_field = False
        """Whether it is a field that may have words."""
        self.cell = ""
        """ "words" or "computed" for a cell of a table."""
        self.num_spaces = 0
        self.is_after_space = True
        """Of a paragraph: whether a space would be ignored here."""
        self.around: Self | None = None
        """The paragraph around."""

    def add_text(self, text: str) -> None:
        """Append text, whose spaces are single."""
        paragraph = self.around or self
        if paragraph.is_after_space and text.startswith(" "):
            text = text[1:]
        if text:
            paragraph.is_after_space = text.endswith(" ")
            self.items.append(Text(_PLAIN, text, Atom(None, 0, 0)))

    def add(self, frame: "Frame") -> None:
        """Append an element that has ended."""
        if frame.num_spaces:
            self._add_spaces(frame)
            return
        item = _item(frame)
        if isinstance(item, Mark) and item.kind in ("content", "break"):
            (self.around or self).is_after_space = item.kind == "break"
        self.items.append(item)

    def _add_spaces(self, frame: "Frame") -> None:
        """The first of several spaces divides words; the others are kept where they are."""
        if not (self.around or self).is_after_space:
            self.add_text(" ")
            if frame.num_spaces == 1:
                return
        spaces = Mark("hidden", (_whole(frame),))
        last = self.items[-1] if self.items else None
        if isinstance(last, Text) and last.text.endswith(" "):  # they stay at the end of the word
            self.items[-1:] = Text(last.run, last.text[:-1], last.atom), spaces, Text(last.run, " ", last.atom)
        else:
            self.items.append(spaces)


def _item(frame: Frame) -> Item:
    name = frame.name
    atoms = (_whole(frame),)
    if name in names.BREAKS:
        return Mark("break", atoms, True, names.BREAKS[name], name != "text:tab")
    if name in names.IN_ORDER:
        return Mark("point", atoms, True)
    if name in names.HIDDEN:
        return Mark("hidden", atoms)
    if frame.role not in ("span", "ruby"):
        return Mark("point" if frame.is_floating or name == "text:note" else "content", atoms)
    inside = list(leaves(frame.items))
    in_order = any(isinstance(item, Mark) and item.in_order for item in inside)
    if (mark := mark_of(frame.items, atoms)) is not None:
        return mark
    if any(isinstance(item, Text) for item in inside):
        opening, closing = Atom(None, frame.start, frame.inner), Atom(None, frame.inner_end, frame.end)
        return Span((opening,), (closing,), frame.items, in_order)
    if all(isinstance(item, Mark) and item.kind == "hidden" for item in inside):
        return Mark("hidden", atoms)
    has_content = any(isinstance(item, Mark) and item.kind == "content" for item in inside)
    return Mark("content" if has_content else "point", atoms, in_order)


def _whole(frame: Frame) -> Atom:
    return Atom(None, frame.start, frame.end)
