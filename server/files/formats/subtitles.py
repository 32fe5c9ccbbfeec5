"""Subtitles: SubRip and WebVTT. A cue is a text; its times, settings and number of lines stay."""

import bisect
import html
import re
from collections.abc import Sequence

from server.files.formats.base import Budget, DamagedFile, OpenedFile, decode
from server.text.base.placeholders import PlaceholderText, is_placeholder
from server.text.markup.character_references import unescape

# Nothing is tried twice: what a repetition took, it keeps.
_CUE = re.compile(r"^((?=[^\r\n]*?-->)[^\r\n]*+\r?\n)((?:[^\r\n]++(?:\r?\n|\Z))++)", re.MULTILINE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*+)[^<>\n]{0,200}+>|<[\d:.]{1,20}+>|\{\\[^{}\n]{0,200}+\}|\{/?[a-z]\}")


def open_srt(data: bytes, language: str, budget: Budget) -> OpenedFile:
    return _open(data, budget, is_vtt=False)


def open_vtt(data: bytes, language: str, budget: Budget) -> OpenedFile:
    return _open(data, budget, is_vtt=True)


def _open(data: bytes, budget: Budget, is_vtt: bool) -> OpenedFile:
    text, encoding = decode(data)
    cues: list[re.Match[str]] = []
    marked: list[PlaceholderText] = []
    for cue in _CUE.finditer(text):
        cues.append(cue)
        marked.append(_read(cue[2], is_vtt))
        budget.spend(marked[-1].text)
    if (is_vtt and not text.startswith("WEBVTT")) or (not cues and text.strip() and not is_vtt):
        raise DamagedFile(
            "the file has no subtitles: no line like 00:00:01,000 --> 00:00:02,000, or no WEBVTT at its start"
        )

    def write(translations: Sequence[str]) -> bytes:
        parts: list[str] = []
        end = 0
        for cue, one, translation in zip(cues, marked, translations, strict=True):
            if translation == one.text:
                continue
            lines = cue[2].rstrip("\r\n").split("\n")
            ending = cue[2][len(cue[2].rstrip("\r\n")) :]
            wrapped = translation if "\n" in translation else wrap(translation, len(lines))
            body = one.render(wrapped, _escape if is_vtt else str)
            if cue[2].partition("\n")[0].endswith("\r"):
                body = body.replace("\n", "\r\n")
            parts += (text[end : cue.start(2)], body, ending)
            end = cue.end()
        return encoding.encode("".join([*parts, text[end:]]))

    return OpenedFile([one.text for one in marked], write)


def _read(body: str, is_vtt: bool) -> PlaceholderText:
    """A cue is one text; where a line after the first begins with a dash (another speaker), its line breaks stay."""
    lines = body.replace("\r", "").rstrip("\n").split("\n")
    text = ("\n" if any(line.lstrip().startswith(("-", "\u2013")) for line in lines[1:]) else " ").join(lines)
    marked, end = PlaceholderText(), 0

    def add(part: str) -> None:
        marked.add_text(unescape(part) if is_vtt else part)

    for match in _TAG.finditer(text):
        add(text[end : match.start()])
        end = match.end()
        if match[2] is None:
            marked.add_standalone(match[0])
        elif match[1]:
            marked.close(match[2].partition(".")[0], match[0])
        else:
            marked.open(match[2].partition(".")[0], match[0])
    add(text[end:])
    return marked


def wrap(text: str, count: int) -> str:
    """`text` on `count` lines of about the same length, without counting marks; on fewer if it has too few spaces.

    Every line in turn is broken at the space that is nearest to its end, the first of two, and that is still free."""
    length = 0
    spaces: list[int] = []  # places of spaces
    before: list[int] = []  # characters before each
    for place, one in enumerate(text):
        if one == " ":
            spaces.append(place)
            before.append(length)
        length += not is_placeholder(one)
    if len(spaces) < count:
        return text.replace(" ", "\n")
    left = list(range(len(spaces) + 1))  # of a space, counted from 1: itself if it is free, or one on the way to it
    right = list(range(len(spaces) + 2))
    chosen: list[int] = []
    for line in range(1, count):
        end = length * line / count
        at = bisect.bisect_right(before, end)
        first, last = _follow(left, at), _follow(right, at + 1)  # 0 and len + 1: there is none
        is_left = first > 0 and (last > len(spaces) or end - before[first - 1] <= before[last - 1] - end)
        taken = first if is_left else last
        left[taken], right[taken] = taken - 1, taken + 1
        chosen.append(spaces[taken - 1])
    characters = list(text)
    for place in chosen:
        characters[place] = "\n"
    return "".join(characters)


def _follow(links: list[int], start: int) -> int:
    """Where links lead to in the end; those on the way are shortened, so that many walks take linear time."""
    end = start
    while links[end] != end:
        links[end] = links[links[end]]
        end = links[end]
    return end


def _escape(text: str) -> str:
    return html.escape(text, quote=False)
