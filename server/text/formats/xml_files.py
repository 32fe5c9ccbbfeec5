"""XML files, parsed without entities, network access or unlimited trees."""

from typing import Any

from server.text.formats.opened import DamagedFile
from server.text.marks import MarkedText, without_marks


def parse(data: bytes, what: str) -> Any:
    """The root element. Raises DamagedFile."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DamagedFile(f"{what} is no well-formed XML: {error}") from None
    if root is None:
        raise DamagedFile(f"{what} is empty")
    return root


def serialize(root: Any) -> bytes:
    """A whole XML file, with its declaration and what stood around the root."""
    from lxml import etree

    tree = root.getroottree()
    standalone = tree.docinfo.standalone
    return bytes(etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=standalone))


def local(element: Any) -> str:
    """A tag without its namespace; "" of a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


class Elements:
    """A text with marks that stand for elements."""

    def __init__(self) -> None:
        self.marked = MarkedText()
        self._elements: list[Any] = []

    def open(self, element: Any) -> None:
        self._elements.append(element)
        self.marked.open(str(len(self._elements) - 1), str(len(self._elements) - 1))

    def close(self, element: Any) -> None:
        name = str(next(index for index, one in enumerate(self._elements) if one is element))
        self.marked.close(name, name)

    def add_text(self, text: str) -> None:
        self.marked.add_text(without_marks(text))

    def add_lone(self, element: Any) -> None:
        self._elements.append(element)
        self.marked.add_lone(str(len(self._elements) - 1))

    def of(self, mark: str) -> Any:
        """The element that a mark stands for."""
        return self._elements[int(self.marked.raw[mark])]
