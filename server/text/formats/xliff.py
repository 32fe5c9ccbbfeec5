"""XLIFF 1.2 and 2.x: segments without a translation get one; those with one keep it."""

import copy
from collections.abc import Sequence
from typing import Any

from server.text.formats.opened import DamagedFile, OpenedFile
from server.text.formats.xml_files import Elements, local, parse, serialize
from server.text.marks import is_closing, is_mark, is_opening, nested, split_at_marks

_SPANS = ("g", "pc", "mrk")


def open_xliff(data: bytes, language: str) -> OpenedFile:
    root = parse(data, "the file")
    if local(root) != "xliff":
        raise DamagedFile(f"the file is no XLIFF: its root is <{local(root)}>")
    sources = [source for source in root.iter("{*}source") if _is_open(source)]
    read = [_read(source) for source in sources]

    def write(translations: Sequence[str]) -> bytes:
        for source, elements, translation in zip(sources, read, translations, strict=True):
            _fill(_target(source), elements, translation)
        _set_language(root, language)
        return serialize(root)

    return OpenedFile([elements.marked.text for elements in read], write)


def _is_open(source: Any) -> bool:
    """Whether a segment is to be translated and has no translation yet."""
    if local(source.getparent()) not in ("trans-unit", "segment"):
        return False
    asked = next((one.get("translate") for one in source.iterancestors() if one.get("translate")), "yes")
    target = source.getparent().find("{*}target")
    return asked != "no" and (target is None or not "".join(target.itertext()).strip())


def _read(source: Any) -> Elements:
    elements = Elements()
    _walk(source, elements)
    return elements


def _walk(element: Any, elements: Elements) -> None:
    elements.add_text(element.text or "")
    for child in element:
        bare = copy.copy(child)
        bare.tail = None
        if local(child) in _SPANS and child.get("translate") != "no":
            for inner in list(bare):
                bare.remove(inner)
            bare.text = None
            elements.open(bare)
            _walk(child, elements)
            elements.close(bare)
        else:
            elements.add_lone(bare)
        elements.add_text(child.tail or "")


def _target(source: Any) -> Any:
    """The segment's target, empty, after its source."""
    from lxml import etree

    unit = source.getparent()
    target = unit.find("{*}target")
    if target is None:
        target = etree.Element(source.tag[: -len("source")] + "target")
        target.tail = source.tail
        unit.insert(unit.index(source) + 1, target)
    for child in list(target):
        target.remove(child)
    target.text = None
    return target


def _fill(target: Any, elements: Elements, translation: str) -> None:
    """Write text and elements into the target, each inside the element that is open."""
    around = [target]
    for part in nested(split_at_marks(translation)):
        if not is_mark(part):
            if len(around[-1]):
                around[-1][-1].tail = (around[-1][-1].tail or "") + part
            else:
                around[-1].text = (around[-1].text or "") + part
        elif is_closing(part):
            around.pop()
        else:
            around[-1].append(elements.of(part))
            if is_opening(part):
                around.append(elements.of(part))


def _set_language(root: Any, language: str) -> None:
    if root.get("version", "").startswith("2"):
        root.set("trgLang", language)
    for file in root.iter("{*}file"):
        if not root.get("version", "").startswith("2"):
            file.set("target-language", language)
