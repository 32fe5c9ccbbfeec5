"""Subtitles: SubRip and WebVTT. A cue is a text; its times, settings and number of lines stay."""

import html
import re
from collections.abc import Sequence

from server.text.formats.opened import DamagedFile, OpenedFile, decode
from server.text.marks import MarkedText, is_mark

_CUE = re.compile(r"^([^\r\n]*-->[^\r\n]*\r?\n)((?:[^\r\n]+(?:\r?\n|\Z))+)", re.MULTILINE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*)[^<>\n]{0,200}>|<[\d:.]{1,20}>|\{\\[^{}\n]{0,200}\}|\{/?[a-z]\}")


def open_srt(data: bytes, language: str) -> OpenedFile:
    return _open(data, is_vtt=False)


def open_vtt(data: bytes, language: str) -> OpenedFile:
    return _open(data, is_vtt=True)


def _open(data: bytes, is_vtt: bool) -> OpenedFile:
    text, encoding = decode(data)
    cues = list(_CUE.finditer(text))
    if (is_vtt and not text.startswith("WEBVTT")) or (not cues and text.strip() and not is_vtt):
        raise DamagedFile(
            "the file has no subtitles: no line like 00:00:01,000 --> 00:00:02,000, or no WEBVTT at its start"
        )
    marked = [_read(cue[2], is_vtt) for cue in cues]

    def write(translations: Sequence[str]) -> bytes:
        parts: list[str] = []
        end = 0
        for cue, one, translation in zip(cues, marked, translations, strict=True):
            lines = cue[2].split("\n")
            count = len(cue[2].rstrip("\r\n").split("\n"))
            ending = cue[2][len(cue[2].rstrip("\r\n")) :]
            wrapped = translation if "\n" in translation else _wrap(translation, count)
            if translation == one.text:
                continue
            body = one.render(wrapped, _escape if is_vtt else str)
            if lines[0].endswith("\r"):
                body = body.replace("\n", "\r\n")
            parts += (text[end : cue.start(2)], body, ending)
            end = cue.end()
        return encoding.encode("".join([*parts, text[end:]]))

    return OpenedFile([one.text for one in marked], write)


def _read(body: str, is_vtt: bool) -> MarkedText:
    """A cue is one text; where a line after the first begins with a dash (another speaker), its line breaks stay."""
    lines = body.replace("\r", "").rstrip("\n").split("\n")
    text = ("\n" if any(line.lstrip().startswith(("-", "\u2013")) for line in lines[1:]) else " ").join(lines)
    marked, end = MarkedText(), 0

    def add(part: str) -> None:
        marked.add_text(html.unescape(part) if is_vtt else part)

    for match in _TAG.finditer(text):
        add(text[end : match.start()])
        end = match.end()
        if match[2] is None:
            marked.add_lone(match[0])
        elif match[1]:
            marked.close(match[2].partition(".")[0], match[0])
        else:
            marked.open(match[2].partition(".")[0], match[0])
    add(text[end:])
    return marked


def _wrap(text: str, count: int) -> str:
    """`text` on `count` lines of about the same length, without counting marks; on fewer if it has too few spaces."""
    seen = 0
    spaces: dict[int, int] = {}  # place of a space -> characters before it
    for place, one in enumerate(text):
        if one == " ":
            spaces[place] = seen
        seen += not is_mark(one)
    chosen: set[int] = set()
    for line in range(1, count):
        free = [place for place in spaces if place not in chosen]
        if free:
            chosen.add(min(free, key=lambda place: abs(spaces[place] - seen * line / count)))
    return "".join("\n" if place in chosen else one for place, one in enumerate(text))


def _escape(text: str) -> str:
    return html.escape(text, quote=False)
