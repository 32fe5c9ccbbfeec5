"""XML as it is written: elements with their places in the file, so that only what is translated is written anew.

The file is parsed by expat first; what is well-formed is then read tag by tag.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from server.files.formats.base import Budget, DamagedFile
from server.files.formats.expat_parser import MAX_DEPTH, expat_parser, parse_with, too_deep
from server.files.formats.xml_files import XmlBudget, valid_text
from server.files.formats.xml_part import unpacked

_TAG = re.compile(r"""<(/?)([^\s/>"'=<!?&]++)((?:[^"'<>]|"[^"<]*+"|'[^'<]*+')*+)>""")
_DOCTYPE = re.compile(r"""<!DOCTYPE(?:[^\[<>"']|"[^"]*+"|'[^']*+')*+>""")
_ATTRIBUTE = re.compile(r"""([^\s=/"']++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")
_REFERENCE = re.compile(r"&(?:#x([0-9A-Fa-f]++)|#([0-9]++)|([^\s&;<>]++));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_UNPARSED = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))
_MAX_DIGITS = 7
_LONGEST_MARGIN = 200
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a file: a tag (`name`, `attributes`), or a comment, CDATA section, instruction or text (no `name`)."""

    start: int
    end: int
    name: str = ""
    attributes: tuple[int, int] = (0, 0)
    is_closing: bool = False
    is_empty: bool = False
    is_text: bool = False


@dataclass(eq=False, slots=True)
class Element:
    """An element from `start` to `end` of a file; its content is from `inner` to `inner_end`."""

    text: str
    name: str
    attributes: tuple[int, int]
    start: int
    inner: int
    inner_end: int = 0
    end: int = 0
    children: list["Element"] = field(default_factory=list)

    @property
    def content(self) -> str:
        return self.text[self.inner : self.inner_end]

    @property
    def is_empty_tag(self) -> bool:
        """Whether it is written as one tag: <a/>."""
        return self.inner_end == self.end

    def get(self, name: str) -> str | None:
        """The value of an attribute."""
        place = self.place(name)
        return None if place is None else unescape(self.text[place[0] : place[1]])

    def place(self, name: str) -> tuple[int, int] | None:
        """Where the value of an attribute is."""
        for match in _ATTRIBUTE.finditer(self.text, *self.attributes):
            if match[1] == name:
                return match.span(2) if match[2] is not None else match.span(3)
        return None

    def all(self, *names: str) -> list["Element"]:
        """The children of these names."""
        return [child for child in self.children if child.name in names]

    def first(self, name: str) -> "Element | None":
        return next((child for child in self.children if child.name == name), None)


@dataclass(frozen=True)
class XmlSource:
    text: str
    encode: Callable[[str], bytes]
    newline: str
    root: Element

    def margin(self, element: Element) -> str:
        """The line break and indentation before an element; empty if it does not begin its line."""
        line = self.text.rfind("\n", max(0, element.start - _LONGEST_MARGIN), element.start) + 1
        blanks = self.text[line : element.start]
        return self.newline + blanks if line and not blanks.strip() else ""


def read_xml(data: bytes, budget: Budget, *roots: str) -> XmlSource:
    """A file whose root has one of these names. Raises DamagedFile, FileTooLarge."""
    part = unpacked([data], "the file", XmlBudget(budget))
    try:
        text = part.data.decode()
    except UnicodeDecodeError as error:
        raise DamagedFile(f"the file is no UTF-8 text (byte {error.start}); save it as UTF-8") from None
    parse_with(expat_parser("the file"), part.data, "the file")
    root = _root(text)
    if root.name not in roots:
        expected = " or ".join(f"<{name}>" for name in roots)
        raise DamagedFile(f"the file is none of its format: its root is <{root.name}>, not {expected}")
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    return XmlSource(text, lambda new: new.encode(part.encoding, "xmlcharrefreplace"), newline, root)


def tokens(text: str, start: int = 0, end: int | None = None) -> Iterator[Token]:
    """The pieces of well-formed XML. Raises DamagedFile."""
    stop = len(text) if end is None else end
    while start < stop:
        tag = text.find("<", start, stop)
        tag = stop if tag < 0 else tag
        if tag > start:
            yield Token(start, tag, is_text=True)
        if tag < stop:
            token = _markup(text, tag)
            yield token
            start = token.end
        else:
            start = stop


def _markup(text: str, start: int) -> Token:
    for beginning, ending in _UNPARSED:
        if text.startswith(beginning, start):
            last = text.find(ending, start + len(beginning))
            if last < 0:
                raise DamagedFile("the file is no well-formed XML: it breaks off")
            return Token(start, last + len(ending))
    if match := _TAG.match(text, start):
        return Token(start, match.end(), match[2], match.span(3), bool(match[1]), match[3].endswith("/"))
    if match := _DOCTYPE.match(text, start):
        return Token(start, match.end())
    raise DamagedFile("the file declares elements of its own; save it without a DOCTYPE")


def _root(text: str) -> Element:
    whole = Element(text, "", (0, 0), 0, 0)
    open_elements = [whole]
    for token in tokens(text):
        if not token.name:
            continue
        if token.is_closing:
            if len(open_elements) < 2 or open_elements[-1].name != token.name:
                raise DamagedFile(f"the file is no well-formed XML: </{token.name}> closes nothing")
            closed = open_elements.pop()
            closed.inner_end, closed.end = token.start, token.end
            continue
        if len(open_elements) > MAX_DEPTH:
            raise too_deep("the file")
        element = Element(text, token.name, token.attributes, token.start, token.end, token.end, token.end)
        open_elements[-1].children.append(element)
        if not token.is_empty:
            open_elements.append(element)
    if len(open_elements) > 1 or not whole.children:
        raise DamagedFile("the file is no well-formed XML: it breaks off")
    return whole.children[0]


def unescape(text: str) -> str:
    """`text` with characters in place of references, and line breaks as XML reads them. Entities of a DTD stay."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(match: re.Match[str]) -> str:
    if match[3] is not None:
        return _NAMED.get(match[3], match[0])
    digits = (match[1] or match[2]).lstrip("0")
    if not 0 < len(digits) <= _MAX_DIGITS:
        return "\ufffd"
    code = int(digits, 16 if match[1] else 10)
    return chr(code) if code < 0x110000 else "\ufffd"


def escape(text: str, newline: str = "\n") -> str:
    """`text` as the content of an element."""
    return valid_text(text).translate(_ESCAPES).replace("\n", newline)


def escape_quotes(text: str, newline: str = "\n") -> str:
    """As `escape`, with references for quotation marks, too."""
    return escape(text, newline).replace('"', "&quot;").replace("'", "&apos;")
