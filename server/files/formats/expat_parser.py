"""The parser of all XML that clients send: expat, which refuses what a document may declare for itself.

An entity may expand to a gigabyte, and an ATTLIST may add a thousand attributes to every element. The parser's own
events refuse both, so that it does not matter how a declaration is written in the file's encoding.
"""

import re
from collections.abc import Callable
from typing import NoReturn
from xml.parsers import expat

from server.files.formats.base import DamagedFile

MAX_DEPTH = 256
"""Elements inside each other."""

Parser = expat.XMLParserType
_TAG = re.compile(rb"""<[^"'>]*+(?:"[^"]*+"[^"'>]*+|'[^']*+'[^"'>]*+)*+>""")
_NO_MEMORY = expat.errors.codes[expat.errors.XML_ERROR_NO_MEMORY]


def expat_parser(
    what: str,
    start: Callable[[str, dict[str, str]], None] | None = None,
    end: Callable[[str], None] | None = None,
    characters: Callable[[str], None] | None = None,
    separator: str | None = " ",
) -> Parser:
    """A parser of UTF-8 that calls `start`, `end` and `characters`. `separator` stands between the namespace of a name
    and the name; None: names are as they are written. Declarations of entities and attributes raise DamagedFile, which
    names `what` is parsed."""
    parser = expat.ParserCreate("utf-8", separator)
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters

    def refuse(*declared: object) -> NoReturn:
        raise DamagedFile(f"{what} declares entities or attributes of its own; save it without a DOCTYPE")

    parser.EntityDeclHandler = refuse
    parser.AttlistDeclHandler = refuse
    return parser


def parse_with(parser: Parser, data: bytes | bytearray, what: str) -> None:
    """Parse a whole document. Raises DamagedFile, MemoryError, and what the functions of the parser raise."""
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        if error.code == _NO_MEMORY:
            raise MemoryError from None
        raise DamagedFile(f"{what} is no well-formed XML: {error}") from None


def too_deep(what: str) -> DamagedFile:
    """The error for a document of more than MAX_DEPTH elements inside each other."""
    return DamagedFile(f"{what} is no well-formed XML: more than {MAX_DEPTH} elements inside each other")


def tag_end(data: bytes | bytearray, start: int) -> int:
    """Where the tag that begins at `start` ends, in well-formed XML."""
    tag = _TAG.match(data, start)
    assert tag is not None, "the parser has seen the tag"
    return tag.end()
