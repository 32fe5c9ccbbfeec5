"""Advanced SubStation subtitles (.ass, .ssa): the texts of dialogues. Override tags (`{\\i1}`), comments in braces, all
other fields and lines stay byte for byte; drawings are not read."""

import re
from collections.abc import Iterator

from server.files.formats.base import Budget, DamagedFile, OpenedFile, decode
from server.files.formats.cue_files import PlacedCue, opened_cues
from server.files.formats.cues import Cue

_LINE = re.compile(r"[^\r\n]++")
_SECTION = re.compile(r"\[([^\]\r\n]{1,80}+)\][ \t]*+\Z")
_EVENTS = "events"
_FIELDS = 10
"""Fields of a dialogue, in a file without a line that names them."""
_TIMES = slice(1, 3)
"""The fields with start and end of a dialogue."""
_DRAWING = re.compile(r"\{[^{}]*?\\p[1-9]")
_COMMENT = re.compile(r"\{(?=[^{}\\][^{}]*+\})")
_READ_COMMENT = "{\\\ufdd0"
"""A comment as it is read: like a tag, with a noncharacter of Unicode."""


def open_ass(data: bytes, language: str, budget: Budget) -> OpenedFile:
    text, encoding = decode(data)
    placed = list(_dialogues(text))
    if not placed and text.strip():
        raise DamagedFile("the file has no subtitles: no line like Dialogue: 0,0:00:01.00,0:00:02.00,... in [Events]")
    return opened_cues(text, encoding, placed, budget, _written)


def _dialogues(text: str) -> Iterator[PlacedCue]:
    section, count = "", _FIELDS
    for line in _LINE.finditer(text):
        if found := _SECTION.match(line[0]):
            section = found[1].strip().lower()
        name, colon, content = line[0].partition(":")
        if section != _EVENTS or not colon:
            continue
        if name.strip() == "Format":
            count = content.count(",") + 1
        elif name.strip() == "Dialogue":
            *fields, body = content.split(",", count - 1)
            if len(fields) + 1 == count and body.strip() and not _DRAWING.search(body):
                settings = ",".join([*fields[: _TIMES.start], *fields[_TIMES.stop :]])
                yield PlacedCue(line.end() - len(body), line.end(), Cue(_read(body), settings, is_vtt=False))


def _read(body: str) -> str:
    body = _COMMENT.sub(lambda _: _READ_COMMENT, body)
    return body.replace("\\N", "\n").replace("\\n", " ").replace("\\h", "\u00a0")


def _written(body: str) -> str:
    return body.replace(_READ_COMMENT, "{").replace("\n", "\\N").replace("\u00a0", "\\h")
