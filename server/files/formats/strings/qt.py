"""Qt's translation files (.ts): unfinished translations are filled from their sources, and stay unfinished.

Messages that are vanished, obsolete or translated, comments, contexts and places stay. The language of the file becomes
the target's, and a message with a number gets as many forms as Qt has for that language.
"""

from collections.abc import Iterator, Sequence

from server.files.formats.base import Budget, OpenedFile
from server.files.formats.spans import Span, opened, replacement, translated
from server.files.formats.strings.languages import base_language
from server.files.formats.strings.xml_inline import read_inline
from server.files.formats.strings.xml_source import Element, XmlSource, escape_quotes, read_xml

_FORM = "numerusform"
_LANGUAGES = {
    1: "bi bo dz fa fj gn hu id ja jv ko ms my na om su th tr tt vi yo za zh",
    3: "be bs cs ga hr lt lv mk pl ro ru sk sr uk",
    4: "gd mt sl",
    5: "cy",
    6: "ar",
}
_NUM_FORMS = {language: count for count, languages in _LANGUAGES.items() for language in languages.split()}
"""Forms for numbers by language, from Qt's `numerus.cpp`; other languages have two."""


def open_ts(data: bytes, language: str, budget: Budget) -> OpenedFile:
    source = read_xml(data, budget, "TS")
    return opened(source.text, source.encode, _spans(source, language), budget)


def _spans(source: XmlSource, language: str) -> Iterator[Span]:
    yield from _language(source.root, language)
    for context in source.root.all("context", "message"):
        for message in (context,) if context.name == "message" else context.all("message"):
            if (span := _message(source, message, language)) is not None:
                yield span
            elif empty := _empty_forms(message):
                yield from empty
            elif _is_translated(message):
                yield translated(message.start)


def _language(root: Element, language: str) -> Iterator[Span]:
    place = root.place("language")
    if place is None:
        yield replacement(root.attributes[1], root.attributes[1], f' language="{language}"')
    elif base_language(root.text[place[0] : place[1]]) != base_language(language):
        yield replacement(*place, language)


def _is_translated(message: Element) -> bool:
    translation = message.first("translation")
    return translation is not None and translation.get("type") in (None, "unfinished") and bool(translation.content)


def _empty_forms(message: Element) -> list[Span]:
    """The spans of those forms of an unfinished translation that are empty while others are not."""
    text, translation = message.first("source"), message.first("translation")
    if text is None or translation is None or translation.get("type") != "unfinished":
        return []
    forms = translation.all(_FORM)
    if len(forms) < len(translation.children) or not any(form.content.strip() for form in forms):
        return []
    read = read_inline(text)

    def write(translations: Sequence[str]) -> str:
        return read.render(translations[0], escape_quotes)

    return [
        Span(form.inner, form.inner_end, (read.text,), write, is_added=True)
        for form in forms
        if not form.content.strip() and not form.is_empty_tag
    ]


def _message(source: XmlSource, message: Element, language: str) -> Span | None:
    """The span of a translation that is not there yet."""
    text, translation = message.first("source"), message.first("translation")
    if text is None or translation is None or translation.get("type") not in (None, "unfinished"):
        return None
    forms = translation.all(_FORM)
    if len(forms) < len(translation.children) or any(form.content.strip() for form in forms):
        return None
    if (not forms and translation.content.strip()) or not text.content.strip():
        return None
    read = read_inline(text)
    count = _NUM_FORMS.get(base_language(language), 2) if message.get("numerus") == "yes" else 0
    is_same = base_language(source.root.get("language") or "") == base_language(language)
    count = len(forms) if forms and is_same else count
    margin = source.margin(forms[0] if forms else translation) + ("" if forms else "    ")
    end = source.margin(translation)

    def write(translations: Sequence[str]) -> str:
        content = read.render(translations[0], escape_quotes).replace("\n", source.newline)
        if count:
            each = margin if end else ""
            content = "".join(f"{each}<{_FORM}>{content}</{_FORM}>" for _ in range(count)) + end
        return f">{content}</translation>" if translation.is_empty_tag else content

    if translation.is_empty_tag:
        slash = translation.text.rindex("/", translation.start, translation.end)
        return Span(slash, translation.end, (read.text,), write, is_added=True)
    return Span(translation.inner, translation.inner_end, (read.text,), write, is_added=True)
