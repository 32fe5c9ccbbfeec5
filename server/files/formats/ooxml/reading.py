"""Lists what a paragraph holds, in its order."""

import re
from collections.abc import Iterator, Sequence

from server.files.formats.copies import Copies
from server.files.formats.ooxml.content import Atom, Item, Mark, Run, Span, Text, leaves, mark_of
from server.files.formats.ooxml.fields import is_computed, with_fields
from server.files.formats.ooxml.nodes import DRAWING, ESCAPED_RETURN, SHEET, WORD, Node, visible_format

BYTES_PER_COPY = 64
"""Bytes of formatting that count as one more element."""
_NAME = re.compile(rb"<([^\s/>]+)")
_CODE = re.compile("[0-9A-Fa-f]{1,4}")
_OF_SYMBOLS = re.compile("symbol|dings", re.IGNORECASE)
"""Fonts whose signs are other ones than their codes say."""
_SPACES = str.maketrans("\n\t\r", "   ")
_BREAKS = {"br": "\n", "cr": "\n", "tab": "\t", "ptab": "\t"}
_NON_BREAKING_HYPHEN = "\u2011"
_SPANS = frozenset({
    "hyperlink", "ins", "moveTo", "smartTag", "customXml", "sdt", "sdtContent", "fldSimple", "dir", "bdo", "ruby",
    "rubyBase",
})  # fmt: skip
_SETTINGS = frozenset({"rPr", "sdtPr", "sdtEndPr", "smartTagPr", "customXmlPr", "fldData", "rubyPr", "rt"})
"""What stands at the beginning of an element and belongs to it."""
_IN_ORDER = frozenset({
    "bookmarkStart", "bookmarkEnd", "commentRangeStart", "commentRangeEnd", "commentReference", "permStart", "permEnd",
    "moveFromRangeStart", "moveFromRangeEnd", "moveToRangeStart", "moveToRangeEnd", "customXmlInsRangeStart",
    "customXmlInsRangeEnd", "customXmlDelRangeStart", "customXmlDelRangeEnd", "customXmlMoveFromRangeStart",
    "customXmlMoveFromRangeEnd", "customXmlMoveToRangeStart", "customXmlMoveToRangeEnd", "fldChar", "instrText",
    "delInstrText",
})  # fmt: skip
"""Ends of ranges, and what is left of fields that go over several paragraphs."""
_POINTS = frozenset({
    "del", "moveFrom", "footnoteReference", "endnoteReference", "footnoteRef", "endnoteRef", "annotationRef",
})  # fmt: skip
_HIDDEN = frozenset({"proofErr", "lastRenderedPageBreak", "softHyphen", "r"})
_UNSEEN_IN_CELLS = ("rPh", "phoneticPr")
_FIELD_ENDS = ("begin", "separate", "end")


class ItemReader:
    """Reads the items of paragraphs of the part `data`."""

    def __init__(self, data: bytearray, copies: Copies) -> None:
        self._data, self._copies = data, copies

    def items(self, nodes: Sequence[Node]) -> list[Item]:
        """What an element with these children holds. Raises FileTooLarge."""
        return merged(with_fields([item for node in nodes for item in self._of(node)]))

    def _of(self, node: Node) -> Iterator[Item]:
        if node.name == "r" and node.kind and node.children:
            yield from self._of_run(node)
        elif node.kind == SHEET and node.texts is not None:
            run = Run(Node(SHEET, "", 0, 0, {}), None, None, self._name_of(node))
            yield Text(run, _sheet_text(node), _whole(node))
        elif node.name == "br" and node.kind == DRAWING:
            yield Mark("break", (_whole(node),), True, "\n", True)
        elif node.kind == WORD and node.name in _SPANS and node.children:
            yield self._of_element(node)
        else:
            yield _mark(node, _whole(node))

    def _of_element(self, node: Node) -> Item:
        """A span, if there is text in it."""
        inner, children = node, node.children or []
        opening_end = node.inner
        while True:
            while children and children[0].name in _SETTINGS and children[0].kind == WORD:
                opening_end = children[0].end
                children = children[1:]
            if len(children) == 1 and children[0].name in ("sdtContent", "ruby", "rubyBase") and children[0].children:
                inner, children = children[0], children[0].children
                opening_end = inner.inner
                continue
            break
        items = self.items(children)
        in_order = any(isinstance(item, Mark) and item.in_order for item in leaves(items))
        has_text = any(isinstance(item, Text) for item in leaves(items))
        if (mark := mark_of(items, (_whole(node),))) is not None:
            return mark
        if not has_text or (node.name == "fldSimple" and is_computed(node.attribute("instr"), items)):
            content = _mark(node, _whole(node))
            content.in_order = in_order
            return content
        last = children[-1].end if children else opening_end
        return Span((Atom(None, node.start, opening_end),), (Atom(None, last, node.end),), items, in_order)

    def _of_run(self, node: Node) -> Iterator[Item]:
        children = node.children or []
        properties = node.child("rPr")
        content = [child for child in children if child is not properties]
        if len(content) == 1 and content[0].name == "ruby" and content[0].children:
            yield self._of_element(node)
            return
        text = next((child for child in content if child.texts is not None and child.name == "t"), None)
        run = Run(node, properties, visible_format(properties), b"" if text is None else self._name_of(text))
        size = _size(properties) + run.num_bytes // BYTES_PER_COPY
        if not content:
            yield _mark(node, _whole(node))
        for child in content:
            self._copies.spend(size)
            atom = _whole(node) if len(content) == 1 else Atom(run, child.start, child.end)
            if child.name == "t" and child.texts is not None:
                yield Text(run, _sheet_text(child) if node.kind == SHEET else child.text.translate(_SPACES), atom)
            elif child.name in _BREAKS and child.kind == WORD:
                is_plain = _BREAKS[child.name] == "\n" and not child.attributes
                yield Mark("break", (atom,), True, _BREAKS[child.name], is_plain)
            elif character := _character(child):
                yield Mark("character", (atom,), character=character)
            else:
                yield _mark(child, atom)

    def _name_of(self, node: Node) -> bytes:
        name = _NAME.match(self._data, node.start)
        assert name is not None, "it is an element"
        return bytes(name[1])


def _sheet_text(node: Node) -> str:
    """The text of a cell, which has its carriage returns in an escape."""
    return node.text.replace(ESCAPED_RETURN, "\r")


def _character(node: Node) -> str:
    """The character of the text that an element stands for; "" for none."""
    if node.kind != WORD or node.name not in ("noBreakHyphen", "sym"):
        return ""
    if node.name == "noBreakHyphen":
        return _NON_BREAKING_HYPHEN
    code = node.attribute("char")
    if not _CODE.fullmatch(code) or _OF_SYMBOLS.search(node.attribute("font")):
        return ""
    character = chr(int(code, 16))
    return character if character.isalpha() else ""


def _mark(node: Node, atom: Atom) -> Mark:
    name = node.name
    if node.kind == WORD and name in _IN_ORDER:
        kind = node.attribute("fldCharType") if name == "fldChar" else ""
        field = kind if kind in _FIELD_ENDS else "instruction" if name == "instrText" else ""
        return Mark("point", (atom,), True, field=field, instruction=node.text)
    if (node.kind == WORD and name in _POINTS) or node.is_floating:
        return Mark("point", (atom,))
    if node.kind == WORD and (name in _HIDDEN or (name in _SPANS and not node.children)):
        return Mark("hidden", (atom,))
    if node.kind == SHEET and name in _UNSEEN_IN_CELLS:
        return Mark("hidden", (atom,))
    return Mark("content", (atom,))


def merged(items: Sequence[Item]) -> list[Item]:
    """The items, points that follow each other as one."""
    result: list[Item] = []
    for item in items:
        before = result[-1] if result else None
        if (
            isinstance(item, Mark)
            and isinstance(before, Mark)
            and item.kind == before.kind == "point"
            and item.in_order == before.in_order
        ):
            result[-1] = Mark("point", (*before.atoms, *item.atoms), item.in_order)
        else:
            result.append(item)
    return result


def _whole(node: Node) -> Atom:
    return Atom(None, node.start, node.end)


def _size(properties: Node | None) -> int:
    """Elements and attributes of the properties."""
    if properties is None:
        return 1
    return 1 + len(properties.attributes) + sum(map(_size, properties.children or ()))
