"""Values of HTML attributes that readers see: tooltips, descriptions of images, hints in empty fields.

Slots replace the values in their tags, so that a tag can move before its values are translated.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from server.text.base.placeholders import PlaceholderText, without_placeholders
from server.text.base.words import has_letters
from server.text.markup.character_references import unescape
from server.text.spans.table import add_templates

_SLOT = "\U0010fffe"  # a noncharacter of Unicode
_SLOTS = re.compile(rf"{_SLOT}(\d+){_SLOT}")
ATTRIBUTE = re.compile(r"""\s([^\s"'<>/=]+)\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s"'=<>`]+)""")
_SPACES = re.compile(r"[ \t\r\n\f]+")

_VISIBLE = frozenset({"alt", "title", "placeholder", "aria-label", "aria-description", "aria-placeholder"})
_LABELLED = frozenset({"optgroup", "option", "track"})
_BUTTONS = frozenset({"button", "reset", "submit"})
_DESCRIPTIONS = frozenset({
    "description", "og:description", "og:image:alt", "og:title", "twitter:description", "twitter:image:alt",
    "twitter:title",
})  # fmt: skip


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

    def render(self, translation: str) -> str:
        """The raw value with `translation`; an unchanged text keeps its raw value."""
        if translation == self.text:
            return self.raw
        quote = self.raw[0] if self.raw[0] in "\"'" else '"'

        def escape(text: str) -> str:
            return html.escape(text, quote=False).replace(quote, "&quot;" if quote == '"' else "&#39;")

        return quote + self._placeholder_text.render(translation, escape) + quote


def unescaped(raw: str) -> str:
    """The text of raw HTML between tags or quotes: references as characters, runs of spaces as one space."""
    return _SPACES.sub(" ", unescape(raw))


def has_slots(document: str) -> bool:
    """Whether a document has the character that slots are made of; then its attributes are not translated."""
    return _SLOT in document


def extract_values(tag: str, name: str, values: list[Value]) -> str:
    """An opening tag `name` with slots in place of visible values, which are appended to `values`."""
    matches = list(ATTRIBUTE.finditer(tag))
    if not matches:
        return tag
    attributes = {match[1].lower(): unquoted(match["value"]) for match in matches}
    parts: list[str] = []
    end = 0
    for match in matches:
        value = Value(match["value"])
        if _is_visible(match[1].lower(), name, attributes) and has_letters(value.text):
            start, stop = match.span("value")
            parts += (tag[end:start], f"{_SLOT}{len(values)}{_SLOT}")
            values.append(value)
            end = stop
    return "".join([*parts, tag[end:]])


def fill_slots(document: str, values: Sequence[Value], translations: Sequence[str]) -> str:
    """The document with the translations of its values in place of their slots."""
    rendered = [value.render(translation) for value, translation in zip(values, translations, strict=True)]
    return _SLOTS.sub(lambda slot: rendered[int(slot[1])], document) if values else document


def _is_visible(attribute: str, tag: str, attributes: dict[str, str]) -> bool:
    """Whether readers see the value of `attribute` in a tag that has these `attributes`."""
    match attribute:
        case "content":
            return tag == "meta" and attributes.get("name", attributes.get("property", "")).lower() in _DESCRIPTIONS
        case "label":
            return tag in _LABELLED
        case "value":
            return tag == "input" and attributes.get("type", "").lower() in _BUTTONS
        case "title":
            return tag not in ("link", "style")  # the name of a style sheet
    return attribute in _VISIBLE


def unquoted(value: str) -> str:
    """An attribute's value without its quotes."""
    return value[1:-1] if value[:1] in ('"', "'") else value
