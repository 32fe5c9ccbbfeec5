"""Subtitles: SubRip, WebVTT and YouTube's .sbv. Times, settings, notes and styles stay byte for byte, and so does every
cue that is not translated. (pysubs2 keeps neither notes, styles, regions and settings of WebVTT nor the numbers and
times of SubRip as they are written.)"""

import re

from server.files.formats.base import Budget, DamagedFile, OpenedFile, decode
from server.files.formats.cue_files import PlacedCue, opened_cues
from server.files.formats.cues import Cue

# Possessive quantifiers: no backtracking.
_CUE = re.compile(r"^((?=[^\r\n]*?-->)[^\r\n]*+\r?\n)((?:[^\r\n]++(?:\r?\n|\Z))++)", re.MULTILINE)
_SBV_TIME = r"\d{1,3}:\d\d:\d\d\.\d{1,3},\d{1,3}:\d\d:\d\d\.\d{1,3}"
_SBV_CUE = re.compile(rf"^({_SBV_TIME}[ \t]*+\r?\n)((?:[^\r\n]++(?:\r?\n|\Z))++)", re.MULTILINE)
_SETTINGS = re.compile(r"-->\s*+\S++(.*+)")


def open_srt(data: bytes, language: str, budget: Budget) -> OpenedFile:
    return _open(data, budget, _CUE, "00:00:01,000 --> 00:00:02,000")


def open_sbv(data: bytes, language: str, budget: Budget) -> OpenedFile:
    return _open(data, budget, _SBV_CUE, "0:00:01.000,0:00:02.000")


def open_vtt(data: bytes, language: str, budget: Budget) -> OpenedFile:
    return _open(data, budget, _CUE, "00:00:01.000 --> 00:00:02.000", is_vtt=True)


def _open(data: bytes, budget: Budget, pattern: re.Pattern[str], times: str, is_vtt: bool = False) -> OpenedFile:
    text, encoding = decode(data)
    matches = list(pattern.finditer(text))
    if (is_vtt and not text.startswith("WEBVTT")) or (not matches and text.strip() and not is_vtt):
        raise DamagedFile(f"the file has no subtitles: no line like {times}, or no WEBVTT at its start")
    return opened_cues(text, encoding, [_placed(match, is_vtt) for match in matches], budget, str)


def _placed(match: re.Match[str], is_vtt: bool) -> PlacedCue:
    settings = _SETTINGS.search(match[1])
    body = match[2].rstrip("\r\n")
    cue = Cue(body, settings[1].strip() if settings else "", is_vtt)
    return PlacedCue(match.start(2), match.start(2) + len(body), cue)
