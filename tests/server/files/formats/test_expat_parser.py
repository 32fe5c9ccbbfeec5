"""No XML of a client declares anything, however the declaration is written in the file's encoding."""

import io
import re
import zipfile
from collections.abc import Callable

import pytest

from server.files.formats.base import DamagedFile
from server.files.formats.expat_parser import expat_parser, parse_with
from server.files.formats.registry import open_file
from tests.server.files.formats.files import packed
from tests.server.files.formats.samples import SAMPLES

LIMIT = 20_000
SUFFIXES = (".xliff", ".docx", ".pptx", ".xlsx", ".odt", ".epub", ".idml", ".xml", ".resx", ".ts", ".tmx", ".tbx")
NO_XML = ("mimetype", "OEBPS/a b.xhtml", "ppt/presentation.xml")
"""Parts of the samples that are not read, or not as XML: pages are read as HTML."""
SEARCHED = ("designmap.xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml")
"""Parts in which patterns are searched, so that what they declare has no effect. The sheet has no texts."""
ENTITY, ATTRIBUTE = '<!ENTITY a "bbbbbbbbbb">', '<!ATTLIST r b CDATA "c">'


def plain(part: bytes, declaration: str) -> bytes:
    return f"<!DOCTYPE r [{declaration}]>".encode() + part


def utf_16(part: bytes, declaration: str) -> bytes:
    return plain(part, declaration).decode().encode("utf-16")


def utf_16_without_mark(part: bytes, declaration: str) -> bytes:
    return plain(part, declaration).decode().encode("utf-16-be")


def iso_2022_jp(part: bytes, declaration: str) -> bytes:
    """With an escape sequence for the character set that is set already, inside of the declaration's name."""
    hidden = declaration.encode().replace(b"<!E", b"<!E\x1b(B").replace(b"<!A", b"<!A\x1b(B")
    return b'<?xml version="1.0" encoding="iso-2022-jp"?><!DOCTYPE r [' + hidden + b"]>" + part


def built(suffix: str) -> list[tuple[str, list[tuple[str, bytes]]]]:
    """The parts of a sample that are XML, one after the other, each with what is around it; "" for a file of XML."""
    data = SAMPLES[suffix].build(SAMPLES[suffix].ordinary)
    if not data.startswith(b"PK"):
        return [("", [("", data)])]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = [(name, archive.read(name)) for name in archive.namelist()]
    return [(name, parts) for name, _ in parts if name not in NO_XML]


def with_part(parts: list[tuple[str, bytes]], name: str, content: bytes) -> bytes:
    return content if not name else packed([(other, content if other == name else part) for other, part in parts])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_samples_are_read_without_declarations(suffix: str) -> None:
    for name, parts in built(suffix):
        assert open_file(with_part(parts, name, dict(parts)[name]), f"a{suffix}", "de", LIMIT).texts


@pytest.mark.parametrize("hidden", [plain, utf_16, utf_16_without_mark, iso_2022_jp])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_declarations_are_refused(suffix: str, hidden: Callable[[bytes, str], bytes]) -> None:
    for name, parts in built(suffix):
        if name in SEARCHED:
            continue
        for declaration in (ENTITY, ATTRIBUTE):
            with pytest.raises(DamagedFile, match="declares entities or attributes of its own; save it without"):
                open_file(with_part(parts, name, hidden(dict(parts)[name], declaration)), f"a{suffix}", "de", LIMIT)


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_utf_32_is_refused(suffix: str, encoding: str) -> None:
    for name, parts in built(suffix):
        data = dict(parts)[name].decode().encode(encoding)
        with pytest.raises(DamagedFile, match="in the encoding UTF-32, which is not read; save it as UTF-8"):
            open_file(with_part(parts, name, data), f"a{suffix}", "de", LIMIT)


def test_what_is_read_is_given_to_the_functions() -> None:
    events: list[object] = []
    parser = expat_parser("it", lambda *start: events.append(start), events.append, events.append)
    parse_with(parser, b'<a xmlns="n" b="c">d&amp;e<f/></a>', "it")
    assert events == [("n a", {"b": "c"}), "d&e", ("n f", {}), "n f", "n a"]


def test_damage_says_what_and_where() -> None:
    with pytest.raises(DamagedFile, match=re.escape("it is no well-formed XML: mismatched tag: line 1, column 5")):
        parse_with(expat_parser("it"), b"<a></b>", "it")
