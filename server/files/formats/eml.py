"""Mails (.eml): the subject and the parts of text are translated; everything else stays byte for byte.

Attachments, forwarded mails, quote marks and signatures under "-- " stay. Encrypted mails are refused.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from server.files.formats.base import Budget, DamagedFile, FileTooLarge, OpenedFile
from server.files.formats.html import BASE_TAGS
from server.files.formats.mail.paragraphs import ENCRYPTED, SIGNED, Flow, Paragraph, armor_of, read_paragraphs
from server.files.formats.mail.parts import Part, parts_of
from server.files.formats.mail.transfer import decoded, encoded, newline, read_header, written_header
from server.text.base.placeholders import PLACEHOLDER, without_placeholders
from server.text.base.words import has_letters
from server.text.markup.markup import read_markup

_REPLY = re.compile(
    r"(?:(?:\[[^\[\]]{1,60}\][ \t]*+)?(?:re|fwd?|aw|wg|sv|vs|tr|rv)(?:\[\d{1,3}\])?+:[ \t]*+)++", re.IGNORECASE
)
"""What mail programs and lists put before a subject."""
_ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
_SIGNED = ("multipart/signed",)
_SIGNATURE = "the signature of the mail does not fit its translation"
_TEXTS = ("text/plain", "text/html")
_CHARSET = re.compile(rb"""(charset\s*=\s*)(?:"[^"]*"|[^\s;"]+)""", re.IGNORECASE)
_MAX_SUBJECT = 1000
"""Characters of a subject that is translated."""
_TYPE, _ENCODING, _LANGUAGE = "content-type", "content-transfer-encoding", "content-language"

Splice = tuple[int, int, bytes]
"""Bytes in place of those from the first to the second place."""


@dataclass(frozen=True)
class _Text:
    """Something of a mail with `texts`; `written` gives what changes for translations of them."""

    texts: Sequence[str]
    written: Callable[[Sequence[str]], Iterator[Splice]]


def open_eml(data: bytes, language: str, budget: Budget) -> OpenedFile:
    parts = list(parts_of(data))
    if not any(name in parts[0].fields for name in ("from", "subject", "received", "mime-version", "message-id")):
        raise DamagedFile("the file is no mail: it has no header with From or Subject")
    if any(part.content_type in _ENCRYPTED for part in parts):
        raise DamagedFile("the mail is encrypted; save it decrypted")
    notes: list[str] = []
    read = [
        text for text in (_subject(parts[0]), *(_body(part, language, budget, notes) for part in _shown(parts))) if text
    ]
    texts = [text for item in read for text in item.texts]
    for text in texts:
        budget.spend(text)
    if any(part.content_type in _SIGNED for part in parts):
        notes.append(_SIGNATURE)
    notes += _kept(parts)

    def write(translations: Sequence[str]) -> bytes:
        if len(translations) != len(texts):
            raise ValueError(f"{len(translations)} translations of {len(texts)} texts")
        splices: list[Splice] = []
        first = 0
        for item in read:
            ours = translations[first : first + len(item.texts)]
            first += len(item.texts)
            if list(ours) != list(item.texts):
                splices += item.written(ours)
        return _spliced(data, [*splices, *_in_language(parts[0], language)]) if splices else data

    return OpenedFile(texts, write, notes)


def _kept(parts: Sequence[Part]) -> Iterator[str]:
    """What was not translated, for the client."""
    if any(
        part.content_type.startswith("text/") and part.content_type not in _TEXTS and not part.is_attachment
        for part in parts
    ):
        yield "parts of the mail that are neither plain text nor HTML (a calendar) were not translated"
    if any(part.content_type == "message/rfc822" for part in parts):
        yield "forwarded mails were not translated"


def _shown(parts: Sequence[Part]) -> Iterator[Part]:
    """The parts of text that are no attachments."""
    return (part for part in parts if part.content_type in _TEXTS and not part.is_attachment)


def _subject(mail: Part) -> _Text | None:
    field = mail.fields.get("subject")
    if field is None or len(field.value) > _MAX_SUBJECT:
        return None
    subject = without_placeholders(read_header(field.text))
    match = _REPLY.match(subject)
    prefix = match[0] if match else ""
    text = subject[len(prefix) :]
    if not has_letters(text):
        return None

    def written(translations: Sequence[str]) -> Iterator[Splice]:
        [translation] = translations
        value = written_header("Subject", prefix + _plain(translation)).encode("ascii", errors="replace")
        yield field.value_start, field.end, value.replace(b"\n", newline(mail.data))

    return _Text([text], written)


def _body(part: Part, language: str, budget: Budget, notes: list[str]) -> _Text | None:
    content = decoded(part)
    if content is None:
        notes.append("a part of the mail was kept: it is not in the charset that it declares")
        return None
    text, charset = content
    if part.content_type == "text/html":
        texts, write = _page(text, language, budget)
    else:
        texts, write = _plain_text(text, part, notes)

    def written(translations: Sequence[str]) -> Iterator[Splice]:
        body, changed = encoded(part, write(translations), charset)
        yield part.body, part.end, body
        yield from _with_fields(part, changed)

    return _Text(texts, written) if texts else None


def _page(text: str, language: str, budget: Budget) -> tuple[Sequence[str], Callable[[Sequence[str]], str]]:
    if text.count("<") > BASE_TAGS + budget.max_characters:
        raise FileTooLarge(f"the mail has more than {BASE_TAGS + budget.max_characters} tags")
    page = read_markup(text, "html", language=language)
    return page.texts, page.write


def _plain_text(text: str, part: Part, notes: list[str]) -> tuple[Sequence[str], Callable[[Sequence[str]], str]]:
    flow = Flow(part.parameter("format") == "flowed", part.parameter("delsp") == "yes", newline(part.data).decode())
    armor = armor_of(text)
    if ENCRYPTED in armor:
        raise DamagedFile("the mail is encrypted; save it decrypted")
    if SIGNED in armor and _SIGNATURE not in notes:
        notes.append(_SIGNATURE)
    pieces = list(read_paragraphs(without_placeholders(text), flow))

    def write(translations: Sequence[str]) -> str:
        remaining = iter(translations)
        return "".join(
            piece.written(_plain(next(remaining)), flow) if isinstance(piece, Paragraph) else piece for piece in pieces
        )

    return [piece.text for piece in pieces if isinstance(piece, Paragraph)], write


def _plain(translation: str) -> str:
    """A translation in plain text that can be encoded."""
    text = PLACEHOLDER.sub("", translation).replace("\x00", "")
    return text.encode("utf-8", errors="replace").decode()


def _with_fields(part: Part, changed: dict[str, str]) -> Iterator[Splice]:
    """Header fields of a part in another charset or with another encoding."""
    end = newline(part.data)
    new: list[bytes] = []
    if charset := changed.get("charset"):
        declared = f'charset="{charset}"'.encode()
        field = part.fields.get(_TYPE)
        if field is None:
            new.append(b"Content-Type: text/plain; " + declared + end)
        elif match := _CHARSET.search(field.value):
            yield field.value_start + match.start(), field.value_start + match.end(), declared
        else:
            yield field.end, field.end, b"; " + declared
    if encoding := changed.get(_ENCODING):
        field = part.fields.get(_ENCODING)
        if field is None:
            new.append(b"Content-Transfer-Encoding: " + encoding.encode() + end)
        else:
            yield field.value_start, field.end, encoding.encode()
    if new and part.start == 0 and "mime-version" not in part.fields:
        new.append(b"MIME-Version: 1.0" + end)
    if new:
        yield part.start, part.start, b"".join(new)


def _in_language(mail: Part, language: str) -> Iterator[Splice]:
    """Say the language of the translation."""
    if (field := mail.fields.get(_LANGUAGE)) is not None:
        yield field.value_start, field.end, language.encode()
    else:
        first = min(field.start for field in mail.fields.values())
        yield first, first, b"Content-Language: " + language.encode() + newline(mail.data)


def _spliced(data: bytes, splices: Sequence[Splice]) -> bytes:
    pieces: list[bytes] = []
    last = 0
    for start, end, new in sorted(splices, key=lambda splice: splice[:2]):
        pieces += (data[last:start], new)
        last = end
    return b"".join([*pieces, data[last:]])
