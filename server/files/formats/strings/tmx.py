"""Translation memories (.tmx): a unit without a variant (`tuv`) in the target language gets one."""

from collections.abc import Callable, Iterator, Sequence

from server.files.formats.base import Budget, OpenedFile
from server.files.formats.spans import Span, opened, translated
from server.files.formats.strings.languages import base_language
from server.files.formats.strings.xml_inline import read_inline
from server.files.formats.strings.xml_source import Element, XmlSource, escape, read_xml
from server.text.base.placeholders import PlaceholderText

_CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})
"""Elements that hold the codes of a format."""


def open_tmx(data: bytes, language: str, budget: Budget) -> OpenedFile:
    source = read_xml(data, budget, "tmx")
    return opened(source.text, source.encode, _spans(source, base_language(language), language), budget)


def _spans(source: XmlSource, base: str, language: str) -> Iterator[Span]:
    header, body = source.root.first("header"), source.root.first("body")
    default = "" if header is None else header.get("srclang") or ""
    for unit in () if body is None else body.all("tu"):
        variants = unit.all("tuv")
        of_source = _source(variants, unit.get("srclang") or default, base)
        seg = None if of_source is None else of_source.first("seg")
        if of_source is None or seg is None or not seg.content.strip():
            continue
        of_target = next((variant for variant in variants if variant is not of_source and _base(variant) == base), None)
        read = read_inline(seg, _CODES)
        if of_target is None:
            yield _added(source, variants[-1], of_source, seg, read, language)
        elif (target := of_target.first("seg")) is not None and not target.content.strip() and not target.is_empty_tag:
            yield Span(target.inner, target.inner_end, (read.text,), _writer(read, source.newline), is_added=True)
        else:
            yield translated(of_target.start)


def _writer(read: PlaceholderText, newline: str, before: str = "", after: str = "") -> Callable[[Sequence[str]], str]:
    def write(translations: Sequence[str]) -> str:
        return f"{before}{read.render(translations[0], escape)}{after}".replace("\n", newline)

    return write


def _added(
    source: XmlSource, last: Element, of_source: Element, seg: Element, read: PlaceholderText, language: str
) -> Span:
    """A variant after the `last`, with the indentation of the source's."""
    name = "xml:lang" if of_source.place("xml:lang") is not None else "lang"
    margin, inner = (source.margin(element).replace("\r", "") for element in (of_source, seg))
    before = f'{margin}<tuv {name}="{language}">{inner}<seg>'
    after = f"</seg>{margin if inner else ''}</tuv>"
    return Span(last.end, last.end, (read.text,), _writer(read, source.newline, before, after), is_added=True)


def _source(variants: Sequence[Element], language: str, target: str) -> Element | None:
    """The variant in the source language; for `*all*` the first that is not in the target language."""
    if language in ("", "*all*"):
        return next((variant for variant in variants if _base(variant) != target), None)
    exact = (variant for variant in variants if _code(variant).lower() == language.lower())
    same = (variant for variant in variants if _base(variant) == base_language(language))
    chosen = next(exact, None) or next(same, None)
    return None if chosen is None or _base(chosen) == target else chosen


def _code(variant: Element) -> str:
    return variant.get("xml:lang") or variant.get("lang") or ""


def _base(variant: Element) -> str:
    return base_language(_code(variant))
