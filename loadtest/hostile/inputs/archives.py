"""Word and PowerPoint files that are small and unpack to much."""

import io
import struct
import zipfile
from collections.abc import Iterator, Mapping

from loadtest.hostile.attempt import Attempt, hostile_input, scaled
from loadtest.hostile.sending import upload, upload_to_deepl

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
DOCUMENT = "word/document.xml"
BLOCK = 2**20


def packed(parts: Mapping[str, bytes | Iterator[bytes]], level: int = 6) -> bytes:
    """A ZIP archive; large parts come in blocks."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, data in parts.items():
            with archive.open(name, "w") as opened:  # it takes the archive's own kind of compression
                for block in [data] if isinstance(data, bytes) else data:
                    opened.write(block)
    return file.getvalue()


def word(body: str | bytes, **others: bytes) -> bytes:
    """A .docx file with this body."""
    inner = body.encode() if isinstance(body, str) else body
    document = f"<w:document {W}><w:body>".encode() + inner + b"</w:body></w:document>"
    return packed({DOCUMENT: document} | others)


def repeated(begin: bytes, unit: bytes, end: bytes, size: int) -> Iterator[bytes]:
    """`size` bytes of `unit` between `begin` and `end`."""
    block = unit * (BLOCK // len(unit))
    yield begin
    for _ in range(max(1, size // len(block))):
        yield block
    yield end


def slides(shapes: int, count: int = 1) -> bytes:
    """A .pptx file with so many shapes in all, on `count` slides."""
    shape = "<p:sp><p:txBody><a:p><a:r><a:t>a</a:t></a:r></a:p></p:txBody></p:sp>" * (shapes // count)
    slide = f"<p:sld {P} {A}><p:cSld><p:spTree>{shape}</p:spTree></p:cSld></p:sld>".encode()
    parts = {f"ppt/slides/slide{number}.xml": slide for number in range(1, count + 1)}
    return packed({"ppt/presentation.xml": f"<p:presentation {P}/>".encode()} | parts)


def paragraphs_of_195_mib(share: float) -> bytes:
    """A .docx of about 600 kB whose text unpacks to 195 MiB."""
    begin, end = f"<w:document {W}><w:body>".encode(), b"</w:body></w:document>"
    unit = b"<w:p><w:r><w:t>a</w:t></w:r></w:p>"
    return packed({DOCUMENT: repeated(begin, unit, end, scaled(195 * BLOCK, share))}, level=9)


@hostile_input("Word: 600 kB that unpack to 195 MiB of paragraphs")
def bomb(share: float) -> Attempt:
    """A .docx file whose text is just below what an archive may unpack to."""
    return upload("a.docx", paragraphs_of_195_mib(share))


@hostile_input("Word: the same to DeepL's API")
def bomb_to_deepl(share: float) -> Attempt:
    """The same as a document that is translated after the answer."""
    return upload_to_deepl("a.docx", paragraphs_of_195_mib(share))


@hostile_input("Word: the same to LibreTranslate's API")
def bomb_to_libretranslate(share: float) -> Attempt:
    """The same as a file for /translate_file."""
    return upload("a.docx", paragraphs_of_195_mib(share), "/translate_file")


@hostile_input("Word: a picture that unpacks to 195 MiB")
def picture(share: float) -> Attempt:
    """A .docx file of a word, with a part that the reader ignores."""
    zeros = repeated(b"", bytes(BLOCK), b"", scaled(195 * BLOCK, share))
    document = f"<w:document {W}><w:body><w:p><w:r><w:t>Yes.</w:t></w:r></w:p></w:body></w:document>".encode()
    return upload("a.docx", packed({DOCUMENT: document, "word/media/image1.bmp": zeros}))


@hostile_input("Word: unpacks to 1 GiB")
def too_large(share: float) -> Attempt:
    """A .docx file that unpacks to more than is taken."""
    zeros = repeated(b"", bytes(BLOCK), b"", scaled(1024 * BLOCK, share))
    return upload("a.docx", packed({DOCUMENT: b"<a/>", "word/media/image1.bmp": zeros}))


@hostile_input("Word: an archive that lies about its size")
def lying(share: float) -> Attempt:
    """The directory of the archive says 10 bytes, where there are 100 MiB."""
    data = bytearray(packed({DOCUMENT: repeated(b"<a>", b" " * 1000, b"</a>", scaled(100 * BLOCK, share))}))
    entry = data.rfind(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = struct.pack("<I", 10)
    return upload("a.docx", bytes(data))


@hostile_input("Word: 10,000 parts")
def parts(share: float) -> Attempt:
    """A .docx file of very many empty parts."""
    empty = {f"word/header{number}.xml": b"<a/>" for number in range(scaled(9_900, share))}
    return upload("a.docx", packed({DOCUMENT: b"<a/>"} | empty))


@hostile_input("Word: an archive in an archive")
def nested(share: float) -> Attempt:
    """A .docx file in a .docx file, in place of its text."""
    return upload("a.docx", packed({DOCUMENT: paragraphs_of_195_mib(share), "word/embeddings/a.docx": word("")}))


@hostile_input("Word: 500,000 runs in a paragraph")
def runs(share: float) -> Attempt:
    """Runs of one letter each, every other one bold."""
    pair = "<w:r><w:t>a</w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>b</w:t></w:r>"
    return upload("a.docx", word(f"<w:p>{pair * scaled(250_000, share)}</w:p>"))


@hostile_input("Word: 10^6 runs without text")
def empty_runs(share: float) -> Attempt:
    """Runs that hold nothing but a tab."""
    return upload("a.docx", word(f"<w:p>{'<w:r><w:tab/></w:r>' * scaled(1_000_000, share)}</w:p>"))


@hostile_input("Word: 10^6 cells")
def cells(share: float) -> Attempt:
    """A table of a thousand rows with a thousand cells; every third one has a letter."""
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    row = f"<w:tr>{(cell.format('a') + cell.format('') * 2) * 333}</w:tr>"
    return upload("a.docx", word(f"<w:tbl>{row * scaled(1_000, share)}</w:tbl>"))


@hostile_input("Word: a part named twice")
def twice(share: float) -> Attempt:
    """Ten times the same name, each with 20 MiB."""
    file = io.BytesIO()
    text = f"<w:document {W}><w:body>{'<w:p/>' * scaled(3_000_000, share)}</w:body></w:document>".encode()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for _ in range(10):
            if DOCUMENT in archive.NameToInfo:
                del archive.NameToInfo[DOCUMENT]
            archive.writestr(DOCUMENT, text)
    return upload("a.docx", file.getvalue())


@hostile_input("PowerPoint: 100,000 shapes")
def shapes(share: float) -> Attempt:
    """A slide of 100,000 shapes with a letter each."""
    return upload("a.pptx", slides(scaled(100_000, share)))


@hostile_input("PowerPoint: 100,000 shapes on 2,000 slides")
def many_slides(share: float) -> Attempt:
    """The same on many slides."""
    return upload("a.pptx", slides(scaled(100_000, share), scaled(2_000, share)))
