"""The paragraphs of a mail in plain text: lines that belong together are one text and are broken again.

Quotes keep their marks, signatures and everything between paragraphs stay (RFC 3676 for format=flowed).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from server.text.base.words import has_letters

SHORTEST_WRAP, LONGEST_WRAP = 50, 80
"""Characters of the longest line of a paragraph whose lines an editor has broken."""
FLOWED_WIDTH = 72
_QUOTE = re.compile(r"(?:>[ ]?+)*+")
_MARKER = re.compile(r"[ \t]*+(?:(?:[-*\u2022\u2013]|\d{1,3}[.)])[ \t]++)?+")
_SIGNATURE = "-- "
_ARMOR = re.compile(r"-----BEGIN (PGP [A-Z ]{3,40}|[A-Z0-9 ]{0,40}(?:CERTIFICATE|KEY|CMS|PKCS7))-----[ \t]*+")
_ARMOR_END, _FILE_END = "-----END ", "end"
_UUENCODED = re.compile(r"begin [0-7]{3,4} \S.{0,200}")
SIGNED = "PGP SIGNED MESSAGE"
ENCRYPTED = "PGP MESSAGE"


@dataclass(frozen=True)
class Flow:
    """How lines are broken: `is_flowed`, a space at the end of a line says that the next one goes on; with
    `deletes_space`, that space is no text. `newline` is that of the mail."""

    is_flowed: bool = False
    deletes_space: bool = False
    newline: str = "\n"


@dataclass(frozen=True)
class Line:
    """A line: marks of a quote, its text and its line end."""

    quote: str
    text: str
    end: str

    @property
    def raw(self) -> str:
        return self.quote + self.text + self.end


@dataclass(frozen=True)
class Paragraph:
    """`lines` that belong together; `prefix` is an indent or the mark of a list. `width` is 0 for one line."""

    lines: Sequence[Line]
    prefix: str
    text: str
    width: int

    def written(self, translation: str, flow: Flow) -> str:
        """Its lines for a translation."""
        if translation == self.text:
            return "".join(line.raw for line in self.lines)
        first, indent = self.lines[0], " " * len(self.prefix)
        text = " ".join(translation.split())
        width = self.width - len(first.quote) - len(self.prefix)
        broken = list(_broken(text, max(width, 20))) if self.width else [text]
        newline = next((line.end for line in self.lines if line.end), flow.newline)
        written = []
        for number, line in enumerate(broken):
            is_last = number == len(broken) - 1
            start = self.prefix if number == 0 else "" if flow.is_flowed else indent
            stuffed = " " if flow.is_flowed and not first.quote and line.startswith((" ", ">", "From ")) else ""
            flow_mark = ("  " if flow.deletes_space else " ") if flow.is_flowed and not is_last else ""
            written.append(
                first.quote + stuffed + start + line + flow_mark + (self.lines[-1].end if is_last else newline)
            )
        return "".join(written)


def read_paragraphs(text: str, flow: Flow) -> Iterator[str | Paragraph]:
    """The paragraphs of `text` that can be translated, and what is between them."""
    lines = [_line(raw) for raw in re.findall(r"[^\r\n]*+(?:\r\n|\n|\r)|[^\r\n]++\Z", text)]
    ends = {
        line.text.strip(): number for number, line in enumerate(lines) if line.text.startswith((_ARMOR_END, _FILE_END))
    }
    index, in_signature = 0, ""
    is_signed = False
    while index < len(lines):
        line = lines[index]
        if (length := _encoded(lines, index, ends)) > 0:
            yield from (line.raw for line in lines[index : index + length])
            index += length
            continue
        if is_signed and line.quote == in_signature:
            yield line.raw
            index += 1
            continue
        is_signed = line.text == _SIGNATURE or (line.text == "--" and not flow.is_flowed)
        in_signature = line.quote
        if is_signed or not has_letters(line.text):
            yield line.raw
            index += 1
            continue
        end = _paragraph_end(lines, index)
        if flow.is_flowed:
            yield from _flowed(lines[index:end], flow)
        else:
            yield from _hard(lines[index:end])
        index = end


def armor_of(text: str) -> set[str]:
    """The kinds of armored blocks (RFC 9580) that begin in a text: "PGP SIGNATURE"."""
    return {match[1] for line in text.splitlines() if (match := _ARMOR.fullmatch(line))}


def _encoded(lines: Sequence[Line], start: int, ends: Mapping[str, int]) -> int:
    """The number of lines from `start` on that are no words: a signature, a key, a file in letters; 0 for none. `ends`:
    the last lines that end one."""
    text = lines[start].text
    index = start + 1
    if match := _ARMOR.fullmatch(text):
        end = "" if match[1] == SIGNED else f"{_ARMOR_END}{match[1]}-----"
    elif _UUENCODED.fullmatch(text):
        end = _FILE_END
    else:
        return 0
    if end and ends.get(end, -1) < index:  # it has no end
        return 1 if end != _FILE_END else 0
    while index < len(lines) and lines[index].text.strip() != end:
        index += 1
    return min(index + 1, len(lines)) - start


def _line(raw: str) -> Line:
    text = raw.rstrip("\r\n")
    quote = _QUOTE.match(text)
    length = quote.end() if quote else 0
    return Line(text[:length], text[length:], raw[len(text) :])


def _paragraph_end(lines: Sequence[Line], start: int) -> int:
    """After the last line of the same quote without an empty line before it."""
    quote = lines[start].quote.count(">")
    end = start + 1
    while (
        end < len(lines)
        and lines[end].quote.count(">") == quote
        and lines[end].text.strip()
        and lines[end].text not in (_SIGNATURE, "--")
        and not _ARMOR.fullmatch(lines[end].text)
        and not _UUENCODED.fullmatch(lines[end].text)
    ):
        end += 1
    return end


def _flowed(lines: Sequence[Line], flow: Flow) -> Iterator[str | Paragraph]:
    group: list[Line] = []
    for line in lines:
        group.append(line)
        if not line.text.endswith(" "):
            yield _paragraph(group, flow, FLOWED_WIDTH)
            group = []
    if group:
        yield _paragraph(group, flow, FLOWED_WIDTH)


def _hard(lines: Sequence[Line]) -> Iterator[str | Paragraph]:
    """A line goes on in the next if the next one's first word had no room in it."""
    width = max(len(line.quote + line.text.rstrip()) for line in lines)
    is_wrapped = len(lines) > 1 and SHORTEST_WRAP <= width <= LONGEST_WRAP
    group: list[Line] = []
    for line in lines:
        if group and not (is_wrapped and _continues(group[-1], line, width)):
            yield _paragraph(group, Flow(), width if len(group) > 1 else 0)
            group = []
        group.append(line)
    yield _paragraph(group, Flow(), width if len(group) > 1 else 0)


def _continues(line: Line, following: Line, width: int) -> bool:
    words = following.text.split(maxsplit=1)
    marker = _MARKER.match(following.text)
    is_item = marker is not None and bool(marker[0].strip())
    return bool(words) and not is_item and len(line.quote + line.text.rstrip()) + 1 + len(words[0]) > width


def _paragraph(lines: Sequence[Line], flow: Flow, width: int) -> str | Paragraph:
    first = lines[0].text
    if flow.is_flowed and not lines[0].quote and first.startswith(" "):
        first = first[1:]  # the space that protects a line
    marker = _MARKER.match(first)
    prefix = marker[0] if marker else ""
    rest = [line.text[1:] if flow.is_flowed and line.text.startswith(" ") else line.text for line in lines[1:]]
    texts = [first[len(prefix) :], *rest]
    joined = "".join(text.removesuffix(" ") for text in texts) if flow.deletes_space else " ".join(texts)
    text = " ".join(joined.split())
    return Paragraph(lines, prefix, text, width) if has_letters(text) else "".join(line.raw for line in lines)


def _broken(text: str, width: int) -> Iterator[str]:
    """The text in lines of at most `width` characters, if its words are not longer."""
    words: list[str] = []
    length = -1
    for word in text.split(" "):
        if words and length + 1 + len(word) > width:
            yield " ".join(words)
            words, length = [], -1
        words.append(word)
        length += 1 + len(word)
    yield " ".join(words)
