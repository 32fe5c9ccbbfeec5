"""The text of an XLIFF source, in which inline elements are placeholders."""

import re

from server.files.formats.xml_files import valid_text
from server.files.formats.xml_places import Element, PlacedXml
from server.text.base.placeholders import PlaceholderText

_SPANS = ("g", "pc", "mrk")
_OPENING = {"bpt": ("rid", "id"), "bx": ("rid", "id"), "sc": ("id",)}
_CLOSING = {"ept": ("rid", "id"), "ex": ("rid", "id"), "ec": ("startRef", "id")}
"""Elements that together are a span, and the attributes by which they belong together."""
_CODES = ("bpt", "ept", "ph", "it")
_VALUES = ("ph", "x")
_NO_VALUE = re.compile(
    r"(?:START|CLOSE|LINE_BREAK|TAG)|x-(?:b|i|u|p|br|a|img|span|div)\b|(?:lb|pb|image|link|fmt|bold|italic)\Z"
)
"""Ids and types of elements that are no values, among them those of Angular."""
_EQUIVALENTS = ("equiv-text", "equiv", "disp")
_NATIVE = re.compile(r"\s*<(/?)([A-Za-z][\w:-]*+)(?:\s[^<>]*)?/?>\s*")
"""A tag of the source's own format, of which an element stands in the place."""
_VOID = frozenset({"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
_PROTECTED = ("protected", "x-no-translate")


def read_inline(element: Element, xml: PlacedXml) -> PlaceholderText:
    """What the element holds."""
    text = PlaceholderText()
    _walk(element, xml, text)
    return text


def rendered(text: PlaceholderText, translation: str) -> str:
    """The XML of a translation."""
    return text.render(valid_text(translation), _escape)


def visible_text(element: Element) -> str:
    """The text without native codes."""
    parts: list[str] = []
    for item in element.content:
        if isinstance(item, str):
            parts.append(item)
        elif item.name and item.name not in _CODES:
            parts.append(visible_text(item))
    return "".join(parts)


def is_translated(element: Element, inherited: bool = True) -> bool:
    """Whether an element is to be translated, by its own attributes and those of what it stands in."""
    return (element.attributes.get("translate") or ("yes" if inherited else "no")) != "no"


def _walk(element: Element, xml: PlacedXml, text: PlaceholderText) -> None:
    for item in element.content:
        if isinstance(item, str):
            text.add_text(item)
        elif _is_span(item):
            text.open(f"{item.start}", xml.raw(item.start, item.inner))
            _walk(item, xml, text)
            text.close(f"{item.start}", xml.raw(item.inner_end, item.end))
        elif item.name in _OPENING:
            text.open(_pair(item, _OPENING[item.name]), xml.raw(item.start, item.end))
        elif item.name in _CLOSING:
            text.close(_pair(item, _CLOSING[item.name]), xml.raw(item.start, item.end))
        elif (native := _native_tag(item)) is not None:
            is_closing, name = native
            add = text.close if is_closing else text.open
            add(f"native {name}", xml.raw(item.start, item.end))
        elif _is_value(item):
            text.add_value(xml.raw(item.start, item.end))
        else:
            text.add_standalone(xml.raw(item.start, item.end))


def _is_span(element: Element) -> bool:
    is_protected = not is_translated(element) or element.attributes.get("mtype") in _PROTECTED
    return element.name in _SPANS and not element.is_empty and not is_protected


def _is_value(element: Element) -> bool:
    """Whether readers see a word or a number in its place: neither a line break nor a picture nor formatting."""
    kinds = (element.attributes.get(name, "") for name in ("id", "ctype", "type", "subType"))
    return element.name in _VALUES and not any(map(_NO_VALUE.match, kinds)) and not _NATIVE.fullmatch(_code(element))


def _native_tag(element: Element) -> tuple[bool, str] | None:
    """Whether the tag that an element stands for is a closing one, and its name; None for no tag, and for one that
    encloses nothing."""
    match = _NATIVE.fullmatch(_code(element)) if element.name in _VALUES else None
    if match is None or match[2].lower() in _VOID or match[0].rstrip().endswith("/>"):
        return None
    return bool(match[1]), match[2].lower()


def _code(element: Element) -> str:
    """What an element stands for."""
    written = "".join(item for item in element.content if isinstance(item, str))
    return written or next((element.attributes[name] for name in _EQUIVALENTS if name in element.attributes), "")


def _pair(element: Element, names: tuple[str, ...]) -> str:
    return "pair " + next((element.attributes[name] for name in names if name in element.attributes), "")


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
