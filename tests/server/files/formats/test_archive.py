"""Archives that are built to be large, or to lie, are refused before they cost anything; what stays is copied as it
lies."""

import io
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Callable

import pytest

from server.files.formats.archive import MAX_PARTS
from server.files.formats.base import DamagedFile, FileError, FileTooLarge
from server.files.formats.registry import open_file
from tests.server.files.formats.files import docx_of, packed, pptx_of, word_xml

LIMIT = 100_000
PARAGRAPH = "<w:p><w:r><w:t>a</w:t></w:r></w:p>"
WORDS = "<w:p><w:r><w:t>Some words.</w:t></w:r></w:p>"
SHAPE = "<a:p><a:r><a:t>shape</a:t></a:r></a:p>"
WHOLE = word_xml("<w:p><w:r><w:t>Hello</w:t></w:r></w:p>")

LATE = f"<!--{' ' * 65_510}-->"
"""So that what follows is in two of the pieces that are parsed."""


@pytest.mark.parametrize(
    ("pack", "unit", "size", "message"),
    [
        (docx_of, PARAGRAPH, 150 * 2**20, "tags and attributes"),
        (docx_of, "<w:x/>", 20 * 2**20, "tags and attributes"),
        (docx_of, '<w:x a="" b="" c="" d="" e="" f="" g=""/>', 20 * 2**20, "tags and attributes"),
        (docx_of, f"<!--{' ' * 2000}-->", 150 * 2**20, "bytes of XML"),
        (docx_of, PARAGRAPH, 2**20, "too many texts"),
        (docx_of, WORDS, 2**20, "more than 100000 characters|too many texts"),
        (docx_of, f"<w:p><w:r><w:t>{'a' * 150_000}</w:t></w:r></w:p>", 150_100, "more than 100000 characters"),
        (pptx_of, SHAPE, 100_000 * len(SHAPE), "too many texts|tags and attributes"),
    ],
)
def test_what_unpacks_to_too_much_is_refused_early(
    pack: Callable[[str], bytes], unit: str, size: int, message: str
) -> None:
    """A document that unpacks to about `size` bytes."""
    data = pack(unit * (size // len(unit)))
    tracemalloc.start()
    try:
        with pytest.raises(FileTooLarge, match=message):
            open_file(data, "a.pptx" if b"ppt/" in data else "a.docx", "de", LIMIT)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * 2**20  # of Python's own; trees of XML are bounded by the number of tags


def test_the_other_parts_are_not_unpacked_and_stay_as_they_lie() -> None:
    """Not even to write the file: a picture that unpacks to 150 MB costs nothing."""
    picture = bytes(150 * 2**20)
    data = packed([("word/document.xml", WHOLE), ("word/media/a.png", picture), ("word/b.docx", packed([("x", "y")]))])
    tracemalloc.start()
    try:
        written = open_file(data, "a.docx", "de", LIMIT).write(["Hallo"])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * 2**20
    with zipfile.ZipFile(io.BytesIO(written)) as after, zipfile.ZipFile(io.BytesIO(data)) as before:
        assert after.namelist() == before.namelist()
        assert b"Hallo" in after.read("word/document.xml")
        assert after.read("word/b.docx") == before.read("word/b.docx")
        assert after.read("word/media/a.png") == picture


def test_parts_with_descriptors_are_copied() -> None:
    """Archives that were written to a pipe have the sizes after each part."""

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def tell(self) -> int:
            raise io.UnsupportedOperation

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", WHOLE)
        archive.writestr("word/styles.xml", "<styles/>" * 50)
    with zipfile.ZipFile(io.BytesIO(open_file(pipe.getvalue(), "a.docx", "de", LIMIT).write(["Hallo"]))) as after:
        assert after.testzip() is None
        assert after.read("word/styles.xml") == b"<styles/>" * 50


def many_parts() -> bytes:
    return packed([("word/document.xml", WHOLE), *((str(number), "") for number in range(MAX_PARTS))])


def lying(offset: int, value: int, size: str = "<I") -> bytes:
    """An archive whose list says `value` at `offset` of the entry of the document."""
    data = bytearray(packed([("word/document.xml", WHOLE)]))
    struct.pack_into(size, data, data.index(b"PK\x01\x02") + offset, value)
    return bytes(data)


def overlapping() -> bytes:
    """Two parts of which the second says to lie where the first does."""
    data = bytearray(packed([("word/document.xml", WHOLE), ("word/documens.xml", WHOLE)]))
    struct.pack_into("<I", data, data.rindex(b"PK\x01\x02") + 42, 0)
    return bytes(data)


def twice() -> bytes:
    data = packed([("word/document.xml", WHOLE), ("word/documens.xml", WHOLE)])
    return data.replace(b"word/documens.xml", b"word/document.xml")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (lying(24, 5), "broken off"),  # the size unpacked
        (lying(24, 2**31), "more than 200 MB"),
        (lying(20, 2**31), "missing"),  # the size packed
        (lying(20, 3), "broken off|lie inside"),
        (lying(42, 10), "broken off|missing"),  # the place
        (lying(10, 14, "<H"), "packed in a way"),  # LZMA, which may ask for any memory
        (lying(10, 99, "<H"), "packed in a way|broken off"),
        (overlapping(), "lie inside each other"),
        (twice(), "two parts of one name"),
        (packed([("word/document.xml", packed([("word/document.xml", WHOLE)]))]), "no well-formed XML"),
        (packed([("word/document.xml", "")]), "word/document.xml is"),
        (packed([("a.docx", packed([("word/document.xml", WHOLE)]))]), "no word/document.xml"),
        (docx_of("<w:p>" * 12 + PARAGRAPH + "</w:p>" * 12), "inside each other"),
        (docx_of("<w:x>" * 300 + "</w:x>" * 300), "no well-formed XML"),
        (docx_of(f"<w:p><w:r><w:rPr>{'<w:b/>' * 1001}</w:rPr><w:t>a</w:t></w:r></w:p>"), "formatting"),
        (docx_of(f"<w:p><w:r><w:rPr>{'<w:b/>' * 900}</w:rPr>{'<w:tab/><w:t>a</w:t>' * 999}</w:r></w:p>"), "formatting"),
        (packed([("word/document.xml", '<!DOCTYPE x [<!ENTITY a "b">]>' + WHOLE)]), "declares entities"),
        (packed([("word/document.xml", f"{LATE}<!DOCTYPE x [<!ATTLIST a b CDATA 'c'>]>{WHOLE}")]), "declares entities"),
        (packed([("word/document.xml", '<!DOCTYPE x [<!ENTITY a "">]><x/>'.encode("utf-16"))]), "declares entities"),
    ],
)  # fmt: skip
def test_archives_that_lie_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(FileError, match=message):
        open_file(data, "a.docx", "de", LIMIT).write([])


def test_too_many_parts_are_refused() -> None:
    with pytest.raises(FileError, match="more than 10000 parts"):
        open_file(many_parts(), "a.docx", "de", LIMIT).write([])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_parts_are_read_in_every_encoding_of_unicode(encoding: str) -> None:
    data = packed([("word/document.xml", WHOLE.encode(encoding))])
    assert open_file(data, "a.docx", "de", LIMIT).texts == ["Hello"]


def test_pictures_and_boxes_with_text_stay_where_they_are() -> None:
    body = (
        "<w:p><w:r><w:drawing/></w:r></w:p><w:p><w:r><w:t>one</w:t></w:r><w:r><w:pict>"
        "<w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:pict></w:r></w:p><w:p><w:r><w:pict><w:p><w:r><w:t>alone</w:t></w:r>"
        "</w:p></w:pict></w:r></w:p><w:p><w:r><w:t>last</w:t></w:r></w:p>"
    )
    opened = open_file(docx_of(body), "a.docx", "de", LIMIT)
    assert [text[:5].rstrip("\U000f8000") for text in opened.texts] == ["one", "boxed", "alone", "last"]
    with zipfile.ZipFile(io.BytesIO(opened.write([text.upper() for text in opened.texts]))) as archive:
        written = archive.read("word/document.xml").decode().replace(' xml:space="preserve"', "")
    expected = word_xml(body)
    for word in ("one", "boxed", "alone", "last"):
        expected = expected.replace(f">{word}<", f">{word.upper()}<")
    assert written == expected


def test_zip64_is_read() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, archive.open("word/document.xml", "w", force_zip64=True) as part:
        part.write(WHOLE.encode())
    written = open_file(file.getvalue(), "a.docx", "de", LIMIT).write(["Hallo"])
    with zipfile.ZipFile(io.BytesIO(written)) as after:
        assert after.testzip() is None


def test_every_refusal_is_a_sentence() -> None:
    with pytest.raises(DamagedFile, match="save it as a Word file"):
        open_file(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.docx", "de", LIMIT)


@pytest.mark.parametrize("number", ["7" * 60_000, "7" * 5_000 + ".xml"])
def test_parts_may_have_any_numbers_in_their_names(number: str) -> None:
    """That the archive calls them slides is enough."""
    kind = "application/vnd.openxmlformats-officedocument.presentationml.slide+xml"
    types = f'<Types><Override PartName="/ppt/{number}" ContentType="{kind}"/></Types>'
    slide = pptx_of("<a:p><a:r><a:t>A word</a:t></a:r></a:p>")
    with zipfile.ZipFile(io.BytesIO(slide)) as archive:
        part = archive.read("ppt/slides/slide1.xml")
    data = packed([("[Content_Types].xml", types), (f"ppt/{number}", part)])
    started = time.process_time()
    assert open_file(data, "a.pptx", "de", 1000).texts == ["A word"]
    assert time.process_time() - started < 2
