"""Scalars of YAML, written in the style that they have, or quoted where a new value needs it.

A plain value stays plain only where YAML 1.1 and 1.2 both read it as the same string.
"""

import re
import textwrap
from dataclasses import dataclass

_UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_PLAIN = re.compile(r"(?:[^\s\-?:,\[\]{}#&*!|>'\"%@`=~.+0-9]|[0-9]++[.,]?+ ++[^\W\d_])[^\n\t]*+")
_NOT_PLAIN = re.compile(r":(?:\s|\Z)|\s#|\s\Z")
_NOT_PLAIN_IN_FLOW = re.compile(r"[,?\[\]{}]|:(?:[\s,\[\]{}]|\Z)")
"""PyYAML ends a plain value of a flow at every question mark."""
_NOT_STRINGS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "<<"])
_ESCAPES = {
    "\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\x00": "\\0", "\x07": "\\a", "\x08": "\\b",
    "\x0b": "\\v", "\x0c": "\\f", "\x1b": "\\e", "\x85": "\\N", "\u2028": "\\L", "\u2029": "\\P",
}  # fmt: skip
_SPECIAL = re.compile(rf'[\\"\n\t]|{_UNPRINTABLE.pattern}')
_LINE_ENDS = ("\n", "\r", "\x85", "\u2028", "\u2029")
_HEADER = re.compile(r"[|>][-+0-9]{0,2}")


def write_plain(text: str, in_flow: bool) -> str:
    """Plain where it is read again as this string, else quoted."""
    is_plain = (
        _PLAIN.fullmatch(text)
        and not _NOT_PLAIN.search(text)
        and not (in_flow and _NOT_PLAIN_IN_FLOW.search(text))
        and not _UNPRINTABLE.search(text)
        and text.lower() not in _NOT_STRINGS
    )
    return text if is_plain else write_single(text)


def write_single(text: str) -> str:
    """In single quotation marks, or in double ones where it has characters that only these can have."""
    if "\n" in text or "\t" in text or _UNPRINTABLE.search(text):
        return write_double(text)
    return "'" + text.replace("'", "''") + "'"


def write_double(text: str) -> str:
    return '"' + _SPECIAL.sub(lambda match: _ESCAPES.get(match[0]) or _escape(ord(match[0])), text) + '"'


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


@dataclass(frozen=True)
class Block:
    """A block scalar (| or >): its header line, its body without the blank lines at its end, these, and the value that
    it has. `text` is the value without the line breaks at its end."""

    header: str
    body: str
    end: str
    value: str

    @classmethod
    def of(cls, raw: str, value: str) -> "Block":
        header, newline, rest = raw.partition("\n")
        body = rest.rstrip()
        lines = rest[len(body) :]
        blanks = lines.partition("\n")[0].removesuffix("\r")  # at the end of the last line, and of the value
        return cls(header + newline, body + blanks, lines[len(blanks) :], value)

    @property
    def text(self) -> str:
        return self.value.rstrip("\n")

    def write(self, text: str) -> str:
        """The scalar with another text. One that its form cannot have is quoted, with its line breaks at its end."""
        is_folded = self.header.startswith(">")
        lines = text.split("\n")
        can_be_block = (
            bool(self._indent)
            and text == text.strip("\n")
            and lines[0][:1] not in ("", " ", "\t")
            and not _UNPRINTABLE.search(text)
            and not (is_folded and any(line[:1] in (" ", "\t") for line in lines))
        )
        if not can_be_block:
            comment = _HEADER.sub("", self.header.rstrip("\r\n"), count=1)
            newline = self._newline if (self.header + self.body + self.end).endswith(_LINE_ENDS) else ""
            return write_double(text + self.value[len(self.text) :]) + comment + newline
        if is_folded:
            lines = [part for line in lines for part in self._folded(line)][:-1]
        indent = self._indent
        return self.header + self._newline.join(indent + line if line else "" for line in lines) + self.end

    @property
    def _newline(self) -> str:
        return "\r\n" if self.header.endswith("\r\n") else "\n"

    @property
    def _lines(self) -> list[str]:
        return [line for line in self.body.split("\n") if line.strip()]

    @property
    def _indent(self) -> str:
        """The spaces before each line, without those that belong to the value's first line."""
        raw, shown = next(iter(self._lines), ""), self.text.lstrip("\n")
        spaces = len(raw) - len(raw.lstrip(" ")) - (len(shown) - len(shown.lstrip(" ")))
        return " " * spaces

    def _folded(self, line: str) -> list[str]:
        """A line, folded to the width of the old lines where these are folded, and the line break after it."""
        if len(self._lines) <= self.text.count("\n") + 1 or "  " in line or "\t" in line or line[-1:] == " ":
            return [line, ""] if line else [""]
        width = max(map(len, self._lines)) - len(self._indent)
        return [*textwrap.wrap(line, max(1, width), break_long_words=False, break_on_hyphens=False), ""]
