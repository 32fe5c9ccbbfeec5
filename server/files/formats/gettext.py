"""gettext catalogues (.po): messages without a translation, and fuzzy ones, are translated. All other bytes stay, but
for the language and the flag "fuzzy" with the previous message that belongs to it."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from server.files.formats.base import Budget, DamagedFile, Encoding, OpenedFile, decode, shown
from server.files.formats.charsets import codec_of
from server.files.formats.gettext_header import content_type, set_language, with_charset
from server.files.formats.gettext_plurals import has_translated_plurals, num_forms, with_plurals
from server.text.markup.languages import primary

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_FIELD = re.compile(r'(msgctxt|msgid|msgid_plural|msgstr|msgstr\[(\d{1,2})\])[ \t]*+"([^"\\]*+(?:\\.[^"\\]*+)*+)"')
_CONTINUATION = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"')
_ESCAPED = re.compile(r'\\([\\ntrvbf"])')
_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "b": "\b", "f": "\f"}
_ESCAPES = str.maketrans({
    "\\": "\\\\", "\t": "\\t", "\r": "\\r", "\n": "\\n", "\v": "\\v", "\b": "\\b", "\f": "\\f", '"': '\\"',
})  # fmt: skip
_WIDTH = 78
_HEADER_BYTES = 2**16
_CHARSET = re.compile(rb"Content-Type:[^\n]{0,100}?charset=([A-Za-z0-9._:-]{1,40})")
_FUZZY = re.compile(r"#,(?=.*\bfuzzy\b)")


@dataclass
class _Field:
    """A field of a message, from `start` to `end` of the file. `form`: the number of its plural form, or None."""

    name: str
    form: int | None
    start: int
    end: int
    parts: list[str]

    @property
    def key(self) -> str:
        return self.name if self.form is None else f"{self.name}[{self.form}]"

    @property
    def text(self) -> str:
        return _ESCAPED.sub(lambda match: _CHARACTERS.get(match[1], match[1]), "".join(self.parts))


@dataclass(frozen=True)
class _Comment:
    """A line of comments before a message, from `start` to `end`, its line end included."""

    start: int
    end: int
    line: str

    def without_fuzzy(self) -> str:
        """A line of flags without the flag "fuzzy"; nothing where it has no other."""
        bare = self.line.rstrip("\r\n")
        flags = [flag.strip() for flag in bare.strip()[2:].split(",")]
        others = ", ".join(flag for flag in flags if flag and flag != "fuzzy")
        return f"#, {others}{self.line[len(bare) :]}" if others else ""


@dataclass
class _Message:
    fields: dict[str, _Field] = field(default_factory=dict)
    comments: list[_Comment] = field(default_factory=list)

    @property
    def is_fuzzy(self) -> bool:
        return any(_FUZZY.match(comment.line.lstrip()) for comment in self.comments)

    @property
    def is_header(self) -> bool:
        return "msgctxt" not in self.fields and "msgid" in self.fields and not self.fields["msgid"].text

    def changed_comments(self) -> Iterator[tuple[_Comment, str]]:
        """The comments that do not fit a message that is translated, and what takes their places."""
        for comment in self.comments if self.is_fuzzy else ():
            if _FUZZY.match(comment.line.lstrip()):
                yield comment, comment.without_fuzzy()
            elif comment.line.lstrip().startswith("#|"):
                yield comment, ""

    def untranslated_fields(self, count: int | None) -> Iterator[tuple[_Field, str]]:
        """The fields without a translation, all of a fuzzy message, and the source text of each. Of a plural, which has
        `count` forms, also those that are missing: empty fields at the end of the last one."""
        if not (source := self.fields["msgid"].text):
            return
        plural = self.fields.get("msgid_plural")
        if plural and count:
            yield from ((entry, plural.text if count == 1 or entry.form else source) for entry in self._forms(count))
            return
        for entry in self.fields.values():
            if (
                entry.name == "msgstr"
                and (entry.form is None) == (plural is None)
                and (self.is_fuzzy or not entry.text)
            ):
                yield entry, plural.text if plural and entry.form else source

    def _forms(self, count: int) -> Iterator[_Field]:
        """The forms of a plural that are to be translated."""
        last = list(self.fields.values())[-1]
        for form in range(count):
            entry = self.fields.get(f"msgstr[{form}]")
            if entry is None:
                yield _Field("msgstr", form, last.end, last.end, [])
            elif self.is_fuzzy or not entry.text:
                yield entry

    def surplus_forms(self, count: int | None) -> Iterator[_Field]:
        """The empty forms of a plural beyond the last of `count`."""
        for entry in self.fields.values() if count else ():
            if entry.form is not None and entry.form >= (count or 0) and (self.is_fuzzy or not entry.text):
                yield entry


def open_po(data: bytes, language: str, budget: Budget) -> OpenedFile:
    text, encoding = decode(data, _declared(data))
    catalogue = _Catalogue(text, encoding, language)
    targets: list[_Field] = []
    texts: list[str] = []
    num_done = 0
    count: int | None = None
    for message in _messages(text):
        if catalogue.header is None and message.is_header:
            catalogue.header = message.fields.get("msgstr")
            count = num_forms(catalogue.written_header(encoding.name)) if catalogue.header else None
        untranslated = list(message.untranslated_fields(count))
        if "msgid_plural" in message.fields:
            catalogue.surplus += message.surplus_forms(count)
        num_done += not untranslated and not message.is_header
        if untranslated:
            catalogue.comments += message.changed_comments()
        for target, source in untranslated:
            targets.append(target)
            texts.append(source)
            budget.spend(source)

    def write(translations: Sequence[str]) -> bytes:
        return catalogue.encoded([pair for pair in zip(targets, translations, strict=True) if pair[1]])

    return OpenedFile(texts, write, encoding.notes, num_done)


def _declared(data: bytes) -> str | None:
    match = _CHARSET.search(data, 0, _HEADER_BYTES)
    return codec_of(match[1].decode("ascii")) if match else None


@dataclass
class _Catalogue:
    """A catalogue, its header, what takes the place of which comments, and the forms of plurals that are left out."""

    text: str
    encoding: Encoding
    language: str
    header: _Field | None = None
    comments: list[tuple[_Comment, str]] = field(default_factory=list)
    surplus: list[_Field] = field(default_factory=list)

    def encoded(self, changed: Sequence[tuple[_Field, str]]) -> bytes:
        """The file with these fields, in its own encoding if that has all characters, which its header then says."""
        whole = self._written(changed, self.encoding.name)
        try:
            return self.encoding.bom + whole.encode(self.encoding.name)
        except UnicodeEncodeError as error:
            name = shown(self.encoding.name)
            self.encoding.notes.append(f"written as UTF-8: {name} has no U+{ord(whole[error.start]):04X}")
            return self._written(changed, "utf-8", is_other=True).encode("utf-8", errors="replace")

    def _written(self, changed: Sequence[tuple[_Field, str]], charset: str, is_other: bool = False) -> str:
        newline = "\r\n" if self.text.partition("\n")[0].endswith("\r") else "\n"
        parts: list[str] = []
        if self.header is None:
            is_ascii = all(translation.isascii() for _, translation in changed) and self.text.isascii()
            content = f"Language: {self._language()}\n" + ("" if is_ascii else content_type(charset))
            parts.append(newline.join(('msgid ""', _format_field("msgstr", content), "", "")))
        else:
            header = self.written_header(charset, is_other)
            if header != self.header.text:
                changed = [*changed, (self.header, header)]
        edits = [
            (
                entry.start,
                entry.end,
                newline * (entry.start == entry.end) + _format_field(entry.key, text).replace("\n", newline),
            )
            for entry, text in changed
        ]
        edits += [(self._end_before(entry.start), entry.end, "") for entry in self.surplus]
        edits += [(comment.start, comment.end, line) for comment, line in self.comments]
        end = 0
        for start, stop, new in sorted(edits, key=lambda edit: edit[:2]):
            parts += (self.text[end:start], new)
            end = stop
        return "".join([*parts, self.text[end:]])

    def _end_before(self, at: int) -> int:
        """Where the last line before `at` ends."""
        while at and self.text[at - 1].isspace():
            at -= 1
        return at

    def written_header(self, charset: str, is_other: bool = False) -> str:
        """The header with the language and its plurals, and with the character set."""
        header = "" if self.header is None else self.header.text
        language = self._language()
        has_other_plurals = language != self._declared() and not has_translated_plurals(self.text)
        return with_charset(
            with_plurals(set_language(header, language), language, has_other_plurals), charset, is_other
        )

    def _declared(self) -> str:
        lines = self.header.text.split("\n") if self.header else []
        return next((line[9:].strip() for line in lines if line.startswith("Language:")), "")

    def _language(self) -> str:
        """The target's language as gettext writes it; the header's own if that is a region of it."""
        declared = self._declared()
        return declared if declared and primary(declared) == primary(self.language) else self.language.replace("-", "_")


def _messages(text: str) -> Iterator[_Message]:
    """The messages that are not obsolete. Raises DamagedFile."""
    message, last = _Message(), ""
    comments: list[_Comment] = []
    for number, line in enumerate(_LINE.finditer(text), 1):
        bare = line[0].strip()
        start = line.start() + len(line[0]) - len(line[0].lstrip())
        if not bare or bare.startswith("#"):
            if bare:
                last = ""  # no continuation after a comment
                comments.append(_Comment(line.start(), line.end(), line[0]))
            if bare.startswith("#~"):
                comments.clear()  # they belong to a message that is obsolete
            continue
        if continuation := _CONTINUATION.fullmatch(bare):
            if not last:
                raise DamagedFile(f'the file is no gettext catalogue: line {number} belongs to no "msgid" or "msgstr"')
            message.fields[last].parts.append(continuation[1])
            message.fields[last].end = start + len(bare)
            continue
        if not (match := _FIELD.fullmatch(bare)):
            raise DamagedFile(f"the file is no gettext catalogue: line {number} is none of its lines")
        key = match[1]
        name = "msgstr" if key.startswith("msgstr") else key
        if name in ("msgctxt", "msgid") and ("msgid" in message.fields or name in message.fields):
            if not message.fields.keys() - {"msgctxt", "msgid", "msgid_plural"}:
                raise DamagedFile(f"the file is no gettext catalogue: before line {number} a msgstr is missing")
            yield message
            message = _Message()
        message.comments, comments = message.comments + comments, []
        if name not in ("msgctxt", "msgid") and ("msgid" not in message.fields or key in message.fields):
            raise DamagedFile(f"the file is no gettext catalogue: line {number} has a {key} without its msgid")
        form = int(match[2]) if match[2] else None
        message.fields[key] = _Field(name, form, start, start + len(bare), [match[3]])
        last = key
    if message.fields:
        if not message.fields.keys() - {"msgctxt", "msgid", "msgid_plural"}:
            raise DamagedFile("the file is no whole gettext catalogue: its last message has no msgstr")
        yield message


def _format_field(name: str, text: str) -> str:
    """A field as the programs of gettext write it: one line of the file for each line of the text; a text of one long
    line is wrapped at its spaces."""
    lines = text.splitlines(keepends=True)
    escaped = text.translate(_ESCAPES)
    if len(lines) > 1:
        strings = ["", *(line.translate(_ESCAPES) for line in lines)]
    elif 2 * len(text) - len(escaped) + len(name) + 3 > _WIDTH:  # escapes do not count
        strings = ["", *textwrap.wrap(escaped, _WIDTH - 2, drop_whitespace=False, break_long_words=False)]
    else:
        strings = [escaped]
    return f"{name} " + "\n".join(f'"{string}"' for string in strings)
