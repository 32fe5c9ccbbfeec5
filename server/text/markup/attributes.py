"""Values of HTML's attributes that people read: tooltips, descriptions of images, hints in empty fields.

They are taken out of their tags and leave slots there, so that a tag can move before its values are translated.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from server.text.base.placeholders import without_placeholders
from server.text.base.words import has_letters
from server.text.markup.character_references import unescape

_SLOT = "\U0010fffe"  # no character: Unicode promises that no text has it
_SLOTS = re.compile(rf"{_SLOT}(\d+){_SLOT}")
_ATTRIBUTE = re.compile(r"""\s([^\s"'<>/=]+)\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s"'=<>`]+)""")
_SPACES = re.compile(r"[ \t\r\n\f]+")

_READ = frozenset({"alt", "title", "placeholder", "aria-label", "aria-description", "aria-placeholder"})
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
        """What is to be translated."""
        return without_placeholders(unescaped(_unquoted(self.raw)))

    def written(self, translation: str) -> str:
        """The value in its tag, as it was where the translation is the same."""
        if translation == self.text:
            return self.raw
        quote = self.raw[0] if self.raw[0] in "\"'" else '"'
        escaped = html.escape(translation, quote=False).replace(quote, "&quot;" if quote == '"' else "&#39;")
        return quote + escaped + quote


def unescaped(raw: str) -> str:
    """Raw HTML between tags or quotes as it is read: references are characters, any spaces are one."""
    return _SPACES.sub(" ", unescape(raw))


def has_slots(document: str) -> bool:
    """Whether a document has the character that slots are made of; its attributes cannot be translated."""
    return _SLOT in document


def take_values(tag: str, name: str, values: list[Value]) -> str:
    """An opening tag `name` with slots in place of the values that people read, which are added to `values`."""
    found = list(_ATTRIBUTE.finditer(tag))
    if not found:
        return tag
    attributes = {one[1].lower(): _unquoted(one["value"]) for one in found}
    parts: list[str] = []
    end = 0
    for one in found:
        value = Value(one["value"])
        if _is_read(one[1].lower(), name, attributes) and has_letters(value.text):
            start, stop = one.span("value")
            parts += (tag[end:start], f"{_SLOT}{len(values)}{_SLOT}")
            values.append(value)
            end = stop
    return "".join([*parts, tag[end:]])


def fill_slots(document: str, values: Sequence[Value], translations: Sequence[str]) -> str:
    """The document with the translations of its values."""
    written = [value.written(translation) for value, translation in zip(values, translations, strict=True)]
    return _SLOTS.sub(lambda slot: written[int(slot[1])], document) if values else document


def _is_read(attribute: str, tag: str, attributes: dict[str, str]) -> bool:
    """Whether people read the value of an attribute of a tag with these attributes."""
    match attribute:
        case "content":
            return tag == "meta" and attributes.get("name", attributes.get("property", "")).lower() in _DESCRIPTIONS
        case "label":
            return tag in _LABELLED
        case "value":
            return tag == "input" and attributes.get("type", "").lower() in _BUTTONS
        case "title":
            return tag not in ("link", "style")  # there it is the name of a style sheet
    return attribute in _READ


def _unquoted(value: str) -> str:
    return value[1:-1] if value[:1] in ('"', "'") else value
