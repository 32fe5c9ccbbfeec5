r"""Android's strings.xml: strings, the items of arrays of strings, and plurals are texts.

What is `translatable="false"`, references (@string/name, ?attr/name) and <xliff:g> stay; other tags are inline tags.
Escapes (\', \n, \u0041) and quotation marks that keep blanks are read; translations are written with escapes alone.
"""

import re
from collections.abc import Iterator

from server.files.formats.base import Budget, OpenedFile
from server.files.formats.spans import Span, opened
from server.files.formats.strings.xml_inline import content_span
from server.files.formats.strings.xml_source import Element, XmlSource, escape, read_xml, unescape

_REFERENCE = re.compile(r"[@?](?:\+?[\w.]+:)?(?:[\w.]+/)?[\w.]+")
_TAG = r"""</?[A-Za-z][\w:-]*+(?:\s++[\w:-]++\s*+=\s*+\\?(?:"[^"<>]*+"|'[^'<>]*+'))++\s*+/?>"""
"""A tag of HTML in a CDATA section, or with escaped brackets; the quotation marks of its attributes stay."""
_PIECE = re.compile(rf"({_TAG})|" r"""\\(?:u([0-9A-Fa-f]{4})|(.))|(["])|([ \t\r\n]++)|[^\\" \t\r\n]++|\\""", re.DOTALL)
_CHARACTERS = {"n": "\n", "t": "\t", "\n": " "}
_SPECIAL = re.compile(rf"({_TAG})|" r"""[\\'"\n\t]|(?<= ) """)
_EDGE = re.compile(r"\A[ @?]| \Z")
_ESCAPES = {"\n": "\\n", "\t": "\\t", " ": "\\u0020"}
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def open_android(data: bytes, language: str, budget: Budget) -> OpenedFile:
    source = read_xml(data, budget, "resources")
    return opened(source.text, source.encode, _spans(source), budget)


def _spans(source: XmlSource) -> Iterator[Span]:
    for element in _strings(source.root):
        if _REFERENCE.fullmatch(element.content.strip()):
            continue
        if (span := content_span(element, source.newline, _write, _Reader(), _finish)) is not None:
            yield span


def _strings(resources: Element) -> Iterator[Element]:
    """The elements whose content is to be translated."""
    for element in resources.children if _is_translatable(resources) else ():
        if not _is_translatable(element):
            continue
        if element.name == "string" or (element.name == "item" and element.get("type") == "string"):
            yield element
        elif element.name in ("string-array", "plurals"):
            yield from filter(_is_translatable, element.all("item"))


def _is_translatable(element: Element) -> bool:
    return element.get("translatable") != "false"


class _Reader:
    """Reads the pieces of one string, some of which may be between quotation marks."""

    def __init__(self) -> None:
        self._is_quoted = False

    def __call__(self, raw: str) -> str:
        parts: list[str] = []
        for match in _PIECE.finditer(unescape(raw)):
            if match[2]:
                parts.append(chr(int(match[2], 16)))
            elif match[3]:
                parts.append(_CHARACTERS.get(match[3], match[3]))
            elif match[4]:
                self._is_quoted = not self._is_quoted
            elif match[5] and not self._is_quoted:
                parts.append(" ")
            else:
                parts.append(match[0])
        text = "".join(parts)
        return _SURROGATES.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def _write(text: str) -> str:
    return escape(_SPECIAL.sub(lambda match: match[1] or _escaped(match), text))


def _finish(content: str) -> str:
    """Blanks at the edges are kept, and what would be a reference is none."""
    return _EDGE.sub(_escaped, content)


def _escaped(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0], "\\" + match[0])
