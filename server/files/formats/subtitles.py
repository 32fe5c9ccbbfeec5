"""Subtitles: SubRip and WebVTT. A cue is a text; its times, settings and number of lines stay."""

import bisect
import html
import re
from collections.abc import Sequence

from server.files.formats.base import Budget, DamagedFile, OpenedFile, decode
from server.files.formats.word_times import WordTimes, without_times
from server.text.base.placeholders import PlaceholderText, is_placeholder
from server.text.markup.character_references import unescape

# Possessive quantifiers: no backtracking.
_CUE = re.compile(r"^((?=[^\r\n]*?-->)[^\r\n]*+\r?\n)((?:[^\r\n]++(?:\r?\n|\Z))++)", re.MULTILINE)
_TAG = re.compile(
    r"<(/?)([A-Za-z][\w.-]*+)[^<>\n]{0,200}+>|<[\d:.]{1,20}+>|\{\\[^{}\n]{0,200}+\}|(?<!\{)\{/?[a-z]\}(?!\})"
)


def open_srt(data: bytes, language: str, budget: Budget) -> OpenedFile:
    return _open(data, budget, is_vtt=False)


def open_vtt(data: bytes, language: str, budget: Budget) -> OpenedFile:
    return _open(data, budget, is_vtt=True)


def _open(data: bytes, budget: Budget, is_vtt: bool) -> OpenedFile:
    text, encoding = decode(data)
    cues: list[re.Match[str]] = []
    placeholder_text: list[PlaceholderText] = []
    times: list[WordTimes] = []
    for cue in _CUE.finditer(text):
        cues.append(cue)
        times.append(without_times(_one_line(cue[2])))
        placeholder_text.append(_read(times[-1].text, is_vtt))
        budget.spend(placeholder_text[-1].text)
    if (is_vtt and not text.startswith("WEBVTT")) or (not cues and text.strip() and not is_vtt):
        raise DamagedFile(
            "the file has no subtitles: no line like 00:00:01,000 --> 00:00:02,000, or no WEBVTT at its start"
        )

    def write(translations: Sequence[str]) -> bytes:
        parts: list[str] = []
        end = 0
        for cue, source, of_words, translation in zip(cues, placeholder_text, times, translations, strict=True):
            if translation == source.text:
                continue
            lines = cue[2].rstrip("\r\n").split("\n")
            ending = cue[2][len(cue[2].rstrip("\r\n")) :]
            wrapped = translation if "\n" in translation else wrap(translation, len(lines))
            body = source.render(of_words.set_into(wrapped, source), _escape if is_vtt else str)
            if cue[2].partition("\n")[0].endswith("\r"):
                body = body.replace("\n", "\r\n")
            parts += (text[end : cue.start(2)], body, ending)
            end = cue.end()
        return encoding.encode("".join([*parts, text[end:]]))

    return OpenedFile([source.text for source in placeholder_text], write)


def _one_line(body: str) -> str:
    """The text of a cue; if a line after the first begins with a dash (another speaker), line breaks stay."""
    lines = body.replace("\r", "").rstrip("\n").split("\n")
    return ("\n" if any(line.lstrip().startswith(("-", "\u2013")) for line in lines[1:]) else " ").join(lines)


def _read(text: str, is_vtt: bool) -> PlaceholderText:
    placeholder_text, end = PlaceholderText(), 0

    def add(part: str) -> None:
        placeholder_text.add_text(unescape(part) if is_vtt else part)

    for match in _TAG.finditer(text):
        add(text[end : match.start()])
        end = match.end()
        if match[2] is None:
            placeholder_text.add_standalone(match[0])
        elif match[1]:
            placeholder_text.close(match[2].partition(".")[0], match[0])
        else:
            placeholder_text.open(match[2].partition(".")[0], match[0])
    add(text[end:])
    return placeholder_text


def wrap(text: str, count: int) -> str:
    """`text` on `count` lines of about the same length, placeholders not counted; fewer lines if it has too few spaces.

    Line by line, the text is broken at the free space that is nearest to the end of the line, the first of two."""
    length = 0
    spaces: list[int] = []  # places of spaces
    before: list[int] = []  # characters before each
    for place, char in enumerate(text):
        if char == " ":
            spaces.append(place)
            before.append(length)
        length += not is_placeholder(char)
    if len(spaces) < count:
        return text.replace(" ", "\n")
    left = list(
        range(len(spaces) + 1)
    )  # links from a space, counted from 1, towards the next free space; a free space links to itself
    right = list(range(len(spaces) + 2))
    chosen: list[int] = []
    for line in range(1, count):
        end = length * line / count
        at = bisect.bisect_right(before, end)
        first, last = _follow(left, at), _follow(right, at + 1)  # 0 and len + 1: no space
        is_left = first > 0 and (last > len(spaces) or end - before[first - 1] <= before[last - 1] - end)
        taken = first if is_left else last
        left[taken], right[taken] = taken - 1, taken + 1
        chosen.append(spaces[taken - 1])
    characters = list(text)
    for place in chosen:
        characters[place] = "\n"
    return "".join(characters)


def _follow(links: list[int], start: int) -> int:
    """The end of a chain of links. Links on the way are shortened (union-find), so that many walks take linear time."""
    end = start
    while links[end] != end:
        links[end] = links[links[end]]
        end = links[end]
    return end


def _escape(text: str) -> str:
    return html.escape(text, quote=False)
