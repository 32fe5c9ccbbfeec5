"""The elements of a part that are read, each with the place of its bytes."""

from collections.abc import Hashable, Mapping
from typing import Final

WORD: Final = "w"
DRAWING: Final = "a"
CHART: Final = "c"
SHEET: Final = "x"
MATH: Final = "m"
_KINDS: Mapping[str, str] = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": WORD,
    "http://purl.oclc.org/ooxml/wordprocessingml/main": WORD,
    "http://schemas.openxmlformats.org/drawingml/2006/main": DRAWING,
    "http://purl.oclc.org/ooxml/drawingml/main": DRAWING,
    "http://schemas.openxmlformats.org/drawingml/2006/chart": CHART,
    "http://purl.oclc.org/ooxml/drawingml/chart": CHART,
    "http://schemas.openxmlformats.org/officeDocument/2006/math": MATH,
    "http://purl.oclc.org/ooxml/officeDocument/math": MATH,
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main": SHEET,
    "http://purl.oclc.org/ooxml/spreadsheetml/main": SHEET,
}
"""The namespaces of Office's files: transitional and strict ones."""
ESCAPED_RETURN: Final = "_x000D_"
"""A carriage return in a cell (ISO/IEC 29500-1, 22.9.2.19)."""
_INVISIBLE = ("lang", "altLang", "dirty", "err", "noProof", "bmk")
"""Properties that are no visible formatting, although programs divide words into runs by them."""


class Node:
    """An element from byte `start` to byte `end` of its part; between `inner` and `inner_end` is what it holds, nothing
    if it is one tag. `kind` and `name` say what it is: "w" and "r". `children` is None where its content was not read.
    A property, inside of a run's, has its namespace as its kind."""

    __slots__ = (
        "attributes", "children", "end", "inner", "inner_end", "is_floating", "is_property", "kind", "name", "start",
        "texts",
    )  # fmt: skip

    def __init__(self, kind: str, name: str, start: int, inner: int, attributes: Mapping[str, str]) -> None:
        self.kind, self.name, self.start, self.inner, self.attributes = kind, name, start, inner, attributes
        self.inner_end = self.end = inner
        self.children: list[Node] | None = None
        self.texts: list[str] | None = None
        self.is_floating = self.is_property = False

    @property
    def is_empty(self) -> bool:
        """Whether it is one tag."""
        return self.inner == self.end

    @property
    def text(self) -> str:
        return "".join(self.texts or ())

    def attribute(self, name: str) -> str:
        """The value of the attribute of that name, whatever its namespace; "" if it has none."""
        return next((value for key, value in self.attributes.items() if key.rpartition(" ")[2] == name), "")

    def child(self, name: str) -> "Node | None":
        return next((child for child in self.children or () if child.name == name), None)


def named(expanded: str) -> tuple[str, str]:
    """Kind and name of an element: "w" and "r"; the kind is "" for other namespaces."""
    namespace, _, name = expanded.rpartition(" ")
    return _KINDS.get(namespace, ""), name


def visible_format(properties: Node | None) -> Hashable:
    """Properties of a run without those that cannot be seen, in a form that can be compared; None for none."""
    if properties is None:
        return None
    attributes = sorted((name, value) for name, value in properties.attributes.items() if name not in _INVISIBLE)
    children = [_compared(child) for child in properties.children or () if child.name not in _INVISIBLE]
    return (tuple(attributes), tuple(children)) if attributes or children else None


def _compared(node: Node) -> Hashable:
    return node.kind, node.name, tuple(sorted(node.attributes.items())), tuple(map(_compared, node.children or ()))
