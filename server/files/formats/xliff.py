"""XLIFF 1.2 and 2.x: segments without a translation are translated; other segments stay."""

import copy
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from server.files.formats.base import Budget, DamagedFile, OpenedFile
from server.files.formats.xml_files import Elements, XmlBudget, in_chunks, local_name, parse, serialize, valid_text
from server.text.base.placeholders import is_closing, is_opening, is_placeholder, nested, split_at_placeholders

_VALUES = ("ph", "x")
_NO_VALUE = re.compile(
    r"(?:START|CLOSE|LINE_BREAK|TAG)|x-(?:b|i|u|p|br|a|img|span|div)\b|(?:lb|pb|image|link|fmt|bold|italic)\Z"
)
"""Ids and types of elements that are no values, among them those of Angular."""
_SPANS = ("g", "pc", "mrk")


def open_xliff(data: bytes, language: str, budget: Budget) -> OpenedFile:
    root = parse(in_chunks(data), "the file", XmlBudget(budget))
    if local_name(root) != "xliff":
        raise DamagedFile(f"the file is no XLIFF: its root is <{local_name(root)}>")
    segments: list[tuple[Any, Any]] = []
    read: list[Elements] = []
    for source, target in _untranslated_segments(root):
        segments.append((source, target))
        read.append(_read(source))
        budget.spend(read[-1].placeholder_text.text)

    def write(translations: Sequence[str]) -> bytes:
        for (source, target), elements, translation in zip(segments, read, translations, strict=True):
            _fill(_empty_target(source, target), elements, valid_text(translation))
        _set_language(root, language)
        return serialize(root)

    return OpenedFile([elements.placeholder_text.text for elements in read], write)


def _untranslated_segments(element: Any, is_translated: bool = True) -> Iterator[tuple[Any, Any]]:
    """Source and target (None if missing) of every segment that is to be translated and has no translation yet. An
    element without `translate` has the value of the element around it."""
    is_translated = (element.get("translate") or ("yes" if is_translated else "no")) != "no"
    if local_name(element) in ("trans-unit", "segment"):
        source, target = element.find("{*}source"), element.find("{*}target")
        is_done = target is not None and any(text.strip() for text in target.itertext())
        if source is not None and is_translated and not is_done:
            yield source, target
    for child in element.iterchildren("*"):
        yield from _untranslated_segments(child, is_translated)


def _read(source: Any) -> Elements:
    elements = Elements()
    _walk(source, elements)
    return elements


def _walk(element: Any, elements: Elements) -> None:
    elements.add_text(element.text or "")
    for child in element:
        if local_name(child) in _SPANS and child.get("translate") != "no":
            bare = child.makeelement(child.tag, dict(child.attrib), child.nsmap)
            elements.open(bare)
            _walk(child, elements)
            elements.close(bare)
        else:
            bare = copy.copy(child)
            bare.tail = None
            elements.add_value(bare) if _is_value(child) else elements.add_standalone(bare)
        elements.add_text(child.tail or "")


def _is_value(element: Any) -> bool:
    """Whether readers see a word or a number in its place: neither a line break nor a picture nor formatting."""
    kinds = (element.get(name) or "" for name in ("id", "ctype", "type", "subType"))
    return local_name(element) in _VALUES and not any(map(_NO_VALUE.match, kinds))


def _empty_target(source: Any, target: Any) -> Any:
    """The segment's target, emptied; a new target after the source if it has none."""
    from lxml import etree

    if target is None:
        target = etree.Element(source.tag[: -len("source")] + "target")
        tail = source.tail
        source.addnext(target)  # between the source and its tail
        source.tail = tail
    for child in list(target):
        target.remove(child)
    target.text = None
    return target


def _fill(target: Any, elements: Elements, translation: str) -> None:
    """Write text and elements into the target, each into the innermost open element."""
    open_elements = [target]
    for is_element, parts in itertools.groupby(nested(split_at_placeholders(translation)), is_placeholder):
        if not is_element:
            _append_text(open_elements[-1], "".join(parts))
            continue
        for placeholder in parts:
            if is_closing(placeholder):
                open_elements.pop()
            else:
                open_elements[-1].append(elements.of(placeholder))
                if is_opening(placeholder):
                    open_elements.append(elements.of(placeholder))


def _append_text(element: Any, text: str) -> None:
    last = next(element.iterchildren(reversed=True), None)
    if last is not None:
        last.tail = (last.tail or "") + text
    else:
        element.text = (element.text or "") + text


def _set_language(root: Any, language: str) -> None:
    if root.get("version", "").startswith("2"):
        root.set("trgLang", language)
    for file in root.iter("{*}file"):
        if not root.get("version", "").startswith("2"):
            file.set("target-language", language)
