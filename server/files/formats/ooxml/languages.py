"""The language of Word's styles: that of all text which names none itself. Spelling and hyphenation follow it."""

from collections.abc import Iterator

from server.files.formats.ooxml.labels import attribute_places
from server.files.formats.strings.languages import base_language
from server.files.formats.xml_part import Setting
from server.files.formats.xml_places import elements

_ASIAN = frozenset({"ja", "ko", "zh", "yue"})
_COMPLEX = frozenset({"ar", "fa", "he", "ur", "ps", "ckb", "yi", "th"})
_NONE = "x-none"


def language_settings(data: bytearray, part: str, language: str) -> Iterator[Setting]:
    """The attributes of a part's `lang` elements that become `language`. Raises DamagedFile."""
    base = base_language(language)
    name = "eastAsia" if base in _ASIAN else "bidi" if base in _COMPLEX else "val"
    value = language.replace("_", "-").encode()
    for element in elements(data, part, "lang"):
        for attribute, place in attribute_places(data, element.start, element.inner):
            old = data[slice(*place)].decode()
            if attribute.rpartition(":")[2] == name and old != _NONE and base_language(old) != base:
                yield Setting(*place, value)
