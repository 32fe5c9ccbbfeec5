"""Names of languages in OpenDocument files: each kind of scripts has attributes of its own."""

from collections.abc import Iterator

from server.files.formats.expat_parser import tag_end
from server.files.formats.ooxml.labels import attribute_places
from server.files.formats.xml_part import Setting, TextsOfFile

_ASIAN = frozenset({"ja", "ko", "zh", "yue"})
_COMPLEX = frozenset({
    "ar", "bn", "fa", "gu", "he", "hi", "km", "kn", "lo", "ml", "mr", "my", "ne", "pa", "si", "ta", "te", "th", "ur",
    "yi",
})  # fmt: skip


def of_document(language: str) -> bytes:
    """The name of a language for the whole document."""
    return language.replace("_", "-").encode()


def language_settings(data: bytearray, start: int, file: TextsOfFile) -> Iterator[Setting]:
    """Language and country in the tag of text's properties that begins at `start`."""
    language, _, rest = file.language.replace("_", "-").partition("-")
    country = next((part for part in rest.split("-") if len(part) == 2 and part.isalpha()), "none")
    kind = "-asian" if language in _ASIAN else "-complex" if language in _COMPLEX else ""
    values = {f"language{kind}": language, f"country{kind}": country}
    for attribute, place in attribute_places(data, start, tag_end(data, start)):
        prefix, _, name = attribute.rpartition(":")
        value = values.get(name)
        if value is not None and prefix and bytes(data[slice(*place)]) not in (b"none", b"zxx", value.encode()):
            yield Setting(*place, value.encode())
