"""The language that a page and its elements declare: where it is the page's own, it becomes the target's.

Other languages stay, and so does `hreflang`, which speaks of another page.
"""

import locale
from dataclasses import dataclass

from server.text.markup.attributes import ATTRIBUTE, unquoted

_ATTRIBUTES = ("lang", "xml:lang")
_NAMES = frozenset({"content-language", "language", "dc.language", "dcterms.language"})
_LOCALE = "og:locale"
_ROOT = "html"


def primary(tag: str) -> str:
    """The language of a tag, without script and region: "en" of "en-GB" and "en_US"."""
    return tag.strip().lower().replace("_", "-").partition("-")[0]


def as_locale(tag: str) -> str:
    """A language with its usual territory: "de_DE" of "de"."""
    return locale.normalize(tag.replace("-", "_")).partition(".")[0]


@dataclass(frozen=True)
class PageLanguage:
    """`target` takes the place of `own`, a primary language."""

    own: str
    target: str

    def written(self, tag: str, name: str) -> str:
        """An opening tag `name` in the target language. That of the whole page changes whatever it was."""
        matches = list(ATTRIBUTE.finditer(tag)) if "lang" in tag.lower() or name == "meta" else []
        attributes = {match[1].lower(): unquoted(match["value"]) for match in matches}
        parts: list[str] = []
        end = 0
        for match in matches:
            attribute, value = match[1].lower(), unquoted(match["value"])
            new = self._value(attribute, value, name, attributes)
            if new != value:
                start, stop = match.span("value")
                parts += (tag[end:start], f'"{new}"')
                end = stop
        return "".join([*parts, tag[end:]])

    def _value(self, attribute: str, value: str, name: str, attributes: dict[str, str]) -> str:
        is_own = primary(value) == self.own
        if attribute in _ATTRIBUTES and (is_own or (name == _ROOT and value)):
            return self.target
        if attribute == "content" and name == "meta" and is_own:
            if attributes.get("property", attributes.get("name", "")).lower() == _LOCALE:
                return as_locale(self.target)
            if attributes.get("http-equiv", attributes.get("name", "")).lower() in _NAMES:
                return self.target
        return value


def declared_language(tag: str) -> str:
    """The primary language that a tag declares; "" if it declares none."""
    declared = (match for match in ATTRIBUTE.finditer(tag) if match[1].lower() in _ATTRIBUTES)
    return next((primary(unquoted(match["value"])) for match in declared), "")
