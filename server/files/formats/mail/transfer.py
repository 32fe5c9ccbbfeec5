"""How the text of a part is encoded for its transfer (RFC 2045), and header fields in other scripts (RFC 2047)."""

import base64
import binascii
import email.header
import quopri
from collections.abc import Iterator

from server.files.formats.charsets import codec_of
from server.files.formats.mail.parts import Part

_LONGEST_LINE = 990
"""Bytes of a line of a mail that is not encoded; 998 are permitted."""
_ASCII = "us-ascii"


def decoded(part: Part) -> tuple[str, str] | None:
    """The text of a part, and Python's name of its charset; None if it is not in the charset that it declares."""
    body = part.data[part.body : part.end]
    match part.text("content-transfer-encoding").strip().lower():
        case "quoted-printable":
            body = quopri.decodestring(body)
        case "base64":
            try:
                body = base64.b64decode(body)
            except binascii.Error:
                return None
    declared = codec_of(part.charset) if part.charset else "ascii"
    for name in (declared, "utf-8"):
        if name is not None:
            try:
                text = body.decode(name)
            except UnicodeError:
                continue
            return None if "\x00" in text else (text, name)
    return None


def encoded(part: Part, text: str, charset: str) -> tuple[bytes, dict[str, str]]:
    """The bytes of a part for another text, and what changes in its header: charset and encoding. A page keeps its
    charset, which it may declare itself: other characters are references."""
    changed: dict[str, str] = {}
    is_page = part.content_type == "text/html"
    try:
        data = text.encode(charset, errors="xmlcharrefreplace" if is_page else "strict")
    except UnicodeError:
        data, charset = text.encode("utf-8", errors="replace"), "utf-8"
    if charset != (codec_of(part.charset) or "ascii" if part.charset else "ascii"):
        changed["charset"] = charset
    encoding = part.text("content-transfer-encoding").strip().lower()
    is_long = any(len(line) > _LONGEST_LINE for line in data.split(b"\n"))
    if encoding == "base64":
        body = part.data[part.body : part.end]
        end = body[len(body.rstrip()) :]
        return _lines(base64.encodebytes(data).rstrip(b"\n"), part) + end, changed
    if encoding != "quoted-printable" and (is_long or (encoding != "8bit" and not data.isascii())):
        encoding = changed["content-transfer-encoding"] = "quoted-printable"
    return (_quoted_printable(data, part) if encoding == "quoted-printable" else data), changed


def _quoted_printable(data: bytes, part: Part) -> bytes:
    return _lines(quopri.encodestring(data.replace(b"\r\n", b"\n")), part)


def _lines(data: bytes, part: Part) -> bytes:
    return data.replace(b"\n", newline(part.data))


def newline(data: bytes) -> bytes:
    """The line end of a mail."""
    end = data.find(b"\n")
    return b"\r\n" if end > 0 and data[end - 1 : end] == b"\r" else b"\n"


def read_header(value: str) -> str:
    """The text of a header field."""
    return "".join(_words(value))


def _words(value: str) -> Iterator[str]:
    for word, charset in email.header.decode_header(value):
        if isinstance(word, str):
            yield word
        else:
            name = "raw-unicode-escape" if charset is None else codec_of(charset) or "utf-8"
            yield word.decode(name, errors="replace")


def written_header(name: str, text: str) -> str:
    """The value of a header field with this text, in lines of at most 76 characters that "\\n" divides."""
    text = " ".join(text.split())
    charset = _ASCII if text.isascii() else "utf-8"
    return email.header.Header(text, charset, maxlinelen=76, header_name=name).encode(linesep="\n")
