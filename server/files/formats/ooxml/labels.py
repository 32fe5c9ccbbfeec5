"""Texts of one piece without formatting: alternative texts of pictures, words drawn as shapes, labels of charts."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from server.files.formats.xml_files import valid_text
from server.text.base.placeholders import PLACEHOLDER, without_placeholders
from server.text.base.words import has_letters

LABELLED: Mapping[str, tuple[str, ...]] = {
    "docPr": ("title", "descr"),
    "cNvPr": ("title", "descr"),
    "textpath": ("string",),
    "tableColumn": ("name", "totalsRowLabel"),
    "dataValidation": ("errorTitle", "error", "promptTitle", "prompt"),
    "hyperlink": ("tooltip",),
    "hlinkClick": ("tooltip",),
    "hlinkHover": ("tooltip",),
    "listItem": ("displayText",),
    "tblCaption": ("val",),
    "tblDescription": ("val",),
    "lvlText": ("val",),
    "listEntry": ("val",),
    "helpText": ("val",),
    "statusText": ("val",),
    "section": ("name",),
    "custShow": ("name",),
    **dict.fromkeys(("shape", "rect", "roundrect", "oval"), ("alt", "title")),
}
"""Elements with attributes that a reader sees or hears."""
_SEEN_WORDS = ("textpath", "tableColumn", "dataValidation", "listEntry", "section", "custShow")
"""Those whose attributes are seen even if they are one word."""
_LONGEST: Mapping[str, int] = {
    "errorTitle": 32, "promptTitle": 32, "error": 255, "prompt": 255, "tooltip": 255, "helpText": 255,
    "statusText": 138,
}  # fmt: skip
"""Characters of an attribute, or of the attribute of an element, at most: programs refuse files with more."""
_NUMBERING = "lvlText"
"""What stands before the paragraphs of a list: "Article %1"."""
_NUMBER = re.compile("%[1-9]")
_LONG_WORD = re.compile(r"[^\W\d_]{3,}")
_ATTRIBUTE = re.compile(rb"""\s([^\s=<>"']++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")
_WORD = re.compile(r"\W*[^\W\d_]++(?:[-'\u2019][^\W\d_]++)*\W*")
_NAME_OF_FILE = re.compile(r"\S*\.\w{2,5}|\S*[/\\]\S*")
_ESCAPES = str.maketrans(
    {
        "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;",
        "\n": "&#10;", "\t": "&#9;", "\r": "&#13;",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Label:
    """A text from byte `start` to byte `end`: all that an element holds, or the value of an attribute."""

    start: int
    end: int
    raw: str
    max_length: int = 0
    """Characters that it may have; a longer translation is not written. 0: any number."""
    has_numbers: bool = False
    """Whether it has numbers ("%1") that its translation must have, too."""

    @cached_property
    def text(self) -> str:
        return without_placeholders(self.raw)

    def written(self, translation: str) -> Iterator[bytes | tuple[int, int]]:
        text = valid_text(PLACEHOLDER.sub("", translation))
        is_valid = not (0 < self.max_length < len(text) or (self.has_numbers and _numbers(text) != _numbers(self.raw)))
        yield (text if is_valid else self.raw).translate(_ESCAPES).encode()


def labels_of(name: str, attributes: Mapping[str, str], data: bytearray, start: int, end: int) -> Iterator[Label]:
    """The labels among the attributes of an element whose tag has these bytes: what is written for readers, and is no
    name of a file or of a thing, as programs give them."""
    values = {attribute.rpartition(" ")[2]: value for attribute, value in attributes.items()}
    for full_name, place in attribute_places(data, start, end):
        attribute = full_name.rpartition(":")[2]
        text = values.get(attribute, "") if attribute in LABELLED[name] else ""
        if name == _NUMBERING:
            if _LONG_WORD.search(text) and _NUMBER.search(text):  # others are signs, also those that fonts have for "o"
                yield Label(*place, text, has_numbers=True)
        elif has_letters(text) and (is_prose(text) or name in _SEEN_WORDS):
            yield Label(*place, text, _LONGEST.get(name, _LONGEST.get(attribute, 0)))


def _numbers(text: str) -> list[str]:
    return sorted(_NUMBER.findall(text))


def attribute_places(data: bytearray, start: int, end: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """The attributes of the tag of these bytes: name, with its prefix, and the place of the value."""
    for match in _ATTRIBUTE.finditer(data, start, end):
        yield match[1].decode(), match.span(2 if match[2] is not None else 3)


def is_prose(text: str) -> bool:
    """Whether it was written for readers: it is no name of a file, nor of another thing ("image1", "logo_2")."""
    words = text.split()
    return (
        has_letters(text)
        and not _NAME_OF_FILE.fullmatch(text)
        and (len(words) > 1 or _WORD.fullmatch(words[0]) is not None)
    )
