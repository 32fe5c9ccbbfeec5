"""Terminology (.tbx): an entry without terms in the target language gets them, for each term of its source language.

Two forms are read: <martif> (ISO 30042:2008) and <tbx> (ISO 30042:2019). Definitions and notes stay as they are.
"""

from collections.abc import Iterator, Sequence

from server.files.formats.base import Budget, OpenedFile
from server.files.formats.spans import Span, opened, translated
from server.files.formats.strings.languages import base_language
from server.files.formats.strings.xml_inline import read_inline
from server.files.formats.strings.xml_source import Element, XmlSource, escape, read_xml


def open_tbx(data: bytes, language: str, budget: Budget) -> OpenedFile:
    source = read_xml(data, budget, "martif", "tbx")
    return opened(source.text, source.encode, _spans(source, language), budget)


def _spans(source: XmlSource, language: str) -> Iterator[Span]:
    target, of_file = base_language(language), base_language(source.root.get("xml:lang") or "")
    for entry in _entries(source.root):
        sections = entry.all("langSet", "langSec")
        bases = [base_language(section.get("xml:lang") or "") for section in sections]
        if target in bases and len(bases) > 1:
            yield translated(entry.start)
        if target in bases or not sections:
            continue
        of_source = sections[bases.index(of_file) if of_file in bases else 0]
        terms = [term for term in _terms(of_source) if term.content.strip()]
        if terms:
            yield _added(source, sections[-1], of_source, terms, language)


def _entries(root: Element) -> Iterator[Element]:
    for text in root.all("text"):
        for body in text.all("body"):
            yield from body.all("termEntry", "conceptEntry")


def _terms(section: Element) -> Iterator[Element]:
    for container in section.all("tig", "ntig", "termSec"):
        group = container.first("termGrp") or container
        if (term := group.first("term")) is not None:
            yield term


def _added(source: XmlSource, last: Element, section: Element, terms: Sequence[Element], language: str) -> Span:
    """A section after the `last`, with the indentation of the source's; equal translations make one term."""
    container = "termSec" if section.name == "langSec" else "tig"
    outer = source.margin(section)
    middle = source.margin(section.all("tig", "ntig", "termSec")[0])
    inner = middle + middle[len(outer) :]
    read = [read_inline(term) for term in terms]

    def write(translations: Sequence[str]) -> str:
        pairs = zip(read, translations, strict=True)
        written = dict.fromkeys(text.render(translation, escape) for text, translation in pairs)
        made = (f"{middle}<{container}>{inner}<term>{term}</term>{middle}</{container}>" for term in written)
        return f'{outer}<{section.name} xml:lang="{language}">{"".join(made)}{outer}</{section.name}>'

    return Span(last.end, last.end, tuple(text.text for text in read), write, is_added=True)
