"""gettext catalogues (.po): messages without a translation are translated; all other bytes stay."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from server.files.formats.base import Budget, DamagedFile, OpenedFile, decode

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_FIELD = re.compile(r'(msgctxt|msgid|msgid_plural|msgstr|msgstr\[(\d{1,2})\])[ \t]*+"([^"\\]*+(?:\\.[^"\\]*+)*+)"')
_CONTINUATION = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"')
_ESCAPED = re.compile(r'\\([\\ntrvbf"])')
_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "b": "\b", "f": "\f"}
_ESCAPES = str.maketrans({
    "\\": "\\\\", "\t": "\\t", "\r": "\\r", "\n": "\\n", "\v": "\\v", "\b": "\\b", "\f": "\\f", '"': '\\"',
})  # fmt: skip
_AFTER_LANGUAGE = ("MIME-Version:", "Content-Type:", "Content-Transfer-Encoding:", "Plural-Forms:")
_WIDTH = 78


@dataclass
class _Field:
    """A field of a message, from `start` to `end` of the file. `form`: the number of its plural form, or None."""

    name: str
    form: int | None
    start: int
    end: int
    parts: list[str]

    @property
    def text(self) -> str:
        return _ESCAPED.sub(lambda match: _CHARACTERS.get(match[1], match[1]), "".join(self.parts))


@dataclass
class _Message:
    fields: dict[str, _Field] = field(default_factory=dict)

    @property
    def is_header(self) -> bool:
        return "msgctxt" not in self.fields and "msgid" in self.fields and not self.fields["msgid"].text

    def untranslated_fields(self) -> Iterator[tuple[_Field, str]]:
        """The fields without a translation, and the source text of each."""
        if not (source := self.fields["msgid"].text):
            return
        plural = self.fields.get("msgid_plural")
        for entry in self.fields.values():
            if entry.name == "msgstr" and (entry.form is None) == (plural is None) and not entry.text:
                yield entry, plural.text if plural and entry.form else source


def open_po(data: bytes, language: str, budget: Budget) -> OpenedFile:
    text, encoding = decode(data)
    header: _Field | None = None
    targets: list[_Field] = []
    texts: list[str] = []
    for message in _messages(text):
        if header is None and message.is_header:
            header = message.fields.get("msgstr")
        for target, source in message.untranslated_fields():
            targets.append(target)
            texts.append(source)
            budget.spend(source)
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"

    def write(translations: Sequence[str]) -> bytes:
        changed = [pair for pair in zip(targets, translations, strict=True) if pair[1]]
        parts: list[str] = []
        end = 0
        if header is None:
            parts.append(newline.join(('msgid ""', _format_field("msgstr", f"Language: {language}\n"), "", "")))
        else:
            changed = sorted([*changed, (header, _set_language(header.text, language))], key=lambda pair: pair[0].start)
        for target, translation in changed:
            name = target.name if target.form is None else f"{target.name}[{target.form}]"
            parts += (text[end : target.start], _format_field(name, translation).replace("\n", newline))
            end = target.end
        return encoding.encode("".join([*parts, text[end:]]))

    return OpenedFile(texts, write)


def _messages(text: str) -> Iterator[_Message]:
    """The messages that are not obsolete. Raises DamagedFile."""
    message, last = _Message(), ""
    for number, line in enumerate(_LINE.finditer(text), 1):
        bare = line[0].strip()
        start = line.start() + len(line[0]) - len(line[0].lstrip())
        if not bare or bare.startswith("#"):
            if bare:
                last = ""  # no continuation after a comment
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
        if name not in ("msgctxt", "msgid") and ("msgid" not in message.fields or key in message.fields):
            raise DamagedFile(f"the file is no gettext catalogue: line {number} has a {key} without its msgid")
        form = int(match[2]) if match[2] else None
        message.fields[key] = _Field(name, form, start, start + len(bare), [match[3]])
        last = key
    if message.fields:
        if not message.fields.keys() - {"msgctxt", "msgid", "msgid_plural"}:
            raise DamagedFile("the file is no whole gettext catalogue: its last message has no msgstr")
        yield message


def _set_language(header: str, language: str) -> str:
    """The header with the language."""
    lines = header.split("\n")
    position = next((index for index, line in enumerate(lines) if line.startswith("Language:")), None)
    if position is not None:
        lines[position] = f"Language: {language}"
    else:
        position = next((index for index, line in enumerate(lines) if line.startswith(_AFTER_LANGUAGE)), len(lines) - 1)
        lines.insert(position, f"Language: {language}")
    return "\n".join(lines)


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
