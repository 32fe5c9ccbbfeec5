"""The format of a file by its content, for clients that send no name (`file`, `blob`).

Only the beginning of a file is read, and the end of an archive, where its directory is.
"""

import json
import re

from server.files.formats.base import UnsupportedFile
from server.files.formats.delimiters import first_rows, is_even
from server.files.formats.detection import utf16_without_mark
from server.files.formats.strings.content import suffix_of_strings

HEAD_BYTES = 2**14
"""Bytes at the beginning that are read: names are checked on the event loop, and again for the type of the answer."""
_DIRECTORY_BYTES = 2**20
_OLE_SIGNATURE = b"\xd0\xcf\x11\xe0"
_PART = re.compile(rb"PK\x01\x02.{42}(word|ppt|xl|META-INF)/(?:document|presentation|workbook|container)", re.DOTALL)
"""An entry of an archive's directory: the main part of an Office file."""
_PARTS = {b"word": ".docx", b"ppt": ".pptx", b"xl": ".xlsx", b"META-INF": ".epub"}
_MIMETYPE = re.compile(rb"mimetypeapplication/(?:vnd\.oasis\.opendocument\.|vnd\.adobe\.)?([a-z]{1,20})")
"""The first part of an OpenDocument or InDesign file or a book, which is not packed."""
_MIMETYPES = {
    b"text": ".odt",
    b"presentation": ".odp",
    b"spreadsheet": ".ods",
    b"graphics": ".odg",
    b"epub": ".epub",
    b"indesign": ".idml",
}

# Possessive quantifiers: no backtracking.
_PROLOG = r"(?:\s++|<\?[^>]*+>|<!--(?:[^-]++|-(?!->))*+-->|<!(?!--)[^>\[]*+>)*+"
_XML_ROOT = re.compile(rf"{_PROLOG}<(?:\w++:)?([A-Za-z][\w.-]*+)")
_ROOTS = {
    "xliff": ".xliff", "resources": ".xml", "TS": ".ts", "tmx": ".tmx", "martif": ".tbx", "tbx": ".tbx"
}  # fmt: skip
_HTML = frozenset({
    "html", "head", "body", "p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "table", "section",
    "article", "main", "header", "footer", "nav", "span", "a", "b", "i", "em", "strong", "br", "blockquote", "title",
    "style", "script", "img",
})  # fmt: skip
_MAIL = re.compile(r"(?:[!-9;-~]++:[^\n]*+\n(?:[ \t][^\n]*+\n)*+){2,}+\r?\n")
_MAIL_FIELD = re.compile(r"^(?:From|To|Date|Subject|Message-ID|MIME-Version|Received):", re.MULTILINE | re.IGNORECASE)
_SUBTITLE = re.compile(r"\s*+(?:\d++[ \t]*+\r?\n)?\d++:\d\d:\d\d[,.]\d++[ \t]*+-->")
_SBV = re.compile(r"\s*+\d{1,3}:\d\d:\d\d\.\d{1,3},\d{1,3}:\d\d:\d\d\.\d{1,3}[ \t]*+\r?\n")
_SUBSTATION = re.compile(r"\s*+(?:;[^\n]*+\n\s*+)*+\[Script Info\]", re.IGNORECASE)
_LYRICS = re.compile(r"\s*+(?:\[[a-z]{2,8}:[^\]\n]*+\]\s*+)*+\[\d{1,3}:\d\d\.\d\d")
_TEX = re.compile(r"(?:\s++|%[^\n]*+\n)*+\\(?:documentclass|documentstyle|usepackage|begin|chapter|section|input)\b")
_CATALOGUE = re.compile(r'(?:[ \t]*+(?:#[^\n]*+)?\n)*+[ \t]*+(?:msgctxt|msgid)[ \t]++"')
_JSON = re.compile(r'\s*+(?:\{\s*+["}]|\[\s*+(?:["{\[\]]|-?\d++\s*+[,\]\r\n.]|(?:true|false|null)\b))')
_FRONT_MATTER = re.compile(r"(?:---[ \t]*+\r?\n\s*+(?:[\w\"'-]++[ \t]*+:|#|-)|\+\+\+[ \t]*+\r?\n)")
_FRONT_MATTER_END = re.compile(r"^(?:---|\.\.\.)[ \t]*+\r?$", re.MULTILINE)
_CATALOGUE_OF_XCODE = re.compile(r'"sourceLanguage"\s*+:')
_BUNDLE = re.compile(r'"@[\w@]++"\s*+:')
_BLOCK_MARKDOWN = (
    r"^#{1,6} +\S", r"^(?:```|~~~)", r"^\|?[ \t]*:?-{3,}:?[ \t]*\|", r"\[[^\[\]\n]{1,200}+\]\([^()\s]{1,500}+\)",
)  # fmt: skip
_INLINE_MARKDOWN = (
    r"^[ \t]{0,3}(?:[-*+]|\d{1,9}\.) +\S",
    r"\*\*\S[^*\n]{0,200}+\*\*",
    r"(?<!`)`[^`\n]{1,200}+`",
    r"^> ",
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a]")


def suffix_by_content(data: bytes) -> str:
    """The suffix of the format that the content has. It may be a format that is not translated: ".pdf". Raises
    UnsupportedFile where the content is no text and of no known format, or may be of two."""
    if data.startswith(b"PK\x03\x04"):
        return _suffix_of_archive(data)
    if data.startswith(_OLE_SIGNATURE):
        return ".docx"  # its opener says what is wrong with it
    if data.startswith(b"%PDF-"):
        return ".pdf"
    if data.startswith(b"{\\rtf"):
        return ".rtf"
    head = _head(data)
    if not head.strip():
        return ".txt"
    if len(_CONTROL.findall(head)) * 100 > len(head):
        raise _unknown("its content is neither text nor of a known format")
    if (header := _MAIL.match(head)) and len(_MAIL_FIELD.findall(header[0])) > 1:
        return ".eml"
    if head.startswith("WEBVTT"):
        return ".vtt"
    if _SUBTITLE.match(head):
        return ".srt"
    if _SBV.match(head):
        return ".sbv"
    if _SUBSTATION.match(head):
        return ".ass"
    if _LYRICS.match(head):
        return ".lrc"
    if _TEX.match(head):
        return ".tex"
    if root := _XML_ROOT.match(head):
        return _suffix_of_xml(head, root[1])
    if re.match(r"\s*+<!doctype html", head, re.IGNORECASE):
        return ".html"
    if _CATALOGUE.match(head):
        return ".po"
    if _JSON.match(head) and data[-64:].replace(b"\x00", b"").rstrip().endswith((b"}", b"]")):
        return ".jsonl" if _are_json_lines(head) else _suffix_of_json(head)
    if _FRONT_MATTER.match(head) and (head.startswith("+++") or _FRONT_MATTER_END.search(head, 3)):
        return ".md"
    return suffix_of_strings(head) or _suffix_of_lines(head)


def _head(data: bytes) -> str:
    """The first characters, without a byte order mark."""
    for bom, name in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(bom):
            return data[len(bom) : len(bom) + HEAD_BYTES].decode(name, errors="ignore")
    head = data[:HEAD_BYTES]
    return head.decode(utf16_without_mark(head) or "utf-8", errors="replace")


def _suffix_of_archive(data: bytes) -> str:
    if (result := _MIMETYPE.search(data, 0, 200)) and result[1] in _MIMETYPES:
        return _MIMETYPES[result[1]]
    if part := _PART.search(data, max(0, len(data) - _DIRECTORY_BYTES)):
        return _PARTS[part[1]]
    raise _unknown("it is an archive, but no Office file, or it is broken off")


def suffix_by_root(data: bytes) -> str | None:
    """The suffix of the format of an XML file by its root element; None for a root that no format has."""
    root = _XML_ROOT.match(head := _head(data))
    return None if root is None else _suffix_of_root(head, root[1])


def _suffix_of_root(head: str, root: str) -> str | None:
    if root == "root":
        return ".resx" if "<resheader" in head or "<data name=" in head else None
    return _ROOTS.get(root)


def _suffix_of_xml(head: str, root: str) -> str:
    if suffix := _suffix_of_root(head, root):
        return suffix
    if root.lower() in _HTML:
        return ".html"
    if head.lstrip().startswith("<?xml"):
        raise _unknown(f"it is XML with the root <{root}>, which several formats may have")
    return _suffix_of_lines(head)


def _are_json_lines(head: str) -> bool:
    """Whether the first line is a whole value, and others follow."""
    first, _, rest = head.lstrip().partition("\n")
    try:
        json.loads(first, parse_int=len, parse_float=len)
    except (ValueError, RecursionError):
        return False
    return bool(rest.strip())


def _suffix_of_json(head: str) -> str:
    if _CATALOGUE_OF_XCODE.search(head) and '"strings"' in head:
        return ".xcstrings"
    return ".arb" if _BUNDLE.search(head) else ".json"


def _suffix_of_lines(head: str) -> str:
    """Of tables, Markdown and text, by what their lines have in common."""
    complete = head if len(head) < HEAD_BYTES // 4 else head.rpartition("\n")[0] or head
    block, inline = (
        sum(bool(re.search(pattern, complete, re.MULTILINE)) for pattern in patterns)
        for patterns in (_BLOCK_MARKDOWN, _INLINE_MARKDOWN)
    )
    if block and block + inline > 1:
        return ".md"
    rows = first_rows(complete)
    if len(rows) > 1 and is_even(rows, "\t"):
        return ".tsv"
    for delimiter in ",;|":
        if len(rows) > 1 and is_even(rows, delimiter):
            cells = rows[0].count(delimiter) + 1
            is_prose = any(f"{delimiter} " in row for row in rows)
            if not is_prose:
                return ".csv"
            if len(rows) > 2 and cells > 2:
                raise _unknown("it may be a table or text")
    return ".txt"


def _unknown(reason: str) -> UnsupportedFile:
    return UnsupportedFile(f"the name of the file does not say its format, and {reason}; send it with its name")
