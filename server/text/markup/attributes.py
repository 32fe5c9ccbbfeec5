"""Values of HTML attributes that readers see: tooltips, descriptions of images, hints in empty fields.

Slots replace the values in their tags, so that a tag can move before its values are translated.
"""

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from server.text.base.placeholders import PlaceholderText, without_placeholders
from server.text.base.words import has_letters
from server.text.markup.character_references import unescape
from server.text.spans.template_tags import add_templates

_SLOT = "\U0010fffe"  # a noncharacter of Unicode
_SLOTS = re.compile(rf"{_SLOT}(\d+){_SLOT}")
ATTRIBUTE = re.compile(r"""\s([^\s"'<>/=]+)\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s"'=<>`]+)""")
_SPACES = re.compile(r"[ \t\r\n\f]+")

_VISIBLE = frozenset({"alt", "title", "placeholder", "aria-label", "aria-description", "aria-placeholder"})
"""Attributes of all elements."""
_PAGE = "srcdoc"
_DATA = re.compile(
    r"""data:(?:(?<==data:)|(?<==["']data:)|(?<=url\(data:)|(?<=url\(["']data:))"""
    r"""[\w.+/-]{1,100}(?:;[\w=-]{1,100}){0,4},[\w+/=%.~!*-]{1000,}+"""
)
"""It begins with its letters, not with what is before them: a pattern that begins with letters is found faster."""
_COMPONENT = re.compile(r"<[A-Z]\w{0,60}?[a-z]")
"""The tag of a component of JSX or Vue, whose `label` is shown."""
_LABELLED = frozenset({"optgroup", "option", "track"})
_BUTTONS = frozenset({"button", "reset", "submit"})
_DESCRIPTIONS = frozenset({
    "description", "og:description", "og:image:alt", "og:title", "twitter:description", "twitter:image:alt",
    "twitter:title",
})  # fmt: skip


class Document(Protocol):
    """A piece of markup, such as `server.text.markup.markup.Markup`."""

    @property
    def texts(self) -> Sequence[str]: ...

    def write(self, translations: Sequence[str], escape: Callable[[str], str] | None = None) -> str: ...


class Slotted(Protocol):
    """What a slot stands for: its `raw` markup and its `texts`."""

    @property
    def raw(self) -> str: ...

    @property
    def texts(self) -> Sequence[str]: ...

    def render(self, translations: Sequence[str], escape: Callable[[str], str] | None) -> str: ...


@dataclass(frozen=True)
class Kept:
    """What is not read at all."""

    raw: str

    @property
    def texts(self) -> Sequence[str]:
        return ()

    def render(self, translations: Sequence[str], escape: Callable[[str], str] | None) -> str:
        return self.raw


@dataclass(frozen=True)
class Inner:
    """Markup inside of markup: of a picture, or in the value of an attribute with these `quotes`."""

    raw: str
    document: Document
    quotes: str = ""

    @property
    def texts(self) -> Sequence[str]:
        return self.document.texts

    def render(self, translations: Sequence[str], escape: Callable[[str], str] | None) -> str:
        """The raw markup with `translations`; with unchanged texts as it was."""
        if list(translations) == list(self.texts):
            return self.raw
        written = self.document.write(translations, escape)
        return self.quotes + _quoted(written, self.quotes) + self.quotes if self.quotes else written


@dataclass(frozen=True)
class Value:
    """An attribute's value as it stands in its tag, quotes included."""

    raw: str

    @property
    def text(self) -> str:
        """The text to translate, with placeholders for tags of template engines."""
        return self._placeholder_text.text

    @cached_property
    def _placeholder_text(self) -> PlaceholderText:
        placeholder_text = PlaceholderText()
        add_templates(
            placeholder_text,
            unquoted(self.raw),
            lambda raw: placeholder_text.add_text(without_placeholders(unescaped(raw))),
        )
        return placeholder_text

    @property
    def texts(self) -> Sequence[str]:
        return [self.text]

    def render(self, translations: Sequence[str], escape: Callable[[str], str] | None = None) -> str:
        """The raw value with a translation; an unchanged text keeps its raw value."""
        [translation] = translations
        if translation == self.text:
            return self.raw
        quote = self.raw[0] if self.raw[0] in "\"'" else '"'
        return quote + self._placeholder_text.render(translation, lambda text: _quoted(text, quote)) + quote


def _quoted(text: str, quote: str) -> str:
    return html.escape(text, quote=False).replace(quote, "&quot;" if quote == '"' else "&#39;")


def unescaped(raw: str) -> str:
    """The text of raw HTML between tags or quotes: references as characters, runs of spaces as one space."""
    return _SPACES.sub(" ", unescape(raw))


def without_data(document: str, values: list[Slotted]) -> str:
    """The document with slots in place of long data in addresses, such as pictures: a tag is read up to a length."""
    return _DATA.sub(lambda match: slot(values, Kept(match[0])), document)


def has_slots(document: str) -> bool:
    """Whether a document has the character that slots are made of; then its attributes are not translated."""
    return _SLOT in document


def slot(values: list[Slotted], slotted: Slotted) -> str:
    """A slot for this; it is appended to `values`."""
    values.append(slotted)
    return f"{_SLOT}{len(values) - 1}{_SLOT}"


def extract_values(tag: str, name: str, values: list[Slotted], read: Callable[[str], Document] | None = None) -> str:
    """An opening tag `name` with slots in place of visible values, which are appended to `values`. `read` reads pages
    that are values."""
    matches = list(ATTRIBUTE.finditer(tag))
    if not matches:
        return tag
    attributes = {match[1].lower(): unquoted(match["value"]) for match in matches}
    parts: list[str] = []
    end = 0
    for match in matches:
        slotted = _slotted(match, name, attributes, read, tag)
        if slotted is not None:
            start, stop = match.span("value")
            parts += (tag[end:start], slot(values, slotted))
            end = stop
    return "".join([*parts, tag[end:]])


def _slotted(
    match: re.Match[str],
    tag: str,
    attributes: dict[str, str],
    read: Callable[[str], Document] | None,
    raw_tag: str,
) -> Slotted | None:
    """What is translated of an attribute, if anything is."""
    attribute, raw = match[1].lower(), match["value"]
    if is_visible(attribute, tag, attributes, raw_tag) and _SLOT not in raw:
        value = Value(raw)
        return value if has_letters(value.text) else None
    if read is not None and attribute == _PAGE and tag == "iframe":
        page = Inner(raw, read(unescape(unquoted(raw))), raw[0] if raw[0] in "\"'" else '"')
        return page if page.texts else None
    return None


def fill_slots(
    document: str, values: Sequence[Slotted], translations: Sequence[str], escape: Callable[[str], str] | None = None
) -> str:
    """The document with the translations of its values in place of their slots."""
    rendered: list[str] = []
    end = 0
    for value in values:
        start, end = end, end + len(value.texts)
        written = value.render(translations[start:end], escape)
        if _SLOT in value.raw:  # data in it, which has an earlier slot
            written = _SLOTS.sub(lambda slot: rendered[int(slot[1])], written)
        rendered.append(written)
    if end != len(translations):
        raise ValueError(f"{len(translations)} translations for {end} texts")
    return _SLOTS.sub(lambda slot: rendered[int(slot[1])], document) if values else document


def is_visible(attribute: str, tag: str, attributes: dict[str, str], raw: str) -> bool:
    """Whether readers see the value of `attribute` in a tag that has these `attributes`; `raw`: the tag as it is."""
    match attribute:
        case "content":
            return tag == "meta" and attributes.get("name", attributes.get("property", "")).lower() in _DESCRIPTIONS
        case "label":
            return tag in _LABELLED or _COMPONENT.match(raw) is not None
        case "value":
            return tag == "input" and attributes.get("type", "").lower() in _BUTTONS
        case "title":
            return tag not in ("link", "style")  # the name of a style sheet
    return attribute in _VISIBLE


def unquoted(value: str) -> str:
    """An attribute's value without its quotes."""
    return value[1:-1] if value[:1] in ('"', "'") else value
