"""Subtitles: SubRip and WebVTT. Times, settings, notes and styles stay byte for byte, and so does every cue that is not
translated. (pysubs2 keeps neither notes, styles, regions and settings of WebVTT nor the numbers and times of SubRip as
they are written.)"""

import re
from collections.abc import Sequence

from server.files.formats.base import Budget, DamagedFile, OpenedFile, decode
from server.files.formats.cues import Cue, Unit, units_of

# Possessive quantifiers: no backtracking.
_CUE = re.compile(r"^((?=[^\r\n]*?-->)[^\r\n]*+\r?\n)((?:[^\r\n]++(?:\r?\n|\Z))++)", re.MULTILINE)
_SETTINGS = re.compile(r"-->\s*+\S++(.*+)")


def open_srt(data: bytes, language: str, budget: Budget) -> OpenedFile:
    return _open(data, budget, is_vtt=False)


def open_vtt(data: bytes, language: str, budget: Budget) -> OpenedFile:
    return _open(data, budget, is_vtt=True)


def _open(data: bytes, budget: Budget, is_vtt: bool) -> OpenedFile:
    text, encoding = decode(data)
    matches = list(_CUE.finditer(text))
    if (is_vtt and not text.startswith("WEBVTT")) or (not matches and text.strip() and not is_vtt):
        raise DamagedFile(
            "the file has no subtitles: no line like 00:00:01,000 --> 00:00:02,000, or no WEBVTT at its start"
        )
    units: list[tuple[int, Unit]] = []
    for unit in units_of([_cue(match, is_vtt) for match in matches]):
        for text_of_cue in (unit[1].text, *[""] * (unit[0] - 1)):  # a cue costs as much as a text
            budget.spend(text_of_cue)
        units.append(unit)

    def write(translations: Sequence[str]) -> bytes:
        parts: list[str] = []
        end = 0
        cues = iter(matches)
        for (count, unit), translation in zip(units, translations, strict=True):
            of_unit = [next(cues) for _ in range(count)]
            if translation == unit.text:
                continue
            for cue, body in zip(of_unit, unit.bodies(translation), strict=True):
                ending = cue[2][len(cue[2].rstrip("\r\n")) :]
                if cue[2].partition("\n")[0].endswith("\r"):
                    body = body.replace("\n", "\r\n")
                parts += (text[end : cue.start(2)], body, ending)
                end = cue.end()
        return encoding.encode("".join([*parts, text[end:]]))

    return OpenedFile([unit.text for _, unit in units], write, encoding.notes)


def _cue(match: re.Match[str], is_vtt: bool) -> Cue:
    settings = _SETTINGS.search(match[1])
    return Cue(match[2].rstrip("\r\n"), settings[1].strip() if settings else "", is_vtt)
