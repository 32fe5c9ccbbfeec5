"""Files of archives, XML and PDF with a given body."""

import io
import re
import zipfile
from collections.abc import Sequence

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_OPENDOCUMENT = {"office": "office", "text": "text", "table": "table", "style": "style", "draw": "drawing",
                 "svg": "svg-compatible", "fo": "xsl-fo-compatible"}  # fmt: skip
_XLIFF = "urn:oasis:names:tc:xliff:document:1.2"
_TAG = re.compile(r"(</?[A-Za-z][^<>]*>|<!--[^<>]*-->)")
_ONE_TAG = re.compile(r"""<[A-Za-z][\w:.-]*(?: [A-Za-z][\w:]*="[^"&<]*")?(?: [A-Za-z]\w="[^"&<]*")?/?>""")
DEEPEST = 20
"""Depth of elements that `balanced` makes: low, so that small files are as deep as large files."""
_NESTED = ("w:p", "a:p", "text:p", "ParagraphStyleRange")
_MOST_NESTED = 5
"""Depth of paragraphs; deeper files are refused."""


def balanced(text: str) -> str:
    """`text` as well-formed XML: what is closed was open, what was open is closed, and the rest is no markup."""
    parts: list[str] = []
    names: list[str] = []
    num_open: dict[str, int] = {}
    for part in _TAG.split(text):
        if part.startswith("</"):
            while num_open.get(part[2:-1].strip(), 0):
                name = names.pop()
                num_open[name] -= 1
                parts.append(f"</{name}>")
                if name == part[2:-1].strip():
                    break
        elif _TAG.fullmatch(part) and not part.startswith("<!") and _ONE_TAG.fullmatch(part):
            name = re.split(r"[\s/>]", part[1:], maxsplit=1)[0]
            if not part.endswith("/>"):
                if len(names) >= DEEPEST or (name in _NESTED and num_open.get(name, 0) >= _MOST_NESTED):
                    continue
                names.append(name)
                num_open[name] = num_open.get(name, 0) + 1
            parts.append(part)
        else:
            parts.append(re.sub(r"[^\t\n\r -\ud7ff]", "?", part.replace("&", "&amp;").replace("<", "&lt;")))
    return "".join(parts) + "".join(f"</{name}>" for name in reversed(names))


def packed(parts: Sequence[tuple[str, str | bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive of (name, content), the same whenever it is made."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in parts:
            archive.writestr(undated(name), content, method)
    return file.getvalue()


def undated(name: str) -> zipfile.ZipInfo:
    """A part of an archive of always the same date."""
    part = zipfile.ZipInfo(name)
    part.external_attr = 0o600 << 16
    return part


def word_xml(body: str) -> str:
    return f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>'


def docx_of(body: str) -> bytes:
    """A Word file with this in its body."""
    return packed([("[Content_Types].xml", "<Types/>"), ("word/document.xml", word_xml(body))])


def pptx_of(body: str) -> bytes:
    """A file of one slide with this in its only box."""
    slide = f'<p:sld xmlns:p="p:p" xmlns:a="{_DRAWING}"><p:txBody>{body}</p:txBody></p:sld>'
    return packed([("ppt/presentation.xml", "<p/>"), ("ppt/slides/slide1.xml", slide)])


def xlsx_of(body: str) -> bytes:
    """An Excel file with this among its shared strings and in its sheet."""
    sheets = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return packed(
        [
            ("xl/workbook.xml", f'<workbook xmlns="{sheets}"/>'),
            ("xl/sharedStrings.xml", f'<sst xmlns="{sheets}">{body}</sst>'),
            ("xl/worksheets/sheet1.xml", f'<worksheet xmlns="{sheets}">{body}</worksheet>'),
        ]
    )


def epub_of(page: str, contents: str = "", *more: tuple[str, str | bytes]) -> bytes:
    """A book of one page, with this in its table of contents, and more parts."""
    dublin_core = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
    items = (
        '<item id="a" href="a%20b.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    )
    titles = f"<metadata {dublin_core}><dc:title>A title</dc:title><dc:language>en</dc:language></metadata>"
    package = f'<package>{titles}<manifest>{items}</manifest><spine><itemref idref="a"/></spine></package>'
    container = '<container><rootfiles><rootfile full-path="OEBPS/content.opf"/></rootfiles></container>'
    parts: list[tuple[str, str | bytes]] = [
        ("META-INF/container.xml", container),
        ("OEBPS/content.opf", package),
        ("OEBPS/a b.xhtml", page.replace("\x00", "0")),
        ("OEBPS/toc.ncx", f"<ncx {dublin_core}>{contents}</ncx>"),
        *more,
    ]
    return with_mimetype(packed(parts), "application/epub+zip")


def with_mimetype(archive: bytes, mimetype: str) -> bytes:
    """The archive with its type before all other parts, and not packed."""
    file = io.BytesIO(packed([("mimetype", mimetype)], zipfile.ZIP_STORED))
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as after, zipfile.ZipFile(io.BytesIO(archive)) as before:
        for info in before.infolist():
            after.writestr(undated(info.filename), before.read(info), zipfile.ZIP_DEFLATED)
    return file.getvalue()


def mail_of(body: str) -> bytes:
    """A mail of parts in plain text."""
    header = "From: a@example.org\nSubject: The harbour\nContent-Type: multipart/mixed; boundary=b; format=flowed\n"
    return f"{header}\n--b\n\n{body}\n--b\nContent-Type: text/html\n\n{body}".replace("\x00", "0").encode()


def pdf_of(*pages: str) -> bytes:
    """A PDF file of pages with these instructions in their texts."""
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}/Resources<</Font<</F1 3 0 R>>>>"
        "/MediaBox[0 0 600 800]>>".encode(),
        font,
    ]
    for number, page in enumerate(pages):
        content = f"BT /F1 12 Tf 50 750 Td {page} ET".encode("latin-1", errors="replace")
        objects += (
            f"<</Type/Page/Parent 2 0 R/Contents {5 + 2 * number} 0 R>>".encode(),
            b"<</Length %d>>stream\n%b\nendstream" % (len(content), content),
        )
    file, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(file))
        file += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in (*places,))
    end = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(file))
    return file + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end


def idml_of(body: str) -> bytes:
    """An InDesign file of one story."""
    story = f'<idPkg:Story xmlns:idPkg="i"><Story>{body}</Story></idPkg:Story>'
    parts = packed([("designmap.xml", '<Document StoryList="ua"/>'), ("Stories/Story_ua.xml", story)])
    return with_mimetype(parts, "application/vnd.adobe.indesign-idml-package")


def odt_of(body: str) -> bytes:
    """An OpenDocument text with this in its body."""
    oasis = "urn:oasis:names:tc:opendocument:xmlns:"
    names = " ".join(f'xmlns:{name}="{oasis}{uri}:1.0"' for name, uri in _OPENDOCUMENT.items())
    return packed([("content.xml", f"<office:document-content {names}>{body}</office:document-content>")])


def xliff_of(body: str) -> bytes:
    return f'<xliff xmlns="{_XLIFF}" version="1.2"><file><body>{body}</body></file></xliff>'.encode()
