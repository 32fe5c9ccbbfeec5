"""Times of words in the cues of WebVTT ("we<00:00:01.200><c> have</c>"): a translation has other words, so the times
are taken out of the text, and set before the words of the translation in the same proportion and in their order."""

import re
from dataclasses import dataclass

from server.text.base.placeholders import PlaceholderText, is_placeholder

_TIME = re.compile(r"(<\d[\d:.]{1,20}+>)(?:(<c[^<>\n]{0,200}+>)(?=[^<>\n]*+</c>))?")
_CLASS = re.compile(r"</?c(?:\.[^<>\n]{0,200}+)?>")
_WORD = re.compile(r"[^\s<>]++")
_TAG = re.compile(r"<[^<>\n]{0,200}+>")


@dataclass(frozen=True)
class WordTimes:
    """`text`: a cue without times. `times`: each time, the class of the words after it ("" for none), and the share of
    the cue's words before it."""

    text: str
    times: tuple[tuple[str, str, float], ...] = ()

    def set_into(self, translation: str, source: PlaceholderText) -> str:
        """The translation with placeholders of `source` for times and classes."""
        if not self.times:
            return translation
        words = _word_starts(translation)
        places = [words[min(len(words) - 1, round(share * (len(words) - 1)))] for _, _, share in self.times]
        parts: list[str] = [translation[: places[0]]]
        for number, ((time, style, _), start) in enumerate(zip(self.times, places, strict=True)):
            end = places[number + 1] if number + 1 < len(places) else len(translation)
            words_after = translation[start:end]
            parts.append(source.reserve(time))
            if style and words_after.strip() and not any(map(is_placeholder, words_after)):
                words_after = source.reserve(style) + words_after + source.reserve("</c>")
            parts.append(words_after)
        return "".join(parts)


def without_times(text: str) -> WordTimes:
    """Take the times, and the classes of the words after them, out of the text of a cue. Linear in len(text)."""
    matches = list(_TIME.finditer(text))
    if not matches:
        return WordTimes(text)
    total = _count(text)
    times: list[tuple[str, str, float]] = []
    before = end = 0
    for match in matches:
        before += _count(text[end : match.start()])
        times.append((match[1], match[2] or "", before / max(1, total)))
        end = match.end()
    return WordTimes(_CLASS.sub("", _TIME.sub("", text)), tuple(times))


def _count(text: str) -> int:
    return len(_WORD.findall(_TAG.sub("", text)))


def _word_starts(text: str) -> list[int]:
    """Where each word begins, its blank included, and the end of the text; a line break stays before a time."""
    starts: list[int] = []
    for match in re.finditer(r"\S+", text):
        at = match.start()
        starts.append(at - 1 if at and text[at - 1] != "\n" else at)
    return [*starts, len(text)]
